// The arrays of one model and of the frame under way.
#pragma once

#include "core/graphcutbg/colors.hpp"
#include "core/maxflow/maxflow.hpp"

namespace regions::graphcut {

// All are of the frame's size without padding.
struct Canvas {
  int width = 0, height = 0;
  uint32_t* now = nullptr;         // [height][width], Color::packed of the frame
  uint32_t* background = nullptr;  // the same of the model's heaviest modes
  uint32_t* model = nullptr;       // [Model::kWords][model_plane()], see Model
  int32_t* terminal = nullptr;     // [height][width], and the links alike, see GridGraph
  int32_t* right = nullptr;
  int32_t* down = nullptr;
  int32_t* down_right = nullptr;  // null for four neighbours
  int32_t* down_left = nullptr;
  Colors* colors = nullptr;
  const uint8_t* excluded = nullptr;  // [height][width], nonzero: no foreground; null: none

  REGIONS_HD size_t plane() const {
    return static_cast<size_t>(width) * static_cast<size_t>(height);
  }
  // Words from one plane of the model to the next. Planes a multiple of 4096 bytes apart, as those
  // of most pictures would be, share a few sets of a cache and drive each other out.
  REGIONS_HD static size_t plane_stride(size_t pixels) {
    return (pixels + 1023) / 1024 * 1024 + 144;
  }
  LinkRow links_of_row(int y) const {
    const size_t i = at(0, y);
    if (!down_right) return {right + i, down + i};
    return {right + i, down + i, down_right + i, down_left + i};
  }
  REGIONS_HD size_t model_plane() const { return plane_stride(plane()); }
  REGIONS_HD size_t at(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
  }
};

}  // namespace regions::graphcut
