// What is refused, and in which words: every call, every member of a frame, for every algorithm.
#include "tests/library/kinds.hpp"

namespace regions::test {
namespace {

using Frame = RegionsFrame&;

void expect_refused(RegionsStatus status, const std::string& why) {
  EXPECT_EQ(status, REGIONS_ERROR_INPUT) << why;
  EXPECT_EQ(regions_error(), why);
}

TEST(LibraryRefusals, NullIsNamed) {
  const Filter filter = open("cclabel");
  Labelled l;
  expect_refused(regions_set(nullptr, "depth", "1"), "the filter is null");
  expect_refused(regions_set(filter.get(), nullptr, "1"), "the property's name is null");
  expect_refused(regions_set(filter.get(), "depth", nullptr), "the value is null");
  expect_refused(regions_process(nullptr, &l.frame), "the filter is null");
  expect_refused(regions_process(filter.get(), nullptr), "the frame is null");
  expect_refused(regions_reset(nullptr), "the filter is null");
  regions_close(nullptr);
  for (const auto& [of, name, why] :
       {std::tuple(static_cast<RegionsFilter*>(nullptr), "depth", "the filter is null"),
        std::tuple(filter.get(), static_cast<const char*>(nullptr),
                   "the property's name is null")}) {
    EXPECT_EQ(regions_get(of, name), nullptr);
    EXPECT_STREQ(regions_error(), why);
  }
  EXPECT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
}

// Every value is one that a property of that kind takes, and stays where another one is refused.
TEST(LibraryRefusals, ValuesAreReadAndKept) {
  for (const auto& [algorithm, property, first, value, refused, why] :
       {std::tuple("cclabel", "threshold", "0.5", "0.125", "1.5",
                   "threshold is 1.5; it must be in 0..1"),
        std::tuple("cclabel", "min-area", "0", "17", "-1",
                   "min-area is -1; it must be in 0..4294836225"),
        std::tuple("cclabel", "track", "false", "true", "perhaps", ""),
        std::tuple("cclabel", "output", "overlay", "mask", "masks", ""),
        std::tuple("cclabel", "style", "boxes+outlines+ids", "fill", "circles", ""),
        std::tuple("cclabel", "seeds", "<>", "<3,4>", "<3,", ""),
        std::tuple("graphcutbg", "color", "", "0xFF102030", "red", ""),
        std::tuple("slicsuperpixel", "region-size", "16", "512", "513",
                   "region-size is 513; it must be in 2..512"),
        std::tuple("regionoverlay", "thickness", "2", "64", "0",
                   "thickness is 0; it must be in 1..64")}) {
    const Filter filter = open(algorithm);
    const std::string where = std::string(algorithm) + " " + property;
    if (*first) {
      EXPECT_STREQ(regions_get(filter.get(), property), first) << where;
    }
    EXPECT_EQ(regions_set(filter.get(), property, value), REGIONS_OK) << regions_error();
    const std::string kept = regions_get(filter.get(), property);
    if (*first && algorithm != std::string("graphcutbg")) {
      EXPECT_EQ(kept, value) << where;
    }
    EXPECT_EQ(regions_set(filter.get(), property, refused), REGIONS_ERROR_INPUT) << where;
    if (*why) {
      EXPECT_STREQ(regions_error(), why);
    }
    EXPECT_NE(std::string(regions_error()).find(property), std::string::npos) << regions_error();
    EXPECT_EQ(regions_get(filter.get(), property), kept) << where;
  }
}

TEST(LibraryRefusals, FilesAreForTheElements) {
  const Filter filter = open("graphcutbg");
  for (const std::string name :
       {"model-location", "background-image", "exclusion-image", "replace-image"}) {
    expect_refused(regions_set(filter.get(), name.c_str(), "a.png"),
                   name + " names a file, which the elements read, not the library");
    EXPECT_STREQ(regions_get(filter.get(), name.c_str()), "");
  }
  expect_refused(regions_set(filter.get(), "preset", "motion"), "preset is for the elements");
  EXPECT_STREQ(regions_get(filter.get(), "preset"), "none");
}

TEST(LibraryRefusals, NameThePictureThatLacksAFormat) {
  const Filter filter = open("graphcutbg");
  std::vector<uint8_t> bytes(kWidth * kHeight);
  const std::pair<const char*, RegionsPicture RegionsFrame::*> members[] = {
      {"in", &RegionsFrame::in},
      {"mask", &RegionsFrame::mask},
      {"out", &RegionsFrame::out},
      {"labels", &RegionsFrame::labels},
      {"foreground", &RegionsFrame::foreground}};
  for (const auto& [name, member] : members) {
    RegionsFrame frame = REGIONS_FRAME_INIT;
    frame.in = picture("GRAY8", bytes);
    frame.*member = picture("GRAY8", bytes);
    (frame.*member).format = nullptr;
    expect_refused(regions_process(filter.get(), &frame), std::string(name) + " has no format");
  }
}

// Of each algorithm, what its frames may ask for.
TEST(LibraryRefusals, EachAlgorithmGivesWhatItHas) {
  for (const KnownAlgorithm& known : kAlgorithms) {
    const Gives gives = gives_of(known.name);
    const Filter filter = open(known.name);
    std::vector<uint8_t> in = rectangles(), foreground(kWidth * kHeight), out(kWidth * kHeight);
    std::vector<uint32_t> labels(kWidth * kHeight);
    std::vector<RegionsRegion> regions(100);
    std::vector<RegionsMoments> moments(100);
    std::vector<RegionsBorder> borders(300);
    std::vector<RegionsRun> runs(100);
    const auto expect = [&](bool given, const char* why, auto ask) {
      RegionsFrame frame = REGIONS_FRAME_INIT;
      frame.in = picture("GRAY8", in);
      frame.out = picture("GRAY8", out);
      ask(frame);
      const RegionsStatus status = regions_process(filter.get(), &frame);
      if (given) {
        EXPECT_EQ(status, REGIONS_OK) << gives.algorithm << ": " << regions_error();
      } else {
        expect_refused(status, why);
      }
      return frame;
    };
    const char* const no_regions = "this algorithm gives neither labels nor regions";
    const char* const no_moments = "this algorithm gives neither moments nor borders";
    expect(true, "", [](Frame) {});
    expect(gives.regions, no_regions, [&](Frame f) { f.labels = picture("U32_LE", labels); });
    const RegionsFrame counted = expect(gives.regions, no_regions, [&](Frame f) {
      f.regions = regions.data();
      f.capacity = 100;
    });
    EXPECT_EQ(counted.count > 0, gives.regions) << gives.algorithm;
    expect(gives.foreground, "this algorithm gives no foreground",
           [&](Frame f) { f.foreground = picture("GRAY8", foreground); });
    expect(gives.moments, no_moments, [&](Frame f) { f.moments = moments.data(); });
    expect(gives.moments, no_moments, [&](Frame f) { f.borders = borders.data(); });
    expect(gives.runs, "this algorithm gives no runs", [&](Frame f) {
      f.runs = runs.data();
      f.run_capacity = 100;
    });
  }
}

TEST(LibraryRefusals, EveryMemberOfAFrame) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "labels"), REGIONS_OK);
  std::vector<uint8_t> wide(kWidth * kHeight * 4);
  std::vector<uint16_t> out(kWidth * kHeight);
  RegionsRun run;
  const auto expect = [&](const std::string& why, auto spoil) {
    Labelled l;
    l.frame.out = picture("GRAY16_LE", out);
    spoil(l.frame);
    const RegionsStatus status = regions_process(filter.get(), &l.frame);
    if (why.empty()) {
      EXPECT_EQ(status, REGIONS_OK) << regions_error();
    } else {
      expect_refused(status, why);
    }
  };
  const auto size_of = [](const std::string& name, const std::string& size) {
    return name + " is " + size + ", must be 1x1 to 65535x65535";
  };
  const auto misfit = [](const std::string& name) {
    return name + " is not as large as the picture that comes in";
  };
  expect("", [](Frame) {});
  expect("no picture comes in", [](Frame f) { f.in = {}; });
  expect("no picture comes in", [](Frame f) { f.in.plane[0] = nullptr; });
  expect("in has no format", [](Frame f) { f.in.format = nullptr; });
  expect("out has no format", [](Frame f) { f.out.format = nullptr; });
  expect("labels has no format", [](Frame f) { f.labels.format = nullptr; });
  expect("unknown pixel format: YV12", [](Frame f) { f.in.format = "YV12"; });
  expect("unknown pixel format: gray8", [](Frame f) { f.in.format = "gray8"; });
  expect(size_of("in", "0x37"), [](Frame f) { f.in.width = 0; });
  expect(size_of("in", "53x0"), [](Frame f) { f.in.height = 0; });
  expect(size_of("in", "-1x37"), [](Frame f) { f.in.width = -1; });
  expect(size_of("in", "65536x37"), [](Frame f) { f.in.width = 65536; });
  expect(size_of("in", "53x65536"), [](Frame f) { f.in.height = 65536; });
  expect(size_of("labels", "53x65536"), [](Frame f) { f.labels.height = 65536; });
  expect("rows of plane 0 of in overlap", [](Frame f) { f.in.width = 65535; });
  expect("rows of plane 0 of in overlap", [](Frame f) { f.in.pitch[0] = kWidth - 1; });
  expect("rows of plane 0 of in overlap", [](Frame f) { f.in.pitch[0] = 1 - kWidth; });
  expect(misfit("out"), [](Frame f) { f.out.width = kWidth - 1; });
  expect(misfit("out"), [](Frame f) { f.out.height = kHeight - 1; });
  expect(misfit("labels"), [](Frame f) { f.labels.width = kWidth - 1; });
  expect(misfit("labels"), [](Frame f) { f.labels.height = kHeight - 1; });
  expect("labels must be U32_LE", [](Frame f) { f.labels.format = "GRAY16_LE"; });
  expect("mask must be GRAY8, GRAY16_LE or U32_LE",
         [&](Frame f) { f.mask = picture("RGBx", wide, 4); });
  expect("a capacity, but no regions", [](Frame f) { f.regions = nullptr; });
  expect("", [](Frame f) { f.capacity = 0; });
  expect("runs and run_capacity go together", [&](Frame f) { f.runs = &run; });
  expect("runs and run_capacity go together", [](Frame f) { f.run_capacity = 1; });
  expect("", [&](Frame f) {
    f.runs = &run;
    f.run_capacity = 1;
  });
  expect("regions to draw are null", [](Frame f) { f.attached_count = 1; });
  expect("", [](Frame f) { f.attached = f.regions; });
  expect("a picture on a GPU, but the filter is on the CPU",
         [](Frame f) { f.in.memory = REGIONS_MEMORY_CUDA; });
  expect("a picture on a GPU, but the filter is on the CPU",
         [](Frame f) { f.out.memory = REGIONS_MEMORY_CUDA; });
  expect("a picture on a GPU, but the filter is on the CPU",
         [](Frame f) { f.labels.memory = REGIONS_MEMORY_CUDA; });
  expect("a picture on a GPU, but the filter is on the CPU", [&](Frame f) {
    f.mask = picture("GRAY8", wide);
    f.mask.memory = REGIONS_MEMORY_CUDA;
  });
  expect("out begins where in does, but is not the same picture", [](Frame f) {
    f.out = f.in;
    f.out.format = "GRAY16_LE";
    f.out.width = f.in.width / 2;
    f.out.pitch[0] -= 1;
  });
  expect("frame.size is 8, but a frame of libregions " + std::string(regions_version()) + " has " +
             std::to_string(sizeof(RegionsFrame)) + " bytes",
         [](Frame f) { f.size = 8; });
  expect("frame.size is 0: begin with RegionsFrame frame = REGIONS_FRAME_INIT",
         [](Frame f) { f.size = 0; });
  expect("", [](Frame) {});

  const Filter cut = open("graphcutbg");
  ASSERT_EQ(regions_set(cut.get(), "output", "none"), REGIONS_OK);
  RegionsFrame frame = REGIONS_FRAME_INIT;
  std::vector<uint8_t> in = rectangles();
  frame.in = picture("GRAY8", in);
  frame.foreground = picture("GRAY8", wide);
  frame.foreground.width = 9;
  expect_refused(regions_process(cut.get(), &frame), misfit("foreground"));
  frame.foreground = picture("RGBx", wide, 4);
  expect_refused(regions_process(cut.get(), &frame), "foreground must be GRAY8");
}

