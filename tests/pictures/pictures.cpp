// The contents of the test pictures.
#include "tests/pictures/pictures.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace regions {
namespace {

constexpr std::string_view kContents[] = {
    "rand_g1_d10",  "rand_g1_d20",  "rand_g1_d30",  "rand_g1_d40",  "rand_g1_d50",  "rand_g1_d60",
    "rand_g1_d70",  "rand_g1_d80",  "rand_g1_d90",  "rand_g16_d10", "rand_g16_d20", "rand_g16_d30",
    "rand_g16_d40", "rand_g16_d50", "rand_g16_d60", "rand_g16_d70", "rand_g16_d80", "rand_g16_d90",
    "maze",         "spiral",       "smooth"};
constexpr std::string_view kEdgeContents[] = {"empty",     "full",   "checkerboard", "stripes_h",
                                              "stripes_v", "single", "comb",         "frame"};
constexpr std::string_view kToneContents[] = {"gradient", "clouds", "blobs"};

// Sets every pixel to value(x, y): true is 255, a number is itself.
template <class ValueAt>
void paint(Picture& picture, ValueAt value) {
  uint8_t* p = picture.pixels.data();
  for (int y = 0; y < picture.size.height; ++y) {
    for (int x = 0; x < picture.size.width; ++x) {
      const auto v = value(x, y);
      if constexpr (std::is_same_v<decltype(v), const bool>) {
        *p++ = v ? 255 : 0;
      } else {
        *p++ = static_cast<uint8_t>(v);
      }
    }
  }
}

uint32_t hash_at(int x, int y, uint32_t seed = 0) {
  return hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y), seed);
}

// One octave of value noise: lattice values 0..255 every `cell` pixels, blended by smoothstep.
int value_noise(int x, int y, int cell, uint32_t seed) {
  const auto weight = [&](int at) {
    const int t = at % cell * 256 / cell;
    return t * t * (768 - 2 * t) >> 16;
  };
  const auto lattice = [&](int dx, int dy) {
    return static_cast<int>(hash_at(x / cell + dx, y / cell + dy, seed) >> 24);
  };
  const int wx = weight(x), wy = weight(y);
  const int top = lattice(0, 0) * (256 - wx) + lattice(1, 0) * wx;
  const int bottom = lattice(0, 1) * (256 - wx) + lattice(1, 1) * wx;
  return (top * (256 - wy) + bottom * wy) >> 16;
}

// Four octaves from 64 pixels down, each half as strong as the previous octave.
int clouds(int x, int y) {
  int sum = 0;
  for (int octave = 0; octave < 4; ++octave) {
    sum += value_noise(x, y, 64 >> octave, static_cast<uint32_t>(octave)) * (8 >> octave);
  }
  return sum / 15;
}

// Corridors 1 pixel wide between cells at even coordinates, by depth-first search: one component.
void carve_maze(Picture& picture) {
  const int columns = (picture.size.width + 1) / 2, rows = (picture.size.height + 1) / 2;
  const auto pixel = [&](int x, int y) -> uint8_t& {
    return picture.pixels[static_cast<size_t>(y) * static_cast<size_t>(picture.size.width) +
                          static_cast<size_t>(x)];
  };
  std::vector<std::pair<int, int>> path = {{0, 0}};
  pixel(0, 0) = 255;
  uint32_t step = 0;
  while (!path.empty()) {
    const auto [x, y] = path.back();
    const uint32_t turn = hash(step++, 1);
    bool moved = false;
    for (uint32_t k = 0; k < 4 && !moved; ++k) {
      const uint32_t way = (turn + k) & 3;
      const int dx = way == 0 ? 1 : way == 1 ? -1 : 0, dy = way == 2 ? 1 : way == 3 ? -1 : 0;
      const int nx = x + dx, ny = y + dy;
      if (nx < 0 || ny < 0 || nx >= columns || ny >= rows || pixel(2 * nx, 2 * ny)) continue;
      pixel(2 * x + dx, 2 * y + dy) = pixel(2 * nx, 2 * ny) = 255;
      path.emplace_back(nx, ny);
      moved = true;
    }
    if (!moved) path.pop_back();
  }
}

// A line 1 pixel wide that winds inwards with 1 pixel between its turns.
void draw_spiral(Picture& picture) {
  const int width = picture.size.width, height = picture.size.height;
  const auto index = [&](int x, int y) {
    return static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
  };
  const auto inside = [&](int x, int y) { return x >= 0 && y >= 0 && x < width && y < height; };
  const auto is_free = [&](int x, int y) { return !inside(x, y) || !picture.pixels[index(x, y)]; };
  int x = 0, y = 0, dx = 1, dy = 0;
  picture.pixels[0] = 255;
  for (int turns = 0; turns < 2;) {
    const int nx = x + dx, ny = y + dy;
    if (inside(nx, ny) && is_free(nx, ny) && is_free(nx + dx, ny + dy)) {
      picture.pixels[index(x = nx, y = ny)] = 255;
      turns = 0;
    } else {
      dx = -std::exchange(dy, dx);  // to the right
      ++turns;
    }
  }
}

