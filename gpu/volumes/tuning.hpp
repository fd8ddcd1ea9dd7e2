// Block sizes.
#pragma once

namespace regions::volumes {

struct BandBlock {
  static constexpr int threads = 128;
  // Threads that share the nodes of a word. On an H200, of an earlier form of these kernels, 4 beat
  // 8 by 5 to 15 %, 32 by a factor of 2 and 1 by 5 % at 256^3 of noise, 1 by 10 to 30 % at 128^3.
  static constexpr int parts = 4;
};
struct NumberBlock {
  static constexpr int threads = 1024;  // a word each
};
struct RowBlock {
  static constexpr int threads = 256;
};

}  // namespace regions::volumes
