// Small pieces join their neighbours, see core/slicsuperpixel/pieces.hpp.
#pragma once

#include <span>

#include "core/slicsuperpixel/pieces.hpp"
#include "core/workers.hpp"
#include "cpu/slicsuperpixel/runs.hpp"

namespace regions {

// What joining works on. Labels are 1..n in raster order of first pixels.
struct PieceGraph {
  struct Pixel {
    uint16_t x, y;
  };
  Piece* piece;       // [n + 1]
  PieceColor* color;  // [n + 1], of the pieces
  Pixel* first;       // [n + 1], the first pixels
  uint32_t* parent;   // [n + 1]
  uint64_t* choice;   // [n + 1], zero of pieces that do not choose
  uint32_t* chooser;  // [n + 1], labels that choose in this round
  uint32_t* dense;    // [n + 1], the outcome: new labels 1..m
};

// Joins small pieces; puts the strips' contacts in another order. Returns the count of labels left.
uint32_t join_pieces(const PieceGraph& graph, std::span<const PieceStrip> strips,
                     const StayRule& rule, const SlicScale& scale, const Workers& workers);

}  // namespace regions
