// The cases that both backends are tested with, as data.
#pragma once

#include <string>
#include <vector>

#include "core/slicsuperpixel/clusters.hpp"
#include "tests/pictures/guarded.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {

struct SlicCase {
  std::string content;  // of make_picture, or "scene" or "noise"
  Size size;
  std::vector<std::string> settings = {};  // "name=value"
  PixelFormat format = PixelFormat::rgb;

  std::string name() const;
  SlicParams params() const;
  // `padding` bytes behind each row.
  GuardedFrame frame(int padding = 0) const;
};

// Small enough for the oracle: every content, parameter and format, sizes around cells and patches.
const std::vector<SlicCase>& small_cases();
// For comparing backends: frames of video sizes, and many pieces.
const std::vector<SlicCase>& large_cases();

}  // namespace regions
