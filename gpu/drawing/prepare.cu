// The first launch of drawing, and one more for crowds. The first one's blocks have three trades
// that need nothing of each other: to copy the picture, to find where labels end, to stamp boxes
// and ids.
#include <algorithm>

#include "core/drawing/glyph_table.hpp"
#include "core/halves.hpp"
#include "gpu/drawing/phases.hpp"
#include "gpu/drawing/tuning.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/chain.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::drawing {
namespace {

constexpr int kThreads = Preparing::threads;
constexpr int kWarps = kThreads / 32;

// Rows of one plane to copy.
struct PlaneCopy {
  const std::byte* from;
  std::byte* to;
  ptrdiff_t from_pitch, to_pitch;  // bytes
  size_t row_bytes;
  int rows;
  unsigned blocks;

  REGIONS_HD size_t vectors() const { return (row_bytes + 15) / 16; }  // of a row
};

struct Trades {
  PlaneCopy copies[3];  // no blocks: nothing to copy
  LabelSampler labels;
  Ink ink;
  StampPlan stamps;
  DeviceRegions regions;
  unsigned copy_blocks, edge_blocks;  // the rest stamp
};

__device__ void copy_vector(const PlaneCopy& copy, size_t index, bool aligned) {
  const size_t row = index / copy.vectors();
  const size_t start = index % copy.vectors() * 16;
  const std::byte* from = copy.from + static_cast<ptrdiff_t>(row) * copy.from_pitch + start;
  std::byte* to = copy.to + static_cast<ptrdiff_t>(row) * copy.to_pitch + start;
  if (aligned && start + 16 <= copy.row_bytes) {
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
    return;
  }
  for (size_t i = 0; i < 16 && start + i < copy.row_bytes; ++i) to[i] = from[i];
}

__device__ void copy_plane(const PlaneCopy& copy, unsigned block) {
  const bool aligned =
      ((reinterpret_cast<uintptr_t>(copy.from) | reinterpret_cast<uintptr_t>(copy.to) |
        static_cast<uintptr_t>(copy.from_pitch) | static_cast<uintptr_t>(copy.to_pitch)) &
       15) == 0;
  const size_t count = copy.vectors() * static_cast<size_t>(copy.rows);
  const size_t first = static_cast<size_t>(block) * kThreads * Preparing::copy_vectors;
#pragma unroll
  for (int i = 0; i < Preparing::copy_vectors; ++i) {
    const size_t index = first + static_cast<size_t>(i) * kThreads + threadIdx.x;
    if (index < count) copy_vector(copy, index, aligned);
  }
}

// One row of labels as a warp holds it: the lane's pixel, and whether its row neighbours equal it.
struct LabelRow {
  uint32_t label;
  bool uniform;
};

// All lanes take part. Outside the picture lie the labels of its border, which makes no edge.
__device__ LabelRow label_row(const LabelSampler& labels, Size size, int x, int y) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int row = min(max(y, 0), size.height - 1);
  const auto at = [&](int column) { return labels.at(min(max(column, 0), size.width - 1), row); };
  const uint32_t label = at(x);
  uint32_t left = __shfl_up_sync(kAllLanes, label, 1);
  uint32_t right = __shfl_down_sync(kAllLanes, label, 1);
  if (lane == 0) left = at(x - 1);
  if (lane == 31) right = at(x + 1);
  return {label, label == left && label == right};
}

// The edges of a strip of rows, as cpu/drawing/label_edges.cpp finds them. A warp has 32 columns.
__device__ void find_label_edges(const LabelSampler& labels, Image<uint32_t> edges, Size size,
                                 unsigned block) {
  const auto words = static_cast<unsigned>(edges.width);
  const unsigned job = block * kWarps + threadIdx.x / 32;
  const auto word = static_cast<int>(job % words);
  const auto first = static_cast<int>(job / words) * Preparing::edge_rows;
  if (first >= size.height) return;  // the whole warp
  const int x = word * 32 + static_cast<int>(threadIdx.x % 32);
  LabelRow above = label_row(labels, size, x, first - 1);
  LabelRow here = label_row(labels, size, x, first);
#pragma unroll 4
  for (int y = first; y < min(first + Preparing::edge_rows, size.height); ++y) {
    const LabelRow below = label_row(labels, size, x, y + 1);
    const bool even = above.uniform && here.uniform && below.uniform && above.label == here.label &&
                      below.label == here.label;
    const unsigned bits = __ballot_sync(kAllLanes, here.label != 0 && !even);
    if (threadIdx.x % 32 == 0) edges(word, y) = bits;
    above = here;
    here = below;
  }
}

