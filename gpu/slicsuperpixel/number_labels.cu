// Writes the final labels. Superpixels are numbered in raster order of their first pixels: the
// label of a superpixel is 1 plus the number of first pixels before its own first pixel. Each block
// sums the counts of first pixels of all rows itself, so that no block has to wait for another
// block.
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions::slicsuperpixel {
namespace {

using Tile = FragmentTile;
constexpr int kThreads = 128;

// Links components to their roots. Sets the bits of the first pixels of superpixels, and counts the
// first pixels. The number of the tile's components may be read before pdl_wait(). It was complete
// before the first merge kernel started, because that kernel is launched without programmatic
// dependent launch. Atomics set bits and add integers, so their order does not matter.
__global__ __launch_bounds__(kThreads) void mark_first_pixels_kernel(Fragments fragments) {
  pdl_trigger();
  const TileOfBlock tile(fragments);
  pdl_wait();
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < tile.count; start += kThreads) {
    // Paths to the root have different lengths. This barrier brings the lanes together again, so
    // that they load at the same time.
    __syncwarp();
    if (start + lane >= tile.count) continue;
    const uint32_t id = tile.id(fragments, start + lane);
    // The first pixel is loaded early, before the search for the root.
    const uint32_t first = fragments.first_pixel[id];
    const uint32_t root = fragments.find_root(id);
    if (root != id) {
      fragments.parent[id] = root;  // this only shortens the path of other threads
      continue;
    }
    const auto stride = static_cast<uint32_t>(fragments.stride);
    const uint32_t y = first / stride, column = first % stride / Tile::width;
    atomicOr(fragments.first_pixel_bits + first / 32, 1u << first % 32);
    atomicAdd(fragments.tile_row_counts + (y * fragments.tile_row_pitch() + column) / 4,
              1u << 8 * (column % 4));
    atomicAdd(fragments.row_counts + y, 1u);
  }
}

// Returns the number of first pixels of superpixels to the left of pixel `first` in its row y.
__device__ uint32_t count_before_in_row(const Fragments& fragments, uint32_t first, uint32_t y) {
  const uint32_t x = first - y * static_cast<uint32_t>(fragments.stride);
  const uint2 words =
      *reinterpret_cast<const uint2*>(fragments.first_pixel_bits + (first - x % Tile::width) / 32);
  const uint32_t mask = bits_below(static_cast<int>(x % 32));
  auto count = static_cast<uint32_t>(
      x % Tile::width < 32 ? __popc(words.x & mask) : __popc(words.x) + __popc(words.y & mask));
  const uint32_t* const tiles = fragments.tile_row_counts + y * fragments.tile_row_pitch() / 4;
  const uint32_t column = x / Tile::width;
  for (uint32_t word = 0; word <= column / 4; word += 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(tiles + word);
    const uint32_t counts[] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      const uint32_t at = 4 * (word + j);  // column of the first tile whose count is in counts[j]
      const uint32_t masked = at >= column       ? 0
                              : column - at >= 4 ? counts[j]
                                                 : counts[j] & ((1u << 8 * (column - at)) - 1);
      count = __dp4a(masked, 0x01010101u, count);
    }
  }
  return count;
}

// The number of first pixels in all earlier rows, for every (1 << shift)-th row of the picture. An
// entry stands for 1 << shift rows. The shift is chosen so that all entries fit in shared memory.
struct RowPrefixSums {
  static constexpr int kMaxEntries = 4096;  // maximum number of entries
  static constexpr int kBatch = 8;  // number of entries in a batch, which one thread computes
  uint32_t* row_prefix;    // [entry], number of first pixels in earlier entries of the same batch
  uint32_t* batch_prefix;  // [batch], number of first pixels in all earlier batches
  int shift;               // base-2 logarithm of the number of rows per entry

