// Classes that sum the colours of some of 32 adjacent pixels of a row. load() reads all 32 pixels
// in advance if the class supports this; sum() adds the pixels whose bit is set in a mask.
// ByteValues is for 8-bit gray. ColorWords is for 8-bit colour (16 bytes per load, sums by dot
// products of four pixels). SampleValues is for any format.
#pragma once

#include "core/frame.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Spreads four bits to four bytes: copies bit k to bit 8 * k.
__device__ inline uint32_t spread_bits(uint32_t four) { return four * 0x00204081u & 0x01010101u; }

// Sums the pixels of images with one byte per pixel and 16-byte aligned rows.
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
      sum = __dp4a(word.bytes[i], spread_bits(mask >> 4 * i & 15u), sum);
    }
    value[0] = sum;
  }
};

// Sums the pixels of images of any format. The constructor computes the address parameters of each
// component, so that kernels do not read a Layout.
class SampleValues {
 public:
  const uint8_t* start[3] = {};
  ptrdiff_t pitch[3] = {};
  int step[3] = {};
  int x_shift[3] = {};
  int y_shift[3] = {};
  int channels;
  int low_bits;
  bool is_wide;  // two bytes per sample

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
  // Loads the samples of several pixels at once. Positions are clamped to the last pixel in the
  // mask, because a branch would delay the next load.
  __device__ void sum(const Word&, int x, int y, uint32_t mask, uint32_t (&value)[3]) const {
    constexpr int kPixelsInFlight = 4;
    const uint8_t* row[3];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      value[k] = 0;
      row[k] = k < channels ? start[k] + (y >> y_shift[k]) * pitch[k] : start[0];
    }
    if (mask == 0) return;
    const int last = 31 - __clz(static_cast<int>(mask));
    for (int at = __ffs(static_cast<int>(mask)) - 1; at <= last; at += kPixelsInFlight) {
      uint32_t sample[kPixelsInFlight][3];
#pragma unroll
      for (int i = 0; i < kPixelsInFlight; ++i) {
#pragma unroll
        for (int k = 0; k < 3; ++k) sample[i][k] = sample_at(k, row[k], x + min(at + i, last));
      }
#pragma unroll
      for (int i = 0; i < kPixelsInFlight; ++i) {
        const bool counts = at + i <= last && mask >> (at + i) & 1;
#pragma unroll
        for (int k = 0; k < 3; ++k) value[k] += counts && k < channels ? sample[i][k] : 0;
      }
    }
  }

 private:
  __device__ uint32_t sample_at(int k, const uint8_t* row, int x) const {
    const uint8_t* p = row + (x >> x_shift[k]) * step[k];
    // With one byte per sample, `high` is the same byte again and is ignored.
    const uint32_t low = p[0], high = p[is_wide];
    return is_wide ? (low | high << 8) >> low_bits : low;
  }
};

// Sums the pixels of images with three components of one byte and 16-byte aligned rows. Supports
// packed pixels of three bytes (RGB, BGR) or four bytes (RGBA and similar), and Y, U, V with chroma
// of half the width, in two planes (NV12) or three planes (I420).
class ColorWords {
 public:
  static constexpr int channels = 3;

  explicit ColorWords(const ConstFrame& frame) : samples_(frame), width_(frame.width) {
    for (int k = 0; k < channels; ++k) {
      const Component& c = frame.layout.component[k];
      plane_[k] = reinterpret_cast<const uint8_t*>(frame.plane[c.plane]);
      const auto offset = static_cast<uint32_t>(c.offset);
      if (c.step == 3) {
        // Byte selectors for the bytes offset + 0, 3, 6 and 9 of twelve bytes. first_selector
        // selects from the first eight bytes; rest_selector adds the bytes from the last four.
        const uint32_t first_selector[3] = {0x0630, 0x0741, 0x0052},
                       rest_selector[3] = {0x5210, 0x6210, 0x7410};
        select_[k] = first_selector[offset];
        rest_[k] = rest_selector[offset];
      } else {
        select_[k] = c.step == 4 ? offset | (offset + 4) << 4 : offset * 0x1111 + 0x2200;
      }
    }
  }
  static bool can_read(const ConstFrame& frame) {
    const Layout& layout = frame.layout;
    if (layout.channels != channels || layout.sample_bytes != 1) return false;
    uintptr_t addresses = 0;
    for (int k = 0; k < channels; ++k) {
      const Component& c = layout.component[k];
      const bool is_packed = c.x_shift == 0 && (c.step == 3 || c.step == 4);
      const bool is_planar = c.step == (k > 0 && layout.planes == 2 ? 2 : 1) &&
                             c.x_shift == (k > 0) && layout.planes > 1;
      if (!is_packed && !is_planar) return false;
      addresses |= reinterpret_cast<uintptr_t>(frame.plane[c.plane]) |
                   static_cast<uintptr_t>(frame.pitch[c.plane]);
    }
    return addresses % 16 == 0;
  }

