// Connected components of arrays.
#include <algorithm>
#include <span>

#include "core/cclabel/cclabel.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/engines.hpp"
#include "python/interpreter.hpp"
#include "python/settings.hpp"
#include "python/values.hpp"

namespace regions::python {
namespace {

using LabelEngine = AlgorithmEngine<CcLabelParams>;
using Bools = Array<nb::ro, bool>;
using Mask = Array<bool, nb::c_contig>;

// What is labelled: the array itself where cclabel takes its elements, else what is made of it.
struct Picture {
  Made made;
  ConstFrame frame;

  void take(Made&& other, const Voxels& voxels) {
    made = std::move(other);
    frame = frame_at(made.bytes.data(), made.format, {voxels.slice.width, voxels.rows()});
  }
};

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

// The threshold that bytes of at least `level` reach, and no lower ones.
double threshold_at(int level) { return (level - 0.5) / 255; }

CcLabelParams parameters_of_mask(const Settings& settings) {
  auto params = parameters<CcLabelParams>(settings);
  params.threshold = threshold_at(1);
  return params;
}

// Of a threshold: what reaches it; of several: as many layers, in their order.
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

// Regions found, which become `labels` or, where that is null, `mask`.
uint32_t run(const Voxels& voxels, const ConstFrame& frame, const CcLabelParams& params,
             int32_t* labels, bool* mask, int threads) {
  Setup setup{.in = frame.layout, .size = voxels.slice};
  plan(params, setup);
  setup.depth = voxels.slices;
  setup.has_output = mask != nullptr;
  setup.max_regions = 1;
  expects_agreeing(setup, params);
  using Work = EngineKey::Work;
  const EngineKey key{mask ? Work::select : Work::label,
                      frame.layout.format,
                      voxels.slice,
                      setup.depth,
                      setup.layers,
                      threads};
  const auto make = [&] { return std::make_unique<LabelEngine>(threads, setup); };
  return Engines::all().with<LabelEngine>(key, make, [&](LabelEngine& engine) {
    uint32_t total = 0;
    Job job{.slices = voxels.slices, .in = frame};
    const Stack stack = stack_of(setup, job);
    job.table.total = &total;
    if (labels) {
      job.labels = {reinterpret_cast<uint32_t*>(labels), stack.slice.width, stack.rows(),
                    stack.slice.width * ptrdiff_t{4}};
    }
    if (mask) {
      job.out = frame_at(reinterpret_cast<std::byte*>(mask), PixelFormat::gray8, stack.size());
    }
    engine.run(job, params);
    return total;
  });
}

uint32_t label_equal(const AnyArray& image, const AnyArray& background, const Labels& labels,
                     const Settings& settings, int threads) {
  const Voxels voxels(image);
  expects(background.dtype() == image.dtype() && background.size() <= 1 &&
              labels.size() == image.size(),
          "background and labels go with the image");
  const Unlocked unlocked;
  // The same labels, without a second pass.
  if (voxels.element_bytes() == 1 && background.size() == 1 &&
      *static_cast<const uint8_t*>(background.data()) == 0 && is_mask(voxels)) {
    return run(voxels, voxels.frame(PixelFormat::gray8), parameters_of_mask(settings),
               labels.data(), nullptr, threads);
  }
  auto params = parameters<CcLabelParams>(settings);
  params.criterion = Criterion::equal;
  const Picture picture = equal_values(voxels);
  const uint32_t count = run(voxels, picture.frame, params, labels.data(), nullptr, threads);
  return background.size() == 0 ? count
                                : drop_background(voxels, background.data(), labels.data(), count);
}

// Makes labels, which count through all layers, begin at 1 in each. Returns how many each has.
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
  const Voxels voxels(image);
  expects(!thresholds.empty() && labels.size() == thresholds.size() * image.size(),
          "labels go with the image");
  const Unlocked unlocked;
  auto params = parameters<CcLabelParams>(settings);
  const Picture picture = above(voxels, thresholds, params);
  const uint32_t total = run(voxels, picture.frame, params, labels.data(), nullptr, threads);
  if (thresholds.size() == 1) return {static_cast<int32_t>(total)};
  return count_by_layers({labels.data(), labels.size()}, thresholds.size());
}

bool is_blank_array(const AnyArray& image) {
  const Voxels voxels(image);
  const Unlocked unlocked;
  return is_blank(voxels);
}

// `mask` becomes what is kept of what is true.
void select(const Bools& image, const Mask& mask, const Settings& settings, int threads) {
  const Voxels voxels{AnyArray(image)};
  expects(mask.size() == image.size(), "the mask goes with the image");
  const Unlocked unlocked;
  run(voxels, voxels.frame(PixelFormat::gray8), parameters_of_mask(settings), nullptr, mask.data(),
      threads);
  auto* bytes = reinterpret_cast<uint8_t*>(mask.data());
  for (size_t i = 0; i < mask.size(); ++i) bytes[i] &= 1;  // of 255
}

// `mask` becomes the image and the background, connected by the settings, that no path leads out
// of.
void fill_holes(const Bools& image, const Mask& mask, const Settings& settings, int threads) {
  const Voxels voxels{AnyArray(image)};
  expects(mask.size() == image.size(), "the mask goes with the image");
  const bool is_volume = image.ndim() == 3;
  const Unlocked unlocked;
  Made made{std::vector<std::byte>(mask.size()), PixelFormat::gray8};
  const int width = voxels.slice.width;
  auto* inverted = reinterpret_cast<uint8_t*>(made.bytes.data());
  for (int row = 0; row < voxels.rows(); ++row, inverted += width) {
    const auto* value = reinterpret_cast<const uint8_t*>(voxels.row(row));
    for (int x = 0; x < width; ++x) inverted[x] = value[x] == 0;
  }
  Picture picture;
  picture.take(std::move(made), voxels);
  std::vector<int32_t> labels(mask.size());
  const uint32_t count =
      run(voxels, picture.frame, parameters_of_mask(settings), labels.data(), nullptr, threads);
  std::vector<uint8_t> fills(size_t{count} + 1, 1);
  const int32_t* label = labels.data();
  const auto is_end = [](int index, int indices) { return index == 0 || index == indices - 1; };
  for (int row = 0; row < voxels.rows(); ++row, label += width) {
    const int height = voxels.slice.height;
    const bool is_side =
        is_end(row % height, height) || (is_volume && is_end(row / height, voxels.slices));
    const int step = is_side ? 1 : std::max(width - 1, 1);  // else its first and last alone
    for (int x = 0; x < width; x += step) {
      if (label[x] != 0) fills[static_cast<size_t>(label[x])] = 0;
    }
  }
  for (size_t i = 0; i < labels.size(); ++i) mask.data()[i] = fills[static_cast<size_t>(labels[i])];
}

}  // namespace

void bind_label(nb::module_& module) {
  module.def("label_equal", label_equal);
  module.def("label_above", label_above);
  module.def("is_blank", is_blank_array);
  module.def("select", select);
  module.def("fill_holes", fill_holes);
}

}  // namespace regions::python
