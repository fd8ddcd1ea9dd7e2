// Computes the region records, moments, tracks and output pictures of superpixels on the CPU.
// Records contain exact integer sums.
#include <algorithm>
#include <cstring>

#include "core/slicsuperpixel/fragments.hpp"
#include "cpu/pixel_rows.hpp"
#include "cpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {
namespace {

// Finds the largest fragment of each cluster and stores its fragment_claim().
void find_largest_fragments(const SuperpixelBuffers& buffers, std::span<const FragmentBand> bands,
                            const SlicGrid& grid) {
  // Uses the memory of graph.chooser, which enforce_connectivity() no longer needs.
  uint32_t* const area = buffers.graph.chooser;
  // Labels first occur in ascending order: a new label is the previous new label plus 1.
  uint32_t label_count = 0;
  for_each_run(bands, [&](const FragmentRun& run) {
    if (run.label > label_count) area[++label_count] = 0;
    area[run.label] += run.length;
  });
  std::fill_n(buffers.largest_fragment, grid.cells(), 0);
  for (uint32_t label = 1; label <= label_count; ++label) {
    const auto [x, y] = buffers.graph.first_pixel[label];
    const uint32_t first = y * static_cast<uint32_t>(grid.size.width) + x;
    uint64_t& largest = buffers.largest_fragment[cluster_at(buffers.codes(x, y), x, y, grid)];
    largest = std::max(largest, fragment_claim(area[label], first));
  }
}

}  // namespace

void sum_run_values(const ConstFrame& frame, int y, const FragmentRun* runs, size_t count,
                    std::byte* scratch, RunValues* values) {
  for (int c = 0; c < frame.layout.channels; ++c) {
    const std::byte* row = channel_row(frame, c, y, scratch);
    const auto sum = [&]<class Sample>(const Sample* samples) {
      for (size_t run = 0; run < count; ++run) {
        uint32_t total = 0;
        for (uint32_t i = 0; i < runs[run].length; ++i) total += samples[runs[run].x + i];
        values[run].value[c] = total;
      }
    };
    if (frame.layout.sample_bytes == 1) {
      sum(reinterpret_cast<const uint8_t*>(row));
    } else {
      sum(reinterpret_cast<const uint16_t*>(row));
    }
  }
  for (int c = frame.layout.channels; c < 3; ++c) {
    for (size_t run = 0; run < count; ++run) values[run].value[c] = 0;
  }
}

void add_run(const FragmentRun& run, const RunValues& values, uint32_t label,
             std::span<Region> records) {
  if (label > records.size()) return;
  Region& region = records[label - 1];
  const int end = run.x + static_cast<int>(run.length) - 1;
  if (region.area == 0) {
    region.first_x = region.left = run.x;
    region.first_y = region.top = run.y;
  }
  region.left = std::min<int32_t>(region.left, run.x);
  region.right = std::max(region.right, end);
  region.bottom = run.y;
  region.area += run.length;
  region.sum_x += static_cast<uint64_t>(run.length) * static_cast<uint64_t>(run.x + end) / 2;
  region.sum_y += static_cast<uint64_t>(run.length) * run.y;
  for (int c = 0; c < 3; ++c) region.sum_value[c] += values.value[c];
}

void add_run(const FragmentRun& run, uint32_t label, std::span<Moments> moments) {
  if (label > moments.size()) return;
  Moments& m = moments[label - 1];
  const auto squares_to = [](uint64_t n) { return n * (n + 1) * (2 * n + 1) / 6; };
  const uint64_t x = run.x, y = run.y, end = x + run.length;
  const uint64_t sum_x = run.length * (x + end - 1) / 2;
  for (int c = 0; c < 3; ++c) m.sum_lab[c] += run.color[c];
  m.sum_xx += squares_to(end - 1) - (x > 0 ? squares_to(x - 1) : 0);
  m.sum_xy += y * sum_x;
  m.sum_yy += run.length * y * y;
}

void write_label_row(ConstLabelMap labels, int y, const Frame& out) {
  const uint32_t* row = labels.row(y);
  const auto copy = [&]<class T>(T* to) {
    for (int x = 0; x < labels.width; ++x) to[x] = static_cast<T>(row[x]);
  };
  std::byte* to = out.at(0, 0, y);
  if (out.layout.sample_bytes == 1) return copy(reinterpret_cast<uint8_t*>(to));
  if (out.layout.sample_bytes == 2) return copy(reinterpret_cast<uint16_t*>(to));
  copy(reinterpret_cast<uint32_t*>(to));
}

void write_boundary_row(ConstLabelMap labels, int y, const Frame& out) {
  const uint32_t* row = labels.row(y);
  const uint32_t* above = labels.row(std::max(0, y - 1));
  auto* to = reinterpret_cast<uint8_t*>(out.at(0, 0, y));
  to[0] = row[0] != above[0] ? 255 : 0;
  for (int x = 1; x < labels.width; ++x) {
    to[x] = (row[x] != row[x - 1]) | (row[x] != above[x]) ? 255 : 0;
  }
}

void write_mean_row(ConstLabelMap labels, int y, std::span<const Region> records,
                    const Frame& out) {
  for (int c = 0; c < out.layout.channels; ++c) {
    const Component& component = out.layout.component[c];
    if (y & ((1 << component.y_shift) - 1)) continue;
    const uint32_t* row = labels.row(y);
    uint32_t last = 0;
    int mean = 0;
    for (int x = 0; x < out.width; x += 1 << component.x_shift) {
      if (row[x] > records.size()) continue;
      if (row[x] != last) {
        last = row[x];
        const Region& region = records[last - 1];
        mean = static_cast<int>((region.sum_value[c] + region.area / 2) / region.area);
      }
      out.set_sample(c, x, y, mean);
    }
  }
}

void assign_tracks(const SuperpixelBuffers& buffers, std::span<const FragmentBand> bands,
                   const SlicGrid& grid, uint32_t min_size, ConstLabelMap labels,
                   std::span<Region> records) {
  find_largest_fragments(buffers, bands, grid);
  for (Region& region : records) region.track = kNoTrack;
  const auto width = static_cast<uint32_t>(grid.size.width);
  for (size_t cluster = 0; cluster < grid.cells(); ++cluster) {
    if (buffers.largest_fragment[cluster] == 0) continue;
    const uint32_t first = claimed_first(buffers.largest_fragment[cluster]);
    const uint32_t label = labels(static_cast<int>(first % width), static_cast<int>(first / width));
    if (label > records.size()) continue;
    uint32_t& track = records[label - 1].track;
    track = std::min(
        track, claimed_by(cluster, claimed_area(buffers.largest_fragment[cluster]) >= min_size));
  }
  const auto cluster_of = [&](const Region& region) {
    return cluster_at(buffers.codes(region.first_x, region.first_y), region.first_x, region.first_y,
                      grid);
  };
  std::fill_n(buffers.spares, grid.cells(), kNoTrack);
  for (const Region& region : records) {
    if (region.track != kNoTrack) continue;
    uint32_t& spare = buffers.spares[cluster_of(region)];
    spare = std::min(spare, region.id);
  }
  for (Region& region : records) {
    const size_t cluster = cluster_of(region);
    region.track = track_of(region.track, region.id, cluster, buffers.spares[cluster], grid);
  }
}

}  // namespace regions
