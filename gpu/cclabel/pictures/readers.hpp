// What turns a tile of the picture into words of bits.
#pragma once

#include "gpu/cclabel/base/subject.hpp"
#include "gpu/primitives/bits.hpp"
#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// A reader's read<T>() fills `foreground` for `rows` rows of the tile at (x, y), 0 below them and
// outside the picture. All threads of the block call it.

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
    const bool is_first =  // the first component is what counts
        subject.measure == Measure::value || subject.measure == Measure::nonzero;
    return is_first && layout.model != ColorModel::rgb && layout.sample_bytes == 1 &&
           layout.component[0].step == 1 && subject.level <= 255 &&
           (address | static_cast<uintptr_t>(subject.frame.pitch[0])) % 16 == 0;
  }

  template <class T>
  __device__ void read(uint32_t* foreground, int x, int y, int rows) const {
    constexpr int kHalves = 2 * T::all_words, kSteps = (kHalves + T::threads - 1) / T::threads;
    auto* halves = reinterpret_cast<uint16_t*>(foreground);
    uint4 pixels[kSteps];
    const auto for_each_half = [&](auto f) {
#pragma unroll
      for (int k = 0; k < kSteps; ++k) {
        const int i = k * T::threads + static_cast<int>(threadIdx.x);
        const int column = i % (2 * T::words), row = i / (2 * T::words);
        if (i < kHalves) f(k, i, x + column * 16, row < rows ? y + row : -1);
      }
    };
    // All loads are on their way before the first is waited for.
    for_each_half([&](int k, int, int px, int py) { pixels[k] = load(px, py); });
    for_each_half([&](int k, int i, int px, int py) {
      halves[i] = static_cast<uint16_t>(half(pixels[k], px, py));
    });
  }

 private:
  // Bit k: byte k of `bytes` is at least the level.
  __device__ static uint32_t nibble(uint32_t bytes, uint32_t levels) {
    const uint32_t ones = __vcmpgeu4(bytes, levels) & 0x01010101u;
    return ones * 0x01020408u >> 24 & 15u;
  }
  __device__ bool has_row(int y) const {
    return static_cast<unsigned>(y) < static_cast<unsigned>(image.height);
  }
  // 16 pixels, where the picture has them all.
  __device__ uint4 load(int x, int y) const {
    if (!has_row(y) || x + 16 > image.width) return {};
    return *reinterpret_cast<const uint4*>(image.row(y) + x);
  }
  __device__ uint32_t half(const uint4& v, int x, int y) const {
    const int inside = image.width - x;
    if (!has_row(y) || inside <= 0) return 0;
    uint32_t bits = 0;
    if (inside >= 16) {
      const uint32_t levels = static_cast<uint32_t>(level) * 0x01010101u;
      bits = nibble(v.x, levels) | nibble(v.y, levels) << 4 | nibble(v.z, levels) << 8 |
             nibble(v.w, levels) << 12;
      return (bits ^ flip) & 0xffffu;
    }
    const uint8_t* pixels = image.row(y) + x;
    for (int k = 0; k < inside; ++k) bits |= static_cast<uint32_t>(pixels[k] >= level) << k;
    return (bits ^ flip) & below(inside);
  }
};

// Any format and measure: a warp reads a word, a lane its pixel.
struct PixelReader {
  Subject subject;

  explicit PixelReader(const Subject& s) : subject(s) {}

  template <class T>
  __device__ void read(uint32_t* foreground, int x, int y, int rows) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int w = static_cast<int>(threadIdx.x / 32); w < T::all_words; w += T::threads / 32) {
      const int px = x + w % T::words * 32 + lane, row = w / T::words, py = y + row;
      const bool inside =
          row < rows && px < subject.frame.width && py >= 0 && py < subject.frame.height;
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
