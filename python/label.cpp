// Labelling of arrays: connected components, superpixels, and the removal of small regions and
// holes from masks.
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
  OwnedPicture owned;
  ConstFrame frame;

  void set_owned(OwnedPicture&& picture, const Voxels& voxels) {
    owned = std::move(picture);
    frame = frame_at(owned.bytes.data(), owned.format, {voxels.slice.width, voxels.rows()});
  }
};

// The threshold (fraction of 255) that bytes of at least `level` reach, and lower bytes do not.
double threshold_at(int level) { return (level - 0.5) / 255; }

CcLabelParams parameters_of_mask(const Settings& settings) {
  auto params = parameters<CcLabelParams>(settings);
  params.threshold = threshold_at(1);
  return params;
}

// The results that a call must produce.
struct LabelOutputs {
  int32_t* labels = nullptr;                // the label map, or null if `mask` is set
  bool* mask = nullptr;                     // the output mask, or null if `labels` is set
  bool counts = true;                       // return the number of regions
  std::optional<uint32_t> background = {};  // on a device: regions of this value get label 0
};

using LabelAlgorithm = ParametrisedAlgorithm<CcLabelParams>;

// On a device: sets the labels of regions of one value to 0 and renumbers the others.
void remove_value([[maybe_unused]] const FrameTask& job, [[maybe_unused]] uint32_t value,
                  [[maybe_unused]] void* memory, [[maybe_unused]] uint32_t* total,
                  [[maybe_unused]] Queue& queue) {
#if REGIONS_CUDA
  cclabel::drop_value(job.in, value, job.labels, memory, total, queue);
#endif
}
// Size of the memory that remove_value() requires.
size_t remove_value_bytes([[maybe_unused]] const Voxels& voxels) {
#if REGIONS_CUDA
  return cclabel::drop_value_bytes(Size{voxels.slice.width, voxels.rows()}.area());
#else
  return 0;
#endif
}

// Labels `frame`. Returns the number of regions, or nothing if it is not counted.
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
  const bool algorithm_counts = outputs.counts && !outputs.background;
  const CacheKey key{outputs.mask ? Work::select : Work::label,
                     frame.layout.format,
                     voxels.slice,
                     setup.depth,
                     setup.layers,
                     target,
                     is_equal + 2 * outputs.background.has_value() + 4 * algorithm_counts};
  const auto make = [&] {
    return std::make_unique<LabelAlgorithm>(target, setup, params,
                                            outputs.background ? remove_value_bytes(voxels) : 0);
  };
  return AlgorithmCache::instance().with<LabelAlgorithm>(key, make, [&](LabelAlgorithm& algorithm) {
    FrameTask job{.slices = voxels.slices, .in = frame};
    const VolumeLayout stack = volume_layout_of(setup, job);
    if (outputs.labels) {
      job.labels = {reinterpret_cast<uint32_t*>(outputs.labels), stack.slice.width, stack.rows(),
                    stack.slice.width * ptrdiff_t{4}};
    }
    if (outputs.mask) {
      job.out =
          frame_at(reinterpret_cast<std::byte*>(outputs.mask), PixelFormat::gray8, stack.size());
    }
    return algorithm.run(target, job, params, outputs.counts,
                         [&](uint32_t* total, void* memory, Queue& queue) {
                           if (outputs.background)
                             remove_value(job, *outputs.background, memory, total, queue);
                         });
  });
}

// The input for labelling of equal values.
InputPicture picture_of_values(const Voxels& voxels) {
  InputPicture picture;
  const int bytes = voxels.element_bytes();
  if (bytes > 2) {
    picture.set_owned(number_values(voxels), voxels);
  } else {
    picture.frame = voxels.frame(bytes == 1 ? PixelFormat::gray8 : PixelFormat::gray16);
  }
  return picture;
}

// The input for labelling of the elements that reach a threshold. Several thresholds give one layer
// each, in the given order.
InputPicture picture_of_ranks(const Voxels& voxels, const std::vector<double>& thresholds,
                              CcLabelParams& params) {
  std::vector<double> rising = thresholds;
  std::ranges::sort(rising);
  std::vector<double> levels;
  for (const double threshold : thresholds) {
    const auto below = std::ranges::lower_bound(rising, threshold) - rising.begin();
    levels.push_back(threshold_at(static_cast<int>(below) + 1));
  }
  params.thresholds = levels;
  InputPicture picture;
  picture.set_owned(rank_values(voxels, rising), voxels);
  return picture;
}

