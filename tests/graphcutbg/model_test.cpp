// The model and the energy of single pixels against the oracle, values that are derived from
// parameters, stored models, pictures of users, and error messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "core/graphcutbg/composite.hpp"
#include "core/graphcutbg/energy.hpp"
#include "core/graphcutbg/model_update.hpp"
#include "core/graphcutbg/stored_model.hpp"
#include "tests/core/error_message.hpp"
#include "tests/graphcutbg/oracle.hpp"
#include "tests/pictures/guarded.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions::graphcutbg {
namespace {

const auto add_to = [](uint32_t* sum, uint32_t amount) { *sum += amount; };

// The colour of a pixel in a frame: two background colours with noise, and a passing object.
Color color_of_frame(uint32_t pixel, uint32_t frame) {
  const auto noise = [&](uint32_t c) {
    return static_cast<int>(regions::hash(pixel, frame, c) % 7) - 3;
  };
  const bool second = regions::hash(pixel, frame, 50) % 3 == 0;
  const bool passing = frame >= 60 && frame < 68;
  const int y = passing ? 200 : second ? 120 : 60;
  return {static_cast<uint8_t>(y + noise(1)), static_cast<uint8_t>(110 + noise(2)),
          static_cast<uint8_t>(140 + noise(3))};
}

// Plans a frame without the usual values of the scene.
FramePlan plan_next(Scene& scene, const Survey& survey, const FramePlan& frame, int shift = 0) {
  SceneWatch watch;
  SceneMeasures measures;
  measures.medians = medians_of(survey);
  measures.camera_shift = shift;
  return plan_frame(scene, watch, survey, measures, frame);
}

TEST(GraphCutModel, Evidence_TwoBackgroundColorsAndPassingObject_IsNearReference) {
  const GraphCutBgParams params;
  const FramePlan scene_plan = frame_plan_of(params);
  for (uint32_t pixel = 0; pixel < 40; ++pixel) {
    Model model;
    oracle::Mixture expected(params.var_threshold);
    Scene scene;
    for (uint32_t i = 0; i < 150; ++i) {
      Survey survey;
      const FramePlan frame = plan_next(scene, survey, scene_plan);
      const Color color = color_of_frame(pixel, i);
      const std::array<double, 3> plain = {double(color.y), double(color.u), double(color.v)};
      if (i > 0) {
        const double wanted = expected.evidence(plain) * kUnitsPerNat;
        int32_t match;
        ASSERT_NEAR(evidence(model, color, frame, match), wanted, 8 + 0.03 * std::abs(wanted))
            << "pixel " << pixel << ", frame " << i;
      }
      const bool foreground = i >= 60 && i < 68;
      update_modes(model, color, foreground, frame.alpha_slow, frame, static_cast<int32_t>(pixel));
      expected.learn(plain, foreground, frame.alpha / 65536.0, params.learning_rate);
      const Mode heaviest = model.heaviest();
      const oracle::Gaussian* most = &expected.modes()[0];
      for (const auto& mode : expected.modes()) {
        if (mode.share > most->share) most = &mode;
      }
      ASSERT_NEAR(heaviest.weight / 65535.0, most->share, 0.02) << pixel << ", frame " << i;
    }
  }
}

TEST(GraphCutModel, ObjectMissedByTheCut_KeepsForegroundEvidenceForTenFrames) {
  const GraphCutBgParams params;
  const FramePlan scene_plan = frame_plan_of(params);
  const Color grass{90, 110, 120}, person{110, 125, 112};
  Model model;
  Scene scene;
  int32_t match;
  for (int i = 0; i < 110; ++i) {
    const Survey survey;
    const FramePlan frame = plan_next(scene, survey, scene_plan);
    const bool passes = i >= 100;
    if (passes) {
      EXPECT_GT(evidence(model, person, frame, match), frame.var_threshold / 2) << i;
    }
    update_modes(model, passes ? person : grass, false, 0, frame, 7);
  }
}

TEST(GraphCutModel, StoredModel_Loaded_EqualsTheOriginal) {
  Model model;
  for (int k = 0; k < Model::kModes; ++k) {
    model.mode[k].weight = 1000 + k;
    for (int c = 0; c < 3; ++c) model.mode[k].mean[c] = 65535 - 100 * k - c;
    model.mode[k].var_luma = 77;
    model.mode[k].var_chroma = 65535;
  }
  constexpr size_t kPlane = 5;
  std::vector<uint32_t> words(kPlane * Model::kWords, 0xA5A5A5A5);
  model.store(words.data() + 2, kPlane);
  const Model again = Model::load(words.data() + 2, kPlane);
  for (int k = 0; k < Model::kModes; ++k) {
    EXPECT_EQ(again.mode[k].weight, model.mode[k].weight);
    for (int c = 0; c < 3; ++c) EXPECT_EQ(again.mode[k].mean[c], model.mode[k].mean[c]);
    EXPECT_EQ(again.mode[k].var_luma, 77);
    EXPECT_EQ(again.mode[k].var_chroma, 65535);
  }
  for (size_t i = 0; i < words.size(); ++i) {
    if (i % kPlane != 2) {
      EXPECT_EQ(words[i], 0xA5A5A5A5) << i;
    }
  }
}

TEST(GraphCutEnergy, LinkWeights_AnyContrast_AreNearReference) {
  GraphCutBgParams params;
  params.lambda = 10;
  params.sigma = 12;
  const EnergyPlan plan = energy_plan_of(params, {8, 8});
  const uint32_t scale = static_cast<uint32_t>(frame_plan_of(params).contrasts.scale);
  for (int contrast = 0; contrast < 1500; contrast += 7) {
    for (const bool diagonal : {false, true}) {
      const double wanted = oracle::link(10, 12, contrast, diagonal) * kUnitsPerNat;
      // The steps of the table are 1/16 of the exponent.
      const int step = ContrastScale::scaled(scale).step_of(contrast);
      EXPECT_NEAR(plan.link_for(step, diagonal), wanted, 2 + wanted / 15) << contrast;
    }
  }
}

TEST(GraphCutEnergy, LargestParameters_WeightsFitInto16Bits) {
  GraphCutBgParams params;
  params.lambda = 32;
  const EnergyPlan plan = energy_plan_of(params, {8, 8});
  const int all = 4 * plan.link_for(0, false) + 4 * plan.link_for(0, true);
  EXPECT_LT(all, kCertainWeight);
  EXPECT_LT(all + kCertainWeight, 32768);
  params.var_threshold = 200;
  EXPECT_LT(all + frame_plan_of(params).var_threshold, 32768);
}

TEST(GraphCutEnergy, ForegroundEvidence_ShadowOfABackgroundColorLosesItAndOtherColorsKeepIt) {
  GraphCutBgParams params;
  params.shadow_darkest = 0.3;
  const EnergyPlan plan = energy_plan_of(params, {8, 8});
  Mode grass = new_mode({160, 108, 118}, Mode::kFullWeight);
  grass.var_chroma = 16 * 6;
  grass.var_luma = 16 * 8;
  const int strong = 4 * kUnitsPerNat;
  const auto remaining = [&](const Color& now, int error) {
    return suppress_shadow(
        strong, now, grass, plan.shadow_darkest, [&](bool) { return plan.shadow; },
        [&](int) { return error; });
  };
  const Color shadow{112, 114, 121};  // 0.7 times the brightness
  EXPECT_LT(remaining(shadow, 0), 0);
  EXPECT_GE(remaining(shadow, 0), -kMaxShadowEvidence);
  EXPECT_LT(remaining(shadow, 40), strong / 2) << "noise";
  EXPECT_EQ(remaining(shadow, 4000), strong) << "another texture";
  EXPECT_EQ(remaining({112, 150, 150}, 0), strong) << "another hue";
  EXPECT_EQ(remaining({200, 108, 118}, 0), strong) << "lighter";
  EXPECT_EQ(remaining({30, 124, 126}, 0), strong) << "too dark";
}

TEST(GraphCutEnergy, DarkBackground_HasNoShadows) {
  const EnergyPlan plan = energy_plan_of({}, {8, 8});
  constexpr int kStrong = 4 * kUnitsPerNat;
  for (const auto& [luma, has_shadows] :
       {std::pair{49, true}, {48, true}, {47, false}, {12, false}}) {
    const Mode road = new_mode({luma, 128, 128}, Mode::kFullWeight);
    const Color darker{luma * 6 / 10, 128, 128};
    const int remaining = suppress_shadow(
        kStrong, darker, road, plan.shadow_darkest, [&](bool) { return plan.shadow; },
        [](int) { return 0; });
    EXPECT_EQ(remaining < kStrong, has_shadows) << luma;
  }
}

TEST(GraphCutEnergy, BeamOnADarkBackground_LosesEvidenceOthersKeepIt) {
  Mode road = new_mode({24, 126, 130}, Mode::kFullWeight);
  road.var_luma = 16 * 16;
  road.var_chroma = 16 * 8;
  constexpr int kStrong = 4 * kUnitsPerNat;
  const auto remaining = [&](const Color& now, int error, Mode background) {
    return suppress_beam(kStrong, now, background, [&](int ratio, int rise) {
      EXPECT_EQ(ratio, 256);
      EXPECT_EQ(rise, now.y - (background.mean[0] >> Mode::kMeanShift));
      return error;
    });
  };
  const Color beam{90, 125, 131};
  EXPECT_EQ(remaining(beam, 0, road), -kMaxShadowEvidence + 2 * 2 * 16 / 8);
  EXPECT_LT(remaining(beam, 400, road), kStrong / 2) << "brightness that changes slowly";
  EXPECT_EQ(remaining(beam, 1 << 18, road), kStrong) << "another texture";
  EXPECT_EQ(remaining({90, 90, 160}, 0, road), kStrong) << "another hue";
  EXPECT_EQ(remaining({20, 126, 130}, 0, road), kStrong) << "darker";
  EXPECT_EQ(remaining({220, 126, 130}, 0, road), kStrong) << "a lamp";
  Mode bright = road;
  bright.mean[0] = 70 << Mode::kMeanShift;
  EXPECT_EQ(remaining(beam, 0, bright), kStrong) << "a bright background";
}

TEST(GraphCutEnergy, ShadingError_ShadowAndFlatObject_IsNearReference) {
  constexpr size_t kSide = 24, kBorder = 12;  // a shadow on the left, a flat object on the right
  oracle::Levels now(kSide, std::vector<double>(kSide)), background = now;
  std::vector<uint32_t> words[2] = {std::vector<uint32_t>(kSide * kSide), words[0]};
  for (uint32_t y = 0; y < kSide; ++y) {
    for (uint32_t x = 0; x < kSide; ++x) {
      const int was = 90 + static_cast<int>(regions::hash(x, y, 3) % 60);
      const int is = x < kBorder ? was * 6 / 10 : 72;
      now[y][x] = is;
      background[y][x] = was;
      words[0][y * kSide + x] = static_cast<uint32_t>(Color{is}.packed());
      words[1][y * kSide + x] = static_cast<uint32_t>(Color{was}.packed());
    }
  }
  ModelArrays canvas;
  canvas.width = canvas.height = kSide;
  canvas.current = words[0].data();
  canvas.background = words[1].data();
  const FramePlan frame;
  double most_in_shadow = 0, in_object = 0;
  for (int y = 0; y < canvas.height; ++y) {
    for (int x = 0; x < canvas.width; ++x) {
      const auto ux = static_cast<size_t>(x), uy = static_cast<size_t>(y);
      const int ratio = static_cast<int>(now[uy][ux] * 256 / background[uy][ux]);
      const double found = ShadingError{canvas, frame, x, y}(ratio);
      (ux < kBorder ? most_in_shadow : in_object) =
          ux < kBorder ? std::max(most_in_shadow, found) : in_object + found;
      if (std::min(ux, uy) < 2 || std::max(ux, uy) + 2 >= kSide) continue;
      const double wanted = oracle::shading_error(now, background, ux, uy);
      EXPECT_NEAR(found, wanted, 16 + 8 * std::sqrt(wanted))
          << x << ", " << y;  // 2 levels per pixel
      const int rise = static_cast<int>(now[uy][ux] - background[uy][ux]);
      EXPECT_EQ((ShadingError{canvas, frame, x, y}(256, rise)),
                oracle::beam_error(now, background, ux, uy));
    }
  }
  EXPECT_LE(most_in_shadow, 16) << "up to its border";
  EXPECT_GT(in_object / static_cast<double>(kSide * (kSide - kBorder)), 400);
}

TEST(GraphCutEnergy, KeepsTexture_FindsShadowsButNoObjectsAndNothingWithoutTexture) {
  constexpr int kSide = 40;
  struct Scene {
    const char* name;
    bool is_textured;                  // the background
    int (*now)(int was, uint32_t at);  // luma of the frame
    bool is_shadow;
  };
  static const auto noise_of = [](uint32_t at) {
    return static_cast<int>(regions::hash(at, 9) % 5) - 2;
  };
  const Scene scenes[] = {
      {"shadow", true, [](int was, uint32_t at) { return was * 6 / 10 + noise_of(at); }, true},
      {"flat object", true, [](int, uint32_t at) { return 60 + noise_of(at); }, false},
      {"textured object", true,
       [](int, uint32_t at) { return 50 + static_cast<int>(regions::hash(at, 4) % 20); }, false},
      {"inverted texture", true, [](int was, uint32_t) { return 180 - was; }, false},
      {"flat road", false, [](int was, uint32_t at) { return was * 6 / 10 + noise_of(at); }, false},
      {"nothing varies", false, [](int, uint32_t) { return 60; }, false},
  };
  for (const auto& [name, is_textured, now, is_shadow] : scenes) {
    oracle::Levels levels[2] = {oracle::Levels(kSide, std::vector<double>(kSide)), levels[0]};
    std::vector<uint32_t> words[2] = {std::vector<uint32_t>(kSide * kSide), words[0]};
    for (uint32_t at = 0; at < words[0].size(); ++at) {
      const int was = 90 + (is_textured ? static_cast<int>(regions::hash(at, 3) % 20) : 0);
      for (size_t k = 0; k < 2; ++k) {
        const int luma = k == 0 ? now(was, at) : was;
        words[k][at] = static_cast<uint32_t>(Color{luma}.packed()) | at << 24;
        levels[k][at / kSide][at % kSide] = luma;
      }
    }
    ModelArrays canvas;
    canvas.width = canvas.height = kSide;
    canvas.current = words[0].data();
    canvas.background = words[1].data();
    int found = 0;
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const bool is_kept = keeps_texture(canvas, x, y);
        const double correlation = oracle::texture_correlation(levels[0], levels[1], x, y);
        EXPECT_EQ(is_kept, correlation > 0 && 3 * correlation * correlation >= 1 - 1e-9)
            << name << ", " << x << ", " << y;
        found += is_kept;
      }
    }
    const double share = found / static_cast<double>(words[0].size());
    EXPECT_EQ(share > 0.5, is_shadow) << name;
    EXPECT_TRUE(share < 0.02 || share > 0.98) << name << ": " << share;
  }
}

