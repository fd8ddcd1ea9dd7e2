// Reads and checks the pictures that the caller of the C interface passed.
#include <string>
#include <utility>

#include "library/filter.hpp"

namespace regions {
namespace {

constexpr int kMinHdHeight = 720;  // pixels; pictures with fewer rows default to BT.601
constexpr int kMaxSide = 65535;    // largest width and height (pixels)

Colorimetry color_of(const RegionsPicture& picture, const Layout& layout) {
  if (layout.model != ColorModel::yuv) return {};
  switch (picture.color) {
    case REGIONS_COLOR_BT601:
      return {YuvMatrix::bt601, false};
    case REGIONS_COLOR_BT709:
      return {YuvMatrix::bt709, false};
    case REGIONS_COLOR_BT2020:
      return {YuvMatrix::bt2020, false};
    case REGIONS_COLOR_BT601_FULL:
      return {YuvMatrix::bt601, true};
    case REGIONS_COLOR_BT709_FULL:
      return {YuvMatrix::bt709, true};
    case REGIONS_COLOR_BT2020_FULL:
      return {YuvMatrix::bt2020, true};
    case REGIONS_COLOR_DEFAULT:
      break;
  }
  return {picture.height < kMinHdHeight ? YuvMatrix::bt601 : YuvMatrix::bt709, false};
}

// Converts the picture to a frame. The frame is empty if the caller passed no picture.
Frame frame_of(const RegionsPicture& picture, const std::string& name) {
  Frame frame;
  if (!picture.plane[0]) return frame;
  expects(picture.format != nullptr, [&] {
    return name + ".format is null, must be the name of a pixel format such as \"GRAY8\"";
  });
  frame.layout = layout_of(format_named(picture.format));
  expects(picture.width >= 1 && picture.width <= kMaxSide && picture.height >= 1 &&
              picture.height <= kMaxSide,
          name + " is " + std::to_string(picture.width) + "x" + std::to_string(picture.height) +
              ", must be 1x1 to 65535x65535");
  frame.width = picture.width;
  frame.height = picture.height;
  frame.color = color_of(picture, frame.layout);
  frame.memory = picture.memory == REGIONS_MEMORY_CUDA ? Memory::device : Memory::host;
  for (int p = 0; p < frame.layout.planes; ++p) {
    frame.plane[p] = static_cast<std::byte*>(picture.plane[p]);
    frame.pitch[p] = picture.pitch[p];
  }
  expects_planes(frame, name);
  expects_aligned(frame, name);
  return frame;
}

std::string text_of(Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

void expect_size(const Frame& frame, Size size, const char* name) {
  expects(frame.empty() || (frame.width == size.width && frame.height == size.height), [&] {
    return std::string(name) + " is " + text_of(frame.size()) + ", must be " + text_of(size) +
           ", the size of in";
  });
}

void expect_format(const Frame& frame, PixelFormat format, const char* name) {
  expects(frame.empty() || frame.layout.format == format, [&] {
    return std::string(name) + " has format " + std::string(name_of(frame.layout.format)) +
           ", must have " + std::string(name_of(format));
  });
}

// For processing in place, `in` and `out` must be the same picture in every respect.
void expect_same_layout(const Frame& in, const Frame& out) {
  bool is_same = in.layout.format == out.layout.format && in.memory == out.memory;
  for (int p = 0; is_same && p < in.layout.planes; ++p) {
    is_same = in.plane[p] == out.plane[p] && in.pitch[p] == out.pitch[p];
  }
  expects(is_same,
          "out starts at the same address as in, but format, memory, planes or pitches differ; to "
          "work in place, set out = in");
}

// A program that was compiled with another version of regions.h passes another structure size.
void expect_struct_size(const RegionsFrame& frame) {
  expects(frame.size != 0,
          "frame.size is 0; initialise the frame with RegionsFrame frame = REGIONS_FRAME_INIT");
  expects(frame.size == sizeof(RegionsFrame), [&] {
    return "frame.size is " + std::to_string(frame.size) + ", must be " +
           std::to_string(sizeof(RegionsFrame)) + "; compile the program with the " +
           "regions.h of libregions " + REGIONS_VERSION;
  });
}

}  // namespace

Pictures::Pictures(const RegionsFrame& frame) {
  expect_struct_size(frame);
  in = frame_of(frame.in, "in");
  mask = frame_of(frame.mask, "mask");
  out = frame_of(frame.out, "out");
  labels = frame_of(frame.labels, "labels");
  foreground = frame_of(frame.foreground, "foreground");
}

void Pictures::expect_suitable(const RegionsFrame& frame, const AlgorithmOutputs& outputs) const {
  expects(!in.empty(), "in.plane[0] is null; every frame needs an input picture");
  expects(mask.empty() || mask.layout.model == ColorModel::gray ||
              mask.layout.model == ColorModel::labels,
          [&] {
            return "mask has format " + std::string(name_of(mask.layout.format)) +
                   ", must have GRAY8, GRAY16_LE or U32_LE";
          });
  if (draws_in_place()) expect_same_layout(in, out);
  expects(frame.regions != nullptr || frame.capacity == 0, [&] {
    return "capacity is " + std::to_string(frame.capacity) +
           ", but regions is null; set regions to an array of `capacity` elements";
  });
  expects(outputs.regions || (labels.empty() && frame.capacity == 0),
          "labels and capacity must be zero: this algorithm does not produce regions");
  expects(outputs.foreground || foreground.empty(),
          "foreground must be zero: this algorithm does not produce it");
  expects(outputs.moments || (!frame.moments && !frame.borders),
          "moments and borders must be null: this algorithm does not produce them");
  expects(outputs.runs || !frame.runs, "runs must be null: this algorithm does not produce them");
  expects((frame.runs != nullptr) == (frame.run_capacity > 0), [&] {
    return std::string("runs is ") + (frame.runs ? "set" : "null") + ", but run_capacity is " +
           std::to_string(frame.run_capacity) + "; set both or neither";
  });
  expects(frame.attached != nullptr || frame.attached_count == 0, [&] {
    return "attached_count is " + std::to_string(frame.attached_count) +
           ", but attached is null; set attached to an array of `attached_count` regions";
  });
  for (const auto& [picture, name] : {std::pair(&out, "out"), std::pair(&labels, "labels"),
                                      std::pair(&foreground, "foreground")}) {
    expect_size(*picture, in.size(), name);
  }
  expect_format(labels, PixelFormat::labels32, "labels");
  expect_format(foreground, PixelFormat::gray8, "foreground");
}

}  // namespace regions
