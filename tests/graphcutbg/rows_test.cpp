// The vector code for rows of pixels against the code for single pixels that all backends share.
// The results are equal in every bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "cpu/graphcutbg/graphcutbg.hpp"
#include "cpu/graphcutbg/simd_lanes.hpp"
#include "tests/pictures/guarded.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions::graphcutbg {
namespace {

// The memory of a frame, filled with any values that a stored model can contain.
struct RandomModel : ModelState {
  std::vector<uint8_t> excluded;

  RandomModel(Size picture, Neighbours wanted, uint32_t seed, bool is_grey) {
    allocate(picture, wanted, 1);
    const size_t pixels = picture.area();
    const auto any_of = [&](uint32_t i, uint32_t plane) { return regions::hash(i, plane, seed); };
    const bool is_near = seed % 3 == 0;  // nearly every colour matches a mode
    for (uint32_t i = 0; i < pixels; ++i) {
      background[i] = any_of(i, 1);  // with any history
      if (is_near) background[i] |= LabelHistory::kStill << 25;
      // Most pixels are similar to the background.
      const uint32_t near = (background[i] & 0xFFFFFF) ^ (any_of(i, 2) & 0x030307);
      current[i] = any_of(i, 3) % (is_near ? 99 : 4) == 0 ? any_of(i, 4) & 0xFFFFFF : near;
      if (is_grey) {
        for (uint32_t* word : {&background[i], &current[i]})
          *word = (*word & ~0xFFFF00u) | 0x808000;
      }
      excluded.push_back(any_of(i / 3, 5) % 5 == 0);
      for (int k = 0; k < Model::kModes; ++k) {
        const bool usual = is_near && k == static_cast<int>(i / 50 % 3);
        if (!usual && any_of(i, 10 + static_cast<uint32_t>(k)) % 3 == 0)
          continue;  // an unused mode
        Mode mode = new_mode(Color::load(&background[i]), 0);
        const auto part = [&](uint32_t n) {
          return static_cast<int32_t>(any_of(i, 20 + 10 * static_cast<uint32_t>(k) + n));
        };
        mode.weight = 1 + (part(0) & 0x7FFF) * (part(1) & 1 ? 2 : 1) / 2 * 2;
        if (any_of(i, 8) % 4 == 0) mode.weight = 16384;  // equal weights
        for (int c = 0; c < 3; ++c) {
          const bool far = !usual && any_of(i, 90) % 7 == 0;
          mode.mean[c] = far ? part(2 + static_cast<uint32_t>(c)) & 0xFFFF
                             : clamp(mode.mean[c] + part(2) % 1024, 0, 65535);
          if (is_grey && c > 0) mode.mean[c] = 128 << Mode::kMeanShift;
        }
        const int32_t least = usual ? 400 : 1;
        mode.var_luma = std::max(least, 1 + (part(5) & (part(6) % 5 == 0 ? 0xFFFE : 0x7FF)));
        mode.var_chroma = std::max(least, 1 + (part(7) & (part(8) % 5 == 0 ? 0xFFFE : 0x3FF)));
        mode.store(
            &model[static_cast<size_t>(k) * Mode::kWords * ModelArrays::plane_stride(pixels) + i],
            ModelArrays::plane_stride(pixels));
      }
    }
    for (uint32_t i = 0; i < cells.count(); ++i) {
      sparkle[i] = static_cast<int32_t>(any_of(i, 7) % 1000);
      calm[i] = static_cast<int32_t>(any_of(i, 13) % kFullCalm);
      outline[i] = {any_of(i, 11) % 9999, any_of(i, 12) % 9999};
    }
    // The comparison finds weights that were not computed.
    for (auto* links : weights()) std::fill(links->begin(), links->end(), -1);
    for (uint32_t bin = 0; bin < ColorHistograms::kBins; ++bin) {
      colors[0].bias[bin] = static_cast<int32_t>(any_of(bin, 6) % 200) - 100;
    }
  }
  // The sums of the picture's cells.
  std::vector<uint32_t> cell_sums() const {
    std::vector<uint32_t> sums;
    for (const OutlineSums& each : outline)
      sums.insert(sums.end(), {each.in_picture, each.in_model});
    for (const auto* counts : {&sparks[0], &sparks[1], &excused[0], &excused[1]}) {
      sums.insert(sums.end(), counts->begin(), counts->end());
    }
    return sums;
  }
  std::array<std::vector<int32_t>*, 5> weights() {
    return {&terminal, &right, &down, &down_right, &down_left};
  }
};

// The parameters and the frame of a round, derived from its number.
struct Round {
  GraphCutBgParams params;
  FramePlan frame;
  bool excludes, eight, has_mask, is_grey;

