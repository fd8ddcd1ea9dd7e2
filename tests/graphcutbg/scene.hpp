// Small clips with a known foreground, and running graphcutbg over them.
#pragma once

#include <memory>
#include <vector>

#include "core/graphcutbg/graphcutbg.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {

// A textured background with noise; a block of other colours moves over it, unless it is `empty`.
struct Clip {
  Size size{64, 48};
  PixelFormat format = PixelFormat::rgb;
  Colorimetry color;
  int padding = 0;
  bool empty = false;
  int noise = 3;    // levels, either way
  double gain = 1;  // of the light
  uint32_t seed = 1;
  bool other = false;  // another place altogether

  GuardedFrame frame(int i) const;
  // Whether the block covers the pixel in frame i.
  bool covers(int i, int x, int y) const;
};

// One frame's outcome.
struct Shot {
  std::vector<uint8_t> mask;
  GuardedFrame out;
  GraphCutResult report;
  bool intact = false;
};

// What runs frames, one after the other, on the CPU.
class Camera {
 public:
  Camera(const Clip& clip, const GraphCutBgParams& params, int threads = 2, int slots = 1);
  GraphCutBg& algorithm() { return *algorithm_; }
  Shot shoot(const ConstFrame& frame, const ConstFrame& mask = {});
  Shot shoot(int i) { return shoot(clip.frame(i).frame()); }

  Clip clip;
  GraphCutBgParams params;

 private:
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<GraphCutBg> algorithm_;
  std::unique_ptr<Queue> queue_;
};

std::unique_ptr<GraphCutBg> as_graph_cut(std::unique_ptr<Algorithm<GraphCutBgParams>> algorithm);
// The format of the output picture for these parameters.
PixelFormat output_format(const GraphCutBgParams& params, PixelFormat in);

// How many pixels of a mask are not what the clip's block says.
int wrong_pixels(const Clip& clip, int i, const std::vector<uint8_t>& mask);

}  // namespace regions
