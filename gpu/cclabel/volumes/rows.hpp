// Rows of the stack of labels, word by word.
#pragma once

#include "gpu/cclabel/volumes/volume.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// Word w of a row of the stack, and the bands that it lies in: of foreground, and of background
// where that has regions too.
struct RowWord {
  int row, w;
  uint32_t at;  // index_of() it
  Stack::Place place;
  uint32_t bits;       // foreground
  WordNodes nodes[2];  // of each class's band

  __device__ RowWord(const Volume& v, uint32_t word)
      : RowWord(v, static_cast<int>(word / static_cast<uint32_t>(v.words)),
                static_cast<int>(word % static_cast<uint32_t>(v.words))) {}
  __device__ RowWord(const Volume& v, int row_, int w_)
      : row(row_), w(w_), at(v.index_of(row, w)), place(v.stack.place(row)), bits(v.bits[at]) {
    for (int c = 0; c < v.classes; ++c) {
      nodes[c] = v.nodes[band_word(v, c, place.layer, w, place.y, place.z)];
    }
  }
  // The pixels of a class.
  __device__ uint32_t of_class(const Volume& v, int c) const {
    return c == 0 ? bits : ~bits & inside(v, w);
  }
  __device__ uint32_t node_at(int c, int b) const { return node_of(nodes[c], b); }
};

}  // namespace regions::volumes

#endif