TEST(GraphCutEnergy, BackgroundShiftedByUpToTwoPixels_HasNoForegroundEvidence) {
  constexpr int kWidth = 9, kHeight = 7;
  const Color grass{90, 110, 120}, tape{220, 128, 128}, person{40, 160, 110};
  std::vector<uint32_t> now(kWidth * kHeight, grass.packed()), background = now;
  ModelArrays canvas;
  canvas.width = kWidth;
  canvas.height = kHeight;
  canvas.current = now.data();
  canvas.background = background.data();
  int32_t sparkle = 0, calm = 0;
  uint32_t excused[2] = {};
  canvas.cells = {4, 1, 1};
  canvas.sparkle = &sparkle;
  canvas.calm = &calm;
  for (size_t k = 0; k < 2; ++k) canvas.excused[k] = &excused[k];
  for (int x = 0; x < kWidth; ++x) background[canvas.at(x, 2)] = tape.packed();
  FramePlan frame;
  frame.var_threshold = 6 * kUnitsPerNat;
  const Mode mode = new_mode(grass, Mode::kFullWeight);
  constexpr int kStrong = 5 * kUnitsPerNat;
  const auto evidence_of = [&](const Color& color, int y) {
    now[canvas.at(4, y)] = color.packed();
    return suppress_jitter(kStrong, canvas, frame, mode, 4, y, add_to);
  };
  EXPECT_EQ(evidence_of(tape, 3), 0);
  EXPECT_EQ(evidence_of(tape, 4), 0);
  EXPECT_EQ(evidence_of(tape, 5), kStrong) << "too far";
  const Color mixture{155, 119, 124}, other_hue{155, 170, 124};
  EXPECT_EQ(evidence_of(mixture, 3), 0) << "moved by a fraction of a pixel";
  EXPECT_EQ(evidence_of(mixture, 4), 0);
  EXPECT_EQ(evidence_of(mixture, 5), kStrong) << "too far";
  EXPECT_EQ(evidence_of(other_hue, 3), kStrong) << "a mixture in luma only";
  EXPECT_EQ(evidence_of(person, 3), kStrong) << "another colour than the background";
  EXPECT_EQ(excused[0], 4u) << "the pixels that lost their evidence";
  calm = kFullCalm;
  EXPECT_EQ(evidence_of(tape, 3), kStrong) << "in a calm cell";
  EXPECT_EQ(excused[0], 5u) << "counted nevertheless";
}