  explicit Round(uint32_t number) {
    const auto one_in = [&](uint32_t n, uint32_t what) {
      return regions::hash(number, what, 3) % n == 0;
    };
    excludes = one_in(3, 1);
    eight = one_in(2, 2);
    has_mask = one_in(3, 3);
    is_grey = one_in(3, 16);
    params.foreground_colors = one_in(3, 4);
    params.var_threshold = one_in(3, 5) ? 200 : 12;
    params.learning_rate = one_in(3, 6) ? 1 : 0.02;
    params.history = one_in(3, 7) ? 1 : 500;
    params.sigma = one_in(2, 8) ? 3 : 200;
    params.lambda = 32;
    if (has_mask) params.source = one_in(2, 9) ? GraphCutSource::mask : GraphCutSource::both;
    Scene scene;
    scene.age = one_in(5, 11) ? 0 : 200;
    scene.frame = number;
    SceneWatch watch;
    frame = plan_frame(scene, watch, Survey(), SceneMeasures(), frame_plan_of(params));
    frame.colorfulness = one_in(3, 10) ? 0 : one_in(3, 15) ? 100 : 256;
    adapt_to_grey(frame);
    if (one_in(3, 12)) frame.light = {5000, -3000};
    if (one_in(3, 13)) frame.light = {2500, 9000};
    if (frame.starts) frame.light = {};
    if (one_in(9, 14)) frame.learns = frame.starts;
  }
};

TEST(GraphCutRows, EveryVectorLength_WeightsAndModelEqualThePerPixelReference) {
  const Size sizes[] = {{1, 1}, {3, 5}, {8, 3}, {9, 4}, {40, 6}, {67, 9}};
  for (const RowPasses& passes : row_passes()) {
    for (uint32_t number = 0; number < 240; ++number) {
      const Size size = sizes[number % 6];
      Round round(number);
      const Neighbours neighbours = round.eight ? Neighbours::eight : Neighbours::four;
      RandomModel single(size, neighbours, number, round.is_grey);
      RandomModel rows(size, neighbours, number, round.is_grey);
      const ModelArrays one = single.arrays(round.excludes ? single.excluded.data() : nullptr);
      const ModelArrays all = rows.arrays(round.excludes ? rows.excluded.data() : nullptr);
      const EnergyPlan energy = energy_plan_of(round.params, size, size);
      GuardedFrame mask(PixelFormat::gray8, size);
      std::vector<uint8_t> foreground(size.area());
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
          const uint32_t value = regions::hash(number, static_cast<uint32_t>(all.at(x, y)));
          mask.frame().set_sample(0, x, y, value % 256);
          foreground[all.at(x, y)] = value % 1024 < 300 ? 255 : 0;
        }
      }
      // Code for frames without chroma gives the same results.
      FramePlan frame = round.frame;
      frame.has_chroma = !round.is_grey;
      const ConstFrame given = round.has_mask ? ConstFrame(mask.frame()) : ConstFrame();
      const auto add = [](uint32_t* sum, uint32_t amount) { *sum += amount; };
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
          compute_weights(one, given, round.frame, energy, x, y, add);
        }
        passes.compute_terminals(all, given, frame, energy, y);
        passes.compute_links(all, frame, energy, y, 0, size.width, all.links_of_row(y));
      }
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
          update_model(one, round.frame, energy, foreground[one.at(x, y)] != 0, x, y, add);
        }
        passes.update_model(all, frame, &foreground[all.at(0, y)], y);
      }
      const std::string name =
          "round " + std::to_string(number) + ", " + std::to_string(passes.lanes) + " lanes";
      for (size_t k = 0; k < 5; ++k) {
        ASSERT_EQ(*single.weights()[k], *rows.weights()[k]) << k << ", " << name;
      }
      ASSERT_EQ(single.model, rows.model) << name;
      ASSERT_EQ(single.background, rows.background) << name;
      ASSERT_EQ(single.cell_sums(), rows.cell_sums()) << name;
    }
  }
}

// The survey of the surveyed pixels of row y, one by one.
void survey_pixels(const ModelArrays& arrays, const Scene& scene, const SurveyGrid& grid, int y,
                   Survey& survey) {
  const auto tally = [&](int half, int bin) { ++survey.change[half][bin]; };
  const auto color = [&](int x, int y2) { return Color::load(arrays.current + arrays.at(x, y2)); };
  for (int x = 0; x < arrays.width; x += grid.step) {
    const auto add_luma = [&](uint32_t now, uint32_t was) {
      const int bins[] = {grid.bin_of(0, x), grid.bin_of(1, y)};
      for (int axis = 0; axis < 2; ++axis) {
        survey.profiles.frame[axis][bins[axis]] += now;
        survey.profiles.background[axis][bins[axis]] += was;
      }
    };
    const auto add_to_zone = [&](const auto&... colors) {
      survey.zones[grid.zone_of(x, y)].add_pixel(colors...,
                                                 [](uint32_t* sum, uint32_t n) { *sum += n; });
    };
    survey_pixel(arrays, scene, x, y, survey.sums, tally, add_luma, add_to_zone, color);
  }
}

