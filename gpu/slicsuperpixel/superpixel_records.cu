// Computes the region records, moments, tracks and output pictures of superpixels on the GPU.
// Records contain exact integer sums, minima and maxima, so the order of atomics does not matter.
#include <algorithm>

#include "core/frame.hpp"
#include "core/slicsuperpixel/fragments.hpp"
#include "gpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions::slicsuperpixel {
namespace {

constexpr int kThreads = 256;

// The size of the walks by which records are measured. Each thread walks down one column of the
// label map and sums in registers while the label stays the same. Most superpixels are not higher
// than a walk, so that few atomics are needed.
struct ColumnWalk {
  static constexpr int threads = 128;  // threads per block
  static constexpr int rows = 32;      // number of rows of a walk
  static constexpr int batch = 8;      // number of rows that are loaded together
};

// The walk of one thread: rows y..end-1 of column x. `inside` is false if the column is to the
// right of the picture.
struct Column {
  int x, y, end;
  bool inside;

  __device__ explicit Column(Size size, int rows = ColumnWalk::rows) {
    x = static_cast<int>(blockIdx.x) * 32 + static_cast<int>(threadIdx.x % 32);
    const int warps = ColumnWalk::threads / 32;
    y = (static_cast<int>(blockIdx.y) * warps + static_cast<int>(threadIdx.x / 32)) * rows;
    end = min(y + rows, size.height);
    inside = x < size.width;
  }
};

inline dim3 column_grid(Size size, int rows = ColumnWalk::rows) {
  const int block_rows = rows * (ColumnWalk::threads / 32);
  return {static_cast<unsigned>((size.width + 31) / 32),
          static_cast<unsigned>((size.height + block_rows - 1) / block_rows)};
}

// Walks down the column of the current thread. Calls begin(label) before the first pixel of each
// label, add(value, x, y) with value = load(x, y) for every pixel, and end(label) after the last
// pixel of each label. Rows are loaded in batches, so that a thread waits for memory only once per
// batch.
template <class Load, class Begin, class Add, class End>
__device__ void walk_columns(ConstLabelMap labels, Load load, Begin begin, Add add, End end) {
  constexpr int kBatch = ColumnWalk::batch;
  static_assert(ColumnWalk::rows % kBatch == 0);
  const Column column({labels.width, labels.height});
  if (!column.inside || column.y >= column.end) return;
  uint32_t label = labels(column.x, column.y);
  begin(label);
  for (int top = column.y; top < column.end; top += kBatch) {
    uint32_t here[kBatch];
    decltype(load(0, 0)) value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int y = min(top + k, column.end - 1);
      here[k] = labels(column.x, y);
      value[k] = load(column.x, y);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (top + k >= column.end) continue;
      if (here[k] != label) {
        end(label);
        label = here[k];
        begin(label);
      }
      add(value[k], column.x, top + k);
    }
  }
  end(label);
}

using Uint64 = unsigned long long;

// Initialises all records. Minima start with the largest possible value.
__global__ __launch_bounds__(kThreads) void clear_records_kernel(Records records) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= records.capacity) return;
  Region region{};
  region.id = region.track = i + 1;
  region.first_x = region.first_y = region.left = region.top = INT32_MAX;
  records.region[i] = region;
  if (records.moments) records.moments[i] = Moments{};
}

// Returns the address of first_x and first_y as one 64-bit number, which grows in raster order.
__device__ Uint64* first_of(Region& region) {
  static_assert(offsetof(Region, first_x) % 8 == 0 &&
                offsetof(Region, first_y) == offsetof(Region, first_x) + 4);
  return reinterpret_cast<Uint64*>(&region.first_x);
}

// Returns the sum of the squares 0..n.
__device__ inline Uint64 squares_to(int n) {
  const auto m = static_cast<Uint64>(n);
  return m * (m + 1) * (2 * m + 1) / 6;
}

// Adds the pixels in rows top..bottom of a column to the moments of a superpixel. `lab` contains
// the sums of their CIELAB components.
__device__ inline void add_moments(Moments& moments, int column, int top, int bottom,
                                   const uint32_t (&lab)[3]) {
  const auto x = static_cast<Uint64>(column), rows = static_cast<Uint64>(bottom - top + 1);
  const Uint64 sum_y = rows * static_cast<Uint64>(top + bottom) / 2;
  for (int c = 0; c < 3; ++c) {
    atomicAdd(reinterpret_cast<Uint64*>(&moments.sum_lab[c]), static_cast<Uint64>(lab[c]));
  }
  atomicAdd(reinterpret_cast<Uint64*>(&moments.sum_xx), rows * x * x);
  atomicAdd(reinterpret_cast<Uint64*>(&moments.sum_xy), x * sum_y);
  atomicAdd(reinterpret_cast<Uint64*>(&moments.sum_yy),
            squares_to(bottom) - (top > 0 ? squares_to(top - 1) : 0));
}

