// Painting frames for windows.
#include "tests/cclabel/sliding_scene.hpp"

#include <algorithm>

namespace regions {
namespace {

constexpr Size kSize = {64, 30};
constexpr int kLarge = 8, kSmall = 7, kMeeting = 30;

// Pixels that each is away from where they touch.
int away(int frame) {
  if (frame < kSceneTouches) return kSceneTouches - frame;
  return std::max(0, frame - kSceneParts + 1);
}

}  // namespace

CcLabelParams sliding_params(int depth) {
  CcLabelParams params;
  params.depth = depth;
  params.sliding = true;
  params.connectivity = Connectivity::twenty_six;
  params.output = CcOutput::none;
  return params;
}

std::vector<Picture> noise_pictures(Size size, int frames, double least) {
  std::vector<Picture> pictures;
  for (int t = 0; t < frames; ++t) {
    Picture picture = make_picture("empty", size);
    for (size_t i = 0; i < size.area(); ++i) {
      const uint32_t value = hash(static_cast<uint32_t>(i), static_cast<uint32_t>(t)) & 255;
      picture.pixels[i] = static_cast<uint8_t>(value >= 255 * least ? value : 0);
    }
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

int scene_left(int frame) { return kMeeting - kLarge - away(frame); }
int scene_right(int frame) { return kMeeting + away(frame); }

std::vector<Picture> scene_pictures() {
  std::vector<Picture> pictures;
  for (int t = 0; t < kSceneFrames; ++t) {
    Picture picture = make_picture("empty", kSize);
    const auto paint = [&](int left, int top, int side, uint8_t gray) {
      for (int y = top; y < top + side; ++y) {
        std::fill_n(picture.pixels.begin() + y * kSize.width + left, side, gray);
      }
    };
    paint(scene_left(t), 10, kLarge, 255);
    paint(scene_right(t), 11, kSmall, 150);
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

std::vector<WindowCase> window_cases() {
  std::vector<WindowCase> cases;
  for (const int depth : {2, 3, 7}) {
    for (const Connectivity connectivity :
         {Connectivity::six, Connectivity::eighteen, Connectivity::twenty_six}) {
      CcLabelParams params = sliding_params(depth);
      params.connectivity = connectivity;
      cases.push_back({params, noise_pictures({37, 21}, 17, 0.8), {}});
      cases.push_back({params, scene_pictures(), {.slots = 3}});
    }
  }
  CcLabelParams params = sliding_params(4);
  params.min_area = 5;
  params.max_area = 60;
  cases.push_back({params, noise_pictures({40, 22}, 13, 0.8), {}});
  cases.push_back({params, noise_pictures({140, 22}, 13, 0.8), {}});
  params.min_area = params.max_area = 0;
  params.criterion = Criterion::difference;
  params.tolerance = 0.15;
  cases.push_back({params, noise_pictures({40, 22}, 9, 0), {.slots = 2}});
  return cases;
}

std::vector<ConstFrame> frames_of(const std::vector<Picture>& pictures) {
  std::vector<ConstFrame> frames;
  for (const Picture& picture : pictures) frames.push_back(picture.frame());
  return frames;
}

}  // namespace regions
