// The steps by which the CPU finds the superpixels of a frame, roughly in the order of execution,
// and the memory for one frame.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "core/drawing/drawing.hpp"
#include "core/image.hpp"
#include "core/region.hpp"
#include "core/slicsuperpixel/fragments.hpp"
#include "core/workers.hpp"
#include "cpu/slicsuperpixel/superpixel_clusters.hpp"

namespace regions {

// Consecutive pixels of one row that belong to the same fragment.
struct FragmentRun {
  uint32_t label;
  uint16_t x, y;
  uint32_t length;
  uint32_t color[3];  // sum of (component + 128) for each colour component
};

// A contact of two fragments: the labels of two touching pixels of different fragments.
struct FragmentContact {
  uint32_t a, b;
};

// The runs of a band of image rows, in raster order, and all pairs of fragments that touch inside
// the band or at its upper edge. A pair may be listed several times.
struct FragmentBand {
  static constexpr int kMaxBands = 64;  // maximum number of bands per picture
  std::span<FragmentRun> runs;
  std::span<FragmentContact> contacts;
};

// Calls visit(run) for the runs of all bands in raster order.
template <std::invocable<const FragmentRun&> Visit>
void for_each_run(std::span<const FragmentBand> bands, Visit visit) {
  for (const FragmentBand& band : bands) {
    for (const FragmentRun& run : band.runs) visit(run);
  }
}

// Maximum number of contacts per pixel: one with the left neighbour and one with the upper
// neighbour.
inline constexpr size_t kMaxContactsPerPixel = 2;
// Returns the size of the scratch memory that find_runs() requires for a picture of this width.
size_t run_scratch_bytes(int width);

// Finds the runs and contacts of rows begin..end-1. `runs` must have space for one entry per pixel,
// `contacts` for kMaxContactsPerPixel entries per pixel, and `scratch` for run_scratch_bytes().
FragmentBand find_runs(ConstLabelMap labels, const ColorPlanes& colors, int begin, int end,
                       FragmentRun* runs, FragmentContact* contacts, std::byte* scratch);

// Computes the colour sums of the runs from `colors`.
void sum_colors(const ColorPlanes& colors, std::span<FragmentRun> runs);

// The arrays that enforce_connectivity() uses. The n fragments have labels 1..n in raster order of
// their first pixels. Each array has n + 1 entries. All arrays except `chooser` are indexed by
// label.
struct FragmentGraph {
  struct Pixel {
    uint16_t x, y;
  };
  Fragment* fragment;    // area and colour sums of each fragment
  FragmentColor* color;  // mean colour of each fragment
  Pixel* first_pixel;    // first pixel of each fragment in raster order
  uint32_t* parent;      // parent of each fragment in the union-find forest
  // choice_of() for the best neighbour of a fragment; 0: the fragment does not choose a neighbour.
  uint64_t* choice;
  uint32_t* chooser;        // list of the fragments that choose a neighbour in this round
  uint32_t* superpixel_of;  // the result: superpixel label (1, 2, ...) of each fragment
};

// Merges small fragments into neighbours by the rule of core/slicsuperpixel/fragments.hpp and fills
// graph.superpixel_of. Reorders the contacts of the bands. Returns the number of superpixels.
uint32_t enforce_connectivity(const FragmentGraph& graph, std::span<const FragmentBand> bands,
                              const RetentionRule& rule, const SlicScale& scale,
                              const Workers& workers);

// The sums of the frame's samples over a run, one sum per channel. Region records are computed from
// them.
struct RunValues {
  uint32_t value[3];
};

// The memory of one frame in flight.
struct SuperpixelBuffers {
  ColorPlanes colors;
  PackedSums* sums;  // [RowSubset::row_step][rows][3][columns + 2], see Clustering::sums_row()
  uint32_t* max_distance;  // largest colour distances (SLICO only), same shape as `sums`
  CellBuffers cells;
  // The cluster code of each pixel. During the iterations over large cells it contains the
  // candidate that each pixel chose. A vector can be read after the end of the last row.
  Image<uint8_t> codes;
  LabelMap fragments;         // label of each pixel's fragment before merging
  LabelMap labels;            // superpixel labels, used if the caller provides no label map
  FragmentRun* runs;          // [height][width]; a band's runs start at the entry of its first row
  FragmentContact* contacts;  // [height][width][kMaxContactsPerPixel], memory shared with `sums`
  RunValues* values;          // [height][width], arranged like `runs`; one entry per run
  FragmentGraph graph;
  // Used to assign tracks. [rows][columns], fragment_claim() of each cluster's largest fragment.
  uint64_t* largest_fragment;
  // Used to assign tracks. [rows][columns], the id of each cluster's spare superpixel, or kNoTrack;
  // see core/slicsuperpixel/fragments.hpp.
  uint32_t* spares;
  Region* records;  // [max_regions], used if the caller provides no table
  Border* borders;  // [border_table_size(max_regions)], null if borders are not configured
  std::byte* scratch[FragmentBand::kMaxBands];
  FragmentBand bands[FragmentBand::kMaxBands];
  Ink ink;

