// Sums of colours over some of 32 pixels in a row. A reader's load() takes what it can of the 32
// beforehand; sum() adds up those in a mask.
#pragma once

#include "core/frame.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Bit k of four goes to bit 8 k: a byte each.
__device__ inline uint32_t bytes_of(uint32_t four) { return four * 0x00204081u & 0x01010101u; }

// One byte a pixel, rows 16-byte aligned.
struct ByteValues {
  static constexpr int channels = 1;
  Image<const uint8_t> image;

  explicit ByteValues(const ConstFrame& frame)
      : image(frame.plane_as<const uint8_t>(0, frame.width, frame.height)) {}
  static bool can_read(const ConstFrame& frame) {
    const auto address = reinterpret_cast<uintptr_t>(frame.plane[0]);
    return frame.layout.format == PixelFormat::gray8 &&
           (address | static_cast<uintptr_t>(frame.pitch[0])) % 16 == 0;
  }

  struct Word {
    uint32_t bytes[8];
  };
  __device__ Word load(int x, int y) const {
    Word word = {};
    const uint8_t* from = image.row(y) + x;
    if (x + 32 <= image.width) {
      const uint4 a = reinterpret_cast<const uint4*>(from)[0];
      const uint4 b = reinterpret_cast<const uint4*>(from)[1];
      return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
    }
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      if (x + i < image.width) word.bytes[i / 4] |= static_cast<uint32_t>(from[i]) << i % 4 * 8;
    }
    return word;
  }
  __device__ void sum(const Word& word, int, int, uint32_t mask, uint32_t (&value)[3]) const {
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      sum = __dp4a(word.bytes[i], bytes_of(mask >> 4 * i & 15u), sum);
    }
    value[0] = sum;
  }
};

// Any format. Each component has its own address arithmetic: the kernel looks nothing up in a
// layout.
class SampleValues {
 public:
  const uint8_t* start[3] = {};
  ptrdiff_t pitch[3] = {};
  int step[3] = {};
  int x_shift[3] = {};
  int y_shift[3] = {};
  int channels;
  int low_bits;
  bool is_wide;  // two bytes a sample

  explicit SampleValues(const ConstFrame& frame)
      : channels(frame.layout.channels),
        low_bits(frame.layout.low_bits),
        is_wide(frame.layout.sample_bytes == 2) {
    for (int k = 0; k < channels; ++k) {
      const Component& c = frame.layout.component[k];
      start[k] = reinterpret_cast<const uint8_t*>(frame.plane[c.plane]) + c.offset;
      pitch[k] = frame.pitch[c.plane];
      step[k] = c.step;
      x_shift[k] = c.x_shift;
      y_shift[k] = c.y_shift;
    }
  }
  struct Word {};
  __device__ Word load(int, int) const { return {}; }
  // Reads some pixels' samples at once, of places inside: a branch would keep the next one's bytes
  // waiting.
  __device__ void sum(const Word&, int x, int y, uint32_t mask, uint32_t (&value)[3]) const {
    constexpr int kAtOnce = 4;
    const uint8_t* row[3];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      value[k] = 0;
      row[k] = k < channels ? start[k] + (y >> y_shift[k]) * pitch[k] : start[0];
    }
    if (mask == 0) return;
    const int last = 31 - __clz(static_cast<int>(mask));
    for (int at = __ffs(static_cast<int>(mask)) - 1; at <= last; at += kAtOnce) {
      uint32_t sample[kAtOnce][3];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
        for (int k = 0; k < 3; ++k) sample[i][k] = sample_at(k, row[k], x + min(at + i, last));
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const bool counts = at + i <= last && mask >> (at + i) & 1;
#pragma unroll
        for (int k = 0; k < 3; ++k) value[k] += counts && k < channels ? sample[i][k] : 0;
      }
    }
  }

 private:
  __device__ uint32_t sample_at(int k, const uint8_t* row, int x) const {
    const uint8_t* p = row + (x >> x_shift[k]) * step[k];
    const uint32_t low = p[0], high = p[is_wide];  // of bytes the same again
    return is_wide ? (low | high << 8) >> low_bits : low;
  }
};

}  // namespace regions::cclabel

#endif
