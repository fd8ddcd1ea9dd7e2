// A union-find forest of the runs of a binary or linked image: nodes are runs, trees are
// regions. Several threads build the forest in chunks of rows, then merge the chunks at the seams
// (the borders between chunks), then number the roots.
//
// Rows are added in bands. With 8-connectivity a binary image has bands of two rows, because all
// pixels of two rows that belong to one run of (upper | lower) are connected. Otherwise a band is
// one row. The rows of a volume are the rows of its slices one after another. No band extends over
// two slices, and a chunk of a volume consists of whole slices.
//
// If the bits come from a mask that is smaller than the picture, a "row" in this file is a row of
// the mask.
#pragma once

#include "core/backend.hpp"
#include "core/cclabel/cclabel.hpp"
#include "core/frame.hpp"
#include "core/workers.hpp"
#include "cpu/cclabel/run_adjacency.hpp"
#include "cpu/pixel_rows.hpp"

namespace regions {

// Number of additional entries that must be readable before the first and after the last entry of
// an array with one value per run, see write_row().
inline constexpr size_t kValuePadding = 16;

// A chunk of rows, added to the forest by one thread. Aligned to a cache line, because its
// thread changes it for each band while other threads change other chunks.
struct alignas(64) RowChunk {
  int begin = 0;  // the chunk consists of rows begin..end - 1
  int end = 0;
  int end_band = 0;           // index of the chunk's last band, plus 1
  uint32_t first_run = 0;     // index of the chunk's first run in the forest's arrays
  uint32_t runs = 0;          // number of runs in the chunk
  uint32_t roots = 0;         // number of runs that were roots after their band had been added
  uint32_t regions = 0;       // number of numbered regions whose first run is in this chunk
  uint32_t label_offset = 0;  // number of numbered regions of earlier chunks
  uint32_t merged = 0;        // number of roots that merge_seam() of this chunk made children
};

class RunForest {
 public:
  static constexpr int kMaxChunks = 64;

  // Allocates workspace for volumes up to this size. `gap` is the gap of the images, see BitImage.
  void allocate(Backend& backend, const VolumeLayout& max_volume, int gap);

  // Empties the forest and divides the rows into at most `max_chunks` chunks. The heights in
  // `volume` are numbers of rows of bits. `spans` maps these rows to rows of the picture.
  void reset(const VolumeLayout& volume, const RowSpans& spans, int band_rows, int max_chunks);
  int chunks() const { return chunk_count_; }
  RowChunk& chunk(int s) { return chunks_[s]; }
  const VolumeLayout& volume() const { return volume_; }
  const RowSpans& spans() const { return spans_; }
  int band_of(int row) const {
    if (volume_.total_slices() == 1) return row / band_rows_;
    const int k = row / volume_.slice.height;
    return k * bands_per_slice_ + (row - k * volume_.slice.height) / band_rows_;
  }
  // Returns the bits that mark the first pixels of the band's runs. The caller sets these bits
  // before begin_band(band).
  Word* run_starts(int band) const { return starts_.row(band); }

  // To add a band to a chunk, call begin_band(), then merge_bands() for each adjacent earlier band
  // of the chunk, then end_band(). Bands are added from top to bottom.
  void begin_band(RowChunk& chunk, int band);
  void merge_bands(int band, int earlier, const RunAdjacency& adjacency);
  void end_band(RowChunk& chunk, int band);
  // Sorts the roots of a band of two rows by the raster order of their regions' first pixels: moves
  // the roots without a pixel in the upper row after the other roots. `roots_before` is the value
  // of chunk.roots before the band was added.
  void sort_roots(RowChunk& chunk, int band, uint32_t roots_before, const Word* upper,
                  const Word* lower);
  // Merges the trees of a band of chunk s with the trees of a band of the previous chunk.
  void merge_seam(int s, int band, int earlier, const RunAdjacency& adjacency);
  // Calls merge(s) for the seam between each chunk s and the previous chunk. First merges pairs of
  // chunks, then pairs of merged pairs, and so on. Concurrent calls therefore change different
  // trees.
  template <std::invocable<int> Merge>
  void for_each_seam(const Workers& workers, Merge merge) const {
    for (int step = 1; step < chunk_count_; step *= 2) {
      const int seams = (chunk_count_ - step + 2 * step - 1) / (2 * step);
      workers.parallel_for(seams, [&](int k) { merge(step + 2 * step * k); });
    }
  }

