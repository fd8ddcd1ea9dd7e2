// Settings of frames, and everything that a filter writes for a frame.
#pragma once

#include <algorithm>

#include "core/frame.hpp"
#include "tests/algorithms.hpp"
#include "tests/library/library_case.hpp"

namespace regions::test {

using Bytes = std::vector<uint8_t>;

// The pictures and tables of a frame.
struct FrameSettings {
  std::string name = "default";
  PixelFormat in = PixelFormat::nv12;
  PixelFormat out = PixelFormat::nv12;
  bool has_out = true;
  int width = 52, height = 38;
  RegionsColor color = REGIONS_COLOR_BT601;
  PixelFormat mask = PixelFormat::gray8;
  bool has_mask = true;
  bool borders = false;
  uint32_t runs = 0;
  size_t shift = 0;  // of the pictures' contents, in bytes
};

// The outputs of an algorithm other than the picture.
struct OutputKinds {
  std::string_view algorithm;
  bool regions, foreground, moments, runs;
};
inline OutputKinds output_kinds_of(std::string_view algorithm) {
  for (const OutputKinds& produced : {OutputKinds{"cclabel", true, false, false, true},
                                      OutputKinds{"graphcutbg", false, true, false, false},
                                      OutputKinds{"slicsuperpixel", true, false, true, false},
                                      OutputKinds{"regionoverlay", false, false, false, false}}) {
    if (produced.algorithm == algorithm) return produced;
  }
  ADD_FAILURE() << "tests/library/frame_settings.hpp does not list the outputs of " << algorithm;
  return {algorithm, false, false, false, false};
}

// A picture of blocks of 5x3 pixels.
class Pixels {
 public:
  // The contents move by `shift` bytes.
  Pixels(PixelFormat format, int width, int height, bool filled, size_t shift = 0) {
    const Layout& layout = layout_of(format);
    picture_.format = name_of(format).data();
    picture_.width = width;
    picture_.height = height;
    for (int p = 0; p < layout.planes; ++p) {
      const size_t row = row_bytes(layout, p, {width, height});
      const auto rows = static_cast<size_t>(row_count(layout, p, {width, height}));
      Bytes& plane = planes_.emplace_back(row * rows);
      for (size_t i = 0; filled && i < plane.size(); ++i) {
        const size_t block =
            (i + shift) % row / 5 * 31 + i / row / 3 * 17 + static_cast<size_t>(p) * 7;
        plane[i] = static_cast<uint8_t>(static_cast<uint32_t>(block) * 2654435769u >> 24);
      }
      picture_.plane[p] = plane.data();
      picture_.pitch[p] = static_cast<ptrdiff_t>(row);
    }
  }
  const RegionsPicture& get() const { return picture_; }
  void append_to(Bytes& all) const {
    for (const Bytes& plane : planes_) all.insert(all.end(), plane.begin(), plane.end());
  }

 private:
  std::vector<Bytes> planes_;
  RegionsPicture picture_ = {};
};

// The status of a frame, and the bytes of all outputs.
struct FrameOutputs {
  RegionsStatus status;
  Bytes bytes;
  bool operator==(const FrameOutputs&) const = default;
};
inline FrameOutputs outputs_of(RegionsFilter* filter, const std::string& algorithm,
                               const FrameSettings& kind) {
  constexpr uint32_t kMax = 300;
  const Pixels in(kind.in, kind.width, kind.height, true, kind.shift);
  const Pixels out(kind.out, kind.width, kind.height, false);
  const Pixels mask(kind.mask, kind.width, kind.height, true, kind.shift);
  const Pixels labels(PixelFormat::labels32, kind.width, kind.height, false);
  const Pixels foreground(PixelFormat::gray8, kind.width, kind.height, false);
  std::vector<RegionsRegion> regions(kMax);
  std::vector<RegionsBorder> borders(3 * kMax);
  std::vector<RegionsRun> runs(kind.runs);
  RegionsFrame frame = REGIONS_FRAME_INIT;
  frame.in = in.get();
  frame.in.color = kind.color;
  if (kind.has_out) frame.out = out.get();
  if (kind.has_mask) frame.mask = mask.get();
  const OutputKinds produced = output_kinds_of(algorithm);
  if (produced.foreground) frame.foreground = foreground.get();
  if (produced.regions) {
    frame.labels = labels.get();
    frame.regions = regions.data();
    frame.capacity = kMax;
  }
  if (kind.borders) frame.borders = borders.data();
  if (kind.runs) frame.runs = runs.data();
  frame.run_capacity = kind.runs;
  frame.count = frame.total = frame.border_count = frame.run_count = frame.runs_truncated = 99;
  Bytes all;
  const RegionsStatus status = regions_process(filter, &frame);
  if (status != REGIONS_OK) {
    for (const uint32_t count :
         {frame.count, frame.total, frame.border_count, frame.run_count, frame.runs_truncated}) {
      EXPECT_EQ(count, 0u) << "the frame failed";
    }
    return {status, {}};
  }
  for (const Pixels* picture : {&out, &labels, &foreground}) picture->append_to(all);
  const auto append = [&all](const auto& values) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    all.insert(all.end(), bytes, bytes + values.size() * sizeof values[0]);
  };
  append(regions);
  append(borders);
  append(runs);
  append(std::vector<uint32_t>{frame.count, frame.total, frame.border_count, frame.run_count,
                               frame.runs_truncated});
  return {status, all};
}

struct Settings {
  std::string algorithm;
  std::vector<std::pair<const char*, const char*>> values;
  bool has_borders = false, has_runs = false;
};
inline const std::vector<Settings> kSettings = [] {
  std::vector<Settings> all = {
      {"cclabel", {{"style", "boxes+outlines"}, {"min-area", "4"}}, false, true},
      {"cclabel", {{"source", "mask"}, {"fill-holes", "9"}}, false, true},
      {"graphcutbg", {{"source", "both"}}, false, false},
      {"slicsuperpixel", {{"region-size", "7"}, {"output", "mean"}}, true, false}};
  for (const KnownAlgorithm& known : kAlgorithms) {  // other algorithms with default settings
    if (std::ranges::find(all, known.name, &Settings::algorithm) == all.end()) {
      all.push_back({known.name, {}});
    }
  }
  return all;
}();

inline Filter opened(const Settings& settings) {
  Filter filter = open(settings.algorithm.c_str());
  for (const auto& [name, value] : settings.values) {
    EXPECT_EQ(regions_set(filter.get(), name, value), REGIONS_OK) << regions_error();
  }
  return filter;
}

}  // namespace regions::test
