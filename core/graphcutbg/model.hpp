// The background model of one pixel: three Gaussian modes in fixed point, after Stauffer and
// Grimson 1999 with Zivkovic's 2004 replacement of the weakest mode.
#pragma once

#include "core/graphcutbg/mode.hpp"

namespace regions::graphcut {

inline constexpr int kNat = 64;  // units of a log-likelihood ratio of 1, everywhere in the energy

// Variances, of 1/16 (levels squared).
struct Variances {
  static constexpr int32_t kFirstLuma = 16 * 64, kFirstChroma = 16 * 24;  // of a new mode
  static constexpr int32_t kMinLuma = 16 * 8, kMinChroma = 16 * 4;        // a camera's noise
  static constexpr int32_t kMax = 16 * 600;
};

// What a frame's work needs of the parameters and of the scene, for all pixels.
struct ModelPlan {
  int threshold = 0;       // units: half of var-threshold
  int32_t match = 0;       // squared distance up to which a colour belongs to a mode, of 1/16
  int32_t alpha = 0;       // what a frame adds to the weight of its mode, of 65536
  int32_t alpha_slow = 0;  // the same in the foreground
  int32_t alpha_fast = 0;  // the same where the cut calls an unknown colour background
  int32_t rate = 0;        // least weight of a frame in a mode's colour, of 4096
  bool learns = true;
  bool starts = false;  // this frame is the first
  uint32_t frame = 0;   // numbers the frames, for dithering
  Light light;
};

// A mode is background from the upper share on, and no background up to the lower one; between them
// the evidence fades.
inline constexpr int32_t kLowerShare = Mode::kWhole * 6 / 100;
inline constexpr int32_t kUpperShare = Mode::kWhole * 24 / 100;

// A pixel's modes.
template <class Int>
struct BasicModel {
  static constexpr int kModes = 3;
  static constexpr int kWords = kModes * Mode::kWords;  // of a pixel
  BasicMode<Int> mode[kModes];
  bool may_exist[kModes] = {true, true, true};  // in any lane, here or in memory

  // First all words that tell which modes there are, then the others of those, so that memory is
  // waited for twice.
  REGIONS_LANES static BasicModel load(const uint32_t* words, size_t plane) {
    BasicModel model;
    Int first[kModes], second[kModes], third[kModes];
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) read_words(words + k * Mode::kWords * plane, first[k]);
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) {
      second[k] = third[k] = 0;
      model.may_exist[k] = any(upper_bits(first[k], 16) != 0);
      if (!model.may_exist[k]) continue;
      read_words(words + (k * Mode::kWords + 1) * plane, second[k]);
      read_words(words + (k * Mode::kWords + 2) * plane, third[k]);
    }
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) {
      if (!model.may_exist[k]) continue;
      model.mode[k] = BasicMode<Int>::unpacked(first[k], second[k], third[k]);
    }
    return model;
  }
  REGIONS_LANES void store(uint32_t* words, size_t plane) const {
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) {
      if (may_exist[k]) mode[k].store(words + k * Mode::kWords * plane, plane);
    }
  }

  REGIONS_LANES BasicMode<Int> heaviest() const {
    BasicMode<Int> best = mode[0];
    REGIONS_UNROLL
    for (int k = 1; k < kModes; ++k) {
      if (may_exist[k]) best = pick(mode[k].weight > best.weight, mode[k], best);
    }
    return best;
  }
  // Its number.
  REGIONS_LANES Int lightest() const {
    Int best = 0, least = mode[0].weight;
    REGIONS_UNROLL
    for (int k = 1; k < kModes; ++k) {
      best = pick(mode[k].weight < least, Int(k), best);
      least = pick(mode[k].weight < least, mode[k].weight, least);
    }
    return best;
  }
  // The whole scene became lighter or darker.
  REGIONS_LANES void relight(const Light& light) {
    if (light.same()) return;
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) {
      if (!may_exist[k]) continue;
      const Truth<Int> exists = mode[k].weight != 0;
      REGIONS_UNROLL
      for (int c = 0; c < 3; ++c) {
        mode[k].mean[c] = pick(exists, light.apply(c, mode[k].mean[c]), mode[k].mean[c]);
      }
    }
  }
};
using Model = BasicModel<int32_t>;

}  // namespace regions::graphcut
