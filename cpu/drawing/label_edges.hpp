// Where labels end, a bit a pixel, and the rows of outlines that follow from it (see paint.hpp).
#pragma once

#include "core/drawing/paint.hpp"

namespace regions {

// The labels of `count` pixels from (x, y) on.
void read_labels(const LabelSampler& labels, int x, int y, int count, uint32_t* to);

// Sets the bits of rows begin..end-1: the pixel has a label and an 8-neighbour of another one.
void find_label_edges(const LabelSampler& labels, Image<uint32_t> edges, Size picture, int begin,
                      int end);

// One row of the outlines, a bit a pixel. Set also beside regions: only labelled pixels count.
class OutlineRow {
 public:
  // Returns false, leaving the row undefined, if it is empty.
  bool find(Image<const uint32_t> edges, int thickness, int y);

  uint32_t bright(int word) const { return bright_[word]; }
  uint32_t dark(int word) const { return dark_[word]; }  // the shadow, `bright` included

 private:
  static constexpr int kWords = 65536 / 32;
  uint32_t bright_[kWords];
  uint32_t dark_[kWords];
};

}  // namespace regions
