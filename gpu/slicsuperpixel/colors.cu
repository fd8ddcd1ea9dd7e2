// Colours of all pixels, four to a thread, with the conversion's tables in shared memory.
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = 1024;  // the tables are loaded once a block
constexpr int kBlocks = 2 * 132;

// Any format.
struct AnyPixels {
  ConstFrame frame;
  ColorReader reader;

  __device__ void read(const LabTables& tables, int x, int y, uint32_t (&color)[4]) const {
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
  __device__ void read(const LabTables& tables, int x, int y, uint32_t (&color)[4]) const {
    const std::byte* at = frame.plane[0] + y * frame.pitch[0] + 4 * static_cast<ptrdiff_t>(x);
    uint32_t pixel[4];
    if (x + 4 <= frame.width) {
      const uint4 four = *reinterpret_cast<const uint4*>(at);
      pixel[0] = four.x, pixel[1] = four.y, pixel[2] = four.z, pixel[3] = four.w;
    } else {
      for (int k = 0; k < 4; ++k) {
        pixel[k] = reinterpret_cast<const uint32_t*>(at)[min(k, frame.width - 1 - x)];
      }
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      color[k] = lab_of(tables, static_cast<int>(pixel[k] >> red & 255),
                        static_cast<int>(pixel[k] >> green & 255),
                        static_cast<int>(pixel[k] >> blue & 255));
    }
  }
};

template <class Pixels>
__global__ __launch_bounds__(kThreads, 2) void colors_kernel(Pixels pixels, const LabTables* tables,
                                                             Image<uint32_t> colors,
                                                             int cell_height) {
  __shared__ LabTables shared;
  static_assert(sizeof(LabTables) % sizeof(uint4) == 0);
  for (int i = static_cast<int>(threadIdx.x); i < static_cast<int>(sizeof shared / sizeof(uint4));
       i += kThreads) {
    reinterpret_cast<uint4*>(&shared)[i] = reinterpret_cast<const uint4*>(tables)[i];
  }
  __syncthreads();  // the tables are complete
  const int groups = (pixels.frame.width + 3) / 4;
  const int per_row = (groups + 31) / 32;  // a warp reads 32 groups of a row
  const int warps = kThreads / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int first = static_cast<int>(blockIdx.x) * warps + static_cast<int>(threadIdx.x / 32);
  for (int job = first; job < per_row * pixels.frame.height;
       job += static_cast<int>(gridDim.x) * warps) {
    const int y = job / per_row, group = job % per_row * 32 + lane;
    if (group >= groups) continue;
    uint32_t color[4];
    pixels.read(shared, 4 * group, y, color);
    const auto row = static_cast<uint32_t>(y % cell_height % kPatchRows) << 24;
    const uint32_t flip = row | Clusters::kBiasBits;
    *reinterpret_cast<uint4*>(colors.row(y) + 4 * group) = {color[0] ^ flip, color[1] ^ flip,
                                                            color[2] ^ flip, color[3] ^ flip};
  }
}

template <class Pixels>
void launch_reader(const Pixels& pixels, const LabTables* tables, const Clusters& clusters,
                   cudaStream_t stream) {
  launch(colors_kernel<Pixels>, kBlocks, kThreads, 0, stream, pixels, tables, clusters.colors,
         clusters.grid.height);
}

}  // namespace

void read_colors(const ConstFrame& frame, const ColorReader& reader, const LabTables* tables,
                 const Clusters& clusters, cudaStream_t stream) {
  if (WordPixels::can_read(frame, reader)) {
    launch_reader(WordPixels(frame), tables, clusters, stream);
  } else {
    launch_reader(AnyPixels{frame, reader}, tables, clusters, stream);
  }
}

}  // namespace regions::slic
