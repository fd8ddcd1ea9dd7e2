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
  while (unlocked > 0) {
    const nanobind::gil_scoped_release release;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace regions::python
