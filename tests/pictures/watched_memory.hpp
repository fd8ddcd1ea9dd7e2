// The memory that the CPU backend hands out, watched: it comes dirty, and what is written beside it
// ends the program. For every test whose sources hold watched_memory.cpp.
#pragma once

#include <cstddef>

namespace regions {

// Bytes of all blocks there are now.
size_t watched_bytes();

}  // namespace regions
