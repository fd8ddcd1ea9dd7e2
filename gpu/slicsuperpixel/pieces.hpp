// Pieces of clusters on the device. The picture is cut into tiles; a piece is made of components,
// one a tile, which are known by ids 0..n-1 in no particular order, those of a tile side by side.
// `parent` hangs components below one of their piece and later below the piece they joined; the end
// of such a way is a representative, and what is known of a piece stands there. First pixels, which
// decide where numbers could, make the outcome the same whatever the ids are.
#pragma once

#include "core/pieces.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {

// Numbers that the phases of joining share; cleared by the first.
struct JoinCounts {
  uint32_t components = 0;
  uint32_t edges = 0;        // along which small pieces touch others
  uint32_t later_edges = 0;  // of them, those that still matter after the first round
  uint32_t small = 0;        // pieces
  uint32_t later_small = 0;
  uint32_t last_round = 0;  // in which a piece has chosen
  uint32_t arrivals = 0;    // of blocks at their barrier
};

struct Pieces {
  Size size;    // of the picture
  int stride;   // of `component`; a pixel is known as y * stride + x
  int columns;  // of tiles
  int rows;

  uint16_t* component;  // [height][stride] each pixel's, counted from the first of its tile
  uint32_t* start;      // [tiles] id of the first component
  uint32_t* count;      // [tiles] of components

  // By id.
  uint32_t* parent;
  uint32_t* first;                // pixel of the piece in raster order
  Piece* piece;                   // area and colours
  unsigned long long* choice[2];  // by turns: choice_of() with the neighbour's first pixel

  JoinCounts* counts;
  uint2* edges;             // [2 * pixels] representatives
  uint2* later_edges;       // [later_capacity]; if they are more, all are looked at again
  uint32_t later_capacity;  // edges
  uint32_t* small;          // [pixels] representatives
  uint32_t* later_small;    // [pixels]
  int join_blocks;          // from join_blocks()

  uint32_t* firsts;      // [height][stride / 32] bits: first pixels of what is left after joining
  uint32_t* before;      // [height][stride / 32] of them before the word
  uint32_t* row_firsts;  // [rows] of them in a row of tiles
  uint32_t* total;       // of them

  REGIONS_HD size_t tiles() const {
    return static_cast<size_t>(columns) * static_cast<size_t>(rows);
  }

#ifdef __CUDACC__
  __device__ uint32_t pixel_at(int x, int y) const {
    return static_cast<uint32_t>(y) * static_cast<uint32_t>(stride) + static_cast<uint32_t>(x);
  }
  __device__ uint32_t component_at(int x, int y) const {
    const int tile = y / PieceTile::rows * columns + x / PieceTile::width;
    return start[tile] + component[pixel_at(x, y)];
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

}  // namespace regions::slic
