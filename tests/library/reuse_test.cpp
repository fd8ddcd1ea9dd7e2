// One filter, many kinds of frames: each is worked on as by a filter of its own, whatever came
// before, and also after a call that failed.
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>

#include "core/format.hpp"
#include "tests/library/library_case.hpp"

namespace regions::test {
namespace {

using Bytes = std::vector<uint8_t>;

// A frame's pictures and tables.
struct Kind {
  std::string name = "as it is";
  PixelFormat in = PixelFormat::nv12;
  PixelFormat out = PixelFormat::nv12;
  bool has_out = true;
  int width = 52, height = 38;
  RegionsColor color = REGIONS_COLOR_BT601;
  PixelFormat mask = PixelFormat::gray8;
  bool has_mask = true;
  bool borders = false;
  uint32_t runs = 0;
};

// Memory of a picture: blocks of 5 x 3 pixels.
class Pixels {
 public:
  Pixels(PixelFormat format, int width, int height, bool filled) {
    const Layout& layout = layout_of(format);
    picture_.format = name_of(format).data();
    picture_.width = width;
    picture_.height = height;
    for (int p = 0; p < layout.planes; ++p) {
      const size_t row = row_bytes(layout, p, {width, height});
      const auto rows = static_cast<size_t>(row_count(layout, p, {width, height}));
      Bytes& plane = planes_.emplace_back(row * rows);
      for (size_t i = 0; filled && i < plane.size(); ++i) {
        const size_t block = i % row / 5 * 31 + i / row / 3 * 17 + static_cast<size_t>(p) * 7;
        plane[i] = static_cast<uint8_t>(static_cast<uint32_t>(block) * 2654435769u >> 24);
      }
      picture_.plane[p] = plane.data();
      picture_.pitch[p] = static_cast<ptrdiff_t>(row);
    }
  }
  const RegionsPicture& get() const { return picture_; }
  void append_to(Bytes& all) const {
    for (const Bytes& plane : planes_) all.insert(all.end(), plane.begin(), plane.end());
  }

