// Pieces of clusters on the device. The picture is cut into tiles; a piece is made of components,
// one or more a tile, which have numbers 0..n-1 in their tile in no particular order, and ids made
// of these. `parent` hangs components below one of their piece and later below the piece they
// joined; the end of such a way is a representative, and what is known of a piece stands there.
// First pixels, which decide where numbers could, make the outcome the same whatever the ids are.
// What is known of a tile's components lies side by side: spread over the picture by first pixels
// it would not stay in the cache.
#pragma once

#include "core/slicsuperpixel/pieces.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {

// Small pieces, and where they touch others: listed by the first choices, then by each wide round
// for the next.
inline constexpr int kJoinLists = JoinRounds::wide + 1;
// How long the lists are; cleared by the phase before the first choices.
struct JoinCounts {
  uint32_t edges[kJoinLists] = {};  // may exceed edge_capacity: those beyond are not listed
  uint32_t small[kJoinLists] = {};
  uint32_t last_choice = 0;  // the last meeting of blocks that a thread came to with a choice
  uint32_t arrivals = 0;     // of blocks at their barrier

  REGIONS_HD bool has_few(int round) const {
    return edges[round] <= JoinRounds::few_edges && small[round] <= JoinRounds::few_small;
  }
  // How many wide rounds there are: none that finds little.
  REGIONS_HD int wide_rounds() const {
    int round = 0;
    while (round < JoinRounds::wide && !has_few(round)) ++round;
    return round;
  }
};

struct Pieces {
  Size size;    // of the picture
  int stride;   // pixels from a row to the next: columns * PieceTile::width
  int columns;  // of tiles
  int rows;

  uint16_t* component;  // [height][stride] each pixel's number
  uint32_t* count;      // [tiles] of components

  // Ids of the components along the edges of tiles.
  uint32_t* top;     // [rows][stride]
  uint32_t* bottom;  // [rows][stride]
  uint32_t* left;    // [columns][height]
  uint32_t* right;   // [columns][height]

  // How many tiles have come to their left and upper edge; 0 before and after a frame.
  uint32_t* arrivals;  // [tiles][2]

  // By id.
  uint32_t* parent;
  uint32_t* first;                // the piece's first pixel, as y * stride + x
  Piece* piece;                   // area and colours
  uint32_t* of_rank;              // [StayRule::kRanks] pieces; 0 between frames
  uint32_t* bound;                // see StayRule::bound()
  unsigned long long* choice[2];  // by turns: choice_of() with the neighbour's first pixel

  JoinCounts* counts;
  uint2* edges[kJoinLists];     // [edge_capacity] pairs of representatives, or twice the same
  uint32_t* small[kJoinLists];  // [small_capacity] representatives
  int join_blocks;              // from join_blocks()

  uint32_t* firsts;       // [height][stride / 32] bits: first pixels of what is left after joining
  uint32_t* tile_firsts;  // [height][firsts_pitch()] bytes: of them in a row of a tile
  uint32_t* row_firsts;   // [height] of them in a row
  uint32_t* total;        // of them

