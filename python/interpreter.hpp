// Work that other threads of the interpreter need not wait for.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

namespace regions::python {

// While one lives, this thread does not hold the interpreter's lock. Once the interpreter has begun
// to end it holds it all the same: up to Python 3.13 a thread that then takes the lock again is
// ended there and then, which C++ answers with std::terminate().
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::optional<nanobind::gil_scoped_release> release_;
};

// Waits for the threads that hold no lock, with the lock: for Python's atexit.
void begin_ending();

}  // namespace regions::python
