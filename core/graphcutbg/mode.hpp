// One mode of a pixel's background: a Gaussian in fixed point.
#pragma once

#include "core/graphcutbg/color.hpp"

namespace regions::graphcut {

// One mode, and how it lies in memory: three words, each a plane of the model. Where the weight is
// 0 there is no mode, and the rest means nothing.
struct ModeScale {
  static constexpr int kWords = 3;
  static constexpr int kMeanShift = 8;      // means have so many fraction bits
  static constexpr int32_t kWhole = 65535;  // weight of a mode that is alone
};

template <class Int>
struct BasicMode : ModeScale {
  Int weight = 0;  // share of the frames, of kWhole
  Int mean[3] = {0, 0, 0};
  Int var_luma = 0;  // of 1/16
  Int var_chroma = 0;

  // From its words.
  REGIONS_LANES static BasicMode unpacked(const Int& first, const Int& second, const Int& third) {
    BasicMode mode;
    mode.weight = upper_bits(first, 16);
    mode.mean[0] = first & 0xFFFF;
    mode.mean[1] = second & 0xFFFF;
    mode.mean[2] = upper_bits(second, 16);
    mode.var_luma = third & 0xFFFF;
    mode.var_chroma = upper_bits(third, 16);
    return mode;
  }
  REGIONS_LANES void store(uint32_t* words, size_t plane) const {
    write_words(words, weight << 16 | mean[0]);
    write_words(words + plane, mean[2] << 16 | mean[1]);
    write_words(words + 2 * plane, var_chroma << 16 | var_luma);
  }
  REGIONS_LANES BasicColor<Int> color() const {
    constexpr int kHalf = 1 << (kMeanShift - 1);
    return {within<Int>((mean[0] + kHalf) >> kMeanShift, 0, 255),
            within<Int>((mean[1] + kHalf) >> kMeanShift, 0, 255),
            within<Int>((mean[2] + kHalf) >> kMeanShift, 0, 255)};
  }
};
using Mode = BasicMode<int32_t>;

template <class Int>
REGIONS_LANES BasicMode<Int> pick(const Truth<Int>& first, const BasicMode<Int>& a,
                                  const BasicMode<Int>& b) {
  BasicMode<Int> mode;
  mode.weight = pick(first, a.weight, b.weight);
  REGIONS_UNROLL
  for (int c = 0; c < 3; ++c) mode.mean[c] = pick(first, a.mean[c], b.mean[c]);
  mode.var_luma = pick(first, a.var_luma, b.var_luma);
  mode.var_chroma = pick(first, a.var_chroma, b.var_chroma);
  return mode;
}

}  // namespace regions::graphcut
