// Compares setups, lists the formats that output pictures may have, and checks the output format of
// a setup.
#include "core/algorithm.hpp"

#include <string>
#include <tuple>

namespace regions {

bool Setup::operator==(const Setup& other) const {
  const auto values = [](const Setup& s) {
    return std::tuple(s.in.format, s.size.width, s.size.height, s.color.matrix, s.color.full_range,
                      s.has_output, s.out.format, s.has_mask, s.mask.format, s.slots, s.depth,
                      s.slides, s.layers, s.has_background, s.max_regions, s.tracks, s.has_borders,
                      s.max_runs, s.priority);
  };
  return values(*this) == values(other);
}

std::span<const PixelFormat> formats_of(Output output) {
  static constexpr PixelFormat kLabels[] = {PixelFormat::gray16, PixelFormat::gray8,
                                            PixelFormat::labels32};
  static constexpr PixelFormat kColors[] = {PixelFormat::bgrx, PixelFormat::rgbx, PixelFormat::bgra,
                                            PixelFormat::rgba, PixelFormat::bgr,  PixelFormat::rgb};
  static constexpr PixelFormat kMask[] = {PixelFormat::gray8};
  static constexpr PixelFormat kCutout[] = {PixelFormat::rgba};
  switch (output) {
    case Output::labels:
      return kLabels;
    case Output::mask:
      return kMask;
    case Output::colors:
      return kColors;
    case Output::cutout:
      return kCutout;
    case Output::untouched:
    case Output::drawn_on:
      break;
  }
  return {};
}

void expects_output(const Setup& setup, Output output) {
  if (output == Output::untouched) {
    expects(!setup.has_output, "output=none writes no picture, but `out` is set");
    return;
  }
  expects(setup.has_output,
          "`output` requires a picture, but `out` is not set; set it or use output=none");
  if (output == Output::drawn_on) {
    expects(setup.out.format == setup.in.format,
            "drawing keeps the pixel format; it cannot write " +
                std::string(name_of(setup.out.format)) + " from " +
                std::string(name_of(setup.in.format)));
    return;
  }
  std::string names;
  for (const PixelFormat format : formats_of(output)) {
    if (format == setup.out.format) return;
    names += (names.empty() ? "" : ", ") + std::string(name_of(format));
  }
  throw InputError("`output` supports " + names + "; the output format is " +
                   std::string(name_of(setup.out.format)));
}

}  // namespace regions
