// One filter for many frames: the results do not depend on earlier frames, settings, failures or
// lack of memory.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "tests/library/frame_settings.hpp"

namespace regions::test {
namespace {

// The default settings, and variants that differ from them in one property.
std::vector<FrameSettings> frame_variants(const Settings& settings) {
  std::vector<FrameSettings> variants(1);
  const auto add = [&](const char* name, auto change) {
    FrameSettings kind;
    kind.name = name;
    change(kind);
    variants.push_back(kind);
  };
  add("wider", [](FrameSettings& k) { k.width = 71; });
  add("narrower", [](FrameSettings& k) { k.width = 21; });
  add("higher", [](FrameSettings& k) { k.height = 64; });
  add("lower", [](FrameSettings& k) { k.height = 13; });
  add("another matrix", [](FrameSettings& k) { k.color = REGIONS_COLOR_BT2020; });
  add("another range", [](FrameSettings& k) { k.color = REGIONS_COLOR_BT601_FULL; });
  add("another format", [](FrameSettings& k) { k.in = k.out = PixelFormat::bgra; });
  add("16 bits", [](FrameSettings& k) { k.in = k.out = PixelFormat::gray16; });
  add("a mask of labels", [](FrameSettings& k) { k.mask = PixelFormat::labels32; });
  if (settings.has_borders) add("borders", [](FrameSettings& k) { k.borders = true; });
  if (settings.has_runs) add("runs", [](FrameSettings& k) { k.runs = 3000; });
  if (settings.has_runs) add("few runs", [](FrameSettings& k) { k.runs = 20; });
  return variants;
}

TEST(CLibraryReuse, FilterUsedForOtherFrames_OutputsEqualThoseOfANewFilter) {
  for (const Settings& settings : kSettings) {
    const std::vector<FrameSettings> variants = frame_variants(settings);
    const FrameOutputs first = outputs_of(opened(settings).get(), settings.algorithm, variants[0]);
    ASSERT_EQ(first.status, REGIONS_OK) << regions_error();
    for (size_t i = 1; i < variants.size(); ++i) {
      const std::string where = settings.algorithm + ", " + variants[i].name;
      const FrameOutputs alone =
          outputs_of(opened(settings).get(), settings.algorithm, variants[i]);
      ASSERT_EQ(alone.status, REGIONS_OK) << where << ": " << regions_error();
      const Filter filter = opened(settings);
      EXPECT_EQ(outputs_of(filter.get(), settings.algorithm, variants[0]), first) << where;
      EXPECT_EQ(outputs_of(filter.get(), settings.algorithm, variants[i]), alone) << where;
      EXPECT_EQ(outputs_of(filter.get(), settings.algorithm, variants[0]), first)
          << where << ", back";
    }
  }
}

TEST(CLibraryReuse, SettingChanged_OutputsEqualThoseOfANewFilter) {
  const Settings cclabel = {"cclabel", {{"threshold", "0.6"}}}, cut = {"graphcutbg", {}},
                 slic = {"slicsuperpixel", {{"region-size", "7"}}};
  for (const auto& [settings, name, value] :
       {std::tuple(cclabel, "connectivity", "4"), std::tuple(cclabel, "max-regions", "2"),
        std::tuple(cclabel, "threshold", "0.9"), std::tuple(cclabel, "label-background", "true"),
        std::tuple(cclabel, "source", "mask"), std::tuple(cclabel, "criterion", "equal"),
        std::tuple(cclabel, "min-area", "20"), std::tuple(cclabel, "seeds", "<1,1>"),
        std::tuple(cclabel, "style", "fill"), std::tuple(cut, "neighbours", "8"),
        std::tuple(cut, "opacity", "0.9"), std::tuple(slic, "max-regions", "3"),
        std::tuple(slic, "superpixels", "9"), std::tuple(slic, "variant", "slico"),
        std::tuple(slic, "output", "mean")}) {
    const std::string where = settings.algorithm + " " + name + "=" + value;
    const FrameSettings kind;
    const std::string algorithm = settings.algorithm;
    const bool cuts = algorithm == "graphcutbg";
    const auto last_of = [&](const Filter& filter) {
      if (cuts) {  // otherwise, the first frame is background
        EXPECT_EQ(regions_set(filter.get(), "source", "mask"), REGIONS_OK);
      }
      return outputs_of(filter.get(), algorithm, kind);
    };
    const Filter plain = opened(settings), fresh = opened(settings);
    const FrameOutputs before = last_of(plain);
    ASSERT_EQ(regions_set(fresh.get(), name, value), REGIONS_OK) << regions_error();
    const FrameOutputs expected = last_of(fresh);
    EXPECT_EQ(expected.status, REGIONS_OK) << where << ": " << regions_error();
    EXPECT_NE(expected, before) << where;
    ASSERT_EQ(regions_set(plain.get(), name, value), REGIONS_OK) << regions_error();
    if (cuts) regions_reset(plain.get());
    EXPECT_EQ(last_of(plain), expected) << where << " after a frame";
  }
}

TEST(CLibraryReuse, UnsuitableOutputRepeated_IsRefusedEachTime) {
  const Filter filter = open("cclabel");
  FrameSettings none;
  none.has_out = none.has_mask = false;
  FrameSettings labels = none, colors = none;
  labels.has_out = colors.has_out = true;
  labels.out = PixelFormat::gray16;
  colors.out = PixelFormat::bgra;
  const auto expect_refused = [&](const FrameSettings& kind, const char* why) {
    EXPECT_EQ(outputs_of(filter.get(), "cclabel", kind).status, REGIONS_ERROR_INPUT) << why;
    EXPECT_STREQ(regions_error(), why);
  };
  const FrameOutputs untouched = [&] {
    EXPECT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
    return outputs_of(filter.get(), "cclabel", none);
  }();
  EXPECT_EQ(untouched.status, REGIONS_OK);
  for (int time = 0; time < 2; ++time) {
    expect_refused(labels, "output=none writes no picture, but `out` is set");
  }
  EXPECT_EQ(outputs_of(filter.get(), "cclabel", none), untouched);
  EXPECT_EQ(regions_set(filter.get(), "output", "labels"), REGIONS_OK);
  const FrameOutputs labelled = outputs_of(filter.get(), "cclabel", labels);
  EXPECT_EQ(labelled.status, REGIONS_OK);
  for (int time = 0; time < 2; ++time) {
    expect_refused(none,
                   "`output` requires a picture, but `out` is not set; set it or use output=none");
    expect_refused(colors, "`output` supports GRAY16_LE, GRAY8, U32_LE; the output format is BGRA");
  }
  EXPECT_EQ(outputs_of(filter.get(), "cclabel", labels), labelled);
}

// Two regions. The region that appears later has the smaller label, so labels and tracks differ.
TEST(CLibraryReuse, Tracks_ContinueUntilResetOrASettingThatNeedsANewSetup) {
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
  EXPECT_EQ(show(true, true), 1u) << "the first region";
  EXPECT_EQ(l.regions[1].id, 2u);
  EXPECT_EQ(l.regions[0].track, 2u) << "the new region";
  // Settings that apply while playing keep the tracks; other settings reset them.
  ASSERT_EQ(regions_set(filter.get(), "min-area", "2"), REGIONS_OK);
  EXPECT_EQ(show(true, true), 1u);
  ASSERT_EQ(regions_set(filter.get(), "threshold", "7"), REGIONS_ERROR_INPUT);
  EXPECT_EQ(show(true, true), 1u);
  ASSERT_EQ(regions_set(filter.get(), "max-regions", "100"), REGIONS_OK);
  EXPECT_EQ(show(true, true), 4u) << "numbers are not used again";
  EXPECT_EQ(show(false, true), 4u);
  ASSERT_EQ(regions_reset(filter.get()), REGIONS_OK);
  EXPECT_EQ(show(false, true), 1u);
  ASSERT_EQ(regions_set(filter.get(), "track", "false"), REGIONS_OK);
  EXPECT_EQ(show(true, true), 2u) << "without track, the track is the id";
}

// ---- failures

// Limits the address space of the process, as on a small machine.
class LittleMemory {
 public:
  explicit LittleMemory(rlim_t bytes) {
    size_t pages = 0;  // pages of the process; the driver of a GPU uses many
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    rlimit little = before_;
    little.rlim_cur =
        std::min<rlim_t>(before_.rlim_max, pages * static_cast<size_t>(getpagesize()) + bytes);
    setrlimit(RLIMIT_AS, &little);
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

  // Returns false if more memory can be mapped. QEMU's user mode ignores the limit.
  static bool is_enforced() {
    constexpr size_t kBytes = size_t{64} << 20;
    const LittleMemory limit(1 << 20);
    void* const mapped =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED || munmap(mapped, kBytes) != 0;
  }

 private:
  rlimit before_;
};

TEST(CLibraryFailures, OutOfMemory_CallsReturnMemoryErrorsAndNextFrameSucceeds) {
  if (dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init")) {
    GTEST_SKIP() << "the sanitizer's memory takes more address space than the limit leaves";
  }
  if (!LittleMemory::is_enforced()) {
    GTEST_SKIP() << "the system does not limit the address space of this process";
  }
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  Labelled l;
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
  {
    const LittleMemory limit(rlim_t{3} << 30);
    RegionsFrame large = REGIONS_FRAME_INIT;
    large.in = l.frame.in;
    large.in.width = large.in.height = large.in.pitch[0] = 65535;  // refused before it is accessed
    EXPECT_EQ(regions_process(filter.get(), &large), REGIONS_ERROR_MEMORY) << regions_error();
    EXPECT_EQ(std::string(regions_error()).find("out of memory: "), 0u) << regions_error();
    EXPECT_EQ(regions_process(filter.get(), &large), REGIONS_ERROR_MEMORY) << "again";
    ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
    EXPECT_EQ(l.frame.total, 2u);
  }
  // The C++ library throws bad_alloc.
  const std::string name(size_t{200} << 20, 'x');
  RegionsStatus status = REGIONS_OK;
  {
    const LittleMemory limit(1 << 20);
    status = regions_set(filter.get(), name.c_str(), "1");
  }
  EXPECT_EQ(status, REGIONS_ERROR_MEMORY);
  EXPECT_STREQ(regions_error(), "out of memory");
  RegionsFilter* none = nullptr;
  {
    const LittleMemory limit(1 << 20);
    none = regions_open("cclabel", "cpu", 500);  // threads need stacks
  }
  EXPECT_EQ(none, nullptr);
  EXPECT_STREQ(regions_error(), "the system cannot create another thread");
}

// The faults that the last opened filter found apply to all filters.
void inject_library_faults(const std::string& text) {
  setenv("REGIONS_FAULTS", text.c_str(), 1);
  open("regionoverlay");
  unsetenv("REGIONS_FAULTS");
}

// Each step of a frame that can fail does so once. The frame returns an error, and the next frame
// is correct.
TEST(CLibraryFailures, FrameAfterFailureAndModelReset_OutputsEqualThoseOfANewFilter) {
  for (const Settings& settings : kSettings) {
    const FrameOutputs expected =
        outputs_of(opened(settings).get(), settings.algorithm, FrameSettings());
    for (const auto& [kind, status] :
         {std::pair("allocation", REGIONS_ERROR_MEMORY), std::pair("launch", REGIONS_ERROR_DEVICE),
          std::pair("work", REGIONS_ERROR_DEVICE)}) {
      bool reached = true;
      for (int step = 1; reached; ++step) {
        const std::string where =
            settings.algorithm + ", " + kind + "=" + std::to_string(step) + ": ";
        const Filter filter = opened(settings);
        inject_library_faults(std::string(kind) + "=" + std::to_string(step));
        const FrameOutputs left = outputs_of(filter.get(), settings.algorithm, FrameSettings());
        const std::string text = regions_error();
        inject_library_faults("");
        reached = left.status != REGIONS_OK;
        EXPECT_TRUE(reached || step > 1) << where << "nothing failed";
        ASSERT_LT(step, 200) << where;
        if (reached) {
          EXPECT_EQ(left.status, status) << where << text;
          EXPECT_EQ(text, "injected failure of " + std::string(kind)) << where;
          // The failed frame may have updated the background model.
          if (settings.algorithm == "graphcutbg") regions_reset(filter.get());
          EXPECT_EQ(outputs_of(filter.get(), settings.algorithm, FrameSettings()), expected)
              << where;
        } else {
          EXPECT_EQ(left, expected) << where;
        }
      }
    }
  }
  // Two failures in one frame.
  for (const Settings& settings : kSettings) {
    const FrameOutputs expected =
        outputs_of(opened(settings).get(), settings.algorithm, FrameSettings());
    for (const char* fault : {"work=1,launch=2", "work=1,launch=3"}) {
      const Filter filter = opened(settings);
      inject_library_faults(fault);
      const FrameOutputs left = outputs_of(filter.get(), settings.algorithm, FrameSettings());
      inject_library_faults("");
      EXPECT_EQ(left.status, REGIONS_ERROR_DEVICE) << fault;
      if (settings.algorithm == "graphcutbg") regions_reset(filter.get());
      EXPECT_EQ(outputs_of(filter.get(), settings.algorithm, FrameSettings()), expected)
          << settings.algorithm << " after " << fault << ": " << regions_error();
    }
  }
  setenv("REGIONS_FAULTS", "nonsense=1", 1);
  EXPECT_EQ(regions_open("cclabel", "cpu", 1), nullptr);
  EXPECT_NE(std::string(regions_error()).find("'nonsense=1'"), std::string::npos);
  unsetenv("REGIONS_FAULTS");
}

}  // namespace
}  // namespace regions::test