TEST(ForegroundColors, LogarithmOfAnyCount_DeviatesByLessThan7PercentOfANat) {
  for (const uint32_t x : {1u, 2u, 3u, 100u, 65535u, 1000000u, 0xFFFFFFFFu}) {
    EXPECT_NEAR(log_units(x), std::log(double(x)) * kUnitsPerNat, 0.07 * kUnitsPerNat) << x;
  }
}

TEST(ForegroundColors, ColorSeenInForeground_GainsABiasThatFades) {
  const auto colors = std::make_unique<ColorHistograms>();
  const int red = ColorHistograms::bin_of(Color{80, 110, 200}),
            green = ColorHistograms::bin_of(Color{120, 100, 100});
  ASSERT_NE(red, green);
  const auto frame = [&](uint32_t reds, uint32_t greens) {
    colors->fresh[1][red] = colors->fresh_total[1] = reds;
    colors->fresh[0][green] = colors->fresh_total[0] = greens;
    finalize_totals(*colors);
    for (int bin = 0; bin < ColorHistograms::kBins; ++bin) finalize_bin(*colors, bin);
  };
  frame(10, 1000);
  EXPECT_EQ(colors->bias[red], 0) << "too few pixels";
  for (int i = 0; i < 20; ++i) frame(500, 5000);
  EXPECT_EQ(colors->bias[red], ColorHistograms::kMax);
  EXPECT_EQ(colors->bias[green], -ColorHistograms::kMax);
  for (int i = 0; i < 300; ++i) frame(0, 5000);
  EXPECT_EQ(colors->bias[red], 0) << "forgotten";
}

TEST(GraphCutScene, LinearLightChange_GainAndOffsetAreFound) {
  Survey survey;
  const auto tally = [&](int half, int bin) { ++survey.change[half][bin]; };
  for (int i = 0; i < 4000; ++i) {
    const int was = 20 + i % 150;
    const bool covered = i % 7 == 0;
    const int now = covered ? 90 : was * 5 / 4 + 6;
    survey_light(survey.sums, {now}, {was}, 95, tally);
  }
  const Light light = light_of(survey.sums, medians_of(survey));
  EXPECT_NEAR(light.gain / double(Light::kOne), 1.25, 0.03);
  EXPECT_NEAR(light.apply(0, 100 << 8) / 256.0, 131, 2);
}

TEST(GraphCutScene, DarkColoredBackground_IsNight) {
  struct Case {
    const char* name;
    int luma, chroma;  // chroma: deviation from grey
    bool is_night;
  };
  for (const auto& [name, luma, chroma, is_night] :
       {Case{"night", 20, 12, true}, {"dusk", 45, 12, false}, {"infrared", 20, 0, false}}) {
    Scene scene;
    scene.age = 10;
    Survey survey;
    survey.sums.count[0] = survey.sums.pixels = 100;
    survey.sums.luma[0] = static_cast<uint32_t>(100 * luma);
    const auto u = static_cast<uint32_t>(128 + chroma), v = static_cast<uint32_t>(128 - chroma);
    // Half of the pixels have u and v exchanged.
    survey.sums.chroma[0] = survey.sums.chroma[1] = 50 * (u + v);
    survey.sums.squared_chroma = uint64_t{100} * (u * u + v * v);
    EXPECT_EQ(plan_next(scene, survey, FramePlan()).is_night, is_night) << name;
  }
}

