// Time that passes when a test says so.
#include "tests/plugin/passing_time.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace {

std::atomic<gint64> ahead{0};  // µs, of the true time

// GStreamer's clocks take deadlines from this time and sleep by the kernel's: where the two differ,
// what waits for a clock sleeps too long.
class TrueTimeAfterEachTest : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo&) override { ahead = 0; }
};
[[maybe_unused]] const bool listens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new TrueTimeAfterEachTest);
  return true;
}();

}  // namespace

// Takes the place of GLib's.
extern "C" gint64 g_get_monotonic_time() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count() + ahead;
}

namespace regions::test {

void let_pass(gint64 us) { ahead += us; }

}  // namespace regions::test
