// Block sizes.
#pragma once

namespace regions::volumes {

struct BandBlock {
  static constexpr int threads = 128;
};
struct NumberBlock {
  static constexpr int threads = 1024;  // four words each
};
struct RowBlock {
  static constexpr int threads = 256;
};

}  // namespace regions::volumes
