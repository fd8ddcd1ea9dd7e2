// The volumes that the tests of cclabel share, as stacks of pictures.
#pragma once

#include <string>
#include <vector>

#include "core/cclabel/cclabel.hpp"

namespace regions {

inline constexpr Connectivity kSpatial[] = {Connectivity::six, Connectivity::eighteen,
                                            Connectivity::twenty_six};

struct Volume {
  std::string content;
  Size size;  // of a slice
  int slices = 1;
  PixelFormat format = PixelFormat::gray8;
  std::vector<uint8_t> voxels;  // rows without padding

  ConstFrame frame() const;  // the stack
  std::string name() const;  // "noise 61x17x5"
};

// noise: every value at random; clouds: smooth blobs; sparse: 6 % at random; corners: voxels that
// touch by corners or edges alone; helix: a line one voxel thick that visits every other row and
// slice; stairs: walls across x, four voxels along z, four along y, and so on; comb: teeth along z
// that meet in the last slice, broom: in the first one; full; empty.
Volume make_volume(const std::string& content, Size size, int slices,
                   PixelFormat format = PixelFormat::gray8, uint32_t seed = 0);

// All contents at sizes around those of words and tiles.
std::vector<Volume> volume_cases();

// A noise volume of up to so many pixels, rows and slices, how to label it, and a number to choose
// anything else by.
struct RandomVolume {
  Volume volume;
  CcLabelParams params;
  int choice = 0;  // 0..19
};
RandomVolume random_volume(uint32_t seed, Size most, int most_slices);

}  // namespace regions
