// Making pictures, volumes and windows.
#include "tests/cclabel/scenes.hpp"

#include <algorithm>
#include <cmath>

namespace regions {
namespace {

// The value of a voxel, 0..255.
int gray_at(const std::string& content, Size size, int slices, int x, int y, int z, uint32_t seed) {
  const auto noise = [&](int cx, int cy, int cz) {
    const auto key = static_cast<uint32_t>(cz * 4099 + cy * 65 + 7);
    return static_cast<int>(hash(static_cast<uint32_t>(cx), key, seed + 3) & 255);
  };
  if (content == "noise") return noise(x, y, z);
  if (content == "sparse") return noise(x, y, z) < 15 ? 255 : 0;
  if (content == "full") return 255;
  if (content == "corners") return (x + y) % 2 == 0 && (y + z) % 2 == 0 ? 255 : 0;
  if (content == "comb" || content == "broom") {
    const int joined = content == "comb" ? slices - 1 : 0;
    return z == joined || (x % 2 == 0 && y % 2 == 0) ? 255 : 0;
  }
  if (content == "walls") {  // parallel, joined by the last row
    return x % 2 == 0 || (y == size.height - 1 && z == slices - 1) ? 255 : 0;
  }
  if (content == "stairs") {  // up and down blocks: four along z, four along y, and so on
    const bool along_z = y % 4 == 0 && z >= y && z <= y + 4;
    return along_z || (z % 4 == 0 && y <= z && y >= z - 4) ? 255 : 0;
  }
  if (content == "helix") {  // along x, then y, then z, always back and forth
    if (y % 2 == 0 && z % 2 == 0) return 255;
    const bool turns_y = z % 2 == 0 && x == (y % 4 == 1 ? size.width - 1 : 0);
    const int last_y = (size.height - 1) / 2 * 2;
    const bool turns_z = z % 2 == 1 && x == 0 && y == (z % 4 == 1 ? last_y : 0);
    return turns_y || turns_z ? 255 : 0;
  }
  if (content == "clouds") {  // trilinear between noise every 6 voxels
    double sum = 0;
    for (int k = 0; k < 8; ++k) {
      const int cx = x / 6 + k % 2, cy = y / 6 + k / 2 % 2, cz = z / 6 + k / 4;
      const double wx = 1 - std::abs(x / 6.0 - cx), wy = 1 - std::abs(y / 6.0 - cy);
      const double wz = 1 - std::abs(z / 6.0 - cz);
      sum += wx * wy * wz * noise(cx, cy, cz);
    }
    return static_cast<int>(sum);
  }
  return 0;
}

constexpr Size kMeetingSize = {64, 30};
constexpr int kLarge = 8, kSmall = 7, kMiddle = 30;

// Pixels that each is away from where they touch.
int away(int frame) {
  if (frame < kMeetingTouches) return kMeetingTouches - frame;
  return std::max(0, frame - kMeetingParts + 1);
}

}  // namespace

std::vector<ConstFrame> frames_of(const std::vector<Picture>& pictures) {
  std::vector<ConstFrame> frames;
  for (const Picture& picture : pictures) frames.push_back(picture.frame());
  return frames;
}

SeededCase seeded_case(uint32_t seed) {
  const auto draw = [&](uint32_t what, int limit) {
    return static_cast<int>(hash(seed, what) % static_cast<uint32_t>(limit));
  };
  const char* const contents[] = {"rand_g1_d40", "rand_g4_d60", "smooth", "maze", "clouds", "full"};
  SeededCase made;
  made.content = contents[draw(1, 6)];
  made.size = {1 + draw(2, 300), 1 + draw(3, 120)};
  CcLabelParams& params = made.params;
  params.criterion = static_cast<Criterion>(draw(4, 3));
  params.connectivity = draw(5, 2) == 0 ? Connectivity::four : Connectivity::eight;
  params.tolerance = 0.03;
  params.min_area = draw(6, 3) == 0 ? draw(7, 20) : 0;
  params.max_area = draw(8, 3) == 0 ? 1 + draw(9, 60) : 0;
  params.fill_holes = draw(10, 3) == 0 ? draw(11, 30) : 0;
  std::vector<double> points;
  const int count = 1 + draw(12, draw(13, 4) == 0 ? Seeds::kMax : 3);
  for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
    points.push_back(draw(20 + 2 * i, made.size.width + 3) + 0.75);  // is truncated
    points.push_back(draw(21 + 2 * i, made.size.height + 3) + 0.25);
  }
  params.seeds = points;
  return made;
}

ConstFrame Volume::frame() const {
  const Layout& layout = layout_of(format);
  ConstFrame frame;
  frame.plane[0] = reinterpret_cast<const std::byte*>(voxels.data());
  frame.pitch[0] = static_cast<ptrdiff_t>(size.width) * layout.component[0].step;
  frame.width = size.width;
  frame.height = size.height * slices;
  frame.layout = layout;
  return frame;
}

