// Reads rows of pixels as plain arrays, thresholds them to bits, and lists runs of equal labels.
#pragma once

#include <algorithm>
#include <concepts>

#include "core/algorithm.hpp"
#include "core/frame.hpp"
#include "core/resampling.hpp"
#include "core/workers.hpp"
#include "cpu/simd.hpp"

namespace regions {

// Returns the values of component c in row y. Each pixel has one value, so samples that several
// pixels share are repeated. The values are uint8_t, or uint16_t for samples of 2 bytes, or
// uint32_t for the format labels32. The result points into the frame if the values are contiguous
// there, else to `scratch`, which has memory for one row of uint32_t.
const std::byte* channel_row(const ConstFrame& frame, int c, int y, std::byte* scratch);

// Returns the values of row y that are compared with a threshold: luma of RGB frames, else
// component c. The values have the format of channel_row().
const std::byte* value_row(const ConstFrame& frame, int c, int y, std::byte* scratch);

// Sets bit x if the value of pixel x is >= level, and clears it otherwise. `bytes` is the size of a
// value: 1, 2 or 4.
void pack_at_least(const std::byte* values, int bytes, int width, int level, Word* bits);

// Sets bit x if the value of pixel x differs from `value`, and clears it otherwise. `bytes` is the
// size of a value: 1 or 2.
void pack_different(const std::byte* values, int bytes, int width, uint32_t value, Word* bits);

// Sets bit x if bit `bit` of the value of pixel x is set, and clears it otherwise. `bytes` is the
// size of a value: 1 or 2.
void pack_bit(const std::byte* values, int bytes, int width, int bit, Word* bits);

// Returns the bits in which any of `width` values differs from `value`. `bytes` is the size of a
// value: 1 or 2.
uint32_t find_differing_bits(const std::byte* values, int bytes, int width, uint32_t value);

// Maps each row of a binary image to the picture rows that it represents: one row, or several
// consecutive rows if the bits come from a mask that is smaller than the picture.
struct RowSpans {
  int spans = 0;  // number of rows of the binary image
  int rows = 0;   // number of rows of the picture, at least `spans`

  // The picture rows begin(span)..end(span) - 1 show row `span` of the binary image.
  int begin(int span) const { return spans == rows ? span : first_of(span, spans, rows); }
  int end(int span) const { return begin(span + 1); }
  int height(int span) const { return end(span) - begin(span); }
  int span_of(int row) const { return spans == rows ? row : cell_of(row, spans, rows); }

  bool operator==(const RowSpans&) const = default;
};

// Calls visit(label, begin, end) for each maximal run of equal labels in a row, label 0 included.
// The run has the pixels begin..end - 1.
template <std::invocable<uint32_t, int, int> Visit>
void for_each_label_run(const uint32_t* row, int width, Visit visit) {
  for (int begin = 0, end = 0; begin < width; begin = end) {
    const uint32_t label = row[begin];
    const auto differs = [&](uint32_t value) { return value != label; };
    end = static_cast<int>(std::find_if(row + begin + 1, row + width, differs) - row);
    visit(label, begin, end);
  }
}

// Lists the pixels of regions as runs, sorted by label.
class RunList {
 public:
  // Allocates workspace for the setup's max_runs and max_regions.
  void allocate(Backend& backend, const Setup& setup);

  // Lists the runs of the labels 1..table.capacity in table.runs, but at most table.run_capacity
  // runs. Writes the number of all these runs to table.run_total. The runs are sorted by label, and
  // the runs of one label are in raster order.
  void fill(ConstLabelMap labels, const RegionTable& table, const Workers& workers) const;

 private:
  Block listed_;  // PixelRun[max_runs], in raster order
  Block starts_;  // uint32_t[max_regions + 1], index of each label's first run in the sorted list
};

}  // namespace regions