// The sums of a survey without its tables.
std::vector<uint64_t> sums_of(const Survey& survey) {
  const SurveySums& sums = survey.sums;
  return {sums.squared_contrast, sums.pairs,   sums.count[0],      sums.count[1],
          sums.luma[0],          sums.luma[1], sums.pixels,        sums.chroma[0],
          sums.chroma[1],        sums.digest,  sums.squared_chroma};
}

TEST(GraphCutRows, SurveyRow_RandomModels_EqualsThePerPixelReference) {
  const Size sizes[] = {{1, 1}, {2, 1}, {3, 5}, {9, 4}, {131, 6}, {700, 4}, {8192, 8}};
  for (uint32_t number = 0; number < 42; ++number) {
    const Size size = sizes[number % 7];
    RandomModel model(size, Neighbours::four, number, false);
    const ModelArrays arrays = model.arrays(nullptr);
    const auto grid = SurveyGrid::of(size.width, size.height);
    Scene scene;
    scene.age = number % 5 == 0 ? 0 : 200;
    scene.split = 100;
    Survey rows, pixels;
    for (int y = 0; y < size.height; y += grid.step) {
      survey_row(arrays, scene, grid, y, rows);
      survey_pixels(arrays, scene, grid, y, pixels);
    }
    ASSERT_EQ(sums_of(rows), sums_of(pixels)) << number;
    ASSERT_EQ(std::memcmp(rows.change, pixels.change, sizeof rows.change), 0) << number;
    ASSERT_EQ(std::memcmp(&rows.profiles, &pixels.profiles, sizeof rows.profiles), 0) << number;
    ASSERT_EQ(std::memcmp(rows.zones, pixels.zones, sizeof rows.zones), 0) << number;
  }
}

// Dividends and quotients exceed the precision of floats.
TEST(GraphCutRows, VectorDivision_RandomOperands_IsExact) {
  for (uint32_t i = 0; i < 200000; ++i) {
    uint32_t a[4], b[4], ratio[4];
    for (uint32_t lane = 0; lane < 4; ++lane) {
      const uint32_t bits = regions::hash(i, lane, 1) % 16;
      b[lane] = 1 + (regions::hash(i, lane, 2) & ((2u << bits) - 1)) % 65535;
      const uint32_t most = std::min(0x7FFFFFFFu / b[lane], (1u << 22) - 1);
      const uint32_t about = regions::hash(i, lane, 3) % most;
      a[lane] = about * b[lane] +
                (lane % 2 ? b[lane] - 1 : 0);  // an exact multiple, or almost the next multiple
    }
    Lanes<4> top, bottom;
    read_words(a, top);
    read_words(b, bottom);
    write_words(ratio, quotient(top, bottom));
    for (size_t lane = 0; lane < 4; ++lane) {
      ASSERT_EQ(ratio[lane], a[lane] / b[lane]) << a[lane] << " / " << b[lane];
    }
    for (uint32_t& dividend : a) dividend = std::min(dividend, 1u << 24);
    read_words(a, top);
    write_words(ratio, small_quotient(top, bottom));
    for (size_t lane = 0; lane < 4; ++lane) {
      ASSERT_EQ(ratio[lane], a[lane] / b[lane]) << a[lane] << " / " << b[lane];
    }
  }
}

TEST(GraphCutRows, ReadRow_EveryFormat_ColorsEqualThePerPixelReference) {
  for (int f = 0; f < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    if (format == PixelFormat::labels32) continue;
    for (const bool full : {true, false}) {
      for (const Size size : {Size{1, 1}, Size{2, 2}, Size{33, 5}}) {
        GuardedFrame picture(format, size, 3, {YuvMatrix::bt601, full});
        const Frame frame = picture.frame();
        for (int y = 0; y < size.height; ++y) {
          for (int x = 0; x < size.width; ++x) {
            for (int c = 0; c < frame.layout.channels; ++c) {
              const uint32_t value = regions::hash(
                  static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(c));
              frame.set_sample(c, x, y, static_cast<int>(value) & frame.layout.max_value());
            }
          }
        }
        std::vector<uint32_t> row(static_cast<size_t>(size.width));
        for (int y = 0; y < size.height; ++y) {
          read_row(frame, y, row.data());
          for (int x = 0; x < size.width; ++x) {
            ASSERT_EQ(row[static_cast<size_t>(x)],
                      static_cast<uint32_t>(color_at(frame, x, y).packed()))
                << name_of(format) << " " << x << ", " << y;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace regions::graphcutbg
