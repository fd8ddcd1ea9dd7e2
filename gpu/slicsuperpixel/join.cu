// Joining small pieces, in the rounds that core/pieces.hpp describes. The first round looks at all
// pixels and keeps the edges of small pieces; the later ones look at those edges. What a piece
// chooses is the least of numbers, and trees are joined under their least label: no order matters.
#include "gpu/cclabel/tiles.hpp"
#include "gpu/cclabel/warp.hpp"
#include "gpu/maxflow/grid_barrier.hpp"
#include "gpu/slicsuperpixel/columns.hpp"
#include "gpu/slicsuperpixel/phases.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = JoinRounds::threads;

struct Joining {
  Pieces pieces;
  SlicScale scale;
  uint32_t least;

  // a and b are roots that touch.
  __device__ void touch(uint32_t a, uint32_t b) const {
    const Piece one = pieces.piece[a], other = pieces.piece[b];
    if (one.area >= least && other.area >= least) return;
    const uint32_t distance = piece_distance(one, other, scale);
    if (one.area < least) atomicMin(pieces.choice + a, choice_of(distance, b));
    if (other.area < least) atomicMin(pieces.choice + b, choice_of(distance, a));
  }
  __device__ void touch_edge(uint32_t e) const {
    const uint2 edge = pieces.edges[e];
    const uint32_t a = pieces.parent[edge.x], b = pieces.parent[edge.y];  // roots: trees are flat
    if (a != b) touch(a, b);
  }
  // All lanes of a warp. Returns whether this lane's label has chosen.
  __device__ bool unite(uint32_t label, uint32_t n) const {
    const unsigned long long choice = label <= n ? pieces.choice[label] : kNoChoice;
    const bool wanted = choice != kNoChoice;
    cclabel::unite(pieces.parent, label, static_cast<uint32_t>(choice), wanted);
    return wanted;
  }
  // Hangs a label below its root; one that has just stopped being a root, which still has an area,
  // gives that what it has.
  __device__ void fold(uint32_t label) const {
    pieces.choice[label] = kNoChoice;
    volatile uint32_t* parent = pieces.parent;
    uint32_t root = parent[label];
    if (root == label) return;
    for (uint32_t above = parent[root]; above != root; above = parent[root]) root = above;
    parent[label] = root;
    Piece& piece = pieces.piece[label];
    if (piece.area == 0) return;
    atomicAdd(&pieces.piece[root].area, piece.area);
    for (int c = 0; c < 3; ++c) atomicAdd(&pieces.piece[root].color[c], piece.color[c]);
    piece.area = 0;
  }
};

