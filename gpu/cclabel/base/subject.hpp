// What is labelled, and what is compared of its pixels.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::cclabel {

// How a pixel becomes foreground.
enum class Measure : uint8_t { value, alpha, nonzero, bits };

struct Subject {
  ConstFrame frame;
  Criterion criterion = Criterion::binary;
  Measure measure = Measure::value;
  int level = 0;                   // foreground_level() or difference_level()
  bool complement = false;         // background takes the place of foreground
  const uint32_t* bits = nullptr;  // [height][bits_stride], for Measure::bits
  int bits_stride = 0;             // words
};

// Most thresholds at once.
inline constexpr int kMaxLayers = decltype(CcLabelParams::thresholds)::kMax;

// Of `binary` at several thresholds.
struct Levels {
  int level[kMaxLayers];  // foreground_level()
};

// What is labelled of a frame, with the level of the first threshold; the levels of all.
Subject subject_of(const Job& job, const CcLabelParams& params);
Levels levels_of(const Subject& subject, const CcLabelParams& params);

#ifdef __CUDACC__

// What `binary` compares of a pixel; not of Measure::bits.
__device__ inline int value_of(const Subject& subject, int x, int row) {
  const ConstFrame& frame = subject.frame;
  switch (subject.measure) {
    case Measure::alpha:
      return frame.sample(3, x, row);
    case Measure::nonzero:
      if (frame.layout.sample_bytes == 4) {
        return *reinterpret_cast<const uint32_t*>(frame.at(0, x, row)) != 0;
      }
      return frame.sample(0, x, row);
    default:
      return value_at(frame, x, row);
  }
}

// What `equal` and `difference` compare of a pixel, in 32 bits, and whether two of them are linked.

// Pixels side by side: in a word each; of three bytes, in words that they share; or neither, so
// that each is found and put together by itself.
enum class Stored : uint8_t { in_words, packed, apart };

// Where the values lie; `channels` of them from there on.
struct Values {
  const std::byte* start;
  ptrdiff_t pitch;
  int width, height;
  int step;  // bytes from a pixel to the next
  int channels;
  int limit;  // linked when the distance is less

  explicit Values(const Subject& subject)
      : width(subject.frame.width), height(subject.frame.height), limit(subject.level) {
    const Layout& layout = subject.frame.layout;
    const bool is_rgb = layout.model == ColorModel::rgb && subject.measure == Measure::value;
    const Component& component = layout.component[subject.measure == Measure::alpha ? 3 : 0];
    start = subject.frame.plane[component.plane] + (is_rgb ? 0 : component.offset);
    pitch = subject.frame.pitch[component.plane];
    step = component.step;
    channels = is_rgb ? 3 : 1;
  }
  __device__ const std::byte* at(int x, int y) const {
    return start + y * pitch + static_cast<ptrdiff_t>(x) * step;
  }
};

// Channels of one byte: sum of |difference|.
class ByteLinks {
 public:
  explicit ByteLinks(const Subject& subject) : values_(subject) {
    const auto address = reinterpret_cast<uintptr_t>(values_.start);
    const bool aligned = (address | static_cast<uintptr_t>(values_.pitch)) % 4 == 0;
    in_a_word_ = values_.channels == 3 && values_.step == 4 && aligned;
    are_packed_ = values_.channels == 3 && values_.step == 3 && aligned;
  }
  __device__ int width() const { return values_.width; }
  __device__ int height() const { return values_.height; }
  // The channels, a byte each; their order does not matter.
  __device__ uint32_t color(int x, int y) const {
    const std::byte* at = values_.at(x, y);
    if (in_a_word_) return *reinterpret_cast<const uint32_t*>(at) & 0xffffffu;  // without alpha
    const auto* p = reinterpret_cast<const uint8_t*>(at);
    if (values_.channels == 1) return p[0];
    return p[0] | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16;
  }
  // How 32 pixels side by side from a multiple of 32 on are stored, if `all` are in the picture.
  __device__ Stored stored(bool all) const {
    return in_a_word_ ? Stored::in_words : are_packed_ && all ? Stored::packed : Stored::apart;
  }
  __device__ const std::byte* at(int x, int y) const { return values_.at(x, y); }
  __device__ bool operator()(uint32_t a, uint32_t b) const {
    return static_cast<int>(__vsadu4(a, b)) < values_.limit;
  }

 private:
  Values values_;
  bool in_a_word_;   // pixels of four bytes
  bool are_packed_;  // of three, rows that begin with a word
};

// One number of two bytes: |difference|; or of four, a name: equal or not.
class NumberLinks {
 public:
  explicit NumberLinks(const Subject& subject)
      : values_(subject),
        low_bits_(subject.frame.layout.low_bits),
        is_name_(subject.frame.layout.sample_bytes == 4) {}
  __device__ int width() const { return values_.width; }
  __device__ int height() const { return values_.height; }
  __device__ uint32_t color(int x, int y) const {
    const std::byte* at = values_.at(x, y);
    if (is_name_) return *reinterpret_cast<const uint32_t*>(at);
    const auto* p = reinterpret_cast<const uint8_t*>(at);
    return (p[0] | static_cast<uint32_t>(p[1]) << 8) >> low_bits_;
  }
  __device__ static constexpr Stored stored(bool) { return Stored::apart; }
  __device__ const std::byte* at(int x, int y) const { return values_.at(x, y); }
  __device__ bool operator()(uint32_t a, uint32_t b) const {
    if (is_name_) return a == b;
    return abs(static_cast<int>(a) - static_cast<int>(b)) < values_.limit;
  }

 private:
  Values values_;
  int low_bits_;
  bool is_name_;
};

#endif

}  // namespace regions::cclabel
