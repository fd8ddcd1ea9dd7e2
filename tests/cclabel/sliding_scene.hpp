// Frames for windows: noise, and two squares that meet, touch and part.
#pragma once

#include "tests/cclabel/sliding_run.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {

CcLabelParams sliding_params(int depth);

// Every pixel at random; below `least` (of 1) it is 0.
std::vector<Picture> noise_pictures(Size size, int frames, double least);

// A white square of 8 and a gray one of 7 pixels come from left and right until they touch by a
// side, and go back the same way: by their motion alone they might as well have passed each other.
inline constexpr int kSceneFrames = 30;
inline constexpr int kSceneTouches = 10;  // the first frame in which they do
inline constexpr int kSceneParts = 14;    // and the first in which they do no more
std::vector<Picture> scene_pictures();
// Left sides of the two.
int scene_left(int frame);
int scene_right(int frame);

// Every connectivity at several depths, filters and criteria: what all backends are asked.
struct WindowCase {
  CcLabelParams params;
  std::vector<Picture> pictures;
  WindowOptions options;
};
std::vector<WindowCase> window_cases();

std::vector<ConstFrame> frames_of(const std::vector<Picture>& pictures);

}  // namespace regions
