// Sums of colours of bytes: 32 pixels of a row are read sixteen bytes at a time and sorted by
// component, so that a run's sum is three dot products for each four pixels.
#pragma once

#include "gpu/cclabel/base/color_sums.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Three components of a byte, rows 16-byte aligned: packed by three (RGB, BGR) or four (RGBA and
// its like), or Y, U and V of half the width in planes of two (NV12) or three (I420).
class ColorWords {
 public:
  static constexpr int channels = 3;

  explicit ColorWords(const ConstFrame& frame) : samples_(frame), width_(frame.width) {
    for (int k = 0; k < channels; ++k) {
      const Component& c = frame.layout.component[k];
      plane_[k] = reinterpret_cast<const uint8_t*>(frame.plane[c.plane]);
      const auto o = static_cast<uint32_t>(c.offset);
      if (c.step == 3) {
        // Bytes o, o + 3, o + 6 and o + 9 of twelve: what lies in the first eight, then the rest.
        const uint32_t first[3] = {0x0630, 0x0741, 0x0052}, then[3] = {0x5210, 0x6210, 0x7410};
        select_[k] = first[o];
        rest_[k] = then[o];
      } else {
        select_[k] = c.step == 4 ? o | (o + 4) << 4 : o * 0x1111 + 0x2200;
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

  // Bytes of four pixels each, by component.
  struct Word {
    uint32_t bytes[channels][8];
  };
  __device__ Word load(int x, int y) const {
    Word word;
    if (x + 32 > width_) {
      load_some(word, x, y);
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
      const uint32_t ones = bytes_of(mask >> 4 * i & 15u);
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
    uint32_t of[24];
    load_words(of, from);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int k = 0; k < channels; ++k) {
        const uint32_t first = __byte_perm(of[3 * i], of[3 * i + 1], select_[k]);
        word.bytes[k][i] = __byte_perm(first, of[3 * i + 2], rest_[k]);
      }
    }
  }
  __device__ void load_quadruples(Word& word, const uint8_t* from) const {
    uint32_t of[32];
    load_words(of, from);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int k = 0; k < channels; ++k) {
        const uint32_t two = __byte_perm(of[4 * i], of[4 * i + 1], select_[k]);
        const uint32_t more = __byte_perm(of[4 * i + 2], of[4 * i + 3], select_[k]);
        word.bytes[k][i] = __byte_perm(two, more, 0x5410);
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
  // Of a word that reaches beyond the row.
  __device__ void load_some(Word& word, int x, int y) const {
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
  uint32_t select_[channels], rest_[channels] = {};  // bytes, for __byte_perm
  int width_;
};

}  // namespace regions::cclabel

#endif
