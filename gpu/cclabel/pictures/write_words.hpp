// Writes what the runs of a tile give their pixels.
#pragma once

#include "core/image.hpp"
#include "gpu/cclabel/base/writers.hpp"
#include "gpu/primitives/bits.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Of the tile at (x0, y0), from its row `first_row` on and as far as the picture goes. `runs` has
// foreground, starts and rank of each word; `of_run` says what a run's pixels get. All threads of
// the block call it.
template <class T, class Runs, PixelWriter Writer>
__device__ void write_words(const Runs& runs, const uint32_t* of_run, int x0, int y0, Size picture,
                            const Writer& writer, int first_row = 0) {
  const int begin = first_row * T::words * 8;
  for (int i = begin + static_cast<int>(threadIdx.x); i < T::all_words * 8; i += T::threads) {
    const int w = i / 8, bit = i % 8 * 4;
    const int x = x0 + w % T::words * 32 + bit, y = y0 + w / T::words;
    if (x >= picture.width || y >= picture.height) continue;
    const uint32_t foreground = runs.foreground[w] >> bit, starts = runs.starts[w];
    int run = runs.rank[w] + __popc(starts & up_to(bit)) - 1;
    uint32_t labels[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (k > 0) run += starts >> (bit + k) & 1;
      labels[k] = foreground >> k & 1 ? of_run[run] : 0;
    }
    cclabel::write(writer, x, y, labels);
  }
}

}  // namespace regions::cclabel

#endif