  // Computes the area of each region in pixels. All seams must have been merged. `pixels`
  // contains the foreground. For each run that touches a side of the picture or volume, adds
  // `border` to the area of the run's region. The first and last slices are sides only if
  // `is_spatial` is true.
  void compute_areas(const BitImage& pixels, uint64_t border, bool is_spatial,
                     const Workers& workers);
  // Sets kSeeded in the areas of regions that contain a seed. Requires compute_areas().
  void mark_seeded(const BitImage& pixels, const Seeds& seeds);

  // Numbers all regions 1..n in raster order and returns n.
  uint32_t number_regions(const Workers& workers);
  // Numbers the regions whose area is within the bounds, and returns their number. If `only_seeded`
  // is true, a region must also contain a seed. All other regions get label 0. Requires
  // compute_areas(), and mark_seeded() if `only_seeded` is true.
  uint32_t number_regions(const Workers& workers, const AreaBounds& bounds, bool only_seeded);
  // Keeps the `limit` largest regions and numbers them again. Among regions with equal areas, keeps
  // the regions with the smallest numbers. Requires compute_areas() and more than `limit` regions.
  void keep_largest(uint32_t limit);
  // Separates the trees of the chunks, so that labels of different chunks can be resolved
  // concurrently. Afterwards only resolve_labels(), run_count(), reset() and the simple accessors
  // may be called.
  void detach_chunks(const Workers& workers);
  // Computes and returns the labels of the band's runs, from left to right. One thread must resolve
  // all bands of a chunk, from top to bottom.
  const uint32_t* resolve_labels(const RowChunk& chunk, int band);
  uint32_t run_count(const RowChunk& chunk, int band) const {
    const bool is_last = band + 1 == chunk.end_band;
    return (is_last ? chunk.first_run + chunk.runs : first_run_[band + 1]) - first_run_[band];
  }

 private:
  // The highest bit of a region's area is set if the region contains a seed.
  static constexpr uint64_t kSeeded = uint64_t{1} << 63;

  template <std::predicate<uint64_t> IsKept>
  uint32_t number_regions_if(const Workers& workers, IsKept is_kept);
  uint32_t find_root(uint32_t node) const {
    while (parent_[node] != node) node = parent_[node];
    return node;
  }
  uint32_t find_root_in_chunk(const RowChunk& chunk, uint32_t node) const {
    while (parent_[node] != node && parent_[node] >= chunk.first_run) node = parent_[node];
    return node;
  }
  void clear_areas();
  void add_area(const RowChunk& chunk, int band, int64_t run, uint64_t pixels) {
    const uint32_t node = first_run_[band] + static_cast<uint32_t>(run);
    area_[find_root_in_chunk(chunk, node)] += pixels;
  }
  void add_merged_areas();

  // Returns the start of the chunk's part of merged_. A seam merges fewer roots than there are runs
  // in the two rows (or slices) at the seam. Each row (or slice) has memory for twice as many
  // entries as it has pixels, so the parts of the seams above and below it do not overlap.
  uint32_t* merged_of(const RowChunk& chunk) const {
    return merged_ + 2 * (static_cast<size_t>(chunk.first_run) - pixels_beside_seam_);
  }
  template <std::invocable<uint32_t> F>
  void for_each_merged(const RowChunk& chunk, F f) const {
    const uint32_t* merged = chunk.merged ? merged_of(chunk) : nullptr;
    for (uint32_t k = 0; k < chunk.merged; ++k) f(merged[k]);
  }

  uint32_t root_of(const RowChunk& chunk, uint32_t region) const {
    return root_[chunk.first_run + region];
  }

  VolumeLayout volume_;
  RowSpans spans_;
  int band_rows_ = 1;
  int bands_per_slice_ = 1;
  int chunk_count_ = 0;
  RowChunk chunks_[kMaxChunks];
  BitImage starts_;      // [bands][words], bits of the first pixels of runs
  uint32_t* first_run_;  // [bands + 1], index of each band's first run
  uint32_t* parent_;     // [runs], index of the parent, never greater than the run's own index
  uint32_t* label_;      // [runs], label of each run that has been resolved, and of each root
  // [runs], indices of roots. The roots of a chunk begin at entry first_run. number_regions()
  // removes the roots that have no region number.
  uint32_t* root_;
  uint64_t* area_;    // [runs], areas in pixels, valid for roots only
  uint32_t* merged_;  // [2 * runs], roots that merge_seam() has made children
  // Number of pixels in the row (or slice, in a volume) above a seam.
  size_t pixels_beside_seam_ = 0;
  Block memory_;
};

}  // namespace regions
