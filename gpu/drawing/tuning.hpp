// Numbers of the drawing launches.
#pragma once

namespace regions::drawing {

struct Preparing {
  static constexpr int threads = 256;
  // Blocks that share the records, for each part of a region's ink. Few records leave most idle,
  // one large box keeps five busy.
  static constexpr int stampers = 128;
  // Pixels that one of these blocks stamps at most; what is left is a crowd's.
  static constexpr size_t stamped_pixels = 1 << 18;
  static constexpr int edge_rows = 16;    // a warp finds the edges of 32 columns of so many rows
  static constexpr int copy_vectors = 4;  // a thread copies so many times 16 bytes
};

}  // namespace regions::drawing
