// Counting shared pixels, run by run.
#include "cpu/cclabel/share.hpp"

#include <algorithm>

#include "cpu/tracking/tracking.hpp"

namespace regions {

void share_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
               uint32_t count, const PairTable& pairs, uint16_t* before) {
  for_each_segment(pixels, starts, width, [&](int begin, int end, int64_t run) {
    const uint32_t id = run < 0 ? 0 : label[run];
    const auto now = static_cast<uint16_t>(id <= count ? id : 0);
    uint16_t* const last = before + end;
    for (uint16_t* p = before + begin; now != 0 && p < last;) {
      uint16_t* const other = std::find_if(p, last, [&](uint16_t v) { return v != *p; });
      if (*p != 0) pairs.add<CpuAtomics>(*p, now, static_cast<uint32_t>(other - p));
      p = other;
    }
    std::fill(before + begin, last, now);
  });
}

}  // namespace regions
