// The tables of colour conversion.
#include "core/lab.hpp"

#include <cmath>

namespace regions {
namespace {

// sRGB primaries under D65, rows X, Y, Z divided by the white point: each sums to 1.
constexpr double kToXyz[3][3] = {
    {0.4124564 / 0.9504700, 0.3575761 / 0.9504700, 0.1804375 / 0.9504700},
    {0.2126729, 0.7151522, 0.0721749},
    {0.0193339 / 1.0888300, 0.1191920 / 1.0888300, 0.9503041 / 1.0888300}};

double linear(int level) {
  const double v = level / 255.0;
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

LabTables made_tables() {
  LabTables tables;
  // White's index is the last one; half an index is added once, with red, for rounding.
  const double scale = (LabTables::kRoots - 1) << LabTables::kDrop;
  for (int c = 0; c < 3; ++c) {
    for (int level = 0; level < 256; ++level) {
      uint64_t shares = 0;
      for (int axis = 0; axis < 3; ++axis) {
        double share = std::floor(kToXyz[axis][c] * linear(level) * scale);
        if (c == 0) share += 1 << (LabTables::kDrop - 1);
        shares |= static_cast<uint64_t>(share) << (axis * LabTables::kShare);
      }
      tables.share[c][level] = shares;
    }
  }
  for (int i = 0; i < LabTables::kRoots; ++i) {
    const double t = i / static_cast<double>(LabTables::kRoots - 1);
    const double f = t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
    tables.root[i] = static_cast<uint16_t>(std::lround(f * LabTables::kUnit));
  }
  return tables;
}

}  // namespace

const LabTables& lab_tables() {
  static const LabTables tables = made_tables();
  return tables;
}

ColorReader reader_of(const Layout& layout, const Colorimetry& color, ColorSpace space) {
  ColorReader reader;
  reader.space = space;
  RgbDecoder& decoder = reader.decoder;
  decoder.drop = layout.depth > 8 ? layout.depth - 8 : 0;
  decoder.is_yuv = layout.model == ColorModel::yuv;
  if (!decoder.is_yuv) return reader;
  const auto [kr, kb] = luma_weights(color.matrix);
  const double luma = color.full_range ? 1 : 255.0 / 219;
  const double chroma = color.full_range ? 1 : 255.0 / 224;
  const auto fixed = [](double v) {
    return static_cast<int32_t>(std::lround(v * (1 << RgbDecoder::kShift)));
  };
  decoder.black = color.full_range ? 0 : 16;
  decoder.luma = fixed(luma);
  decoder.red_v = fixed(2 * (1 - kr) * chroma);
  decoder.blue_u = fixed(2 * (1 - kb) * chroma);
  decoder.green_u = fixed(2 * (1 - kb) * kb / (1 - kr - kb) * chroma);
  decoder.green_v = fixed(2 * (1 - kr) * kr / (1 - kr - kb) * chroma);
  return reader;
}

}  // namespace regions
