// Pictures in memory of exactly their size.
#include "tests/fuzz/picture.hpp"

#include <cstring>

namespace regions::fuzz {
namespace {

const Layout& layout_or_gray(const char* format) {
  try {
    return layout_of(format_named(format));
  } catch (const InputError&) {
    return layout_of(PixelFormat::gray8);
  }
}

}  // namespace

Picture::Picture(const char* format, Size size, RegionsColor color, Input& in) {
  const Layout& layout = layout_or_gray(format);
  view_.format = format;
  view_.width = size.width;
  view_.height = size.height;
  view_.color = color;
  const bool plain = !in.one_in(2);
  for (int p = 0; p < layout.planes; ++p) {
    Plane plane;
    plane.row = row_bytes(layout, p, size);
    plane.rows = row_count(layout, p, size);
    size_t padding = plain ? 0 : static_cast<size_t>(in.below(24));
    plane.begin = plain ? 0 : static_cast<size_t>(in.below(8));
    const bool aligned = plain || !in.one_in(8);
    if (aligned) {
      padding -= padding % layout.sample_bytes;
      plane.begin -= plane.begin % layout.sample_bytes;
    }
    plane.pitch = plane.row + padding;
    if (aligned)
      plane.pitch +=
          (layout.sample_bytes - plane.pitch % layout.sample_bytes) % layout.sample_bytes;
    const size_t last = plane.begin + plane.pitch * static_cast<size_t>(plane.rows - 1);
    const size_t bytes = last + plane.row;
    plane.bytes.reset(new uint8_t[bytes]);
    fill({plane.bytes.get(), bytes}, plane.pitch, in);
    plane.before.assign(plane.bytes.get(), plane.bytes.get() + bytes);
    const bool upside_down = !plain && in.one_in(4);
    view_.plane[p] = plane.bytes.get() + (upside_down ? last : plane.begin);
    view_.pitch[p] = static_cast<ptrdiff_t>(plane.pitch) * (upside_down ? -1 : 1);
    planes_.push_back(std::move(plane));
  }
  if (in.one_in(128)) view_.plane[in.below(3)] = nullptr;
  if (in.one_in(128)) {  // rows that overlap
    const auto row = static_cast<int32_t>(planes_[0].row);
    view_.pitch[0] = in.integer() % row;
  }
}

void Picture::expect_kept() const {
  for (const Plane& plane : planes_) {
    require(std::memcmp(plane.bytes.get(), plane.before.data(), plane.before.size()) == 0,
            "a picture that is only read was written to");
  }
}

void Picture::expect_padding_kept() const {
  for (const Plane& plane : planes_) {
    const auto same = [&](size_t from, size_t to) {
      return std::memcmp(plane.bytes.get() + from, plane.before.data() + from, to - from) == 0;
    };
    require(same(0, plane.begin), "bytes before a picture were written to");
    for (int y = 0; y + 1 < plane.rows; ++y) {
      const size_t start = plane.begin + plane.pitch * static_cast<size_t>(y);
      require(same(start + plane.row, start + plane.pitch), "bytes between rows were written to");
    }
  }
}

bool Picture::same(const Picture& other) const {
  for (size_t p = 0; p < planes_.size(); ++p) {
    if (std::memcmp(planes_[p].bytes.get(), other.planes_[p].bytes.get(),
                    planes_[p].before.size()) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace regions::fuzz
