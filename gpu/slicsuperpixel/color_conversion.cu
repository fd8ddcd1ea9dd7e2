// Conversion of pixels to the colour space of the clustering, on the GPU, four pixels per thread.
// The conversion tables are in shared memory. The table LabTables::share is stored several times,
// so that lanes that read different entries use different banks of shared memory.
#include "gpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions::slicsuperpixel {
namespace {

constexpr int kThreads = 1024;  // threads per block; many, because each block must load the tables
// Two blocks fit on each multiprocessor.
int color_blocks() { return 2 * static_cast<int>(multiprocessors()); }

// The conversion tables in shared memory, with kCopies copies of LabTables::share. Each lane reads
// the copy with the number (lane % kCopies).
template <int kCopies>
struct InterleavedTables {
  static constexpr int kLevels = 3 * 256;  // 256 levels each for red, green and blue
  static constexpr int kEntry = sizeof(uint64_t) * kCopies;  // bytes for all copies of one level
  static constexpr size_t kShareBytes = static_cast<size_t>(kEntry) * kLevels;
  static constexpr size_t kBytes = kShareBytes + sizeof(LabTables::root);
  const std::byte* share;  // uint64_t [red, green, blue][level][copy], LabTables::share
  const std::byte* root;   // copy of LabTables::root
  uint32_t copy;           // byte offset of this lane's copy in an entry, times kOffsetScale

  // A scaled offset is a 16-bit number with the level in its upper byte and `copy` in its lower
  // byte. Divided by kOffsetScale, it is the byte offset of the lane's copy of the level's entry.
  static constexpr int kOffsetScale = 256 / kEntry;
  static_assert(kOffsetScale * kEntry == 256);

  __device__ uint64_t share_of(int channel, int level) const {
    return share_at(channel, static_cast<uint32_t>(level) << 8 | copy);
  }
  __device__ uint64_t share_at(int channel, uint32_t offset) const {
    return *reinterpret_cast<const uint64_t*>(share + channel * 256 * kEntry +
                                              offset / kOffsetScale);
  }
  __device__ int f(uint64_t sums, int axis) const {
    // The byte offset of the entry in the table of roots, with additional bits above.
    const auto offset =
        static_cast<uint32_t>(sums >> (axis * LabTables::kShare + LabTables::kDrop - 1));
    return *reinterpret_cast<const uint16_t*>(root + (offset & (2 * LabTables::kRoots - 2)));
  }

  // Copies the tables to the shared memory at `to`. All threads of the block must call this
  // constructor, and a barrier must follow.
  __device__ InterleavedTables(const LabTables& from, std::byte* to)
      : share(to),
        root(to + kShareBytes),
        copy(threadIdx.x % kCopies * static_cast<uint32_t>(sizeof(uint64_t)) * kOffsetScale) {
    constexpr unsigned kPairs = kCopies / 2;
    static_assert((kPairs & (kPairs - 1)) == 0);
    constexpr unsigned kRoots = sizeof(LabTables::root) / sizeof(uint4);
    static_assert(kLevels <= kThreads && kCopies % 2 == 0 && kRoots <= kThreads &&
                  sizeof(LabTables::root) % sizeof(uint4) == 0);
    const unsigned i = threadIdx.x;
    if (i < kLevels) {
      const uint64_t value = (&from.share[0][0])[i];
      // Neighbouring lanes start with different copies to avoid bank conflicts.
#pragma unroll
      for (unsigned k = 0; k < kPairs; ++k) {
        reinterpret_cast<ulonglong2*>(to)[(i * kPairs + i % kPairs) ^ k] = {value, value};
      }
    }
    if (i < kRoots) {
      reinterpret_cast<uint4*>(to + kShareBytes)[i] = reinterpret_cast<const uint4*>(from.root)[i];
    }
  }
};

// Access to InterleavedTables by scaled offsets: share_of() takes a scaled offset instead of a
// level.
template <int kCopies>
struct OffsetTables {
  const InterleavedTables<kCopies>& tables;
  __device__ uint64_t share_of(int channel, int offset) const {
    return tables.share_at(channel, static_cast<uint32_t>(offset));
  }
  __device__ int f(uint64_t sums, int axis) const { return tables.f(sums, axis); }
};

// Reads and converts the pixels of frames in any format.
struct AnyPixels {
  ConstFrame frame;
  ColorReader reader;

