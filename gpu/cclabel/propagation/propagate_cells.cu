// Label propagation (GTC 2010 S12218, GTC 2013 S3193): finds the links of all cells, then repeats
// passes over all cells. In each pass, a cell takes the largest label of the cells to which it is
// linked. The labels are final when a pass changes no label. One cooperative kernel executes all
// passes and decides when to stop.
//
// No atomics are needed: labels only grow, only one thread at a time writes a cell, and reading an
// old label only causes another pass. With tiles of cells (Exchange::shared and shuffle), adjacent
// tiles share a row or a column, so that any two linked cells of a slice are together in some tile.
// Tiles are processed in four groups, called colours: (column % 2, row % 2). Tiles of one colour do
// not overlap, because they are 32 cells wide and begin 62 cells apart. So only one thread at a
// time writes a cell. A tile reads and writes only its own cells of the slice; it only reads cells
// of other slices.
#include <cooperative_groups.h>

#include "gpu/cclabel/propagation/cell_arrays.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::propagation {
namespace {

constexpr int kThreads = CellBlock::threads;

// Readers of the image for link_kernel(). value() returns the value of a cell. has_region() returns
// whether a cell with this value belongs to a region. are_linked() returns whether two neighbours
// with these values are linked.

// For criterion=binary. The value is 1 for foreground and 0 for background.
struct ClassReader {
  CellInput input;

  explicit ClassReader(const CellInput& cell_input) : input(cell_input) {}
  __device__ uint32_t value(int x, int row, int layer) const {
    return cclabel::compared_value(input.image, x, row) >= input.thresholds.level[layer];
  }
  __device__ bool has_region(uint32_t value) const { return value || input.label_background; }
  __device__ bool are_linked(uint32_t a, uint32_t b) const { return a == b && has_region(a); }
};
// For criterion=equal and criterion=difference. The value is the colour of the pixel.
template <class Links>
struct ColorReader {
  Links links;

  explicit ColorReader(const CellInput& input) : links(input.image) {}
  __device__ uint32_t value(int x, int row, int) const { return links.color(x, row); }
  __device__ bool has_region(uint32_t) const { return true; }
  __device__ bool are_linked(uint32_t a, uint32_t b) const { return links(a, b); }
};

template <class Reader>
__global__ __launch_bounds__(kThreads) void link_kernel(Reader reader, CellArrays cells) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  if (cell == 0) *cells.progress = {};
  if (cell >= cells.count()) return;
  const int width = cells.layout.slice.width;
  const int row = static_cast<int>(cell / static_cast<uint32_t>(width));
  const int x = static_cast<int>(cell) - row * width;
  const VolumeLayout& volume_layout = cells.layout;
  const VolumeLayout::Position position = volume_layout.position(row);
  const int image_row = row % cells.layout.volume_rows();
  const uint32_t value = reader.value(x, image_row, position.layer);
  uint32_t links = 0;
  if (reader.has_region(value)) {
    for (uint32_t remaining = neighbours_of(cells.connectivity); remaining;
         remaining &= remaining - 1) {
      const int k = __ffs(static_cast<int>(remaining)) - 1;
      const int dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1;
      const int y = position.y + dy, z = position.z + dz;
      if (x + dx < 0 || x + dx >= width || y < 0 || z < 0) continue;
      if (y >= cells.layout.slice.height || z >= cells.layout.slices) continue;
      const int other_row = image_row + dy + dz * cells.layout.slice.height;
      const uint32_t other = reader.value(x + dx, other_row, position.layer);
      if (reader.are_linked(value, other)) links |= 1u << k;
    }
  }
  cells.links[cell] = links;
  cells.label[cell] = reader.has_region(value) ? cell + 1 : 0;
  cells.first_cell[cell] = kNone;
}

// Sets the distance from each cell to the farthest linked cell, for each direction: 1 if the cell
// is linked to its neighbour in this direction, otherwise 0.
__global__ __launch_bounds__(kThreads) void begin_farthest_kernel(CellArrays cells) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  if (cell >= cells.count()) return;
  const uint32_t links = cells.links[cell];
  for (int direction = 0; direction < kDirections; ++direction) {
    const size_t index = static_cast<size_t>(direction) * cells.count() + cell;
    cells.farthest[0][index] = static_cast<uint16_t>(links >> neighbour_along(direction) & 1);
  }
}