__device__ uint32_t stamped_count(const DeviceRegions& regions) {
  return min(min(*regions.count, regions.capacity), kMaxStamped);
}

__device__ void stamp_part(const Stamp& stamp, int k, const Rect& part, const Ink& ink) {
  const int width = part.right - part.left + 1;
  const int count = width * (part.bottom - part.top + 1);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    const int x = part.left + i % width;
    const int y = part.top + i / width;
    // The greatest code wins, whichever thread comes first.
    atomicMax(&ink.codes(x, y), stamp.code(k, x, y, kGlyphCoverage));
    // All write the same value.
    ink.tiles(x / Ink::kTileWidth, y / Ink::kTileHeight) = 1;
  }
}

__device__ void stamp_regions(const Trades& trades, unsigned block) {
  const uint32_t count = stamped_count(trades.regions);
  const auto k = static_cast<int>(block % Stamp::kParts);
  size_t room = Preparing::stamped_pixels;
  for (uint32_t i = block / Stamp::kParts; i < count; i += Preparing::stampers) {
    const Stamp stamp(trades.stamps, trades.regions.regions[i], i);
    const Rect part = stamp.part(k);
    if (part.empty()) continue;
    if (part.area() > room) {  // so for all threads
      if (threadIdx.x == 0) trades.ink.crowded(0, 0) = 1;
      return;
    }
    room -= part.area();
    stamp_part(stamp, k, part, trades.ink);
  }
}

__global__ void __launch_bounds__(kThreads) prepare_kernel(const __grid_constant__ Trades trades) {
  await_last();
  unsigned block = blockIdx.x;
  for (const PlaneCopy& copy : trades.copies) {
    if (block < copy.blocks) return copy_plane(copy, block);
    block -= copy.blocks;
  }
  if (block < trades.edge_blocks) {
    return find_label_edges(trades.labels, trades.ink.edges, trades.ink.codes.size(), block);
  }
  stamp_regions(trades, block - trades.edge_blocks);
}

// The greatest codes of a tile's nodes (core/halves.hpp), of rows and of columns in them.
using TileNodes = uint32_t[2 * Ink::kTileHeight][2 * Ink::kTileWidth];

__device__ void raise(TileNodes& nodes, const Rect& part, uint32_t code) {
  for_each_node<Ink::kTileHeight>(part.top, part.bottom, [&](const Node& rows) {
    for_each_node<Ink::kTileWidth>(part.left, part.right, [&](const Node& columns) {
      uint32_t& greatest = nodes[rows.index][columns.index];
      // The greatest code wins, whichever thread comes first.
      if (greatest < code) atomicMax(&greatest, code);
    });
  });
}

__device__ void raise_parts(TileNodes& nodes, const Stamp& stamp, uint32_t index,
                            const Rect& tile) {
  for (const InkKind kind : {InkKind::tag, InkKind::box_edge, InkKind::box_shadow}) {
    for (int k = 0; k < Stamp::kParts; ++k) {
      const Rect part = stamp.part(k, kind).within(tile);
      if (!part.empty()) raise(nodes, part.from(tile.left, tile.top), ink_code(kind, index, 0));
    }
  }
}

__device__ uint32_t greatest_at(const TileNodes& nodes, int x, int y) {
  uint32_t code = 0;
  for (int row = Ink::kTileHeight + y; row > 0; row /= 2) {
    for (int column = Ink::kTileWidth + x; column > 0; column /= 2) {
      code = max(code, nodes[row][column]);
    }
  }
  return code;
}

