// Joins components across the edges between tiles: atomic union on the ids of first pixels, which
// need no look at the picture but for `equal` and `difference`.
#include "gpu/cclabel/pictures/phases.hpp"
#include "gpu/cclabel/pictures/tuning.hpp"

namespace regions::cclabel {
namespace {

// A line of pixels along a seam, and the line across it; (x, y) is the near pixel at index 0.
struct Seam {
  const uint32_t* near;  // [length] component ids
  const uint32_t* far;
  int length;
  int x, y;
  int along_x, along_y;  // a step along the seam
};

__device__ Seam seam_of_block(const Tiles& tiles) {
  const int seam = static_cast<int>(blockIdx.y);
  const size_t stride = static_cast<size_t>(tiles.stride);
  const size_t height = static_cast<size_t>(tiles.size.height);
  if (seam < tiles.rows - 1) {
    const int row = seam + 1;
    return {tiles.top + row * stride,
            tiles.bottom + (row - 1) * stride,
            tiles.size.width,
            0,
            row * tiles.height,
            1,
            0};
  }
  const int column = seam - (tiles.rows - 1) + 1;
  return {tiles.left + column * height,
          tiles.right + (column - 1) * height,
          tiles.size.height,
          column * tiles.width,
          0,
          0,
          1};
}

// Foreground neighbours are linked.
struct ForegroundLinks {
  explicit ForegroundLinks(const Subject&) {}
  // Whether a straight link makes the slanted ones at either side redundant: the far neighbours
  // are linked to each other.
  static constexpr bool straight_suffices = true;
  __device__ bool operator()(int, int, int, int) const { return true; }
};
template <class Links>
struct PictureLinks {
  explicit PictureLinks(const Subject& subject) : links(subject) {}
  static constexpr bool straight_suffices = false;
  __device__ bool operator()(int x, int y, int x2, int y2) const {
    return links(links.color(x, y), links.color(x2, y2));
  }
  Links links;
};

// Joins a and b unless a lane before has the same pair; a root that is lost takes its first
// pixel out of the regions'. All lanes of the warp call it.
__device__ void join(const Tiles& tiles, bool is_linked, uint32_t a, uint32_t b) {
  const uint64_t pair = is_linked && a != b ? static_cast<uint64_t>(a) << 32 | b : ~0ull;
  const uint32_t alike = __match_any_sync(kAllLanes, pair);
  const bool leads = static_cast<int>(threadIdx.x % 32) == __ffs(alike) - 1;
  const uint32_t lost = unite(tiles.parent, a, b, pair != ~0ull && leads);
  if (lost == kNone) return;
  // Each root is lost once, so every bit is cleared once and every count is exact at the end.
  const uint32_t word = lost >> 5;
  atomicAnd(tiles.firsts + word, ~(1u << (lost & 31)));
  const uint32_t words = static_cast<uint32_t>(tiles.stride / 32);
  const uint32_t row = word / words / static_cast<uint32_t>(tiles.height);
  const uint32_t column = word % words / static_cast<uint32_t>(tiles.width / 32);
  atomicSub(tiles.regions + row * static_cast<uint32_t>(tiles.columns) + column, 1u);
}

template <class Links, Connectivity connectivity>
__global__ __launch_bounds__(SeamBlock::threads) void join_seams_kernel(Links links, Tiles tiles) {
  const Seam seam = seam_of_block(tiles);
  const int i = static_cast<int>(blockIdx.x) * SeamBlock::threads + static_cast<int>(threadIdx.x);
  const bool inside = i < seam.length;
  const uint32_t near = inside ? seam.near[i] : kNone;
  const int x = seam.x + i * seam.along_x, y = seam.y + i * seam.along_y;
  const auto far_at = [&](int offset) {
    const int k = i + offset;
    return near != kNone && k >= 0 && k < seam.length ? seam.far[k] : kNone;
  };
  const auto is_linked = [&](uint32_t far, int offset) {
    return far != kNone && links(x, y, x + offset * seam.along_x - seam.along_y,
                                 y + offset * seam.along_y - seam.along_x);
  };
  const uint32_t across = far_at(0);
  const bool straight = is_linked(across, 0);
  join(tiles, straight, near, across);
  if constexpr (connectivity == Connectivity::eight) {
    const bool needed = !(Links::straight_suffices && straight);
#pragma unroll
    for (int offset = -1; offset <= 1; offset += 2) {
      const uint32_t slanted = needed ? far_at(offset) : kNone;
      join(tiles, is_linked(slanted, offset), near, slanted);
    }
  }
}

template <class Links, Connectivity connectivity>
void launch_seams(const Subject& subject, const Tiles& tiles, cudaStream_t stream) {
  const int longest = tiles.size.width > tiles.size.height ? tiles.size.width : tiles.size.height;
  const dim3 grid(blocks_for(static_cast<size_t>(longest), SeamBlock::threads),
                  static_cast<unsigned>(tiles.rows - 1 + tiles.columns - 1));
  launch(join_seams_kernel<Links, connectivity>, grid, SeamBlock::threads, 0, stream,
         Links(subject), tiles);
}

}  // namespace

void join_seams(const Subject& subject, const Tiles& tiles, Connectivity connectivity,
                cudaStream_t stream) {
  with_connectivity(connectivity, [&]<Connectivity c>() {
    if (subject.criterion == Criterion::binary) {
      launch_seams<ForegroundLinks, c>(subject, tiles, stream);
    } else if (subject.frame.layout.sample_bytes == 1) {
      launch_seams<PictureLinks<ByteLinks>, c>(subject, tiles, stream);
    } else {
      launch_seams<PictureLinks<NumberLinks>, c>(subject, tiles, stream);
    }
  });
}

}  // namespace regions::cclabel
