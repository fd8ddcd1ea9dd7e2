// The functions that label arrays: connected components, superpixels, and the removal of small
// regions and holes from masks.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <span>

#include "core/cclabel/cclabel.hpp"
#include "core/slicsuperpixel/slicsuperpixel.hpp"
#include "python/arrays.hpp"
#include "python/cached_algorithms.hpp"
#include "python/module.hpp"

namespace regions::python {
namespace {

// The input of cclabel: the array itself if cclabel supports its elements, else a converted
// picture.
struct InputPicture {
  OwnedPicture owned;  // the converted picture, if there is one
  ConstFrame frame;    // refers to the array or to `owned`

  void set_owned(OwnedPicture&& picture, const Voxels& voxels) {
    owned = std::move(picture);
    frame = frame_at(owned.bytes.get(), owned.format, {voxels.slice.width, voxels.rows()});
  }
};

// Returns a threshold (fraction of 255). Bytes of at least `level` reach it, and lower bytes do
// not.
double threshold_at(int level) { return (level - 0.5) / 255; }

// Returns the parameters for an image whose elements are foreground if they are not 0.
CcLabelParams parameters_of_mask(const Settings& settings) {
  auto params = parameters<CcLabelParams>(settings);
  params.threshold = threshold_at(1);
  return params;
}

// The results that a call must produce.
struct LabelOutputs {
  int32_t* labels = nullptr;                // the label map, or null if `mask` is set
  bool* mask = nullptr;                     // the output mask, or null if `labels` is set
  bool counts = true;                       // whether to return the number of regions
  std::optional<uint32_t> background = {};  // regions of this value get label 0
};

using LabelAlgorithm = ParametrisedAlgorithm<CcLabelParams>;

// Sets the labels of regions with one value to 0 and renumbers the other regions. Works on a CUDA
// device only. `memory` has remove_value_bytes() bytes.
void remove_value([[maybe_unused]] const FrameTask& task, [[maybe_unused]] uint32_t value,
                  [[maybe_unused]] void* memory, [[maybe_unused]] uint32_t* total,
                  [[maybe_unused]] Queue& queue) {
#if REGIONS_CUDA
  cclabel::drop_value(task.in, value, task.labels, memory, total, queue);
#endif
}
// The size in bytes of the memory that remove_value() requires.
size_t remove_value_bytes([[maybe_unused]] const Voxels& voxels) {
#if REGIONS_CUDA
  return cclabel::drop_value_bytes(Size{voxels.slice.width, voxels.rows()}.area());
#else
  return 0;
#endif
}

// Labels `frame`. Returns the number of regions. On a device, returns nothing unless
// `outputs.counts` is set.
std::optional<uint32_t> run_cclabel(const Voxels& voxels, const ConstFrame& frame,
                                    const CcLabelParams& params, const LabelOutputs& outputs,
                                    const Target& target) {
  Setup setup{.in = frame.layout, .size = voxels.slice};
  plan(params, setup);
  setup.depth = voxels.slices;
  setup.has_output = outputs.mask != nullptr;
  setup.max_regions = 1;
  expects_consistent(setup, params);
  using Work = CacheKey::Work;
  const bool is_equal = params.criterion == Criterion::equal;
  const bool algorithm_counts = outputs.counts && (!outputs.background || target.is_cpu());
  const CacheKey key{outputs.mask ? Work::select : Work::label, setup, target.threads,
                     target.device,
                     is_equal + 2 * outputs.background.has_value() + 4 * algorithm_counts};
  const auto work = [&](LabelAlgorithm& algorithm) {
    FrameTask task{.slices = voxels.slices, .in = frame};
    if (target.is_cpu()) task.excluded_value = outputs.background;
    const VolumeLayout layout = volume_layout_of(setup, task);
    if (outputs.labels) {
      task.labels = {reinterpret_cast<uint32_t*>(outputs.labels), layout.slice.width, layout.rows(),
                     layout.slice.width * ptrdiff_t{4}};
    }
    if (outputs.mask) {
      task.out =
          frame_at(reinterpret_cast<std::byte*>(outputs.mask), PixelFormat::gray8, layout.size());
    }
    return algorithm.run(target, task, params, outputs.counts,
                         [&](uint32_t* total, void* memory, Queue& queue) {
                           if (outputs.background && !target.is_cpu())
                             remove_value(task, *outputs.background, memory, total, queue);
                         });
  };
  return AlgorithmCache::instance().with<LabelAlgorithm>(
      key, work, target, setup, params,
      outputs.background && !target.is_cpu() ? remove_value_bytes(voxels) : 0);
}

// Returns the input for labelling the elements that reach a level, and sets the thresholds in
// `params`. Each entry of `ranks` gives one layer of labels: the elements that reach at least so
// many of the levels.
InputPicture picture_of_ranks(const Voxels& voxels, const AnyArray& levels,
                              const std::vector<int>& ranks, CcLabelParams& params) {
  std::vector<double> thresholds;
  for (const int rank : ranks) thresholds.push_back(threshold_at(rank));
  params.thresholds = thresholds;
  InputPicture picture;
  picture.set_owned(rank_values(voxels, levels.data(), levels.size()), voxels);
  return picture;
}

// Labels the regions of equal values of a picture or volume. Regions whose value equals the only
// element of `background` get label 0. Returns the number of regions.
uint32_t label_equal(const AnyArray& image, const AnyArray& background, const Labels& labels,
                     const Settings& settings, int connectivity, int threads) {
  const Target target{threads};
  target.expect_arrays(image, background, labels);
  const Voxels voxels(image);
  expects(
      background.dtype() == image.dtype() && background.size() <= 1 &&
          labels.size() == image.size(),
      "background must have the type of the image and at most one element, and labels must have as "
      "many elements as the image");
  const int bytes = voxels.element_bytes();
  const void* const excluded = background.size() ? background.data() : nullptr;
  if (suits_runs(voxels, excluded, threads)) {
    return label_values(image, background, labels, connectivity, false);
  }
  std::optional<Unlocked> unlocked(std::in_place);
  std::optional<uint32_t> excluded_value;  // the background in `picture`
  InputPicture picture;
  if (bytes <= 2) {
    picture.frame = voxels.frame(bytes == 1 ? PixelFormat::gray8 : PixelFormat::gray16);
    if (excluded) {
      excluded_value = bytes == 1 ? *static_cast<const uint8_t*>(excluded)
                                  : *static_cast<const uint16_t*>(excluded);
    }
  } else {
    auto numbers = number_values(voxels, excluded);
    if (!numbers) {
      unlocked.reset();
      return label_values(image, background, labels, connectivity, false);
    }
    picture.set_owned(std::move(*numbers), voxels);
    if (excluded) excluded_value = 0;
  }
  const bool is_bool =
      static_cast<nb::dlpack::dtype_code>(voxels.type.code) == nb::dlpack::dtype_code::Bool;
  // If the image is a mask, labelling its foreground gives the same labels in less time.
  if (picture.frame.layout.format == PixelFormat::gray8 && excluded_value == 0u &&
      (is_bool || is_mask(picture.frame))) {
    return *run_cclabel(voxels, picture.frame, parameters_of_mask(settings),
                        {.labels = labels.data()}, target);
  }
  auto params = parameters<CcLabelParams>(settings);
  params.criterion = Criterion::equal;
  return *run_cclabel(voxels, picture.frame, params,
                      {.labels = labels.data(), .background = excluded_value}, target);
}

// The labels of each layer continue after the labels of the previous layer. Renumbers them so that
// each layer starts at 1. Returns the number of regions of each layer.
std::vector<int32_t> renumber_layers(const std::span<int32_t> labels, size_t layers) {
  const size_t pixels = labels.size() / layers;
  std::vector<int32_t> counts;
  for (int32_t previous_max = 0; counts.size() < layers; previous_max += counts.back()) {
    const std::span<int32_t> layer = labels.subspan(counts.size() * pixels, pixels);
    int32_t max = previous_max;
    for (int32_t& label : layer) {
      max = std::max(max, label);
      if (label != 0) label -= previous_max;
    }
    counts.push_back(max - previous_max);
  }
  return counts;
}

// Labels the elements that reach at least ranks[i] of the levels, for each layer i of `labels`.
std::vector<int32_t> label_above(const AnyArray& image, const AnyArray& levels,
                                 const std::vector<int>& ranks, const Labels& labels,
                                 const Settings& settings, int threads) {
  const Target target{threads};
  target.expect_arrays(image, levels, labels);
  const Voxels voxels(image);
  expects(!ranks.empty() && labels.size() == ranks.size() * image.size(),
          "labels must have as many elements as the image for each threshold");
  expects(levels.dtype() == image.dtype() && levels.size() <= ranks.size(),
          "levels must have the type of the image, and at most one level per threshold");
  const Unlocked unlocked;
  auto params = parameters<CcLabelParams>(settings);
  const InputPicture picture = picture_of_ranks(voxels, levels, ranks, params);
  const uint32_t total =
      *run_cclabel(voxels, picture.frame, params, {.labels = labels.data()}, target);
  if (ranks.size() == 1) return {static_cast<int32_t>(total)};
  return renumber_layers({labels.data(), labels.size()}, ranks.size());
}

// Returns whether all bytes of all elements are 0.
bool is_blank(const HostArray<nb::ro, nb::c_contig>& array) {
  const std::span bytes(static_cast<const uint8_t*>(array.data()), array.nbytes());
  const Unlocked unlocked;
  constexpr size_t kBlock = 4096;  // bytes that are read before the result is tested
  for (size_t begin = 0; begin < bytes.size(); begin += kBlock) {
    uint8_t bits = 0;
    for (const uint8_t byte : bytes.subspan(begin, std::min(kBlock, bytes.size() - begin)))
      bits |= byte;
    if (bits != 0) return false;
  }
  return true;
}

using Shape = std::vector<int64_t>;  // lengths of the axes
using Strides = Shape;               // strides of the axes, in elements

// Returns the strides of a contiguous array.
Strides packed_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
  return strides;
}

// Labels arrays of one shape, which are passed by address. The constructor prepares everything that
// depends only on the shape, so that run() does little work. The elements are bool or integers of 8
// or 16 bits. The first `leading` axes are a batch of pictures or volumes, which are labelled
// separately. Each value in `levels` gives one label map, whose foreground are the elements of at
// least this value. Without levels, equal values are connected, and regions with the value
// `background` get label 0. The arrays are on `device`, which may be Target::kCpu.
class DeviceLabelling {
 public:
  DeviceLabelling(const Shape& shape, size_t leading, int bits, const std::vector<int>& levels,
                  std::optional<uint32_t> background, const Settings& settings, bool counts,
                  int device)
      : device_(device), bits_(bits), counts_(counts), background_(background) {
    expects(leading < shape.size(), "leading must be less than the number of axes");
    expects(bits == 8 || bits == 16, [&] {
      return "array elements have " + std::to_string(bits) + " bits, must have 8 or 16 on a device";
    });
    const auto first_inner = shape.begin() + static_cast<ptrdiff_t>(leading);
    batch_axes_.assign(shape.begin(), first_inner);
    item_axes_.assign(first_inner, shape.end());
    packed_strides_ = packed_strides(shape);
    // Checks the limits before the caller allocates labels of this shape.
    static_cast<void>(
        Voxels(nullptr, type(), item_axes_, item_strides(packed_strides_), Memory::device));
    for (const int64_t side : batch_axes_) item_count_ *= side;
    for (const int64_t side : item_axes_) item_elements_ *= side;
    auto params = parameters<CcLabelParams>(settings);
    if (levels.empty()) {
      params.criterion = Criterion::equal;
      passes_.push_back(params);
    }
    for (const int level : levels) {
      params.threshold = (level - 0.5) / (bits == 8 ? 255 : 65535);
      passes_.push_back(params);
    }
  }

