// Every member of every record, against what a flood fill and plain sums over the pixels give.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "tests/library/library_case.hpp"

namespace regions::test {
namespace {

// Bright figures on dark ground, in an NV12 picture whose chroma differs from pixel to pixel.
struct Figures {
  std::vector<uint8_t> luma = std::vector<uint8_t>(kWidth * kHeight, 20);
  std::vector<uint8_t> chroma =
      std::vector<uint8_t>(static_cast<size_t>(kWidth + 1) * ((kHeight + 1) / 2));
  RegionsPicture picture = {};

  Figures() {
    const char* const rows[] = {"......#....#", ".......#..##", "..##...####.", "...#........",
                                "#...........", "###..##..#..", "..#..##.#...", "..####.#...."};
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 12; ++x) {
        // Each sign is 4 x 3 pixels, at (2, 5).
        for (int i = 0; i < 12 && rows[y][x] == '#'; ++i) {
          luma[static_cast<size_t>((5 + 3 * y + i / 4) * kWidth + 2 + 4 * x + i % 4)] =
              static_cast<uint8_t>(150 + 8 * x + y + i);
        }
      }
    }
    for (size_t i = 0; i < chroma.size(); ++i) chroma[i] = static_cast<uint8_t>(i * 29 % 240);
    picture.format = "NV12";
    picture.width = kWidth;
    picture.height = kHeight;
    picture.plane[0] = luma.data();
    picture.plane[1] = chroma.data();
    picture.pitch[0] = kWidth;
    picture.pitch[1] = kWidth + 1;
  }
  bool is_bright(int x, int y) const {
    return x >= 0 && y >= 0 && x < kWidth && y < kHeight && luma[at(x, y)] >= 126;
  }
  static size_t at(int x, int y) { return static_cast<size_t>(y * kWidth + x); }
};

void join(const Figures& figures, std::vector<uint32_t>& labels, int x, int y, uint32_t label) {
  if (!figures.is_bright(x, y) || labels[Figures::at(x, y)]) return;
  labels[Figures::at(x, y)] = label;
  for (int i = 0; i < 9; ++i) join(figures, labels, x + i % 3 - 1, y + i / 3 - 1, label);
}

TEST(LibraryRecords, RegionsAreWhatAFloodFillFinds) {
  Figures figures;
  std::vector<uint32_t> expected(kWidth * kHeight), labels(kWidth * kHeight, 77);
  std::vector<RegionsRegion> regions;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      if (!figures.is_bright(x, y)) continue;
      if (!expected[Figures::at(x, y)]) {
        const auto label = static_cast<uint32_t>(regions.size() + 1);
        join(figures, expected, x, y, label);
        RegionsRegion& first = regions.emplace_back();
        first.id = first.track = label;
        first.first_x = first.left = first.right = x;
        first.first_y = first.top = first.bottom = y;
      }
      RegionsRegion& region = regions[expected[Figures::at(x, y)] - 1];
      region.left = std::min(region.left, x);
      region.right = std::max(region.right, x);
      region.bottom = y;
      ++region.area;
      region.sum_x += static_cast<uint64_t>(x);
      region.sum_y += static_cast<uint64_t>(y);
      const auto pair = static_cast<size_t>(y / 2 * (kWidth + 1) + x / 2 * 2);
      region.sum_value[0] += figures.luma[Figures::at(x, y)];
      region.sum_value[1] += figures.chroma[pair];
      region.sum_value[2] += figures.chroma[pair + 1];
    }
  }
  ASSERT_GT(regions.size(), 2u);
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  std::vector<RegionsRegion> found(regions.size() + 1);
  RegionsFrame frame = REGIONS_FRAME_INIT;
  frame.in = figures.picture;
  frame.labels = picture("U32_LE", labels);
  frame.regions = found.data();
  frame.capacity = static_cast<uint32_t>(found.size());
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(labels, expected);
  ASSERT_EQ(frame.count, regions.size());
  EXPECT_EQ(frame.total, regions.size());
  for (size_t i = 0; i < regions.size(); ++i) {
    const RegionsRegion &a = found[i], &b = regions[i];
#define EXPECT_MEMBER(name) EXPECT_EQ(a.name, b.name) << "of region " << b.id
    EXPECT_MEMBER(id);
    EXPECT_MEMBER(track);
    EXPECT_MEMBER(first_x);
    EXPECT_MEMBER(first_y);
    EXPECT_MEMBER(left);
    EXPECT_MEMBER(top);
    EXPECT_MEMBER(right);
    EXPECT_MEMBER(bottom);
    EXPECT_MEMBER(first_z);
    EXPECT_MEMBER(front);
    EXPECT_MEMBER(back);
    EXPECT_MEMBER(layer);
    EXPECT_MEMBER(area);
    EXPECT_MEMBER(sum_x);
    EXPECT_MEMBER(sum_y);
    EXPECT_MEMBER(sum_z);
    EXPECT_MEMBER(sum_value[0]);
    EXPECT_MEMBER(sum_value[1]);
    EXPECT_MEMBER(sum_value[2]);
  }
}

