// Scenes drawn from a hash.
#include "tests/regionoverlay/scene.hpp"

#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

// 0..below-1
int roll(int below, uint32_t what, uint32_t index, uint32_t seed) {
  return static_cast<int>(hash(what, index, seed) % static_cast<uint32_t>(below));
}

uint32_t track_for(uint32_t index, uint32_t seed) {
  uint32_t track = hash(5, index, seed);
  for (int digits = roll(10, 6, index, seed); digits > 0; --digits) track /= 10;
  return track;
}

}  // namespace

ConstLabelMap Scene::label_map() const {
  return {labels.data(), size.width, size.height, static_cast<ptrdiff_t>(size.width) * 4};
}

Scene make_scene(Size size, int count, uint32_t seed) {
  Scene scene{size, {}, std::vector<uint32_t>(size.area())};
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<uint32_t>(i);
    Region r;
    r.id = index + 1;
    r.track = track_for(index, seed);
    r.left = roll(size.width + 40, 1, index, seed) - 20;
    r.top = roll(size.height + 40, 2, index, seed) - 20;
    r.right = r.left + roll(size.width / 2 + 4, 3, index, seed);
    r.bottom = r.top + roll(size.height / 2 + 4, 4, index, seed);
    scene.regions.push_back(r);
  }
  // Patches of 7x5 pixels with ragged ends; labels up to twice the records.
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const uint32_t patch =
          hash(static_cast<uint32_t>((x + y % 3) / 17), static_cast<uint32_t>(y / 11), seed + 77);
      const uint32_t label = patch % 3 ? 0 : patch / 3 % static_cast<uint32_t>(2 * count + 2);
      scene.labels[static_cast<size_t>(y) * static_cast<size_t>(size.width) +
                   static_cast<size_t>(x)] = label;
    }
  }
  return scene;
}

GuardedFrame noisy_picture(PixelFormat format, Size size, int padding, Colorimetry color) {
  return convert(make_picture("clouds", size).frame(), format, color, padding, Tint::noise);
}

std::vector<PixelFormat> drawable_formats() {
  std::vector<PixelFormat> formats;
  for (int f = 0; f < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    if (format != PixelFormat::labels32) formats.push_back(format);
  }
  return formats;
}

std::vector<Size> scene_sizes() {
  return {{1, 1},   {1, 9},    {9, 1},    {2, 2},    {31, 17},  {33, 15}, {63, 16},
          {65, 33}, {131, 97}, {40, 200}, {257, 19}, {600, 70}, {1100, 5}};
}

std::vector<DrawingParams> scene_params() {
  return {{1, 0.4, 1}, {2, 0.4, 1},  {2, 0.4, 2},  {4, 0.4, 1}, {8, 0.4, 1},  {4, 0, 2},
          {4, 1, 2},   {15, 0.7, 2}, {3, 0.4, 14}, {3, 0.4, 5}, {7, 0.3, 33}, {15, 0.5, 64}};
}

std::string describe(PixelFormat format, Size size, const DrawingParams& params) {
  return std::string(name_of(format)) + " " + std::to_string(size.width) + "x" +
         std::to_string(size.height) + " style " + std::to_string(params.style) + " thickness " +
         std::to_string(params.thickness) + " opacity " + std::to_string(params.opacity);
}

}  // namespace regions
