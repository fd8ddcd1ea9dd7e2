// Test cases of superpixels as data, for all backends.
#pragma once

#include <string>
#include <vector>

#include "core/slicsuperpixel/clusters.hpp"
#include "tests/pictures/guarded.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {

struct SlicCase {
  std::string content;  // for make_picture(), or "scene" or "noise"
  Size size;
  std::vector<std::string> settings = {};  // "name=value"
  PixelFormat format = PixelFormat::rgb;

  std::string name() const;
  SlicParams params() const;
  // `padding`: bytes after each row.
  GuardedFrame frame(int padding = 0) const;
};

// Cases for the oracle: every content, parameter and format, and sizes around cells and patches.
const std::vector<SlicCase>& small_cases();
// Cases for comparing backends: frames of video sizes, and many fragments.
const std::vector<SlicCase>& large_cases();

// A window of `size` at column `x` of the scene, or of another scene if `cut`.
GuardedFrame panned_frame(Size size, int x, bool cut = false);

}  // namespace regions