// Doubles the maximum distance of farthest cells from `length` to 2 * length: if the farthest cell
// of a cell is at distance `length`, the farthest cell's own distance is added.
__global__ __launch_bounds__(kThreads) void double_farthest_kernel(CellArrays cells, int length,
                                                                   const uint16_t* from,
                                                                   uint16_t* to) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  if (cell >= cells.count()) return;
  for (int direction = 0; direction < kDirections; ++direction) {
    const size_t start = static_cast<size_t>(direction) * cells.count();
    const int steps = from[start + cell];
    const int end = static_cast<int>(cell) + cells.offset_of(neighbour_along(direction)) * steps;
    const int added_steps = steps == length ? from[start + static_cast<size_t>(end)] : 0;
    to[start + cell] = static_cast<uint16_t>(steps + added_steps);
  }
}

// A tile of 32x32 cells, as in the GTC papers. One thread block processes it, with one warp per
// row.
struct CellTile {
  static constexpr int side = 32;
  // Number of cells from the start of a tile to the start of the next. Adjacent tiles share one
  // cell.
  static constexpr int pitch = 31;
  static constexpr int colors = 4;
};
constexpr int kSide = CellTile::side;
constexpr uint32_t kSameSlice = 0x1ffu << 9;  // bits of the neighbours with the same z

__device__ uint32_t label_at(const CellArrays& cells, uint32_t cell) {
  return __ldcg(cells.label + cell);
}

// Returns the largest of `label`, the labels of the neighbours in `links` and, if the variant uses
// them, the labels of the farthest cells. Reads device memory.
template <Gather gather>
__device__ uint32_t gather_labels(const CellArrays& cells, uint32_t cell, uint32_t label,
                                  uint32_t links) {
  for (uint32_t remaining = links; remaining; remaining &= remaining - 1) {
    const int k = __ffs(static_cast<int>(remaining)) - 1;
    label = max(label, label_at(cells, cell + static_cast<uint32_t>(cells.offset_of(k))));
  }
  if constexpr (gather == Gather::neighbours_and_farthest) {
    for (int direction = 0; direction < kDirections; ++direction) {
      const int steps = cells.farthest[0][static_cast<size_t>(direction) * cells.count() + cell];
      if (steps < 2) continue;
      const int offset = cells.offset_of(neighbour_along(direction));
      label = max(label, label_at(cells, cell + static_cast<uint32_t>(offset * steps)));
    }
  }
  return label;
}

// Returns the larger of `label` and the label of cell number label - 1.
template <bool looks_up_roots>
__device__ uint32_t root_label(const CellArrays& cells, uint32_t label) {
  return looks_up_roots ? max(label, label_at(cells, label - 1)) : label;
}

// Returns the largest label of the run of linked cells that contains the lane's cell. A warp holds
// a row, one cell per lane. Bit b of `links`: the cells of lanes b and b + 1 are linked.
__device__ uint32_t max_of_run(uint32_t label, uint32_t links) {
  const int lane = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int step = 1; step < kSide; step *= 2) {
    const uint32_t all = (1u << step) - 1;
    const uint32_t next = __shfl_down_sync(kAllLanes, label, step);
    const uint32_t previous = __shfl_up_sync(kAllLanes, label, step);
    const bool reaches_next = lane + step < kSide && (links >> lane & all) == all;
    const bool reaches_previous = lane >= step && (links >> (lane - step) & all) == all;
    if (reaches_next) label = max(label, next);
    if (reaches_previous) label = max(label, previous);
  }
  return label;
}

// The labels of a tile in shared memory. Thread (x, y) processes cell (x, y). Rows are padded so
// that reading a column causes no bank conflicts.
struct TileLabels {
  uint32_t label[kSide][kSide + 1];

  // Returns the largest of `own_label` and the labels of the neighbours in `links`.
  __device__ uint32_t max_of_neighbours(uint32_t own_label, uint32_t links, int x, int y) const {
    for (uint32_t remaining = links; remaining; remaining &= remaining - 1) {
      const int k = __ffs(static_cast<int>(remaining)) - 1;
      own_label = max(own_label, label[y + k / 3 % 3 - 1][x + k % 3 - 1]);
    }
    return own_label;
  }
};

// The first cell (x, y) and the slice of tile number `tile` of one colour. `columns` and `rows` are
// the numbers of tiles of a slice along x and y, of all colours. All threads of a block have the
// same position.
struct CellTilePosition {
  int x, y, slice;
  __device__ CellTilePosition(uint32_t tile, int color, int columns, int rows) {
    const int color_columns = (columns + 1 - color % 2) / 2;
    const int color_rows = (rows + 1 - color / 2) / 2;
    const int in_slice = color_columns * color_rows;
    slice = static_cast<int>(tile) / in_slice;
    const int k = static_cast<int>(tile) % in_slice;
    x = (k % color_columns * 2 + color % 2) * CellTile::pitch;
    y = (k / color_columns * 2 + color / 2) * CellTile::pitch;
  }
  __device__ static uint32_t count(const CellArrays& cells, int color, int columns, int rows) {
    const int color_columns = (columns + 1 - color % 2) / 2;
    const int color_rows = (rows + 1 - color / 2) / 2;
    return static_cast<uint32_t>(color_columns * color_rows * cells.layout.total_slices());
  }
};
__device__ int tiles_along(int side) {
  return side <= kSide ? 1 : (side - 1 + CellTile::pitch - 1) / CellTile::pitch;
}

