// A forest over the runs of a picture: nodes are runs, trees are regions. Strips of rows are built
// by several threads at once, then joined at their seams, then the roots are numbered.
//
// He, Chao, Suzuki: "A run-based two-scan labeling algorithm", IEEE Trans. Image Processing 17(5),
// 2008, on rows of bits: a contact of two runs is one bit, and a run's index is a population count.
//
// Rows are taken in bands. With 8-connectivity a binary picture has bands of two rows, because the
// pixels of two rows that lie in one run of (upper | lower) are connected anyway; else of one row.
// A volume is the rows of its slices one after another: bands are counted through, none reaches
// into the next slice, and strips are whole slices.
//
// Rows that are enlarged from one row of a smaller mask are one row here.
#pragma once

#include "core/backend.hpp"
#include "core/cclabel/cclabel.hpp"
#include "core/stack.hpp"
#include "core/workers.hpp"
#include "cpu/bits.hpp"
#include "cpu/row_spans.hpp"

namespace regions {

// Where the runs of a band touch those of an earlier one, say the band above: bit x of `up` joins
// the runs that hold column x in both; `up_left` the run at x and the other's at x - 1; `up_right`
// likewise.
struct Contacts {
  const Word* up = nullptr;
  const Word* up_left = nullptr;   // may be null
  const Word* up_right = nullptr;  // may be null
};

// On cache lines of its own, as the thread that builds a strip writes it band by band.
struct alignas(64) Strip {
  int begin = 0;  // rows
  int end = 0;
  int end_band = 0;
  uint32_t first_run = 0;
  uint32_t runs = 0;
  uint32_t births = 0;   // runs that touched no earlier run
  uint32_t regions = 0;  // regions whose first run lies here
  uint32_t base = 0;     // regions of the strips before
  uint32_t lost = 0;     // roots lost at the seam with the strip before
};

// Which regions are kept. The highest bit of an area says that the region was chosen.
struct AreaRange {
  static constexpr uint64_t kChosen = uint64_t{1} << 63;

  uint64_t min = 0;
  uint64_t max = kChosen - 1;
  bool chosen_only = false;
  bool contains(uint64_t area) const {
    const uint64_t pixels = area & ~kChosen;
    return pixels >= min && pixels <= max && (!chosen_only || area != pixels);
  }
};

class Forest {
 public:
  static constexpr int kMaxStrips = 64;

  // Workspace for stacks up to this one.
  void allocate(Backend& backend, const Stack& most);

  // Starts anew, with a stack of rows of bits that stand for `spans`. Strips are whole bands, or,
  // of several slices, whole slices; there are at most `strips`.
  void begin(const Stack& stack, const RowSpans& spans, int band_rows, int strips);
  int strips() const { return strip_count_; }
  Strip& strip(int s) { return strip_[s]; }
  const Stack& stack() const { return stack_; }
  const RowSpans& spans() const { return spans_; }
  int band_of(int row) const {
    if (stack_.depth() == 1) return row / band_rows_;
    const int k = row / stack_.slice.height;
    return k * bands_ + (row - k * stack_.slice.height) / band_rows_;
  }
  int bands_of_slice() const { return bands_; }
  // First pixels of the runs of a band; to be filled before begin_band(band).
  Word* starts(int band) const { return starts_.row(band); }

  // Adds the next band of a strip: begins it, unites it with earlier ones of the strip, ends it.
  void begin_band(Strip& strip, int band);
  void unite(int band, int earlier, const Contacts& contacts);
  void end_band(Strip& strip, int band);
  // Regions begin in raster order of their first pixels: births of a band of two rows are sorted
  // so that those with a pixel in the upper row come first.
  void sort_births(Strip& strip, int band, uint32_t births_before, const Word* upper,
                   const Word* lower);
  // Joins a band of strip s to one of the strip before.
  void join_seam(int s, int band, int earlier, const Contacts& contacts);
  // Calls join(s) for the seam of every strip with the one before: of neighbours first, then of
  // pairs, then of fours, so that those which run at once change different trees.
  template <std::invocable<int> Join>
  void for_each_seam(const Workers& workers, Join join) const {
    for (int step = 1; step < strip_count_; step *= 2) {
      const int seams = (strip_count_ - step + 2 * step - 1) / (2 * step);
      workers.parallel_for(seams, [&](int k) { join(step + 2 * step * k); });
    }
  }

  // Areas, where filters want them: clear them, add each run's pixels, then (all seams being
  // joined) fold those of joined strips.
  void clear_areas();
  void add_area(const Strip& strip, int band, int64_t run, uint64_t pixels) {
    const uint32_t node = first_run_[band] + static_cast<uint32_t>(run);
    area_[local_root(strip, node)] += pixels;
  }
  void fold_areas();
  // Chooses, for AreaRange, the regions of the seeds. Areas are known.
  void choose(const BitImage& pixels, const Seeds& seeds);

  // Numbers the regions 1..n in raster order and returns n. Where filters are given, areas must be
  // known; regions outside the range get label 0.
  uint32_t number(const Workers& workers, const AreaRange* kept);
  // Keeps the `limit` largest of more regions (areas must be known), ties to the first, and numbers
  // them anew.
  void drop_smallest(uint32_t limit);
  // Makes strips independent of each other again; of the members above none may be called after it.
  void settle(const Workers& workers);
  // Labels of the runs of a band, in order; bands of a strip are resolved from top to bottom.
  const uint32_t* resolve(const Strip& strip, int band);
  uint32_t runs(const Strip& strip, int band) const {
    const bool last = band + 1 == strip.end_band;
    return (last ? strip.first_run + strip.runs : first_run_[band + 1]) - first_run_[band];
  }

 private:
  uint32_t find(uint32_t node) const {
    while (parent_[node] != node) node = parent_[node];
    return node;
  }
  uint32_t local_root(const Strip& strip, uint32_t node) const {
    while (parent_[node] != node && parent_[node] >= strip.first_run) node = parent_[node];
    return node;
  }

  // A seam joins fewer roots than the two rows or slices that meet there have runs. Each row or
  // slice has room for twice its runs, so that its two seams do not share memory.
  uint32_t* lost_of(const Strip& strip) const {
    return lost_ + 2 * (static_cast<size_t>(strip.first_run) - seam_);
  }
  template <std::invocable<uint32_t> F>
  void for_each_lost(const Strip& strip, F f) const {
    const uint32_t* lost = strip.lost ? lost_of(strip) : nullptr;
    for (uint32_t k = 0; k < strip.lost; ++k) f(lost[k]);
  }

  uint32_t root_of(const Strip& strip, uint32_t region) const {
    return birth_[strip.first_run + region];
  }

  Stack stack_;
  RowSpans spans_;
  int band_rows_ = 1;
  int bands_ = 1;  // of a slice
  int strip_count_ = 0;
  Strip strip_[kMaxStrips];
  BitImage starts_;      // [bands]
  uint32_t* first_run_;  // [bands + 1]
  uint32_t* parent_;     // [runs], at most the run itself
  uint32_t* label_;      // [runs]
  uint32_t* birth_;      // [runs], of each strip from its first_run on; later the regions' roots
  uint64_t* area_;       // [runs], of roots
  uint32_t* lost_;       // [2 runs], of each strip: roots that were joined to another strip's
  size_t seam_ = 0;      // pixels of a row, or, of several slices, of a slice
  Block memory_;
};

}  // namespace regions
