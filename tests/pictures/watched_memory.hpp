// Guards the memory that the CPU backend allocates: new memory is filled with a pattern, and a
// write outside a block aborts the program. Active in each test program that links
// watched_memory.cpp.
#pragma once

#include <cstddef>

namespace regions {

// Bytes of all allocated blocks.
size_t watched_bytes();

}  // namespace regions