// The first round, and the edges that the later ones look at. A thread looks at one pixel of each
// of a few rows: first all loads, then what few small pieces need.
__global__ __launch_bounds__(ColumnWalk::threads) void find_edges_kernel(Joining joining) {
  constexpr int kRows = ColumnWalk::edge_rows;
  const Pieces& pieces = joining.pieces;
  const ConstLabelMap labels = pieces.labels;
  const Column column({labels.width, labels.height}, kRows);
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (column.y >= column.end) return;  // all lanes alike
  // Label 0 is outside the picture; no piece has it.
  const auto label_at = [&](int x, int y) {
    return x < labels.width && y >= 0 && y < column.end ? labels(x, y) : 0;
  };
  const auto is_small = [&](uint32_t label) {
    return label != 0 && pieces.piece[label].area < joining.least;
  };
  uint32_t row[kRows + 1], beyond[kRows];  // `row` begins above; `beyond` is right of lane 31
#pragma unroll
  for (int k = 0; k <= kRows; ++k) row[k] = label_at(column.x, column.y + k - 1);
#pragma unroll
  for (int k = 0; k < kRows; ++k) {
    beyond[k] = lane == 31 ? label_at(column.x + 1, column.y + k) : 0;
  }
  unsigned small = 0, small_beyond = 0;  // bits as above
#pragma unroll
  for (int k = 0; k <= kRows; ++k) small |= static_cast<unsigned>(is_small(row[k])) << k;
#pragma unroll
  for (int k = 0; k < kRows; ++k) {
    small_beyond |= static_cast<unsigned>(is_small(beyond[k])) << k;
  }
  uint32_t right[kRows];
  unsigned edges = 0;  // bit k: to the right in row k; bit kRows + k: to the pixel above
  unsigned small_right = __shfl_down_sync(0xffffffffu, small >> 1, 1);
  if (lane == 31) small_right = small_beyond;
#pragma unroll
  for (int k = 0; k < kRows; ++k) {
    const uint32_t above = row[k], label = row[k + 1];
    right[k] = __shfl_down_sync(0xffffffffu, label, 1);
    if (lane == 31) right[k] = beyond[k];
    const uint32_t left = __shfl_up_sync(0xffffffffu, label, 1);
    const uint32_t left_above = __shfl_up_sync(0xffffffffu, above, 1);
    // The same two pieces mostly touch along several pixels.
    const bool new_right = k == 0 || label != above || right[k] != right[k - 1];
    const bool new_above = lane == 0 || label != left || above != left_above;
    const bool small_here = small >> (k + 1) & 1;
    if (label != right[k] && label && right[k] && new_right &&
        (small_here || (small_right >> k & 1))) {
      edges |= 1u << k;
    }
    if (label != above && label && above && new_above && (small_here || (small >> k & 1))) {
      edges |= 1u << (kRows + k);
    }
  }
  const auto count = static_cast<uint32_t>(__popc(edges));
  const uint32_t up_to_own = cclabel::warp_prefix_sum(count);
  uint32_t place = 0;
  if (lane == 31 && up_to_own > 0) place = atomicAdd(pieces.edge_count, up_to_own);
  place = __shfl_sync(0xffffffffu, place, 31) + up_to_own - count;
#pragma unroll
  for (int k = 0; k < kRows; ++k) {
    if (edges >> k & 1) {
      pieces.edges[place++] = {row[k + 1], right[k]};
      joining.touch(row[k + 1], right[k]);
    }
    if (edges >> (kRows + k) & 1) {
      pieces.edges[place++] = {row[k + 1], row[k]};
      joining.touch(row[k + 1], row[k]);
    }
  }
}

// All rounds; the first choices are made. Blocks wait for each other, so they are few.
__global__ __launch_bounds__(kThreads) void join_kernel(Joining joining) {
  __shared__ maxflow::GridBarrier::Words words;
  maxflow::GridBarrier barrier(joining.pieces.meeting, &words);
  const uint32_t n = *joining.pieces.count, edges = *joining.pieces.edge_count;
  const uint32_t all = gridDim.x * kThreads, own = blockIdx.x * kThreads + threadIdx.x;
  while (true) {
    unsigned changes = 0;
    // Whole warps go round together.
    for (uint32_t first = blockIdx.x * kThreads; first <= n; first += all) {
      changes |= joining.unite(first + threadIdx.x, n);
    }
    if (!barrier.meet(changes)) return;
    for (uint32_t label = 1 + own; label <= n; label += all) joining.fold(label);
    barrier.meet(0);
    for (uint32_t e = own; e < edges; e += all) joining.touch_edge(e);
    barrier.meet(0);
  }
}

}  // namespace

void join_pieces(const Pieces& pieces, uint32_t least, const SlicScale& scale,
                 cudaStream_t stream) {
  const Joining joining{pieces, scale, least};
  launch(find_edges_kernel, column_grid(pieces.labels.size(), ColumnWalk::edge_rows),
         ColumnWalk::threads, 0, stream, joining);
  launch_cooperative(join_kernel, static_cast<unsigned>(pieces.join_blocks), kThreads, 0, stream,
                     joining);
}

int join_blocks() {
  int device = 0, processors = 0, each = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
        "asking for the GPU's processors");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &each, reinterpret_cast<const void*>(&join_kernel), kThreads, 0),
        "asking how many blocks run at once");
  const int most = processors * each;
  return most < JoinRounds::most_blocks ? most : JoinRounds::most_blocks;
}

}  // namespace regions::slic
