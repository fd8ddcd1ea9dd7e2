// The model and the energy of single pixels against the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/graphcutbg/energy.hpp"
#include "core/graphcutbg/model_update.hpp"
#include "tests/graphcutbg/oracle.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions::graphcutbg {
namespace {

// What the frames of a pixel look like: two colours that take turns, noise, a passing thing.
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

TEST(GraphCutModel, FollowsTheFormulas) {
  const GraphCutBgParams params;
  const ScenePlan scene_plan = scene_plan_of(params);
  for (uint32_t pixel = 0; pixel < 40; ++pixel) {
    Model model;
    oracle::Mixture expected(params.var_threshold);
    Scene scene;
    for (uint32_t i = 0; i < 150; ++i) {
      Survey survey;
      const FramePlan frame = plan_frame(scene, survey, medians_of(survey), scene_plan);
      const Color color = color_of_frame(pixel, i);
      const std::array<double, 3> plain = {double(color.y), double(color.u), double(color.v)};
      if (i > 0) {
        const double wanted = expected.evidence(plain) * kUnitsPerNat;
        int32_t match;
        ASSERT_NEAR(evidence(model, color, frame.model, match), wanted, 8 + 0.03 * std::abs(wanted))
            << "pixel " << pixel << ", frame " << i;
      }
      const bool foreground = i >= 60 && i < 68;
      update_modes(model, color, foreground, frame.model, static_cast<int32_t>(pixel));
      expected.learn(plain, foreground, frame.model.alpha / 65536.0, params.learning_rate);
      const Mode heaviest = model.heaviest();
      const oracle::Gaussian* most = &expected.modes()[0];
      for (const auto& mode : expected.modes()) {
        if (mode.share > most->share) most = &mode;
      }
      ASSERT_NEAR(heaviest.weight / 65535.0, most->share, 0.02) << pixel << ", frame " << i;
    }
  }
}

TEST(GraphCutModel, WhatACutMissesIsNotBackgroundAtOnce) {
  const GraphCutBgParams params;
  const ScenePlan scene_plan = scene_plan_of(params);
  const Color grass{90, 110, 120}, person{110, 125, 112};
  Model model;
  Scene scene;
  int32_t match;
  for (int i = 0; i < 110; ++i) {
    const Survey survey;
    const FramePlan frame = plan_frame(scene, survey, medians_of(survey), scene_plan);
    const bool passes = i >= 100;
    if (passes) {
      EXPECT_GT(evidence(model, person, frame.model, match), frame.model.threshold / 2) << i;
    }
    update_modes(model, passes ? person : grass, false, frame.model, 7);
  }
}

TEST(GraphCutModel, StoresWhatItLoads) {
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

TEST(GraphCutEnergy, LinksFollowTheFormula) {
  GraphCutBgParams params;
  params.lambda = 10;
  params.sigma = 12;
  const EnergyPlan plan = energy_plan_of(params, {8, 8});
  const uint32_t scale = scene_plan_of(params).contrast_scale;
  for (int contrast = 0; contrast < 1500; contrast += 7) {
    for (const bool diagonal : {false, true}) {
      const double wanted = oracle::link(10, 12, contrast, diagonal) * kUnitsPerNat;
      // A step of the table is 1/16 of the exponent.
      const int step = ContrastScale::scaled(scale).step_of(contrast);
      EXPECT_NEAR(plan.link_for(step, diagonal), wanted, 2 + wanted / 15) << contrast;
    }
  }
}

TEST(GraphCutEnergy, FitsIntoSixteenBits) {
  GraphCutBgParams params;
  params.lambda = 32;
  const EnergyPlan plan = energy_plan_of(params, {8, 8});
  const int all = 4 * plan.link_for(0, false) + 4 * plan.link_for(0, true);
  EXPECT_LT(all, kCertainWeight);
  EXPECT_LT(all + kCertainWeight, 32768);
  params.var_threshold = 200;
  EXPECT_LT(all + scene_plan_of(params).threshold, 32768);
}

TEST(GraphCutEnergy, ShadowsLoseEvidenceButOtherHuesAndTexturesKeepIt) {
  GraphCutBgParams params;
  params.shadow_darkest = 0.3;
  const EnergyPlan plan = energy_plan_of(params, {8, 8});
  Mode grass = new_mode({160, 108, 118}, Mode::kFullWeight);
  grass.var_chroma = 16 * 6;
  grass.var_luma = 16 * 8;
  const int strong = 4 * kUnitsPerNat;
  const auto remaining = [&](const Color& now, int error) {
    return suppress_shadow(strong, now, grass, plan, [&](int) { return error; });
  };
  const Color shadow{112, 114, 121};  // 0.7 of it
  EXPECT_LT(remaining(shadow, 0), 0);
  EXPECT_GE(remaining(shadow, 0), -kMaxShadowEvidence);
  EXPECT_LT(remaining(shadow, 40), strong / 2) << "noise";
  EXPECT_EQ(remaining(shadow, 4000), strong) << "another texture";
  EXPECT_EQ(remaining({112, 150, 150}, 0), strong) << "another hue";
  EXPECT_EQ(remaining({200, 108, 118}, 0), strong) << "lighter";
  EXPECT_EQ(remaining({30, 124, 126}, 0), strong) << "too dark";
}

TEST(GraphCutEnergy, ShadowsDimTheTextureAlike) {
  constexpr size_t kSide = 24, kBorder = 12;  // left of it a shadow, right of it a flat thing
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
  double most_in_shadow = 0, in_thing = 0;
  for (int y = 0; y < canvas.height; ++y) {
    for (int x = 0; x < canvas.width; ++x) {
      const auto ux = static_cast<size_t>(x), uy = static_cast<size_t>(y);
      const int ratio = static_cast<int>(now[uy][ux] * 256 / background[uy][ux]);
      const double found = ShadingError{canvas, frame, x, y}(ratio);
      (ux < kBorder ? most_in_shadow : in_thing) =
          ux < kBorder ? std::max(most_in_shadow, found) : in_thing + found;
      if (std::min(ux, uy) < 2 || std::max(ux, uy) + 2 >= kSide) continue;
      const double wanted = oracle::shading_error(now, background, ux, uy);
      EXPECT_NEAR(found, wanted, 16 + 8 * std::sqrt(wanted)) << x << ", " << y;  // 2 levels a pixel
    }
  }
  EXPECT_LE(most_in_shadow, 16) << "up to its border";
  EXPECT_GT(in_thing / static_cast<double>(kSide * (kSide - kBorder)), 400);
}

TEST(GraphCutEnergy, BackgroundThatMovedTwoPixelsCountsForNothing) {
  constexpr int kWidth = 9, kHeight = 7;
  const Color grass{90, 110, 120}, tape{220, 128, 128}, person{40, 160, 110};
  std::vector<uint32_t> now(kWidth * kHeight, grass.packed()), background = now;
  ModelArrays canvas;
  canvas.width = kWidth;
  canvas.height = kHeight;
  canvas.current = now.data();
  canvas.background = background.data();
  for (int x = 0; x < kWidth; ++x) background[canvas.at(x, 2)] = tape.packed();
  FramePlan frame;
  frame.model.threshold = 6 * kUnitsPerNat;
  const Mode mode = new_mode(grass, Mode::kFullWeight);
  constexpr int kStrong = 5 * kUnitsPerNat;
  const auto evidence_of = [&](const Color& color, int y) {
    now[canvas.at(4, y)] = color.packed();
    return suppress_jitter(kStrong, canvas, frame, mode, 4, y);
  };
  EXPECT_EQ(evidence_of(tape, 3), 0);
  EXPECT_EQ(evidence_of(tape, 4), 0);
  EXPECT_EQ(evidence_of(tape, 5), kStrong) << "too far";
  const Color between{155, 119, 124}, beside{155, 170, 124};
  EXPECT_EQ(evidence_of(between, 3), 0) << "moved by a part of a pixel";
  EXPECT_EQ(evidence_of(between, 4), 0);
  EXPECT_EQ(evidence_of(between, 5), kStrong) << "too far";
  EXPECT_EQ(evidence_of(beside, 3), kStrong) << "between in luma alone";
  EXPECT_EQ(evidence_of(person, 3), kStrong) << "no background of that colour";
}

TEST(GraphCutColors, LogarithmsAreNearTheTrueOnes) {
  for (const uint32_t x : {1u, 2u, 3u, 100u, 65535u, 1000000u, 0xFFFFFFFFu}) {
    EXPECT_NEAR(log_units(x), std::log(double(x)) * kUnitsPerNat, 0.07 * kUnitsPerNat) << x;
  }
}

TEST(GraphCutColors, ForegroundColoursGainAndFade) {
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
  EXPECT_EQ(colors->bias[red], 0) << "too little is known";
  for (int i = 0; i < 20; ++i) frame(500, 5000);
  EXPECT_EQ(colors->bias[red], ColorHistograms::kMax);
  EXPECT_EQ(colors->bias[green], -ColorHistograms::kMax);
  for (int i = 0; i < 300; ++i) frame(0, 5000);
  EXPECT_EQ(colors->bias[red], 0) << "forgotten";
}

TEST(GraphCutScene, FindsALineOfLight) {
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

TEST(GraphCutScene, NoiseIsNoLight) {
  Survey survey;
  const auto tally = [&](int half, int bin) { ++survey.change[half][bin]; };
  for (uint32_t i = 0; i < 4000; ++i) {
    const auto was = static_cast<uint8_t>(20 + i % 150);
    const auto now = static_cast<uint8_t>(was + regions::hash(i, 1) % 7 - 3);
    survey_light(survey.sums, {now}, {was}, 95, tally);
  }
  EXPECT_TRUE(light_of(survey.sums, medians_of(survey)).is_unchanged());
}

}  // namespace
}  // namespace regions::graphcutbg