std::string Volume::name() const {
  return content + " " + std::to_string(size.width) + "x" + std::to_string(size.height) + "x" +
         std::to_string(slices) + " " + std::string(name_of(format));
}

Volume make_volume(const std::string& content, Size size, int slices, PixelFormat format,
                   uint32_t seed) {
  Volume volume{content, size, slices, format, {}};
  const Layout& layout = layout_of(format);
  for (int z = 0; z < slices; ++z) {
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const int gray = gray_at(content, size, slices, x, y, z, seed);
        for (int b = 0; b < layout.component[0].step; ++b) {
          // Different bytes, so that swapped channels are noticed.
          const int value = layout.model == ColorModel::gray ? gray : (gray + 40 * b) & 255;
          volume.voxels.push_back(static_cast<uint8_t>(value));
        }
      }
    }
  }
  return volume;
}

std::vector<Volume> volume_cases() {
  std::vector<Volume> cases;
  struct Extent {
    Size size;
    int slices;
  };
  for (const auto& [size, slices] :
       {Extent{{1, 1}, 1}, Extent{{1, 1}, 9}, Extent{{1, 19}, 9}, Extent{{67, 1}, 5},
        Extent{{2, 2}, 2}, Extent{{31, 7}, 8}, Extent{{64, 8}, 8}, Extent{{65, 9}, 9},
        Extent{{127, 15}, 7}, Extent{{129, 17}, 17}, Extent{{40, 33}, 34}}) {
    for (const char* content : {"noise", "clouds", "sparse", "corners", "comb", "broom", "walls",
                                "helix", "full", "empty"}) {
      cases.push_back(make_volume(content, size, slices));
    }
  }
  return cases;
}

RandomVolume random_volume(uint32_t seed, Size most, int most_slices) {
  const auto draw = [&](uint32_t what, int limit) {
    return static_cast<int>(hash(seed, what) % static_cast<uint32_t>(limit));
  };
  RandomVolume made;
  made.volume = make_volume("noise", {1 + draw(1, most.width), 1 + draw(2, most.height)},
                            1 + draw(3, most_slices), PixelFormat::gray8, seed);
  CcLabelParams& params = made.params;
  params.connectivity = kSpatial[draw(4, 3)];
  params.threshold = 0.1 + 0.01 * draw(5, 85);
  params.min_area = draw(6, 3) == 0 ? draw(7, 9) : 0;
  params.max_area = draw(8, 3) == 0 ? 1 + draw(9, 60) : 0;
  params.label_background = draw(10, 4) == 0;
  if (!params.label_background && draw(13, 3) == 0) params.fill_holes = 1 + draw(14, 40);
  if (draw(11, 3) == 0) params.thresholds = std::vector<double>{0.7, 0.2, 0.55};
  made.choice = draw(12, 20);
  return made;
}

CcLabelParams window_params(int depth) {
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

int meeting_left(int frame) { return kMiddle - kLarge - away(frame); }
int meeting_right(int frame) { return kMiddle + away(frame); }

std::vector<Picture> meeting_pictures() {
  std::vector<Picture> pictures;
  for (int t = 0; t < kMeetingFrames; ++t) {
    Picture picture = make_picture("empty", kMeetingSize);
    const auto paint = [&](int left, int top, int side, uint8_t gray) {
      for (int y = top; y < top + side; ++y) {
        std::fill_n(picture.pixels.begin() + y * kMeetingSize.width + left, side, gray);
      }
    };
    paint(meeting_left(t), 10, kLarge, 255);
    paint(meeting_right(t), 11, kSmall, 150);
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

std::vector<WindowCase> window_cases() {
  std::vector<WindowCase> cases;
  for (const int depth : {2, 3, 7}) {
    for (const Connectivity connectivity :
         {Connectivity::six, Connectivity::eighteen, Connectivity::twenty_six}) {
      CcLabelParams params = window_params(depth);
      params.connectivity = connectivity;
      cases.push_back({params, noise_pictures({37, 21}, 17, 0.8)});
      cases.push_back({params, meeting_pictures(), 3});
    }
  }
  CcLabelParams params = window_params(4);
  params.min_area = 5;
  params.max_area = 60;
  cases.push_back({params, noise_pictures({40, 22}, 13, 0.8)});
  cases.push_back({params, noise_pictures({140, 22}, 13, 0.8)});
  params.min_area = params.max_area = 0;
  params.criterion = Criterion::difference;
  params.tolerance = 0.15;
  cases.push_back({params, noise_pictures({40, 22}, 9, 0), 2});
  return cases;
}

}  // namespace regions
