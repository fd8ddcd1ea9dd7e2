// Rows of labels, masks and colours.
#include "cpu/cclabel/write.hpp"

namespace regions {
namespace {

// A pixel at any address.
template <class T>
struct [[gnu::packed]] Cell {
  T value;
};
struct Triple {
  uint8_t byte[3];
};

template <class C>
REGIONS_INLINE C cell(uint32_t value) {
  if constexpr (sizeof(C) == 3) {
    return {{static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8),
             static_cast<uint8_t>(value >> 16)}};
  } else {
    return {static_cast<decltype(C::value)>(value)};
  }
}

// Fills go over the segment's end up to whole steps, where the row is long enough: what follows is
// written later. A short segment then costs a store or two and no branch on its length.
template <class C>
REGIONS_INLINE void write_cells(const Word* pixels, const Word* starts, const uint32_t* value,
                                int width, std::byte* out) {
  constexpr int kStep = sizeof(C) == 1 ? 32 : 16;
  C* row = reinterpret_cast<C*>(out);
  for_each_segment(
      pixels, starts, width, [=](int begin, int end, int64_t run) __attribute__((always_inline)) {
        const C c = cell<C>(run < 0 ? 0 : value[run]);
        int x = begin;
        for (; x < end && x + kStep <= width; x += kStep) {
          for (int i = 0; i < kStep; ++i) row[x + i] = c;
        }
        for (; x < end; ++x) row[x] = c;
      });
}

}  // namespace

REGIONS_CLONES
void write_row(const Word* pixels, const Word* starts, const uint32_t* value, int width, int bytes,
               std::byte* out) {
  switch (bytes) {
    case 1:
      return write_cells<Cell<uint8_t>>(pixels, starts, value, width, out);
    case 2:
      return write_cells<Cell<uint16_t>>(pixels, starts, value, width, out);
    case 3:
      return write_cells<Triple>(pixels, starts, value, width, out);
    default:
      return write_cells<Cell<uint32_t>>(pixels, starts, value, width, out);
  }
}

}  // namespace regions
