// Runs that touch are counted in a hash table of pairs, which is then sorted.
#include "cpu/slicsuperpixel/borders.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace regions {
namespace {

// Counts sides between pairs of labels, by linear probing. An entry is free while its length is 0;
// there always is a free one, as there are less than 3 borders a label.
class BorderCounter {
 public:
  BorderCounter(Border* table, uint32_t recorded)
      : table_(table), mask_(border_table_size(recorded) - 1), recorded_(recorded) {
    std::fill_n(table, mask_ + 1, Border{});
  }
  void add(uint32_t a, uint32_t b, uint32_t sides) {
    if (a > b) std::swap(a, b);
    if (a == b || b > recorded_) return;
    constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // Knuth's multiplicative hashing
    const uint64_t mixed = (static_cast<uint64_t>(a) << 32 | b) * kGoldenRatio;
    for (size_t at = mixed >> 32;; ++at) {
      Border& entry = table_[at & mask_];
      if (entry.length == 0) entry = {a, b, 0};
      if (entry.first != a || entry.second != b) continue;
      entry.length += sides;
      return;
    }
  }
  uint32_t sort_into(Border* borders) const {
    Border* const end =
        std::copy_if(table_, table_ + mask_ + 1, borders, [](const Border& b) { return b.length; });
    std::sort(borders, end, [](const Border& a, const Border& b) {
      return a.first != b.first ? a.first < b.first : a.second < b.second;
    });
    return static_cast<uint32_t>(end - borders);
  }

 private:
  Border* const table_;
  const size_t mask_;
  const uint32_t recorded_;
};

struct Row {
  const Run* begin;
  const Run* end;
};

void count_within(const Row& row, const uint32_t* dense, BorderCounter& counter) {
  for (const Run* run = row.begin + 1; run < row.end; ++run) {
    counter.add(dense[run[-1].label], dense[run->label], 1);
  }
}

void count_between(const Row& above, const Row& below, const uint32_t* dense,
                   BorderCounter& counter) {
  const auto end_of = [](const Run* run) { return run->x + run->length; };
  const Run *a = above.begin, *b = below.begin;
  while (a < above.end && b < below.end) {
    const uint32_t end = std::min(end_of(a), end_of(b));
    counter.add(dense[a->label], dense[b->label], end - std::max(a->x, b->x));
    if (end_of(a) == end) ++a;
    if (end_of(b) == end) ++b;
  }
}

}  // namespace

size_t border_table_size(size_t labels) { return std::bit_ceil(4 * std::max<size_t>(labels, 1)); }

uint32_t find_borders(std::span<const PieceStrip> strips, const uint32_t* dense, uint32_t recorded,
                      Border* table, Border* borders) {
  BorderCounter counter(table, recorded);
  Row above = {nullptr, nullptr};
  for (const PieceStrip& strip : strips) {
    const Run* const end = strip.runs.data() + strip.runs.size();
    for (const Run* run = strip.runs.data(); run != end;) {
      Row row = {run, run};
      while (row.end != end && row.end->y == run->y) ++row.end;
      count_within(row, dense, counter);
      count_between(above, row, dense, counter);
      above = row;
      run = row.end;
    }
  }
  return counter.sort_into(borders);
}

}  // namespace regions
