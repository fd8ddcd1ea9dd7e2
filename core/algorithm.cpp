// Lists the formats that output pictures may have, and checks the output format of a setup.
#include "core/algorithm.hpp"

#include <string>

namespace regions {

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