TEST(GraphCutScene, NoiseOnly_IsNotALightChange) {
  Survey survey;
  const auto tally = [&](int half, int bin) { ++survey.change[half][bin]; };
  for (uint32_t i = 0; i < 4000; ++i) {
    const auto was = static_cast<uint8_t>(20 + i % 150);
    const auto now = static_cast<uint8_t>(was + regions::hash(i, 1) % 7 - 3);
    survey_light(survey.sums, {now}, {was}, 95, tally);
  }
  EXPECT_TRUE(light_of(survey.sums, medians_of(survey)).is_unchanged());
}

// Surveys a picture of 64x64 pixels whose chroma has the given values.
template <class Chroma>
SurveySums surveyed(Chroma chroma) {
  std::vector<uint32_t> background(64 * 64);
  ModelArrays canvas;
  canvas.width = canvas.height = 64;
  canvas.background = background.data();
  SurveySums sums;
  const auto color = [&](int x, int y) {
    const auto [u, v] = chroma(x, y);
    return Color{100, u, v};
  };
  for (int y = 0; y < 64; y += 4) {
    for (int x = 0; x < 64; x += 4) {
      survey_pixel(
          canvas, Scene(), x, y, sums, [](int, int) {}, [](uint32_t, uint32_t) {},
          [](const auto&...) {}, color);
    }
  }
  return sums;
}

TEST(GraphCutScene, GreyTintedAndColoredPictures_ColorfulnessIsThatOfTheirChroma) {
  using Chroma = std::pair<int, int>;
  const auto colorfulness = [](auto chroma) { return colorfulness_of(surveyed(chroma)); };
  EXPECT_EQ(colorfulness([](int, int) { return Chroma{128, 128}; }), 0) << "grey";
  EXPECT_EQ(colorfulness([](int, int) { return Chroma{110, 150}; }), 0) << "tinted";
  const auto noise = [](int x, int y) {
    return static_cast<int>(regions::hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y)) % 5);
  };
  EXPECT_EQ(colorfulness([&](int x, int y) {
              return Chroma{126 + noise(x, y), 128};
            }),
            0)
      << "noise";
  EXPECT_EQ(colorfulness([](int x, int) { return Chroma{x < 32 ? 120 : 132, 128}; }), 256);
  // A variance of 5^2 is between 9 and 36: (25 - 9) / (36 - 9) = 0.59.
  EXPECT_NEAR(colorfulness([](int x, int) { return Chroma{128, x < 32 ? 123 : 133}; }), 152, 2);
  EXPECT_EQ(colorfulness_of(SurveySums()), 256) << "unknown";
}

// Profiles of random columns and rows that the camera has shifted by some bins.
Profiles shifted_profiles(int bins, int right, int down, uint32_t seed) {
  Profiles profiles;
  for (int i = 0; i < bins; ++i) {
    const auto luma = [&](int at, uint32_t axis) {
      return 2000 + regions::hash(static_cast<uint32_t>(at + 100), axis, seed) % 2000;
    };
    profiles.background[0][i] = luma(i, 0);
    profiles.background[1][i] = luma(i, 1);
    profiles.frame[0][i] = luma(i + right, 0) + 300;  // another light
    profiles.frame[1][i] = luma(i + down, 1) + 300;
  }
  return profiles;
}

TEST(CameraShift, ShiftedProfiles_LargestShiftIsFound) {
  const auto grid = SurveyGrid::of(400, 400);
  ASSERT_EQ(grid.bins(0), 100);
  for (uint32_t seed = 0; seed < 20; ++seed) {
    for (const auto& [right, down] :
         {std::pair{0, 0}, {1, 0}, {-1, 0}, {3, -7}, {-16, 2}, {0, 16}}) {
      const Profiles profiles = shifted_profiles(100, right, down, seed);
      EXPECT_EQ(camera_shift_of(profiles, grid), std::max(std::abs(right), std::abs(down)))
          << right << ", " << down << ", " << seed;
    }
    EXPECT_EQ(camera_shift_of(shifted_profiles(100, 17, 0, seed), grid), 0) << "too far";
    EXPECT_EQ(camera_shift_of(shifted_profiles(63, 4, 4, seed), SurveyGrid::of(126, 126)), 0)
        << "too small a picture";
  }
}

TEST(CameraShift, OneObjectMovesOrPictureIsFlat_IsNotAShift) {
  const auto grid = SurveyGrid::of(400, 400);
  Profiles profiles = shifted_profiles(100, 0, 0, 1);
  const Profiles turned = shifted_profiles(100, 5, 0, 1);
  // An object covers 40 of 100 columns and moves by five.
  for (int i = 30; i < 70; ++i) profiles.frame[0][i] = turned.frame[0][i];
  EXPECT_EQ(camera_shift_of(profiles, grid), 0);
  for (int i = 0; i < 100; ++i) {
    profiles.frame[0][i] = profiles.frame[1][i] = profiles.background[0][i] =
        profiles.background[1][i] = 5000;
  }
  EXPECT_EQ(camera_shift_of(profiles, grid), 0);
}

TEST(CameraShift, SidesOfAnyLength_FitIntoTheBins) {
  for (const int side : {1, 4, 5, 512, 513, 1920, 3840, 8192, 65535}) {
    const auto grid = SurveyGrid::of(side, 300);
    EXPECT_LE(grid.bins(0), Profiles::kBins) << side;
    EXPECT_EQ(grid.bin_of(0, (grid.count(0) - 1) * grid.step) + 1, grid.bins(0)) << side;
    if (grid.bin_shift[0] > 0) {
      EXPECT_GT(grid.bins(0), Profiles::kBins / 2) << side;
    }
    EXPECT_LT(grid.zone_of(side - 1, 299), Survey::kZones);
  }
}

TEST(CameraShift, CameraTurns_ModelRestartsAtSmallShiftsUntilItRests) {
  Scene scene;
  const auto restarts = [&](int shift) {
    const Survey survey;
    plan_next(scene, survey, FramePlan(), shift);
    return scene.restarted != 0;
  };
  EXPECT_FALSE(restarts(9)) << "the first frame";
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(restarts(i % 3)) << "a camera that shakes";
  EXPECT_TRUE(restarts(3));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(restarts(i % 2), i % 2 == 1) << "while it turns";
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(restarts(0));
  EXPECT_FALSE(restarts(2)) << "it has rested";
  FramePlan frozen;
  frozen.learns = false;
  const Survey survey;
  plan_next(scene, survey, frozen, 9);
  EXPECT_EQ(scene.restarted, 0u) << "freeze";
}

// ---- the history of labels

