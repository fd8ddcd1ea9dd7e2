// Finds the pieces that are too small, what they touch, and their first choices.
//
// Only pixels of small pieces are looked at: each sees the components on its four sides. Two small
// pieces see each other; the pair is kept by the one on the left or above.
#include "gpu/slicsuperpixel/joining.hpp"

namespace regions::slic {
namespace {

using cclabel::kAllLanes;
using T = PieceTile;

struct SmallPixels {
  uint32_t of_component[T::pixels / 32];  // bits: small components
  uint16_t place[T::pixels];              // of their pixels
  uint32_t count;
};

// Which components of the tile are of small pieces; returns whether this thread saw one.
// Representatives go to pieces.small.
__device__ bool mark_small(SmallPixels& s, const Joining& joining, int tile) {
  const Pieces& pieces = joining.pieces;
  const uint32_t count = pieces.count[tile], first = pieces.start[tile];
  bool found = false;
  for (uint32_t start = threadIdx.x / 32 * 32; start < count; start += T::threads) {
    const uint32_t i = start + threadIdx.x % 32;
    uint32_t id = 0;
    bool listed = false;
    if (i < count) {
      id = first + i;
      const uint32_t root = pieces.parent[id];  // gathered: trees are flat
      if (pieces.piece[root].area < joining.least) {
        atomicOr(&s.of_component[i / 32], 1u << i % 32);
        listed = root == id;
        found = true;
      }
    }
    const uint32_t at = room_for(listed ? 1 : 0, &pieces.counts->small);
    if (listed) pieces.small[at] = id;
  }
  return found;
}

__device__ void list_pixels(SmallPixels& s, const Pieces& pieces, int left, int top) {
  for (int place = static_cast<int>(threadIdx.x); place < T::pixels; place += T::threads) {
    const int x = left + place % T::width, y = top + place / T::width;
    bool is_small = false;
    if (x < pieces.size.width && y < pieces.size.height) {
      const int component = pieces.component[pieces.pixel_at(x, y)];
      is_small = s.of_component[component / 32] >> component % 32 & 1;
    }
    if (!__any_sync(kAllLanes, is_small)) continue;
    const uint32_t at = room_for(is_small ? 1 : 0, &s.count);
    if (is_small) s.place[at] = static_cast<uint16_t>(place);
  }
}

// The components around a pixel. What is outside the picture is the pixel's own.
struct Neighbourhood {
  uint32_t own;
  uint32_t side[4];    // right, below, left, above
  uint32_t before[4];  // the same for the pixel above (right, left) or left (below, above)
  bool before_own[2];  // the pixel above, left is of the same component

  __device__ Neighbourhood(const Pieces& pieces, int x, int y) {
    own = pieces.component_at(x, y);
    const auto at = [&](int dx, int dy) {
      const int nx = x + dx, ny = y + dy;
      const bool inside = nx >= 0 && ny >= 0 && nx < pieces.size.width && ny < pieces.size.height;
      return inside ? pieces.component_at(nx, ny) : own;
    };
    side[0] = at(1, 0), side[1] = at(0, 1), side[2] = at(-1, 0), side[3] = at(0, -1);
    before[0] = at(1, -1), before[1] = at(-1, 1), before[2] = before[3] = at(-1, -1);
    before_own[0] = y > 0 && side[3] == own;
    before_own[1] = x > 0 && side[2] == own;
  }
  // Whether something is to be seen there that the pixel before does not see.
  __device__ bool is_new(int d) const {
    return side[d] != own && !(before_own[d % 2] && before[d] == side[d]);
  }
};

__global__ __launch_bounds__(T::threads) void find_edges_kernel(Joining joining) {
  __shared__ SmallPixels s;
  const Pieces& pieces = joining.pieces;
  const int left = static_cast<int>(blockIdx.x) * T::width;
  const int top = static_cast<int>(blockIdx.y) * T::rows;
  const int tile = static_cast<int>(blockIdx.y) * pieces.columns + static_cast<int>(blockIdx.x);
  for (int w = static_cast<int>(threadIdx.x); w < T::pixels / 32; w += T::threads) {
    s.of_component[w] = 0;
  }
  if (threadIdx.x == 0) s.count = 0;
  __syncthreads();  // all is cleared
  const bool found = mark_small(s, joining, tile);
  if (!__syncthreads_or(found)) return;  // all small components are known
  list_pixels(s, pieces, left, top);
  __syncthreads();  // the list is complete
  for (uint32_t start = threadIdx.x / 32 * 32; start < s.count; start += T::threads) {
    const uint32_t i = start + threadIdx.x % 32;
    uint32_t own = 0, other[4] = {};
    unsigned kept = 0;  // bits of sides
    if (i < s.count) {
      const int place = s.place[i];
      const Neighbourhood around(pieces, left + place % T::width, top + place / T::width);
      own = pieces.parent[around.own];
#pragma unroll
      for (int d = 0; d < 4; ++d) {
        if (!around.is_new(d)) continue;
        other[d] = pieces.parent[around.side[d]];
        if (other[d] == own) continue;
        if (joining.touch(own, other[d], 0, d < 2)) kept |= 1u << d;
      }
    }
    uint32_t at = room_for(static_cast<uint32_t>(__popc(kept)), &pieces.counts->edges);
#pragma unroll
    for (int d = 0; d < 4; ++d) {
      if (kept >> d & 1) pieces.edges[at++] = {own, other[d]};
    }
  }
}

}  // namespace

void find_edges(const Joining& joining, cudaStream_t stream) {
  launch(find_edges_kernel,
         dim3(static_cast<unsigned>(joining.pieces.columns),
              static_cast<unsigned>(joining.pieces.rows)),
         T::threads, 0, stream, joining);
}

}  // namespace regions::slic
