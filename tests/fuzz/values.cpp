// Drawing values from the ranges that Field tables state.
#include "tests/fuzz/values.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace regions::fuzz {
namespace {

constexpr int64_t kFewest = 300;  // of what is allocated, beyond the field's least

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
  // Of places in a picture most lie in a small one.
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

}  // namespace regions::fuzz
