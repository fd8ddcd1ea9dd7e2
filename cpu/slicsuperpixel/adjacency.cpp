// Finds the borders between touching superpixels on the CPU. The length of each border is counted
// in a hash table of label pairs. The borders are then sorted by their labels.
#include <algorithm>
#include <bit>
#include <utility>

#include "cpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {
namespace {

// For each pair of labels, counts the pixel sides at which the labels touch. The counts are in a
// hash table with linear probing. An entry with length 0 is free. The table always has a free
// entry: it has at least four entries per label, and regions of a plane have fewer than three
// borders per region.
class BorderCounter {
 public:
  BorderCounter(Border* table, uint32_t recorded_count)
      : table_(table), mask_(border_table_size(recorded_count) - 1), recorded_(recorded_count) {
    std::fill_n(table, mask_ + 1, Border{});
  }
  void add(uint32_t a, uint32_t b, uint32_t sides) {
    if (a > b) std::swap(a, b);
    if (a == b || b > recorded_) return;
    constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // Knuth's multiplicative hashing
    const uint64_t hash = (static_cast<uint64_t>(a) << 32 | b) * kGoldenRatio;
    for (size_t index = hash >> 32;; ++index) {
      Border& entry = table_[index & mask_];
      if (entry.length == 0) entry = {a, b, 0};
      if (entry.first != a || entry.second != b) continue;
      entry.length += sides;
      return;
    }
  }
  // Writes the counted borders to `borders`, sorted by labels, and returns their number.
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

// The runs of one image row.
struct RunRow {
  const FragmentRun* begin;
  const FragmentRun* end;
};

// Counts the vertical pixel sides between neighbouring runs of a row.
void count_within(const RunRow& row, const uint32_t* superpixel_of, BorderCounter& counter) {
  for (const FragmentRun* run = row.begin + 1; run < row.end; ++run) {
    counter.add(superpixel_of[run[-1].label], superpixel_of[run->label], 1);
  }
}

// Counts the horizontal pixel sides between the runs of two consecutive rows.
void count_between(const RunRow& above, const RunRow& below, const uint32_t* superpixel_of,
                   BorderCounter& counter) {
  const auto end_of = [](const FragmentRun* run) { return run->x + run->length; };
  const FragmentRun *a = above.begin, *b = below.begin;
  while (a < above.end && b < below.end) {
    const uint32_t end = std::min(end_of(a), end_of(b));
    counter.add(superpixel_of[a->label], superpixel_of[b->label], end - std::max(a->x, b->x));
    if (end_of(a) == end) ++a;
    if (end_of(b) == end) ++b;
  }
}

}  // namespace

size_t border_table_size(size_t labels) { return std::bit_ceil(4 * std::max<size_t>(labels, 1)); }

uint32_t find_borders(std::span<const FragmentBand> bands, const uint32_t* superpixel_of,
                      uint32_t recorded_count, Border* table, Border* borders) {
  BorderCounter counter(table, recorded_count);
  RunRow above = {nullptr, nullptr};
  for (const FragmentBand& band : bands) {
    const FragmentRun* const end = band.runs.data() + band.runs.size();
    for (const FragmentRun* run = band.runs.data(); run != end;) {
      RunRow row = {run, run};
      while (row.end != end && row.end->y == run->y) ++row.end;
      count_within(row, superpixel_of, counter);
      count_between(above, row, superpixel_of, counter);
      above = row;
      run = row.end;
    }
  }
  return counter.sort_into(borders);
}

}  // namespace regions