  // Labels the images. The label maps are sorted by picture, then by level. Empty `strides` mean
  // that the images are contiguous. Returns the number of regions of each label map, if regions are
  // counted.
  std::vector<uint32_t> run(uintptr_t images, const Strides& strides, uintptr_t labels,
                            uintptr_t stream) const {
    expects(strides.empty() || strides.size() == packed_strides_.size(),
            "strides must have one value per axis");
    const Unlocked unlocked;
    const Target target{.device = device_, .stream = stream};
    const Strides& used_strides = strides.empty() ? packed_strides_ : strides;
    const auto format = bits_ == 8 ? PixelFormat::gray8 : PixelFormat::gray16;
    auto* next_labels = reinterpret_cast<int32_t*>(labels);
    std::vector<uint32_t> totals;
    for (int64_t index = 0; index < item_count_; ++index) {
      const auto* image =
          reinterpret_cast<const std::byte*>(images) + offset_of(index, used_strides);
      const Voxels voxels(image, type(), item_axes_, item_strides(used_strides), target.memory());
      for (const CcLabelParams& params : passes_) {
        const auto total = run_cclabel(
            voxels, voxels.frame(format), params,
            {.labels = next_labels, .counts = counts_, .background = background_}, target);
        if (total) totals.push_back(*total);
        next_labels += item_elements_;
      }
    }
    return totals;
  }

