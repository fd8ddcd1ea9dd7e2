// The library in a child of fork(), which has no threads of its parent. A timer ends a child that
// hangs.
#include "tests/core/fork.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/library/library_case.hpp"

namespace regions::test {
namespace {

constexpr unsigned kTimeout = 60;  // seconds

// The name of the first check that fails in the child; empty if all hold.
class Checks {
 public:
  void expect(bool holds, const char* name) {
    if (!holds && !failed_) failed_ = name;
  }
  const char* failed() const { return failed_ ? failed_ : ""; }

 private:
  const char* failed_ = nullptr;
};

// Runs work(checks) in a child. Returns the failed check, or how the child ended.
template <class Work>
std::string in_child(const Work& work) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kTimeout);
    Checks checks;
    work(checks);
    const ssize_t written = write(ends[1], checks.failed(), std::strlen(checks.failed()));
    end_child(written >= 0);
  }
  close(ends[1]);
  std::string failed(200, '\0');
  const ssize_t got = read(ends[0], failed.data(), failed.size());
  failed.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? failed : "status " + std::to_string(WEXITSTATUS(status));
}

bool finds_both(RegionsFilter* filter) {
  Labelled task;
  return filter && regions_set(filter, "output", "none") == REGIONS_OK &&
         regions_process(filter, &task.frame) == REGIONS_OK && task.frame.count == 2 &&
         task.regions[1].area == 50 && task.labels[12 * kWidth + 20] == 2;
}

bool says_fork() {
  const std::string text = regions_error();
  return text.find("fork") != text.npos && text.find("open") != text.npos;
}

TEST(CLibraryFork, ParentsFilterInTheChild_IsRefusedByEveryCall) {
  for (const char* algorithm : {"cclabel", "graphcutbg", "slicsuperpixel", "regionoverlay"}) {
    for (const int threads : {1, 4}) {
      RegionsFilter* const filter = regions_open(algorithm, "cpu", threads);
      ASSERT_TRUE(filter) << regions_error();
      EXPECT_EQ(in_child([&](Checks& checks) {
                  Labelled task;
                  const auto refuses = [&](RegionsStatus status, const char* name) {
                    checks.expect(status == REGIONS_ERROR_OTHER && says_fork(), name);
                  };
                  refuses(regions_process(filter, &task.frame), "process");
                  refuses(regions_set(filter, "priority", "1"), "set");
                  refuses(regions_reset(filter), "reset");
                  checks.expect(!regions_get(filter, "opacity") && says_fork(), "get");
                  checks.expect(std::strncmp(regions_device(filter), "cpu", 3) == 0, "device");
                  regions_close(filter);
                }),
                "")
          << algorithm << ", " << threads << " threads";
      regions_close(filter);
    }
  }
}

TEST(CLibraryFork, ParentsFilterAfterTheFork_FindsTheRegionsInTheParent) {
  const Filter filter = open("cclabel");
  ASSERT_TRUE(finds_both(filter.get())) << regions_error();
  EXPECT_EQ(in_child([&](Checks& checks) {
              checks.expect(!finds_both(filter.get()) && says_fork(), "process");
              regions_close(filter.get());
            }),
            "");
  EXPECT_TRUE(finds_both(filter.get())) << regions_error();
}

TEST(CLibraryFork, FilterOpenedInTheChild_FindsTheRegions) {
  NEEDS_THREADS_AFTER_FORK();
  const Filter filter = open("cclabel");
  ASSERT_TRUE(finds_both(filter.get())) << regions_error();
  EXPECT_EQ(in_child([&](Checks& checks) {
              const auto mine = [&](Checks& inner) {
                RegionsFilter* const fresh = regions_open("cclabel", "auto", 3);
                inner.expect(finds_both(fresh), "process");
                regions_close(fresh);
              };
              mine(checks);
              regions_close(filter.get());
              mine(checks);
              // A child of the child, while a filter with threads is open.
              RegionsFilter* const fresh = regions_open("cclabel", "cpu", 3);
              checks.expect(finds_both(fresh), "second process");
              checks.expect(in_child(mine).empty(), "grandchild");
              regions_close(fresh);
            }),
            "");
  EXPECT_TRUE(finds_both(filter.get())) << regions_error();
}

// Locks that other threads hold at the time of fork() stay locked in the child.
TEST(CLibraryFork, ForkWhileOtherThreadsWork_ChildOpensAndUsesItsOwnFilter) {
  NEEDS_THREADS_AFTER_FORK();
  NEEDS_ALLOCATOR_AFTER_FORK();
  std::atomic<bool> ends = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!ends) {
        const Filter filter = open("cclabel");
        for (int k = 0; k < 3; ++k) EXPECT_TRUE(finds_both(filter.get()));
      }
    });
  }
  const Filter filter = open("cclabel");
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(in_child([&](Checks& checks) {
                checks.expect(!finds_both(filter.get()) && says_fork(), "filter of the parent");
                regions_close(filter.get());
                RegionsFilter* const fresh = regions_open("cclabel", "cpu", 4);
                checks.expect(finds_both(fresh), "filter of the child");
                regions_close(fresh);
              }),
              "")
        << i;
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace regions::test
