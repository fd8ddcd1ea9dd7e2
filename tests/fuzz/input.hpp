// Reads a fuzzer's bytes as numbers, texts, values of parameters and pictures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/field.hpp"
#include "core/frame.hpp"
#include "library/regions.h"

namespace regions::fuzz {

// Past the end all bytes are zero, so that every prefix of an input is an input.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(data, size) {}

  bool empty() const { return rest_.empty(); }
  uint8_t byte() {
    if (rest_.empty()) return 0;
    const uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }
  uint64_t word(int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= uint64_t{byte()} << 8 * i;
    return value;
  }
  // low..high, of as few bytes as hold them all.
  int64_t within(int64_t low, int64_t high) {
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const int bytes = span < 1 << 8 ? 1 : span < 1 << 16 ? 2 : span < uint64_t{1} << 32 ? 4 : 8;
    const uint64_t at = span == UINT64_MAX ? word(8) : word(bytes) % (span + 1);
    return static_cast<int64_t>(static_cast<uint64_t>(low) + at);
  }
  int below(int count) { return static_cast<int>(within(0, count - 1)); }
  // True for one byte in `n`, and never past the end.
  bool one_in(int n) { return below(n) == n - 1; }
  double fraction() { return static_cast<double>(word(2)) / 65535; }  // 0..1
  // Any number, mostly near the ends of its type or small.
  int32_t integer() {
    constexpr int32_t kEnds[] = {0, 1, -1, INT32_MAX, INT32_MIN, 65535, 65536, 1 << 24};
    const int kind = below(4);
    if (kind == 0) return static_cast<int32_t>(word(4));
    return kind == 1 ? kEnds[below(8)] : below(128);
  }
  template <class Values>
  const auto& one_of(const Values& values) {
    return values[static_cast<size_t>(below(static_cast<int>(std::size(values))))];
  }
  std::string text(size_t most) {
    std::string result;
    for (size_t n = static_cast<size_t>(within(0, static_cast<int64_t>(most))); n > 0; --n) {
      result += static_cast<char>(byte());
    }
    return result;
  }
  std::span<const uint8_t> rest() const { return rest_; }

 private:
  std::span<const uint8_t> rest_;
};

// Aborts the process, which the fuzzer reports as a finding.
[[noreturn]] void fail(const std::string& what);
inline void require(bool holds, const char* what) {
  if (!holds) fail(what);
}

// A value as text. The field accepts most values, including the ends of its range. Values of fields
// that determine how much is allocated stay near the minimum.
std::string value_text(const Field& field, Input& in);

// Mostly small, seldom one pixel wide or high, or longer than a tile.
Size picture_size(Input& in);

// Flat, of two values, noise, rectangles, or the input's own bytes.
void fill(std::span<uint8_t> bytes, size_t row, Input& in);

// A picture of the C interface. Each plane has memory of exactly its size, with any pitch.
class Picture {
 public:
  Picture() = default;
  Picture(const char* format, Size size, RegionsColor color, Input& in);

  const RegionsPicture& view() const { return view_; }
  // No byte was written; no byte outside the rows was written.
  void expect_kept() const;
  void expect_padding_kept() const;
  bool same(const Picture& other) const;

 private:
  struct Plane {
    std::unique_ptr<uint8_t[]> bytes;
    std::vector<uint8_t> before;
    size_t row = 0, begin = 0, pitch = 0;  // bytes of a row's pixels, of the first, to the next
    int rows = 0;
  };
  RegionsPicture view_ = {};
  std::vector<Plane> planes_;
};

}  // namespace regions::fuzz
