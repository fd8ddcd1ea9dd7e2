// A filter after a call that failed: for want of memory, or at any step of a frame's way.
#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "tests/library/kinds.hpp"

namespace regions::test {
namespace {

// A 64-bit build may reserve 17 GB that are not there; a limit stands in for a small machine.
class LittleMemory {
 public:
  explicit LittleMemory(rlim_t bytes) {
    size_t pages = 0;  // that the process has; a GPU's driver takes many
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

 private:
  rlimit before_;
};

TEST(LibraryFailures, MemoryThatRunsOutIsNamed) {
  if (dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init")) {
    GTEST_SKIP() << "the sanitizer's memory takes more address space than the limit leaves";
  }
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
    EXPECT_EQ(std::string(regions_error()).find("out of memory: "), 0u) << regions_error();
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
  EXPECT_STREQ(regions_error(), "the system cannot create another thread");
}

// What a filter is opened with holds for all.
void ask_for_faults(const std::string& text) {
  setenv("REGIONS_FAULTS", text.c_str(), 1);
  open("regionoverlay");
  unsetenv("REGIONS_FAULTS");
}

// Every step that may fail does so in turn; the frame says so, and the next one is right.
TEST(LibraryFailures, AFrameAfterAFailedOne) {
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
  // Two failures in one frame are one: nothing of it is left for the next.
  for (const Settings& settings : kSettings) {
    const Left expected = left_by(opened(settings).get(), settings.algorithm, Kind());
    for (const char* fault : {"work=1,launch=2", "work=1,launch=3"}) {
      const Filter filter = opened(settings);
      ask_for_faults(fault);
      const Left left = left_by(filter.get(), settings.algorithm, Kind());
      ask_for_faults("");
      EXPECT_EQ(left.status, REGIONS_ERROR_DEVICE) << fault;
      if (settings.algorithm == "graphcutbg") regions_reset(filter.get());
      EXPECT_EQ(left_by(filter.get(), settings.algorithm, Kind()), expected)
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
