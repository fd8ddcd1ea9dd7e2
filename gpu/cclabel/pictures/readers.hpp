// What turns a tile of the picture into words of bits.
#pragma once

#include "gpu/cclabel/base/subject.hpp"
#include "gpu/primitives/bits.hpp"
#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

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
      const uint32_t bits = __ballot_sync(kAllLanes, set);
      if (lane == 0) foreground[w] = bits;
    }
  }

 private:
  __device__ bool is_set(int x, int y) const {
    if (subject.measure == Measure::bits) {
      return subject.bits[static_cast<size_t>(y) * subject.bits_stride + x / 32] >> x % 32 & 1;
    }
    return value_of(subject, x, y) >= subject.level;
  }
};

}  // namespace regions::cclabel

#endif
