// The workspace of a frame.
#include "gpu/cclabel/pictures/slot.hpp"

#include <algorithm>
#include <bit>

#include "gpu/cclabel/pictures/tuning.hpp"
#include "gpu/drawing/drawing.hpp"

namespace regions::cclabel {
namespace {

template <class T>
Tiles cut(Tiles pieces, Size size) {
  pieces.size = size;
  pieces.columns = (size.width + T::width - 1) / T::width;
  pieces.rows = (size.height + T::rows - 1) / T::rows;
  pieces.width = T::width;
  pieces.width_bits = std::countr_zero(static_cast<unsigned>(T::width));
  pieces.height = T::rows;
  pieces.capacity = T::runs;
  pieces.stride = pieces.columns * T::width;
  return pieces;
}

size_t product(int a, int b) { return static_cast<size_t>(a) * static_cast<size_t>(b); }

}  // namespace

void Slot::allocate(const std::shared_ptr<Backend>& backend, const Setup& setup) {
  size_ = setup.size;
  const bool draws = setup.has_output && setup.out.format == setup.in.format;
  const Tiles cuts[] = {cut<BinaryTile>({}, size_), cut<LinkedTile>({}, size_)};
  // The criterion may change while playing: every piece is large enough for both cuts.
  const auto reserve = [&](auto& piece, auto count_of) {
    memory_.reserve(piece, std::max(count_of(cuts[0]), count_of(cuts[1])));
  };
  const auto tiles = [](const Tiles& t) { return t.tiles(); };
  const auto tile_words = [](const Tiles& t) {
    return t.tiles() * product(t.width / 32, t.height);
  };
  const auto runs = [](const Tiles& t) { return t.tiles() * static_cast<size_t>(t.capacity); };
  const auto words = [](const Tiles& t) { return t.words(); };
  const auto pixels = [](const Tiles& t) { return t.words() * 32; };
  const auto tile_rows = [](const Tiles& t) { return product(t.rows, t.stride); };
  const auto tile_columns = [](const Tiles& t) { return product(t.columns, t.size.height); };
  reserve(pieces_.foreground, tile_words);
  reserve(pieces_.starts, tile_words);
  reserve(pieces_.rank, tile_words);
  reserve(pieces_.component, runs);
  reserve(pieces_.first, runs);
  reserve(pieces_.count, tiles);
  reserve(pieces_.regions, tiles);
  reserve(pieces_.parent, pixels);
  reserve(pieces_.firsts, words);
  reserve(pieces_.before, words);
  reserve(pieces_.top, tile_rows);
  reserve(pieces_.bottom, tile_rows);
  reserve(pieces_.left, tile_columns);
  reserve(pieces_.right, tile_columns);
  memory_.reserve(pieces_.total, 2);
  reserve(area_, pixels);
  reserve(filled_, words);
  if (draws) memory_.reserve(labels_, size_.area());
  memory_.reserve(records_, setup.max_regions);
  memory_.reserve(selection_, 1);
  memory_.allocate(*backend);
  if (draws) ink_ = blank_device_ink(*backend, size_);
  side_ = std::make_unique<SideStream>(backend, setup.priority);
  replay_ = std::make_unique<Replay>(backend);
}

Tiles Slot::tiles(Criterion criterion) const {
  return criterion == Criterion::binary ? cut<BinaryTile>(pieces_, size_)
                                        : cut<LinkedTile>(pieces_, size_);
}

Areas Slot::areas(uint32_t limit) const {
  const auto most = static_cast<uint64_t>(cut<BinaryTile>({}, size_).words() * 32);
  return {area_, static_cast<int>(std::bit_width(most)), limit};
}

LabelMap Slot::labels() const {
  return {labels_, size_.width, size_.height,
          static_cast<ptrdiff_t>(product(size_.width, sizeof(uint32_t)))};
}

}  // namespace regions::cclabel