// The samples of a pixel of the frame, and the pixel's colour in the format of Clusters::colors.
struct Sample {
  ushort4 value;
  uint32_t color;
};

// Adds the pixels of each superpixel to its record, one column of the superpixel at a time.
template <bool kMoments>
__global__ __launch_bounds__(ColumnWalk::threads) void measure_records_kernel(
    ConstLabelMap labels, ConstFrame frame, Image<uint32_t> colors, Records records) {
  int top = 0, bottom = 0, column = 0;
  uint32_t sum[3] = {}, lab[3] = {};
  const int channels = frame.layout.channels;
  walk_columns(
      labels,
      [&](int x, int y) {
        Sample sample = {};
        sample.value.x = static_cast<uint16_t>(frame.sample(0, x, y));
        if (channels > 1) sample.value.y = static_cast<uint16_t>(frame.sample(1, x, y));
        if (channels > 2) sample.value.z = static_cast<uint16_t>(frame.sample(2, x, y));
        if constexpr (kMoments) sample.color = colors(x, y);
        return sample;
      },
      [&](uint32_t) {
        top = -1;
        for (int c = 0; c < 3; ++c) sum[c] = lab[c] = 0;
      },
      [&](const Sample& sample, int x, int y) {
        if (top < 0) top = y;
        bottom = y;
        column = x;
        sum[0] += sample.value.x;
        sum[1] += sample.value.y;
        sum[2] += sample.value.z;
        for (int c = 0; c < 3; ++c) lab[c] += sample.color >> 8 * c & 255;
      },
      [&](uint32_t label) {
        if (label > records.capacity) return;
        Region& region = records.region[label - 1];
        const auto rows = static_cast<Uint64>(bottom - top + 1);
        atomicMin(first_of(region), static_cast<Uint64>(top) << 32 | static_cast<Uint64>(column));
        atomicMin(&region.left, column);
        atomicMin(&region.top, top);
        atomicMax(&region.right, column);
        atomicMax(&region.bottom, bottom);
        atomicAdd(reinterpret_cast<Uint64*>(&region.area), rows);
        atomicAdd(reinterpret_cast<Uint64*>(&region.sum_x), rows * static_cast<Uint64>(column));
        atomicAdd(reinterpret_cast<Uint64*>(&region.sum_y),
                  rows * static_cast<Uint64>(top + bottom) / 2);
        for (int c = 0; c < 3; ++c) {
          if (c < channels) {
            atomicAdd(reinterpret_cast<Uint64*>(&region.sum_value[c]), static_cast<Uint64>(sum[c]));
          }
        }
        if constexpr (kMoments) {
          add_moments(records.moments[label - 1], column, top, bottom, lab);
        }
      });
}

// Copies the number of records, and the records from index `begin` on, to the caller's table in
// pinned memory.
__global__ __launch_bounds__(kThreads) void publish_records_kernel(Records records,
                                                                   RegionTable table,
                                                                   uint32_t begin) {
  pdl_trigger_and_wait();
  const uint32_t total = *records.total;
  const uint32_t recorded = min(min(total, records.capacity), table.capacity);
  const size_t first = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  const auto copy = [&]<class T>(const T* from, T* to) {
    static_assert(sizeof(T) % sizeof(Uint64) == 0);
    constexpr size_t kWords = sizeof(T) / sizeof(Uint64);
    const size_t end = recorded * kWords;
    for (size_t w = begin * kWords + first; w < end;
         w += static_cast<size_t>(gridDim.x) * kThreads) {
      reinterpret_cast<Uint64*>(to)[w] = reinterpret_cast<const Uint64*>(from)[w];
    }
  };
  copy(records.region, table.regions);
  if (table.moments) copy(records.moments, table.moments);
  if (first == 0 && table.total) *table.total = total;
}

__device__ inline size_t thread_index() {
  return static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
}

__global__ __launch_bounds__(kThreads) void clear_claims_kernel(size_t cells, Tracks tracks) {
  const size_t cluster = thread_index();
  if (cluster >= cells) return;
  tracks.largest_fragment[cluster] = 0;
  tracks.spares[cluster] = kNoTrack;
}

