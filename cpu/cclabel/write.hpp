// Writing one value a pixel from the runs' values.
#pragma once

#include "core/frame.hpp"
#include "cpu/bits.hpp"

namespace regions {

inline constexpr size_t kValueSlack = 16;

// Row of `width` pixels of 1, 2, 3 or 4 bytes: the low bytes of value[run], or of 0 where there is
// no run. See for_each_segment for `pixels` and `starts`. kValueSlack values before and after those
// of the runs must be readable.
void write_row(const Word* pixels, const Word* starts, const uint32_t* value, int width, int bytes,
               std::byte* out);

}  // namespace regions