uint32_t label_equal(const AnyArray& image, const AnyArray& background, const Labels& labels,
                     const Settings& settings, int threads) {
  const Target target{threads};
  target.expect_arrays(image, background, labels);
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
    return *run_cclabel(voxels, voxels.frame(PixelFormat::gray8), parameters_of_mask(settings),
                        {.labels = labels.data()}, target);
  }
  auto params = parameters<CcLabelParams>(settings);
  params.criterion = Criterion::equal;
  const InputPicture picture = picture_of_values(voxels);
  const uint32_t count =
      *run_cclabel(voxels, picture.frame, params, {.labels = labels.data()}, target);
  return background.size() == 0
             ? count
             : remove_background(voxels, background.data(), labels.data(), count);
}

// Renumbers labels that continue from layer to layer, so that each layer starts at 1. Returns the
// number of regions of each layer.
std::vector<int32_t> count_by_layers(const std::span<int32_t> labels, size_t layers) {
  const size_t pixels = labels.size() / layers;
  std::vector<int32_t> counts;
  for (int32_t last = 0; counts.size() < layers; last += counts.back()) {
    const std::span<int32_t> layer = labels.subspan(counts.size() * pixels, pixels);
    int32_t max = last;
    for (int32_t& label : layer) {
      max = std::max(max, label);
      if (label != 0) label -= last;
    }
    counts.push_back(max - last);
  }
  return counts;
}

std::vector<int32_t> label_above(const AnyArray& image, const std::vector<double>& thresholds,
                                 const Labels& labels, const Settings& settings, int threads) {
  const Target target{threads};
  target.expect_arrays(image, labels);
  const Voxels voxels(image);
  expects(!thresholds.empty() && labels.size() == thresholds.size() * image.size(),
          "labels must have as many elements as the image for each threshold");
  const Unlocked unlocked;
  auto params = parameters<CcLabelParams>(settings);
  const InputPicture picture = picture_of_ranks(voxels, thresholds, params);
  const uint32_t total =
      *run_cclabel(voxels, picture.frame, params, {.labels = labels.data()}, target);
  if (thresholds.size() == 1) return {static_cast<int32_t>(total)};
  return count_by_layers({labels.data(), labels.size()}, thresholds.size());
}

bool is_blank_array(const AnyArray& image) {
  Target{}.expect_arrays(image);
  const Voxels voxels(image);
  const Unlocked unlocked;
  return is_blank(voxels);
}

using Shape = std::vector<int64_t>;
using Strides = Shape;  // in elements

Strides packed_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
  return strides;
}

// Labels arrays on a device, which are passed by address. Everything that depends only on the shape
// is prepared once, so that a call does little work. Labels arrays of bool or 8 or 16-bit integers,
// all of one shape. The first `leading` axes are a batch of pictures or volumes, which are labelled
// separately. With `levels`, each level gives one labelling of the values that reach it. Without
// levels, equal values are connected, and regions with the value `background` get label 0. Arrays
// are on `device`, which may be Target::kCpu.
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
    const auto item = shape.begin() + static_cast<ptrdiff_t>(leading);
    outer_.assign(shape.begin(), item);
    inner_.assign(item, shape.end());
    packed_ = packed_strides(shape);
    // Checks the limits before the caller allocates labels of this shape.
    static_cast<void>(Voxels(nullptr, type(), inner_, inner(packed_), Memory::device));
    for (const int64_t side : outer_) items_ *= side;
    for (const int64_t side : inner_) pixels_ *= side;
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

  // The labels are in order of pictures, then levels. Empty `strides` mean that the images are
  // contiguous. Returns the number of regions of each label map, if it is counted.
  std::vector<uint32_t> run(uintptr_t images, const Strides& strides, uintptr_t labels,
                            uintptr_t stream) const {
    expects(strides.empty() || strides.size() == packed_.size(),
            "strides must have one value per axis");
    const Unlocked unlocked;
    const Target target{.device = device_, .stream = stream};
    const Strides& steps = strides.empty() ? packed_ : strides;
    const auto format = bits_ == 8 ? PixelFormat::gray8 : PixelFormat::gray16;
    auto* next_labels = reinterpret_cast<int32_t*>(labels);
    std::vector<uint32_t> found;
    for (int64_t index = 0; index < items_; ++index) {
      const auto* image = reinterpret_cast<const std::byte*>(images) + offset_of(index, steps);
      const Voxels voxels(image, type(), inner_, inner(steps), target.memory());
      for (const CcLabelParams& params : passes_) {
        const auto total = run_cclabel(
            voxels, voxels.frame(format), params,
            {.labels = next_labels, .counts = counts_, .background = background_}, target);
        if (total) found.push_back(*total);
        next_labels += pixels_;
      }
    }
    return found;
  }

 private:
  nb::dlpack::dtype type() const {
    return {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), static_cast<uint8_t>(bits_), 1};
  }
  // The axes of one picture or volume.
  std::span<const int64_t> inner(const Strides& strides) const {
    return std::span(strides).subspan(outer_.size());
  }
  // Offset of a picture or volume of the batch (bytes).
  int64_t offset_of(int64_t index, const Strides& strides) const {
    int64_t elements = 0;
    for (size_t axis = outer_.size(); axis-- > 0; index /= outer_[axis]) {
      elements += index % outer_[axis] * strides[axis];
    }
    return elements * (bits_ / 8);
  }

  const int device_, bits_;
  const bool counts_;
  const std::optional<uint32_t> background_;
  Shape outer_, inner_;                // axes of the batch; axes of one picture or volume
  Strides packed_;                     // strides of a contiguous array
  int64_t items_ = 1, pixels_ = 1;     // pictures or volumes; elements of each
  std::vector<CcLabelParams> passes_;  // one per label map of a picture
};