// Finds the largest fragment of each cluster. Runs before fragments are merged, when every fragment
// still belongs to a single cluster.
__global__ __launch_bounds__(kThreads) void find_largest_kernel(SlicGrid grid,
                                                                Image<const uint8_t> codes,
                                                                Fragments fragments,
                                                                Tracks tracks) {
  const TileOfBlock tile(fragments);
  for (uint32_t i = threadIdx.x; i < tile.count; i += kThreads) {
    const uint32_t id = tile.id(fragments, i);
    if (fragments.parent[id] != id) continue;
    const uint32_t first = fragments.first_pixel[id],
                   stride = static_cast<uint32_t>(fragments.stride);
    const int x = static_cast<int>(first % stride), y = static_cast<int>(first / stride);
    atomicMax(tracks.largest_fragment + cluster_at(codes(x, y), x, y, grid),
              static_cast<unsigned long long>(fragment_claim(fragments.sums[id].area, first)));
  }
}

__device__ inline uint32_t recorded_count(const Records& records) {
  return min(*records.total, records.capacity);
}

__global__ __launch_bounds__(kThreads) void clear_tracks_kernel(Records records) {
  const size_t i = thread_index();
  if (i < recorded_count(records)) records.region[i].track = kNoTrack;
}

// Lets each cluster claim the superpixel that contains its largest fragment. The track of a record
// then contains claimed_by() of the cluster with the highest priority, or kNoTrack.
__global__ __launch_bounds__(kThreads) void claim_kernel(SlicGrid grid, uint32_t min_size,
                                                         int stride, Tracks tracks,
                                                         ConstLabelMap labels, Records records) {
  const size_t cluster = thread_index();
  if (cluster >= grid.cells() || tracks.largest_fragment[cluster] == 0) return;
  const uint32_t first = claimed_first(tracks.largest_fragment[cluster]);
  const uint32_t label = labels(static_cast<int>(first % static_cast<uint32_t>(stride)),
                                static_cast<int>(first / static_cast<uint32_t>(stride)));
  if (label > records.capacity) return;
  const bool stayed = claimed_area(tracks.largest_fragment[cluster]) >= min_size;
  atomicMin(&records.region[label - 1].track, claimed_by(cluster, stayed));
}

__device__ inline size_t cluster_of(const Region& region, Image<const uint8_t> codes,
                                    const SlicGrid& grid) {
  return cluster_at(codes(region.first_x, region.first_y), region.first_x, region.first_y, grid);
}

// Finds the spare superpixel of each cluster: the superpixel with the lowest id that no cluster has
// claimed and whose first pixel belongs to the cluster.
__global__ __launch_bounds__(kThreads) void find_spares_kernel(SlicGrid grid,
                                                               Image<const uint8_t> codes,
                                                               Tracks tracks, Records records) {
  const size_t i = thread_index();
  if (i >= recorded_count(records) || records.region[i].track != kNoTrack) return;
  atomicMin(tracks.spares + cluster_of(records.region[i], codes, grid), records.region[i].id);
}

// Computes the track of each superpixel from claims and spares.
__global__ __launch_bounds__(kThreads) void finish_tracks_kernel(SlicGrid grid,
                                                                 Image<const uint8_t> codes,
                                                                 Tracks tracks, Records records) {
  const size_t i = thread_index();
  if (i >= recorded_count(records)) return;
  Region& region = records.region[i];
  const size_t cluster = cluster_of(region, codes, grid);
  region.track = track_of(region.track, region.id, cluster, tracks.spares[cluster], grid);
}

// Writes the label of each pixel.
struct LabelWriter {
  __device__ void write(ConstLabelMap labels, const Frame& out, int x, int y) const {
    std::byte* to = out.at(0, x, y);
    const uint32_t label = labels(x, y);
    if (out.layout.sample_bytes == 1) {
      *reinterpret_cast<uint8_t*>(to) = static_cast<uint8_t>(label);
    } else if (out.layout.sample_bytes == 2) {
      *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(label);
    } else {
      *reinterpret_cast<uint32_t*>(to) = label;
    }
  }
};

// Writes 255 at pixels whose left or upper neighbour has another label, else 0.
struct BoundaryWriter {
  __device__ void write(ConstLabelMap labels, const Frame& out, int x, int y) const {
    const uint32_t label = labels(x, y);
    const bool is_boundary =
        (x > 0 && labels(x - 1, y) != label) || (y > 0 && labels(x, y - 1) != label);
    *reinterpret_cast<uint8_t*>(out.at(0, x, y)) = is_boundary ? 255 : 0;
  }
};

