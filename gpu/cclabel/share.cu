// Pass 6 for images, only with tracking: counts how many pixels each region shares with each region
// of the previous frame, and stores this frame's labels for the next frame. A block sums the pairs
// of regions of one tile in shared memory.
#include "gpu/cclabel/labelling_passes.hpp"
#include "gpu/runtime/launch.hpp"
#include "gpu/tracking/shared_pixels.hpp"

namespace regions::cclabel {
namespace {

template <class Shape>
struct SharedMemory {
  BlockPairs pairs;                           // number of pixels of each pair of labels
  uint16_t component_label[Shape::max_runs];  // [component] label of its region; 0: no label
};

// Returns a bit for the first pixel of each run within the word, even if the run begins in an
// earlier word.
__device__ uint32_t run_begins(const RunWord& word) {
  return word.run_starts | (word.foreground & ~(word.foreground << 1));
}

// Counts the shared pixels of a word, and then replaces the stored labels of the previous frame by
// the current labels. A segment is a sequence of pixels that belong to one region of this frame and
// to one region of the previous frame.
__device__ void count_shared_in_word(const RunWord& word, const uint16_t* component_label,
                                     const uint16_t* component, BlockPairs& pairs,
                                     const PairTable& all_pairs, PreviousFrameWord& stored,
                                     uint16_t* labels) {
  const auto label_at = [&](int b) { return component_label[component[word.run_at(b)]]; };
  const PreviousFrameWord previous = stored;
  const uint32_t begins = run_begins(word), common = word.foreground & previous.foreground;
  for (uint32_t segments = common & (begins | previous.segment_starts | ~(common << 1));
       segments;) {
    const int b = __ffs(static_cast<int>(segments)) - 1;
    segments &= segments - 1;
    const uint32_t ends = (segments | ~common) & ~bits_up_to(b);
    const int end = ends ? __ffs(static_cast<int>(ends)) - 1 : 32;
    const uint32_t before =
        labels[31 - __clz(static_cast<int>(previous.segment_starts & bits_up_to(b)))];
    const uint32_t now = label_at(b);
    if (before && now) pairs.add(before << 16 | now, static_cast<uint32_t>(end - b), all_pairs);
  }
  for (uint32_t bits = begins; bits; bits &= bits - 1) {
    const int b = __ffs(static_cast<int>(bits)) - 1;
    labels[b] = label_at(b);
  }
  stored = {word.foreground, begins};
}

template <class Shape>
__global__ __launch_bounds__(Shape::all_words) void count_shared_kernel(
    ImageTiles tiles, PairTable pairs, Image<PreviousFrameWord> previous_words,
    Image<uint16_t> labels, uint32_t capacity) {
  __shared__ SharedMemory<Shape> shared;
  pdl_trigger();
  const TilePosition position = tile_of_block(tiles);
  const int thread_index = static_cast<int>(threadIdx.x);
  const int y = position.y + thread_index / Shape::words,
            column = position.x / 32 + thread_index % Shape::words;
  RunWord word = {};
  PreviousFrameWord previous = {};
  if (y < tiles.size.height) {
    word = load_run_word(tiles, position.tile_index, thread_index);
    previous = previous_words(column, y);
  }
  const TileCounts count = tiles.counts[position.tile_index];
  shared.pairs.clear();
  for (int c = thread_index; c < count.components; c += Shape::all_words) {
    const uint32_t root = root_of_component(tiles, position, c, count.border);
    const uint32_t label = label_of_root(tiles, root);
    shared.component_label[c] = static_cast<uint16_t>(label <= capacity ? label : 0);
  }
  __syncthreads();  // component_label is complete and the pairs are empty
  if (word.foreground | previous.foreground) {
    const uint16_t* component =
        tiles.component_of_run + static_cast<size_t>(position.tile_index) * Shape::max_runs;
    count_shared_in_word(word, shared.component_label, component, shared.pairs, pairs, previous,
                         labels.row(y) + column * 32);
    previous_words(column, y) = previous;
  }
  __syncthreads();  // the pairs of the tile are complete
  shared.pairs.flush(pairs);
}

}  // namespace

void count_shared_pixels(const ImageTiles& tiles, const TrackMemory& memory,
                         const Image<PreviousFrameWord>& previous_words, uint32_t capacity,
                         cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tiles.tile_columns),
                  static_cast<unsigned>(tiles.tile_rows));
  if (tiles.tile_width == BinaryTile::width) {
    launch(count_shared_kernel<BinaryTile>, grid, BinaryTile::all_words, 0, stream, tiles,
           memory.pairs, previous_words, memory.labels, capacity);
  } else {
    launch(count_shared_kernel<LinkedTile>, grid, LinkedTile::all_words, 0, stream, tiles,
           memory.pairs, previous_words, memory.labels, capacity);
  }
}

}  // namespace regions::cclabel
