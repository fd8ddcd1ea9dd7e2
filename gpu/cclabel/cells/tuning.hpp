// Block sizes.
#pragma once

namespace regions::cells {

struct CellBlock {
  static constexpr int threads = 256;
};
struct NumberBlock {
  static constexpr int threads = 1024;  // a word each
};
}  // namespace regions::cells
