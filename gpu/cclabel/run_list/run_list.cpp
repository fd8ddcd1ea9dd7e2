// Memory for listing runs, and the list of its phases.
#include "gpu/cclabel/run_list/run_list.hpp"

#include "core/error.hpp"

namespace regions::runs {

void RunList::allocate(Backend& backend, const Setup& setup) {
  constexpr uint32_t kMaxRegions = 1 << 16;  // two digits sort so many
  expects(setup.max_regions <= kMaxRegions,
          "attach-runs supports up to 65536 regions; max-regions is " +
              std::to_string(setup.max_regions));
  const Stack most{setup.size, setup.depth, setup.layers};
  const auto chunks_of_row = static_cast<size_t>(Runs::chunks_of_row(setup.size.width));
  const size_t blocks = blocks_for(setup.max_runs, Runs::kSortBlock);
  runs_.capacity = setup.max_runs;
  memory_.reserve(runs_.before, chunks_of_row * static_cast<size_t>(most.rows()));
  memory_.reserve(runs_.total, 1);
  for (PixelRun*& list : runs_.list) memory_.reserve(list, setup.max_runs);
  memory_.reserve(runs_.digits, Runs::kDigits * blocks);
  memory_.reserve(labels_, most.size().area());
  memory_.allocate(backend);
}

LabelMap RunList::labels(const Stack& stack) const {
  const int width = stack.slice.width;
  return {labels_, width, stack.rows(), static_cast<ptrdiff_t>(sizeof(uint32_t)) * width};
}

void RunList::fill(ConstLabelMap labels, const RegionTable& table, cudaStream_t stream) const {
  Runs runs = runs_;
  runs.capacity = table.run_capacity;
  list_runs(labels, table.capacity, runs, stream);
  sort_runs(runs, stream);
  publish_runs(runs, table, stream);
}

}  // namespace regions::runs
