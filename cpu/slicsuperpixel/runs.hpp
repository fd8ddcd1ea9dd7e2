// Rows of labels as runs, and which labels touch.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "core/image.hpp"
#include "cpu/slicsuperpixel/assign.hpp"

namespace regions {

// Pixels of one label side by side.
struct Run {
  uint32_t label;
  uint16_t x, y;
  uint32_t length;
  uint32_t color[3];  // sums of component + 128
};

// Labels of two pixels side by side, or one above the other.
struct Contact {
  uint32_t a, b;
};

// What a strip of rows holds: its runs in raster order, and all pairs of labels that touch within
// it or along the row above. A pair may be listed many times.
struct PieceStrip {
  static constexpr int kMax = 64;  // of a picture
  std::span<Run> runs;
  std::span<Contact> contacts;
};

// Calls visit(run) for the runs of all strips in raster order.
template <std::invocable<const Run&> Visit>
void for_each_run(std::span<const PieceStrip> strips, Visit visit) {
  for (const PieceStrip& strip : strips) {
    for (const Run& run : strip.runs) visit(run);
  }
}

inline constexpr size_t kMaxContacts = 2;  // a pixel
size_t run_scratch_bytes(int width);

// Finds the runs and contacts of rows begin..end-1, a pixel's at most a run.
PieceStrip find_runs(ConstLabelMap labels, const ColorPlanes& colors, int begin, int end, Run* runs,
                     Contact* contacts, std::byte* scratch);

// Sums the colours of runs anew.
void sum_colors(const ColorPlanes& colors, std::span<Run> runs);

}  // namespace regions
