// Frames through the C interface: labels, records, moments, borders, runs, windows, masks and
// overlays, against a flood fill and sums over pixels.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "tests/library/frame_settings.hpp"

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

TEST(CLibraryFrames, Cclabel_Nv12Picture_LabelsAndRecordsEqualAFloodFill) {
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

// Rows may have padding or be stored from bottom to top.
TEST(CLibraryFrames, LabelsPicture_PositiveOrNegativePitch_RowsHaveTheSameLabels) {
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

TEST(CLibraryFrames, MomentsAndBorders_Superpixels_EqualThoseCountedFromTheLabels) {
  constexpr int kBand = 11;  // height of a band of one colour in pixels
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
  // With a smaller capacity, only borders between recorded regions are returned.
  frame.capacity = 7;
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(frame.count, 7u);
  uint32_t among = 0;
  for (const auto& [pair, length] : touching) among += pair.second <= 7;
  EXPECT_EQ(frame.border_count, among);
  EXPECT_EQ(borders[among - 1].second, 7u);
}

TEST(CLibraryFrames, Regionoverlay_65537Regions_DrawsOnlyTheFirst65536) {
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
  EXPECT_NE(pixels[10 * kWidth + 12], 20) << "region 65536";
  EXPECT_EQ(pixels[10 * kWidth + 32], 20) << "region 65537";
  frame.attached_count = 0;
  pixels.assign(pixels.size(), 20);
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(pixels, std::vector<uint8_t>(pixels.size(), 20)) << "no region";
}

TEST(CLibraryFrames, SourceMask_TwoRectangles_AreTwoRegionsAndOutputMaskEqualsTheMask) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "source", "mask"), REGIONS_OK);
  ASSERT_EQ(regions_set(filter.get(), "output", "mask"), REGIONS_OK);
  std::vector<uint8_t> black(kWidth * kHeight), mask = rectangles(), out(kWidth * kHeight, 9);
  for (uint8_t& value : mask) value = value > 100 ? 255 : 0;
  RegionsFrame frame = REGIONS_FRAME_INIT;
  frame.in = picture("GRAY8", black);
  frame.mask = picture("GRAY8", mask);
  frame.out = picture("GRAY8", out);
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(frame.total, 2u);
  EXPECT_EQ(frame.count, 0u);
  EXPECT_EQ(out, mask);
}

TEST(CLibraryFrames, Graphcutbg_RectangleThatAppearsLater_IsForeground) {
  const Filter filter = open("graphcutbg");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  std::vector<uint8_t> empty(kWidth * kHeight, 20), picture_now = rectangles(),
                                                    foreground(kWidth * kHeight, 9);
  RegionsFrame frame = REGIONS_FRAME_INIT;
  frame.in = picture("GRAY8", empty);
  frame.foreground = picture("GRAY8", foreground);
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  }
  EXPECT_EQ(foreground, std::vector<uint8_t>(kWidth * kHeight, 0));
  frame.in = picture("GRAY8", picture_now);
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK);
  EXPECT_EQ(foreground[14 * kWidth + 25], 255);
  EXPECT_EQ(foreground[30 * kWidth + 45], 0);
}

TEST(CLibraryFrames, MoreLabelsThanGray8Holds_OverflowDecidesIfTheFrameIsRefused) {
  std::vector<uint8_t> dots(kWidth * kHeight), out(kWidth * kHeight);
  for (size_t y = 0; y < kHeight; y += 2) {
    for (size_t x = 0; x < kWidth; x += 2) dots[y * kWidth + x] = 255;
  }
  const auto process = [&](const char* algorithm,
                           std::initializer_list<std::pair<const char*, const char*>> settings) {
    const Filter filter = open(algorithm);
    EXPECT_EQ(regions_set(filter.get(), "output", "labels"), REGIONS_OK);
    for (const auto& [name, value] : settings) {
      EXPECT_EQ(regions_set(filter.get(), name, value), REGIONS_OK) << regions_error();
    }
    RegionsFrame frame = REGIONS_FRAME_INIT;
    frame.in = picture("GRAY8", dots);
    frame.out = picture("GRAY8", out);
    return std::string(regions_process(filter.get(), &frame) == REGIONS_OK ? "" : regions_error());
  };
  EXPECT_EQ(process("cclabel", {{"overflow", "drop-smallest"}}), "");
  EXPECT_EQ(process("cclabel", {{"overflow", "saturate"}}), "");
  EXPECT_EQ(process("cclabel", {{"overflow", "error"}}),
            "513 regions, but GRAY8 holds labels up to 255");
  EXPECT_EQ(
      process("cclabel", {{"sliding", "true"}, {"depth", "2"}, {"connectivity", "6"}}),
      "513 regions, but GRAY8 holds labels up to 255; sliding=true requires overflow=saturate "
      "or overflow=error");
  EXPECT_NE(process("slicsuperpixel", {{"region-size", "2"}, {"color-space", "luma"}})
                .find("superpixels, but GRAY8 holds labels up to 255"),
            std::string::npos);
  EXPECT_EQ(process("slicsuperpixel", {{"region-size", "16"}, {"color-space", "luma"}}), "");
}