// Writes the mean colour of each pixel's superpixel.
struct MeanWriter {
  Records records;

  __device__ void write(ConstLabelMap labels, const Frame& out, int x, int y) const {
    const uint32_t label = labels(x, y);
    if (label > records.capacity) return;
    const Region& region = records.region[label - 1];
    for (int c = 0; c < out.layout.channels; ++c) {
      const Component& component = out.layout.component[c];
      // In a subsampled channel, several pixels share a sample. Only the first of them writes it.
      if ((x & ((1 << component.x_shift) - 1)) != 0 || (y & ((1 << component.y_shift) - 1)) != 0)
        continue;
      out.set_sample(c, x, y,
                     static_cast<int>((region.sum_value[c] + region.area / 2) / region.area));
    }
  }
};

template <class Writer>
__global__ __launch_bounds__(kThreads) void write_picture_kernel(ConstLabelMap labels, Frame out,
                                                                 Writer writer) {
  const int x = static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32);
  const int y = static_cast<int>(blockIdx.y * (kThreads / 32) + threadIdx.x / 32);
  if (x < labels.width && y < labels.height) writer.write(labels, out, x, y);
}

template <class Writer>
void launch_writer(ConstLabelMap labels, const Frame& out, const Writer& writer,
                   cudaStream_t stream) {
  launch(write_picture_kernel<Writer>,
         dim3(blocks_for(static_cast<size_t>(labels.width), 32),
              blocks_for(static_cast<size_t>(labels.height), kThreads / 32)),
         kThreads, 0, stream, labels, out, writer);
}

}  // namespace

void measure_records(ConstLabelMap labels, const ConstFrame& frame, const Image<uint32_t>& colors,
                     const Records& records, cudaStream_t stream) {
  launch(clear_records_kernel, blocks_for(records.capacity, kThreads), kThreads, 0, stream,
         records);
  launch(records.moments ? measure_records_kernel<true> : measure_records_kernel<false>,
         column_grid(labels.size()), ColumnWalk::threads, 0, stream, labels, frame, colors,
         records);
}

void publish_records(const Records& records, uint32_t usual_count, const RegionTable& table,
                     cudaStream_t stream) {
  const uint32_t copied = std::min({usual_count, records.capacity, table.capacity});
  launch_pdl(publish_records_kernel, 64, kThreads, 0, stream, records, table, copied);
  const auto copy = [&]<class T>(const T* from, T* to) {
    check(cudaMemcpyAsync(to, from, copied * sizeof(T), cudaMemcpyDeviceToHost, stream),
          "copying the records of superpixels");
  };
  if (copied == 0) return;
  copy(records.region, table.regions);
  if (table.moments) copy(records.moments, table.moments);
}

void find_largest_fragments(const SlicGrid& grid, Image<const uint8_t> codes,
                            const Fragments& fragments, const Tracks& tracks, cudaStream_t stream) {
  launch(clear_claims_kernel, blocks_for(grid.cells(), kThreads), kThreads, 0, stream, grid.cells(),
         tracks);
  launch(find_largest_kernel, tile_grid(fragments), kThreads, 0, stream, grid, codes, fragments,
         tracks);
}

void assign_tracks(const SlicGrid& grid, uint32_t min_size, Image<const uint8_t> codes,
                   const Fragments& fragments, ConstLabelMap labels, const Tracks& tracks,
                   const Records& records, cudaStream_t stream) {
  const unsigned blocks = blocks_for(records.capacity, kThreads);
  launch(clear_tracks_kernel, blocks, kThreads, 0, stream, records);
  launch(claim_kernel, blocks_for(grid.cells(), kThreads), kThreads, 0, stream, grid, min_size,
         fragments.stride, tracks, labels, records);
  launch(find_spares_kernel, blocks, kThreads, 0, stream, grid, codes, tracks, records);
  launch(finish_tracks_kernel, blocks, kThreads, 0, stream, grid, codes, tracks, records);
}

void write_label_picture(ConstLabelMap labels, const Frame& out, cudaStream_t stream) {
  launch_writer(labels, out, LabelWriter(), stream);
}
void write_boundary_picture(ConstLabelMap labels, const Frame& out, cudaStream_t stream) {
  launch_writer(labels, out, BoundaryWriter(), stream);
}
void write_mean_picture(ConstLabelMap labels, const Records& records, const Frame& out,
                        cudaStream_t stream) {
  launch_writer(labels, out, MeanWriter{records}, stream);
}

}  // namespace regions::slicsuperpixel
