// What main() of every benchmark does: errors become a line and an exit status.
#pragma once

#include <cstdio>
#include <exception>

#include "core/error.hpp"

namespace regions {

// The exit status of run(count, words): its own; 2 for words it does not understand or files it
// cannot take, 1 for what failed later.
inline int run_program(const char* name, int (*run)(int, char**), int count, char** words) {
  try {
    return run(count, words);
  } catch (const InputError& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace regions
