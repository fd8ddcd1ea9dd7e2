// The C interface: binary layout, opening of filters, texts that it returns, and error messages for
// each call and each member of a frame.
#include <cstdio>
#include <thread>

#include "tests/library/frame_settings.hpp"

namespace regions::test {
namespace {

// ---- binary layout. Programs keep the structures and numbers of the regions.h with which they
// were compiled.

struct Member {
  const char* name;
  size_t offset, bytes;
};
#define MEMBER(type, name) \
  { #type "." #name, offsetof(type, name), sizeof(type::name) }

TEST(CLibraryAbi, StructMembers_KeepOffsetAndSizeOfReleases) {
  const std::pair<Member, Member> table[] = {
      {MEMBER(RegionsPicture, format), {"", 0, 8}},
      {MEMBER(RegionsPicture, width), {"", 8, 4}},
      {MEMBER(RegionsPicture, height), {"", 12, 4}},
      {MEMBER(RegionsPicture, plane), {"", 16, 24}},
      {MEMBER(RegionsPicture, pitch), {"", 40, 24}},
      {MEMBER(RegionsPicture, memory), {"", 64, 4}},
      {MEMBER(RegionsPicture, color), {"", 68, 4}},
      {MEMBER(RegionsRegion, id), {"", 0, 4}},
      {MEMBER(RegionsRegion, track), {"", 4, 4}},
      {MEMBER(RegionsRegion, first_x), {"", 8, 4}},
      {MEMBER(RegionsRegion, first_y), {"", 12, 4}},
      {MEMBER(RegionsRegion, left), {"", 16, 4}},
      {MEMBER(RegionsRegion, top), {"", 20, 4}},
      {MEMBER(RegionsRegion, right), {"", 24, 4}},
      {MEMBER(RegionsRegion, bottom), {"", 28, 4}},
      {MEMBER(RegionsRegion, first_z), {"", 32, 4}},
      {MEMBER(RegionsRegion, front), {"", 36, 4}},
      {MEMBER(RegionsRegion, back), {"", 40, 4}},
      {MEMBER(RegionsRegion, layer), {"", 44, 4}},
      {MEMBER(RegionsRegion, area), {"", 48, 8}},
      {MEMBER(RegionsRegion, sum_x), {"", 56, 8}},
      {MEMBER(RegionsRegion, sum_y), {"", 64, 8}},
      {MEMBER(RegionsRegion, sum_z), {"", 72, 8}},
      {MEMBER(RegionsRegion, sum_value), {"", 80, 24}},
      {MEMBER(RegionsMoments, sum_lab), {"", 0, 24}},
      {MEMBER(RegionsMoments, sum_xx), {"", 24, 8}},
      {MEMBER(RegionsMoments, sum_xy), {"", 32, 8}},
      {MEMBER(RegionsMoments, sum_yy), {"", 40, 8}},
      {MEMBER(RegionsBorder, first), {"", 0, 4}},
      {MEMBER(RegionsBorder, second), {"", 4, 4}},
      {MEMBER(RegionsBorder, length), {"", 8, 4}},
      {MEMBER(RegionsRun, id), {"", 0, 4}},
      {MEMBER(RegionsRun, x), {"", 4, 4}},
      {MEMBER(RegionsRun, y), {"", 8, 4}},
      {MEMBER(RegionsRun, width), {"", 12, 4}},
      {MEMBER(RegionsFrame, size), {"", 0, 8}},
      {MEMBER(RegionsFrame, in), {"", 8, 72}},
      {MEMBER(RegionsFrame, out), {"", 80, 72}},
      {MEMBER(RegionsFrame, labels), {"", 152, 72}},
      {MEMBER(RegionsFrame, foreground), {"", 224, 72}},
      {MEMBER(RegionsFrame, mask), {"", 296, 72}},
      {MEMBER(RegionsFrame, regions), {"", 368, 8}},
      {MEMBER(RegionsFrame, capacity), {"", 376, 4}},
      {MEMBER(RegionsFrame, count), {"", 380, 4}},
      {MEMBER(RegionsFrame, total), {"", 384, 4}},
      {MEMBER(RegionsFrame, attached), {"", 392, 8}},
      {MEMBER(RegionsFrame, attached_count), {"", 400, 4}},
      {MEMBER(RegionsFrame, moments), {"", 408, 8}},
      {MEMBER(RegionsFrame, borders), {"", 416, 8}},
      {MEMBER(RegionsFrame, border_count), {"", 424, 4}},
      {MEMBER(RegionsFrame, runs), {"", 432, 8}},
      {MEMBER(RegionsFrame, run_capacity), {"", 440, 4}},
      {MEMBER(RegionsFrame, run_count), {"", 444, 4}},
      {MEMBER(RegionsFrame, runs_truncated), {"", 448, 4}},
  };
  for (const auto& [found, expected] : table) {
    EXPECT_EQ(found.offset, expected.offset) << found.name;
    EXPECT_EQ(found.bytes, expected.bytes) << found.name;
  }
  EXPECT_EQ(sizeof(RegionsPicture), 72u);
  EXPECT_EQ(sizeof(RegionsRegion), 104u);
  EXPECT_EQ(sizeof(RegionsMoments), 48u);
  EXPECT_EQ(sizeof(RegionsBorder), 12u);
  EXPECT_EQ(sizeof(RegionsRun), 16u);
  EXPECT_EQ(sizeof(RegionsFrame), 456u);
}

TEST(CLibraryAbi, Enumerators_KeepValuesOfReleases) {
  const std::pair<int, int> table[] = {
      {REGIONS_OK, 0},
      {REGIONS_ERROR_INPUT, 1},
      {REGIONS_ERROR_MEMORY, 2},
      {REGIONS_ERROR_DEVICE, 3},
      {REGIONS_ERROR_OTHER, 4},
      {REGIONS_MEMORY_HOST, 0},
      {REGIONS_MEMORY_CUDA, 1},
      {REGIONS_COLOR_DEFAULT, 0},
      {REGIONS_COLOR_BT601, 1},
      {REGIONS_COLOR_BT709, 2},
      {REGIONS_COLOR_BT2020, 3},
      {REGIONS_COLOR_BT601_FULL, 4},
      {REGIONS_COLOR_BT709_FULL, 5},
      {REGIONS_COLOR_BT2020_FULL, 6},
  };
  for (const auto& [found, expected] : table) EXPECT_EQ(found, expected);
}

TEST(CLibraryAbi, FrameInitMacro_SetsTheSizeAndZeroesTheRest) {
  const RegionsFrame frame = REGIONS_FRAME_INIT;
  RegionsFrame zero;
  std::memset(&zero, 0, sizeof zero);
  zero.size = sizeof zero;
  EXPECT_EQ(std::memcmp(&frame, &zero, sizeof frame), 0);
}

// ---- opening

void expect_open_refused(const char* algorithm, const char* device, int threads, const char* why) {
  EXPECT_EQ(regions_open(algorithm, device, threads), nullptr) << why;
  EXPECT_STREQ(regions_error(), why);
}

TEST(CLibraryOpen, InvalidArgument_ErrorNamesIt) {
  expect_open_refused(nullptr, "cpu", 0, "algorithm is null, must be the name of an algorithm");
  expect_open_refused("cclabel", "cpu", -1,
                      "threads is -1, must be at least 0 (0: one per CPU core)");
  std::string known;
  for (const KnownAlgorithm& one : kAlgorithms)
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  for (const char* name : {"cclabels", ""}) {
    const std::string why =
        "unknown algorithm '" + std::string(name) + "'; expected one of " + known;
    expect_open_refused(name, "cpu", 1, why.c_str());
  }
  for (const char* device :
       {"", "tpu", "CPU", "cpu:0", "cud", "cuda0", "cuda:", "cuda:-1", "cuda:x", "cuda:1x",
        "cuda: 1", "cuda:256", "cuda:99999999999999999999"}) {
    expect_open_refused("cclabel", device, 1,
                        ("unknown device '" + std::string(device) +
                         "'; expected auto, cpu, cuda or cuda:N with N from 0 to 255")
                            .c_str());
  }
  // Valid names of devices. If the device is missing, the message mentions CUDA.
  for (const char* device : {"cuda:255", "cuda:0", "cuda"}) {
    const Filter filter(regions_open("cclabel", device, 1));
    if (!filter) {
      EXPECT_NE(std::string(regions_error()).find("CUDA"), std::string::npos) << device;
    }
  }
}

TEST(CLibraryOpen, DeviceText_OpenedFilter_NamesDeviceAndThreads) {
  const auto device_of = [](const char* device, int threads) {
    const Filter filter(regions_open("cclabel", device, threads));
    EXPECT_TRUE(filter) << regions_error();
    return std::string(regions_device(filter.get()));
  };
  EXPECT_EQ(device_of("cpu", 1), "cpu: 1 thread");
  EXPECT_EQ(device_of("cpu", 3), "cpu: 3 threads");
  const unsigned all = std::thread::hardware_concurrency();
  EXPECT_EQ(device_of("cpu", 0),
            "cpu: " + std::to_string(all) + (all == 1 ? " thread" : " threads"));
  EXPECT_STREQ(regions_device(nullptr), "none");
  // Null means auto.
  EXPECT_EQ(device_of(nullptr, 2), device_of("auto", 2));
  const Filter cuda(regions_open("cclabel", "cuda", 2));
  EXPECT_EQ(device_of("auto", 2), cuda ? regions_device(cuda.get()) : "cpu: 2 threads");
}

TEST(CLibraryOpen, VersionText_HasThreeNumbers) {
  int numbers[3] = {-1, -1, -1}, length = 0;
  const int read =
      std::sscanf(regions_version(), "%d.%d.%d%n", &numbers[0], &numbers[1], &numbers[2], &length);
  EXPECT_EQ(read, 3) << regions_version();
  EXPECT_EQ(static_cast<size_t>(length), std::strlen(regions_version()));
  EXPECT_STREQ(regions_version(), REGIONS_VERSION);
}

// ---- texts that calls return

TEST(CLibraryInterface, WrongSizeOfTheFrameStruct_ErrorNamesItAndFrameIsUnchanged) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  Labelled l;
  EXPECT_EQ(l.frame.size, sizeof(RegionsFrame));
  for (const size_t size : {size_t{0}, size_t{1}, sizeof(RegionsFrame) - sizeof(void*),
                            sizeof(RegionsFrame) + sizeof(void*), SIZE_MAX}) {
    l.frame.size = size;
    l.frame.total = 77;
    EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_ERROR_INPUT) << size;
    const std::string text = regions_error();
    EXPECT_NE(text.find("frame.size is " + std::to_string(size)), std::string::npos) << text;
    EXPECT_EQ(l.frame.total, 77u) << "a member of an unknown frame was written";
  }
  l.frame.size = 0;
  regions_process(filter.get(), &l.frame);
  EXPECT_NE(std::string(regions_error()).find("REGIONS_FRAME_INIT"), std::string::npos);
  l.frame.size = sizeof(RegionsFrame);
  EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
}

TEST(CLibraryInterface, ErrorText_LaterSuccess_RemainsUntilTheNextFailureInTheSameThread) {
  const Filter filter = open("cclabel");
  EXPECT_EQ(regions_set(filter.get(), "threshold", "2"), REGIONS_ERROR_INPUT);
  const char* const text = regions_error();
  const std::string before = text;
  EXPECT_NE(before.find("threshold"), std::string::npos);
  // Neither successful calls nor failures of other threads change it.
  Labelled l;
  EXPECT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK);
  EXPECT_STREQ(regions_get(filter.get(), "threshold"), "0.5");
  EXPECT_EQ(regions_reset(filter.get()), REGIONS_OK);
  std::string elsewhere, elsewhere_first;
  std::thread([&] {
    elsewhere_first = regions_error();
    regions_open("cclabels", "cpu", 0);
    elsewhere = regions_error();
  }).join();
  EXPECT_EQ(elsewhere_first, "no call of this thread has failed");
  EXPECT_NE(elsewhere.find("cclabels"), std::string::npos);
  EXPECT_EQ(regions_error(), text);
  EXPECT_EQ(text, before);
  // Calls without a status can fail, too.
  EXPECT_EQ(regions_get(filter.get(), "treshold"), nullptr);
  EXPECT_NE(std::string(regions_error()).find("treshold"), std::string::npos);
  // The text of an error is a valid argument.
  EXPECT_EQ(regions_set(filter.get(), regions_error(), regions_error()), REGIONS_ERROR_INPUT);
  EXPECT_EQ(regions_set(filter.get(), std::string(1 << 20, 'x').c_str(), ""), REGIONS_ERROR_INPUT);
  EXPECT_EQ(std::strlen(regions_error()), 1023u);
}

