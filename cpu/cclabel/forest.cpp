// Building the forest of runs and joining its strips; forest_labels.cpp numbers it.
#include "cpu/cclabel/forest.hpp"

#include <algorithm>

#include "cpu/cclabel/band_links.hpp"
#include "cpu/cclabel/touching_runs.hpp"
#include "cpu/cclabel/write.hpp"
#include "cpu/memory_cutter.hpp"

namespace regions {
void Forest::allocate(Backend& backend, const Stack& most) {
  // Runs are at most the pixels; memory that is never touched costs nothing.
  const Size size = most.size();
  const size_t nodes = size.area(), bands = static_cast<size_t>(size.height) + 1;
  memory_ = allocate_pieces(backend, [&](MemoryCutter& cutter) {
    starts_ = {cutter.piece<Word>(static_cast<size_t>(words_for(size.width)) * bands), 0};
    first_run_ = cutter.piece<uint32_t>(bands);
    parent_ = cutter.piece<uint32_t>(nodes);
    label_ = cutter.piece<uint32_t>(nodes, kValueSlack);
    birth_ = cutter.piece<uint32_t>(nodes);
    area_ = cutter.piece<uint64_t>(nodes);
    lost_ = cutter.piece<uint32_t>(2 * nodes);
  });
}

void Forest::begin(const Stack& stack, const RowSpans& spans, int band_rows, int strips) {
  stack_ = stack;
  spans_ = spans;
  band_rows_ = band_rows;
  starts_.words = words_for(stack.slice.width);
  bands_ = (stack.slice.height + band_rows - 1) / band_rows;
  // A strip is so many of these: bands of the only slice, or slices.
  const bool is_flat = stack.depth() == 1;
  seam_ = is_flat ? static_cast<size_t>(stack.slice.width) : stack.slice.area();
  const int pieces = is_flat ? bands_ : stack.depth();
  const int rows_of_piece = is_flat ? band_rows : stack.slice.height;
  const int each = (pieces + strips - 1) / strips;
  strip_count_ = (pieces + each - 1) / each;
  for (int s = 0; s < strip_count_; ++s) {
    const int end = std::min(pieces, (s + 1) * each);
    strip_[s] = {.begin = s * each * rows_of_piece,
                 .end = std::min(stack.rows(), end * rows_of_piece),
                 .end_band = is_flat ? end : end * bands_};
    strip_[s].first_run = static_cast<uint32_t>(static_cast<size_t>(strip_[s].begin) *
                                                static_cast<size_t>(stack.slice.width));
  }
}

void Forest::begin_band(Strip& strip, int band) {
  const uint32_t first = strip.first_run + strip.runs;
  const uint32_t end = first + count_row(starts(band), starts_.words);
  first_run_[band] = first;
  for (uint32_t node = first; node < end; ++node) parent_[node] = node;
  strip.runs = end - strip.first_run;
}

void Forest::unite(int band, int earlier, const Contacts& contacts) {
  unite_band(parent_, contacts, starts(band), starts(earlier), first_run_[band],
             first_run_[earlier], starts_.words);
}

void Forest::end_band(Strip& strip, int band) {
  strip.births += halve_paths(parent_, first_run_[band], strip.first_run + strip.runs,
                              birth_ + strip.first_run + strip.births);
}

void Forest::sort_births(Strip& strip, int band, uint32_t births_before, const Word* upper,
                         const Word* lower) {
  uint32_t* birth = birth_ + strip.first_run + births_before;
  const uint32_t count = strip.births - births_before;
  uint32_t* below = label_ + strip.first_run + strip.runs;  // free until later bands
  if (count > 1) {
    order_births(birth, count, first_run_[band], starts(band), upper, lower, starts_.words, below);
  }
}

void Forest::join_seam(int s, int band, int earlier, const Contacts& contacts) {
  // Nothing but roots is changed, so each strip's own trees stay as they are.
  uint32_t* lost = lost_of(strip_[s]) + strip_[s].lost;
  const auto join = [&](uint32_t node, uint32_t other) {
    const uint32_t a = find(node), b = find(other);
    if (a == b) return;
    parent_[std::max(a, b)] = std::min(a, b);
    *lost++ = std::max(a, b);
  };
  for_all_contacts(contacts, starts(band), starts(earlier), first_run_[band], first_run_[earlier],
                   starts_.words, join);
  strip_[s].lost = static_cast<uint32_t>(lost - lost_of(strip_[s]));
}

}  // namespace regions