TEST(CLibraryFrames, OverlayInPlace_ChangesOnlyTheEdgeOfTheBox) {
  const Filter filter = open("regionoverlay");
  ASSERT_EQ(regions_set(filter.get(), "style", "boxes"), REGIONS_OK);
  std::vector<uint8_t> pixels(kWidth * kHeight, 20);
  RegionsRegion region = {};
  region.id = region.track = 1;
  region.left = 10;
  region.top = 10;
  region.right = 30;
  region.bottom = 30;
  RegionsFrame frame = REGIONS_FRAME_INIT;
  frame.in = frame.out = picture("GRAY8", pixels);
  frame.attached = &region;
  frame.attached_count = 1;
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  EXPECT_NE(pixels[10 * kWidth + 20], 20);  // the upper side of the box
  EXPECT_EQ(pixels[20 * kWidth + 20], 20);  // inside
  EXPECT_EQ(pixels[5 * kWidth + 20], 20);   // outside
}

TEST(CLibraryFrames, OverlayInOtherPicture_PixelsEqualThoseDrawnInPlace) {
  const Filter filter = open("cclabel");
  Labelled l;
  const std::vector<uint8_t> before = l.in;
  std::vector<uint8_t> elsewhere(kWidth * kHeight);
  l.frame.out = picture("GRAY8", elsewhere);
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(l.in, before);
  std::vector<uint8_t> in_place = before;
  Labelled again;
  again.frame.in = again.frame.out = picture("GRAY8", in_place);
  ASSERT_EQ(regions_process(filter.get(), &again.frame), REGIONS_OK);
  EXPECT_EQ(elsewhere, in_place);
}

// The first rectangle has four rows of six pixels, the second one five rows of ten.
TEST(CLibraryFrames, Runs_TwoRectangles_AreTheRowsOfTheRectanglesUpToTheCapacity) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  Labelled l;
  RegionsRun runs[9] = {};
  l.frame.runs = runs;
  l.frame.run_capacity = 9;
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
  ASSERT_EQ(l.frame.run_count, 9u);
  EXPECT_EQ(l.frame.runs_truncated, 0u);
  for (uint32_t i = 0; i < 9; ++i) {
    const bool first = i < 4;
    EXPECT_EQ(runs[i].id, first ? 1u : 2u);
    EXPECT_EQ(runs[i].x, first ? 3u : 20u);
    EXPECT_EQ(runs[i].y, first ? 2 + i : 8 + i);
    EXPECT_EQ(runs[i].width, first ? 6u : 10u);
  }
  l.frame.run_capacity = 5;
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(l.frame.run_count, 5u);
  EXPECT_EQ(l.frame.runs_truncated, 1u);
  // Only runs of recorded regions are returned.
  l.frame.run_capacity = 9;
  l.frame.capacity = 1;
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(l.frame.run_count, 4u);
  l.frame.run_capacity = 0;
  EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_ERROR_INPUT);
  const Filter other = open("slicsuperpixel");
  l.frame.run_capacity = 9;
  EXPECT_EQ(regions_process(other.get(), &l.frame), REGIONS_ERROR_INPUT);
}

// Two posts and a bar that joins them in one frame. The posts are one region while the window of
// three frames contains the bar.
void join_windows(const Filter& filter) {
  for (const auto& [name, value] :
       {std::pair("output", "none"), std::pair("depth", "3"), std::pair("connectivity", "26")}) {
    ASSERT_EQ(regions_set(filter.get(), name, value), REGIONS_OK);
  }
  Labelled l;
  const auto show = [&](bool with_bar) {
    std::ranges::fill(l.in, uint8_t{20});
    for (int x = 3; x < 30; ++x) {
      const bool is_post = x < 6 || x >= 27;
      for (int y = is_post ? 2 : 8; y < (with_bar || is_post ? 9 : 8); ++y) {
        l.in[static_cast<size_t>(y * kWidth + x)] = 200;
      }
    }
    EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
    return l.frame.total;
  };
  EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_ERROR_INPUT);
  EXPECT_NE(std::string(regions_error()).find("sliding=true"), std::string::npos);
  ASSERT_EQ(regions_set(filter.get(), "sliding", "true"), REGIONS_OK);
  ASSERT_EQ(show(true), 1u);
  EXPECT_EQ(l.regions[0].area, 2u * 3 * 7 + 21);
  const uint32_t track = l.regions[0].track;
  for (int frame = 0; frame < 2; ++frame) {
    ASSERT_EQ(show(false), 1u);
    EXPECT_EQ(l.regions[0].area, 2u * 3 * 7);
    EXPECT_EQ(l.regions[0].track, track);
    EXPECT_EQ(l.labels[2 * kWidth + 3], 1u);
    EXPECT_EQ(l.labels[2 * kWidth + 27], 1u);
  }
  ASSERT_EQ(show(false), 2u);
  EXPECT_EQ(l.labels[2 * kWidth + 27], 2u);
  EXPECT_TRUE((l.regions[0].track == track) != (l.regions[1].track == track));
  // A reset clears the window.
  ASSERT_EQ(show(true), 1u);
  ASSERT_EQ(regions_reset(filter.get()), REGIONS_OK);
  EXPECT_EQ(show(false), 2u);
}

