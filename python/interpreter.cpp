// Counting the threads that work without the interpreter's lock.
#include "python/interpreter.hpp"

#include <chrono>
#include <thread>

namespace regions::python {
namespace {

// Both are guarded by the interpreter's lock.
int unlocked = 0;
bool is_ending = false;

}  // namespace

Unlocked::Unlocked() {
  if (is_ending) return;
  ++unlocked;
  release_.emplace();
}

Unlocked::~Unlocked() {
  if (!release_) return;
  release_.reset();
  --unlocked;
}

void begin_ending() {
  is_ending = true;
  // Frames of threads that the interpreter's end cuts off are never freed: what they hold is no
  // leak of this module's.
  const auto threads = nanobind::module_::import_("threading").attr("active_count")();
  if (nanobind::cast<int>(threads) > 1) nanobind::set_leak_warnings(false);
  while (unlocked > 0) {
    const nanobind::gil_scoped_release release;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace regions::python
