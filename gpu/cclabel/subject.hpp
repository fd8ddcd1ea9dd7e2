// What is labelled, and the readers that turn a tile of it into words of bits.
#pragma once

#include "core/cclabel.hpp"
#include "gpu/cclabel/tiles.hpp"

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

#ifdef __CUDACC__

// A reader's read<T>() fills `foreground` for the tile at (x, y), 0 outside the picture. All
// threads of the block call it.

// One byte a pixel, rows 16-byte aligned: a thread turns 16 pixels into half a word.
struct ByteReader {
  Image<const uint8_t> image;
  int level;      // 1..255, 256 for never
  uint32_t flip;  // 0 or all ones

  explicit ByteReader(const Subject& subject)
      : image(subject.frame.plane_as<const uint8_t>(0, subject.frame.width, subject.frame.height)),
        level(subject.level),
        flip(subject.complement ? 0xffffffffu : 0) {}

  static bool can_read(const Subject& subject) {
    const Layout& layout = subject.frame.layout;
    const auto address = reinterpret_cast<uintptr_t>(subject.frame.plane[0]);
    return subject.measure == Measure::value && layout.model != ColorModel::rgb &&
           layout.sample_bytes == 1 && layout.component[0].step == 1 && subject.level <= 255 &&
           (address | static_cast<uintptr_t>(subject.frame.pitch[0])) % 16 == 0;
  }

  template <class T>
  __device__ void read(uint32_t* foreground, int x, int y) const {
    auto* halves = reinterpret_cast<uint16_t*>(foreground);
    for (int i = static_cast<int>(threadIdx.x); i < 2 * T::all_words; i += T::threads) {
      halves[i] = static_cast<uint16_t>(half(x + i % (2 * T::words) * 16, y + i / (2 * T::words)));
    }
  }

 private:
  // Bit k: byte k of `bytes` is at least the level.
  __device__ static uint32_t nibble(uint32_t bytes, uint32_t levels) {
    const uint32_t ones = __vcmpgeu4(bytes, levels) & 0x01010101u;
    return ones * 0x01020408u >> 24 & 15u;
  }
  __device__ uint32_t half(int x, int y) const {
    if (y >= image.height || x >= image.width) return 0;
    const uint8_t* pixels = image.row(y) + x;
    const int inside = image.width - x;
    uint32_t bits = 0;
    if (inside >= 16) {
      const uint4 v = *reinterpret_cast<const uint4*>(pixels);
      const uint32_t levels = static_cast<uint32_t>(level) * 0x01010101u;
      bits = nibble(v.x, levels) | nibble(v.y, levels) << 4 | nibble(v.z, levels) << 8 |
             nibble(v.w, levels) << 12;
      return (bits ^ flip) & 0xffffu;
    }
    for (int k = 0; k < inside; ++k) bits |= static_cast<uint32_t>(pixels[k] >= level) << k;
    return (bits ^ flip) & below(inside);
  }
};

// Any format and measure: a warp reads a word, a lane its pixel.
struct PixelReader {
  Subject subject;

  explicit PixelReader(const Subject& s) : subject(s) {}

  template <class T>
  __device__ void read(uint32_t* foreground, int x, int y) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int w = static_cast<int>(threadIdx.x / 32); w < T::all_words; w += T::threads / 32) {
      const int px = x + w % T::words * 32 + lane, py = y + w / T::words;
      const bool inside = px < subject.frame.width && py < subject.frame.height;
      const bool set = inside && is_set(px, py) != subject.complement;
      const uint32_t bits = __ballot_sync(0xffffffffu, set);
      if (lane == 0) foreground[w] = bits;
    }
  }

 private:
  __device__ bool is_set(int x, int y) const {
    const ConstFrame& frame = subject.frame;
    switch (subject.measure) {
      case Measure::alpha:
        return frame.sample(3, x, y) >= subject.level;
      case Measure::nonzero:
        if (frame.layout.sample_bytes == 4) {
          return *reinterpret_cast<const uint32_t*>(frame.at(0, x, y)) != 0;
        }
        return frame.sample(0, x, y) != 0;
      case Measure::bits:
        return subject.bits[static_cast<size_t>(y) * subject.bits_stride + x / 32] >> x % 32 & 1;
      default:
        return value_at(frame, x, y) >= subject.level;
    }
  }
};

// What `equal` and `difference` compare of a pixel, in 32 bits, and whether two of them are linked.

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
  __device__ bool operator()(uint32_t a, uint32_t b) const {
    return static_cast<int>(__vsadu4(a, b)) < values_.limit;
  }

 private:
  Values values_;
  bool in_a_word_;
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