TEST(CLibraryInterface, ValueText_OtherCalls_RemainsUntilNextValueIsRead) {
  const Filter filter = open("cclabel"), other = open("cclabel");
  const char* const text = regions_get(filter.get(), "connectivity");
  ASSERT_NE(text, nullptr);
  EXPECT_STREQ(text, "8");
  EXPECT_EQ(regions_get(filter.get(), "treshold"), nullptr);
  EXPECT_EQ(regions_get(filter.get(), nullptr), nullptr);
  EXPECT_EQ(regions_set(filter.get(), "connectivity", "4"), REGIONS_OK);
  EXPECT_STREQ(regions_get(other.get(), "output"), "overlay");
  EXPECT_STREQ(text, "8");
  EXPECT_STREQ(regions_get(filter.get(), "connectivity"), "4");
}

// ---- error messages

using Frame = RegionsFrame&;

constexpr char kNoFilter[] = "filter is null, must come from regions_open()";
constexpr char kNoProperty[] = "property is null, must be the name of a property";

std::string no_format(const std::string& name) {
  return name + ".format is null, must be the name of a pixel format such as \"GRAY8\"";
}

void expect_refused(RegionsStatus status, const std::string& why) {
  EXPECT_EQ(status, REGIONS_ERROR_INPUT) << why;
  EXPECT_EQ(regions_error(), why);
}