// Concentric rings 2 pixels wide, 2 apart: holes inside holes.
bool on_ring(int x, int y, Size size) {
  return std::min({x, y, size.width - 1 - x, size.height - 1 - y}) % 4 < 2;
}

// Patches of a few colours with one differing pixel in 64.
int blob(int x, int y, int channel) {
  if (hash_at(x, y, 7) % 64 == 0) return static_cast<int>(hash_at(x, y, 8) >> (8 * channel) & 255);
  return value_noise(x, y, 24, 16 + static_cast<uint32_t>(channel)) / 48 * 50;
}

// Something like a frame of a camera: soft shapes in light that changes slowly, fine texture here
// and there, and noise in grains of some pixels, as is left of a sensor's. Texture and noise are
// such that superpixels of 16 pixels have about as many pieces as in a photograph.
int footage(int x, int y, int channel) {
  const auto hue = static_cast<uint32_t>(channel);
  const int shape = value_noise(x, y, 72, 40) + value_noise(x, y, 36, 41) / 2;
  const int soft = std::clamp((shape - 190) * 6, -256, 256);  // edges some pixels wide
  const int light = value_noise(x, y, 240, 42) / 3 + value_noise(x, y, 120, 43 + hue) / 6;
  const int contrast = 10 + value_noise(x, y, 150, 46 + hue) / 3;
  const int texture = (value_noise(x, y, 9, 50) - 128) * value_noise(x, y, 180, 51) / 200;
  const int noise = (value_noise(x, y, 3, 52 + hue) - 128) / 14;
  return std::clamp(60 + light + soft * contrast / 256 + texture + noise, 0, 255);
}

// "g16_d50" to {16, 50}; false if it is not of that form.
bool parse_noise(std::string_view text, int& granularity, int& density) {
  if (text.empty() || text[0] != 'g') return false;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data() + 1, end, granularity);
  if (first.ec != std::errc() || std::string_view(first.ptr, end).substr(0, 2) != "_d") {
    return false;
  }
  const auto second = std::from_chars(first.ptr + 2, end, density);
  return second.ec == std::errc() && second.ptr == end && granularity > 0;
}

}  // namespace

ConstFrame Picture::frame() const {
  ConstFrame view;
  view.layout = layout_of(format);
  view.plane[0] = reinterpret_cast<const std::byte*>(pixels.data());
  view.pitch[0] = static_cast<ptrdiff_t>(row_bytes(view.layout, 0, size));
  view.width = size.width;
  view.height = size.height;
  return view;
}

std::span<const std::string_view> contents() { return kContents; }
std::span<const std::string_view> edge_contents() { return kEdgeContents; }
std::span<const std::string_view> tone_contents() { return kToneContents; }

Picture make_picture(std::string_view content, Size size) {
  expects(size.width > 0 && size.height > 0, "a picture has at least one pixel");
  Picture picture{size, PixelFormat::gray8, std::vector<uint8_t>(size.area())};
  int granularity = 0, density = 0;
  if (content.substr(0, 5) == "rand_" && parse_noise(content.substr(5), granularity, density)) {
    const auto level = static_cast<uint32_t>(density);
    paint(picture,
          [&](int x, int y) { return hash_at(x / granularity, y / granularity) % 100 < level; });
  } else if (content == "maze") {
    carve_maze(picture);
  } else if (content == "spiral") {
    draw_spiral(picture);
  } else if (content == "smooth") {
    paint(picture, [](int x, int y) { return clouds(x, y) >= 128; });
  } else if (content == "empty") {
  } else if (content == "full") {
    paint(picture, [](int, int) { return true; });
  } else if (content == "checkerboard") {
    paint(picture, [](int x, int y) { return (x + y) % 2 == 0; });
  } else if (content == "stripes_h") {
    paint(picture, [](int, int y) { return y % 2 == 0; });
  } else if (content == "stripes_v") {
    paint(picture, [](int x, int) { return x % 2 == 0; });
  } else if (content == "single") {
    paint(picture, [&](int x, int y) { return x == size.width * 2 / 3 && y == size.height / 3; });
  } else if (content == "comb") {
    paint(picture, [&](int x, int y) { return x % 2 == 0 || y == size.height - 1; });
  } else if (content == "frame") {
    paint(picture, [&](int x, int y) { return on_ring(x, y, size); });
  } else if (content == "gradient") {
    paint(picture,
          [&](int x, int y) { return (x * 255 / size.width + y * 255 / size.height) / 2; });
  } else if (content == "clouds") {
    paint(picture, clouds);
  } else if (content == "blobs" || content == "footage") {
    picture.format = PixelFormat::rgb;
    picture.pixels.resize(size.area() * 3);
    const int width = size.width;
    picture.size.width = 3 * width;
    const auto paint_with = content == "blobs" ? blob : footage;
    paint(picture, [&](int x, int y) { return paint_with(x / 3, y, x % 3); });
    picture.size.width = width;
  } else {
    throw InputError("unknown picture: " + std::string(content));
  }
  return picture;
}

}  // namespace regions