  // The samples of 32 pixels: for each component, one byte per pixel and four pixels per 32-bit
  // word.
  struct Word {
    uint32_t bytes[channels][8];
  };
  __device__ Word load(int x, int y) const {
    Word word;
    if (x + 32 > width_) {
      load_partial(word, x, y);
    } else if (samples_.step[0] == 3) {
      load_triples(word, row(0, y) + 3 * x);
    } else if (samples_.step[0] == 4) {
      load_quadruples(word, row(0, y) + 4 * x);
    } else {
      load_planes(word, x, y);
    }
    return word;
  }
  __device__ void sum(const Word& word, int, int, uint32_t mask, uint32_t (&value)[3]) const {
    value[0] = value[1] = value[2] = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const uint32_t ones = spread_bits(mask >> 4 * i & 15u);
#pragma unroll
      for (int k = 0; k < channels; ++k) value[k] = __dp4a(word.bytes[k][i], ones, value[k]);
    }
  }

 private:
  __device__ const uint8_t* row(int k, int y) const {
    return plane_[k] + (y >> samples_.y_shift[k]) * samples_.pitch[k];
  }
  template <int kCount>
  __device__ static void load_words(uint32_t (&words)[kCount], const uint8_t* from) {
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) {
      const uint4 four = reinterpret_cast<const uint4*>(from)[i];
      words[4 * i] = four.x;
      words[4 * i + 1] = four.y;
      words[4 * i + 2] = four.z;
      words[4 * i + 3] = four.w;
    }
  }
  __device__ void load_triples(Word& word, const uint8_t* from) const {
    uint32_t packed[24];
    load_words(packed, from);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int k = 0; k < channels; ++k) {
        const uint32_t first = __byte_perm(packed[3 * i], packed[3 * i + 1], select_[k]);
        word.bytes[k][i] = __byte_perm(first, packed[3 * i + 2], rest_[k]);
      }
    }
  }
  __device__ void load_quadruples(Word& word, const uint8_t* from) const {
    uint32_t packed[32];
    load_words(packed, from);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int k = 0; k < channels; ++k) {
        const uint32_t first_two = __byte_perm(packed[4 * i], packed[4 * i + 1], select_[k]);
        const uint32_t last_two = __byte_perm(packed[4 * i + 2], packed[4 * i + 3], select_[k]);
        word.bytes[k][i] = __byte_perm(first_two, last_two, 0x5410);
      }
    }
  }
  __device__ void load_planes(Word& word, int x, int y) const {
    load_words(word.bytes[0], row(0, y) + x);
    if (samples_.step[1] == 2) {
      uint32_t pairs[8];
      load_words(pairs, row(1, y) + x);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int k = 1; k < channels; ++k) word.bytes[k][i] = __byte_perm(pairs[i], 0, select_[k]);
      }
      return;
    }
#pragma unroll
    for (int k = 1; k < channels; ++k) {
      uint32_t half[4];
      load_words(half, row(k, y) + x / 2);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        word.bytes[k][i] = __byte_perm(half[i / 2], 0, i % 2 ? 0x3322 : 0x1100);
      }
    }
  }
  // Loads a word that extends beyond the end of the row.
  __device__ void load_partial(Word& word, int x, int y) const {
#pragma unroll
    for (int k = 0; k < channels; ++k) {
      const uint8_t* from = samples_.start[k] + (y >> samples_.y_shift[k]) * samples_.pitch[k];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        uint32_t four = 0;
#pragma unroll 1
        for (int at = x + 4 * i; at < min(x + 4 * i + 4, width_); ++at) {
          const uint32_t sample = from[(at >> samples_.x_shift[k]) * samples_.step[k]];
          four |= sample << (at - x) % 4 * 8;
        }
        word.bytes[k][i] = four;
      }
    }
  }

  SampleValues samples_;
  const uint8_t* plane_[channels];
  uint32_t select_[channels], rest_[channels] = {};  // byte selectors for __byte_perm
  int width_;
};

}  // namespace regions::cclabel

#endif