TEST(CLibraryErrors, NullArgument_ErrorNamesIt) {
  const Filter filter = open("cclabel");
  Labelled l;
  expect_refused(regions_set(nullptr, "depth", "1"), kNoFilter);
  expect_refused(regions_set(filter.get(), nullptr, "1"), kNoProperty);
  expect_refused(regions_set(filter.get(), "depth", nullptr),
                 "value is null, must be the value as text");
  expect_refused(regions_process(nullptr, &l.frame), kNoFilter);
  expect_refused(regions_process(filter.get(), nullptr),
                 "frame is null, must point to a RegionsFrame");
  expect_refused(regions_reset(nullptr), kNoFilter);
  regions_close(nullptr);
  for (const auto& [of, name, why] :
       {std::tuple(static_cast<RegionsFilter*>(nullptr), "depth", kNoFilter),
        std::tuple(filter.get(), static_cast<const char*>(nullptr), kNoProperty)}) {
    EXPECT_EQ(regions_get(of, name), nullptr);
    EXPECT_STREQ(regions_error(), why);
  }
  EXPECT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
}

// One property of each type.
TEST(CLibraryErrors, InvalidValue_KeepsPreviousValue) {
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

TEST(CLibraryErrors, PropertyThatOnlyElementsHave_IsRefused) {
  const Filter filter = open("graphcutbg");
  for (const std::string name :
       {"model-location", "background-image", "exclusion-image", "replace-image"}) {
    expect_refused(regions_set(filter.get(), name.c_str(), "a.png"),
                   "the library does not have the property " + name +
                       " of the GStreamer element; it names a file that only the element reads");
    EXPECT_STREQ(regions_get(filter.get(), name.c_str()), "");
  }
  expect_refused(regions_set(filter.get(), "preset", "motion"),
                 "the library does not have the property preset of the GStreamer element");
  EXPECT_STREQ(regions_get(filter.get(), "preset"), "none");
}

TEST(CLibraryErrors, OutputOfAnotherAlgorithm_IsRefused) {
  for (const KnownAlgorithm& known : kAlgorithms) {
    const OutputKinds produced = output_kinds_of(known.name);
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
        EXPECT_EQ(status, REGIONS_OK) << produced.algorithm << ": " << regions_error();
      } else {
        expect_refused(status, why);
      }
      return frame;
    };
    const char* const no_regions =
        "labels and capacity must be zero: this algorithm does not produce regions";
    const char* const no_moments =
        "moments and borders must be null: this algorithm does not produce them";
    expect(true, "", [](Frame) {});
    expect(produced.regions, no_regions, [&](Frame f) { f.labels = picture("U32_LE", labels); });
    const RegionsFrame counted = expect(produced.regions, no_regions, [&](Frame f) {
      f.regions = regions.data();
      f.capacity = 100;
    });
    EXPECT_EQ(counted.count > 0, produced.regions) << produced.algorithm;
    expect(produced.foreground, "foreground must be zero: this algorithm does not produce it",
           [&](Frame f) { f.foreground = picture("GRAY8", foreground); });
    expect(produced.moments, no_moments, [&](Frame f) { f.moments = moments.data(); });
    expect(produced.moments, no_moments, [&](Frame f) { f.borders = borders.data(); });
    expect(produced.runs, "runs must be null: this algorithm does not produce them", [&](Frame f) {
      f.runs = runs.data();
      f.run_capacity = 100;
    });
  }
}

