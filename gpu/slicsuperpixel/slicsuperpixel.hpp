// The steps by which the GPU finds the superpixels of a frame, in the order of execution, and the
// memory for one frame.
//
// The functions with a stream parameter launch their kernels on the stream and return. They neither
// allocate memory nor wait.
#pragma once

#include "core/drawing/drawing.hpp"
#include "core/workspace.hpp"
#include "gpu/runtime/launch.hpp"
#include "gpu/slicsuperpixel/ece1782.hpp"
#include "gpu/slicsuperpixel/fragments.hpp"

namespace regions::slicsuperpixel {

// The clusters of one frame. `colors` contains packed_color() of each pixel with 128 added to each
// component. A grid cell is divided into patches of kPatchRows rows; the highest byte of a colour
// is the pixel's row in its patch. Kernels may read columns and rows outside the picture, but do
// not use their values.
struct Clusters {
  static constexpr uint32_t kBiasBits = 0x00808080u;  // flips the sign bit of each component
  SlicGrid grid;
  SlicScale scale;
  Image<uint32_t> colors;
  // Three arrays [rows][columns]. Iteration i reads sums[i % 3], adds to sums[(i + 1) % 3], and
  // sets sums[(i + 2) % 3] to zero.
  ClusterSums* sums[3];
  // The sum of the centres' movements in each iteration, in sixteenths of a pixel. Iterations end
  // when the sum is at most `movement_tolerance`. The pointer is null if the tolerance is 0.
  unsigned long long* movement_sums = nullptr;  // [iterations]
  unsigned long long movement_tolerance = 0;
  // The sums of the previous frame for a warm start, or null without warm start. `is_compatible` is
  // true if the previous frame had the same grid, colour space and variant.
  ClusterSums* saved_sums = nullptr;  // [rows][columns]
  uint32_t* rejected = nullptr;       // [1], number of saved clusters that this frame cannot use
  bool is_compatible = false;
  // The largest colour distance of each cluster, in three arrays [rows][columns], which iterations
  // use like `sums`. The pointers are null unless the variant is SLICO.
  uint32_t* max_distance[3] = {};
  // The largest colour distances of the previous frame, or null without warm start.
  uint32_t* saved_max_distance = nullptr;  // [rows][columns]