  REGIONS_HD size_t tiles() const {
    return static_cast<size_t>(columns) * static_cast<size_t>(rows);
  }
  REGIONS_HD uint32_t firsts_pitch() const {
    return (static_cast<uint32_t>(columns) + 15) / 16 * 16;
  }
  size_t ids() const { return tiles() * PieceTile::pixels; }
  // The first numbers of all tiles come before the others, which hardly any has.
  REGIONS_HD uint32_t id(int tile, uint32_t number) const {
    constexpr uint32_t kNear = PieceTile::measured, kFar = PieceTile::pixels - kNear;
    const auto own = static_cast<uint32_t>(tile);
    if (number < kNear) return own * kNear + number;
    return static_cast<uint32_t>(tiles()) * kNear + own * kFar + number - kNear;
  }
  // Of the first list: pairs of touching pixels; those across edges of tiles may be listed from
  // both sides. The others have room for all but noise, which stays in the list before.
  REGIONS_HD size_t edge_capacity(int list) const {
    if (list > 0) return size.area() / 8 + 64;
    return 2 * size.area() + static_cast<size_t>(rows) * static_cast<size_t>(stride) +
           static_cast<size_t>(columns) * static_cast<size_t>(size.height);
  }
  // Each round leaves half of the small pieces at most.
  REGIONS_HD size_t small_capacity(int list) const { return (size.area() >> list) + 1; }

#ifdef __CUDACC__
  __device__ uint32_t pixel_at(int x, int y) const {
    return static_cast<uint32_t>(y) * static_cast<uint32_t>(stride) + static_cast<uint32_t>(x);
  }
  // The component of a pixel.
  __device__ uint32_t id_at(uint32_t pixel) const {
    const auto width = static_cast<uint32_t>(stride);
    const int x = static_cast<int>(pixel % width), y = static_cast<int>(pixel / width);
    return id(y / PieceTile::rows * columns + x / PieceTile::width, component[pixel]);
  }
  // The end of the way up from `id`. Others may hang representatives below others meanwhile.
  __device__ uint32_t find(uint32_t id) const {
    const volatile uint32_t* up = parent;
    uint32_t above = up[id];
    while (above != id) {
      id = above;
      above = up[id];
    }
    return id;
  }
  // As last written by any block.
  __device__ Piece piece_of(uint32_t id) const {
    static_assert(sizeof(Piece) == sizeof(uint4));
    const uint4 words = __ldcg(reinterpret_cast<const uint4*>(piece + id));
    return {words.x, {words.y, words.z, words.w}};
  }
  __device__ void give(uint32_t id, const Piece& more) const {
    atomicAdd(&piece[id].area, more.area);
    for (int c = 0; c < 3; ++c) atomicAdd(&piece[id].color[c], more.color[c]);
  }
#endif
};

#ifdef __CUDACC__

// The tile that a block works on, and its components.
struct TileOfBlock {
  int column, row;
  int left, top;  // in the picture
  int tile;
  uint32_t count;

  __device__ explicit TileOfBlock(const Pieces& pieces)
      : column(static_cast<int>(blockIdx.x)), row(static_cast<int>(blockIdx.y)) {
    left = column * PieceTile::width;
    top = row * PieceTile::rows;
    tile = row * pieces.columns + column;
    count = pieces.count[tile];
  }
  __device__ uint32_t id(const Pieces& pieces, uint32_t number) const {
    return pieces.id(tile, number);
  }
};

#endif

// A block for each tile.
inline dim3 tile_grid(const Pieces& pieces) {
  return {static_cast<unsigned>(pieces.columns), static_cast<unsigned>(pieces.rows)};
}

// A pixel at the edge of a tile and the component that it touches there: left, right, above, below.
struct TileEdge {
  static constexpr int kSides = 4;
  int x, y;     // in the tile
  bool exists;  // in the picture, with a neighbour
  uint32_t* own;
  const uint32_t* other;

#ifdef __CUDACC__
  __device__ TileEdge(const Pieces& pieces, int column, int row, int side, int i) {
    using T = PieceTile;
    const bool across = side < 2, ahead = side % 2 == 1;
    x = across ? (ahead ? T::width - 1 : 0) : i;
    y = across ? i : (ahead ? T::rows - 1 : 0);
    const int at_x = column * T::width + x, at_y = row * T::rows + y;
    const int step = ahead ? 1 : -1;
    const int next_x = at_x + (across ? step : 0), next_y = at_y + (across ? 0 : step);
    exists = at_x < pieces.size.width && at_y < pieces.size.height && next_x >= 0 && next_y >= 0 &&
             next_x < pieces.size.width && next_y < pieces.size.height;
    const size_t line = static_cast<size_t>(across ? column : row);
    const size_t length = static_cast<size_t>(across ? pieces.size.height : pieces.stride);
    const size_t place = static_cast<size_t>(across ? at_y : at_x);
    uint32_t* const near = across ? pieces.left : pieces.top;
    uint32_t* const far = across ? pieces.right : pieces.bottom;
    own = (ahead ? far : near) + line * length + place;
    other = (ahead ? near + (line + 1) * length : far + (line - 1) * length) + place;
  }
#endif
};

}  // namespace regions::slic