// Stamps all regions anew if some are left: a block a tile, a thread a region. A region costs a
// tile a few nodes, however many of its pixels it has.
__global__ void __launch_bounds__(kThreads)
    stamp_crowd_kernel(const StampPlan plan, const DeviceRegions regions, const Ink ink) {
  await_last();
  if (ink.crowded(0, 0) == 0) return;  // the whole block
  __shared__ TileNodes nodes;
  constexpr int kNodes = sizeof nodes / sizeof(uint32_t);
  for (int i = static_cast<int>(threadIdx.x); i < kNodes; i += kThreads) nodes[0][i] = 0;
  __syncthreads();  // all are zero
  const int left = static_cast<int>(blockIdx.x) * Ink::kTileWidth;
  const int top = static_cast<int>(blockIdx.y) * Ink::kTileHeight;
  const Rect tile =
      Rect{left, top, left + Ink::kTileWidth - 1, top + Ink::kTileHeight - 1}.within(plan.picture);
  // The greatest codes first: most others find them there.
  for (uint32_t left_over = stamped_count(regions); left_over > threadIdx.x;
       left_over -= min(left_over, static_cast<uint32_t>(kThreads))) {
    const uint32_t index = left_over - 1 - threadIdx.x;
    const Stamp stamp(plan, regions.regions[index], index);
    if (stamp.reaches(tile)) raise_parts(nodes, stamp, index, tile);
  }
  __syncthreads();  // completes the nodes
  bool inked = false;
  for (int i = static_cast<int>(threadIdx.x); i < Ink::kTileWidth * Ink::kTileHeight;
       i += kThreads) {
    const int x = i % Ink::kTileWidth;
    const int y = i / Ink::kTileWidth;
    uint32_t code = greatest_at(nodes, x, y);
    if (code == 0) continue;  // also outside the picture
    if (kind_of(code) == InkKind::tag) {
      const uint32_t index = index_of(code);
      code = Stamp(plan, regions.regions[index], index)
                 .code(Stamp::kTagPart, left + x, top + y, kGlyphCoverage);
    }
    // As great as what is there of the same region, or greater.
    ink.codes(left + x, top + y) = code;
    inked = true;
  }
  // All write the same value.
  if (inked) ink.tiles(static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y)) = 1;
}

// Whether blocks may leave regions to the crowd.
bool may_crowd(const StampPlan& plan, uint32_t capacity) {
  const size_t turns = blocks_for(capacity, Preparing::stampers);
  return turns * Stamp::most_pixels(plan) > Preparing::stamped_pixels;
}

PlaneCopy plane_copy(const ConstFrame& in, const Frame& out, int plane) {
  if (plane >= in.layout.planes || in.plane[plane] == out.plane[plane]) return {};
  PlaneCopy copy{in.plane[plane],
                 out.plane[plane],
                 in.pitch[plane],
                 out.pitch[plane],
                 row_bytes(in.layout, plane, in.size()),
                 row_count(in.layout, plane, in.size()),
                 0};
  copy.blocks = blocks_for(copy.vectors() * static_cast<size_t>(copy.rows),
                           static_cast<size_t>(kThreads) * Preparing::copy_vectors);
  return copy;
}

}  // namespace

void prepare(const Preparation& preparation, const DeviceRegions& regions, cudaStream_t stream) {
  Trades trades{};
  unsigned blocks = 0;
  for (int p = 0; p < 3; ++p) {
    trades.copies[p] = plane_copy(preparation.in, preparation.out, p);
    blocks += trades.copies[p].blocks;
  }
  trades.labels = preparation.labels;
  trades.ink = preparation.ink;
  trades.stamps = preparation.stamps;
  trades.regions = regions;
  if (preparation.outlines) {
    const int strips = static_cast<int>(
        blocks_for(static_cast<size_t>(preparation.out.height), Preparing::edge_rows));
    const auto warps = static_cast<size_t>(preparation.ink.edges.width) * strips;
    trades.edge_blocks = blocks_for(warps, kWarps);
  }
  blocks += trades.edge_blocks;
  const uint32_t stamped = static_cast<uint32_t>(Style::boxes) | static_cast<uint32_t>(Style::ids);
  const bool stamps = preparation.stamps.style & stamped && regions.capacity != 0;
  if (stamps) {
    blocks += Stamp::kParts * std::min<unsigned>(regions.capacity, Preparing::stampers);
  }
  launch_chained(prepare_kernel, blocks, kThreads, 0, stream, trades);
  if (stamps && may_crowd(preparation.stamps, regions.capacity)) {
    const Size tiles = preparation.ink.tiles.size();
    launch_chained(stamp_crowd_kernel, dim3(tiles.width, tiles.height), kThreads, 0, stream,
                   preparation.stamps, regions, preparation.ink);
  }
}

}  // namespace regions::drawing
