// The function label: connected components of arrays.
#include "python/label.hpp"

#include <algorithm>
#include <span>

#include "core/cclabel/drop_value.hpp"
#include "python/bindings.hpp"
#include "python/interpreter.hpp"

namespace regions::python {
namespace {

using LabelEngine = AlgorithmEngine<CcLabelParams>;

// Sets the labels of regions of one value to 0 and renumbers the others, see drop_value().
void except([[maybe_unused]] const Job& job, [[maybe_unused]] uint32_t value,
            [[maybe_unused]] void* memory, [[maybe_unused]] uint32_t* total,
            [[maybe_unused]] Queue& queue) {
#if REGIONS_CUDA
  cclabel::drop_value(job.in, value, job.labels, memory, total, queue);
#endif
}
size_t except_bytes([[maybe_unused]] const Voxels& voxels) {
#if REGIONS_CUDA
  return cclabel::drop_value_bytes(Size{voxels.slice.width, voxels.rows()}.area());
#else
  return 0;
#endif
}

}  // namespace

std::optional<uint32_t> run(const Voxels& voxels, const ConstFrame& frame,
                            const CcLabelParams& params, const Output& output, const Place& place) {
  Setup setup{.in = frame.layout, .size = voxels.slice};
  plan(params, setup);
  setup.depth = voxels.slices;
  setup.has_output = output.mask != nullptr;
  setup.max_regions = 1;
  expects_agreeing(setup, params);
  using Work = EngineKey::Work;
  const bool is_equal = params.criterion == Criterion::equal;
  const bool told_by_algorithm = output.counts && !output.background;
  const EngineKey key{output.mask ? Work::select : Work::label,
                      frame.layout.format,
                      voxels.slice,
                      setup.depth,
                      setup.layers,
                      place,
                      is_equal + 2 * output.background.has_value() + 4 * told_by_algorithm};
  const auto make = [&] {
    return std::make_unique<LabelEngine>(place, setup, params,
                                         output.background ? except_bytes(voxels) : 0);
  };
  return Engines::all().with<LabelEngine>(key, make, [&](LabelEngine& engine) {
    Job job{.slices = voxels.slices, .in = frame};
    const Stack stack = stack_of(setup, job);
    if (output.labels) {
      job.labels = {reinterpret_cast<uint32_t*>(output.labels), stack.slice.width, stack.rows(),
                    stack.slice.width * ptrdiff_t{4}};
    }
    if (output.mask) {
      job.out =
          frame_at(reinterpret_cast<std::byte*>(output.mask), PixelFormat::gray8, stack.size());
    }
    return engine.run(place, job, params, output.counts,
                      [&](uint32_t* total, void* memory, Queue& queue) {
                        if (output.background)
                          except(job, *output.background, memory, total, queue);
                      });
  });
}

namespace {

Picture equal_values(const Voxels& voxels) {
  Picture picture;
  const int bytes = voxels.element_bytes();
  if (bytes > 2) {
    picture.take(numbered(voxels), voxels);
  } else {
    picture.frame = voxels.frame(bytes == 1 ? PixelFormat::gray8 : PixelFormat::gray16);
  }
  return picture;
}

// One threshold: the elements that reach it. Several: one layer per threshold, in their order.
Picture above(const Voxels& voxels, const std::vector<double>& thresholds, CcLabelParams& params) {
  std::vector<double> rising = thresholds;
  std::ranges::sort(rising);
  std::vector<double> levels;
  for (const double threshold : thresholds) {
    const auto below = std::ranges::lower_bound(rising, threshold) - rising.begin();
    levels.push_back(threshold_at(static_cast<int>(below) + 1));
  }
  params.thresholds = levels;
  Picture picture;
  picture.take(ranked(voxels, rising), voxels);
  return picture;
}

uint32_t label_equal(const AnyArray& image, const AnyArray& background, const Labels& labels,
                     const Settings& settings, int threads) {
  const Place place{threads};
  place.expects_holds(image, background, labels);
  const Voxels voxels(image);
  expects(
      background.dtype() == image.dtype() && background.size() <= 1 &&
          labels.size() == image.size(),
      "background must have the type of the image and at most one element, and labels must have as "
      "many elements as the image");
  const Unlocked unlocked;
  const bool is_bool =
      static_cast<nb::dlpack::dtype_code>(voxels.type.code) == nb::dlpack::dtype_code::Bool;
  // A mask needs no second pass over the labels, and the labels are the same.
  if (voxels.element_bytes() == 1 && background.size() == 1 &&
      *static_cast<const uint8_t*>(background.data()) == 0 && (is_bool || is_mask(voxels))) {
    return *run(voxels, voxels.frame(PixelFormat::gray8), parameters_of_mask(settings),
                {.labels = labels.data()}, place);
  }
  auto params = parameters<CcLabelParams>(settings);
  params.criterion = Criterion::equal;
  const Picture picture = equal_values(voxels);
  const uint32_t count = *run(voxels, picture.frame, params, {.labels = labels.data()}, place);
  return background.size() == 0 ? count
                                : drop_background(voxels, background.data(), labels.data(), count);
}

// Renumbers labels that continue from layer to layer, so that each layer starts at 1. Returns the
// number of regions of each layer.
std::vector<int32_t> count_by_layers(const std::span<int32_t> labels, size_t layers) {
  const size_t pixels = labels.size() / layers;
  std::vector<int32_t> counts;
  for (int32_t last = 0; counts.size() < layers; last += counts.back()) {
    const std::span<int32_t> layer = labels.subspan(counts.size() * pixels, pixels);
    int32_t most = last;
    for (int32_t& label : layer) {
      most = std::max(most, label);
      if (label != 0) label -= last;
    }
    counts.push_back(most - last);
  }
  return counts;
}

std::vector<int32_t> label_above(const AnyArray& image, const std::vector<double>& thresholds,
                                 const Labels& labels, const Settings& settings, int threads) {
  const Place place{threads};
  place.expects_holds(image, labels);
  const Voxels voxels(image);
  expects(!thresholds.empty() && labels.size() == thresholds.size() * image.size(),
          "labels must have as many elements as the image for each threshold");
  const Unlocked unlocked;
  auto params = parameters<CcLabelParams>(settings);
  const Picture picture = above(voxels, thresholds, params);
  const uint32_t total = *run(voxels, picture.frame, params, {.labels = labels.data()}, place);
  if (thresholds.size() == 1) return {static_cast<int32_t>(total)};
  return count_by_layers({labels.data(), labels.size()}, thresholds.size());
}

bool is_blank_array(const AnyArray& image) {
  Place{}.expects_holds(image);
  const Voxels voxels(image);
  const Unlocked unlocked;
  return is_blank(voxels);
}

}  // namespace

void bind_label(nb::module_& module) {
  module.def("label_equal", label_equal);
  module.def("label_above", label_above);
  module.def("is_blank", is_blank_array);
}

}  // namespace regions::python
