// Allocates the device buffers that labelling an image needs.
#include "gpu/cclabel/image_buffers.hpp"

#include <algorithm>
#include <bit>

#include "gpu/drawing/drawing.hpp"

namespace regions::cclabel {
namespace {

// Returns `tiles` with the sizes for an image of this size and tiles of this shape.
template <class Shape>
ImageTiles divide(ImageTiles tiles, Size size) {
  tiles.size = size;
  tiles.tile_columns = (size.width + Shape::width - 1) / Shape::width;
  tiles.tile_rows = (size.height + Shape::rows - 1) / Shape::rows;
  tiles.tile_width = Shape::width;
  tiles.tile_width_bits = std::countr_zero(static_cast<unsigned>(Shape::width));
  tiles.tile_height = Shape::rows;
  tiles.max_tile_runs = Shape::max_runs;
  tiles.stride = tiles.tile_columns * Shape::width;
  return tiles;
}

size_t product(int a, int b) { return static_cast<size_t>(a) * static_cast<size_t>(b); }

}  // namespace

void ImageBuffers::reserve(Workspace& memory, const std::shared_ptr<Backend>& backend,
                           const Setup& setup) {
  size_ = setup.size;
  const bool draws_overlay = setup.has_output && setup.out.format == setup.in.format;
  const ImageTiles shapes[] = {divide<BinaryTile>({}, size_), divide<LinkedTile>({}, size_)};
  // The criterion may change during playback. Each buffer is large enough for both tile shapes.
  const auto reserve_both = [&](auto& buffer, auto count_of) {
    memory.reserve(buffer, std::max(count_of(shapes[0]), count_of(shapes[1])));
  };
  const auto tile_count = [](const ImageTiles& tiles) { return tiles.tiles(); };
  const auto tile_words = [](const ImageTiles& tiles) {
    return tiles.tiles() * product(tiles.tile_width / 32, tiles.tile_height);
  };
  const auto runs = [](const ImageTiles& tiles) {
    return tiles.tiles() * static_cast<size_t>(tiles.max_tile_runs);
  };
  const auto words = [](const ImageTiles& tiles) { return tiles.words(); };
  const auto pixels = [](const ImageTiles& tiles) { return tiles.words() * 32; };
  const auto tile_rows = [](const ImageTiles& tiles) {
    return product(tiles.tile_rows, tiles.stride);
  };
  const auto tile_columns = [](const ImageTiles& tiles) {
    return product(tiles.tile_columns, tiles.size.height);
  };
  reserve_both(tiles_.foreground, tile_words);
  reserve_both(tiles_.run_starts, tile_words);
  reserve_both(tiles_.runs_before, tile_words);
  reserve_both(tiles_.component_of_run, runs);
  reserve_both(tiles_.first_pixel, runs);
  reserve_both(tiles_.counts, tile_count);
  reserve_both(tiles_.region_count, tile_count);
  reserve_both(tiles_.parent, pixels);
  reserve_both(tiles_.region_starts, words);
  reserve_both(tiles_.regions_before, words);
  reserve_both(tiles_.top_edge, tile_rows);
  reserve_both(tiles_.bottom_edge, tile_rows);
  reserve_both(tiles_.left_edge, tile_columns);
  reserve_both(tiles_.right_edge, tile_columns);
  memory.reserve(tiles_.total, 2);
  reserve_both(area_, pixels);
  reserve_both(filled_bits_, words);
  if (draws_overlay) memory.reserve(labels_, size_.area());
  memory.reserve(records_, setup.max_regions);
  if (setup.tracks) memory.reserve(states_, setup.max_regions);
  memory.reserve(selection_, 1);
  if (draws_overlay) ink_ = allocate_cleared_ink(*backend, size_);
  const bool uses_one_stream = shapes[0].are_few() && shapes[1].are_few() && !setup.tracks;
  side_stream_ = uses_one_stream ? nullptr : std::make_unique<SideStream>(backend, setup.priority);
  graph_cache_ = std::make_unique<GraphCache>(backend);
}

void allocate(std::vector<ImageBuffers>& buffers, Workspace& memory,
              const std::shared_ptr<Backend>& backend, const Setup& setup) {
  memory = {};
  for (ImageBuffers& frame : buffers) frame.reserve(memory, backend, setup);
  memory.allocate(*backend);
}

ImageTiles ImageBuffers::tiles(Criterion criterion) const {
  return criterion == Criterion::binary ? divide<BinaryTile>(tiles_, size_)
                                        : divide<LinkedTile>(tiles_, size_);
}

RegionAreas ImageBuffers::areas(uint32_t limit) const {
  const auto max_id = static_cast<uint64_t>(divide<BinaryTile>({}, size_).words() * 32);
  return {area_, static_cast<int>(std::bit_width(max_id)), limit};
}

LabelMap ImageBuffers::labels() const {
  return {labels_, size_.width, size_.height,
          static_cast<ptrdiff_t>(product(size_.width, sizeof(uint32_t)))};
}

}  // namespace regions::cclabel
