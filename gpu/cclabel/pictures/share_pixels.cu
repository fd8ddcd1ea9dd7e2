// Counts how many pixels each region shares with each of the last frame, and leaves this frame's
// labels for the next. Pairs are summed a tile at a time in shared memory.
#include "gpu/cclabel/pictures/phases.hpp"
#include "gpu/cclabel/pictures/tuning.hpp"
#include "gpu/cclabel/pictures/words.hpp"
#include "gpu/runtime/chain.hpp"
#include "gpu/tracking/tile_pairs.hpp"

namespace regions::cclabel {
namespace {

template <class T>
struct TileShares {
  TilePairs pairs;
  uint16_t of_component[T::runs];
};

// A word's pieces: parts of runs, from their first pixel there.
__device__ uint32_t begins_of(const Word& word) {
  return word.starts | (word.foreground & ~(word.foreground << 1));
}

// Adds up 32 pixels, piece by piece of those that are in a region now and before, and leaves the
// labels of now in place of those before.
__device__ void share_word(const Word& word, const uint16_t* of_component,
                           const uint16_t* component, TilePairs& pairs, const PairTable& picture,
                           PastWord& past, uint16_t* labels) {
  const auto label_at = [&](int b) { return of_component[component[word.run_at(b)]]; };
  const PastWord last = past;
  const uint32_t begins = begins_of(word), common = word.foreground & last.foreground;
  for (uint32_t pieces = common & (begins | last.begins | ~(common << 1)); pieces;) {
    const int b = __ffs(static_cast<int>(pieces)) - 1;
    pieces &= pieces - 1;
    const uint32_t ends = (pieces | ~common) & ~up_to(b);
    const int end = ends ? __ffs(static_cast<int>(ends)) - 1 : 32;
    const uint32_t before = labels[31 - __clz(static_cast<int>(last.begins & up_to(b)))];
    const uint32_t now = label_at(b);
    if (before && now) pairs.add(before << 16 | now, static_cast<uint32_t>(end - b), picture);
  }
  for (uint32_t bits = begins; bits; bits &= bits - 1) {
    const int b = __ffs(static_cast<int>(bits)) - 1;
    labels[b] = label_at(b);
  }
  past = {word.foreground, begins};
}

template <class T>
__global__ __launch_bounds__(T::all_words) void share_kernel(Tiles tiles, PairTable pairs,
                                                             Image<PastWord> past,
                                                             Image<uint16_t> labels,
                                                             uint32_t capacity) {
  __shared__ TileShares<T> s;
  let_next_start();
  const TilePlace place = place_of_block(tiles);
  const int me = static_cast<int>(threadIdx.x);
  const int y = place.y + me / T::words, column = place.x / 32 + me % T::words;
  Word word = {};
  PastWord last = {};
  if (y < tiles.size.height) {
    word = word_of(tiles, place.tile, me);
    last = past(column, y);
  }
  const TileCount count = tiles.count[place.tile];
  s.pairs.clear();
  for (int c = me; c < count.components; c += T::all_words) {
    const uint32_t root = root_of_component(tiles, place, c, count.border);
    const uint32_t label = label_of_root(tiles, root);
    s.of_component[c] = static_cast<uint16_t>(label <= capacity ? label : 0);
  }
  __syncthreads();  // components' labels are there, the pairs are clear
  if (word.foreground | last.foreground) {
    const uint16_t* component = tiles.component + static_cast<size_t>(place.tile) * T::runs;
    share_word(word, s.of_component, component, s.pairs, pairs, last, labels.row(y) + column * 32);
    past(column, y) = last;
  }
  __syncthreads();  // the tile's sums are complete
  s.pairs.flush(pairs);
}

}  // namespace

void share_pixels(const Tiles& tiles, const TrackMemory& memory, const Image<PastWord>& past,
                  uint32_t capacity, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tiles.columns), static_cast<unsigned>(tiles.rows));
  if (tiles.width == BinaryTile::width) {
    launch(share_kernel<BinaryTile>, grid, BinaryTile::all_words, 0, stream, tiles, memory.pairs,
           past, memory.labels, capacity);
  } else {
    launch(share_kernel<LinkedTile>, grid, LinkedTile::all_words, 0, stream, tiles, memory.pairs,
           past, memory.labels, capacity);
  }
}

}  // namespace regions::cclabel