  __device__ RowPrefixSums(const Fragments& fragments, uint32_t* memory)
      : row_prefix(memory + kMaxEntries / kBatch),
        batch_prefix(memory),
        shift(shift_for(fragments)) {}
  static REGIONS_HD int shift_for(const Fragments& fragments) {
    int shift = 0;
    while (fragments.size.height > kMaxEntries << shift) ++shift;
    return shift;
  }
  static size_t bytes(const Fragments& fragments) {
    return ((static_cast<size_t>(fragments.size.height) >> shift_for(fragments)) + 1 +
            kMaxEntries / kBatch) *
           sizeof(uint32_t);
  }
  // Returns the number of first pixels in the rows above row y.
  __device__ uint32_t count_before_row(const Fragments& fragments, uint32_t y) const {
    uint32_t sum = row_prefix[y >> shift] + batch_prefix[(y >> shift) / kBatch];
    for (uint32_t row = y >> shift << shift; row < y; ++row) sum += fragments.row_counts[row];
    return sum;
  }
  // Loads the numbers of first pixels in kCount entries, starting with `entry`.
  template <int kCount>
  __device__ void fetch(const Fragments& fragments, int entry, uint32_t (&count)[kCount]) const {
    const int height = fragments.size.height;
#pragma unroll
    for (int k = 0; k < kCount; k += 4) {
      if (shift == 0 && entry + k < height) {  // row_counts is padded to a multiple of four
        const uint4 four = *reinterpret_cast<const uint4*>(fragments.row_counts + entry + k);
        const uint32_t counts[] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int j = 0; j < 4; ++j) count[k + j] = entry + k + j < height ? counts[j] : 0;
      }
    }
    if (shift == 0) return;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      for (int row = (entry + k) << shift; row < min((entry + k + 1) << shift, height); ++row) {
        count[k] += fragments.row_counts[row];
      }
    }
  }
  // Computes the prefix sums. All threads of the block must call this function, which ends with a
  // barrier. Each thread handles some of the rows. Calls overlapped_work() after the loads of the
  // first rows, so that loads of overlapped_work() wait for memory at the same time.
  template <class OverlappedWork>
  __device__ void compute(const Fragments& fragments, uint32_t (&warp_sums)[Tile::threads / 32],
                          OverlappedWork overlapped_work) {
    constexpr int kWarps = Tile::threads / 32;
    const int height = fragments.size.height, warp = static_cast<int>(threadIdx.x / 32);
    uint32_t earlier_count = 0;
    for (int start = 0; start << shift < height; start += kBatch * Tile::threads) {
      const int entry = start + kBatch * static_cast<int>(threadIdx.x);
      uint32_t thread_sum = 0;
      {
        uint32_t count[kBatch] = {};
        fetch(fragments, entry, count);
#pragma unroll
        for (int k = 0; k < kBatch; ++k) {
          if ((entry + k) << shift < height) row_prefix[entry + k] = thread_sum;
          thread_sum += count[k];
        }
      }
      if (start == 0) overlapped_work();
      const uint32_t inclusive_sum = warp_inclusive_sum(thread_sum);
      if (start > 0) __syncthreads();  // all threads have read the previous warp_sums
      if (threadIdx.x % 32 == 31) warp_sums[warp] = inclusive_sum;
      __syncthreads();  // warp_sums is complete
      uint32_t sum = earlier_count + inclusive_sum - thread_sum;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        if (w < warp) sum += warp_sums[w];
        earlier_count += warp_sums[w];
      }
      if (entry << shift < height) batch_prefix[entry / kBatch] = sum;
    }
    __syncthreads();  // row_prefix and batch_prefix are complete
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *fragments.total = earlier_count;
  }
};

// A hash table of the roots of a tile's components, by which the label of each root is computed
// only once. It is used for tiles with many components (noise).
struct RootTable {
  static constexpr uint32_t kEntries = 512, kProbes = 8, kNone = UINT32_MAX;  // kNone: no root
  uint32_t key[kEntries];
  uint32_t label[kEntries];

  // Inserts the roots of components 0..count-1 and writes the table position of each component's
  // root to position[]. Returns false if there are too many roots. All threads of the block must
  // call this function.
  template <class RootOf>
  __device__ bool insert(uint32_t count, RootOf root_of, uint32_t* position) {
    for (uint32_t i = threadIdx.x; i < kEntries; i += Tile::threads) key[i] = kNone;
    __syncthreads();  // all entries of `key` are kNone
    bool is_full = false;
    for (uint32_t i = threadIdx.x; i < count && !is_full; i += Tile::threads) {
      const uint32_t root = root_of(i);
      uint32_t at = root * 0x9E3779B1u / (UINT32_MAX / kEntries + 1), probe = 0;
      for (; probe < kProbes; ++probe, at = (at + 1) % kEntries) {
        const uint32_t seen = atomicCAS(key + at, kNone, root);
        if (seen == kNone || seen == root) break;
      }
      is_full = probe == kProbes;
      position[i] = at;
    }
    return !__syncthreads_or(is_full);
  }
  // Computes the labels of all roots. All threads of the block must call this function, which ends
  // with a barrier.
  template <class LabelOf>
  __device__ void assign_labels(LabelOf label_of) {
    for (uint32_t i = threadIdx.x; i < kEntries; i += Tile::threads) {
      if (key[i] != kNone) label[i] = label_of(key[i]);
    }
    __syncthreads();  // the labels of all roots are written
  }
};

