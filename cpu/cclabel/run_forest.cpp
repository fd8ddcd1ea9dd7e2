// Implements the forest of runs: adds bands, merges chunks, computes areas and numbers regions.
//
// The functions that process the nodes of a band are compiled once for each instruction set,
// because counting bits takes most of their time.
#include "cpu/cclabel/run_forest.hpp"

#include <algorithm>
#include <cstring>

#include "core/workspace.hpp"

namespace regions {
namespace {

// Calls merge(node, other) for each pair of runs whose adjacency bit is set. `lower` contains the
// run starts of the later band, `upper` the run starts of the earlier band. A set bit x means that
// the run at column x touches the earlier run at column x + kShift. If the runs in a word of both
// bands touch pairwise in order, calls merge(node, other, count) once for the word, provided that
// `merge` has such an overload.
template <int kShift, std::invocable<uint32_t, uint32_t> Merge>
REGIONS_INLINE void for_each_shifted_pair(const Word* adjacency, const Word* lower,
                                          const Word* upper, uint32_t lower_first,
                                          uint32_t upper_first, int words, Merge merge) {
  // For the later and the earlier band: index of the last run that starts left of the current word.
  uint32_t last_lower_run = lower_first - 1, last_upper_run = upper_first - 1;
  for (int w = 0; w < words; ++w) {
    Word bits = adjacency[w];
    if (kShift == 0 && bits == lower[w] && bits == upper[w]) {  // all runs touch pairwise
      const uint32_t count = count_bits(bits);
      if constexpr (std::invocable<Merge, uint32_t, uint32_t, uint32_t>) {
        merge(last_lower_run + 1, last_upper_run + 1, count);
      } else {
        for (uint32_t k = 1; k <= count; ++k) merge(last_lower_run + k, last_upper_run + k);
      }
      last_lower_run += count;
      last_upper_run += count;
      continue;
    }
    for (; bits; bits &= bits - 1) {
      const Word here = mask_up_to_lowest(bits);
      const uint32_t node = last_lower_run + count_bits(lower[w] & here);
      uint32_t other;
      if constexpr (kShift <= 0) {
        other = last_upper_run + count_bits(upper[w] & (kShift < 0 ? here >> 1 : here));
      } else {
        const Word next = upper[w] >> 1 | (w + 1 < words ? upper[w + 1] << (kWordBits - 1) : 0);
        other = last_upper_run + count_bits(upper[w] & here) + ((next & bits & -bits) != 0);
      }
      merge(node, other);
    }
    last_lower_run += count_bits(lower[w]);
    last_upper_run += count_bits(upper[w]);
  }
}

// Calls merge() for each pair of adjacent runs.
template <std::invocable<uint32_t, uint32_t> Merge>
REGIONS_INLINE void for_each_adjacent_pair(const RunAdjacency& adjacency, const Word* lower,
                                           const Word* upper, uint32_t lower_first,
                                           uint32_t upper_first, int words, Merge merge) {
  for_each_shifted_pair<0>(adjacency.up, lower, upper, lower_first, upper_first, words, merge);
  if (adjacency.up_left) {
    for_each_shifted_pair<-1>(adjacency.up_left, lower, upper, lower_first, upper_first, words,
                              merge);
  }
  if (adjacency.up_right) {
    for_each_shifted_pair<1>(adjacency.up_right, lower, upper, lower_first, upper_first, words,
                             merge);
  }
}

// Finds the root of a node. Most nodes are roots or children of a root. On longer paths, every
// second node, starting with the second node, gets its grandparent as parent (path halving).
REGIONS_INLINE uint32_t find_root_and_halve_path(uint32_t* parent, uint32_t node) {
  node = parent[node];
  while (parent[node] != node) {
    const uint32_t parent_node = parent[node];
    node = parent[node] = parent[parent_node];
  }
  return node;
}

// Merges run `node` of the new band with run `other` of an earlier band. The greater root gets the
// smaller root as parent, so a root is the first run of its region.
struct RunMerger {
  uint32_t* parent;

