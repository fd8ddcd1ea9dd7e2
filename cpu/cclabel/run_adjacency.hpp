// Finds where runs begin and which runs of two rows touch. The results are rows of bits. The images
// are binary images, or linked images: neighbouring pixels are linked if their values are similar.
//
// He, Chao, Suzuki: "A run-based two-scan labeling algorithm", IEEE Trans. Image Processing 17(5),
// 2008. Here rows are bits: an adjacency of two runs is one bit, and the index of a run is a
// population count.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "cpu/simd.hpp"

namespace regions {

// Stores which runs of a row touch runs of an earlier row. "The run at x" is the last run of a row
// that starts at or before pixel x. If bit x of `up` is set, the run at x of the row touches the
// run at x of the earlier row. Bit x of `up_left` refers to the run at x - 1 of the earlier row,
// and bit x of `up_right` to the run at x + 1. At least one bit is set for each pair of runs that
// touch.
struct RunAdjacency {
  const Word* up = nullptr;
  const Word* up_left = nullptr;   // null: no bit is set
  const Word* up_right = nullptr;  // null: no bit is set
};

// Which pixels of two adjacent rows are neighbours: pixels in the same column (straight), or also
// pixels in adjacent columns (diagonal).
enum class Adjacency : uint8_t { straight, diagonal };

// find_run_starts() and find_adjacency() process binary images. A band has one or two rows, see
// run_forest.hpp.

// Sets the bits of the first pixels of a band's runs and clears all others. `lower` is null if the
// band has one row.
void find_run_starts(const Word* upper, const Word* lower, int words, Word* starts);

// Sets in `up` one bit for each pair of touching runs of `row` and `above`. `above` is a row of an
// earlier band. `starts` and `starts_above` are the run starts of the two bands.
void find_adjacency(Adjacency adjacency, const Word* row, const Word* above, const Word* starts,
                    const Word* starts_above, int words, Word* up);

// The rest of this file is for linked images.

inline constexpr int kMaxPlanes = 7;  // maximum number of bits of a pixel's code
// Links are computed in blocks of this many words, except in rows of one or two words.
inline constexpr int kWordBlock = 4;
constexpr int whole_blocks(int words) {
  return words < 3 ? words : (words + kWordBlock - 1) / kWordBlock * kWordBlock;
}
// Returns the gap after the rows of a BitImage, see BitImage. The words of the last block, one word
// more and one word before the row are read, too; their values do not matter. With this gap, no row
// of another thread is read.
constexpr int gap_for_links(int words) { return whole_blocks(words) + 1 - words; }

// Defines which neighbouring pixels are linked.
struct LinkRule {
  ConstFrame frame;
  int first_channel = 0;
  int channels = 1;
  // Pixels are linked if their difference, the sum of the absolute differences of the channels, is
  // less than this level (see tolerance_level()). 1: only equal pixels are linked.
  int tolerance_level = 1;
  // The code of each pixel: one bit per plane. If there are planes, pixels are linked if their
  // codes are equal, and the frame is not read.
  BitImage plane[kMaxPlanes];
  int planes = 0;
  // The pixels that belong to a region. All others have the same value and are not linked.
  BitImage included;
};

// Buffers of one thread for the rows that are compared. A "buffer row" is an index below kRows.
struct LinkBuffers {
  static constexpr int kRows = 3;
  // [row][channel], points into the frame or to `values`; or [row][plane], points into a plane.
  const std::byte* row[kRows][kMaxPlanes] = {};
  std::byte* values[kRows][3] = {};  // [row][channel], memory for one row of values
  const Word* included[kRows] = {};  // [row], the bits of the included pixels
  uint8_t* flags = nullptr;          // [width], 1 if a pixel is linked to the compared pixel
  // [same column, left, right][words], all links of a row to an earlier row.
  Word* links[3] = {};
  Word* adjacency[3] = {};  // [up, up_left, up_right][words], the bits of a RunAdjacency
  // [same column, left, right][words], links to the rows that determine which links are omitted,
  // see Pruning.
  Word* linked[3] = {};
};

// Loads row y of the image into buffer row `i`.
void load_link_row(const LinkRule& rule, int y, int i, LinkBuffers& buffers);
// Sets the bits of the first pixels of the runs in buffer row `i`.
void find_link_starts(const LinkRule& rule, int i, const LinkBuffers& buffers, Word* starts);

// The use of LinkBuffers::linked by find_link_adjacency(). Omitting links is correct if links are
// transitive and if the rows of `linked` are adjacent to row `above`.
enum class Pruning : uint8_t {
  none,   // nothing
  first,  // sets it to the links that are found
  use,    // omits links to voxels that are neighbours of a voxel in `linked`
  extend  // does the same, then adds the links that are found
};

// Finds the adjacency of buffer row `i` and buffer row `above`, which contains a row of an earlier
// band. Omits some redundant bits, if other bits already connect the same two runs.
RunAdjacency find_link_adjacency(const LinkRule& rule, Adjacency adjacency, int i, int above,
                                 const Word* starts, const Word* starts_above,
                                 const LinkBuffers& buffers, Pruning pruning = Pruning::none);

}  // namespace regions
