// Rows of labels as runs, and joining small pieces along them.
#pragma once

#include <span>

#include "core/slicsuperpixel/pieces.hpp"
#include "core/workers.hpp"
#include "cpu/slicsuperpixel/assign.hpp"

namespace regions {

// Pixels of one label side by side.
struct Run {
  uint32_t label;
  uint16_t x, y;
  uint32_t length;
  uint32_t color[3];  // sums of component + 128
};

// Writes the runs of row y; returns how many.
size_t find_runs(ConstLabelMap labels, const ColorPlanes& colors, int y, Run* runs);

// Sums the colours of runs anew.
void sum_colors(const ColorPlanes& colors, std::span<Run> runs);

// What joining works on. Labels are 1..n in raster order of first pixels.
struct PieceGraph {
  Piece* piece;          // [n + 1]
  PieceColor* color;     // [n + 1], of the pieces
  uint32_t* parent;      // [n + 1]
  uint64_t* choice;      // [n + 1], zero of pieces that do not choose
  uint32_t* chooser;     // [n + 1], labels that choose in this round
  uint32_t* dense;       // [n + 1], the outcome: new labels 1..m
  const Run** small;     // [runs], runs of small pieces
  ConstLabelMap labels;  // before
};

// Joins small pieces; `strips` lists of runs lie at runs[strip], counts[strip] of them. Returns the
// count of labels left.
uint32_t join_pieces(const PieceGraph& graph, const Run* const* runs, const size_t* counts,
                     int strips, const StayRule& rule, const SlicScale& scale,
                     const Workers& workers);

}  // namespace regions