TEST(CLibraryErrors, InvalidFrame_IsRefusedWithTheReason) {
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
  const auto misfit = [](const std::string& name, const std::string& size) {
    return name + " is " + size + ", must be 53x37, the size of in";
  };
  const std::string no_picture = "in.plane[0] is null; every frame needs an input picture";
  const std::string on_gpu =
      "a picture of the frame is in CUDA memory, but the filter runs on the CPU; copy the picture "
      "to host memory, or open the filter with device \"cuda\"";
  expect("", [](Frame) {});
  expect(no_picture, [](Frame f) { f.in = {}; });
  expect(no_picture, [](Frame f) { f.in.plane[0] = nullptr; });
  expect(no_format("in"), [](Frame f) { f.in.format = nullptr; });
  expect(no_format("out"), [](Frame f) { f.out.format = nullptr; });
  expect(no_format("labels"), [](Frame f) { f.labels.format = nullptr; });
  expect(no_format("mask"), [&](Frame f) {
    f.mask = picture("GRAY8", wide);
    f.mask.format = nullptr;
  });
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
  expect(misfit("out", "52x37"), [](Frame f) { f.out.width = kWidth - 1; });
  expect(misfit("out", "53x36"), [](Frame f) { f.out.height = kHeight - 1; });
  expect(misfit("labels", "52x37"), [](Frame f) { f.labels.width = kWidth - 1; });
  expect(misfit("labels", "53x36"), [](Frame f) { f.labels.height = kHeight - 1; });
  expect("labels has format GRAY16_LE, must have U32_LE",
         [](Frame f) { f.labels.format = "GRAY16_LE"; });
  expect("mask has format RGBx, must have GRAY8, GRAY16_LE or U32_LE",
         [&](Frame f) { f.mask = picture("RGBx", wide, 4); });
  expect("capacity is 4, but regions is null; set regions to an array of `capacity` elements",
         [](Frame f) { f.regions = nullptr; });
  expect("", [](Frame f) { f.capacity = 0; });
  expect("runs is set, but run_capacity is 0; set both or neither",
         [&](Frame f) { f.runs = &run; });
  expect("runs is null, but run_capacity is 1; set both or neither",
         [](Frame f) { f.run_capacity = 1; });
  expect("", [&](Frame f) {
    f.runs = &run;
    f.run_capacity = 1;
  });
  expect(
      "attached_count is 1, but attached is null; set attached to an array of `attached_count` "
      "regions",
      [](Frame f) { f.attached_count = 1; });
  expect("", [](Frame f) { f.attached = f.regions; });
  expect(on_gpu, [](Frame f) { f.in.memory = REGIONS_MEMORY_CUDA; });
  expect(on_gpu, [](Frame f) { f.out.memory = REGIONS_MEMORY_CUDA; });
  expect(on_gpu, [](Frame f) { f.labels.memory = REGIONS_MEMORY_CUDA; });
  expect(on_gpu, [&](Frame f) {
    f.mask = picture("GRAY8", wide);
    f.mask.memory = REGIONS_MEMORY_CUDA;
  });
  expect(
      "out starts at the same address as in, but format, memory, planes or pitches differ; to work "
      "in "
      "place, set out = in",
      [](Frame f) {
        f.out = f.in;
        f.out.format = "GRAY16_LE";
        f.out.width = f.in.width / 2;
        f.out.pitch[0] -= 1;
      });
  expect("frame.size is 8, must be " + std::to_string(sizeof(RegionsFrame)) +
             "; compile the program with the regions.h of libregions " + regions_version(),
         [](Frame f) { f.size = 8; });
  expect("frame.size is 0; initialise the frame with RegionsFrame frame = REGIONS_FRAME_INIT",
         [](Frame f) { f.size = 0; });
  expect("", [](Frame) {});

  const Filter cut = open("graphcutbg");
  ASSERT_EQ(regions_set(cut.get(), "output", "none"), REGIONS_OK);
  RegionsFrame frame = REGIONS_FRAME_INIT;
  std::vector<uint8_t> in = rectangles();
  frame.in = picture("GRAY8", in);
  frame.foreground = picture("GRAY8", wide);
  frame.foreground.width = 9;
  expect_refused(regions_process(cut.get(), &frame), misfit("foreground", "9x37"));
  frame.foreground = picture("GRAY8", wide);
  frame.foreground.format = nullptr;
  expect_refused(regions_process(cut.get(), &frame), no_format("foreground"));
  frame.foreground = picture("RGBx", wide, 4);
  expect_refused(regions_process(cut.get(), &frame), "foreground has format RGBx, must have GRAY8");
}

TEST(CLibraryErrors, SmallestAndLargestSides_AreAccepted) {
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

TEST(CLibraryErrors, SettingForVolumesOrCudaOnly_FrameIsRefusedUntilItIsSetBack) {
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
         "depth is 3, but the library processes single pictures; set sliding=true, or use the "
         "GStreamer element for volumes");
  expect("thresholds", "<0.2,0.5>",
         "thresholds has 2 values, but the library accepts at most one; the GStreamer element "
         "accepts more");
  expect("sliding", "true",
         "sliding=true requires a depth of at least 2, no thresholds and label-background=false");
  expect("method", "sweep", "method=sweep runs on CUDA only; the CPU supports method=union-find");
  expect("connectivity", "26", "connectivity 26 is for volumes; with depth=1 it must be 4 or 8");
}

}  // namespace
}  // namespace regions::test
