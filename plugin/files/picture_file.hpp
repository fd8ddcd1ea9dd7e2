// Decodes picture files (PNG, JPEG, WebP, PNM) to RGB frames.
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/frame.hpp"

namespace regions {

struct PictureFile {
  Size size;
  std::vector<std::byte> pixels;  // [height][width] RGB, rows without padding

  ConstFrame frame() const;
};

// Decodes the first picture of the file and scales it to `fit`, if `fit` is not empty. Takes at
// most 30 seconds, and returns early if `stop` is requested. The content of the file determines its
// format, not its name. Other formats, files of more than 256 MiB and pictures with a side of more
// than 16384 pixels are refused. Throws MissingFile or UnreadableFile, which name the file.
PictureFile load_picture(const std::string& path, Size fit, std::stop_token stop);

// Throws MissingFile or UnreadableFile if the file does not exist or cannot be opened.
void expect_picture(const std::string& path);

// A decoded portable bitmap, graymap or pixmap: PBM, PGM or PPM, netpbm's formats P1 to P6.
struct Anymap {
  Size size;
  std::vector<std::byte> pixels;  // [height][width] RGB; rows are padded to a multiple of 4 bytes,
                                  // as in GStreamer
};

// Decodes the first picture of a PNM file. Returns nothing if the file is damaged or truncated, or
// if a side has more than `max_side` pixels.
std::optional<Anymap> read_anymap(std::span<const std::byte> file, int max_side);

}  // namespace regions