// A picture of one pixel, and the widest and the highest there are.
TEST(LibraryRefusals, TheLeastAndTheLargestSides) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  std::vector<uint8_t> pixels(65535, 200);
  for (const auto& [width, height] :
       {std::pair(1, 1), std::pair(65535, 1), std::pair(1, 65535), std::pair(2, 1)}) {
    RegionsFrame frame = REGIONS_FRAME_INIT;
    frame.in.format = "GRAY8";
    frame.in.width = width;
    frame.in.height = height;
    frame.in.plane[0] = pixels.data();
    frame.in.pitch[0] = width;
    RegionsRegion region;
    frame.regions = &region;
    frame.capacity = 1;
    ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
    EXPECT_EQ(frame.total, 1u);
    EXPECT_EQ(region.right, width - 1);
    EXPECT_EQ(region.bottom, height - 1);
    EXPECT_EQ(region.area, static_cast<uint64_t>(width) * static_cast<uint64_t>(height));
  }
}

TEST(LibraryRefusals, SettingsOfVolumesAreTheElements) {
  const Filter filter = open("cclabel");
  const auto expect = [&](const char* property, const char* value, const std::string& why) {
    const std::string before = regions_get(filter.get(), property);
    EXPECT_EQ(regions_set(filter.get(), property, value), REGIONS_OK) << regions_error();
    Labelled l;
    if (why.empty()) {
      EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
    } else {
      expect_refused(regions_process(filter.get(), &l.frame), why);
      EXPECT_EQ(regions_set(filter.get(), property, before.c_str()), REGIONS_OK);
      EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
    }
  };
  expect("output", "none", "");
  expect("depth", "3",
         "the library takes single pictures: depth needs sliding=true, volumes that leave when "
         "they are full are for the element");
  expect("thresholds", "<0.2,0.5>", "lists of thresholds are for the element");
  expect("sliding", "true",
         "sliding=true requires a depth of at least 2, no thresholds and label-background=false");
  expect("method", "sweep", "method=sweep runs on CUDA only; the CPU supports method=union-find");
  expect("connectivity", "26", "connectivity 26 is for volumes; with depth=1 it must be 4 or 8");
}

}  // namespace
}  // namespace regions::test