 private:
  nb::dlpack::dtype type() const {
    return {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), static_cast<uint8_t>(bits_), 1};
  }
  // The strides of one picture or volume.
  std::span<const int64_t> item_strides(const Strides& strides) const {
    return std::span(strides).subspan(batch_axes_.size());
  }
  // The offset of a picture or volume of the batch (bytes).
  int64_t offset_of(int64_t index, const Strides& strides) const {
    int64_t elements = 0;
    for (size_t axis = batch_axes_.size(); axis-- > 0; index /= batch_axes_[axis]) {
      elements += index % batch_axes_[axis] * strides[axis];
    }
    return elements * (bits_ / 8);
  }

  const int device_, bits_;
  const bool counts_;
  const std::optional<uint32_t> background_;
  Shape batch_axes_;                   // lengths of the axes of the batch
  Shape item_axes_;                    // lengths of the axes of one picture or volume
  Strides packed_strides_;             // strides of a contiguous array
  int64_t item_count_ = 1;             // number of pictures or volumes
  int64_t item_elements_ = 1;          // number of elements of one picture or volume
  std::vector<CcLabelParams> passes_;  // parameters of each label map of one picture or volume
};

using Bools = HostArray<nb::ro, bool>;
using Mask = HostArray<bool, nb::c_contig>;

