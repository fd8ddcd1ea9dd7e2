// The first pass of drawing: copies the picture, marks the border pixels of regions (edges), and
// stamps boxes and ids into the ink. The thread blocks of one launch divide this work, because its
// parts are independent. If the first launch had too many pixels to stamp, a second launch stamps
// again, by another method.
#include <algorithm>

#include "core/drawing/glyph_table.hpp"
#include "core/drawing/stamp.hpp"
#include "gpu/drawing/drawing.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::drawing {
namespace {

struct PrepareBlock {
  static constexpr int threads = 256;
  // Number of thread blocks that share the records, for each part of a region (four bars of the
  // box, and the id). With few records most of these blocks are idle. One large box occupies five
  // of them.
  static constexpr int stamp_blocks = 128;
  // Maximum number of pixels that a stamping block stamps. If a block has more,
  // stamp_tiles_kernel() stamps all regions again.
  static constexpr size_t max_stamped_pixels = 1 << 18;
  static constexpr int edge_rows = 16;    // number of rows of 32 pixels in which a warp marks edges
  static constexpr int copy_vectors = 4;  // number of vectors of 16 bytes that a thread copies
};
constexpr int kThreads = PrepareBlock::threads;
constexpr int kWarps = kThreads / 32;

// Describes the copy of one plane.
struct PlaneCopy {
  const std::byte* from;
  std::byte* to;
  ptrdiff_t from_pitch, to_pitch;  // bytes
  size_t row_bytes;
  int rows;
  unsigned blocks;  // number of thread blocks that copy this plane

  REGIONS_HD size_t vectors_per_row() const { return (row_bytes + 15) / 16; }
};

// How the thread blocks of prepare_kernel() divide the work: the first blocks copy, the next blocks
// mark edges, and all other blocks stamp.
struct WorkPlan {
  PlaneCopy copies[3];  // one per plane, with 0 blocks if the plane is not copied
  LabelSampler labels;
  Ink ink;
  StampPlan stamps;
  DeviceRegions regions;
  unsigned copy_blocks, edge_blocks;  // numbers of blocks
};

__device__ void copy_vector(const PlaneCopy& copy, size_t index, bool aligned) {
  const size_t row = index / copy.vectors_per_row();
  const size_t start = index % copy.vectors_per_row() * 16;
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
  const size_t count = copy.vectors_per_row() * static_cast<size_t>(copy.rows);
  const size_t first = static_cast<size_t>(block) * kThreads * PrepareBlock::copy_vectors;
#pragma unroll
  for (int i = 0; i < PrepareBlock::copy_vectors; ++i) {
    const size_t index = first + static_cast<size_t>(i) * kThreads + threadIdx.x;
    if (index < count) copy_vector(copy, index, aligned);
  }
}

// One pixel of a row of labels. The 32 lanes of a warp hold 32 adjacent pixels of the row.
struct LabelPixel {
  uint32_t label;
  bool is_uniform;  // whether both neighbours in the row have the same label
};

// Reads the labels of 32 pixels of row y. All lanes of the warp must call this function, each with
// its own x. Pixels outside the picture get the label of the nearest pixel inside, so they create
// no edges.
__device__ LabelPixel read_label_pixel(const LabelSampler& labels, Size size, int x, int y) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int row = min(max(y, 0), size.height - 1);
  const auto label_at = [&](int column) {
    return labels.at(min(max(column, 0), size.width - 1), row);
  };
  const uint32_t label = label_at(x);
  uint32_t left = __shfl_up_sync(kAllLanes, label, 1);
  uint32_t right = __shfl_down_sync(kAllLanes, label, 1);
  if (lane == 0) left = label_at(x - 1);
  if (lane == 31) right = label_at(x + 1);
  return {label, label == left && label == right};
}

// Marks the edges of labels, with the same result as cpu/drawing/label_edges.cpp. Each warp
// processes 32 columns in edge_rows rows.
__device__ void find_label_edges(const LabelSampler& labels, Image<uint32_t> edges, Size size,
                                 unsigned block) {
  const auto words = static_cast<unsigned>(edges.width);
  const unsigned warp = block * kWarps + threadIdx.x / 32;
  const auto word = static_cast<int>(warp % words);
  const auto first = static_cast<int>(warp / words) * PrepareBlock::edge_rows;
  if (first >= size.height) return;  // equal for the whole warp
  const int x = word * 32 + static_cast<int>(threadIdx.x % 32);
  LabelPixel above = read_label_pixel(labels, size, x, first - 1);
  LabelPixel here = read_label_pixel(labels, size, x, first);
#pragma unroll 4
  for (int y = first; y < min(first + PrepareBlock::edge_rows, size.height); ++y) {
    const LabelPixel below = read_label_pixel(labels, size, x, y + 1);
    const bool is_inside = above.is_uniform && here.is_uniform && below.is_uniform &&
                           above.label == here.label && below.label == here.label;
    const unsigned bits = __ballot_sync(kAllLanes, here.label != 0 && !is_inside);
    if (threadIdx.x % 32 == 0) edges(word, y) = bits;
    above = here;
    here = below;
  }
}