TEST(LabelHistory, SequenceOfLabels_EqualsCountedFrames) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    LabelHistory history;
    bool label = false;
    int frames = 0;
    for (uint32_t i = 0; i < 60; ++i) {
      const bool next = regions::hash(i / (1 + seed % 9), seed) % 2;
      history = history.followed_by(next);
      frames = next == label ? frames + 1 : 0;
      label = next;
      const auto word = static_cast<int32_t>(history.with(0x123456));
      ASSERT_EQ(word & 0xFFFFFF, 0x123456);
      const auto stored = LabelHistory::of_background(word);
      ASSERT_EQ(stored.was_foreground(), label) << seed << ", " << i;
      ASSERT_EQ(stored.is_still(), frames >= 7) << seed << ", " << i;
      ASSERT_EQ(stored.was_brief(), label && frames < 3) << seed << ", " << i;
    }
  }
}

// A picture of cells in which a square has been foreground for some frames.
struct SquareInPicture {
  static constexpr int kSide = 64, kFirst = 20, kLast = 43;
  std::vector<uint32_t> current = std::vector<uint32_t>(kSide * kSide), background = current;
  std::vector<OutlineSums> outline;
  std::vector<uint32_t> sparks[2], excused[2];
  std::vector<int32_t> sparkle, calm;
  ModelArrays canvas;

  // The lumas of the picture and of the model, inside and outside the square.
  SquareInPicture(std::pair<int, int> picture, std::pair<int, int> model, int frames) {
    canvas.width = canvas.height = kSide;
    canvas.cells = PictureCells::of({kSide, kSide});
    outline.resize(canvas.cells.count());
    for (size_t k = 0; k < 2; ++k) {
      sparks[k].resize(canvas.cells.count());
      excused[k].resize(canvas.cells.count());
    }
    sparkle.resize(canvas.cells.count());
    calm.resize(canvas.cells.count());
    canvas.current = current.data();
    canvas.background = background.data();
    canvas.outline = outline.data();
    for (size_t k = 0; k < 2; ++k) {
      canvas.sparks[k] = sparks[k].data();
      canvas.excused[k] = excused[k].data();
    }
    canvas.sparkle = sparkle.data();
    canvas.calm = calm.data();
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        LabelHistory history;
        for (int i = 0; i < 8; ++i) history = history.followed_by(false);
        for (int i = 0; i < frames && is_inside(x, y); ++i) history = history.followed_by(true);
        const auto color = [&](std::pair<int, int> lumas) {
          return Color{is_inside(x, y) ? lumas.first : lumas.second}.packed();
        };
        background[canvas.at(x, y)] = static_cast<uint32_t>(history.with(color(model)));
        current[canvas.at(x, y)] =
            static_cast<uint32_t>(color(picture) | history.bits << LabelHistory::kCurrentShift);
      }
    }
  }
  static bool is_inside(int x, int y) {
    return x >= kFirst && x <= kLast && y >= kFirst && y <= kLast;
  }
  // Prepares all cells for a frame of a model that has seen `age` frames.
  void advance(uint32_t frame, uint32_t age = 9) {
    Scene scene;
    scene.frame = frame;
    scene.age = age;
    for (int i = 0; i < static_cast<int>(canvas.cells.count()); ++i) advance_cell(canvas, scene, i);
  }
};

TEST(LabelHistory, EdgeInModelOnly_IsAGhost) {
  struct Case {
    const char* name;
    std::pair<int, int> picture, model;
    int frames;
    bool is_ghost;
  };
  for (const auto& [name, picture, model, frames, expected] :
       {Case{"ghost", {90, 90}, {160, 90}, 20, true},
        {"object", {160, 90}, {90, 90}, 20, false},
        {"edges in both", {160, 90}, {30, 90}, 20, false},
        {"no edges", {90, 90}, {90, 90}, 20, false},
        {"label has changed recently", {90, 90}, {160, 90}, 5, false}}) {
    SquareInPicture square(picture, model, frames);
    for (int y = 0; y < square.kSide; ++y) {
      for (int x = 0; x < square.kSide; ++x) add_outlines(square.canvas, FramePlan(), x, y, add_to);
    }
    // The outline has four sides of 24 pixels. Larger contrasts than 64 levels count as 64.
    uint64_t in_model = 0, in_picture = 0;
    for (const OutlineSums& sums : square.outline) {
      in_model += sums.in_model;
      in_picture += sums.in_picture;
    }
    const auto sum = [&](std::pair<int, int> lumas) {
      const int step = std::min(std::abs(lumas.first - lumas.second), 64);
      return static_cast<uint64_t>(frames > 7 ? 4 * 24 * step * step : 0);
    };
    EXPECT_EQ(in_model, sum(model)) << name;
    EXPECT_EQ(in_picture, sum(picture)) << name;
    const int at_border = square.kFirst >> square.canvas.cells.shift;
    EXPECT_EQ(is_ghost(square.canvas, at_border, at_border + 1), expected) << name;
    FramePlan frame;
    frame.alpha_slow = 1;
    frame.alpha_still = 2;
    frame.alpha_ghost = 3;
    EXPECT_EQ(foreground_rate_at(square.canvas, frame, square.kFirst, 30), expected     ? 3
                                                                           : frames > 7 ? 2
                                                                                        : 1)
        << name;
  }
}

TEST(LabelHistory, BriefForeground_CountsSmallSpotsButNotLargeObjects) {
  const auto sparks_after = [](int frames, bool stays) {
    SquareInPicture square({160, 90}, {90, 90}, frames);
    const FramePlan frame;  // frame 0
    for (int y = 0; y < square.kSide; ++y) {
      for (int x = 0; x < square.kSide; ++x) {
        count_spark(square.canvas, frame, stays && square.is_inside(x, y), x, y, add_to);
      }
    }
    int32_t all = 0;
    for (const uint32_t sparks : square.sparks[0]) all += static_cast<int32_t>(sparks);
    return all;
  };
  EXPECT_EQ(sparks_after(3, false), 4 * 23 - 22 * 22) << "border pixels minus inner pixels";
  EXPECT_EQ(sparks_after(4, false), 0) << "not brief";
  EXPECT_EQ(sparks_after(3, true), 0) << "still foreground";
  SquareInPicture spots({90, 90}, {90, 90}, 0);
  for (const int x : {8, 9, 40}) {
    uint32_t& word = spots.current[spots.canvas.at(x, 30)];
    word = (word & 0xFFFFFF) | 1u << LabelHistory::kCurrentShift;
  }
  spots.current[spots.canvas.at(50, 50)] |= static_cast<uint32_t>(LabelHistory::kLimited)
                                            << LabelHistory::kCurrentShift;
  for (int y = 0; y < spots.kSide; ++y) {
    for (int x = 0; x < spots.kSide; ++x) {
      count_spark(spots.canvas, FramePlan(), false, x, y, add_to);
    }
  }
  for (size_t i = 0; i < spots.sparks[0].size(); ++i) {
    const int cell = static_cast<int>(i);
    const auto at = [&](int x, int y) { return cell == spots.canvas.cells.index_of(x, y); };
    EXPECT_EQ(spots.sparks[0][i], at(8, 30) ? 2u : at(40, 30) || at(50, 50) ? 1u : 0u) << cell;
  }
}