TEST(CLibraryFrames, SlidingWindow_RegionsJoinedInAnEarlierFrame_AreOneRegion) {
  join_windows(open("cclabel"));
}

TEST(CLibraryFrames, SlidingWindow_MasksJoinedInAnEarlierFrame_AreOneRegion) {
  const Filter filter = open("cclabel");
  for (const auto& [name, value] :
       {std::pair("output", "none"), std::pair("depth", "2"), std::pair("connectivity", "26"),
        std::pair("sliding", "true"), std::pair("source", "mask")}) {
    ASSERT_EQ(regions_set(filter.get(), name, value), REGIONS_OK);
  }
  Labelled l;
  std::vector<uint8_t> mask = rectangles(), dark(l.in.size(), 20);
  for (uint8_t& value : mask) value = value > 20;
  l.frame.in = picture("GRAY8", dark);
  const std::vector<uint8_t> both = mask;
  std::vector<uint8_t> wide(mask.size());  // a bar over both
  for (size_t i = 0; i < wide.size(); ++i)
    wide[i] = both[i] || (i / kWidth == 5) || i / kWidth == 12;
  for (size_t y = 5; y < 13; ++y) wide[y * kWidth] = 1;
  const auto show = [&](std::vector<uint8_t>& shown) {
    l.frame.mask = picture("GRAY8", shown);
    EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
    return l.frame.total;
  };
  EXPECT_EQ(show(mask), 2u);
  EXPECT_EQ(show(wide), 1u);
  EXPECT_EQ(show(mask), 1u) << "the window contains the bar";
  EXPECT_EQ(show(mask), 2u);
}

TEST(CLibraryCuda, SlidingWindow_RegionsJoinedInAnEarlierFrame_AreOneRegion) {
  const Filter filter(regions_open("cclabel", "cuda", 0));
  if (!filter) GTEST_SKIP() << "no CUDA device: " << regions_error();
  join_windows(filter);
}

TEST(CLibraryCuda, EveryAlgorithm_OutputsEqualCpu) {
  const Filter cuda(regions_open("cclabel", "cuda", 0));
  if (!cuda) GTEST_SKIP() << "no CUDA device: " << regions_error();
  const auto run = [](const char* algorithm, const char* output, const char* device) {
    const Filter filter = open(algorithm, device);
    if (*output) {
      EXPECT_EQ(regions_set(filter.get(), "output", output), REGIONS_OK);
    }
    Labelled l;
    std::vector<uint8_t> out(kWidth * kHeight), foreground(kWidth * kHeight);
    const OutputKinds produced = output_kinds_of(algorithm);
    if (!produced.regions) {
      l.frame.labels = {};
      l.frame.capacity = 0;
    }
    if (produced.foreground) l.frame.foreground = picture("GRAY8", foreground);
    if (std::strcmp(output, "none") != 0) l.frame.out = picture("GRAY8", out);
    for (int i = 0; i < 3; ++i) {
      l.in[static_cast<size_t>(i)] = 200;
      EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
    }
    out.insert(out.end(), foreground.begin(), foreground.end());
    const auto* bytes = reinterpret_cast<const uint8_t*>(l.labels.data());
    out.insert(out.end(), bytes, bytes + l.labels.size() * sizeof(uint32_t));
    out.push_back(static_cast<uint8_t>(l.frame.count));
    return out;
  };
  std::vector<std::pair<const char*, const char*>> cases = {
      {"cclabel", "none"}, {"graphcutbg", "none"}, {"slicsuperpixel", "mean"}};
  for (const KnownAlgorithm& known : kAlgorithms) cases.emplace_back(known.name, "");
  for (const auto& [algorithm, output] : cases) {
    EXPECT_EQ(run(algorithm, output, "cuda"), run(algorithm, output, "cpu")) << algorithm;
  }
}

}  // namespace
}  // namespace regions::test