  void allocate(Backend& backend, const Setup& setup);
  FragmentRun* runs_from(int y) const { return runs + static_cast<size_t>(y) * width_; }
  FragmentContact* contacts_from(int y) const {
    return contacts + kMaxContactsPerPixel * static_cast<size_t>(y) * width_;
  }
  RunValues* values_from(int y) const { return values + static_cast<size_t>(y) * width_; }

 private:
  template <class T>
  T* allocate_array(Backend& backend, size_t count) {
    memory_.push_back(backend.allocate(count * sizeof(T)));
    return memory_.back().template as<T>();
  }
  void allocate_sums(Backend& backend, Size size);
  void allocate_graph(Backend& backend, size_t pixels);

  size_t width_ = 0;
  std::vector<Block> memory_;
};

// Returns the size of the scratch memory that read_colors() requires for a picture of this width.
inline size_t color_scratch_bytes(int width) { return static_cast<size_t>(width) * 6; }

// Converts rows begin..end-1 of a frame in any format to colour components.
void read_colors(const ConstFrame& frame, const ColorReader& reader, const ColorPlanes& planes,
                 int begin, int end, std::byte* scratch);

// The clusters of a frame, which are saved so that the next frame can start from them (warm start).
struct SavedClusters {
  ClusterSums* sums = nullptr;       // [rows][columns]; null without warm start
  uint32_t* max_distance = nullptr;  // [rows][columns], largest colour distances (SLICO only)
};

// Computes the clusters of one frame.
struct Clustering {
  const SuperpixelBuffers& buffers;
  const SlicGrid& grid;
  const SlicScale& scale;
  const Workers& workers;

  // Places the seeds and runs the iterations. Writes the final sums to `saved`. If `is_compatible`
  // is true, `saved` must contain the clusters of a previous frame with the same grid, colour space
  // and variant, and the frame starts from them. Returns the number (0 or 1) of the set of centres
  // that contains the result.
  int find_centers(const SlicParams& params, const SavedClusters& saved, bool is_compatible) const;
  void write_cluster_codes(int center_set) const;

 private:
  CellInput cells_of(int center_set) const { return {buffers.cells, grid, scale, center_set}; }
  bool uses_small_cells() const { return has_small_cells(grid); }
  PackedSums* sums_row(int row, int target, int phase) const;
  bool can_continue(const ClusterSums* saved) const;
  uint32_t* max_distance_row(int row, int target, int phase) const;
  void seed(bool can_continue, const SavedClusters& saved) const;
  uint64_t iterate(int center_set, int iteration, RowSubset row_subset,
                   const SavedClusters& saved) const;
  void assign(const AssignInput& input, RowSubset row_subset, bool is_first) const;
  void gather_sums(int row, int phase, const CellSumRow& to) const;
  uint64_t update_all_centers(int center_set, int phase, const SavedClusters& saved) const;
  bool is_slico() const { return scale.adaptive > 0; }
};

// Returns the number of hash table entries that find_borders() requires for `labels` labels.
size_t border_table_size(size_t labels);

// Writes the borders between superpixels 1..recorded_count to `borders`, sorted by their labels,
// and returns the number of borders. superpixel_of[run.label] is the superpixel of a run. `table`
// must have border_table_size(recorded_count) entries, whose contents do not matter.
uint32_t find_borders(std::span<const FragmentBand> bands, const uint32_t* superpixel_of,
                      uint32_t recorded_count, Border* table, Border* borders);

// Sums the samples of row y over each of the `count` runs of the row. `values` receives one entry
// per run.
void sum_run_values(const ConstFrame& frame, int y, const FragmentRun* runs, size_t count,
                    std::byte* scratch, RunValues* values);

// Adds a run to the record of its superpixel. The records must be zero except for their ids.
void add_run(const FragmentRun& run, const RunValues& values, uint32_t label,
             std::span<Region> records);

// Adds a run to the moments of its superpixel. The colour sums of the run must be CIELAB.
void add_run(const FragmentRun& run, uint32_t label, std::span<Moments> moments);

// Each function writes row y of an output picture: labels, boundaries or mean colours.
void write_label_row(ConstLabelMap labels, int y, const Frame& out);
void write_boundary_row(ConstLabelMap labels, int y, const Frame& out);
void write_mean_row(ConstLabelMap labels, int y, std::span<const Region> records, const Frame& out);

// Sets the track of each record by the rules of core/slicsuperpixel/fragments.hpp. `labels` are the
// final labels.
void assign_tracks(const SuperpixelBuffers& buffers, std::span<const FragmentBand> bands,
                   const SlicGrid& grid, uint32_t min_size, ConstLabelMap labels,
                   std::span<Region> records);

}  // namespace regions