// Rows may come from the bottom up, and with bytes between them.
TEST(LibraryRecords, RowsLieAsThePitchSays) {
  Figures figures;
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "labels"), REGIONS_OK);
  const auto labels_of = [&](bool upside_down) {
    std::vector<uint32_t> labels(kWidth * kHeight);
    std::vector<uint16_t> out(static_cast<size_t>(kHeight) * (kWidth + 3), 9);
    RegionsFrame frame = REGIONS_FRAME_INIT;
    frame.in = figures.picture;
    frame.labels = picture("U32_LE", labels);
    frame.out = picture("GRAY16_LE", out);
    frame.out.pitch[0] = 2 * (kWidth + 3);
    if (upside_down) {
      frame.labels.plane[0] = labels.data() + static_cast<ptrdiff_t>(kHeight - 1) * kWidth;
      frame.labels.pitch[0] = -frame.labels.pitch[0];
    }
    EXPECT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth + 3; ++x) {
        const auto row = static_cast<size_t>(upside_down ? kHeight - 1 - y : y);
        const uint32_t label = x < kWidth ? labels[row * kWidth + static_cast<size_t>(x)] : 9;
        EXPECT_EQ(out[static_cast<size_t>(y * (kWidth + 3) + x)], label) << x << ", " << y;
      }
    }
    return labels;
  };
  const std::vector<uint32_t> upright = labels_of(false), turned = labels_of(true);
  for (size_t y = 0; y < kHeight; ++y) {
    EXPECT_TRUE(std::equal(upright.begin() + static_cast<ptrdiff_t>(y * kWidth),
                           upright.begin() + static_cast<ptrdiff_t>((y + 1) * kWidth),
                           turned.begin() + static_cast<ptrdiff_t>((kHeight - 1 - y) * kWidth)))
        << "row " << y;
  }
}

// 2 L + 28, a + 128, b + 128 of sRGB under D65, see IEC 61966-2-1 and CIE 15.
std::array<double, 3> stored_lab(double red, double green, double blue) {
  const auto linear = [](double level) {
    const double v = level / 255;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  const double r = linear(red), g = linear(green), b = linear(blue);
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16 / 116.0; };
  const double fx = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505),
               fy = f(0.2126 * r + 0.7152 * g + 0.0722 * b),
               fz = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.0890);
  return {2 * (116 * fy - 16) + 28, 500 * (fx - fy) + 128, 200 * (fy - fz) + 128};
}