TEST(LabelHistory, SparksInSomeFrames_SparkleRisesAroundThemAndFades) {
  SquareInPicture picture({90, 90}, {90, 90}, 0);
  const ModelArrays& canvas = picture.canvas;
  const int cell = canvas.cells.index_of(30, 30), next = cell + 1, far = cell + 3;
  double expected = 0;
  for (uint32_t frame = 0; frame < 300; ++frame) {
    const uint32_t sparks = frame < 100 ? 7 : 0;
    picture.sparks[frame % 2][static_cast<size_t>(cell)] = sparks;
    picture.advance(frame);
    expected += sparks * 256.0 / 64 - expected / 32;
    EXPECT_NEAR(picture.sparkle[static_cast<size_t>(cell)], expected, 32) << frame;
    EXPECT_EQ(picture.sparkle[static_cast<size_t>(next)],
              picture.sparkle[static_cast<size_t>(cell)]);
    EXPECT_EQ(picture.sparkle[static_cast<size_t>(far)], 0);
  }
  EXPECT_EQ(picture.sparkle[static_cast<size_t>(cell)], 0) << "forgotten";
  picture.sparks[0][static_cast<size_t>(cell)] = static_cast<uint32_t>(-5);
  picture.advance(300);
  EXPECT_EQ(picture.sparkle[static_cast<size_t>(cell)], 0) << "never negative";
}

TEST(LabelHistory, ExcusedPixels_CalmRisesFastWithoutThemAndFallsSlowlyWithThem) {
  SquareInPicture picture({90, 90}, {90, 90}, 0);
  const auto cell = static_cast<size_t>(picture.canvas.cells.index_of(30, 30)), next = cell + 1,
             far = cell + 3;
  double expected = 0;
  for (uint32_t frame = 0; frame < 400; ++frame) {
    const bool is_moving = frame >= 100 && frame < 200;
    // 4 pixels among the 576 of nine cells are noise.
    picture.excused[frame % 2][cell] = is_moving ? 5 : 4;
    picture.advance(frame);
    expected += is_moving ? -expected / 128 : (kFullCalm - expected) / 32;
    EXPECT_NEAR(picture.calm[cell], expected, 150) << frame;
    EXPECT_EQ(picture.calm[next], picture.calm[cell]) << frame;
    EXPECT_GT(picture.calm[far], frame > 99 ? kFullCalm * 9 / 10 : 0) << frame;
    const bool is_still = is_calm<int32_t>(picture.canvas, 30, 30);
    EXPECT_EQ(is_still, picture.calm[cell] >= kFullCalm * 5 / 8) << frame;
    EXPECT_FALSE(is_still && (frame == 20 || frame == 199)) << frame;
    EXPECT_TRUE(is_still || (frame != 40 && frame != 140 && frame != 240)) << frame;
  }
  picture.advance(400, 1);
  EXPECT_EQ(picture.calm[far], 0) << "a new model";
}

TEST(LabelHistory, NewForegroundInSparklingCell_HasLimitedEvidence) {
  SquareInPicture picture({90, 90}, {90, 90}, 0);
  FramePlan frame;
  frame.var_threshold = 6 * kUnitsPerNat;
  const int strong = frame.var_threshold;
  const auto limited = [&](int sparkle, int evidence) {
    std::fill(picture.sparkle.begin(), picture.sparkle.end(), sparkle);
    const size_t i = picture.canvas.at(30, 30);
    picture.current[i] &= 0xFFFFFF;
    const int found = limit_sparkle(evidence, true, picture.canvas, frame, 30, 30);
    const auto history = LabelHistory::of_current(static_cast<int32_t>(picture.current[i]));
    EXPECT_EQ(history.is_limited(), found < evidence) << sparkle << ", " << evidence;
    return found;
  };
  EXPECT_EQ(limited(0, strong), strong);
  EXPECT_EQ(limited(320, strong), strong);
  EXPECT_EQ(limited(370, strong), strong - 100);
  EXPECT_EQ(limited(5000, strong), 120);
  EXPECT_EQ(limited(5000, 100), 100) << "weak evidence";
  EXPECT_EQ(limit_sparkle(strong, false, picture.canvas, frame, 30, 30), strong) << "not new";
  frame.var_threshold = 64;
  EXPECT_EQ(limited(5000, 64), 64) << "never more than the threshold";
}

TEST(GraphCutPlan, PictureWithLittleColor_HasALowerThresholdAndMoreWeight) {
  for (const auto& [colorfulness, threshold, gain] :
       {std::tuple{256, 384, 256}, {128, 336, 288}, {0, 288, 320}}) {
    FramePlan frame = frame_plan_of({});
    frame.colorfulness = colorfulness;
    adapt_to_grey(frame);
    EXPECT_NEAR(frame.var_threshold, threshold, 1) << colorfulness;
    EXPECT_EQ(frame.evidence_gain, gain) << colorfulness;
  }
}

TEST(GraphCutPlan, RatesOfForeground_FollowTheAgeOfTheModel) {
  const GraphCutBgParams params;
  for (const auto& [age, still] : {std::pair{60u, 65536 / 72 / 2},
                                   {80u, (65536 / 92 / 2 + 16) / 2},
                                   {100u, 16},
                                   {5000u, 16}}) {
    FramePlan frame = frame_plan_of(params);
    set_rates(frame, age);
    EXPECT_NEAR(frame.alpha_still, still, 1) << age;
    EXPECT_EQ(frame.alpha_slow, frame.alpha / 2) << age;
    EXPECT_EQ(frame.alpha_ghost, 2048) << age;
  }
}

// ---- values that are derived from parameters

TEST(GraphCutPlan, SceneParameters_Converted_AreInFixedPointUnits) {
  GraphCutBgParams params;
  params.var_threshold = 12;
  params.learning_rate = 0.25;
  params.history = 500;
  params.sigma = 0;
  FramePlan plan = frame_plan_of(params);
  EXPECT_EQ(plan.var_threshold, 6 * 64);    // half the squared distance in 1/64 nat
  EXPECT_EQ(plan.match_distance, 12 * 16);  // in 1/16
  EXPECT_EQ(plan.alpha, 43);                // 65536 * 0.325 / 500 = 42.6
  EXPECT_EQ(plan.alpha_still, 16);          // 65536 * 0.125 / 500 = 16.4
  EXPECT_EQ(plan.learning_rate, 1024);      // in 1/4096
  EXPECT_EQ(plan.contrasts.scale, 0);       // computed for each frame
  EXPECT_TRUE(plan.learns);
  params.var_threshold = 4;
  params.history = 10000;
  params.sigma = 10;
  params.freeze = true;
  plan = frame_plan_of(params);
  EXPECT_EQ(plan.var_threshold, 128);
  EXPECT_EQ(plan.match_distance, 9 * 16) << "the minimum is three deviations";
  EXPECT_EQ(plan.alpha, 2) << "65536 * 0.325 / 10000 = 2.1";
  EXPECT_EQ(plan.alpha_still, 1) << "65536 * 0.125 / 10000 = 0.8";
  EXPECT_EQ(plan.contrasts.scale, 5242);  // 16 * 65536 / (2 * 10^2)
  EXPECT_FALSE(plan.learns);
  params.history = 1;
  params.sigma = 0.5;
  plan = frame_plan_of(params);
  EXPECT_EQ(plan.alpha, 21299);
  EXPECT_EQ(plan.contrasts.scale, 65536 * 16) << "the maximum is 16 steps per unit";
  params.sigma = 255;
  EXPECT_EQ(frame_plan_of(params).contrasts.scale, 8);
}

