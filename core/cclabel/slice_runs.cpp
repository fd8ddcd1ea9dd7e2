// Sorting runs by their slices, in the manner of a counting sort.
#include "core/cclabel/slice_runs.hpp"

namespace regions {

void SliceRuns::sort(std::span<const PixelRun> runs, const Stack& stack) {
  const auto place_of = [&](const PixelRun& run) { return stack.place(static_cast<int>(run.row)); };
  // Counts are put two further, so that each slice's begin stands one further once they are added
  // up, and where it belongs once its runs have moved it.
  begin_.assign(static_cast<size_t>(stack.slices) + 2, 0);
  for (const PixelRun& run : runs) ++begin_[static_cast<size_t>(place_of(run).z) + 2];
  for (size_t k = 2; k < begin_.size(); ++k) begin_[k] += begin_[k - 1];
  sorted_.resize(runs.size());
  for (PixelRun run : runs) {
    const Stack::Place place = place_of(run);
    run.row = static_cast<uint32_t>(place.y);
    sorted_[begin_[static_cast<size_t>(place.z) + 1]++] = run;
  }
}

std::span<const PixelRun> SliceRuns::of(int z) const {
  const size_t first = begin_[static_cast<size_t>(z)], end = begin_[static_cast<size_t>(z) + 1];
  return {sorted_.data() + first, end - first};
}

}  // namespace regions
