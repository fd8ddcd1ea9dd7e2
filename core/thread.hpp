// Threads, or an error that says what is missing.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "core/error.hpp"

namespace regions {

// A thread that runs body(). Throws MemoryError where the system gives none.
template <class Body>
std::thread start_thread(Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error&) {
    throw MemoryError("the system cannot create another thread");
  }
}

}  // namespace regions
