// Cutting the memory of tracking into its parts.
#include "core/tracking/tracking.hpp"

#include <bit>
#include <cstddef>

namespace regions {
namespace {

struct Cut {
  TrackMemory memory;
  size_t past_bytes = 0;  // of what goes with Ids::go_on
  size_t bytes = 0;
};

Cut cut(std::byte* start, Size picture, uint32_t max_regions) {
  Cut cut;
  const auto piece = [&]<class T>(T*& at, size_t count) {
    if (start) at = reinterpret_cast<T*>(start + cut.bytes);
    cut.bytes += (count * sizeof(T) + 255) / 256 * 256;
  };
  TrackMemory& m = cut.memory;
  const size_t capacity = m.capacity = max_regions;
  m.pairs.most = 4 * max_regions;
  m.pairs.slots = std::bit_ceil(2 * m.pairs.most);
  // What forgetting clears comes first.
  piece(m.counts_before, 1);
  piece(m.report, 1);
  piece(m.pairs.used_count, 1);
  piece(m.pairs.key, m.pairs.slots);
  piece(m.pairs.count, m.pairs.slots);
  const size_t pitch = (static_cast<size_t>(picture.width) * sizeof(uint16_t) + 255) / 256 * 256;
  piece(m.labels.data, pitch / sizeof(uint16_t) * static_cast<size_t>(picture.height));
  m.labels.width = picture.width;
  m.labels.height = picture.height;
  m.labels.pitch = static_cast<ptrdiff_t>(pitch);
  piece(m.best_of_region, capacity);
  piece(m.best_of_track, 2 * capacity);
  for (uint32_t** list : {&m.track_of, &m.joins}) piece(*list, capacity);
  for (uint32_t** list : {&m.region_of, &m.claims}) piece(*list, 2 * capacity);
  cut.past_bytes = cut.bytes + offsetof(TrackCounts, last_id);
  piece(m.counts, 1);

  piece(m.pairs.used, m.pairs.most);
  for (Track*& tracks : m.visible) piece(tracks, capacity);
  for (Track*& tracks : m.lost) piece(tracks, capacity);
  for (uint32_t** list : {&m.origin, &m.kept, &m.part, &m.part_rank}) piece(*list, capacity);
  piece(m.part_record, capacity);
  for (uint64_t*& keys : m.outermost) piece(keys, capacity);
  piece(m.heir, 2 * capacity);
  constexpr size_t kFree = TrackMemory::kMaxFree;
  for (uint32_t** list : {&m.row, &m.column}) piece(*list, kFree);
  for (Spot** list : {&m.row_spot, &m.column_spot}) piece(*list, kFree);
  for (uint64_t** list : {&m.best_of_row, &m.best_of_column}) piece(*list, kFree);
  return cut;
}

}  // namespace

size_t tracking_bytes(Size picture, uint32_t max_regions) {
  return cut(nullptr, picture, max_regions).bytes;
}

size_t tracking_past_bytes(Size picture, uint32_t max_regions, Ids ids) {
  const size_t bytes = cut(nullptr, picture, max_regions).past_bytes;
  return ids == Ids::go_on ? bytes : bytes + sizeof(TrackCounts::last_id);
}

TrackMemory tracking_in(void* memory, Size picture, uint32_t max_regions) {
  return cut(static_cast<std::byte*>(memory), picture, max_regions).memory;
}

}  // namespace regions
