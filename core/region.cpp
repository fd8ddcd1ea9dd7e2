// Computes mean colours and covariances of regions from their sums.
#include "core/region.hpp"

#include <algorithm>

namespace regions {

MeanColors::MeanColors(const Layout& layout, const Colorimetry& color)
    : model_(layout.model),
      weights_(luma_weights(color.matrix)),
      unit_(255.0 / layout.max_value()) {
  const double step = 1 << (layout.sample_bits - 8);  // one 8-bit step in stored units
  luma_scale_ = color.full_range ? unit_ : 255.0 / (219 * step);
  chroma_scale_ = color.full_range ? unit_ : 255.0 / (224 * step);
  black_ = color.full_range ? 0 : 16 * step;
  zero_ = 128 * step;
}

MeanColor MeanColors::of(const Region& region) const {
  if (region.area == 0) return {};
  const double scale = 1.0 / static_cast<double>(region.area);
  const auto mean = [&](int c) { return static_cast<double>(region.sum_value[c]) * scale; };
  const auto clamped = [](double v) { return std::clamp(v, 0.0, 255.0); };
  if (model_ == ColorModel::rgb) return {mean(0) * unit_, mean(1) * unit_, mean(2) * unit_};
  if (model_ != ColorModel::yuv) return {mean(0) * unit_, mean(0) * unit_, mean(0) * unit_};

  const double y = (mean(0) - black_) * luma_scale_;
  const double u = (mean(1) - zero_) * chroma_scale_;
  const double v = (mean(2) - zero_) * chroma_scale_;
  const auto [kr, kb] = weights_;
  const double red = y + 2 * (1 - kr) * v;
  const double blue = y + 2 * (1 - kb) * u;
  return {clamped(red), clamped((y - kr * red - kb * blue) / (1 - kr - kb)), clamped(blue)};
}

MeanLab mean_lab(const Region& region, const Moments& moments) {
  if (region.area == 0) return {};
  const auto mean = [&](int c) { return region.mean(moments.sum_lab[c]); };
  return {(mean(0) - 28) / 2, mean(1) - 128, mean(2) - 128};
}

Covariance covariance(const Region& region, const Moments& moments) {
  if (region.area == 0) return {};
  // The products exceed 64 bits, and their difference is small, so it is computed exactly with 128
  // bits.
  __extension__ using Wide = __int128;
  const auto n = static_cast<Wide>(region.area);
  const auto covariance_of = [&](uint64_t products, uint64_t a, uint64_t b) {
    const Wide spread = n * static_cast<Wide>(products) - static_cast<Wide>(a) * b;
    return static_cast<double>(spread) / static_cast<double>(n) / static_cast<double>(n);
  };
  return {covariance_of(moments.sum_xx, region.sum_x, region.sum_x),
          covariance_of(moments.sum_xy, region.sum_x, region.sum_y),
          covariance_of(moments.sum_yy, region.sum_y, region.sum_y)};
}

}  // namespace regions
