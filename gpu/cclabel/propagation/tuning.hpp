// The papers' tiles: 32x32 cells, a warp a row.
#pragma once

namespace regions::propagation {

struct Tile {
  static constexpr int side = 32;
  static constexpr int offset = 31;  // from a tile to the next: they share a row or a column
  static constexpr int colors = 4;
};

}  // namespace regions::propagation
