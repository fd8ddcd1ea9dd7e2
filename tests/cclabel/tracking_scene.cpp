// Moving discs.
#include "tests/cclabel/tracking_scene.hpp"

#include <algorithm>
#include <cmath>

namespace regions {
namespace {

constexpr double kGap = 3;  // pixels at least between two discs: they never share a region

bool is_apart(const Disc& a, const Disc& b) {
  return std::hypot(a.x - b.x, a.y - b.y) > a.radius + b.radius + kGap;
}

bool is_inside(Size size, const Disc& d) {
  return d.x > d.radius + 1 && d.y > d.radius + 1 && d.x < size.width - d.radius - 2 &&
         d.y < size.height - d.radius - 2;
}

}  // namespace

Picture paint_discs(Size size, const std::vector<Disc>& discs) {
  Picture picture{size, PixelFormat::rgb, std::vector<uint8_t>(size.area() * 3)};
  for (const Disc& disc : discs) {
    const auto from = [](double v) { return std::max(0, static_cast<int>(std::floor(v))); };
    for (int y = from(disc.y - disc.radius); y <= disc.y + disc.radius && y < size.height; ++y) {
      for (int x = from(disc.x - disc.radius); x <= disc.x + disc.radius && x < size.width; ++x) {
        if (std::hypot(x - disc.x, y - disc.y) > disc.radius) continue;
        const size_t at =
            (static_cast<size_t>(y) * static_cast<size_t>(size.width) + static_cast<size_t>(x)) * 3;
        picture.pixels[at] = disc.red;
        picture.pixels[at + 1] = disc.green;
        picture.pixels[at + 2] = disc.blue;
      }
    }
  }
  return picture;
}

std::vector<Disc> crowd(Size size, int count, uint32_t seed) {
  std::vector<Disc> discs;
  for (uint32_t i = 0; static_cast<int>(discs.size()) < count; ++i) {
    const auto random = [&](uint32_t what, double low, double high) {
      return low + (high - low) * (hash(i, what, seed) % 4096) / 4095.0;
    };
    Disc disc{
        .x = random(0, 0, size.width), .y = random(1, 0, size.height), .radius = random(2, 3, 12)};
    // Every fourth moves by up to its own width a frame.
    const double most = i % 4 == 0 ? 2 * disc.radius : 3;
    disc.vx = random(3, -most, most);
    disc.vy = random(4, -most / 4, most / 4);
    disc.red = static_cast<uint8_t>(random(5, 128, 255));
    disc.green = static_cast<uint8_t>(random(6, 128, 255));
    disc.blue = static_cast<uint8_t>(random(7, 128, 255));
    const bool fits = std::all_of(discs.begin(), discs.end(),
                                  [&](const Disc& other) { return is_apart(disc, other); });
    if (fits && is_inside(size, disc)) discs.push_back(disc);
  }
  return discs;
}

// One after the other: a disc that would come too near turns back instead and stays for this frame.
std::vector<Disc> moved(Size size, const std::vector<Disc>& discs) {
  std::vector<Disc> next = discs;
  for (size_t i = 0; i < next.size(); ++i) {
    Disc step = next[i];
    step.x += step.vx;
    step.y += step.vy;
    bool free = is_inside(size, step);
    for (size_t k = 0; k < next.size() && free; ++k) free = k == i || is_apart(step, next[k]);
    if (free) {
      next[i] = step;
    } else {
      next[i].vx = -next[i].vx;
      next[i].vy = -next[i].vy;
    }
  }
  return next;
}

}  // namespace regions
