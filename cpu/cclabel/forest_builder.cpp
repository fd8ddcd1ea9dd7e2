// Builds the forest of runs of a frame: thresholds the frame or links similar pixels, and adds the
// rows of runs to the forest.
#include <algorithm>
#include <array>
#include <atomic>

#include "core/frame.hpp"
#include "cpu/cclabel/cclabel.hpp"
#include "cpu/cclabel/run_adjacency.hpp"
#include "cpu/cclabel/run_forest.hpp"
#include "cpu/pixel_rows.hpp"
#include "cpu/resampling.hpp"

namespace regions {
namespace {

// An image whose regions are connected foreground pixels.
struct BinaryImage {
  BitImage pixels;
  VolumeLayout volume;
  RowSpans spans;
  Connectivity connectivity = Connectivity::eight;

  int band_rows() const { return within_slice(connectivity) == Connectivity::eight ? 2 : 1; }
  // Returns the second row of the band that begins with row `row`; null if the band has one row.
  const Word* lower_row(int row) const {
    const bool has_two_rows =
        band_rows() == 2 && row % volume.slice.height + 1 < volume.slice.height;
    return has_two_rows ? pixels.row(row + 1) : nullptr;
  }
};

// An image whose regions are connected by links between neighbouring pixels.
struct LinkedImage {
  LinkRule rule;
  VolumeLayout volume;
  Connectivity connectivity = Connectivity::eight;

