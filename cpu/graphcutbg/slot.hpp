// Memory of graphcutbg on the CPU: the model that all frames share, and a workspace a slot.
#pragma once

#include <vector>

#include "core/graphcutbg/energy.hpp"
#include "core/graphcutbg/state.hpp"
#include "core/graphcutbg/view.hpp"

namespace regions::graphcut {

// Frames use it one after the other.
struct Shared {
  Size size;
  Neighbours neighbours = Neighbours::eight;
  std::vector<uint32_t> now, background, model;
  std::vector<int32_t> terminal, right, down, down_right, down_left;
  std::vector<Colors> colors;        // [1]
  std::vector<Survey> surveys;       // [pieces]
  std::vector<uint32_t> foreground;  // [pieces], pixels
  std::vector<int64_t> values;       // [pieces], of the cut
  Scene scene;
  FramePlan frame;               // of the frame under way
  EnergyPlan energy;             // likewise
  uint32_t last_foreground = 0;  // pixels of the last frame's cut
  uint32_t last_pixels = 0;

  void allocate(Size picture, Neighbours wanted, int pieces);
  Canvas canvas(const uint8_t* excluded);
  // With `links`, these tell the capacities in place of the images.
  GridGraph graph(const LinkSource* links) const;
};

struct Slot {  // NOLINT(bugprone-reserved-identifier): of the copy that the compiler makes
  std::vector<uint8_t> mask, counts, alpha;  // [height][width]
  std::vector<uint64_t> cell_sums;           // see Cells
  std::vector<uint32_t> cell_weights;
  std::vector<uint16_t> smooth[3];
  GraphCutReport report;

  void allocate(Size picture);
};

}  // namespace regions::graphcut