__device__ uint32_t stamped_count(const DeviceRegions& regions) {
  return min(min(*regions.count, regions.capacity), kMaxStamped);
}

// Stamps the pixels of part k of a region: a bar of its box, or its id. All threads of the block
// must call this function.
__device__ void stamp_part(const Stamp& stamp, int k, const Rect& part, const Ink& ink) {
  const int width = part.right - part.left + 1;
  const int count = width * (part.bottom - part.top + 1);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    const int x = part.left + i % width;
    const int y = part.top + i / width;
    // The pixel keeps the largest code, so the order of threads does not matter.
    atomicMax(&ink.codes(x, y), stamp.code(k, x, y, kGlyphCoverage));
    // All threads write the same value, so the race is harmless.
    ink.tiles(x / Ink::kTileWidth, y / Ink::kTileHeight) = 1;
  }
}

// Stamps one part of every stamp_blocks-th region. If the block would exceed its maximum number of
// pixels, it stops and requests stamp_tiles_kernel() by setting `crowded`.
__device__ void stamp_regions(const WorkPlan& plan, unsigned block) {
  const uint32_t count = stamped_count(plan.regions);
  const auto k = static_cast<int>(block % Stamp::kParts);
  size_t pixels_left = PrepareBlock::max_stamped_pixels;
  for (uint32_t i = block / Stamp::kParts; i < count; i += PrepareBlock::stamp_blocks) {
    const Stamp stamp(plan.stamps, plan.regions.regions[i], i);
    const Rect part = stamp.part(k);
    if (part.empty()) continue;
    if (part.area() > pixels_left) {  // equal for all threads
      if (threadIdx.x == 0) plan.ink.crowded(0, 0) = 1;
      return;
    }
    pixels_left -= part.area();
    stamp_part(stamp, k, part, plan.ink);
  }
}

__global__ void __launch_bounds__(kThreads) prepare_kernel(const __grid_constant__ WorkPlan plan) {
  pdl_trigger_and_wait();
  unsigned block = blockIdx.x;
  for (const PlaneCopy& copy : plan.copies) {
    if (block < copy.blocks) return copy_plane(copy, block);
    block -= copy.blocks;
  }
  if (block < plan.edge_blocks) {
    return find_label_edges(plan.labels, plan.ink.edges, plan.ink.codes.size(), block);
  }
  stamp_regions(plan, block - plan.edge_blocks);
}

// The largest code of each node of two nested segment trees (core/drawing/stamp.hpp). The outer
// tree divides the rows of the tile, the inner tree its columns.
using TileTree = uint32_t[2 * Ink::kTileHeight][2 * Ink::kTileWidth];

// Raises the nodes that make up the rectangle to at least `code`.
__device__ void raise_nodes(TileTree& nodes, const Rect& part, uint32_t code) {
  for_each_node<Ink::kTileHeight>(part.top, part.bottom, [&](const SegmentTreeNode& rows) {
    for_each_node<Ink::kTileWidth>(part.left, part.right, [&](const SegmentTreeNode& columns) {
      uint32_t& largest = nodes[rows.index][columns.index];
      // The node keeps the largest code, so the order of threads does not matter.
      if (largest < code) atomicMax(&largest, code);
    });
  });
}

__device__ void stamp_into_tree(TileTree& nodes, const Stamp& stamp, uint32_t index,
                                const Rect& tile) {
  for (const InkKind kind : {InkKind::tag, InkKind::box_edge, InkKind::box_shadow}) {
    for (int k = 0; k < Stamp::kParts; ++k) {
      const Rect part = stamp.part(k, kind).within(tile);
      if (part.empty()) continue;
      raise_nodes(nodes, part.from(tile.left, tile.top), ink_code(kind, index, 0));
    }
  }
}

// Returns the largest code of a pixel: the maximum over all nodes that contain the pixel.
__device__ uint32_t largest_at(const TileTree& nodes, int x, int y) {
  uint32_t code = 0;
  for (int row = Ink::kTileHeight + y; row > 0; row /= 2) {
    for (int column = Ink::kTileWidth + x; column > 0; column /= 2) {
      code = max(code, nodes[row][column]);
    }
  }
  return code;
}

