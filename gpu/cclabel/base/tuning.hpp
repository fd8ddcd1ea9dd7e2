// Block sizes, as types because kernels take them as template arguments.
#pragma once

namespace regions::cclabel {

// Few blocks: each adds its counts of all digits.
struct SelectBlock {
  static constexpr int threads = 256;
  static constexpr int blocks = 132;
};

// Of bits of first voxels.
struct WordsBlock {
  static constexpr int threads = 1024;  // a word each
};
struct WordBlock {
  static constexpr int threads = 256;
};

}  // namespace regions::cclabel
