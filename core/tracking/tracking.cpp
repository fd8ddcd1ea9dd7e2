// Divides one block of memory into the arrays that tracking requires.
#include "core/tracking/tracking.hpp"

#include <bit>
#include <cstddef>

namespace regions {
namespace {

// The result of dividing a block.
struct Division {
  TrackMemory memory;
  size_t reset_bytes = 0;  // number of bytes that a reset with IdNumbering::continued clears
  size_t bytes = 0;        // size of all arrays
};

// Computes the arrays in a block at `start`; only computes sizes if `start` is null.
Division divide(std::byte* start, Size picture, uint32_t max_regions) {
  Division division;
  const auto allocate = [&]<class T>(T*& array, size_t count) {
    if (start) array = reinterpret_cast<T*>(start + division.bytes);
    division.bytes += (count * sizeof(T) + 255) / 256 * 256;
  };
  TrackMemory& memory = division.memory;
  const size_t capacity = memory.capacity = max_regions;
  memory.pairs.max_pairs = 4 * max_regions;
  memory.pairs.slots = std::bit_ceil(2 * memory.pairs.max_pairs);
  // The arrays that a reset must clear come first.
  allocate(memory.counts_before, 1);
  allocate(memory.report, 1);
  allocate(memory.pairs.used_count, 1);
  allocate(memory.pairs.key, memory.pairs.slots);
  allocate(memory.pairs.count, memory.pairs.slots);
  const size_t pitch = (static_cast<size_t>(picture.width) * sizeof(uint16_t) + 255) / 256 * 256;
  allocate(memory.labels.data, pitch / sizeof(uint16_t) * static_cast<size_t>(picture.height));
  memory.labels.width = picture.width;
  memory.labels.height = picture.height;
  memory.labels.pitch = static_cast<ptrdiff_t>(pitch);
  allocate(memory.best_of_region, capacity);
  allocate(memory.best_of_track, 2 * capacity);
  allocate(memory.heir, capacity);
  for (uint32_t** list : {&memory.track_of, &memory.tracks_inside}) allocate(*list, capacity);
  for (uint32_t** list : {&memory.region_of, &memory.claims}) allocate(*list, 2 * capacity);
  division.reset_bytes = division.bytes + offsetof(TrackCounts, last_id);
  allocate(memory.counts, 1);

  allocate(memory.pairs.used, memory.pairs.max_pairs);
  for (Track*& tracks : memory.visible) allocate(tracks, capacity);
  for (Track*& tracks : memory.lost) allocate(tracks, capacity);
  for (uint32_t** list :
       {&memory.origin, &memory.lost_indices, &memory.occluded, &memory.occluded_rank,
        &memory.candidate, &memory.whole_of, &memory.piece_area})
    allocate(*list, capacity);
  allocate(memory.occluded_record, capacity);
  for (uint64_t*& keys : memory.outermost) allocate(keys, capacity);
  allocate(memory.destination, 2 * capacity);
  constexpr size_t kUnmatched = TrackMemory::kMaxUnmatched;
  for (uint32_t** list : {&memory.row, &memory.column}) allocate(*list, kUnmatched);
  for (TrackSummary** list : {&memory.row_summary, &memory.column_summary})
    allocate(*list, kUnmatched);
  for (uint64_t** list : {&memory.best_of_row, &memory.best_of_column, &memory.neighbour})
    allocate(*list, kUnmatched);
  return division;
}

}  // namespace

size_t tracking_bytes(Size picture, uint32_t max_regions) {
  return divide(nullptr, picture, max_regions).bytes;
}

size_t tracking_reset_bytes(Size picture, uint32_t max_regions, IdNumbering ids) {
  const size_t bytes = divide(nullptr, picture, max_regions).reset_bytes;
  return ids == IdNumbering::continued ? bytes : bytes + sizeof(TrackCounts::last_id);
}

TrackMemory tracking_in(void* memory, Size picture, uint32_t max_regions) {
  return divide(static_cast<std::byte*>(memory), picture, max_regions).memory;
}

}  // namespace regions