  int band_rows() const { return 1; }
  // Whether two voxels that are linked to a third voxel are linked too if they are neighbours, and
  // all voxels around a common neighbour's column are neighbours of each other.
  bool links_are_transitive() const {
    return connectivity == Connectivity::twenty_six && rule.tolerance_level == 1;
  }
};

// Returns which pixels of the next row in the same slice are neighbours of a pixel.
Adjacency adjacency_of(Connectivity connectivity) {
  return within_slice(connectivity) == Connectivity::eight ? Adjacency::diagonal
                                                           : Adjacency::straight;
}

// Returns which voxels of a row of the previous slice are neighbours of a voxel. `rows` is 0 if the
// row is at the voxel's height, and -1 or 1 if it is one row above or below. Voxels that share only
// a corner are neighbours with 26-connectivity; voxels that share an edge also with
// 18-connectivity.
Adjacency adjacency_across(Connectivity connectivity, int rows) {
  const bool joins_corners = connectivity == Connectivity::twenty_six;
  const bool joins_edges = joins_corners || connectivity == Connectivity::eighteen;
  return joins_corners || (joins_edges && rows == 0) ? Adjacency::diagonal : Adjacency::straight;
}

// Calls merge(earlier, adjacency) for each band `earlier` of the previous slice that is adjacent to
// the band that begins with row `row`.
template <std::invocable<int, const RunAdjacency&> Merge>
void merge_previous_slice(const BinaryImage& image, const RunForest& forest, int row,
                          LinkBuffers& buffers, Merge merge) {
  const int height = image.volume.slice.height, y = row % height, words = image.pixels.words;
  const int band = forest.band_of(row);
  const bool has_diagonals = image.connectivity != Connectivity::six;
  // Merges row `row` + i of the band with a row of the previous slice: `step` is 0 for the row at
  // the same height, -1 for the row above it and 1 for the row below it.
  const auto merge_rows = [&](int i, int step) {
    const int other_y = y + i + step;
    if (other_y < 0 || other_y >= height) return;
    const int other_row = row - y - height + other_y, earlier = forest.band_of(other_row);
    find_adjacency(adjacency_across(image.connectivity, step), image.pixels.row(row + i),
                   image.pixels.row(other_row), forest.run_starts(band), forest.run_starts(earlier),
                   words, buffers.adjacency[0]);
    merge(earlier, RunAdjacency{.up = buffers.adjacency[0]});
  };
  const int last = image.lower_row(row) ? 1 : 0;
  if (last == 1 && image.connectivity == Connectivity::twenty_six) {
    // Two rows in each of two slices: any two voxels in the same or adjacent columns are
    // neighbours, so the two rows of each slice are combined by OR.
    const int other_row = row - height, earlier = forest.band_of(other_row);
    for (int w = 0; w < words; ++w) {
      buffers.adjacency[1][w] = image.pixels.row(row)[w] | image.pixels.row(row + 1)[w];
      buffers.adjacency[2][w] = image.pixels.row(other_row)[w] | image.pixels.row(other_row + 1)[w];
    }
    find_adjacency(Adjacency::diagonal, buffers.adjacency[1], buffers.adjacency[2],
                   forest.run_starts(band), forest.run_starts(earlier), words,
                   buffers.adjacency[0]);
    merge(earlier, RunAdjacency{.up = buffers.adjacency[0]});
    merge_rows(0, -1);
    merge_rows(1, 1);
    return;
  }
  for (int i = 0; i <= last; ++i) {
    merge_rows(i, 0);
    if (!has_diagonals) continue;
    merge_rows(i, -1);
    merge_rows(i, 1);
  }
}

// Calls merge(earlier, adjacency) for each row `earlier` of the previous slice that is adjacent to
// row `row` of a linked image. Buffer row `i` contains the values of row `row`.
//
// With 26-connectivity and equal values, links are transitive: of two links to voxels that are
// neighbours, one is enough. The row at the same height is adjacent to the rows above and below it
// and to the row above in this slice. The row above in the previous slice is adjacent to the row
// above in this slice, too. So these two rows determine which other links are omitted, see Pruning.
template <std::invocable<int, const RunAdjacency&> Merge>
void merge_previous_slice(const LinkedImage& image, const RunForest& forest, int row, int i,
                          LinkBuffers& buffers, Merge merge) {
  struct Step {
    int rows;  // from row `row` to a row of the previous slice
    Pruning pruning;
  };
  constexpr Step kSteps[] = {{0, Pruning::first}, {1, Pruning::use}, {-1, Pruning::extend}};
  constexpr int kOtherBufferRow = 2;
  const int height = image.volume.slice.height, y = row % height;
  for (const Step& step : kSteps) {
    if (step.rows != 0 && image.connectivity == Connectivity::six) continue;
    if (y + step.rows < 0 || y + step.rows >= height) continue;
    const int other_row = row - height + step.rows;
    load_link_row(image.rule, other_row, kOtherBufferRow, buffers);
    merge(other_row, find_link_adjacency(
                         image.rule, adjacency_across(image.connectivity, step.rows), i,
                         kOtherBufferRow, forest.run_starts(row), forest.run_starts(other_row),
                         buffers, image.links_are_transitive() ? step.pruning : Pruning::none));
  }
}

// Returns whether the first slice of chunk s has a previous slice in the same volume.
bool has_slice_seam(RunForest& forest, int s) {
  const VolumeLayout& volume = forest.volume();
  return !volume.begins_volume(forest.chunk(s).begin / volume.slice.height);
}

// Adds all rows of chunk s to the forest. `buffers` belongs to the chunk.
void add_chunk(const BinaryImage& image, RunForest& forest, int s, LinkBuffers& buffers) {
  RowChunk& chunk = forest.chunk(s);
  const BitImage& pixels = image.pixels;
  const int height = image.volume.slice.height;
  for (int row = chunk.begin, next; row < chunk.end; row = next) {
    const int y = row % height, band = forest.band_of(row);
    const Word* upper = pixels.row(row);
    const Word* lower = image.lower_row(row);
    next = row + (lower ? 2 : 1);
    const uint32_t roots = chunk.roots;
    find_run_starts(upper, lower, pixels.words, forest.run_starts(band));
    forest.begin_band(chunk, band);
    if (y > 0 && row > chunk.begin) {
      find_adjacency(adjacency_of(image.connectivity), upper, pixels.row(row - 1),
                     forest.run_starts(band), forest.run_starts(band - 1), pixels.words,
                     buffers.adjacency[0]);
      forest.merge_bands(band, band - 1, {.up = buffers.adjacency[0]});
    }
    if (row - y > chunk.begin && !image.volume.begins_volume(row / height)) {
      merge_previous_slice(image, forest, row, buffers,
                           [&](int earlier, const RunAdjacency& adjacency) {
                             forest.merge_bands(band, earlier, adjacency);
                           });
    }
    forest.end_band(chunk, band);
    if (lower) forest.sort_roots(chunk, band, roots, upper, lower);
  }
}

// Merges chunk s with the previous chunk.
void merge_seam(const BinaryImage& image, RunForest& forest, int s, LinkBuffers& buffers) {
  const int begin = forest.chunk(s).begin, height = image.volume.slice.height;
  if (image.volume.total_slices() == 1) {
    const int band = forest.band_of(begin);
    find_adjacency(adjacency_of(image.connectivity), image.pixels.row(begin),
                   image.pixels.row(begin - 1), forest.run_starts(band),
                   forest.run_starts(band - 1), image.pixels.words, buffers.adjacency[0]);
    return forest.merge_seam(s, band, band - 1, {.up = buffers.adjacency[0]});
  }
  if (!has_slice_seam(forest, s)) return;
  for (int y = 0; y < height; y += image.band_rows()) {
    const int band = forest.band_of(begin + y);
    merge_previous_slice(image, forest, begin + y, buffers,
                         [&](int earlier, const RunAdjacency& adjacency) {
                           forest.merge_seam(s, band, earlier, adjacency);
                         });
  }
}

void add_chunk(const LinkedImage& image, RunForest& forest, int s, LinkBuffers& buffers) {
  RowChunk& chunk = forest.chunk(s);
  const int height = image.volume.slice.height;
  for (int row = chunk.begin; row < chunk.end; ++row) {
    const int y = row % height, i = y % 2;
    load_link_row(image.rule, row, i, buffers);
    find_link_starts(image.rule, i, buffers, forest.run_starts(row));
    forest.begin_band(chunk, row);
    const bool has_previous_slice =
        row - y > chunk.begin && !image.volume.begins_volume(row / height);
    if (has_previous_slice) {
      merge_previous_slice(image, forest, row, i, buffers,
                           [&](int earlier, const RunAdjacency& adjacency) {
                             forest.merge_bands(row, earlier, adjacency);
                           });
    }
    if (y > 0 && row > chunk.begin) {
      const bool is_pruned = has_previous_slice && image.links_are_transitive();
      forest.merge_bands(row, row - 1,
                         find_link_adjacency(image.rule, adjacency_of(image.connectivity), i, 1 - i,
                                             forest.run_starts(row), forest.run_starts(row - 1),
                                             buffers, is_pruned ? Pruning::use : Pruning::none));
    }
    forest.end_band(chunk, row);
  }
}

void merge_seam(const LinkedImage& image, RunForest& forest, int s, LinkBuffers& buffers) {
  const int begin = forest.chunk(s).begin, height = image.volume.slice.height;
  if (image.volume.total_slices() == 1) {
    load_link_row(image.rule, begin - 1, 0, buffers);
    load_link_row(image.rule, begin, 1, buffers);
    return forest.merge_seam(
        s, begin, begin - 1,
        find_link_adjacency(image.rule, adjacency_of(image.connectivity), 1, 0,
                            forest.run_starts(begin), forest.run_starts(begin - 1), buffers));
  }
  if (!has_slice_seam(forest, s)) return;
  for (int row = begin; row < begin + height; ++row) {
    load_link_row(image.rule, row, 0, buffers);
    merge_previous_slice(image, forest, row, 0, buffers,
                         [&](int earlier, const RunAdjacency& adjacency) {
                           forest.merge_seam(s, row, earlier, adjacency);
                         });
  }
}

// Fills holes: background regions of at most `max_hole_area` pixels that touch no side of the
// picture or volume become foreground. Background pixels are connected as dual() defines.
// `background` is workspace, and `buffers` has an entry for each chunk.
void fill_holes(const BinaryImage& image, uint32_t max_hole_area, RunForest& forest,
                const BitImage& background, int max_chunks, LinkBuffers* buffers,
                const Workers& workers) {
  const Size size = image.volume.slice;
  const int words = background.words, last_word_bits = size.width % kWordBits;
  const Word last_word_mask = last_word_bits ? (Word{1} << last_word_bits) - 1 : ~Word{0};
  const BinaryImage holes{background, image.volume, image.spans, dual(image.connectivity)};
  forest.reset(holes.volume, holes.spans, holes.band_rows(), max_chunks);
  workers.parallel_for(forest.chunks(), [&](int s) {
    for (int y = forest.chunk(s).begin; y < forest.chunk(s).end; ++y) {
      for (int w = 0; w < words; ++w) {
        background.row(y)[w] =
            ~image.pixels.row(y)[w] & (w + 1 == words ? last_word_mask : ~Word{0});
      }
    }
    add_chunk(holes, forest, s, buffers[s]);
  });
  forest.for_each_seam(workers, [&](int s) { merge_seam(holes, forest, s, buffers[s]); });
  // This value is added to a region's area for each run that touches a side of the picture or
  // volume. It is greater than the area of any hole. There are at most 2^31 runs, so the sum of
  // their values still fits into 63 bits.
  constexpr uint64_t kBorderArea = uint64_t{1} << 32;
  forest.compute_areas(background, kBorderArea, is_spatial(image.connectivity), workers);
  forest.number_regions(workers, {1, max_hole_area}, false);
  forest.detach_chunks(workers);
  workers.parallel_for(forest.chunks(), [&](int s) {
    const RowChunk& chunk = forest.chunk(s);
    const uint32_t* label = nullptr;
    for (int y = chunk.begin, resolved = -1; y < chunk.end; ++y) {
      const int band = forest.band_of(y);
      if (band != resolved) label = forest.resolve_labels(chunk, resolved = band);
      Word* row = image.pixels.row(y);
      for_each_segment(background.row(y), forest.run_starts(band), size.width,
                       [&](int begin, int end, int64_t run) {
                         if (run < 0 || label[run] == 0) return;
                         for (int x = begin; x < end; ++x) {
                           row[x / kWordBits] |= Word{1} << (x % kWordBits);
                         }
                       });
    }
  });
}

constexpr int kAlphaComponent = 3;  // index of the alpha component

// The image that is labelled: a frame or a mask, and the first component whose values are used.
struct LabelInput {
  ConstFrame frame;
  int component = 0;
  bool is_mask = false;
  bool is_small = false;  // whether the mask is small, see FrameTask::mask_is_small

