// Counting shared pixels, run by run.
#include "cpu/cclabel/share.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/tracking/tracking.hpp"

namespace regions {

namespace {

// Where the values that are equal to the first end.
REGIONS_INLINE uint16_t* end_of_equal(uint16_t* first, uint16_t* last) {
  uint16_t* p = first + 1;
  uint64_t equal, here;
  for (equal = *first * uint64_t{0x0001000100010001}; p + 4 <= last; p += 4) {
    std::memcpy(&here, p, sizeof here);
    if (here != equal) break;
  }
  while (p < last && *p == *first) ++p;
  return p;
}

}  // namespace

REGIONS_CLONES
void share_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
               uint32_t count, int rows, const PairTable& pairs, uint16_t* before, Word* known) {
  const int words = words_for(width);
  if (!has_bits(known, words) && !has_bits(pixels, words)) return;
  for (int w = 0; w < words; ++w) {
    const Word left = known[w] & ~pixels[w];
    known[w] = pixels[w];
    if (left == 0) continue;
    for_each_run(&left, 1, [&](int begin, int end) {
      std::fill(before + w * kWordBits + begin, before + w * kWordBits + end, uint16_t{0});
    });
  }
  for_each_segment(pixels, starts, width, [&](int begin, int end, int64_t run) {
    if (run < 0) return;
    const uint32_t id = label[run];
    const auto now = static_cast<uint16_t>(id <= count ? id : 0);
    uint16_t* const last = before + end;
    for (uint16_t* p = before + begin; now != 0 && p < last;) {
      uint16_t* const other = end_of_equal(p, last);
      if (*p != 0) pairs.add<CpuAtomics>(*p, now, static_cast<uint32_t>((other - p) * rows));
      p = other;
    }
    std::fill(before + begin, last, now);
  });
}

}  // namespace regions
