// One filter, many kinds of frames: each is worked on as by a filter of its own, whatever came
// before.
#include "tests/library/kinds.hpp"

namespace regions::test {
namespace {

// Kinds that differ from the first in one thing.
std::vector<Kind> kinds_for(const Settings& settings) {
  std::vector<Kind> kinds(1);
  const auto add = [&](const char* name, auto change) {
    Kind kind;
    kind.name = name;
    change(kind);
    kinds.push_back(kind);
  };
  add("wider", [](Kind& k) { k.width = 71; });
  add("narrower", [](Kind& k) { k.width = 21; });
  add("higher", [](Kind& k) { k.height = 64; });
  add("lower", [](Kind& k) { k.height = 13; });
  add("another matrix", [](Kind& k) { k.color = REGIONS_COLOR_BT2020; });
  add("another range", [](Kind& k) { k.color = REGIONS_COLOR_BT601_FULL; });
  add("another format", [](Kind& k) { k.in = k.out = PixelFormat::bgra; });
  add("16 bits", [](Kind& k) { k.in = k.out = PixelFormat::gray16; });
  add("a mask of labels", [](Kind& k) { k.mask = PixelFormat::labels32; });
  if (settings.has_borders) add("borders", [](Kind& k) { k.borders = true; });
  if (settings.has_runs) add("runs", [](Kind& k) { k.runs = 3000; });
  if (settings.has_runs) add("few runs", [](Kind& k) { k.runs = 20; });
  return kinds;
}

TEST(LibraryReuse, WhatCameBeforeChangesNothing) {
  for (const Settings& settings : kSettings) {
    const std::vector<Kind> kinds = kinds_for(settings);
    const Left first = left_by(opened(settings).get(), settings.algorithm, kinds[0]);
    ASSERT_EQ(first.status, REGIONS_OK) << regions_error();
    for (size_t i = 1; i < kinds.size(); ++i) {
      const std::string where = settings.algorithm + ", " + kinds[i].name;
      const Left alone = left_by(opened(settings).get(), settings.algorithm, kinds[i]);
      ASSERT_EQ(alone.status, REGIONS_OK) << where << ": " << regions_error();
      const Filter filter = opened(settings);
      EXPECT_EQ(left_by(filter.get(), settings.algorithm, kinds[0]), first) << where;
      EXPECT_EQ(left_by(filter.get(), settings.algorithm, kinds[i]), alone) << where;
      EXPECT_EQ(left_by(filter.get(), settings.algorithm, kinds[0]), first) << where << ", back";
    }
  }
}

// Every setting that changes how a filter is set up shows in what it leaves, also when frames came
// before it.
TEST(LibraryReuse, SettingsReachTheAlgorithm) {
  const Settings cclabel = {"cclabel", {{"threshold", "0.6"}}}, cut = {"graphcutbg", {}},
                 slic = {"slicsuperpixel", {{"region-size", "7"}}};
  for (const auto& [settings, name, value] :
       {std::tuple(cclabel, "connectivity", "4"), std::tuple(cclabel, "max-regions", "2"),
        std::tuple(cclabel, "label-background", "true"), std::tuple(cclabel, "source", "mask"),
        std::tuple(cclabel, "criterion", "equal"), std::tuple(cclabel, "min-area", "20"),
        std::tuple(cclabel, "seeds", "<1,1>"), std::tuple(cclabel, "style", "fill"),
        std::tuple(cut, "neighbours", "8"), std::tuple(cut, "opacity", "0.9"),
        std::tuple(slic, "max-regions", "3"), std::tuple(slic, "superpixels", "9"),
        std::tuple(slic, "variant", "slico"), std::tuple(slic, "output", "mean")}) {
    const std::string where = settings.algorithm + " " + name + "=" + value;
    const Kind kind;
    const std::string algorithm = settings.algorithm;
    const bool cuts = algorithm == "graphcutbg";
    const auto last_of = [&](const Filter& filter) {
      if (cuts) {  // the first frame is background
        EXPECT_EQ(regions_set(filter.get(), "source", "mask"), REGIONS_OK);
      }
      return left_by(filter.get(), algorithm, kind);
    };
    const Filter plain = opened(settings), fresh = opened(settings);
    const Left before = last_of(plain);
    ASSERT_EQ(regions_set(fresh.get(), name, value), REGIONS_OK) << regions_error();
    const Left expected = last_of(fresh);
    EXPECT_EQ(expected.status, REGIONS_OK) << where << ": " << regions_error();
    EXPECT_NE(expected, before) << where;
    ASSERT_EQ(regions_set(plain.get(), name, value), REGIONS_OK) << regions_error();
    if (cuts) regions_reset(plain.get());
    EXPECT_EQ(last_of(plain), expected) << where << " after a frame";
  }
}

// An output that the setting does not write, or one that it lacks, is refused each time; what fits
// works before and after.
TEST(LibraryReuse, OutputsComeAndGo) {
  const Filter filter = open("cclabel");
  Kind none;
  none.has_out = none.has_mask = false;
  Kind labels = none, colors = none;
  labels.has_out = colors.has_out = true;
  labels.out = PixelFormat::gray16;
  colors.out = PixelFormat::bgra;
  const auto expect_refused = [&](const Kind& kind, const char* why) {
    EXPECT_EQ(left_by(filter.get(), "cclabel", kind).status, REGIONS_ERROR_INPUT) << why;
    EXPECT_STREQ(regions_error(), why);
  };
  const Left untouched = [&] {
    EXPECT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
    return left_by(filter.get(), "cclabel", none);
  }();
  EXPECT_EQ(untouched.status, REGIONS_OK);
  for (int time = 0; time < 2; ++time) {
    expect_refused(labels, "output=none writes no picture, but `out` is set");
  }
  EXPECT_EQ(left_by(filter.get(), "cclabel", none), untouched);
  EXPECT_EQ(regions_set(filter.get(), "output", "labels"), REGIONS_OK);
  const Left labelled = left_by(filter.get(), "cclabel", labels);
  EXPECT_EQ(labelled.status, REGIONS_OK);
  for (int time = 0; time < 2; ++time) {
    expect_refused(none,
                   "`output` requires a picture, but `out` is not set; set it or use output=none");
    expect_refused(colors, "`output` supports GRAY16_LE, GRAY8, U32_LE, not BGRA");
  }
  EXPECT_EQ(left_by(filter.get(), "cclabel", labels), labelled);
}

// A region at the left and one above and right of it, so that neither's place in the table is its
// track; then one of them again.
TEST(LibraryReuse, TracksLiveUntilTheFilterBeginsAnew) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  ASSERT_EQ(regions_set(filter.get(), "track", "true"), REGIONS_OK);
  Labelled l;
  const auto show = [&](bool first, bool second) {
    const std::vector<uint8_t> both = rectangles();
    for (size_t i = 0; i < both.size(); ++i) {
      l.in[i] = (both[i] == 200 && !first) || (both[i] == 240 && !second) ? 20 : both[i];
    }
    EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
    return l.regions[l.frame.count - 1].track;
  };
  EXPECT_EQ(show(false, true), 1u);
  EXPECT_EQ(l.regions[0].id, 1u);
  EXPECT_EQ(show(true, true), 1u) << "the one that was there";
  EXPECT_EQ(l.regions[1].id, 2u);
  EXPECT_EQ(l.regions[0].track, 2u) << "the one that came";
  // A setting that acts while playing leaves the past alone; one that does not takes it away.
  ASSERT_EQ(regions_set(filter.get(), "min-area", "2"), REGIONS_OK);
  EXPECT_EQ(show(true, true), 1u);
  ASSERT_EQ(regions_set(filter.get(), "threshold", "7"), REGIONS_ERROR_INPUT);
  EXPECT_EQ(show(true, true), 1u);
  ASSERT_EQ(regions_set(filter.get(), "max-regions", "100"), REGIONS_OK);
  EXPECT_EQ(show(true, true), 4u) << "ids of before mean nothing else";
  EXPECT_EQ(show(false, true), 4u);
  ASSERT_EQ(regions_reset(filter.get()), REGIONS_OK);
  EXPECT_EQ(show(false, true), 1u);
  ASSERT_EQ(regions_set(filter.get(), "track", "false"), REGIONS_OK);
  EXPECT_EQ(show(true, true), 2u) << "its id";
}

}  // namespace
}  // namespace regions::test