  LabelInput(const FrameTask& task, const CcLabelParams& params) : frame(task.in) {
    is_mask = params.source == Source::mask;
    if (is_mask) frame = task.mask;
    is_small = is_mask && task.mask_is_small;
    if (params.source == Source::alpha) component = kAlphaComponent;
  }
};

class ForestBuilder {
 public:
  ForestBuilder(const FrameTask& task, const CcLabelParams& params, const Setup& setup,
                int max_chunks, LabelBuffers& buffers, const Workers& workers)
      : params_(params),
        excluded_value_(task.excluded_value),
        input_(task, params),
        volume_(volume_layout_of(setup, task)),
        spans_{volume_.rows(), volume_.rows()},
        max_chunks_(max_chunks),
        buffers_(buffers),
        workers_(workers) {}

  void build() {
    const bool is_binary = params_.criterion == Criterion::binary && !params_.label_background;
    is_binary ? build_binary() : build_linked();
  }

 private:
  void enlarge();
  void build_binary();
  void build_linked();
  // Returns the bits in which the values of the pixels differ. Returns 0 if there are so many that
  // comparing values is faster than comparing codes, or if codes have no memory.
  uint32_t find_code_bits(const LinkRule& rule) const;
  // Sets the planes of the rows of chunk s: plane k contains the k-th of the bits `code_bits`. Sets
  // the included pixels if a value is excluded.
  void pack_rows(const LinkRule& rule, uint32_t code_bits, int s) const;

