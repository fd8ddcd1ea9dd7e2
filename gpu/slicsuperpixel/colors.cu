// Colours of all pixels, four to a thread, with the conversion's tables in shared memory: those of
// levels several times, so that lanes which look up different levels do not get in each other's
// way.
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = 1024;  // the tables are loaded once a block
constexpr int kBlocks = 2 * 132;

// The tables in shared memory; a lane has the copy of its number.
template <int kCopies>
struct SpreadTables {
  static constexpr int kLevels = 3 * 256;
  static constexpr size_t kShareBytes = sizeof(uint64_t) * kLevels * kCopies;
  static constexpr size_t kBytes = kShareBytes + sizeof(LabTables::root);
  const uint64_t* share;  // [red, green, blue][level][copy], this lane's
  const uint16_t* root;

  __device__ uint64_t share_of(int channel, int level) const {
    return share[(channel * 256 + level) * kCopies];
  }
  __device__ int f(uint64_t sums, int axis) const {
    return root[sums >> (axis * LabTables::kShare + LabTables::kDrop) & (LabTables::kRoots - 1)];
  }

  // All threads of the block; a barrier must follow.
  __device__ SpreadTables(const LabTables& from, std::byte* to)
      : share(reinterpret_cast<const uint64_t*>(to) + threadIdx.x % kCopies),
        root(reinterpret_cast<const uint16_t*>(to + kShareBytes)) {
    constexpr int kPairs = kCopies / 2;
    static_assert(kLevels <= kThreads && kCopies % 2 == 0 &&
                  sizeof(LabTables::root) % sizeof(uint4) == 0);
    if (const auto i = static_cast<int>(threadIdx.x); i < kLevels) {
      const uint64_t value = (&from.share[0][0])[i];
      // Each lane begins elsewhere, for the banks' sake.
      for (int k = 0; k < kPairs; ++k) {
        reinterpret_cast<ulonglong2*>(to)[i * kPairs + (i + k) % kPairs] = {value, value};
      }
    }
    const auto* const roots = reinterpret_cast<const uint4*>(from.root);
    for (size_t i = threadIdx.x; i < sizeof(LabTables::root) / sizeof(uint4); i += kThreads) {
      reinterpret_cast<uint4*>(to + kShareBytes)[i] = roots[i];
    }
  }
};

// Any format.
struct AnyPixels {
  ConstFrame frame;
  ColorReader reader;

  struct Raw {};
  __device__ Raw fetch(int, int) const { return {}; }
  template <class Tables>
  __device__ void convert(const Tables& tables, Raw, int x, int y, uint32_t (&color)[4]) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      color[k] = reader.at(tables, frame, min(x + k, frame.width - 1), y);
    }
  }
};

// Four bytes a pixel, R, G and B in Lab; rows 16-byte aligned.
struct WordPixels {
  ConstFrame frame;
  int red, green, blue;  // bits to shift

  WordPixels(const ConstFrame& in)
      : frame(in),
        red(8 * in.layout.component[0].offset),
        green(8 * in.layout.component[1].offset),
        blue(8 * in.layout.component[2].offset) {}
  static bool can_read(const ConstFrame& frame, const ColorReader& reader) {
    const auto address = reinterpret_cast<uintptr_t>(frame.plane[0]);
    return frame.layout.model == ColorModel::rgb && frame.layout.component[0].step == 4 &&
           reader.space == ColorSpace::lab &&
           (address | static_cast<uintptr_t>(frame.pitch[0])) % 16 == 0;
  }
  using Raw = uint4;
  __device__ Raw fetch(int x, int y) const {
    const std::byte* at = frame.plane[0] + y * frame.pitch[0] + 4 * static_cast<ptrdiff_t>(x);
    if (x + 4 <= frame.width) return *reinterpret_cast<const uint4*>(at);
    const auto* const pixel = reinterpret_cast<const uint32_t*>(at);
    const int last = frame.width - 1 - x;
    return {pixel[0], pixel[min(1, last)], pixel[min(2, last)], pixel[min(3, last)]};
  }
  template <class Tables>
  __device__ void convert(const Tables& tables, const Raw& raw, int, int,
                          uint32_t (&color)[4]) const {
    const uint32_t pixel[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      color[k] = lab_of(tables, static_cast<int>(pixel[k] >> red & 255),
                        static_cast<int>(pixel[k] >> green & 255),
                        static_cast<int>(pixel[k] >> blue & 255));
    }
  }
};

