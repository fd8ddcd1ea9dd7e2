// Pictures, volumes and windows with parameters, for the tests of cclabel on all backends.
#pragma once

#include <string>
#include <vector>

#include "core/cclabel/cclabel.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {

inline constexpr Connectivity kFlat[] = {Connectivity::four, Connectivity::eight};
inline constexpr Connectivity kSpatial[] = {Connectivity::six, Connectivity::eighteen,
                                            Connectivity::twenty_six};
inline constexpr Criterion kCriteria[] = {Criterion::binary, Criterion::equal,
                                          Criterion::difference};

std::vector<ConstFrame> frames_of(const std::vector<Picture>& pictures);

// A picture and parameters with random seeds: inside regions, on background and outside the
// picture. Some cases have filters.
struct SeededCase {
  std::string content;
  Size size;
  CcLabelParams params;
};
SeededCase seeded_case(uint32_t seed);

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

// All contents at sizes around words and tiles.
std::vector<Volume> volume_cases();

// A noise volume of at most this size, its parameters, and a random number for other choices.
struct RandomVolume {
  Volume volume;
  CcLabelParams params;
  int choice = 0;  // 0..19
};
RandomVolume random_volume(uint32_t seed, Size most, int most_slices);

// Parameters of a sliding window without output picture.
CcLabelParams window_params(int depth);

// Random pixels; values below `least` (of 1) become 0.
std::vector<Picture> noise_pictures(Size size, int frames, double least);

// A white square of 8 and a gray one of 7 pixels come from left and right until they share a side,
// and return the same way. Motion alone cannot tell whether they passed each other.
inline constexpr int kMeetingFrames = 30;
inline constexpr int kMeetingTouches = 10;  // first frame in which the squares touch
inline constexpr int kMeetingParts = 14;    // first frame in which they no longer touch
std::vector<Picture> meeting_pictures();
// Left sides of the two squares.
int meeting_left(int frame);
int meeting_right(int frame);

// Windows of all connectivities, at several depths, with filters and criteria.
struct WindowCase {
  CcLabelParams params;
  std::vector<Picture> pictures;
  int slots = 1;
};
std::vector<WindowCase> window_cases();

}  // namespace regions
