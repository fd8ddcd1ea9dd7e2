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

void Slot::reserve(Workspace& memory, const std::shared_ptr<Backend>& backend, const Setup& setup) {
  size_ = setup.size;
  const bool draws = setup.has_output && setup.out.format == setup.in.format;
  const Tiles cuts[] = {cut<BinaryTile>({}, size_), cut<LinkedTile>({}, size_)};
  // The criterion may change while playing: every piece is large enough for both cuts.
  const auto reserve_both = [&](auto& piece, auto count_of) {
    memory.reserve(piece, std::max(count_of(cuts[0]), count_of(cuts[1])));
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
  reserve_both(pieces_.foreground, tile_words);
  reserve_both(pieces_.starts, tile_words);
  reserve_both(pieces_.rank, tile_words);
  reserve_both(pieces_.component, runs);
  reserve_both(pieces_.first, runs);
  reserve_both(pieces_.count, tiles);
  reserve_both(pieces_.regions, tiles);
  reserve_both(pieces_.parent, pixels);
  reserve_both(pieces_.firsts, words);
  reserve_both(pieces_.before, words);
  reserve_both(pieces_.top, tile_rows);
  reserve_both(pieces_.bottom, tile_rows);
  reserve_both(pieces_.left, tile_columns);
  reserve_both(pieces_.right, tile_columns);
  memory.reserve(pieces_.total, 2);
  reserve_both(area_, pixels);
  reserve_both(filled_, words);
  if (draws) memory.reserve(labels_, size_.area());
  memory.reserve(records_, setup.max_regions);
  memory.reserve(selection_, 1);
  if (draws) ink_ = blank_device_ink(*backend, size_);
  const bool chains = cuts[0].are_few() && cuts[1].are_few() && !setup.tracks;
  side_ = chains ? nullptr : std::make_unique<SideStream>(backend, setup.priority);
  replay_ = std::make_unique<Replay>(backend);
}

void allocate(std::vector<Slot>& slots, Workspace& memory, const std::shared_ptr<Backend>& backend,
              const Setup& setup) {
  memory = {};
  for (Slot& slot : slots) slot.reserve(memory, backend, setup);
  memory.allocate(*backend);
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