  struct Raw {};
  __device__ Raw fetch(int, int) const { return {}; }
  // Reads four pixels, starting at (x, y), and converts them to the format of Clusters::colors.
  // `row` is the pixels' row in their patch, which becomes the highest byte.
  template <class Tables>
  __device__ void convert(const Tables& tables, Raw, int x, int y, uint32_t row,
                          uint32_t (&color)[4]) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      color[k] = reader.at(tables, frame, min(x + k, frame.width - 1), y) ^
                 (row << 24 | Clusters::kBiasBits);
    }
  }
};

// Returns the byte offset of row y. The unsigned 32-bit factors need one multiplication
// instruction; a signed 64-bit product would need several.
__device__ inline uint64_t row_start(ptrdiff_t pitch, int y) {
  return static_cast<uint64_t>(static_cast<uint32_t>(pitch)) * static_cast<uint32_t>(y);
}

// Reads RGB pixels of four bytes and converts them to CIELAB. Rows must be 16-byte aligned.
struct FourBytePixels {
  ConstFrame frame;
  // Selectors for __byte_perm(), which build the scaled offset of a colour channel from a pixel.
  uint32_t red, green, blue;

  explicit FourBytePixels(const ConstFrame& in) : frame(in) {
    const auto selector = [&](int c) {
      return 0x5504u | static_cast<uint32_t>(in.layout.component[c].offset) << 4;
    };
    red = selector(0), green = selector(1), blue = selector(2);
  }
  static bool can_read(const ConstFrame& frame, const ColorReader& reader) {
    const auto address = reinterpret_cast<uintptr_t>(frame.plane[0]);
    return frame.layout.model == ColorModel::rgb && frame.layout.component[0].step == 4 &&
           reader.color_space == ColorSpace::lab &&
           (address | static_cast<uintptr_t>(frame.pitch[0])) % 16 == 0 && frame.pitch[0] >= 0 &&
           frame.pitch[0] <= UINT32_MAX;
  }
  using Raw = uint4;
  __device__ Raw fetch(int x, int y) const {
    const std::byte* at =
        frame.plane[0] + row_start(frame.pitch[0], y) + 4 * static_cast<ptrdiff_t>(x);
    if (x + 4 <= frame.width) return *reinterpret_cast<const uint4*>(at);
    const auto* const pixel = reinterpret_cast<const uint32_t*>(at);
    const int last = frame.width - 1 - x;
    return {pixel[0], pixel[min(1, last)], pixel[min(2, last)], pixel[min(3, last)]};
  }
  template <int kCopies>
  __device__ void convert(const InterleavedTables<kCopies>& tables, const Raw& raw, int, int,
                          uint32_t row, uint32_t (&color)[4]) const {
    const uint32_t pixel[4] = {raw.x, raw.y, raw.z, raw.w};
    constexpr int kBias = 128 << LabTerms::kBits;
    const int row_and_bias =
        // The highest byte is the row. The biased component is positive and does not change it.
        static_cast<int>(row << 24) + kBias;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const auto offset = [&](uint32_t selector) {
        return static_cast<int>(__byte_perm(pixel[k], tables.copy, selector));
      };
      const LabTerms terms =
          lab_terms(OffsetTables<kCopies>{tables}, offset(red), offset(green), offset(blue));
      // The colour consists of byte 2 of each of the three terms, and of byte 3 of the last term.
      const uint32_t first_two =
          __byte_perm(static_cast<uint32_t>(terms.component[0] + kBias),
                      static_cast<uint32_t>(terms.component[1] + kBias), 0x62);
      color[k] =
          __byte_perm(first_two, static_cast<uint32_t>(terms.component[2] + row_and_bias), 0x7610);
    }
  }
};

// The division of the picture among warps. A chunk consists of 128 consecutive pixels of a row,
// four pixels per lane. A warp processes every n-th chunk, where n is the number of warps of the
// grid.
struct ChunkGrid {
  int chunks_per_row, cell_height;
  // 2^32 / chunks_per_row and 2^32 / cell_height, rounded up
  uint32_t row_reciprocal, cell_reciprocal;
  // The distance from a chunk to the next chunk of the same warp: in rows of the picture, in chunks
  // of the row, and in rows of the cell.
  int step_rows, step_chunks, step_cell_rows;

  explicit ChunkGrid(const Clusters& clusters)
      : chunks_per_row((clusters.colors.width + 127) / 128),
        cell_height(clusters.grid.height),
        row_reciprocal(UINT32_MAX / static_cast<uint32_t>(chunks_per_row) + 1),
        cell_reciprocal(UINT32_MAX / static_cast<uint32_t>(cell_height) + 1) {
    const int warps = color_blocks() * (kThreads / 32);
    step_rows = warps / chunks_per_row;
    step_chunks = warps % chunks_per_row;
    step_cell_rows = step_rows % cell_height;
  }
};