using Bools = HostArray<nb::ro, bool>;
using Mask = HostArray<bool, nb::c_contig>;

// Sets `mask` to the regions of `image` that the settings keep.
void select(const Bools& image, const Mask& mask, const Settings& settings, int threads) {
  const Voxels voxels{AnyArray(image)};
  expects(mask.size() == image.size(), "mask must have as many elements as the image");
  const Unlocked unlocked;
  run_cclabel(voxels, voxels.frame(PixelFormat::gray8), parameters_of_mask(settings),
              {.mask = mask.data()}, Target{threads});
  auto* bytes = reinterpret_cast<uint8_t*>(mask.data());
  for (size_t i = 0; i < mask.size(); ++i) bytes[i] &= 1;  // 255 becomes 1
}

// Sets `mask` to the image with its holes filled. A hole is a background region that does not touch
// the border. The settings contain the connectivity of the background.
void fill_holes(const Bools& image, const Mask& mask, const Settings& settings, int threads) {
  const Voxels voxels{AnyArray(image)};
  expects(mask.size() == image.size(), "mask must have as many elements as the image");
  const bool is_volume = image.ndim() == 3;
  const Unlocked unlocked;
  OwnedPicture background{std::vector<std::byte>(mask.size()), PixelFormat::gray8};
  const int width = voxels.slice.width;
  auto* inverted = reinterpret_cast<uint8_t*>(background.bytes.data());
  for (int row = 0; row < voxels.rows(); ++row, inverted += width) {
    const auto* value = reinterpret_cast<const uint8_t*>(voxels.row(row));
    for (int x = 0; x < width; ++x) inverted[x] = value[x] == 0;
  }
  InputPicture picture;
  picture.set_owned(std::move(background), voxels);
  std::vector<int32_t> labels(mask.size());
  const uint32_t count = *run_cclabel(voxels, picture.frame, parameters_of_mask(settings),
                                      {.labels = labels.data()}, Target{threads});
  std::vector<uint8_t> fills(size_t{count} + 1, 1);
  const int32_t* label = labels.data();
  const auto is_border = [](int index, int indices) { return index == 0 || index == indices - 1; };
  for (int row = 0; row < voxels.rows(); ++row, label += width) {
    const int height = voxels.slice.height;
    const bool is_side =
        is_border(row % height, height) || (is_volume && is_border(row / height, voxels.slices));
    const int step = is_side ? 1 : std::max(width - 1, 1);  // else only the first and last element
    for (int x = 0; x < width; x += step) {
      if (label[x] != 0) fills[static_cast<size_t>(label[x])] = 0;
    }
  }
  for (size_t i = 0; i < labels.size(); ++i) mask.data()[i] = fills[static_cast<size_t>(labels[i])];
}

using SlicAlgorithm = ParametrisedAlgorithm<SlicParams>;

// `image` has uint8 elements: gray, or R, G, B in a third axis.
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
  const CacheKey key{CacheKey::Work::slic, frame.layout.format, setup.size, 1, 1, target, counts};
  const auto make = [&] { return std::make_unique<SlicAlgorithm>(target, setup, params); };
  return AlgorithmCache::instance().with<SlicAlgorithm>(key, make, [&](SlicAlgorithm& algorithm) {
    FrameTask job{.in = frame};
    job.labels = {reinterpret_cast<uint32_t*>(labels.data()), setup.size.width, setup.size.height,
                  voxels.pitch};
    return algorithm.run(target, job, params, counts);
  });
}

}  // namespace

void bind_label(nb::module_& module) {
  module.def("label_equal", label_equal);
  module.def("label_above", label_above);
  module.def("is_blank", is_blank_array);
  module.def("select", select);
  module.def("fill_holes", fill_holes);
  module.def("slic", slic);
  nb::class_<DeviceLabelling>(module, "DeviceLabelling")
      .def(nb::init<const Shape&, size_t, int, const std::vector<int>&, std::optional<uint32_t>,
                    const Settings&, bool, int>(),
           nb::arg("shape"), nb::arg("leading"), nb::arg("bits"), nb::arg("levels"),
           nb::arg("background").none(), nb::arg("settings"), nb::arg("counts"), nb::arg("device"))
      .def("run", &DeviceLabelling::run);
}

}  // namespace regions::python