TEST(GraphCutPlan, EnergyParameters_Converted_AreInFixedPointUnits) {
  GraphCutBgParams params;
  params.lambda = 5;
  params.shadow = 0.75;
  params.shadow_darkest = 0.75;
  params.mask_foreground = 201;
  params.mask_background = 17;
  const EnergyPlan plan = energy_plan_of(params, {64, 32}, {16, 64});
  for (int i = 0; i < 128; ++i) {
    ASSERT_EQ(plan.lambda_table[i], std::max(38L, std::lround(320 * std::exp(-i / 16.0)))) << i;
  }
  EXPECT_EQ(plan.lambda_table[128], 38) << "larger contrasts than in the table";
  params.source = GraphCutSource::mask;
  EXPECT_EQ(energy_plan_of(params, {64, 32}).lambda_table[128], 0)
      << "a mask is refined along edges";
  params.source = GraphCutSource::image;
  EXPECT_EQ(plan.shadow, 192);
  EXPECT_EQ(plan.shadow_darkest, 192);
  EXPECT_EQ(plan.mask_foreground, 201);
  EXPECT_EQ(plan.mask_background, 17);
  EXPECT_EQ(plan.mask_scale.across, uint64_t{1} << 30);
  EXPECT_EQ(plan.mask_scale.down, uint64_t{2} << 32);
  struct Case {
    GraphCutSource source;
    bool learns_colors, image, mask, colors;
  };
  using enum GraphCutSource;
  for (const auto& [source, learns, uses_image, uses_mask, uses_foreground_colors] :
       {Case{image, false, true, false, false},
        {image, true, true, false, true},
        {mask, false, false, true, false},
        {mask, true, false, true, true},
        {both, false, true, true, false},
        {both, true, true, true, true}}) {
    params.source = source;
    params.foreground_colors = learns;
    const EnergyPlan uses = energy_plan_of(params, {8, 8});
    EXPECT_EQ(uses.uses_image, uses_image) << static_cast<int>(source) << learns;
    EXPECT_EQ(uses.uses_mask, uses_mask) << static_cast<int>(source) << learns;
    EXPECT_EQ(uses.uses_foreground_colors, uses_foreground_colors)
        << static_cast<int>(source) << learns;
  }
}

TEST(GraphCutPlan, CutLimits_ResetOrNot_EqualTheParametersButAResetTurnsWarmStartOff) {
  GraphCutBgParams params;
  CutLimits limits = cut_limits_of(params, false);
  EXPECT_EQ(limits.max_iterations, 0);
  EXPECT_EQ(limits.time_budget, 0) << "the element replaces -1";
  EXPECT_FALSE(limits.warm_start);
  params.max_iterations = 7;
  params.time_budget = 1;
  params.warm_start = true;
  limits = cut_limits_of(params, false);
  EXPECT_EQ(limits.max_iterations, 7);
  EXPECT_EQ(limits.time_budget, 1);
  EXPECT_TRUE(limits.warm_start);
  EXPECT_FALSE(cut_limits_of(params, true).warm_start) << "the previous solution is missing";
}

// ---- error messages

TEST(GraphCutErrors, InvalidSetupOrFrame_IsRefusedWithTheReason) {
  const regions::Setup setup{.in = layout_of(PixelFormat::gray8), .size = {8, 6}, .slots = 2};
  const auto configure = [](regions::Setup wanted) {
    return error_message_of([&] { expects_cuttable(wanted); });
  };
  EXPECT_EQ(configure(setup), "");
  EXPECT_EQ(configure({.size = {1, 1}}), "");
  for (const regions::Setup& empty :
       {regions::Setup{.size = {0, 6}}, {.size = {8, 0}}, {.size = {8, 6}, .slots = 0}}) {
    EXPECT_EQ(configure(empty),
              "a cut requires a picture of at least 1x1 pixels and at least one slot");
  }
  EXPECT_EQ(configure({.in = layout_of(PixelFormat::labels32), .size = {8, 6}}),
            "a label image cannot be cut");

  const GuardedFrame frame(PixelFormat::gray8, {8, 6}), narrow(PixelFormat::gray8, {7, 6}),
      color(PixelFormat::rgb, {8, 6}), large(PixelFormat::gray8, {65535, 1});
  GraphCutBgParams params;
  FrameTask task{.in = frame.frame()};
  const auto enqueue = [&] {
    return error_message_of([&] { expects_cuttable(setup, task, params); });
  };
  EXPECT_EQ(enqueue(), "");
  task.slot = 1;
  EXPECT_EQ(enqueue(), "");
  for (const int slot : {-1, 2}) {
    task.slot = slot;
    EXPECT_EQ(enqueue(), "there is no slot " + std::to_string(slot));
  }
  task.slot = 0;
  for (const GuardedFrame* other : {&narrow, &color}) {
    task.in = other->frame();
    EXPECT_EQ(enqueue(), "the frame differs from the configured size or format");
  }
  task.in = frame.frame();
  GuardedFrame out(PixelFormat::gray8, {8, 6});
  task.out = out.frame();
  EXPECT_EQ(enqueue(), "the frame has an output, but none was configured");
  task.out = {};
  params.source = GraphCutSource::mask;
  EXPECT_EQ(enqueue(), "source=mask, but no mask is attached to the frame");
  params.source = GraphCutSource::both;
  EXPECT_EQ(enqueue(), "");
  for (const GraphCutSource source : {GraphCutSource::both, GraphCutSource::mask}) {
    params.source = source;
    for (const GuardedFrame* mask : {&frame, &narrow, &large}) {
      task.mask = mask->frame();
      EXPECT_EQ(enqueue(), "");
    }
    task.mask = color.frame();
    EXPECT_EQ(enqueue(),
              "invalid mask of 8x6 pixels; expected one channel and sides from 1 to 65535");
    for (const Size size : {Size{0, 6}, {8, 0}, {65536, 6}, {8, 65536}}) {
      task.mask = frame.frame();
      task.mask.width = size.width;
      task.mask.height = size.height;
      EXPECT_EQ(enqueue(), "invalid mask of " + std::to_string(size.width) + "x" +
                               std::to_string(size.height) +
                               " pixels; expected one channel and sides from 1 to 65535");
    }
  }
  params.source = GraphCutSource::image;
  EXPECT_EQ(enqueue(), "") << "source=image ignores the mask";
  uint8_t pixel = 0;
  task.foreground = {&pixel, 8, 6, 8};
  EXPECT_EQ(enqueue(), "");
  task.foreground.width = 7;
  EXPECT_EQ(enqueue(), "the foreground mask must have the size of the frame");
}