// The chunk that a warp works on.
struct ChunkPosition {
  int y, chunk, cell_y;  // row of the picture, chunk in the row, and row in the cell

  // The divisions by multiplication are exact, because index times divisor is below 2^32.
  __device__ ChunkPosition(const ChunkGrid& grid, int index)
      : y(divide(index, grid.chunks_per_row, grid.row_reciprocal)),
        chunk(index - y * grid.chunks_per_row),
        cell_y(y - divide(y, grid.cell_height, grid.cell_reciprocal) * grid.cell_height) {}
  static __device__ int divide(int value, int divisor, uint32_t factor) {
    return divisor == 1 ? value : static_cast<int>(__umulhi(static_cast<uint32_t>(value), factor));
  }
  // Moves to the warp's next chunk. Uses no division, because a division would take as long as the
  // conversion of two pixels.
  __device__ void advance(const ChunkGrid& grid) {
    chunk += grid.step_chunks;
    const int more = chunk >= grid.chunks_per_row ? 1 : 0;
    chunk -= more * grid.chunks_per_row;
    y += grid.step_rows + more;
    cell_y += grid.step_cell_rows + more;
    if (cell_y >= grid.cell_height) cell_y -= grid.cell_height;
  }
};

template <int kCopies, class Pixels>
__global__ __launch_bounds__(kThreads, 2) void colors_kernel(Pixels pixels, const LabTables* tables,
                                                             Image<uint32_t> colors,
                                                             ChunkGrid chunks) {
  extern __shared__ __align__(16) std::byte shared[];
  const int lane = static_cast<int>(threadIdx.x % 32);
  ChunkPosition next(chunks, static_cast<int>(blockIdx.x * (kThreads / 32) + threadIdx.x / 32));
  const auto x_at = [&](const ChunkPosition& position) { return 128 * position.chunk + 4 * lane; };
  // The pixels of the next chunk are loaded while the current ones are converted.
  typename Pixels::Raw raw_next = {};
  const auto fetch = [&] {
    const int x = x_at(next);
    if (next.y < colors.height && x < colors.width) raw_next = pixels.fetch(x, next.y);
  };
  fetch();
  const InterleavedTables<kCopies> table_copies(*tables, shared);
  __syncthreads();  // the tables in shared memory are complete
  while (next.y < colors.height) {
    const ChunkPosition position = next;
    const typename Pixels::Raw raw = raw_next;
    next.advance(chunks);
    fetch();
    const int x = x_at(position);
    if (x >= colors.width) continue;
    uint32_t color[4];
    pixels.convert(table_copies, raw, x, position.y,
                   static_cast<uint32_t>(position.cell_y) % kPatchRows, color);
    auto* const to =
        reinterpret_cast<std::byte*>(colors.data) + row_start(colors.pitch, position.y);
    *reinterpret_cast<uint4*>(to + 4 * static_cast<ptrdiff_t>(x)) = {color[0], color[1], color[2],
                                                                     color[3]};
  }
}

constexpr int kFewCopies = 2;
constexpr int kManyCopies = 16;  // no two lanes of a half warp use the same bank

template <int kCopies, class Pixels>
void launch_colors(const Pixels& pixels, const LabTables* tables, const Clusters& clusters,
                   cudaStream_t stream) {
  launch(colors_kernel<kCopies, Pixels>, color_blocks(), kThreads,
         InterleavedTables<kCopies>::kBytes, stream, pixels, tables, clusters.colors,
         ChunkGrid(clusters));
}

}  // namespace

bool allow_16_table_copies() {
  constexpr size_t kBytes = InterleavedTables<kManyCopies>::kBytes;
  const int max_bytes = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (kBytes > static_cast<size_t>(max_bytes)) return false;
  allow_shared_memory(colors_kernel<kManyCopies, FourBytePixels>, kBytes);
  return true;
}

void read_colors(const ConstFrame& frame, const ColorReader& reader, const ColorTables& tables,
                 const Clusters& clusters, cudaStream_t stream) {
  if (!FourBytePixels::can_read(frame, reader)) {
    return launch_colors<kFewCopies>(AnyPixels{frame, reader}, tables.tables, clusters, stream);
  }
  if (tables.has_16_copies) {
    return launch_colors<kManyCopies>(FourBytePixels(frame), tables.tables, clusters, stream);
  }
  launch_colors<kFewCopies>(FourBytePixels(frame), tables.tables, clusters, stream);
}

}  // namespace regions::slicsuperpixel
