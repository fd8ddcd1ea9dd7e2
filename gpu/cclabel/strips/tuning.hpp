// Strips of rows, as types because kernels take them as template arguments.
#pragma once

namespace regions::cclabel {

// Blocks of a cluster, one a strip: the most that devices of compute capability 9.0 have.
inline constexpr int kStrips = 16;

// A strip of whole rows, `words` x 32 pixels wide, and one row above them, in a block's memory.
template <int words_, int rows_>
struct StripShape {
  static constexpr int words = words_;
  static constexpr int own_rows = rows_;
  static constexpr int rows = rows_ + 1;
  static constexpr int threads = 1024;
  // Components that have sums in shared memory, as many as there is room for. Noise has up to 2,700
  // in a strip with 4 neighbours, 1,400 with 8.
  static constexpr int byte_components = 3392;    // of a value of a byte
  static constexpr int sample_components = 2048;  // of up to three of 16 bits
  static constexpr int width = 32 * words;
  static constexpr int height = kStrips * own_rows;  // most of a picture
  static constexpr int joined = 2816;                // see JoinedRuns; noise has up to 2,750
  static constexpr int all_words = words * rows;
  static constexpr int runs = (width / 2 * rows + 31) / 32 * 32;  // a run takes a gap behind it
  static_assert(width * rows <= 1 << 16, "pixels of a strip are known by 16 bits");
  static_assert(runs / 32 <= threads, "a thread ranks one word of roots");
};

// Against tiles on an H100, labels of 8 neighbours, geomean of 21 contents by graph replay,
// 2026-11-25: 512x512 17.7 for 22.0 us, 640x480 18.9 for 22.1; with the table 24.7 for 34.5
// and 26.6 for 34.6. Strips of 1024x768 (32 words, 48 rows) fit, but 16 multiprocessors were too
// few for them: 29.4 for 25.3. 512 threads took a quarter longer in noise.
using NarrowStrip = StripShape<16, 32>;  // to 512x512
using WideStrip = StripShape<20, 32>;    // to 640x512

}  // namespace regions::cclabel