// Writes the labels of four neighbouring pixels, except of pixels outside the picture. `component`
// contains the component numbers of the pixels.
__device__ void write_four(const LabelMap& to, bool is_aligned, int x, int y,
                           const uint32_t (&label)[Tile::pixels], const ushort4& component) {
  if (x >= to.width || y >= to.height) return;
  if (is_aligned && x + 4 <= to.width) {
    *reinterpret_cast<uint4*>(to.row(y) + x) = {label[component.x], label[component.y],
                                                label[component.z], label[component.w]};
    return;
  }
  const uint16_t numbers[4] = {component.x, component.y, component.z, component.w};
  for (int j = 0; j < 4 && x + j < to.width; ++j) to(x + j, y) = label[numbers[j]];
}

// Writes the label of each pixel. Loads the component numbers while the previous kernel still marks
// first pixels.
__global__ __launch_bounds__(Tile::threads) void write_labels_kernel(Fragments fragments,
                                                                     LabelMap to, bool is_aligned) {
  __shared__ uint32_t label[Tile::pixels];  // indexed by component number
  __shared__ uint32_t warp_sums[Tile::threads / 32];
  __shared__ RootTable roots;
  extern __shared__ uint32_t prefix_memory[];
  pdl_trigger();
  const TileOfBlock tile(fragments);
  // Loads four pixels at a time. They are aligned, because rows start at multiples of 64 pixels.
  constexpr int kGroups = Tile::pixels / 4 / Tile::threads;
  const int thread = static_cast<int>(threadIdx.x);
  static_assert(Tile::threads % (Tile::width / 4) == 0);
  const int x = tile.left + thread % (Tile::width / 4) * 4;
  const auto y_of = [&](int k) {
    return tile.top + (k * Tile::threads + thread) / (Tile::width / 4);
  };
  ushort4 four[kGroups];
#pragma unroll
  for (int k = 0; k < kGroups; ++k) {
    if (y_of(k) >= to.height) continue;
    four[k] =
        *reinterpret_cast<const ushort4*>(fragments.component + fragments.pixel_at(x, y_of(k)));
  }
  pdl_wait();
  const auto root_of = [&](uint32_t i) { return fragments.parent[tile.id(fragments, i)]; };
  const bool has_few_components = tile.count <= Tile::threads;
  // For the superpixel of component number threadIdx.x: the row of its first pixel, and its label
  // counted within this row, starting with 1.
  uint32_t first_row = 0, label_in_row = 0;
  const bool has_component = has_few_components && threadIdx.x < tile.count;
  const uint32_t root = has_component ? root_of(threadIdx.x) : 0;
  RowPrefixSums rows(fragments, prefix_memory);
  rows.compute(fragments, warp_sums, [&] {
    if (!has_component) return;
    const uint32_t first = fragments.first_pixel[root];
    first_row = first / static_cast<uint32_t>(fragments.stride);
    label_in_row = count_before_in_row(fragments, first, first_row) + 1;
  });
  const auto label_of = [&](uint32_t first) {
    const uint32_t y = first / static_cast<uint32_t>(fragments.stride);
    return rows.count_before_row(fragments, y) + count_before_in_row(fragments, first, y) + 1;
  };
  if (has_few_components) {
    if (threadIdx.x < tile.count) {
      label[threadIdx.x] = rows.count_before_row(fragments, first_row) + label_in_row;
    }
  } else if (!roots.insert(tile.count, root_of, label)) {
    for (uint32_t i = threadIdx.x; i < tile.count; i += Tile::threads) {
      label[i] = label_of(fragments.first_pixel[root_of(i)]);
    }
  } else {
    roots.assign_labels([&](uint32_t root) { return label_of(fragments.first_pixel[root]); });
    for (uint32_t i = threadIdx.x; i < tile.count; i += Tile::threads) {
      label[i] = roots.label[label[i]];
    }
  }
  __syncthreads();  // `label` is complete for all components
#pragma unroll
  for (int k = 0; k < kGroups; ++k) write_four(to, is_aligned, x, y_of(k), label, four[k]);
}

}  // namespace

void number_labels(const Fragments& fragments, LabelMap labels, cudaStream_t stream) {
  launch_pdl(mark_first_pixels_kernel, tile_grid(fragments), kThreads, 0, stream, fragments);
  const auto address = reinterpret_cast<uintptr_t>(labels.data);
  const bool is_aligned = (address | static_cast<uintptr_t>(labels.pitch)) % 16 == 0;
  launch_pdl(write_labels_kernel, tile_grid(fragments), Tile::threads,
             RowPrefixSums::bytes(fragments), stream, fragments, labels, is_aligned);
}

}  // namespace regions::slicsuperpixel
