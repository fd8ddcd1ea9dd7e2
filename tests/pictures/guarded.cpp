// Guarded frames and conversion of test pictures to every format.
#include "tests/pictures/guarded.hpp"

#include <algorithm>

#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

constexpr size_t kGuard = 64;  // bytes before the first plane and after each
constexpr auto kPattern = std::byte{0xA9};

}  // namespace

GuardedFrame::GuardedFrame(PixelFormat format, Size size, int padding, Colorimetry color) {
  view_.layout = layout_of(format);
  view_.width = size.width;
  view_.height = size.height;
  view_.color = color;
  size_t offset[3] = {};
  size_t bytes = kGuard;
  for (int p = 0; p < view_.layout.planes; ++p) {
    const size_t pitch = row_bytes(view_.layout, p, size) + static_cast<size_t>(padding);
    offset[p] = bytes;
    view_.pitch[p] = static_cast<ptrdiff_t>(pitch);
    bytes += pitch * static_cast<size_t>(row_count(view_.layout, p, size)) + kGuard;
    bytes += -bytes % 4;
  }
  bytes_.assign(bytes, kPattern);
  for (int p = 0; p < view_.layout.planes; ++p) view_.plane[p] = bytes_.data() + offset[p];
}

Frame GuardedFrame::frame() {
  Frame view;
  for (int p = 0; p < 3; ++p) {
    view.plane[p] = view_.plane[p] ? bytes_.data() + (view_.plane[p] - bytes_.data()) : nullptr;
    view.pitch[p] = view_.pitch[p];
  }
  view.layout = view_.layout;
  view.width = view_.width;
  view.height = view_.height;
  view.color = view_.color;
  return view;
}

ConstFrame GuardedFrame::frame() const { return view_; }

LabelMap GuardedFrame::labels() { return frame().plane_as<uint32_t>(0, view_.width, view_.height); }

bool GuardedFrame::intact() const {
  std::vector<std::byte> outside = bytes_;
  for (int p = 0; p < view_.layout.planes; ++p) {
    const size_t width = row_bytes(view_.layout, p, view_.size());
    const auto first = outside.begin() + (view_.plane[p] - bytes_.data());
    for (int y = 0; y < row_count(view_.layout, p, view_.size()); ++y) {
      std::fill_n(first + y * view_.pitch[p], width, kPattern);
    }
  }
  return std::all_of(outside.begin(), outside.end(), [](std::byte b) { return b == kPattern; });
}

bool GuardedFrame::same_pixels(const GuardedFrame& other) const {
  for (int p = 0; p < view_.layout.planes; ++p) {
    const size_t width = row_bytes(view_.layout, p, view_.size());
    for (int y = 0; y < row_count(view_.layout, p, view_.size()); ++y) {
      const auto* mine = view_.plane[p] + y * view_.pitch[p];
      const auto* its = other.view_.plane[p] + y * other.view_.pitch[p];
      if (!std::equal(mine, mine + width, its)) return false;
    }
  }
  return true;
}

GuardedFrame convert(const ConstFrame& gray, PixelFormat format, Colorimetry color, int padding,
                     Tint tint) {
  GuardedFrame result(format, gray.size(), padding, color);
  const Frame out = result.frame();
  const int max = out.layout.max_value();
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      const auto noise = [&](uint32_t seed) {
        return static_cast<int>(hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y), seed) >>
                                8);
      };
      const int value = gray.sample(0, x, y) * max / 255;
      for (int c = 0; c < 4; ++c) {
        if (c == 3 ? !out.layout.alpha : c >= out.layout.channels) continue;
        const bool is_color = c > 0 && c < 3 && out.layout.model == ColorModel::rgb;
        const int tinted = tint == Tint::noise ? std::min(max, value + noise(40) % 3 * c) : value;
        const int stray = noise(static_cast<uint32_t>(c)) % (max + 1);
        out.set_sample(c, x, y, c == 0 ? value : is_color ? tinted : stray);
      }
    }
  }
  return result;
}

}  // namespace regions