// Stamps all regions again if the first launch could not stamp all of them. Each block
// processes one tile, and each thread one region at a time. A region changes only a few nodes of a
// tile, however many of the tile's pixels it covers.
__global__ void __launch_bounds__(kThreads)
    stamp_tiles_kernel(const StampPlan plan, const DeviceRegions regions, const Ink ink) {
  pdl_trigger_and_wait();
  if (ink.crowded(0, 0) == 0) return;  // equal for the whole block
  __shared__ TileTree nodes;
  constexpr int kNodes = sizeof nodes / sizeof(uint32_t);
  for (int i = static_cast<int>(threadIdx.x); i < kNodes; i += kThreads) nodes[0][i] = 0;
  __syncthreads();  // all nodes are zero
  const int left = static_cast<int>(blockIdx.x) * Ink::kTileWidth;
  const int top = static_cast<int>(blockIdx.y) * Ink::kTileHeight;
  const Rect tile =
      Rect{left, top, left + Ink::kTileWidth - 1, top + Ink::kTileHeight - 1}.within(plan.picture);
  // Processes the largest codes first, so that most later codes need no atomic operation.
  for (uint32_t remaining = stamped_count(regions); remaining > threadIdx.x;
       remaining -= min(remaining, static_cast<uint32_t>(kThreads))) {
    const uint32_t index = remaining - 1 - threadIdx.x;
    const Stamp stamp(plan, regions.regions[index], index);
    if (stamp.reaches(tile)) stamp_into_tree(nodes, stamp, index, tile);
  }
  __syncthreads();  // the nodes are complete
  bool has_ink = false;
  for (int i = static_cast<int>(threadIdx.x); i < Ink::kTileWidth * Ink::kTileHeight;
       i += kThreads) {
    const int x = i % Ink::kTileWidth;
    const int y = i / Ink::kTileWidth;
    uint32_t code = largest_at(nodes, x, y);
    if (code == 0) continue;  // also outside the picture
    if (kind_of(code) == InkKind::tag) {
      const uint32_t index = index_of(code);
      code = Stamp(plan, regions.regions[index], index)
                 .code(Stamp::kTagPart, left + x, top + y, kGlyphCoverage);
    }
    // This code is at least as large as the code that the first launch may have written.
    ink.codes(left + x, top + y) = code;
    has_ink = true;
  }
  // All threads write the same value, so the race is harmless.
  if (has_ink) ink.tiles(static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y)) = 1;
}

// Returns whether a block of the first launch can reach its maximum number of pixels.
bool may_exceed_stamped_pixels(const StampPlan& plan, uint32_t capacity) {
  const size_t regions_per_block = blocks_for(capacity, PrepareBlock::stamp_blocks);
  return regions_per_block * Stamp::max_pixels(plan) > PrepareBlock::max_stamped_pixels;
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
  copy.blocks = blocks_for(copy.vectors_per_row() * static_cast<size_t>(copy.rows),
                           static_cast<size_t>(kThreads) * PrepareBlock::copy_vectors);
  return copy;
}

}  // namespace

void prepare(const Preparation& preparation, const DeviceRegions& regions, cudaStream_t stream) {
  WorkPlan plan{};
  unsigned blocks = 0;
  for (int p = 0; p < 3; ++p) {
    plan.copies[p] = plane_copy(preparation.in, preparation.out, p);
    blocks += plan.copies[p].blocks;
  }
  plan.labels = preparation.labels;
  plan.ink = preparation.ink;
  plan.stamps = preparation.stamps;
  plan.regions = regions;
  if (preparation.outlines) {
    const int row_groups = static_cast<int>(
        blocks_for(static_cast<size_t>(preparation.out.height), PrepareBlock::edge_rows));
    const auto warps = static_cast<size_t>(preparation.ink.edges.width) * row_groups;
    plan.edge_blocks = blocks_for(warps, kWarps);
  }
  blocks += plan.edge_blocks;
  const uint32_t stamped = static_cast<uint32_t>(Style::boxes) | static_cast<uint32_t>(Style::ids);
  const bool has_stamps =
      (preparation.stamps.style & stamped || regions.has_marks) && regions.capacity != 0;
  if (has_stamps) {
    blocks += Stamp::kParts * std::min<unsigned>(regions.capacity, PrepareBlock::stamp_blocks);
  }
  launch_pdl(prepare_kernel, blocks, kThreads, 0, stream, plan);
  if (has_stamps && may_exceed_stamped_pixels(preparation.stamps, regions.capacity)) {
    const Size tiles = preparation.ink.tiles.size();
    launch_pdl(stamp_tiles_kernel, dim3(tiles.width, tiles.height), kThreads, 0, stream,
               preparation.stamps, regions, preparation.ink);
  }
}

}  // namespace regions::drawing