  REGIONS_INLINE void operator()(uint32_t node, uint32_t other) const {
    const uint32_t upper_root = find_root_and_halve_path(parent, other);
    if (parent[node] == node) {  // the run has not been merged yet
      parent[node] = upper_root;
      return;
    }
    const uint32_t root = find_root_and_halve_path(parent, node);
    if (root == upper_root) return;
    if (root < upper_root) {
      parent[upper_root] = root;
    } else {
      parent[root] = upper_root;
    }
  }
  // Merges the runs node + k and other + k for k = 0..count - 1. A run that is not merged yet gets
  // the parent of the other run. This parent is not always a root; halve_paths() shortens the path
  // later.
  REGIONS_INLINE void operator()(uint32_t node, uint32_t other, uint32_t count) const {
    for (; count >= kLanes && are_unmerged(node);
         count -= kLanes, node += kLanes, other += kLanes) {
      std::memcpy(parent + node, parent + other, kLanes * sizeof *parent);
    }
    for (uint32_t k = 0; k < count; ++k) (*this)(node + k, other + k);
  }

 private:
  static constexpr uint32_t kLanes = 8;

  // Returns whether kLanes runs from `node` on have not been merged yet.
  REGIONS_INLINE bool are_unmerged(uint32_t node) const {
    uint32_t differ = 0;
    for (uint32_t k = 0; k < kLanes; ++k) differ |= parent[node + k] ^ (node + k);
    return differ == 0;
  }
};

// Returns how many bits are set in a row.
REGIONS_CLONES
uint32_t count_row_bits(const Word* row, int words) {
  uint32_t count = 0;
  for (int w = 0; w < words; ++w) count += count_bits(row[w]);
  return count;
}

// Merges all adjacent runs of two bands. `lower` and `lower_first` are the run starts and the index
// of the first run of the later band, `upper` and `upper_first` of the earlier band.
REGIONS_CLONES
void merge_adjacent_runs(uint32_t* parent, const RunAdjacency& adjacency, const Word* lower,
                         const Word* upper, uint32_t lower_first, uint32_t upper_first, int words) {
  for_each_adjacent_pair(adjacency, lower, upper, lower_first, upper_first, words,
                         RunMerger{parent});
}

// Gives each node first..end - 1 its grandparent as parent (path halving). Writes the
// nodes that are roots to `roots` and returns the number of roots.
REGIONS_CLONES
uint32_t halve_paths(uint32_t* parent, uint32_t first, uint32_t end, uint32_t* roots) {
  uint32_t count = 0;
  for (uint32_t node = first; node < end; ++node) {
    const uint32_t grandparent = parent[parent[node]];
    parent[node] = grandparent;
    roots[count] = node;
    count += grandparent == node;
  }
  return count;
}

// Moves the roots without a pixel in `upper` after the other roots. Both groups keep their order.
// `below` is workspace for `count` roots.
REGIONS_CLONES
void order_roots(uint32_t* roots, uint32_t count, uint32_t first_run, const Word* starts,
                 const Word* upper, const Word* lower, int words, uint32_t* below) {
  // The roots are in order of columns, so one pass along the band visits the pixels of all roots.
  uint32_t below_count = 0, next = 0, first_run_of_word = first_run;
  for (int w = 0; next < count; ++w) {
    const uint32_t runs_in_word = count_bits(starts[w]);
    for (Word bits = starts[w]; next < count && roots[next] < first_run_of_word + runs_in_word;
         ++next) {
      const uint32_t rank = roots[next] - first_run_of_word - (runs_in_word - count_bits(bits));
      for (uint32_t k = 0; k < rank; ++k) bits &= bits - 1;
      // `run` gets the bits of the run in this word. Adding the run's first bit to `band` clears
      // the run's bits, because the addition carries to the bit after the run's last bit.
      const Word band = upper[w] | lower[w];
      Word run = band & ~(band + (bits & -bits));
      bool has_upper = (run & upper[w]) != 0;
      for (int v = w + 1; !has_upper && run >> (kWordBits - 1) && v < words; ++v) {
        const Word next_word = upper[v] | lower[v];
        run = next_word & ~(next_word + 1);
        has_upper = (run & upper[v]) != 0;
      }
      if (has_upper) {
        roots[next - below_count] = roots[next];
      } else {
        below[below_count++] = roots[next];
      }
    }
    first_run_of_word += runs_in_word;
  }
  std::copy_n(below, below_count, roots + count - below_count);
}

// Gives each node first..end - 1 the label of its parent.
REGIONS_CLONES
void label_runs(const uint32_t* parent, uint32_t* label, uint32_t first, uint32_t end) {
  for (uint32_t node = first; node < end; ++node) label[node] = label[parent[node]];
}

}  // namespace

void RunForest::allocate(Backend& backend, const VolumeLayout& max_volume, int gap) {
  // The arrays have one entry per pixel, because there are at most as many runs as pixels. The
  // system provides pages only when they are touched, so the unused part of the arrays takes no
  // memory.
  const Size size = max_volume.size();
  const size_t nodes = size.area(), bands = static_cast<size_t>(size.height) + 1;
  Workspace memory;
  starts_.words = words_for(size.width);
  starts_.gap = gap;
  memory.reserve(starts_.data, static_cast<size_t>(starts_.words + starts_.gap) * bands, 1);
  memory.reserve(first_run_, bands);
  memory.reserve(parent_, nodes);
  memory.reserve(label_, nodes, kValuePadding);
  memory.reserve(root_, nodes);
  memory.reserve(area_, nodes);
  memory.reserve(merged_, 2 * nodes);
  memory.allocate(backend);
  memory_ = memory.release();
}

void RunForest::reset(const VolumeLayout& volume, const RowSpans& spans, int band_rows,
                      int max_chunks) {
  volume_ = volume;
  spans_ = spans;
  band_rows_ = band_rows;
  bands_per_slice_ = (volume.slice.height + band_rows - 1) / band_rows;
  // A chunk consists of whole units. A unit is a band if there is only one slice, else a slice.
  const bool is_flat = volume.total_slices() == 1;
  pixels_beside_seam_ = is_flat ? static_cast<size_t>(volume.slice.width) : volume.slice.area();
  const int units = is_flat ? bands_per_slice_ : volume.total_slices();
  const int rows_per_unit = is_flat ? band_rows : volume.slice.height;
  const int units_per_chunk = (units + max_chunks - 1) / max_chunks;
  chunk_count_ = (units + units_per_chunk - 1) / units_per_chunk;
  for (int s = 0; s < chunk_count_; ++s) {
    const int end = std::min(units, (s + 1) * units_per_chunk);
    chunks_[s] = {.begin = s * units_per_chunk * rows_per_unit,
                  .end = std::min(volume.rows(), end * rows_per_unit),
                  .end_band = is_flat ? end : end * bands_per_slice_};
    chunks_[s].first_run = static_cast<uint32_t>(static_cast<size_t>(chunks_[s].begin) *
                                                 static_cast<size_t>(volume.slice.width));
  }
}

void RunForest::begin_band(RowChunk& chunk, int band) {
  const uint32_t first = chunk.first_run + chunk.runs;
  const uint32_t end = first + count_row_bits(run_starts(band), starts_.words);
  first_run_[band] = first;
  for (uint32_t node = first; node < end; ++node) parent_[node] = node;
  chunk.runs = end - chunk.first_run;
}

void RunForest::merge_bands(int band, int earlier, const RunAdjacency& adjacency) {
  merge_adjacent_runs(parent_, adjacency, run_starts(band), run_starts(earlier), first_run_[band],
                      first_run_[earlier], starts_.words);
}

void RunForest::end_band(RowChunk& chunk, int band) {
  chunk.roots += halve_paths(parent_, first_run_[band], chunk.first_run + chunk.runs,
                             root_ + chunk.first_run + chunk.roots);
}

void RunForest::sort_roots(RowChunk& chunk, int band, uint32_t roots_before, const Word* upper,
                           const Word* lower) {
  uint32_t* roots = root_ + chunk.first_run + roots_before;
  const uint32_t count = chunk.roots - roots_before;
  // The labels of the chunk's later bands are not in use yet, so their memory serves as workspace.
  uint32_t* below = label_ + chunk.first_run + chunk.runs;
  if (count > 1) {
    order_roots(roots, count, first_run_[band], run_starts(band), upper, lower, starts_.words,
                below);
  }
}

void RunForest::merge_seam(int s, int band, int earlier, const RunAdjacency& adjacency) {
  // Changes only the parents of roots, so the trees within a chunk stay the same.
  uint32_t* merged = merged_of(chunks_[s]) + chunks_[s].merged;
  const auto merge = [&](uint32_t node, uint32_t other) {
    const uint32_t a = find_root(node), b = find_root(other);
    if (a == b) return;
    parent_[std::max(a, b)] = std::min(a, b);
    *merged++ = std::max(a, b);
  };
  for_each_adjacent_pair(adjacency, run_starts(band), run_starts(earlier), first_run_[band],
                         first_run_[earlier], starts_.words, merge);
  chunks_[s].merged = static_cast<uint32_t>(merged - merged_of(chunks_[s]));
}

void RunForest::clear_areas() {
  // Every root is in a chunk's list of roots or, if a seam has merged it, in a list of merged
  // roots. This is also true after number_regions(workers), which removes only merged roots.
  for (int s = 0; s < chunk_count_; ++s) {
    const RowChunk& chunk = chunks_[s];
    for (uint32_t k = 0; k < chunk.roots; ++k) area_[root_[chunk.first_run + k]] = 0;
    for_each_merged(chunk, [&](uint32_t root) { area_[root] = 0; });
  }
}

void RunForest::add_merged_areas() {
  for (int s = 0; s < chunk_count_; ++s) {
    for_each_merged(chunks_[s], [&](uint32_t root) { area_[find_root(root)] += area_[root]; });
  }
}

void RunForest::compute_areas(const BitImage& pixels, uint64_t border, bool is_spatial,
                              const Workers& workers) {
  const VolumeLayout& volume_layout = volume_;
  const int width = volume_layout.slice.width;
  const auto is_first_or_last = [](int i, int count) { return i == 0 || i == count - 1; };
  clear_areas();
  workers.parallel_for(chunk_count_, [&](int s) {
    const RowChunk& chunk = chunks_[s];
    for (int row = chunk.begin; row < chunk.end; ++row) {
      const int band = band_of(row);
      const VolumeLayout::Position position = volume_layout.position(row);
      const auto height = static_cast<uint64_t>(spans_.height(row));
      const bool at_edge = is_first_or_last(position.y, volume_layout.slice.height) ||
                           (is_spatial && is_first_or_last(position.z, volume_layout.slices));
      for_each_segment(pixels.row(row), run_starts(band), width,
                       [&](int begin, int end, int64_t run) {
                         if (run < 0) return;
                         const bool touches = at_edge || begin == 0 || end == width;
                         const auto count = static_cast<uint64_t>(end - begin) * height;
                         add_area(chunk, band, run, count + (touches ? border : 0));
                       });
    }
  });
  add_merged_areas();
}

void RunForest::mark_seeded(const BitImage& pixels, const Seeds& seeds) {
  for (int i = 0; i < seeds.count; ++i) {
    const int w = seeds.x[i] / kWordBits;
    const Word bit = Word{1} << seeds.x[i] % kWordBits;
    const int row = spans_.span_of(seeds.y[i]);
    if (!(pixels.row(row)[w] & bit)) continue;
    const int band = band_of(row);
    const Word* band_starts = run_starts(band);
    const uint32_t runs =
        count_row_bits(band_starts, w) + count_bits(band_starts[w] & mask_up_to_lowest(bit));
    area_[find_root(first_run_[band] + runs - 1)] |= kSeeded;
  }
}

uint32_t RunForest::number_regions(const Workers& workers) {
  return number_regions_if(workers, [](uint64_t) { return true; });
}

uint32_t RunForest::number_regions(const Workers& workers, const AreaBounds& bounds,
                                   bool only_seeded) {
  return number_regions_if(workers, [&](uint64_t area) {
    return bounds.contain(area & ~kSeeded) && (!only_seeded || (area & kSeeded));
  });
}

// Numbers the regions for which is_kept(area) is true; `area` may include the bit kSeeded.
template <std::predicate<uint64_t> IsKept>
uint32_t RunForest::number_regions_if(const Workers& workers, IsKept is_kept) {
  workers.parallel_for(chunk_count_, [&](int s) {
    RowChunk& chunk = chunks_[s];
    uint32_t* roots = root_ + chunk.first_run;
    for (uint32_t k = 0; k < chunk.roots; ++k) label_[roots[k]] = 0;
    chunk.regions = 0;
    for (uint32_t k = 0; k < chunk.roots; ++k) {
      const uint32_t root = find_root(roots[k]);
      if (root < chunk.first_run || label_[root] != 0) continue;
      if (!is_kept(area_[root])) continue;
      roots[chunk.regions++] = root;
      label_[root] = chunk.regions;
    }
  });
  uint32_t total = 0;
  for (int s = 0; s < chunk_count_; ++s) {
    chunks_[s].label_offset = total;
    total += chunks_[s].regions;
  }
  workers.parallel_for(chunk_count_, [&](int s) {
    const RowChunk& chunk = chunks_[s];
    if (chunk.label_offset == 0) return;
    for (uint32_t k = 0; k < chunk.regions; ++k) label_[root_of(chunk, k)] += chunk.label_offset;
  });
  return total;
}

void RunForest::keep_largest(uint32_t limit) {
  // Radix selection of the `limit` largest areas, one byte per pass. `min_kept` becomes the area of
  // the smallest region that is kept. `ties` becomes the number of kept regions with exactly this
  // area.
  uint64_t min_kept = 0, ties = limit;
  for (int shift = 24; shift >= 0; shift -= 8) {
    uint32_t histogram[256] = {};
    for (int s = 0; s < chunk_count_; ++s) {
      for (uint32_t k = 0; k < chunks_[s].regions; ++k) {
        const uint64_t area = area_[root_of(chunks_[s], k)];
        if (area >> (shift + 8) == min_kept >> (shift + 8)) ++histogram[area >> shift & 255];
      }
    }
    uint64_t digit = 255;
    for (; digit > 0 && histogram[digit] < ties; --digit) ties -= histogram[digit];
    min_kept |= digit << shift;
  }
  uint32_t label = 0;
  for (int s = 0; s < chunk_count_; ++s) {
    for (uint32_t k = 0; k < chunks_[s].regions; ++k) {
      const uint32_t root = root_of(chunks_[s], k);
      const bool is_tie = area_[root] == min_kept && ties > 0;
      ties -= is_tie;
      label_[root] = area_[root] > min_kept || is_tie ? ++label : 0;
    }
  }
}

void RunForest::detach_chunks(const Workers& workers) {
  workers.parallel_for(chunk_count_, [&](int s) {
    for_each_merged(chunks_[s], [&](uint32_t root) { label_[root] = label_[find_root(root)]; });
  });
  workers.parallel_for(chunk_count_, [&](int s) {
    for_each_merged(chunks_[s], [&](uint32_t root) { parent_[root] = root; });
  });
}

const uint32_t* RunForest::resolve_labels(const RowChunk& chunk, int band) {
  const uint32_t first = first_run_[band];
  label_runs(parent_, label_, first, first + run_count(chunk, band));
  return label_ + first;
}

}  // namespace regions