// Propagates labels within a tile until none of its labels changes. Returns whether the label of
// the thread's cell grew.
template <Exchange exchange, Gather gather, bool looks_up_roots>
__device__ bool propagate_in_tile(const CellArrays& cells, const CellTilePosition& tile,
                                  TileLabels& shared) {
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const Size slice = cells.layout.slice;
  const int x = tile.x + lane, y = tile.y + warp;
  const bool exists = x < slice.width && y < slice.height;
  const uint32_t cell =
      exists ? static_cast<uint32_t>((tile.slice * slice.height + y) * slice.width + x) : 0;
  const uint32_t old_label = exists ? label_at(cells, cell) : 0;
  const uint32_t links = exists ? cells.links[cell] : 0;
  uint32_t tile_links = links & kSameSlice;  // bits: links to cells of the same tile
  for (int k = 9; k < 18; ++k) {
    const int tx = lane + k % 3 - 1, ty = warp + k / 3 % 3 - 1;
    if (tx < 0 || ty < 0 || tx >= kSide || ty >= kSide) tile_links &= ~(1u << k);
  }
  uint32_t label =
      old_label ? gather_labels<gather>(cells, cell, old_label, links & ~kSameSlice) : 0;
  if (label) label = root_label<looks_up_roots>(cells, label);
  constexpr uint32_t kAlongAxes = 1u << 12 | 1u << 14 | 1u << 10 | 1u << 16;
  const uint32_t diagonal = tile_links & ~kAlongAxes;
  // `right`: links to the right of the cells of row `warp`. `down`: links downwards of the cells of
  // column `warp`.
  const uint32_t right = __ballot_sync(kAllLanes, tile_links >> neighbour_along(0) & 1);
  uint32_t down = 0;
  if constexpr (exchange == Exchange::shuffle) {
    shared.label[warp][lane] = tile_links >> neighbour_along(2) & 1;
    __syncthreads();  // links downwards of all cells are in shared.label
    down = __ballot_sync(kAllLanes, shared.label[lane][warp] != 0);
    __syncthreads();  // links downwards have been read; labels may replace them
  }
  bool changes = true;
  // The number of steps is limited because a path within a tile is not longer than its number of
  // cells.
  for (int step = 0; changes && step < kSide * kSide; ++step) {
    const uint32_t before = label;
    if constexpr (exchange == Exchange::shuffle) {
      label = max_of_run(label, right);
      shared.label[warp][lane] = label;
      __syncthreads();  // the labels of all rows are in shared.label
      const uint32_t column = max_of_run(shared.label[lane][warp], down);
      shared.label[lane][warp] = column;
      __syncthreads();  // the labels of all columns are in shared.label
      label = shared.label[warp][lane];
      label = shared.max_of_neighbours(label, diagonal, lane, warp);
    } else {
      shared.label[warp][lane] = label;
      __syncthreads();  // the labels of all cells are in shared.label
      label = shared.max_of_neighbours(label, tile_links, lane, warp);
    }
    // This vote is also a barrier: all threads have read shared.label before the next step
    // overwrites it.
    changes = __syncthreads_or(label != before);
  }
  const bool grew = exists && label != old_label;
  if (grew) cells.label[cell] = label;
  return grew;
}

