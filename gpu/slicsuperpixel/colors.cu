// Colours of all pixels, four to a thread, with the conversion's tables in shared memory: those of
// levels several times, so that lanes which look up different levels do not get in each other's
// way.
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = 1024;  // the tables are loaded once a block
constexpr int kBlocks = 2 * 132;
constexpr int kWarps = kBlocks * (kThreads / 32);

// The tables in shared memory; a lane has the copy of its number.
template <int kCopies>
struct SpreadTables {
  static constexpr int kLevels = 3 * 256;
  static constexpr int kEntry = sizeof(uint64_t) * kCopies;  // bytes from a level to the next
  static constexpr size_t kShareBytes = static_cast<size_t>(kEntry) * kLevels;
  static constexpr size_t kBytes = kShareBytes + sizeof(LabTables::root);
  const std::byte* share;  // [red, green, blue][level][copy] of uint64_t
  const std::byte* root;
  uint32_t copy;  // this lane's, in bytes, times kSpread

  // A level and the lane's copy side by side in two bytes, divided by this, say where the entry is.
  static constexpr int kSpread = 256 / kEntry;
  static_assert(kSpread * kEntry == 256);

  __device__ uint64_t share_of(int channel, int level) const {
    return share_at(channel, static_cast<uint32_t>(level) << 8 | copy);
  }
  __device__ uint64_t share_at(int channel, uint32_t place) const {
    return *reinterpret_cast<const uint64_t*>(share + channel * 256 * kEntry + place / kSpread);
  }
  __device__ int f(uint64_t sums, int axis) const {
    // In bytes at once.
    const auto place =
        static_cast<uint32_t>(sums >> (axis * LabTables::kShare + LabTables::kDrop - 1));
    return *reinterpret_cast<const uint16_t*>(root + (place & (2 * LabTables::kRoots - 2)));
  }

