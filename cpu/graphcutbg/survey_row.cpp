// Surveys a row of pixels on the CPU. Computes the same sums as survey_pixel() for each pixel of
// the grid. Most loops have no branches, because the compiler turns such loops into SIMD code.
#include <algorithm>
#include <cstdlib>

#include "cpu/graphcutbg/graphcutbg.hpp"

namespace regions::graphcutbg {
namespace {

constexpr int kMaxPixels = 64;  // maximum number of surveyed pixels in a SurveyedPixels

// Packed colours of consecutive surveyed pixels of a row.
struct SurveyedPixels {
  int count = 0;
  uint32_t frame[kMaxPixels];
  uint32_t right[kMaxPixels], down[kMaxPixels];  // of the neighbours
  uint32_t background[kMaxPixels];
  uint32_t background_right[kMaxPixels];

  void add(const ModelArrays& arrays, size_t at, size_t right_at, size_t down_at) {
    frame[count] = arrays.current[at];
    right[count] = arrays.current[right_at];
    down[count] = arrays.current[down_at];
    background[count] = arrays.background[at];
    background_right[count++] = arrays.background[right_at];
  }
};

REGIONS_INLINE int without_noise(int size) { return size > ZoneSums::kMaxNoise ? size : 0; }

REGIONS_INLINE int luma_of(uint32_t color) { return static_cast<int>(color & 255); }

// The difference of a colour from grey.
REGIONS_INLINE int chroma_of(uint32_t color) {
  return std::abs(static_cast<int>(color >> 8 & 255) - 128) +
         std::abs(static_cast<int>(color >> 16 & 255) - 128);
}

REGIONS_CLONES
void add_to_zone(const SurveyedPixels& pixels, ZoneSums& zone) {
  int frame_edges = 0, background_edges = 0, shared_edges = 0;
  int frame_colors = 0, background_colors = 0;
  for (int i = 0; i < pixels.count; ++i) {
    const int now = luma_of(pixels.right[i]) - luma_of(pixels.frame[i]);
    const int was = luma_of(pixels.background_right[i]) - luma_of(pixels.background[i]);
    const int shared = std::min(std::abs(now), std::abs(was));
    frame_edges += without_noise(std::abs(now));
    background_edges += without_noise(std::abs(was));
    shared_edges += (now ^ was) < 0 ? 0 : without_noise(shared);
    frame_colors += without_noise(chroma_of(pixels.frame[i]));
    background_colors += without_noise(chroma_of(pixels.background[i]));
  }
  zone.frame_edges += static_cast<uint32_t>(frame_edges);
  zone.background_edges += static_cast<uint32_t>(background_edges);
  zone.shared_edges += static_cast<uint32_t>(shared_edges);
  zone.frame_colors += static_cast<uint32_t>(frame_colors);
  zone.background_colors += static_cast<uint32_t>(background_colors);
}

// Adds chroma and contrasts. Pixels at the picture's edges are their own neighbours, with a
// contrast of zero.
REGIONS_CLONES
void add_colors(const SurveyedPixels& pixels, SurveySums& sums) {
  int contrast = 0, squared_chroma = 0, u_sum = 0, v_sum = 0;
  for (int i = 0; i < pixels.count; ++i) {
    const Color color = Color::unpacked(static_cast<int32_t>(pixels.frame[i]));
    contrast += squared_contrast(color, Color::unpacked(static_cast<int32_t>(pixels.right[i]))) +
                squared_contrast(color, Color::unpacked(static_cast<int32_t>(pixels.down[i])));
    u_sum += color.u;
    v_sum += color.v;
    squared_chroma += color.u * color.u + color.v * color.v;
  }
  sums.pixels += static_cast<uint32_t>(pixels.count);
  sums.squared_contrast += static_cast<uint64_t>(contrast);
  sums.squared_chroma += static_cast<uint64_t>(squared_chroma);
  sums.chroma[0] += static_cast<uint32_t>(u_sum);
  sums.chroma[1] += static_cast<uint32_t>(v_sum);
}

}  // namespace

void survey_row(const ModelArrays& arrays, const Scene& scene, const SurveyGrid& grid, int y,
                Survey& survey) {
  const bool has_background = scene.age > 0;
  const size_t row = arrays.at(0, y);
  const size_t down = y + 1 < arrays.height ? arrays.at(0, 1) : 0;
  const auto last = static_cast<size_t>(arrays.width) - 1;
  uint32_t* const bins = survey.profiles.frame[0];
  uint32_t* const background_bins = survey.profiles.background[0];
  const auto tally = [&](int half, int bin) { ++survey.change[half][bin]; };
  SurveySums sums;
  uint32_t frame_luma = 0, background_luma = 0;
  int i = 0;
  for (int column = 0; column < SurveyGrid::kZones; ++column) {
    ZoneSums& zone = survey.zones[grid.zone_of(0, y) + column];
    while (i * grid.step < grid.zone_end(column)) {
      SurveyedPixels pixels;
      for (; i * grid.step < grid.zone_end(column) && pixels.count < kMaxPixels; ++i) {
        const size_t x = static_cast<size_t>(i) * static_cast<size_t>(grid.step);
        const size_t at = row + x;
        pixels.add(arrays, at, row + std::min(x + 1, last), at + down);
        const Color color = Color::load(arrays.current + at);
        sums.digest += digest_of(color, at);
        sums.pairs += (x < last ? 1 : 0) + (down ? 1 : 0);
        if (!has_background) continue;
        const Color background = Color::load(arrays.background + at);
        survey_light(sums, color, background, scene.split, tally);
        const auto now = static_cast<uint32_t>(color.y), was = static_cast<uint32_t>(background.y);
        bins[i >> grid.bin_shift[0]] += now;
        background_bins[i >> grid.bin_shift[0]] += was;
        frame_luma += now;
        background_luma += was;
      }
      add_colors(pixels, sums);
      if (has_background) add_to_zone(pixels, zone);
    }
  }
  survey.sums.add(sums);
  survey.profiles.frame[1][grid.bin_of(1, y)] += frame_luma;
  survey.profiles.background[1][grid.bin_of(1, y)] += background_luma;
}

}  // namespace regions::graphcutbg