template <int kCopies, class Pixels>
__global__ __launch_bounds__(kThreads, 2) void colors_kernel(Pixels pixels, const LabTables* tables,
                                                             Image<uint32_t> colors,
                                                             int cell_height) {
  extern __shared__ __align__(16) std::byte shared[];
  const int groups = (pixels.frame.width + 3) / 4;
  const int per_row = (groups + 31) / 32;  // a warp reads 32 groups of a row
  const int jobs = per_row * pixels.frame.height;
  const int all = static_cast<int>(gridDim.x) * (kThreads / 32);
  const int lane = static_cast<int>(threadIdx.x % 32);
  int job = static_cast<int>(blockIdx.x * (kThreads / 32) + threadIdx.x / 32);
  // The next job's pixels are fetched while this one's are converted.
  typename Pixels::Raw next = {};
  const auto fetch = [&](int of) {
    const int group = of % per_row * 32 + lane;
    if (of < jobs && group < groups) next = pixels.fetch(4 * group, of / per_row);
  };
  fetch(job);
  const SpreadTables<kCopies> spread(*tables, shared);
  __syncthreads();  // the tables are complete
  for (; job < jobs; job += all) {
    const typename Pixels::Raw raw = next;
    fetch(job + all);
    const int y = job / per_row, group = job % per_row * 32 + lane;
    if (group >= groups) continue;
    uint32_t color[4];
    pixels.convert(spread, raw, 4 * group, y, color);
    const auto row = static_cast<uint32_t>(y % cell_height % kPatchRows) << 24;
    const uint32_t flip = row | Clusters::kBiasBits;
    *reinterpret_cast<uint4*>(colors.row(y) + 4 * group) = {color[0] ^ flip, color[1] ^ flip,
                                                            color[2] ^ flip, color[3] ^ flip};
  }
}

// Lets a kernel have more than the 48 KiB that every device gives; false if this one cannot.
bool may_have(const void* kernel, size_t bytes) {
  int device = 0, most = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "asking for shared memory");
  if (bytes > static_cast<size_t>(most)) return false;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "asking for shared memory");
  return true;
}

template <int kCopies, class Pixels>
void launch_with(const Pixels& pixels, const LabTables* tables, const Clusters& clusters,
                 cudaStream_t stream) {
  launch(colors_kernel<kCopies, Pixels>, kBlocks, kThreads, SpreadTables<kCopies>::kBytes, stream,
         pixels, tables, clusters.colors, clusters.grid.height);
}

}  // namespace

void read_colors(const ConstFrame& frame, const ColorReader& reader, const LabTables* tables,
                 const Clusters& clusters, cudaStream_t stream) {
  constexpr int kFew = 2, kMany = 16;  // with 16, no two lanes of a half warp share a bank
  if (!WordPixels::can_read(frame, reader)) {
    return launch_with<kFew>(AnyPixels{frame, reader}, tables, clusters, stream);
  }
  static const bool can_have_many =
      may_have(reinterpret_cast<const void*>(&colors_kernel<kMany, WordPixels>),
               SpreadTables<kMany>::kBytes);
  if (can_have_many) return launch_with<kMany>(WordPixels(frame), tables, clusters, stream);
  launch_with<kFew>(WordPixels(frame), tables, clusters, stream);
}

}  // namespace regions::slic