  // All threads of the block; a barrier must follow.
  __device__ SpreadTables(const LabTables& from, std::byte* to)
      : share(to),
        root(to + kShareBytes),
        copy(threadIdx.x % kCopies * static_cast<uint32_t>(sizeof(uint64_t)) * kSpread) {
    constexpr unsigned kPairs = kCopies / 2;
    static_assert((kPairs & (kPairs - 1)) == 0);
    constexpr unsigned kRoots = sizeof(LabTables::root) / sizeof(uint4);
    static_assert(kLevels <= kThreads && kCopies % 2 == 0 && kRoots <= kThreads &&
                  sizeof(LabTables::root) % sizeof(uint4) == 0);
    const unsigned i = threadIdx.x;
    if (i < kLevels) {
      const uint64_t value = (&from.share[0][0])[i];
      // Each lane begins elsewhere, for the banks' sake.
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

// Such tables for levels that come as places.
template <int kCopies>
struct PlacedTables {
  const SpreadTables<kCopies>& tables;
  __device__ uint64_t share_of(int channel, int place) const {
    return tables.share_at(channel, static_cast<uint32_t>(place));
  }
  __device__ int f(uint64_t sums, int axis) const { return tables.f(sums, axis); }
};

// Any format.
struct AnyPixels {
  ConstFrame frame;
  ColorReader reader;

  struct Raw {};
  __device__ Raw fetch(int, int) const { return {}; }
  // As Clusters wants them, with `row` in the uppermost byte.
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

// By a single instruction.
__device__ inline uint64_t row_start(ptrdiff_t pitch, int y) {
  return static_cast<uint64_t>(static_cast<uint32_t>(pitch)) * static_cast<uint32_t>(y);
}

// Four bytes a pixel, R, G and B in Lab; rows 16-byte aligned.
struct WordPixels {
  ConstFrame frame;
  uint32_t red, green, blue;  // choose the byte of a pixel, and put a lane's copy below it

  explicit WordPixels(const ConstFrame& in) : frame(in) {
    const auto choice = [&](int c) {
      return 0x5504u | static_cast<uint32_t>(in.layout.component[c].offset) << 4;
    };
    red = choice(0), green = choice(1), blue = choice(2);
  }
  static bool can_read(const ConstFrame& frame, const ColorReader& reader) {
    const auto address = reinterpret_cast<uintptr_t>(frame.plane[0]);
    return frame.layout.model == ColorModel::rgb && frame.layout.component[0].step == 4 &&
           reader.space == ColorSpace::lab &&
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
  __device__ void convert(const SpreadTables<kCopies>& tables, const Raw& raw, int, int,
                          uint32_t row, uint32_t (&color)[4]) const {
    const uint32_t pixel[4] = {raw.x, raw.y, raw.z, raw.w};
    constexpr int kBias = 128 << LabTerms::kBits;
    const int above =
        static_cast<int>(row << 24) + kBias;  // the biased component leaves it as it is
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const auto place = [&](uint32_t choice) {
        return static_cast<int>(__byte_perm(pixel[k], tables.copy, choice));
      };
      const LabTerms terms =
          lab_terms(PlacedTables<kCopies>{tables}, place(red), place(green), place(blue));
      // Byte 2 of each, and byte 3 of the last.
      const uint32_t two = __byte_perm(static_cast<uint32_t>(terms.component[0] + kBias),
                                       static_cast<uint32_t>(terms.component[1] + kBias), 0x62);
      color[k] = __byte_perm(two, static_cast<uint32_t>(terms.component[2] + above), 0x7610);
    }
  }
};

// Where warps work: on 32 groups of four pixels of a row at a time.
struct Chunks {
  int in_row, cell_height;
  uint32_t by_row, by_cell;     // 2^32 divided by them, rounded up
  int rows, chunks, cell_rows;  // from a warp's place to its next: so far below, and to the right

  explicit Chunks(const Clusters& clusters)
      : in_row((clusters.colors.width + 127) / 128),
        cell_height(clusters.grid.height),
        by_row(UINT32_MAX / static_cast<uint32_t>(in_row) + 1),
        by_cell(UINT32_MAX / static_cast<uint32_t>(cell_height) + 1) {
    rows = kWarps / in_row;
    chunks = kWarps % in_row;
    cell_rows = rows % cell_height;
  }
};
struct ChunkPlace {
  int y, chunk, cell_y;  // in the picture; in the row; in the cell

  // Exact, as job times either divisor is below 2^32.
  __device__ ChunkPlace(const Chunks& all, int job)
      : y(divide(job, all.in_row, all.by_row)),
        chunk(job - y * all.in_row),
        cell_y(y - divide(y, all.cell_height, all.by_cell) * all.cell_height) {}
  static __device__ int divide(int value, int divisor, uint32_t factor) {
    return divisor == 1 ? value : static_cast<int>(__umulhi(static_cast<uint32_t>(value), factor));
  }
  // Without a division, which would take as long as two pixels.
  __device__ void advance(const Chunks& all) {
    chunk += all.chunks;
    const int more = chunk >= all.in_row ? 1 : 0;
    chunk -= more * all.in_row;
    y += all.rows + more;
    cell_y += all.cell_rows + more;
    if (cell_y >= all.cell_height) cell_y -= all.cell_height;
  }
};

template <int kCopies, class Pixels>
__global__ __launch_bounds__(kThreads, 2) void colors_kernel(Pixels pixels, const LabTables* tables,
                                                             Image<uint32_t> colors,
                                                             Chunks chunks) {
  extern __shared__ __align__(16) std::byte shared[];
  const int lane = static_cast<int>(threadIdx.x % 32);
  ChunkPlace next(chunks, static_cast<int>(blockIdx.x * (kThreads / 32) + threadIdx.x / 32));
  const auto x_at = [&](const ChunkPlace& place) { return 128 * place.chunk + 4 * lane; };
  // The next chunk's pixels are fetched while this one's are converted.
  typename Pixels::Raw raw_next = {};
  const auto fetch = [&] {
    const int x = x_at(next);
    if (next.y < colors.height && x < colors.width) raw_next = pixels.fetch(x, next.y);
  };
  fetch();
  const SpreadTables<kCopies> spread(*tables, shared);
  __syncthreads();  // the tables are complete
  while (next.y < colors.height) {
    const ChunkPlace place = next;
    const typename Pixels::Raw raw = raw_next;
    next.advance(chunks);
    fetch();
    const int x = x_at(place);
    if (x >= colors.width) continue;
    uint32_t color[4];
    pixels.convert(spread, raw, x, place.y, static_cast<uint32_t>(place.cell_y) % kPatchRows,
                   color);
    auto* const to = reinterpret_cast<std::byte*>(colors.data) + row_start(colors.pitch, place.y);
    *reinterpret_cast<uint4*>(to + 4 * static_cast<ptrdiff_t>(x)) = {color[0], color[1], color[2],
                                                                     color[3]};
  }
}

constexpr int kFew = 2, kMany = 16;  // with 16, no two lanes of a half warp share a bank

template <int kCopies, class Pixels>
void launch_with(const Pixels& pixels, const LabTables* tables, const Clusters& clusters,
                 cudaStream_t stream) {
  launch(colors_kernel<kCopies, Pixels>, kBlocks, kThreads, SpreadTables<kCopies>::kBytes, stream,
         pixels, tables, clusters.colors, Chunks(clusters));
}

}  // namespace

bool allow_many_tables() {
  constexpr size_t kBytes = SpreadTables<kMany>::kBytes;
  const int most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (kBytes > static_cast<size_t>(most)) return false;
  check(cudaFuncSetAttribute(colors_kernel<kMany, WordPixels>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "asking for shared memory");
  return true;
}

void read_colors(const ConstFrame& frame, const ColorReader& reader, const ColorTables& tables,
                 const Clusters& clusters, cudaStream_t stream) {
  if (!WordPixels::can_read(frame, reader)) {
    return launch_with<kFew>(AnyPixels{frame, reader}, tables.tables, clusters, stream);
  }
  if (tables.many) return launch_with<kMany>(WordPixels(frame), tables.tables, clusters, stream);
  launch_with<kFew>(WordPixels(frame), tables.tables, clusters, stream);
}

}  // namespace regions::slic
