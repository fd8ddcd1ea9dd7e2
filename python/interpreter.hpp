// Releases the interpreter's lock during work, so that other Python threads can run.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

namespace regions::python {

// This thread does not hold the interpreter's lock while an Unlocked exists. The exception is the
// shutdown of the interpreter, where the thread keeps the lock. Up to Python 3.13, the interpreter
// terminates a thread that takes the lock again during shutdown, and C++ then calls
// std::terminate().
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::optional<nanobind::gil_scoped_release> release_;
};

// Waits until no thread works without the lock. Called by Python's atexit, with the lock held.
void begin_ending();

}  // namespace regions::python
