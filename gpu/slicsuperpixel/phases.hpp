// The phases of finding superpixels, in the order in which enqueue() calls them. Each puts its
// kernels on the stream and returns.
#pragma once

#include "gpu/runtime/chain.hpp"
#include "gpu/slicsuperpixel/pieces.hpp"

namespace regions::slic {

// Clusters of one frame. Colours are packed_color() with 128 added to each component, and the row
// in the patch in the uppermost byte; columns and rows beyond the picture may be read, never used.
struct Clusters {
  static constexpr uint32_t kBiasBits = 0x00808080u;
  SlicGrid grid;
  SlicScale scale;
  Image<uint32_t> colors;
  // Iteration i reads [i % 3], adds to [(i + 1) % 3] and clears [(i + 2) % 3].
  ClusterSums* sums[3];  // [rows][columns]
  // How far centres moved in each iteration; null if not asked for.
  unsigned long long* moved = nullptr;  // [iterations]
  unsigned long long limit = 0;
  // Warm start: sums of the last frame, or null; `same` if its cells and colours were like these.
  ClusterSums* kept = nullptr;  // [rows][columns]
  uint32_t* unfit = nullptr;    // how many of them cannot stay
  bool same = false;
  // Of slico: reaches by turns as `sums`, null of slic; and those of the last frame.
  uint32_t* reach[3] = {};         // [rows][columns]
  uint32_t* kept_reach = nullptr;  // [rows][columns]

  REGIONS_HD uint32_t color_at(int x, int y) const { return colors(x, y) ^ kBiasBits; }
  // Whether iterations before i have settled.
  REGIONS_HD int executed(int i) const {
    if (!moved) return i;
    for (int j = 0; j < i; ++j) {
      if (moved[j] <= limit) return j + 1;
    }
    return i;
  }
};

// What colours are looked up in.
struct ColorTables {
  const LabTables* tables = nullptr;
  bool many = false;  // a block may have a copy for each pair of banks
};
// Lets blocks have so many copies; false if the device cannot. Holds for the context in use alone.
bool allow_many_tables();
void read_colors(const ConstFrame& frame, const ColorReader& reader, const ColorTables& tables,
                 const Clusters& clusters, cudaStream_t stream);
// Fills sums[0], clears sums[1] and `moved`.
void seed(const Clusters& clusters, int iterations, cudaStream_t stream);
void iterate(const Clusters& clusters, int iteration, RowChoice rows, cudaStream_t stream);
// Of cells up to 16 pixels wide, where iterate() calls it.
void iterate_narrow(const Clusters& clusters, int iteration, RowChoice rows, cudaStream_t stream);
// Of slico, where the two of slic call them.
void iterate_adaptive(const Clusters& clusters, int iteration, RowChoice rows, cudaStream_t stream);
void write_adaptive_codes(const Clusters& clusters, int iterations, Image<uint8_t> codes,
                          JoinCounts* counts, cudaStream_t stream);
// After `iterations` of them, keeps the sums for the next frame.
void keep(const Clusters& clusters, int iterations, cudaStream_t stream);
// After `iterations` of them, writes each pixel's cluster_code; clears the counts of what comes
// next.
void write_codes(const Clusters& clusters, int iterations, Image<uint8_t> codes, JoinCounts* counts,
                 cudaStream_t stream);

// Components of touching pixels with the same code, with their areas and colours, and which of them
// are one piece across the edges of tiles.
void find_components(Image<const uint8_t> codes, const Clusters& clusters, const Pieces& pieces,
                     cudaStream_t stream);
// Both of the last.
void assign_last(const Clusters& clusters, int iterations, Image<uint8_t> codes,
                 const Pieces& pieces, cudaStream_t stream);
// Sums what pieces have in several tiles.
void gather(const Pieces& pieces, cudaStream_t stream);
// Small pieces join others; of a wanted number, all but the largest.
void join_pieces(const Pieces& pieces, const StayRule& rule, const SlicScale& scale,
                 cudaStream_t stream);
// How many blocks may join, on the current device.
int join_blocks();
// Final labels, in raster order, to `labels`.
void number_labels(const Pieces& pieces, LabelMap labels, cudaStream_t stream);

// Fills records[0..capacity) from final labels; `total` of them are known on the device.
struct Records {
  Region* region = nullptr;  // [capacity]
  uint32_t capacity = 0;
  const uint32_t* total = nullptr;
  Moments* moments = nullptr;  // [capacity]; null if not asked for
};
// `colors` are as in Clusters and, if moments are asked for, of CIELAB.
void measure_records(ConstLabelMap labels, const ConstFrame& frame, const Image<uint32_t>& colors,
                     const Records& records, cudaStream_t stream);
// Warm start: which superpixel continues which cluster.
struct Tracks {
  unsigned long long* largest = nullptr;  // [rows][columns] piece_claim()
  uint32_t* spares = nullptr;             // [rows][columns] ids of superpixels
};
// Between gather() and join_pieces().
void find_largest(const SlicGrid& grid, Image<const uint8_t> codes, const Pieces& pieces,
                  const Tracks& tracks, cudaStream_t stream);
void track_records(const SlicGrid& grid, uint32_t least, Image<const uint8_t> codes,
                   const Pieces& pieces, ConstLabelMap labels, const Tracks& tracks,
                   const Records& records, cudaStream_t stream);
// Brings the records there are to pinned memory.
void publish_records(const Records& records, const RegionTable& table, cudaStream_t stream);

// Borders between recorded superpixels: a hash table of pairs of labels, then lists sorted by them.
struct Borders {
  uint32_t capacity = 0;              // labels that are recorded
  uint32_t places = 0;                // of the hash table, a power of two
  unsigned long long* key = nullptr;  // [places] lower label << 32 | other; 0: free
  uint32_t* length = nullptr;         // [places]
  uint32_t* degree = nullptr;         // [capacity] borders whose lower label is so
  uint32_t* start = nullptr;          // [capacity + 1] of them in the lists
  uint32_t* taken = nullptr;          // [capacity] places of a list
  Border* unsorted = nullptr;         // [most_borders(capacity)]
  Border* sorted = nullptr;           // [most_borders(capacity)]
};
// `total` labels are known on the device; the outcome goes to the table in pinned memory.
void find_borders(ConstLabelMap labels, const uint32_t* total, const Borders& borders,
                  const RegionTable& table, cudaStream_t stream);

void write_label_picture(ConstLabelMap labels, const Frame& out, cudaStream_t stream);
void write_boundaries(ConstLabelMap labels, const Frame& out, cudaStream_t stream);
void write_means(ConstLabelMap labels, const Records& records, const Frame& out,
                 cudaStream_t stream);

}  // namespace regions::slic
