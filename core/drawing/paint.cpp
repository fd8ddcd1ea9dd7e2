// What is worked out once a frame: the weights of R, G and B in its components, and the rest.
#include "core/drawing/paint.hpp"

#include <cmath>

namespace regions {

ColorEncoder encoder_of(const Layout& layout, const Colorimetry& color) {
  constexpr double kOne = 1 << ColorEncoder::kShift;
  ColorEncoder encoder;
  encoder.max = layout.max_value();
  // `scale` and `zero` in stored units: of a component whose R, G, B weights are in 0..1.
  const auto set = [&](int c, double red, double green, double blue, double scale, double zero) {
    const double weights[3] = {red, green, blue};
    for (int i = 0; i < 3; ++i) {
      encoder.weight[c][i] = static_cast<int32_t>(std::lround(weights[i] * scale / 255 * kOne));
    }
    encoder.offset[c] = static_cast<int32_t>(std::lround((zero + 0.5) * kOne));
  };
  const double full = layout.max_value();
  if (layout.model == ColorModel::rgb) {
    set(0, 1, 0, 0, full, 0);
    set(1, 0, 1, 0, full, 0);
    set(2, 0, 0, 1, full, 0);
    return encoder;
  }
  // ITU-R BT.601-7, 2.5.1: Y = Kr R + Kg G + Kb B, Cb = (B - Y) / (2 - 2 Kb), Cr likewise.
  const auto [kr, kb] = luma_weights(color.matrix);
  const double kg = 1 - kr - kb;
  const bool limited = layout.model == ColorModel::yuv && !color.full_range;
  const double code = 1 << (layout.depth - 8);  // an 8-bit step in stored units
  set(0, kr, kg, kb, limited ? 219 * code : full, limited ? 16 * code : 0);
  if (layout.model != ColorModel::yuv) return encoder;
  const double chroma = limited ? 224 * code : full;
  const double u = 2 - 2 * kb;
  const double v = 2 - 2 * kr;
  set(1, -kr / u, -kg / u, 0.5, chroma, 128 * code);
  set(2, 0.5, -kg / v, -kb / v, chroma, 128 * code);
  return encoder;
}

Painter painter_of(const Frame& picture, const LabelView& labels, const DrawingParams& params) {
  Painter painter;
  painter.picture = picture;
  painter.labels = sampler_of(labels, picture.size());
  painter.encoder = encoder_of(picture.layout, picture.color);
  painter.encoder.encode(kDark, painter.dark);
  const bool fills = params.style & static_cast<uint32_t>(Style::fill) && !labels.empty();
  painter.fill_alpha = fills ? static_cast<int>(std::lround(params.opacity * 256)) : 0;
  return painter;
}

}  // namespace regions
