// Allocation of the device buffers for images.
#include "gpu/cclabel/image_buffers.hpp"

#include <algorithm>
#include <bit>

#include "gpu/drawing/drawing.hpp"

namespace regions::cclabel {
namespace {

// Adds the geometry of tiles of shape T to the buffers.
template <class T>
ImageTiles divide(ImageTiles tiles, Size size) {
  tiles.size = size;
  tiles.columns = (size.width + T::width - 1) / T::width;
  tiles.rows = (size.height + T::rows - 1) / T::rows;
  tiles.width = T::width;
  tiles.width_bits = std::countr_zero(static_cast<unsigned>(T::width));
  tiles.height = T::rows;
  tiles.capacity = T::max_runs;
  tiles.stride = tiles.columns * T::width;
  return tiles;
}

size_t product(int a, int b) { return static_cast<size_t>(a) * static_cast<size_t>(b); }

}  // namespace

void ImageBuffers::reserve(Workspace& memory, const std::shared_ptr<Backend>& backend,
                           const Setup& setup) {
  size_ = setup.size;
  const bool draws = setup.has_output && setup.out.format == setup.in.format;
  const ImageTiles shapes[] = {divide<BinaryTile>({}, size_), divide<LinkedTile>({}, size_)};
  // The criterion may change during playback. Each buffer is large enough for both tile shapes.
  const auto reserve_both = [&](auto& buffer, auto count_of) {
    memory.reserve(buffer, std::max(count_of(shapes[0]), count_of(shapes[1])));
  };
  const auto tiles = [](const ImageTiles& t) { return t.tiles(); };
  const auto tile_words = [](const ImageTiles& t) {
    return t.tiles() * product(t.width / 32, t.height);
  };
  const auto runs = [](const ImageTiles& t) { return t.tiles() * static_cast<size_t>(t.capacity); };
  const auto words = [](const ImageTiles& t) { return t.words(); };
  const auto pixels = [](const ImageTiles& t) { return t.words() * 32; };
  const auto tile_rows = [](const ImageTiles& t) { return product(t.rows, t.stride); };
  const auto tile_columns = [](const ImageTiles& t) { return product(t.columns, t.size.height); };
  reserve_both(tiles_.foreground, tile_words);
  reserve_both(tiles_.starts, tile_words);
  reserve_both(tiles_.rank, tile_words);
  reserve_both(tiles_.component, runs);
  reserve_both(tiles_.first_pixel, runs);
  reserve_both(tiles_.counts, tiles);
  reserve_both(tiles_.region_count, tiles);
  reserve_both(tiles_.parent, pixels);
  reserve_both(tiles_.region_bits, words);
  reserve_both(tiles_.before, words);
  reserve_both(tiles_.top, tile_rows);
  reserve_both(tiles_.bottom, tile_rows);
  reserve_both(tiles_.left, tile_columns);
  reserve_both(tiles_.right, tile_columns);
  memory.reserve(tiles_.total, 2);
  reserve_both(area_, pixels);
  reserve_both(filled_, words);
  if (draws) memory.reserve(labels_, size_.area());
  memory.reserve(records_, setup.max_regions);
  memory.reserve(selection_, 1);
  if (draws) ink_ = allocate_cleared_ink(*backend, size_);
  const bool uses_one_stream = shapes[0].are_few() && shapes[1].are_few() && !setup.tracks;
  side_ = uses_one_stream ? nullptr : std::make_unique<SideStream>(backend, setup.priority);
  replay_ = std::make_unique<GraphCache>(backend);
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
