// A tile's words as label_tiles left them, read by a warp with a lane for each pixel.
#pragma once

#include "gpu/cclabel/pictures/tiles.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

struct Word {
  uint32_t foreground;
  uint32_t starts;
  int rank;  // runs of the tile that start before the word

  __device__ bool has(int lane) const { return foreground >> lane & 1; }
  // The run of a foreground pixel.
  __device__ int run_at(int lane) const { return rank + __popc(starts & up_to(lane)) - 1; }
  // Whether the pixel is the last of its run in this word, and the first one of that run here.
  __device__ bool ends_at(int lane) const {
    return lane == 31 || !has(lane + 1) || (starts >> (lane + 1) & 1);
  }
  __device__ int begin_of(int lane) const {
    const uint32_t begun = starts & up_to(lane);
    return begun ? 31 - __clz(static_cast<int>(begun)) : 0;
  }
  // The pixels of the run that holds pixel `b`, from there on, as a mask.
  __device__ uint32_t rest_of_run(int b) const {
    const uint32_t from = ~below(b), beyond = from & ~up_to(b);
    const uint32_t end = (~foreground | starts) & beyond;  // the first that is not the run's
    return end ? ((end & (0u - end)) - 1) & from : from;
  }
};

__device__ inline Word word_of(const Tiles& tiles, int tile, int word) {
  const size_t at = static_cast<size_t>(tile) * (tiles.width / 32 * tiles.height) + word;
  return {tiles.foreground[at], tiles.starts[at], tiles.rank[at]};
}

// Calls visit(word, column, row) for the words of the tile that this warp has: neighbouring rows of
// one column, so that a warp mostly stays in one region. Rows below the picture are left out. Each
// lane reads a word, so that memory is waited for once.
template <int threads, class Visit>
__device__ void for_each_word(const Tiles& tiles, const TilePlace& place, Visit visit) {
  constexpr int kWarps = threads / 32;
  const int words = tiles.width / 32, warp = static_cast<int>(threadIdx.x / 32);
  const int rows = tiles.height * words / kWarps;  // 32 at most; tile shapes divide evenly
  const int column = warp % words, first = warp / words * rows;
  const int own_row = first + static_cast<int>(threadIdx.x % 32);
  Word own = {};
  if (own_row < min(first + rows, tiles.size.height - place.y)) {
    own = word_of(tiles, place.tile, own_row * words + column);
  }
  for (uint32_t left = __ballot_sync(kAllLanes, own.foreground != 0); left; left &= left - 1) {
    const int k = __ffs(static_cast<int>(left)) - 1;
    visit(Word{__shfl_sync(kAllLanes, own.foreground, k), __shfl_sync(kAllLanes, own.starts, k),
               __shfl_sync(kAllLanes, own.rank, k)},
          column, first + k);
  }
}

}  // namespace regions::cclabel

#endif