TEST(LibraryRecords, MomentsAndBordersAreThoseOfTheLabels) {
  constexpr int kBand = 11;  // pixels: three bands of colours below one another
  const std::array<uint8_t, 3> colors[] = {{200, 40, 30}, {20, 180, 60}, {30, 60, 190}, {9, 9, 9}};
  std::vector<uint8_t> pixels;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const auto& color = colors[y / kBand];
      pixels.insert(pixels.end(), color.begin(), color.end());
    }
  }
  const Filter filter = open("slicsuperpixel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  ASSERT_EQ(regions_set(filter.get(), "region-size", "11"), REGIONS_OK);
  constexpr uint32_t kMax = 60;
  std::vector<uint32_t> labels(kWidth * kHeight);
  RegionsRegion regions[kMax];
  RegionsMoments moments[kMax];
  RegionsBorder borders[3 * kMax];
  RegionsFrame frame = REGIONS_FRAME_INIT;
  frame.in = picture("RGB", pixels, 3);
  frame.labels = picture("U32_LE", labels);
  frame.regions = regions;
  frame.capacity = kMax;
  frame.moments = moments;
  frame.borders = borders;
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  ASSERT_GT(frame.count, 10u);
  ASSERT_EQ(frame.count, frame.total);
  struct Sums {
    uint64_t area, x, xx, xy, yy, values[3];
    double lab[3];
  };
  std::vector<Sums> sums(frame.count + 1);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> touching;
  for (size_t y = 0; y < kHeight; ++y) {
    for (size_t x = 0; x < kWidth; ++x) {
      const size_t i = y * kWidth + x;
      ASSERT_TRUE(labels[i] >= 1 && labels[i] <= frame.count) << labels[i];
      Sums& s = sums[labels[i]];
      const auto& color = colors[y / kBand];
      const std::array<double, 3> lab = stored_lab(color[0], color[1], color[2]);
      ++s.area;
      s.x += x;
      s.xx += x * x;
      s.xy += x * y;
      s.yy += y * y;
      for (size_t c = 0; c < 3; ++c) {
        s.values[c] += color[c];
        s.lab[c] += lab[c];
      }
      for (const size_t next : {x + 1 < kWidth ? i + 1 : i, y + 1 < kHeight ? i + kWidth : i}) {
        if (labels[i] != labels[next]) ++touching[std::minmax(labels[i], labels[next])];
      }
    }
  }
  for (uint32_t i = 0; i < frame.count; ++i) {
    const Sums& s = sums[i + 1];
    EXPECT_EQ(regions[i].id, i + 1);
    EXPECT_EQ(regions[i].area, s.area) << i;
    EXPECT_EQ(regions[i].sum_x, s.x) << i;
    EXPECT_EQ(moments[i].sum_xx, s.xx) << i;
    EXPECT_EQ(moments[i].sum_xy, s.xy) << i;
    EXPECT_EQ(moments[i].sum_yy, s.yy) << i;
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(regions[i].sum_value[c], s.values[c]) << i;
      EXPECT_NEAR(static_cast<double>(moments[i].sum_lab[c]) / static_cast<double>(s.area),
                  s.lab[c] / static_cast<double>(s.area), 1.0)
          << i << " component " << c;
    }
  }
  ASSERT_EQ(frame.border_count, touching.size());
  const RegionsBorder* border = borders;
  for (const auto& [pair, length] : touching) {
    EXPECT_EQ(border->first, pair.first);
    EXPECT_EQ(border->second, pair.second);
    EXPECT_EQ(border->length, length) << pair.first << "-" << pair.second;
    ++border;
  }
  // Of fewer regions, the borders between those that are set.
  frame.capacity = 7;
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(frame.count, 7u);
  uint32_t among = 0;
  for (const auto& [pair, length] : touching) among += pair.second <= 7;
  EXPECT_EQ(frame.border_count, among);
  EXPECT_EQ(borders[among - 1].second, 7u);
}

// Of more regions than a table can have, the first are drawn.
TEST(LibraryRecords, DrawsAsManyAsATableHolds) {
  constexpr uint32_t kMax = 1 << 16;
  const Filter filter = open("regionoverlay");
  ASSERT_EQ(regions_set(filter.get(), "style", "boxes"), REGIONS_OK);
  std::vector<uint8_t> pixels(kWidth * kHeight, 20);
  std::vector<RegionsRegion> regions(kMax + 1);
  for (RegionsRegion& region : regions) region.track = region.id = 1;
  const auto put = [&](RegionsRegion& region, int x) {
    region.left = x;
    region.right = x + 4;
    region.top = region.bottom = 10;
  };
  put(regions[kMax - 1], 10);
  put(regions[kMax], 30);
  RegionsFrame frame = REGIONS_FRAME_INIT;
  frame.in = frame.out = picture("GRAY8", pixels);
  frame.attached = regions.data();
  frame.attached_count = kMax + 1;
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  EXPECT_NE(pixels[10 * kWidth + 12], 20) << "the last of 65536";
  EXPECT_EQ(pixels[10 * kWidth + 32], 20) << "one more";
  frame.attached_count = 0;
  pixels.assign(pixels.size(), 20);
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(pixels, std::vector<uint8_t>(pixels.size(), 20)) << "none";
}

}  // namespace
}  // namespace regions::test
