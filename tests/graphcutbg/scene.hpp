// Small clips with a known foreground, and a camera that runs graphcutbg on them on any backend.
#pragma once

#include <memory>
#include <vector>

#include "core/graphcutbg/graphcutbg.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {

// A textured background with noise. Unless the clip is `empty`, a block of other colours moves
// across it from frame 1 on.
struct Clip {
  Size size{64, 48};
  PixelFormat format = PixelFormat::rgb;
  Colorimetry color;
  int padding = 0;
  bool empty = false;
  int noise = 3;    // maximum deviation in levels
  double gain = 1;  // brightness of the scene
  uint32_t seed = 1;
  bool other = false;  // another scene

  GuardedFrame frame(int i) const;
  // Returns whether the block covers the pixel in frame i.
  bool covers(int i, int x, int y) const;
};

// The results of one frame.
struct Shot {
  std::vector<uint8_t> mask;
  GuardedFrame out;
  GraphCutResult report;
  bool intact = false;  // nothing was written outside the pictures
  // With source=boxes: the label of each pixel, and the records.
  std::vector<uint32_t> labels;
  std::vector<Region> records;
};

// Runs the frames of a clip one after another.
class Camera {
 public:
  Camera(const Clip& clip, const GraphCutBgParams& params, int cpu_threads = 2);
  Camera(const Clip& clip, const GraphCutBgParams& params, std::shared_ptr<Backend> backend);
  GraphCutBg& algorithm() { return *algorithm_; }
  // `in_place`: the output picture is the input picture.
  Shot shoot(const ConstFrame& frame, const ConstFrame& mask = {}, bool in_place = false);
  Shot shoot(int i) { return shoot(clip.frame(i).frame()); }
  // Runs frames first..end - 1 and returns the last one.
  Shot shoot(int first, int end);

  Clip clip;
  GraphCutBgParams params;
  std::vector<Region> boxes;  // attached to the next frames

 private:
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<GraphCutBg> algorithm_;
  std::unique_ptr<Queue> queue_;
};

GraphCutBgParams params_with(GraphCutOutput output);
std::unique_ptr<GraphCutBg> make_graph_cut(const std::shared_ptr<Backend>& backend);

// The number of pixels whose mask differs from the clip's block.
int wrong_pixels(const Clip& clip, int i, const std::vector<uint8_t>& mask);

}  // namespace regions
