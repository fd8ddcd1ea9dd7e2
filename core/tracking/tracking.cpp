// Divides one block of memory into the arrays of tracking.
#include "core/tracking/tracking.hpp"

#include <bit>
#include <cstddef>

namespace regions {
namespace {

struct Division {
  TrackMemory memory;
  size_t reset_bytes = 0;  // bytes to clear for IdNumbering::continued
  size_t bytes = 0;
};

Division divide(std::byte* start, Size picture, uint32_t max_regions) {
  Division division;
  const auto allocate = [&]<class T>(T*& at, size_t count) {
    if (start) at = reinterpret_cast<T*>(start + division.bytes);
    division.bytes += (count * sizeof(T) + 255) / 256 * 256;
  };
  TrackMemory& m = division.memory;
  const size_t capacity = m.capacity = max_regions;
  m.pairs.max_pairs = 4 * max_regions;
  m.pairs.slots = std::bit_ceil(2 * m.pairs.max_pairs);
  // The arrays that a reset clears come first.
  allocate(m.counts_before, 1);
  allocate(m.report, 1);
  allocate(m.pairs.used_count, 1);
  allocate(m.pairs.key, m.pairs.slots);
  allocate(m.pairs.count, m.pairs.slots);
  const size_t pitch = (static_cast<size_t>(picture.width) * sizeof(uint16_t) + 255) / 256 * 256;
  allocate(m.labels.data, pitch / sizeof(uint16_t) * static_cast<size_t>(picture.height));
  m.labels.width = picture.width;
  m.labels.height = picture.height;
  m.labels.pitch = static_cast<ptrdiff_t>(pitch);
  allocate(m.best_of_region, capacity);
  allocate(m.best_of_track, 2 * capacity);
  for (uint32_t** list : {&m.track_of, &m.tracks_inside}) allocate(*list, capacity);
  for (uint32_t** list : {&m.region_of, &m.claims}) allocate(*list, 2 * capacity);
  division.reset_bytes = division.bytes + offsetof(TrackCounts, last_id);
  allocate(m.counts, 1);

  allocate(m.pairs.used, m.pairs.max_pairs);
  for (Track*& tracks : m.visible) allocate(tracks, capacity);
  for (Track*& tracks : m.lost) allocate(tracks, capacity);
  for (uint32_t** list : {&m.origin, &m.lost_indices, &m.occluded, &m.occluded_rank})
    allocate(*list, capacity);
  allocate(m.occluded_record, capacity);
  for (uint64_t*& keys : m.outermost) allocate(keys, capacity);
  allocate(m.destination, 2 * capacity);
  constexpr size_t kFree = TrackMemory::kMaxFree;
  for (uint32_t** list : {&m.row, &m.column}) allocate(*list, kFree);
  for (TrackSummary** list : {&m.row_summary, &m.column_summary}) allocate(*list, kFree);
  for (uint64_t** list : {&m.best_of_row, &m.best_of_column}) allocate(*list, kFree);
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
