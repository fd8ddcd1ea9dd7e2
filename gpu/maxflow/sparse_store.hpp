// Tiles that lie in memory, and what is known of each.
#pragma once

#include "gpu/maxflow/exchange.hpp"

namespace regions::maxflow {

// Where a cut stands, the same in all threads.
struct Turns {
  unsigned pass = 0;     // passes over a list so far, of which the first kernel is one
  unsigned relabel = 0;  // relabels so far
  unsigned flow = 1;     // by which flows are told

  // The turn in which heights are told now; the first kernel tells at 1.
  REGIONS_HD unsigned telling() const { return pass + 1; }
};

// What is kept of a tile while a frame is solved. All zero when its work begins.
struct alignas(16) TileState {
  // What neighbours ask of it, four words at a time.
  unsigned told[2];     // turn in which it told its heights; by set of boxes
  unsigned sent[2];     // turn for which flow lies in its boxes; by parity
  unsigned live[2];     // relabel that it takes part in, + 1; by parity of the relabel
  unsigned unsettled;   // the last relabel whose start did not settle it, + 1
  unsigned stored;      // it lies in memory; else it is as the weights say
  unsigned in_list[2];  // pass that lists the tile, + 1; by parity of the pass
  unsigned active;      // the last relabel that found active excess in it, + 1
  unsigned ever;        // it is on the list of those that were ever on one
  int lack;             // what its sinks could still take after the first kernel, below zero
};

template <int kNeighbours>
struct Sparse {
  Boxes boxes;
  Tile<kNeighbours>* tiles;        // [tiles]
  TileState* state;                // [tiles]
  int* lists;                      // [kLists][tiles]
  uint8_t* flowless;               // [tiles] whether the flows kept of the tile's links are all 0
  const uint8_t* flowless_before;  // [tiles] the same after the last frame; null if not known
};

}  // namespace regions::maxflow
