// The workspace of a frame.
#include "gpu/slicsuperpixel/slot.hpp"

#include "gpu/drawing/drawing.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

constexpr size_t kMostIterations = 100;

// Pixels from a row of colours to the next: strips of 32 that begin in the picture may be read.
size_t color_stride(int width) { return (static_cast<size_t>(width) + 32 + 31) / 32 * 32; }
// Of codes and labels.
size_t row_stride(int width) { return (static_cast<size_t>(width) + 31) / 32 * 32; }

}  // namespace

void Slot::allocate(const std::shared_ptr<Backend>& backend, const Setup& setup) {
  size_ = setup.size;
  {
    const Backend::Entry entry(*backend);
    join_blocks_ = join_blocks();
  }
  const size_t pixels = size_.area(), cells = most_cells(size_);
  const auto rows = static_cast<size_t>(size_.height);
  memory_.reserve(colors_, color_stride(size_.width) * rows);
  for (ClusterSums*& sums : sums_) memory_.reserve(sums, cells);
  memory_.reserve(moved_, kMostIterations);
  memory_.reserve(codes_, row_stride(size_.width) * rows);
  memory_.reserve(pieces_labels_, row_stride(size_.width) * rows);
  memory_.reserve(labels_, row_stride(size_.width) * rows);
  memory_.reserve(piece_, pixels + 1);
  memory_.reserve(parent_, pixels + 1);
  memory_.reserve(choice_, pixels + 1);
  memory_.reserve(dense_, pixels + 1);
  memory_.reserve(edges_, 2 * pixels);
  memory_.reserve(edge_count_, 1);
  memory_.reserve(meeting_, 1);
  memory_.reserve(chunk_roots_, pixels / NumberBlock::chunk + 1);
  memory_.reserve(total_, 1);
  memory_.reserve(records_, setup.max_regions);
  memory_.allocate(*backend);
  if (setup.has_output && setup.out.format == setup.in.format) {
    ink_ = blank_device_ink(*backend, size_);
  }
  Setup codes;
  codes.in = layout_of(PixelFormat::gray8);
  codes.size = size_;
  codes.max_regions = 1;
  labeller_.allocate(backend, codes);
}

Clusters Slot::clusters(const SlicGrid& grid, const SlicParams& params) const {
  Clusters clusters{grid,
                    scale_of(grid, params),
                    {colors_, size_.width, size_.height,
                     static_cast<ptrdiff_t>(color_stride(size_.width) * sizeof(uint32_t))},
                    {sums_[0], sums_[1], sums_[2]}};
  if (params.tolerance > 0) {
    clusters.moved = moved_;
    clusters.limit = movement_limit(grid, params);
  }
  return clusters;
}

LabelMap Slot::map_of(uint32_t* labels) const {
  return {labels, size_.width, size_.height,
          static_cast<ptrdiff_t>(row_stride(size_.width) * sizeof(uint32_t))};
}

Image<uint8_t> Slot::codes() const {
  return {codes_, size_.width, size_.height, static_cast<ptrdiff_t>(row_stride(size_.width))};
}

Pieces Slot::pieces(const cclabel::Tiles& tiles) const {
  return {map_of(pieces_labels_),
          tiles.total,
          size_.area(),
          piece_,
          parent_,
          choice_,
          edges_,
          edge_count_,
          meeting_,
          join_blocks_,
          chunk_roots_,
          dense_,
          total_};
}

}  // namespace regions::slic
