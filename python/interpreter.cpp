// Counts the threads that work without the interpreter's lock.
#include "python/interpreter.hpp"

#include <chrono>
#include <thread>

namespace regions::python {
namespace {

// The interpreter's lock guards these two variables.
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
  // The interpreter never frees the stack frames of threads that it terminates. Objects in these
  // frames are not leaks of this module, so the warnings are turned off.
  const auto threads = nanobind::module_::import_("threading").attr("active_count")();
  if (nanobind::cast<int>(threads) > 1) nanobind::set_leak_warnings(false);
  while (unlocked > 0) {
    const nanobind::gil_scoped_release release;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace regions::python
