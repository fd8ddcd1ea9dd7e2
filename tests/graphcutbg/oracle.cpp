// The formulas of the oracle.
#include "tests/graphcutbg/oracle.hpp"

#include <algorithm>
#include <cmath>

namespace regions::oracle {
namespace {

constexpr double kLower = 0.06, kUpper = 0.24;

}  // namespace

double Mixture::squared_distance(const Gaussian& mode, const std::array<double, 3>& color) {
  const double y = color[0] - mode.mean[0], u = color[1] - mode.mean[1],
               v = color[2] - mode.mean[2];
  return y * y / mode.luma + (u * u + v * v) / mode.chroma;
}

double Mixture::evidence(const std::array<double, 3>& color) const {
  const double half = threshold_ / 2;
  double least = 2 * half;
  for (const Gaussian& mode : modes_) {
    const double penalty =
        std::clamp((kUpper - mode.share) / (kUpper - kLower), 0.0, 1.0) * 2 * half;
    least = std::min(least, squared_distance(mode, color) / 2 + penalty);
  }
  return least - half;
}

void Mixture::learn(const std::array<double, 3>& color, bool foreground, double alpha,
                    double rate) {
  if (modes_.empty()) {
    modes_.push_back({1, color});
    return;
  }
  Gaussian* match = nullptr;
  for (Gaussian& mode : modes_) {
    const double d2 = squared_distance(mode, color);
    if (d2 < std::max(threshold_, 9.0) && (!match || d2 < squared_distance(*match, color)))
      match = &mode;
  }
  const bool known = match && match->share >= kUpper;
  if (foreground && known) return;
  const double fast = std::max(alpha, std::min(4 * alpha, 1.0 / 128));
  const double weight = foreground ? alpha / 2 : known ? alpha : fast;
  for (Gaussian& mode : modes_) mode.share += ((&mode == match) - mode.share) * weight;
  if (!match) {
    const Gaussian fresh{weight, color};
    if (modes_.size() < 3) {
      modes_.push_back(fresh);
    } else {
      *std::min_element(modes_.begin(), modes_.end(), [](const Gaussian& a, const Gaussian& b) {
        return a.share < b.share;
      }) = fresh;
    }
    return;
  }
  const double pull = std::min(1.0, std::max(rate, weight / match->share));
  const double var_pull = std::min(pull, 1.0 / 16);
  std::array<double, 3> d;
  for (size_t c = 0; c < 3; ++c) {
    d[c] = color[c] - match->mean[c];
    match->mean[c] += d[c] * pull;
  }
  const double chroma = (d[1] * d[1] + d[2] * d[2]) / 2;
  match->luma = std::clamp(match->luma + (d[0] * d[0] - match->luma) * var_pull, 8.0, 600.0);
  match->chroma = std::clamp(match->chroma + (chroma - match->chroma) * var_pull, 4.0, 600.0);
}

double link(double lambda, double sigma, double squared_contrast, bool diagonal) {
  const double alike = std::exp(-squared_contrast / (2 * sigma * sigma));
  return lambda * std::max(alike, 0.12) / (diagonal ? std::sqrt(2.0) : 1.0);
}

namespace {

// The smaller sum of squared errors on each side, horizontally and vertically.
template <class Expected>
double error_around(const Levels& now, size_t x, size_t y, Expected expected) {
  const auto off = [&](size_t x2, size_t y2) {
    return std::pow(now[y2][x2] - expected(x2, y2), 2);
  };
  return std::min(off(x - 1, y) + off(x - 2, y), off(x + 1, y) + off(x + 2, y)) +
         std::min(off(x, y - 1) + off(x, y - 2), off(x, y + 1) + off(x, y + 2));
}

}  // namespace

double shading_error(const Levels& now, const Levels& background, size_t x, size_t y) {
  const double dimmed = now[y][x] / background[y][x];
  return error_around(now, x, y, [&](size_t x2, size_t y2) { return dimmed * background[y2][x2]; });
}

double beam_error(const Levels& now, const Levels& background, size_t x, size_t y) {
  const double rise = now[y][x] - background[y][x];
  return error_around(now, x, y, [&](size_t x2, size_t y2) { return background[y2][x2] + rise; });
}

double texture_correlation(const Levels& now, const Levels& background, int x, int y) {
  const auto luma = [](const Levels& picture, int px, int py) {
    const int last = static_cast<int>(picture.size()) - 1;
    return picture[static_cast<size_t>(std::clamp(py, 0, last))]
                  [static_cast<size_t>(std::clamp(px, 0, last))];
  };
  // Neighbours are three pixels apart.
  const auto difference = [&](const Levels& picture, int px, int py, int axis) {
    const double next = luma(picture, px + 3 * (axis == 0), py + 3 * (axis == 1));
    return std::clamp(next - luma(picture, px, py), -8.0, 8.0);
  };
  double both = 0, squares[2] = {};
  for (int i = 0; i < 40; ++i) {
    const int axis = i / 20, along = i % 4 * 3 - 6, across = i / 4 % 5 * 3 - 6;
    const int px = x + (axis == 0 ? along : across), py = y + (axis == 0 ? across : along);
    const double is = difference(now, px, py, axis), was = difference(background, px, py, axis);
    both += is * was;
    squares[0] += is * is;
    squares[1] += was * was;
  }
  const double product = squares[0] * squares[1];
  return product > 0 ? both / std::sqrt(product) : 0;
}

}  // namespace regions::oracle
