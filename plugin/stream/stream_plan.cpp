// Implements StreamPlan.
#include "plugin/stream/stream_plan.hpp"

#include <utility>

namespace regions {
namespace {

// Sets the rectangle, and the values of the plan that depend on it.
void set_rectangle(StreamPlan& plan, const WorkAreaParams& rectangle) {
  plan.settings.rectangle() = rectangle;
  plan.work_area = work_area_of(rectangle, plan.in.layout, plan.in.size);
  plan.setup.size = plan.work_area.work;
  expects_setting(plan.work_area.is_identity() || (plan.slices() == 1 && plan.setup.layers == 1),
                  "process-scale and the rectangle require depth=1 and no thresholds");
}

}  // namespace

bool StreamPlan::attaches_label_map() const {
  const bool is_requested =
      settings.attach_labels == AttachLabels::always ||
      (settings.attach_labels == AttachLabels::when_untouched && output == Output::untouched);
  return is_requested && attaches_metadata();
}

size_t StreamPlan::label_map_bytes() const {
  return in.size.area() * static_cast<size_t>(layout_of(label_map_format()).sample_bytes) *
         static_cast<size_t>(setup.layers);
}

bool StreamPlan::can_push_early() const {
  return backend->kind() == BackendKind::cuda && in.cuda && output == Output::untouched &&
         slices() == 1 && makes_mask;
}

bool StreamPlan::accepts_fences_from(const std::shared_ptr<Backend>& other) const {
  return backend == other && in.cuda && slices() == 1 && attaches_metadata();
}

SharedPlan make_stream_plan(ElementAlgorithm& algorithm, std::shared_ptr<Backend> backend,
                            const FilterSettings& settings, const PictureCaps& in,
                            const PictureCaps& out, int slots) {
  auto plan = std::make_shared<StreamPlan>();
  plan->backend = std::move(backend);
  plan->settings = settings;
  plan->in = in;
  plan->out = out;
  plan->output = algorithm.output_in_use();
  plan->makes_regions = algorithm.makes_regions();
  plan->makes_mask = algorithm.makes_mask();
  const RegionDetails details = algorithm.details();
  Setup& setup = plan->setup;
  setup.in = in.layout;
  setup.color = in.color;
  setup.has_output = plan->output != Output::untouched;
  setup.out = out.layout;
  setup.has_mask = algorithm.reads_mask();
  setup.mask = layout_of(PixelFormat::labels32);
  setup.slots = slots;
  setup.depth = algorithm.slices();
  setup.slides = algorithm.has_sliding_window();
  setup.tracks = algorithm.has_track_states();
  setup.layers = algorithm.layers_in_use();
  setup.max_regions = algorithm.max_regions();
  setup.has_borders = details.borders;
  setup.max_runs = details.runs;
  setup.priority = settings.priority;
  set_rectangle(*plan, settings.rectangle());
  return plan;
}

SharedPlan with_rectangle(const StreamPlan& plan, const WorkAreaParams& rectangle) {
  auto changed_plan = std::make_shared<StreamPlan>(plan);
  set_rectangle(*changed_plan, rectangle);
  return changed_plan;
}

SharedPlan with_caps(const StreamPlan& plan, const PictureCaps& in, const PictureCaps& out) {
  auto changed_plan = std::make_shared<StreamPlan>(plan);
  changed_plan->in = in;
  changed_plan->out = out;
  return changed_plan;
}

}  // namespace regions
