// Joining small pieces, in the rounds that core/pieces.hpp describes. The first round looks at all
// pixels and keeps the edges of small pieces; the later ones look at those edges. What a piece
// chooses is the least of numbers, and trees are joined under their least label: no order matters.
#include "gpu/cclabel/tiles.hpp"
#include "gpu/slicsuperpixel/columns.hpp"
#include "gpu/slicsuperpixel/phases.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = JoinRounds::threads;

struct Joining {
  Pieces pieces;
  SlicScale scale;
  uint32_t least;

  // a and b are roots that touch. Returns whether one of them is small.
  __device__ bool touch(uint32_t a, uint32_t b) const {
    const Piece one = pieces.piece[a], other = pieces.piece[b];
    if (one.area >= least && other.area >= least) return false;
    const uint32_t distance = piece_distance(one, other, scale);
    if (one.area < least) atomicMin(pieces.choice + a, choice_of(distance, b));
    if (other.area < least) atomicMin(pieces.choice + b, choice_of(distance, a));
    return true;
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

__global__ __launch_bounds__(ColumnWalk::threads) void find_edges_kernel(Joining joining) {
  const ConstLabelMap labels = joining.pieces.labels;
  const Column column({labels.width, labels.height});
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (column.y >= column.end) return;  // all lanes alike
  const auto label_at = [&](int x, int y) {
    return x < labels.width && y >= 0 ? labels(x, y) : cclabel::kNone;
  };
  const auto keep = [&](uint32_t a, uint32_t b) {
    if (!joining.touch(a, b)) return;
    joining.pieces.edges[atomicAdd(joining.pieces.edge_count, 1u)] = {a, b};
  };
  uint32_t above = label_at(column.x, column.y - 1), last_right = cclabel::kNone;
  for (int y = column.y; y < column.end; ++y) {
    const uint32_t label = label_at(column.x, y);
    uint32_t right = __shfl_down_sync(0xffffffffu, label, 1);
    if (lane == 31) right = label_at(column.x + 1, y);
    const uint32_t left = __shfl_up_sync(0xffffffffu, label, 1);
    const uint32_t left_above = __shfl_up_sync(0xffffffffu, above, 1);
    // The same two pieces mostly touch along several pixels.
    const bool same_right = label == above && right == last_right;
    const bool same_above = lane > 0 && label == left && above == left_above;
    if (column.inside) {
      if (label != right && right != cclabel::kNone && !same_right) keep(label, right);
      if (label != above && above != cclabel::kNone && !same_above) keep(label, above);
    }
    above = label;
    last_right = right;
  }
}

__global__ __launch_bounds__(kThreads) void look_kernel(Joining joining, int round) {
  if (joining.pieces.changes[round - 1] == 0) return;
  const uint32_t edges = *joining.pieces.edge_count;
  for (uint32_t e = blockIdx.x * kThreads + threadIdx.x; e < edges; e += gridDim.x * kThreads) {
    joining.touch_edge(e);
  }
}

__global__ __launch_bounds__(kThreads) void unite_kernel(Joining joining, int round) {
  const uint32_t n = *joining.pieces.count;
  // Whole warps go round together.
  for (uint32_t first = blockIdx.x * kThreads; first <= n; first += gridDim.x * kThreads) {
    if (joining.unite(first + threadIdx.x, n)) joining.pieces.changes[round] = 1;
  }
}

__global__ __launch_bounds__(kThreads) void fold_kernel(Joining joining, int round) {
  if (joining.pieces.changes[round] == 0) return;
  const uint32_t n = *joining.pieces.count;
  for (uint32_t label = 1 + blockIdx.x * kThreads + threadIdx.x; label <= n;
       label += gridDim.x * kThreads) {
    joining.fold(label);
  }
}

// What is left after the shared rounds, mostly nothing, by one block.
__global__ __launch_bounds__(JoinRounds::last_threads) void finish_kernel(Joining joining) {
  constexpr uint32_t kAll = JoinRounds::last_threads;
  if (joining.pieces.changes[JoinRounds::shared - 1] == 0) return;
  const uint32_t n = *joining.pieces.count, edges = *joining.pieces.edge_count;
  while (true) {
    for (uint32_t e = threadIdx.x; e < edges; e += kAll) joining.touch_edge(e);
    __syncthreads();  // all have chosen
    int changes = 0;
    for (uint32_t first = 0; first <= n; first += kAll) {
      changes |= joining.unite(first + threadIdx.x, n);
    }
    if (!__syncthreads_or(changes)) return;  // also: all trees are joined
    for (uint32_t label = 1 + threadIdx.x; label <= n; label += kAll) joining.fold(label);
    __syncthreads();  // sums and trees are ready for the next round
  }
}

}  // namespace

void join_pieces(const Pieces& pieces, uint32_t least, const SlicScale& scale,
                 cudaStream_t stream) {
  const Joining joining{pieces, scale, least};
  launch(find_edges_kernel, column_grid(pieces.labels.size()), ColumnWalk::threads, 0, stream,
         joining);
  for (int round = 0; round < JoinRounds::shared; ++round) {
    if (round > 0) launch(look_kernel, JoinRounds::blocks, kThreads, 0, stream, joining, round);
    launch(unite_kernel, JoinRounds::blocks, kThreads, 0, stream, joining, round);
    launch(fold_kernel, JoinRounds::blocks, kThreads, 0, stream, joining, round);
  }
  launch(finish_kernel, 1, JoinRounds::last_threads, 0, stream, joining);
}

}  // namespace regions::slic
