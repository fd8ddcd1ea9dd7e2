// Values within the ranges of parameter tables, contents of pictures, and pictures.
#include "tests/fuzz/input.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace regions::fuzz {
namespace {

constexpr int64_t kFewest =
    300;  // limit above the minimum for fields that determine how much is allocated

std::string whole_number(const Field& field, Input& in) {
  const auto least = static_cast<int64_t>(field.min), full = static_cast<int64_t>(field.max);
  const int64_t most =
      field.change == Change::live ? full : std::min(full, least + (in.one_in(8) ? kFewest : 6));
  switch (in.below(5)) {
    case 0:
      return std::to_string(least);
    case 1:
      return std::to_string(most);
    case 2:
      return std::to_string(in.within(least, most));
    default:
      return std::to_string(in.within(least, std::min(most, least + 40)));
  }
}

double number(const Field& field, Input& in) {
  if (in.one_in(8)) return field.min;
  if (in.one_in(8)) return field.max;
  // Most coordinates are inside a small picture.
  const double most = field.max > 1000 ? 100 : field.max;
  return field.min + in.fraction() * (most - field.min);
}

std::string list(const Field& field, Input& in) {
  std::string text = "<";
  for (int n = in.one_in(16) ? in.below(256) : in.below(7); n > 0; --n) {
    const double value = number(field, in);
    text += std::to_string(field.max > 1000 ? static_cast<int>(value) : value);
    if (n > 1) text += ",";
  }
  return text + ">";
}

struct Noise {
  uint32_t state;
  uint8_t next() {  // xorshift32
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return static_cast<uint8_t>(state >> 24);
  }
};

void fill_rectangles(std::span<uint8_t> bytes, size_t row, Noise& noise, Input& in) {
  const auto rows = static_cast<int>(bytes.size() / row);
  for (int n = 1 + in.below(6); n > 0 && rows > 0; --n) {
    const auto left = static_cast<size_t>(in.within(0, static_cast<int64_t>(row) - 1));
    const size_t width = std::min<size_t>(static_cast<size_t>(1 + in.below(40)), row - left);
    const int top = static_cast<int>(in.within(0, rows - 1));
    const int bottom = std::min(top + 1 + in.below(40), rows);
    const uint8_t value = noise.next() | 1;
    for (int y = top; y < bottom; ++y) {
      std::memset(bytes.data() + static_cast<size_t>(y) * row + left, value, width);
    }
  }
}

const Layout& layout_or_gray(const char* format) {
  try {
    return layout_of(format_named(format));
  } catch (const InputError&) {
    return layout_of(PixelFormat::gray8);
  }
}

}  // namespace

void fail(const std::string& what) {
  std::fprintf(stderr, "fuzz: %s\n", what.c_str());
  std::abort();
}

std::string value_text(const Field& field, Input& in) {
  if (in.one_in(64)) return in.text(24);
  switch (field.kind) {
    case Kind::flag:
      return in.one_in(2) ? "true" : "false";
    case Kind::integer:
      return whole_number(field, in);
    case Kind::real:
      return std::to_string(number(field, in));
    case Kind::choice:
      return in.one_of(field.choices).name;
    case Kind::flags: {
      std::string names;
      for (const Choice& choice : field.choices) {
        if (in.one_in(2)) names += (names.empty() ? "" : "+") + std::string(choice.name);
      }
      return names;
    }
    case Kind::color:
      return std::to_string(in.word(4));
    case Kind::list:
      return list(field, in);
    case Kind::text:
      break;
  }
  return in.text(24);
}

Size picture_size(Input& in) {
  const auto side = [&] { return 1 + in.below(in.one_in(24) ? 400 : in.one_in(4) ? 96 : 33); };
  switch (in.below(24)) {
    case 22:
      return {1, 1 + in.below(700)};
    case 23:
      return {1 + in.below(700), 1};
    default:
      return {side(), side()};
  }
}

void fill(std::span<uint8_t> bytes, size_t row, Input& in) {
  if (bytes.empty()) return;
  const int kind = in.below(5);
  Noise noise{0x9E3779B9u ^ (uint32_t{in.byte()} << 8 | 1)};
  switch (kind) {
    case 0:
      for (uint8_t& b : bytes) b = noise.next() & 1 ? 255 : 0;
      break;
    case 1:
      for (uint8_t& b : bytes) b = noise.next();
      break;
    case 2:
      for (size_t i = 0; i < bytes.size(); ++i) {
        const auto from = in.rest();
        bytes[i] = from.empty() ? static_cast<uint8_t>(i) : from[i % from.size()];
      }
      break;
    default:
      std::memset(bytes.data(), kind == 3 ? 0 : noise.next(), bytes.size());
      fill_rectangles(bytes, std::max<size_t>(std::min(row, bytes.size()), 1), noise, in);
  }
}

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