template <Exchange exchange, Gather gather, bool looks_up_roots>
__global__ __launch_bounds__(1024) void propagate_kernel(CellArrays cells) {
  __shared__ TileLabels shared;
  const auto grid = cooperative_groups::this_grid();
  const int columns = tiles_along(cells.layout.slice.width);
  const int rows = tiles_along(cells.layout.slice.height);
  // The loop ends, because each pass except the last changes a label. Reading neighbours alone
  // carries the largest label to all cells of its region in fewer passes than there are cells.
  for (uint32_t pass = 0; pass <= cells.count(); ++pass) {
    uint32_t* changed = &cells.progress->changed[pass % 3];
    bool grew = false;
    if constexpr (exchange == Exchange::global) {
      const uint32_t thread = threadIdx.y * kSide + threadIdx.x;
      for (uint32_t cell = blockIdx.x * 1024 + thread; cell < cells.count();
           cell += gridDim.x * 1024) {
        const uint32_t old_label = label_at(cells, cell);
        if (!old_label) continue;
        uint32_t label = gather_labels<gather>(cells, cell, old_label, cells.links[cell]);
        label = root_label<looks_up_roots>(cells, label);
        if (label == old_label) continue;
        cells.label[cell] = label;
        grew = true;
      }
    } else {
      for (int color = 0; color < CellTile::colors; ++color) {
        const uint32_t tiles = CellTilePosition::count(cells, color, columns, rows);
        for (uint32_t i = blockIdx.x; i < tiles; i += gridDim.x) {
          const CellTilePosition tile(i, color, columns, rows);
          grew |= propagate_in_tile<exchange, gather, looks_up_roots>(cells, tile, shared);
        }
        if (color + 1 < CellTile::colors)
          grid.sync();  // tiles of the next colour read cells that this colour wrote
      }
    }
    if (__syncthreads_or(grew) && threadIdx.x == 0 && threadIdx.y == 0) {
      *reinterpret_cast<volatile uint32_t*>(changed) = 1;  // all blocks write the same value
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && threadIdx.y == 0) {
      // There are three flags so that the flag of the next pass can be cleared while slow blocks
      // still read the flag of the previous pass.
      cells.progress->changed[(pass + 1) % 3] = 0;
      cells.progress->passes = pass + 1;
    }
    grid.sync();  // labels and the flag of this pass are complete
    if (!__ldcg(changed)) return;
  }
}

// Calls use(kernel) with the kernel of a variant.
template <class Use>
void with_kernel(const Variant& v, const Use& use) {
  const auto with_roots = [&]<Exchange e, Gather g>() {
    v.looks_up_roots ? use(propagate_kernel<e, g, true>) : use(propagate_kernel<e, g, false>);
  };
  const auto with_gather = [&]<Exchange e>() {
    v.gather == Gather::neighbours
        ? with_roots.template operator()<e, Gather::neighbours>()
        : with_roots.template operator()<e, Gather::neighbours_and_farthest>();
  };
  switch (v.exchange) {
    case Exchange::global:
      return with_gather.template operator()<Exchange::global>();
    case Exchange::shared:
      return with_gather.template operator()<Exchange::shared>();
    default:
      return with_gather.template operator()<Exchange::shuffle>();
  }
}

}  // namespace

void link_cells(const CellInput& input, const CellArrays& cells, cudaStream_t stream) {
  const unsigned blocks = blocks_for(cells.count(), kThreads);
  const auto run = [&]<class Reader>(const Reader& reader) {
    launch(link_kernel<Reader>, blocks, kThreads, 0, stream, reader, cells);
  };
  if (input.image.criterion == Criterion::binary) {
    run(ClassReader(input));
  } else if (input.image.frame.layout.sample_bytes == 1) {
    run(ColorReader<cclabel::ByteLinks>(input));
  } else {
    run(ColorReader<cclabel::NumberLinks>(input));
  }
}

void find_farthest(const CellArrays& cells, int length, cudaStream_t stream) {
  const unsigned blocks = blocks_for(cells.count(), kThreads);
  launch(begin_farthest_kernel, blocks, kThreads, 0, stream, cells);
  int side = cells.layout.slice.width;
  if (cells.layout.slice.height > side) side = cells.layout.slice.height;
  if (cells.layout.slices > side) side = cells.layout.slices;
  if (length > 0 && length < side) side = length;
  // After an even number of steps, the result is in farthest[0]. Otherwise it must be copied to
  // farthest[0].
  int step = 1, from = 0;
  for (; step < side; step *= 2, from ^= 1) {
    launch(double_farthest_kernel, blocks, kThreads, 0, stream, cells, step, cells.farthest[from],
           cells.farthest[from ^ 1]);
  }
  if (from == 0) return;
  const size_t bytes = static_cast<size_t>(kDirections) * cells.count() * sizeof(uint16_t);
  check(cudaMemcpyAsync(cells.farthest[0], cells.farthest[1], bytes, cudaMemcpyDeviceToDevice,
                        stream),
        "copying the farthest cells");
}

int propagation_blocks(const Variant& variant) {
  int blocks = 0;
  with_kernel(variant, [&](auto* kernel) { blocks = resident_blocks(kernel, kSide * kSide); });
  return blocks;
}

void propagate(const CellArrays& cells, const Variant& variant, int blocks, cudaStream_t stream) {
  with_kernel(variant, [&](auto* kernel) {
    launch_cooperative(kernel, static_cast<unsigned>(blocks), dim3(kSide, kSide), 0, stream, cells);
  });
}

}  // namespace regions::propagation
