// Values for the lines of a Field table, and contents for pictures, decoded from a fuzzer's bytes.
#pragma once

#include "core/field.hpp"
#include "core/image.hpp"
#include "tests/fuzz/input.hpp"

namespace regions::fuzz {

// Ends the process, which the fuzzer takes for a fault.
[[noreturn]] void fail(const std::string& what);
inline void require(bool holds, const char* what) {
  if (!holds) fail(what);
}

// A value as text: nearly always one that the field takes, the ends of its range included. Values
// of fields that say how much is allocated stay near the least.
std::string value_text(const Field& field, Input& in);

// Mostly small, seldom one pixel wide or high, or longer than a tile.
Size picture_size(Input& in);

// Flat, of two values, noise, rectangles, or the input's own bytes.
void fill(std::span<uint8_t> bytes, size_t row, Input& in);

}  // namespace regions::fuzz