  // Computes the foreground bits of rows begin..end - 1 of a small mask. Each row is scaled up to
  // the picture's width.
  void threshold_small_mask(const BitImage& bits, int begin, int end, std::byte* scratch) const;
  // Computes the foreground bits of rows begin..end - 1 of the volume.
  void threshold(const BitImage& bits, int begin, int end, std::byte* scratch) const;
  void threshold(const BitImage& bits, int s) const {
    const RowChunk& chunk = buffers_.forest.chunk(s);
    threshold(bits, chunk.begin, chunk.end, buffers_.links[s].values[0][0]);
  }
  int max_chunks_of(const BinaryImage& /*image*/) const { return max_chunks_; }
  // Without a gap, a thread would read words of rows that another thread writes.
  int max_chunks_of(const LinkedImage& image) const {
    return image.rule.included.gap > 0 ? max_chunks_ : 1;
  }
  // Calls prepare(s) for each chunk s and adds the rows of the chunk to the forest. Then merges the
  // chunks.
  template <class LabelledImage, std::invocable<int> Prepare>
  void add_chunks(const LabelledImage& image, Prepare prepare) {
    RunForest& forest = buffers_.forest;
    forest.reset(volume_, spans_, image.band_rows(), max_chunks_of(image));
    workers_.parallel_for(forest.chunks(), [&](int s) {
      prepare(s);
      add_chunk(image, forest, s, buffers_.links[s]);
    });
    forest.for_each_seam(workers_, [&](int s) { merge_seam(image, forest, s, buffers_.links[s]); });
  }