// Sets `mask` to the regions of `image` that the settings keep (min-area), after filling holes
// (fill-holes).
void select(const Bools& image, const Mask& mask, const Settings& settings, int threads) {
  const Voxels voxels{AnyArray(image)};
  expects(mask.size() == image.size(), "mask must have as many elements as the image");
  const Unlocked unlocked;
  run_cclabel(voxels, voxels.frame(PixelFormat::gray8), parameters_of_mask(settings),
              {.mask = mask.data()}, Target{threads});
  auto* bytes = reinterpret_cast<uint8_t*>(mask.data());
  for (size_t i = 0; i < mask.size(); ++i) bytes[i] &= 1;  // 255 becomes 1
}

using SlicAlgorithm = ParametrisedAlgorithm<SlicParams>;

// Labels the superpixels of an image with uint8 elements: gray, or R, G, B in a third axis.
std::optional<uint32_t> slic(const Pixels& image, const Labels& labels, const Settings& settings,
                             bool counts, const TargetTuple& target_tuple) {
  const Target target = target_of(target_tuple);
  target.expect_arrays(image, labels);
  const ConstFrame frame = picture_of(image);
  const Voxels voxels{AnyArray(labels)};
  expects(voxels.slices == 1 && voxels.slice == frame.size(),
          "labels must have the size of the image");
  const Unlocked unlocked;
  const auto params = parameters<SlicParams>(settings);
  const Setup setup{.in = frame.layout, .size = voxels.slice, .max_regions = 1};
  const CacheKey key{CacheKey::Work::slic, setup, target.threads, target.device, counts};
  const auto work = [&](SlicAlgorithm& algorithm) {
    FrameTask task{.in = frame};
    task.labels = {reinterpret_cast<uint32_t*>(labels.data()), setup.size.width, setup.size.height,
                   voxels.pitch};
    return algorithm.run(target, task, params, counts);
  };
  return AlgorithmCache::instance().with<SlicAlgorithm>(key, work, target, setup, params);
}

}  // namespace

void bind_label(nb::module_& module) {
  module.def("label_equal", label_equal);
  module.def("label_above", label_above);
  module.def("is_blank", is_blank);
  module.def("select", select);
  module.def("slic", slic);
  nb::class_<DeviceLabelling>(module, "DeviceLabelling")
      .def(nb::init<const Shape&, size_t, int, const std::vector<int>&, std::optional<uint32_t>,
                    const Settings&, bool, int>(),
           nb::arg("shape"), nb::arg("leading"), nb::arg("bits"), nb::arg("levels"),
           nb::arg("background").none(), nb::arg("settings"), nb::arg("counts"), nb::arg("device"))
      .def("run", &DeviceLabelling::run);
}

}  // namespace regions::python
