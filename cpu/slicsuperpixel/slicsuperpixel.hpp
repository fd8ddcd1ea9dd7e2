// The steps of finding superpixels on the CPU, in the order in which a frame passes through them,
// and the memory of one frame.
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
  uint32_t color[3];  // sums of component + 128
};

// The labels of two touching pixels of different fragments.
struct FragmentContact {
  uint32_t a, b;
};

// A band of image rows: its runs in raster order, and all pairs of fragments that touch inside it
// or along the row above it. A pair may be listed several times.
struct FragmentBand {
  static constexpr int kMax = 64;  // bands per picture
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

inline constexpr size_t kMaxContactsPerPixel = 2;
size_t run_scratch_bytes(int width);

// Finds the runs and contacts of rows begin..end-1. `runs` must hold one entry per pixel,
// `contacts` kMaxContactsPerPixel entries per pixel, and `scratch` run_scratch_bytes().
FragmentBand find_runs(ConstLabelMap labels, const ColorPlanes& colors, int begin, int end,
                       FragmentRun* runs, FragmentContact* contacts, std::byte* scratch);

// Computes the colour sums of the runs from `colors`.
void sum_colors(const ColorPlanes& colors, std::span<FragmentRun> runs);

// The fragments and the arrays that enforce_connectivity() uses. Fragments have labels 1..n in
// raster order of their first pixels. Arrays have n + 1 entries and are indexed by label.
struct FragmentGraph {
  struct Pixel {
    uint16_t x, y;
  };
  Fragment* fragment;       // area and colour sums
  FragmentColor* color;     // mean colours
  Pixel* first_pixel;       // first pixels in raster order
  uint32_t* parent;         // union-find
  uint64_t* choice;         // choice_of() the best neighbour; 0 if the fragment does not choose
  uint32_t* chooser;        // list of the labels that choose in this round
  uint32_t* superpixel_of;  // result: superpixel labels 1..m
};

// Merges small fragments into neighbours by the rule of core/slicsuperpixel/fragments.hpp and fills
// graph.superpixel_of. Reorders the contacts of the bands. Returns the number of superpixels.
uint32_t enforce_connectivity(const FragmentGraph& graph, std::span<const FragmentBand> bands,
                              const RetentionRule& rule, const SlicScale& scale,
                              const Workers& workers);

// Sums of the frame's samples over a run, for the region records.
struct RunValues {
  uint32_t value[3];
};

struct SuperpixelBuffers {
  ColorPlanes colors;
  PackedSums* sums;        // [phases of rows][rows][3][columns + 2]
  uint32_t* max_distance;  // largest colour distances (SLICO), same shape as `sums`
  CellBuffers cells;
  // Cluster codes. While large cells are iterated, the chosen candidates. One vector can be read
  // beyond the end.
  Image<uint8_t> codes;
  LabelMap fragments;         // labels of the fragments before merging
  LabelMap labels;            // superpixel labels if the caller provides no label map
  FragmentRun* runs;          // [height][width]; a band starts at the entry of its first row
  FragmentContact* contacts;  // [height][width][kMaxContactsPerPixel]; shares memory with `sums`
  RunValues* values;          // [height][width]
  FragmentGraph graph;
  uint64_t* largest_fragment;  // [rows][columns] fragment_claim(), for tracks
  uint32_t* spares;            // [rows][columns] superpixel ids, for tracks
  Region* records;             // [max_regions], if the caller provides no table
  Border* borders;             // [border_table_size(max_regions)], if borders are configured
  std::byte* scratch[FragmentBand::kMax];
  FragmentBand bands[FragmentBand::kMax];
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

// Scratch memory that read_colors() requires for a picture of this width.
inline size_t color_scratch_bytes(int width) { return static_cast<size_t>(width) * 6; }

// Converts rows begin..end-1 of a frame of any format to planes of colour components.
void read_colors(const ConstFrame& frame, const ColorReader& reader, const ColorPlanes& planes,
                 int begin, int end, std::byte* scratch);

// The clusters of a frame, saved for the next frame (warm start).
struct SavedClusters {
  ClusterSums* sums = nullptr;       // [rows][columns]; null without warm start
  uint32_t* max_distance = nullptr;  // [rows][columns], SLICO only
};

struct Clustering {
  const SuperpixelBuffers& buffers;
  const SlicGrid& grid;
  const SlicScale& scale;
  const Workers& workers;

  // Places the seeds and iterates. Writes the final sums to `saved`. If `is_compatible` is set,
  // `saved` holds the clusters of a previous frame with the same grid and colour space, and the
  // frame starts from them. Returns which of the two sets of centres is the final one.
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

// Entries of the hash table that find_borders() requires for this many labels.
size_t border_table_size(size_t labels);

// Writes the borders between superpixels 1..recorded, sorted by their labels, and returns their
// number. superpixel_of[run.label] is the superpixel of a run. `table` must have
// border_table_size(recorded) entries; their contents do not matter.
uint32_t find_borders(std::span<const FragmentBand> bands, const uint32_t* superpixel_of,
                      uint32_t recorded_count, Border* table, Border* borders);

// Sums the samples of row y over each run. `values` receives one entry per run.
void sum_run_values(const ConstFrame& frame, int y, const FragmentRun* runs, size_t count,
                    std::byte* scratch, RunValues* values);

// Adds a run to the record of its superpixel. The records must be zero except for their ids.
void add_run(const FragmentRun& run, const RunValues& values, uint32_t label,
             std::span<Region> records);

// Adds a run to the moments of its superpixel. The colour sums of the run must be CIELAB.
void add_run(const FragmentRun& run, uint32_t label, std::span<Moments> moments);

// Write row y of an output picture.
void write_label_row(ConstLabelMap labels, int y, const Frame& out);
void write_boundary_row(ConstLabelMap labels, int y, const Frame& out);
void write_mean_row(ConstLabelMap labels, int y, std::span<const Region> records, const Frame& out);

// Sets the track of each record by the rules of core/slicsuperpixel/fragments.hpp. `labels` are the
// final labels.
void assign_tracks(const SuperpixelBuffers& buffers, std::span<const FragmentBand> bands,
                   const SlicGrid& grid, uint32_t min_area, ConstLabelMap labels,
                   std::span<Region> records);

}  // namespace regions
