// The model and the energy once more, in plain floating point from their formulas.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace regions::oracle {

struct Gaussian {
  double share = 0;  // of the frames
  std::array<double, 3> mean{};
  double luma = 64, chroma = 24;  // variances
};

// One pixel's mixture.
class Mixture {
 public:
  explicit Mixture(double var_threshold) : threshold_(var_threshold) {}

  // Half the squared distance (plus doubt of rare modes) less half the threshold, clipped; nats.
  double evidence(const std::array<double, 3>& color) const;
  // `alpha`: weight of the frame, for the background; `rate`: least weight in a mode's colour.
  void learn(const std::array<double, 3>& color, bool foreground, double alpha, double rate);
  const std::vector<Gaussian>& modes() const { return modes_; }

 private:
  static double squared_distance(const Gaussian& mode, const std::array<double, 3>& color);
  double threshold_;
  std::vector<Gaussian> modes_;  // at most 3
};

// lambda * exp(-squared_contrast / (2 sigma^2)) / distance, nats; at least 0.12 lambda / distance.
double link(double lambda, double sigma, double squared_contrast, bool diagonal);

// How far brightness is from the background's, dimmed as at (x, y), over the better arms of two
// pixels along either axis; squared levels. Pictures are [height][width] with (x, y) two from any
// border.
using Levels = std::vector<std::vector<double>>;
double shading_error(const Levels& now, const Levels& background, std::size_t x, std::size_t y);

}  // namespace regions::oracle