 private:
  std::vector<Bytes> planes_;
  RegionsPicture picture_ = {};
};

// What became of a frame, and all that it leaves.
struct Left {
  RegionsStatus status;
  Bytes bytes;
  bool operator==(const Left&) const = default;
};
Left left_by(RegionsFilter* filter, const std::string& algorithm, const Kind& kind) {
  constexpr uint32_t kMost = 300;
  const Pixels in(kind.in, kind.width, kind.height, true);
  const Pixels out(kind.out, kind.width, kind.height, false);
  const Pixels mask(kind.mask, kind.width, kind.height, true);
  const Pixels labels(PixelFormat::labels32, kind.width, kind.height, false);
  const Pixels foreground(PixelFormat::gray8, kind.width, kind.height, false);
  std::vector<RegionsRegion> regions(kMost);
  std::vector<RegionsBorder> borders(3 * kMost);
  std::vector<RegionsRun> runs(kind.runs);
  RegionsFrame frame = REGIONS_FRAME_INIT;
  frame.in = in.get();
  frame.in.color = kind.color;
  if (kind.has_out) frame.out = out.get();
  if (kind.has_mask) frame.mask = mask.get();
  if (algorithm == "graphcutbg") {
    frame.foreground = foreground.get();
  } else {
    frame.labels = labels.get();
    frame.regions = regions.data();
    frame.capacity = kMost;
  }
  if (kind.borders) frame.borders = borders.data();
  if (kind.runs) frame.runs = runs.data();
  frame.run_capacity = kind.runs;
  frame.count = frame.total = frame.border_count = frame.run_count = frame.runs_truncated = 99;
  Bytes all;
  const RegionsStatus status = regions_process(filter, &frame);
  if (status != REGIONS_OK) {
    for (const uint32_t count :
         {frame.count, frame.total, frame.border_count, frame.run_count, frame.runs_truncated}) {
      EXPECT_EQ(count, 0u) << "of a frame that failed";
    }
    return {status, {}};
  }
  for (const Pixels* picture : {&out, &labels, &foreground}) picture->append_to(all);
  const auto append = [&all](const auto& values) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    all.insert(all.end(), bytes, bytes + values.size() * sizeof values[0]);
  };
  append(regions);
  append(borders);
  append(runs);
  append(std::vector<uint32_t>{frame.count, frame.total, frame.border_count, frame.run_count,
                               frame.runs_truncated});
  return {status, all};
}

struct Settings {
  std::string algorithm;
  std::vector<std::pair<const char*, const char*>> values;
  bool has_borders = false, has_runs = false;
};
const Settings kSettings[] = {
    {"cclabel", {{"style", "boxes+outlines"}, {"min-area", "4"}}, false, true},
    {"cclabel", {{"source", "mask"}, {"fill-holes", "9"}}, false, true},
    {"graphcutbg", {{"source", "both"}}, false, false},
    {"slicsuperpixel", {{"region-size", "7"}, {"output", "mean"}}, true, false}};

Filter opened(const Settings& settings) {
  Filter filter = open(settings.algorithm.c_str());
  for (const auto& [name, value] : settings.values) {
    EXPECT_EQ(regions_set(filter.get(), name, value), REGIONS_OK) << regions_error();
  }
  return filter;
}

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
    const bool cuts = settings.algorithm == "graphcutbg";
    const auto last_of = [&](const Filter& filter) {
      if (cuts) {  // the first frame is background
        EXPECT_EQ(regions_set(filter.get(), "source", "mask"), REGIONS_OK);
      }
      return left_by(filter.get(), settings.algorithm, kind);
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
    expect_refused(labels, "there is a picture `out`, but output=none writes none");
  }
  EXPECT_EQ(left_by(filter.get(), "cclabel", none), untouched);
  EXPECT_EQ(regions_set(filter.get(), "output", "labels"), REGIONS_OK);
  const Left labelled = left_by(filter.get(), "cclabel", labels);
  EXPECT_EQ(labelled.status, REGIONS_OK);
  for (int time = 0; time < 2; ++time) {
    expect_refused(none,
                   "`output` asks for a picture, but there is no `out`; output=none does without");
    expect_refused(colors, "`output` gives GRAY16_LE, GRAY8, U32_LE, not BGRA");
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

// A 64-bit build may reserve 17 GB that are not there; a limit stands in for a small machine.
class LittleMemory {
 public:
  explicit LittleMemory(rlim_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    rlimit little = before_;
    little.rlim_cur = std::min(before_.rlim_max, bytes);
    setrlimit(RLIMIT_AS, &little);
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  rlimit before_;
};

TEST(LibraryReuse, MemoryThatRunsOutIsNamed) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "shadow memory takes more address space than the limit leaves";
#endif
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  Labelled l;
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
  {
    const LittleMemory limit(rlim_t{3} << 30);
    RegionsFrame large = REGIONS_FRAME_INIT;
    large.in = l.frame.in;
    large.in.width = large.in.height = large.in.pitch[0] = 65535;  // refused before it is read
    EXPECT_EQ(regions_process(filter.get(), &large), REGIONS_ERROR_MEMORY) << regions_error();
    EXPECT_EQ(std::string(regions_error()).find("no memory for "), 0u) << regions_error();
    EXPECT_EQ(regions_process(filter.get(), &large), REGIONS_ERROR_MEMORY) << "again";
    ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
    EXPECT_EQ(l.frame.total, 2u);
  }
  // What the C++ library cannot take is told, too.
  const std::string name(size_t{200} << 20, 'x');
  RegionsStatus status = REGIONS_OK;
  {
    const LittleMemory limit(1 << 20);
    status = regions_set(filter.get(), name.c_str(), "1");
  }
  EXPECT_EQ(status, REGIONS_ERROR_MEMORY);
  EXPECT_STREQ(regions_error(), "no memory");
  RegionsFilter* none = nullptr;
  {
    const LittleMemory limit(1 << 20);
    none = regions_open("cclabel", "cpu", 500);  // threads need stacks
  }
  EXPECT_EQ(none, nullptr);
  EXPECT_STREQ(regions_error(), "Resource temporarily unavailable");
}

// What a filter is opened with holds for all.
void ask_for_faults(const std::string& text) {
  setenv("REGIONS_FAULTS", text.c_str(), 1);
  open("regionoverlay");
  unsetenv("REGIONS_FAULTS");
}

// Every step that may fail does so in turn; the frame says so, and the next one is right.
TEST(LibraryReuse, AFrameAfterAFailedOne) {
  for (const Settings& settings : kSettings) {
    const Left expected = left_by(opened(settings).get(), settings.algorithm, Kind());
    for (const auto& [kind, status] :
         {std::pair("allocation", REGIONS_ERROR_MEMORY), std::pair("launch", REGIONS_ERROR_DEVICE),
          std::pair("work", REGIONS_ERROR_DEVICE)}) {
      bool reached = true;
      for (int step = 1; reached; ++step) {
        const std::string where =
            settings.algorithm + ", " + kind + "=" + std::to_string(step) + ": ";
        const Filter filter = opened(settings);
        ask_for_faults(std::string(kind) + "=" + std::to_string(step));
        const Left left = left_by(filter.get(), settings.algorithm, Kind());
        const std::string text = regions_error();
        ask_for_faults("");
        reached = left.status != REGIONS_OK;
        EXPECT_TRUE(reached || step > 1) << where << "nothing failed";
        ASSERT_LT(step, 200) << where;
        if (reached) {
          EXPECT_EQ(left.status, status) << where << text;
          EXPECT_EQ(text, "injected failure of " + std::string(kind)) << where;
          // Whether the frame that failed has taught the background is not told.
          if (settings.algorithm == "graphcutbg") regions_reset(filter.get());
          EXPECT_EQ(left_by(filter.get(), settings.algorithm, Kind()), expected) << where;
        } else {
          EXPECT_EQ(left, expected) << where;
        }
      }
    }
  }
  setenv("REGIONS_FAULTS", "nonsense=1", 1);
  EXPECT_EQ(regions_open("cclabel", "cpu", 1), nullptr);
  EXPECT_NE(std::string(regions_error()).find("'nonsense=1'"), std::string::npos);
  unsetenv("REGIONS_FAULTS");
}

}  // namespace
}  // namespace regions::test
