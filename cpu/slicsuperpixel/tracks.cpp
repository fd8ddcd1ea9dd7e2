// Tracks, by the rules of core/slicsuperpixel/tracks.hpp.
#include "cpu/slicsuperpixel/tracks.hpp"

#include <algorithm>

#include "core/slicsuperpixel/tracks.hpp"

namespace regions {
namespace {

// The largest piece of each cluster.
void find_largest(const SuperpixelSlot& slot, std::span<const PieceStrip> strips,
                  const SlicGrid& grid) {
  uint32_t* const area = slot.graph.chooser;  // joining is done with it
  // Labels of pieces appear in order, so a new one is always the next.
  uint32_t seen = 0;
  for_each_run(strips, [&](const Run& run) {
    if (run.label > seen) area[++seen] = 0;
    area[run.label] += run.length;
  });
  std::fill_n(slot.largest, grid.cells(), 0);
  for (uint32_t p = 1; p <= seen; ++p) {
    const auto [x, y] = slot.graph.first[p];
    const uint32_t first = y * static_cast<uint32_t>(grid.size.width) + x;
    uint64_t& largest = slot.largest[cluster_at(slot.codes(x, y), x, y, grid)];
    largest = std::max(largest, piece_claim(area[p], first));
  }
}

}  // namespace

void track_superpixels(const SuperpixelSlot& slot, std::span<const PieceStrip> strips,
                       const SlicGrid& grid, uint32_t least, ConstLabelMap labels,
                       std::span<Region> records) {
  find_largest(slot, strips, grid);
  for (Region& r : records) r.track = kNoTrack;
  const auto width = static_cast<uint32_t>(grid.size.width);
  for (size_t k = 0; k < grid.cells(); ++k) {
    if (slot.largest[k] == 0) continue;
    const uint32_t first = claimed_first(slot.largest[k]);
    const uint32_t label = labels(static_cast<int>(first % width), static_cast<int>(first / width));
    if (label > records.size()) continue;
    uint32_t& track = records[label - 1].track;
    track = std::min(track, claimed_by(k, claimed_area(slot.largest[k]) >= least));
  }
  const auto cluster_of = [&](const Region& r) {
    return cluster_at(slot.codes(r.first_x, r.first_y), r.first_x, r.first_y, grid);
  };
  std::fill_n(slot.spares, grid.cells(), kNoTrack);
  for (const Region& r : records) {
    if (r.track != kNoTrack) continue;
    uint32_t& spare = slot.spares[cluster_of(r)];
    spare = std::min(spare, r.id);
  }
  for (Region& r : records) {
    const size_t cluster = cluster_of(r);
    r.track = track_of(r.track, r.id, cluster, slot.spares[cluster], grid);
  }
}

}  // namespace regions
