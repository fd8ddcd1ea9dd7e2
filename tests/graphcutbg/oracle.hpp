// The oracle: the formulas of the model and the energy in floating point.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace regions::oracle {

struct Gaussian {
  double share = 0;  // share of the frames, the weight of the mode
  std::array<double, 3> mean{};
  double luma = 64, chroma = 24;  // variances
};

// The mixture of one pixel.
class Mixture {
 public:
  explicit Mixture(double var_threshold) : threshold_(var_threshold) {}

  // Returns half the squared distance, plus a penalty for rare modes, minus half the threshold, in
  // nats. The sum is clipped.
  double evidence(const std::array<double, 3>& color) const;
  // `alpha`: the weight of a background frame. `rate`: the minimum weight of the new colour.
  void learn(const std::array<double, 3>& color, bool foreground, double alpha, double rate);
  const std::vector<Gaussian>& modes() const { return modes_; }

 private:
  static double squared_distance(const Gaussian& mode, const std::array<double, 3>& color);
  double threshold_;
  std::vector<Gaussian> modes_;  // at most 3
};

// Returns lambda * exp(-squared_contrast / (2 sigma^2)) / distance in nats, and at least
// 0.12 lambda / distance.
double link(double lambda, double sigma, double squared_contrast, bool diagonal);

// Dims the background as at (x, y) and returns the squared difference of the brightness, summed
// over two neighbours on the better side of each axis. (x, y) is at least two pixels from the
// border.
using Levels = std::vector<std::vector<double>>;
double shading_error(const Levels& now, const Levels& background, std::size_t x, std::size_t y);
// Brightens the background as at (x, y), and measures the difference in the same way.
double beam_error(const Levels& now, const Levels& background, std::size_t x, std::size_t y);
// The coefficient of correlation of differences of luma in the frame and in the background, around
// (x, y). Differences are limited to 8 levels. Outside the picture, its nearest pixel counts.
double texture_correlation(const Levels& now, const Levels& background, int x, int y);

}  // namespace regions::oracle