  REGIONS_HD uint32_t color_at(int x, int y) const { return colors(x, y) ^ kBiasBits; }
  // Returns the number of executed iterations among the first i iterations. It is less than i if
  // the iterations have converged.
  REGIONS_HD int executed_iterations(int i) const {
    if (!movement_sums) return i;
    for (int j = 0; j < i; ++j) {
      if (movement_sums[j] <= movement_tolerance) return j + 1;
    }
    return i;
  }
};

// The tables for colour conversion.
struct ColorTables {
  const LabTables* tables = nullptr;
  bool has_16_copies = false;  // whether a block may keep 16 copies of a table in shared memory
};
// Allows blocks to keep 16 copies of the table LabTables::share in shared memory. Returns false if
// the device has too little shared memory. The setting applies to the current CUDA context only.
bool allow_16_table_copies();
// Converts a frame of any format to Clusters::colors.
void read_colors(const ConstFrame& frame, const ColorReader& reader, const ColorTables& tables,
                 const Clusters& clusters, cudaStream_t stream);
// Initialises the clusters from seeds or from the saved clusters. Writes sums[0], and sets sums[1]
// and `movement_sums` to zero.
void seed(const Clusters& clusters, int iterations, cudaStream_t stream);
// Runs iteration number `iteration`: assigns the pixels of `rows` and adds them to the sums of
// their clusters.
void iterate(const Clusters& clusters, int iteration, RowSubset rows, cudaStream_t stream);
// The version of iterate() for cells up to 16 pixels wide and 32 pixels high. Called by iterate().
void iterate_narrow(const Clusters& clusters, int iteration, RowSubset rows, cudaStream_t stream);
// The versions of iterate() and write_cluster_codes() for SLICO, called by these two functions.
void iterate_slico(const Clusters& clusters, int iteration, RowSubset rows, cudaStream_t stream);
void write_slico_codes(const Clusters& clusters, int iterations, Image<uint8_t> codes,
                       MergeCounts* counts, cudaStream_t stream);
// Copies the clusters after the last iteration to `saved_sums` for the next frame.
void save_clusters(const Clusters& clusters, int iterations, cudaStream_t stream);
// Performs the final assignment after the last iteration. Writes the cluster_code() of each pixel
// and clears the counts of the merge lists.
void write_cluster_codes(const Clusters& clusters, int iterations, Image<uint8_t> codes,
                         MergeCounts* counts, cudaStream_t stream);

// Finds the connected components of pixels with the same cluster code in each tile, and sums the
// areas and colours of the components. Links components of the same fragment across the edges of
// tiles.
void find_fragments(Image<const uint8_t> codes, const Clusters& clusters,
                    const Fragments& fragments, cudaStream_t stream);
// Does the same as write_cluster_codes() followed by find_fragments(). Uses a single kernel if
// possible.
void assign_and_find_fragments(const Clusters& clusters, int iterations, Image<uint8_t> codes,
                               const Fragments& fragments, cudaStream_t stream);
// Adds the sums of each component to the sums of its fragment, which may extend over several tiles.
void gather_fragments(const Fragments& fragments, cudaStream_t stream);
// Merges small fragments into neighbours. If a number of superpixels is requested, also merges all
// fragments that are not retained.
void enforce_connectivity(const Fragments& fragments, const RetentionRule& rule,
                          const SlicScale& scale, cudaStream_t stream);
// Returns the maximum number of blocks of the kernel that runs the last merge rounds, on the
// current device.
int max_merge_blocks();
// Writes the final labels. Superpixels are numbered in raster order of their first pixels.
void number_labels(const Fragments& fragments, LabelMap labels, cudaStream_t stream);

// The records of a frame's superpixels. `total` points to the number of superpixels in device
// memory.
struct Records {
  Region* region = nullptr;  // [capacity]
  uint32_t capacity = 0;
  const uint32_t* total = nullptr;  // [1]
  Moments* moments = nullptr;       // [capacity]; null if not requested
};
// Computes the records of superpixels 1..capacity from the final labels. `colors` has the format of
// Clusters::colors. If moments are requested, it must contain CIELAB colours.
void measure_records(ConstLabelMap labels, const ConstFrame& frame, const Image<uint32_t>& colors,
                     const Records& records, cudaStream_t stream);
// The data by which warm start finds the superpixel that continues each cluster. Claims and spare
// superpixels are explained in core/slicsuperpixel/fragments.hpp.
struct Tracks {
  // [rows][columns], fragment_claim() of the largest fragment of each cluster
  unsigned long long* largest_fragment = nullptr;
  // [rows][columns], id of the spare superpixel of each cluster, or kNoTrack
  uint32_t* spares = nullptr;
};
// Finds the largest fragment of each cluster. Call it between gather_fragments() and
// enforce_connectivity().
void find_largest_fragments(const SlicGrid& grid, Image<const uint8_t> codes,
                            const Fragments& fragments, const Tracks& tracks, cudaStream_t stream);
// Sets the track of each record by the rules of core/slicsuperpixel/fragments.hpp.
void assign_tracks(const SlicGrid& grid, uint32_t min_size, Image<const uint8_t> codes,
                   const Fragments& fragments, ConstLabelMap labels, const Tracks& tracks,
                   const Records& records, cudaStream_t stream);
// Copies the records to the caller's table in pinned memory. The copy engine copies the first
// `usual_count` records, also if there are fewer. A kernel copies the records after them. If a
// kernel copied all records, it would occupy multiprocessors while it waits for the PCIe bus.
void publish_records(const Records& records, uint32_t usual_count, const RegionTable& table,
                     cudaStream_t stream);

// The borders between superpixels that have a record. They are first counted in a hash table of
// label pairs. Then each border is written to the list of its lower label, and each list is sorted
// by the higher label.
struct Borders {
  uint32_t capacity = 0;    // maximum number of labels that get a record; others have no borders
  uint32_t table_size = 0;  // number of entries of the hash table, a power of two
  unsigned long long* key = nullptr;  // [table_size] lower label << 32 | higher label; 0: free
  uint32_t* length = nullptr;         // [table_size] length of the border in pixel sides
  uint32_t* degree = nullptr;         // [capacity] number of borders in the list of each label
  uint32_t* start = nullptr;          // [capacity + 1] index of the first border of each list
  uint32_t* listed = nullptr;         // [capacity] number of borders already written to each list
  Border* unsorted = nullptr;         // [max_borders(capacity)] the lists before sorting
  Border* sorted = nullptr;           // [max_borders(capacity)] the lists after sorting
};
// Finds the borders and writes them to the caller's table in pinned memory. `total` points to the
// number of labels in device memory.
void find_borders(ConstLabelMap labels, const uint32_t* total, const Borders& borders,
                  const RegionTable& table, cudaStream_t stream);

// Each function writes one kind of output picture: labels, boundaries or mean colours.
void write_label_picture(ConstLabelMap labels, const Frame& out, cudaStream_t stream);
void write_boundary_picture(ConstLabelMap labels, const Frame& out, cudaStream_t stream);
void write_mean_picture(ConstLabelMap labels, const Records& records, const Frame& out,
                        cudaStream_t stream);

// The device memory of one frame in flight.
class SuperpixelBuffers {
 public:
  // Allocates enough memory for all parameter values that are possible for pictures of this size.
  void allocate(const std::shared_ptr<Backend>& backend, const Setup& setup, SlicMethod method);

  // Returns the clusters of the frame for this grid. They use the memory of this object.
  Clusters clusters(const SlicGrid& grid, const SlicParams& params) const;
  // Returns the data of method=report. Throws InputError if the cells are too small, or if other
  // parameters cannot be combined with method=report.
  Ece1782 ece1782(const SlicGrid& grid, const SlicParams& params) const;
  const Fragments& fragments() const { return fragments_; }
  const Tracks& tracks() const { return tracks_; }
  Image<uint8_t> codes() const;
  Records records(uint32_t capacity, bool moments) const {
    return {records_, capacity, fragments_.total, moments ? moments_ : nullptr};
  }
  Borders borders(uint32_t capacity) const;
  // Returns the label map that is used if the caller provides none.
  LabelMap labels() const { return label_map(labels_); }
  Ink ink() const { return ink_in(ink_.data(), size_); }

 private:
  LabelMap label_map(uint32_t* labels) const;
  void reserve_fragments();
  void reserve_borders(uint32_t regions);

  Size size_;
  Workspace memory_;
  uint32_t* colors_ = nullptr;
  ClusterSums* sums_[3] = {};
  uint32_t* max_distance_[3] = {};
  unsigned long long* movement_sums_ = nullptr;
  uint8_t* codes_ = nullptr;
  uint32_t* labels_ = nullptr;
  // The pointers owners_, ece1782_sums_ and ece1782_means_ are null unless method=report.
  Owner* owners_ = nullptr;
  ClusterSums* ece1782_sums_ = nullptr;
  Ece1782Mean* ece1782_means_ = nullptr;
  Fragments fragments_ = {};
  Tracks tracks_;
  Region* records_ = nullptr;
  Moments* moments_ = nullptr;
  Borders borders_;
  Block ink_;
};

}  // namespace regions::slicsuperpixel