TEST(StoredModel, FileWithInvalidBytes_IsRefusedWithTheReason) {
  static constexpr Size kSize{3, 2};
  constexpr size_t kPixels = 6;
  std::vector<std::byte> good(state_bytes(kSize));
  StateHeader header;
  header.width = 3;
  header.height = 2;
  std::memcpy(good.data(), &header, sizeof header);
  const auto words = [](std::vector<std::byte>& state) {
    return reinterpret_cast<uint32_t*>(state.data() + sizeof(StateHeader));
  };
  Model model;
  for (Mode& mode : model.mode) {
    mode.weight = 1;
    mode.var_luma = 1 << 15;
    mode.var_chroma = 1;
  }
  for (size_t i = 0; i < kPixels; ++i) model.store(words(good) + i, kPixels);
  const auto answer = [&](std::span<const std::byte> state, Size size) {
    return error_message_of([&] { checked_header(state, size); });
  };
  EXPECT_EQ(answer(good, kSize), "");
  EXPECT_EQ(checked_header(good, kSize).width, 3);
  EXPECT_EQ(answer(good, {2, 3}),
            "the stored background model is for 3x2 pixels; the frames have 2x3");
  for (const size_t bytes : {size_t{0}, sizeof header - 1, sizeof header, good.size() - 1}) {
    EXPECT_EQ(answer({good.data(), bytes}, kSize), "the stored background model is truncated")
        << bytes;
  }
  std::vector<std::byte> longer = good;
  longer.push_back({});
  EXPECT_EQ(answer(longer, kSize), "the stored background model has extra bytes at its end");
  StateHeader other = header;
  other.magic ^= 1;
  std::memcpy(longer.data(), &other, sizeof other);
  EXPECT_EQ(answer(longer, kSize), "this is not a stored background model");
  other = header;
  other.version = 7;
  std::memcpy(longer.data(), &other, sizeof other);
  EXPECT_EQ(answer(longer, kSize), "the stored background model has version 7; expected version 1");
  // Modes of the first and the last pixel whose variance is 0. Modes without weight are unused.
  for (const size_t i : {size_t{0}, kPixels - 1}) {
    for (Mode& mode : model.mode) {
      for (int32_t Mode::*part : {&Mode::var_luma, &Mode::var_chroma}) {
        const int32_t kept = mode.*part;
        std::vector<std::byte> state = good;
        mode.*part = 0;
        model.store(words(state) + i, kPixels);
        EXPECT_EQ(answer(state, kSize), "the stored background model is damaged");
        mode.weight = 0;
        model.store(words(state) + i, kPixels);
        EXPECT_EQ(answer(state, kSize), "") << "unused mode";
        mode.weight = 1;
        mode.*part = kept;
      }
    }
    std::vector<std::byte> state = good;
    Model().store(words(state) + i, kPixels);
    EXPECT_EQ(answer(state, kSize), "the stored background model is damaged") << "no mode";
  }
}

// ---- pictures of users

TEST(GraphCutPictureProperty, BackgroundOrReplaceImage_EveryFrameFormat_IsConvertedToIt) {
  constexpr Size kSize{5, 3};
  GuardedFrame picture(PixelFormat::bgr, kSize, 2);
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        picture.frame().set_sample(
            c, x, y,
            static_cast<int>(
                regions::hash(static_cast<uint32_t>(x + 5 * y), static_cast<uint32_t>(c)) % 256));
      }
    }
  }
  for (int f = 0; f + 1 < kPixelFormats; ++f) {
    for (const bool full : {true, false}) {
      regions::Setup setup{.in = layout_of(static_cast<PixelFormat>(f)), .size = kSize};
      setup.color = {YuvMatrix::bt709, full};
      const auto colors = background_of(std::as_const(picture).frame(), setup);
      const auto components = replacement_of(std::as_const(picture).frame(), setup);
      ASSERT_EQ(colors.size(), 15u);
      ASSERT_EQ(components.size(), 45u);
      GuardedFrame pixel(setup.in.format, {1, 1}, 0, setup.color);
      for (int y = 0; y < kSize.height; ++y) {
        for (int x = 0; x < kSize.width; ++x) {
          const auto at = static_cast<size_t>(5 * y + x);
          const auto level = [&](int c) {
            return static_cast<uint8_t>(picture.frame().sample(c, x, y));
          };
          int component[3];
          encoder_of(setup.in, setup.color).encode({level(0), level(1), level(2)}, component);
          for (int c = 0; c < setup.in.channels; ++c) {
            pixel.frame().set_sample(c, 0, 0, component[c]);
            ASSERT_EQ(components[static_cast<size_t>(15 * c) + at], component[c])
                << name_of(setup.in.format) << " " << c;
          }
          ASSERT_EQ(colors[at],
                    static_cast<uint32_t>(color_at(std::as_const(pixel).frame(), 0, 0).packed()))
              << name_of(setup.in.format) << " " << at;
        }
      }
    }
  }
}

TEST(GraphCutPictureProperty, ExclusionImage_IsThresholdedAt128AndOtherSizeIsRefused) {
  const regions::Setup setup{.in = layout_of(PixelFormat::nv12), .size = {4, 1}};
  GuardedFrame picture(PixelFormat::gray8, {4, 1});
  const int levels[] = {0, 127, 128, 255};
  for (int x = 0; x < 4; ++x) picture.frame().set_sample(0, x, 0, levels[x]);
  const auto excluded = exclusion_of(std::as_const(picture).frame(), setup);
  EXPECT_EQ(excluded, (std::vector<uint8_t>{0, 0, 1, 1}));
  const auto answers = [&](const ConstFrame& given, const char* text) {
    EXPECT_EQ(error_message_of([&] { exclusion_of(given, setup); }), text);
    EXPECT_EQ(error_message_of([&] { background_of(given, setup); }), text);
    EXPECT_EQ(error_message_of([&] { replacement_of(given, setup); }), text);
  };
  const GuardedFrame tall(PixelFormat::gray8, {4, 2}), labels(PixelFormat::labels32, {4, 1});
  answers(tall.frame(), "the picture has 4x2 pixels; the frames have 4x1");
  answers(labels.frame(), "a label image cannot be used as a picture");
}

}  // namespace
}  // namespace regions::graphcutbg
