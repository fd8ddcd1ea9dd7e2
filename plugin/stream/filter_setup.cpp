// Setup of a stream for new caps or for another part of the picture.
#include <algorithm>
#include <utility>

#include "plugin/memory/block_memory.hpp"
#include "plugin/memory/debug.hpp"
#include "plugin/stream/device_choice.hpp"
#include "plugin/stream/filter_stream.hpp"
#include "plugin/stream/negotiation.hpp"

namespace regions {
namespace {

// The parameters may have changed since the caps were negotiated.
void expect_agreement(const GstCaps* in, const GstCaps* out, Output picture, int layers) {
  GstCaps* possible = transform_caps(GST_PAD_SINK, in, picture, true, layers);
  const bool agree = gst_caps_can_intersect(possible, out);
  gst_caps_unref(possible);
  expects(agree, "`output` changed during caps negotiation; the negotiated caps do not fit it");
}

}  // namespace

int FilterStream::slots_wanted() const {
  const int wanted = settings().frames_in_flight;
  if (wanted > 0) return wanted;
  if (is_live()) return 1;
  return engine_->slices() > 1 ? 2 : 4;  // volumes are large
}

bool FilterStream::is_live() const {
  gboolean live = FALSE;
  GstQuery* query = gst_query_new_latency();
  if (gst_pad_peer_query(GST_BASE_TRANSFORM_SINK_PAD(element_), query)) {
    gst_query_parse_latency(query, &live, nullptr, nullptr);
  }
  gst_query_unref(query);
  return live;
}

void FilterStream::begin_pace(int slots, bool another_latency) {
  another_latency |= latency_.begin(frame_duration(), setup_.slices, slots);
  if (another_latency) post_latency();
  engine_->tell_pace(is_live() ? static_cast<int64_t>(frame_duration() / GST_USECOND) : -1);
}

void FilterStream::configure(const GstCaps* in, const GstCaps* out) {
  begin_with(in, out);
  const std::lock_guard lock(mutex_);
  refusal_.clear();
}

void FilterStream::begin_with(const GstCaps* in, const GstCaps* out) {
  GST_DEBUG_OBJECT(element_, "caps in %" GST_PTR_FORMAT ", caps out %" GST_PTR_FORMAT,
                   static_cast<gconstpointer>(in), static_cast<gconstpointer>(out));
  const PictureCaps pictures_in = parse(in), pictures_out = parse(out);
  const bool chooses = pictures_in.cuda && settings().cuda_device_id < 0;
  const CudaContextRef there =
      chooses ? cuda_.peer_elsewhere(GST_BASE_TRANSFORM_SINK_PAD(element_)) : nullptr;
  const auto frames = ring();
  if (frames && !there && setup_.backend == backend() && same_pictures(pictures_in, setup_.in) &&
      same_pictures(pictures_out, setup_.out) && !has_other_settings() && !engine_->has_others()) {
    GST_DEBUG_OBJECT(element_, "same pictures, settings and device: all goes on with these caps");
    setup_.in = pictures_in;
    setup_.out = pictures_out;
    begin_pace(frames->slots(), false);
    return;
  }
  end();
  engine_->adopt();
  expect_agreement(in, out, engine_->picture_in_use(), engine_->layers_in_use());
  if (there) move_to(there);
  start(pictures_in, pictures_out);
}

// Whether any setting differs from the last start(). Live settings do not count.
bool FilterStream::has_other_settings() const {
  const FilterSettings now = settings();
  const auto fields = fields_of(now);
  return std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
    return !field.live() && field.get(&now) != field.get(&started_with_);
  });
}

// The setup for pictures of these caps, by the current engine and settings.
SlotSetup FilterStream::slot_setup(const PictureCaps& in, const PictureCaps& out) {
  SlotSetup setup;
  setup.backend = backend();
  setup.engine = engine_.get();
  setup.picture = engine_->picture_in_use();
  setup.in = in;
  setup.out = out;
  setup.slices = engine_->slices();
  setup.layers = engine_->layers_in_use();
  setup.cuda = &cuda_;
  setup.priority = started_with_.priority;
  setup.work_area = work_area_of(area_, in.layout, in.size);
  setup.expect_work_area(setup.work_area);
  if (started_with_.cpu_threads == 1) setup.workers = Workers(1);
  setup.structures = std::make_shared<StructurePool>();
  setup.queues = queues_;
  setup.releases_labels = started_with_.attach_labels == AttachLabels::never;
  return setup;
}

// Makes the pool of label maps or masks, if they are attached.
void FilterStream::make_map_pool(SlotSetup& setup, int slots) {
  const AttachLabels attach = started_with_.attach_labels;
  const bool attaches = attach == AttachLabels::always || (attach == AttachLabels::when_untouched &&
                                                           setup.picture == Output::untouched);
  if (!attaches || !setup.describes()) return;
  const int maps = slots * setup.slices;
  GST_DEBUG_OBJECT(element_, "pool for label maps: %d of %zu bytes", maps, setup.map_bytes());
  const auto least = static_cast<unsigned>(maps);
  map_pool_ = activate(setup.keeps_small_maps()
                           ? make_small_map_pool(setup.backend, layout_of(setup.map_format()),
                                                 setup.work_area, least)
                           : make_device_pool(setup.backend, setup.map_bytes(), least),
                       "label maps");
  setup.map_pool = map_pool_.get();
}

// With device=auto a GPU without enough memory is left, unless the frames are in its memory.
void FilterStream::start(const PictureCaps& in, const PictureCaps& out) {
  const auto first = backend();
  try {
    return start_on_backend(in, out);
  } catch (const MemoryError& error) {
    map_pool_.reset();
    if (!may_fall_back(*first)) throw;
    if (in.cuda) {
      throw MemoryError(std::string(error.what()) +
                        "; the CPU cannot read frames in CUDA memory: free GPU memory, or put "
                        "cudadownload upstream of this element");
    }
    run_on(fall_back(GST_ELEMENT(element_), settings(), cuda_, error));
  }
  start_on_backend(in, out);
}

void FilterStream::start_on_backend(const PictureCaps& in, const PictureCaps& out) {
  started_with_ = settings();
  area_ = started_with_;
  const int slots = slots_wanted();
  SlotSetup setup = slot_setup(in, out);
  {
    const Backend::Entry entry(*setup.backend);
    engine_->take_work_area(setup.work_area);
    engine_->configure(setup_of(setup, engine_->details(), engine_->reads_mask(), slots));
  }
  make_map_pool(setup, slots);
  GST_DEBUG_OBJECT(element_, "starts with %d frames in flight, %d at once, pictures of %dx%d",
                   slots, setup.slices, setup.work_area.work.width, setup.work_area.work.height);
  setup_ = setup;
  gst_base_transform_set_passthrough(element_, setup_.picture == Output::untouched);
  gst_base_transform_set_in_place(element_, !setup_.replaces());
  warned_ = warned_of_empty_ = false;
  begin_pace(slots, latency_.forget());
  auto fresh = std::make_shared<FrameRing>(
      GST_BASE_TRANSFORM_SRC_PAD(element_), setup_, slots,
      FrameRing::Callbacks{[this] { return hands_over(); },
                           [this](const FrameSlot& slot) { tell_work(slot); },
                           [this](const Finished& finished) { return push(finished); },
                           [this](const std::exception& error) { report(error); },
                           [this](size_t frames) { drop(frames); }});
  const std::lock_guard lock(mutex_);
  ring_ = std::move(fresh);
  if (shut_) ring_->interrupt();
}

}  // namespace regions
