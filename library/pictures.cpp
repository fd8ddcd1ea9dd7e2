// Reading and checking what a program passed.
#include "library/pictures.hpp"

#include <string>
#include <utility>

namespace regions {
namespace {

constexpr int kLeastHdHeight = 720;  // pixels; lower pictures are of standard definition
constexpr int kMostSide = 65535;     // pixels

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
  return {picture.height < kLeastHdHeight ? YuvMatrix::bt601 : YuvMatrix::bt709, false};
}

// The picture as a frame; empty if there is none.
Frame frame_of(const RegionsPicture& picture, const std::string& name) {
  Frame frame;
  if (!picture.plane[0]) return frame;
  expects(picture.format != nullptr, name + " has no format");
  frame.layout = layout_of(format_named(picture.format));
  expects(picture.width >= 1 && picture.width <= kMostSide && picture.height >= 1 &&
              picture.height <= kMostSide,
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

void expect_size(const Frame& frame, Size size, const char* name) {
  expects(frame.empty() || (frame.width == size.width && frame.height == size.height),
          std::string(name) + " is not as large as the picture that comes in");
}

void expect_format(const Frame& frame, PixelFormat format, const char* name) {
  expects(frame.empty() || frame.layout.format == format,
          std::string(name) + " must be " + std::string(name_of(format)));
}

// A picture that is drawn on in place has one layout.
void expect_one_layout(const Frame& in, const Frame& out) {
  bool one = in.layout.format == out.layout.format && in.memory == out.memory;
  for (int p = 0; one && p < in.layout.planes; ++p) {
    one = in.plane[p] == out.plane[p] && in.pitch[p] == out.pitch[p];
  }
  expects(one, "out begins where in does, but is not the same picture");
}

// A frame of a program that was compiled with another regions.h has another size.
void expect_known(const RegionsFrame& frame) {
  expects(frame.size != 0, "frame.size is 0: begin with RegionsFrame frame = REGIONS_FRAME_INIT");
  expects(frame.size == sizeof(RegionsFrame),
          "frame.size is " + std::to_string(frame.size) + ", but a frame of libregions " +
              REGIONS_VERSION + " has " + std::to_string(sizeof(RegionsFrame)) + " bytes");
}

}  // namespace

Pictures::Pictures(const RegionsFrame& frame) {
  expect_known(frame);
  in = frame_of(frame.in, "in");
  mask = frame_of(frame.mask, "mask");
  out = frame_of(frame.out, "out");
  labels = frame_of(frame.labels, "labels");
  foreground = frame_of(frame.foreground, "foreground");
}

void Pictures::expect_suitable(const RegionsFrame& frame, const Gives& gives) const {
  expects(!in.empty(), "no picture comes in");
  expects(mask.empty() || mask.layout.model == ColorModel::gray ||
              mask.layout.model == ColorModel::labels,
          "mask must be GRAY8, GRAY16_LE or U32_LE");
  if (draws_in_place()) expect_one_layout(in, out);
  expects(frame.regions != nullptr || frame.capacity == 0, "a capacity, but no regions");
  expects(gives.regions || (labels.empty() && frame.capacity == 0),
          "this algorithm gives neither labels nor regions");
  expects(gives.foreground || foreground.empty(), "this algorithm gives no foreground");
  expects(gives.moments || (!frame.moments && !frame.borders),
          "this algorithm gives neither moments nor borders");
  expects(gives.runs || !frame.runs, "this algorithm gives no runs");
  expects((frame.runs != nullptr) == (frame.run_capacity > 0), "runs and run_capacity go together");
  expects(frame.attached != nullptr || frame.attached_count == 0, "regions to draw are null");
  for (const auto& [picture, name] : {std::pair(&out, "out"), std::pair(&labels, "labels"),
                                      std::pair(&foreground, "foreground")}) {
    expect_size(*picture, in.size(), name);
  }
  expect_format(labels, PixelFormat::labels32, "labels");
  expect_format(foreground, PixelFormat::gray8, "foreground");
}

}  // namespace regions