  const CcLabelParams& params_;
  const std::optional<uint32_t> excluded_value_;
  LabelInput input_;
  VolumeLayout volume_;  // heights are numbers of rows of `buffers_.pixels`
  RowSpans spans_;
  const int max_chunks_;
  LabelBuffers& buffers_;
  const Workers& workers_;
};

void ForestBuilder::threshold_small_mask(const BitImage& bits, int begin, int end,
                                         std::byte* scratch) const {
  const ConstFrame& mask = input_.frame;
  const int width = volume_.slice.width;
  std::array<Word, words_for(65536)> row;
  for (int y = begin; y < end; ++y) {
    pack_at_least(value_row(mask, 0, y, scratch), mask.layout.sample_bytes, mask.width, 1,
                  row.data());
    std::fill_n(bits.row(y), bits.words, 0);
    for_each_run(row.data(), words_for(mask.width), [&](int run_begin, int run_end) {
      set_bits(bits.row(y), first_of(run_begin, mask.width, width),
               first_of(std::min(run_end, mask.width), mask.width, width));
    });
  }
}

void ForestBuilder::threshold(const BitImage& bits, int begin, int end, std::byte* scratch) const {
  if (input_.is_small) return threshold_small_mask(bits, begin, end, scratch);
  const Layout& layout = input_.frame.layout;
  const int rows = volume_.volume_rows();
  for (int row = begin, layer = -1, level = 1; row < end; ++row) {
    if (row / rows != layer) {
      layer = row / rows;
      if (!input_.is_mask) {
        level = threshold_level(threshold_of(params_, layer), layout, input_.frame.color);
      }
    }
    pack_at_least(value_row(input_.frame, input_.component, row % rows, scratch),
                  layout.sample_bytes, volume_.slice.width, level, bits.row(row));
  }
}

// Replaces a small mask by the same mask scaled up to the picture's size. This is required if the
// values of neighbouring pixels are compared.
void ForestBuilder::enlarge() {
  const ConstFrame& mask = input_.frame;
  const Size size = volume_.slice;
  // Allocates memory only for the first frame with a small mask.
  buffers_.full_size_mask.resize(packed_bytes(mask.layout, size));
  const Frame full =
      packed_frame(mask.layout, size, {}, Memory::host, buffers_.full_size_mask.data());
  pick(mask, full,
       {mapping_to_picture(0, size.width, mask.width),
        mapping_to_picture(0, size.height, mask.height)},
       workers_);
  input_.frame = full;
  input_.is_small = false;
}

void ForestBuilder::build_binary() {
  if (input_.is_small) volume_.slice.height = spans_.spans = input_.frame.height;
  const BinaryImage image{buffers_.pixels, volume_, spans_, params_.connectivity};
  const bool fills_holes = params_.fill_holes > 0;
  if (fills_holes) {
    threshold(buffers_.pixels, 0, volume_.rows(), buffers_.links[0].values[0][0]);
    fill_holes(image, params_.fill_holes, buffers_.forest, buffers_.background, max_chunks_,
               buffers_.links, workers_);
  }
  add_chunks(image, [&](int s) {
    if (!fills_holes) threshold(buffers_.pixels, s);
  });
}

uint32_t ForestBuilder::find_code_bits(const LinkRule& rule) const {
  const int bytes = rule.frame.layout.sample_bytes, rows = volume_.rows();
  const bool has_codes = buffers_.codes[0].data != nullptr;
  if (!has_codes || rule.tolerance_level != 1 || rule.channels != 1 || bytes > 2) return 0;
  const auto values = [&](int row, int s) {
    return channel_row(rule.frame, rule.first_channel, row, buffers_.links[s].values[0][0]);
  };
  const std::byte* const first_row = values(0, 0);
  uint32_t first = static_cast<uint8_t>(first_row[0]);
  if (bytes == 2) first |= static_cast<uint32_t>(first_row[1]) << 8;
  // The more neighbours each row has, the more often a code is compared.
  const uint32_t max_planes = params_.connectivity == Connectivity::twenty_six ? kMaxPlanes : 4;
  std::atomic<uint32_t> found = 0;
  const auto too_many = [&] {
    return count_bits(found.load(std::memory_order_relaxed)) > max_planes;
  };
  const int chunks = std::min(max_chunks_, rows);
  workers_.parallel_for(chunks, [&](int s) {
    const auto begin_of = [&](int c) { return static_cast<int>(int64_t{rows} * c / chunks); };
    uint32_t bits = 0;
    for (int row = begin_of(s); row < begin_of(s + 1) && !too_many(); ++row) {
      bits |= find_differing_bits(values(row, s), bytes, volume_.slice.width, first);
      found.fetch_or(bits, std::memory_order_relaxed);
    }
  });
  return too_many() ? 0 : found.load();
}

void ForestBuilder::pack_rows(const LinkRule& rule, uint32_t code_bits, int s) const {
  if (rule.planes == 0 && !excluded_value_) return;
  const int bytes = rule.frame.layout.sample_bytes, width = volume_.slice.width;
  const RowChunk& chunk = buffers_.forest.chunk(s);
  for (int row = chunk.begin; row < chunk.end; ++row) {
    const std::byte* const values =
        channel_row(rule.frame, rule.first_channel, row, buffers_.links[s].values[0][0]);
    if (excluded_value_)
      pack_different(values, bytes, width, *excluded_value_, rule.included.row(row));
    uint32_t bits = code_bits;
    for (int k = 0; k < rule.planes; ++k, bits &= bits - 1) {
      pack_bit(values, bytes, width, lowest_bit(bits), rule.plane[k].row(row));
    }
  }
}

void ForestBuilder::build_linked() {
  if (input_.is_small) enlarge();
  const ConstFrame& frame = input_.frame;
  LinkedImage image{{frame, input_.component}, volume_, params_.connectivity};
  const bool labels_background = params_.criterion == Criterion::binary;
  const bool is_rgb = frame.layout.model == ColorModel::rgb && params_.source == Source::image;
  if (is_rgb) image.rule.channels = 3;
  if (params_.criterion == Criterion::difference && frame.layout.sample_bytes < 4) {
    image.rule.tolerance_level = tolerance_level(params_.tolerance, frame.layout);
  }
  const uint32_t code_bits = labels_background ? 0 : find_code_bits(image.rule);
  image.rule.planes = labels_background ? 1 : static_cast<int>(count_bits(code_bits));
  std::copy_n(labels_background ? &buffers_.background : buffers_.codes, image.rule.planes,
              image.rule.plane);
  image.rule.included = buffers_.pixels;
  if (!excluded_value_) set_all_pixels(buffers_.pixels, volume_.slice.width, volume_.rows());
  add_chunks(image, [&](int s) {
    if (labels_background) return threshold(buffers_.background, s);
    pack_rows(image.rule, code_bits, s);
  });
}

}  // namespace

void build_forest(const FrameTask& task, const CcLabelParams& params, const Setup& setup,
                  int max_chunks, LabelBuffers& buffers, const Workers& workers) {
  ForestBuilder(task, params, setup, max_chunks, buffers, workers).build();
}

}  // namespace regions
