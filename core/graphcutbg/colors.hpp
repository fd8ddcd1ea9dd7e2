// Colours of foreground and background over the whole picture, as histograms that forget: what the
// evidence gains where a colour is typical of one of them. As in GrabCut (Rother et al. 2004), with
// bins for its mixtures.
#pragma once

#include "core/graphcutbg/model.hpp"

namespace regions::graphcut {

// Zeros at first.
struct Colors {
  static constexpr int kBins = 4096;
  static constexpr uint32_t kMin = 16 * 256;  // of a total that says something
  static constexpr int kMax = 2 * kNat;       // units that a colour may add

  uint32_t fresh[2][kBins];  // of the last frame: background, foreground
  uint32_t count[2][kBins];  // of earlier frames, a frame fading by 1/16
  uint32_t total[2];
  uint32_t fresh_total[2];
  int32_t bias[kBins];  // units

  // 16 levels of luma, 16 of each chroma in the middle half of its range.
  template <class Int>
  REGIONS_LANES static Int bin_of(const BasicColor<Int>& color) {
    const auto chroma = [](const Int& value) { return within<Int>((value - 64) >> 3, 0, 15); };
    return (color.y >> 4) << 8 | chroma(color.u) << 4 | chroma(color.v);
  }
};

// Natural logarithm in units, x > 0: powers of two and a line between them.
REGIONS_HD inline int log_units(uint32_t x) {
  int power = 0;
  for (uint32_t rest = x; rest > 1; rest >>= 1) ++power;
  const auto part = static_cast<int>((static_cast<uint64_t>(x) << 6 >> power) - 64);
  return (power * 64 + part) * 45426 >> 16;  // ln 2
}

REGIONS_HD inline void fade(uint32_t& count, uint32_t& fresh) {
  count += fresh * 16 - count / 16;
  fresh = 0;
}

// First the totals, then each bin.
REGIONS_HD inline void settle_totals(Colors& colors) {
  for (int k = 0; k < 2; ++k) fade(colors.total[k], colors.fresh_total[k]);
}
REGIONS_HD inline void settle_bin(Colors& colors, int bin) {
  constexpr uint32_t kSmooth = 64;
  int score[2];
  for (int k = 0; k < 2; ++k) {
    fade(colors.count[k][bin], colors.fresh[k][bin]);
    score[k] = log_units(colors.count[k][bin] + kSmooth) -
               log_units(colors.total[k] + kSmooth * (Colors::kBins / 64));
  }
  const int bias = score[1] - score[0];
  const bool known = colors.total[0] >= Colors::kMin && colors.total[1] >= Colors::kMin;
  colors.bias[bin] = !known                 ? 0
                     : bias < -Colors::kMax ? -Colors::kMax
                     : bias > Colors::kMax  ? Colors::kMax
                                            : bias;
}

}  // namespace regions::graphcut
