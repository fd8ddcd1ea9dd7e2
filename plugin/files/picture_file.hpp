// Picture files (PNG, JPEG, WebP, PNM) as frames.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/frame.hpp"

namespace regions {

struct PictureFile {
  Size size;
  std::vector<std::byte> pixels;  // [height][width] RGB

  ConstFrame frame() const;
};

// Decodes the file's first picture, scaled to `fit` where that is not empty. Waits for it, half a
// minute at most, and no longer than until `stop`. What the file is, is told by its content; a
// picture of no such kind, more than 256 MiB or 16384 pixels each way is refused. Throws
// MissingFile or UnreadableFile, naming the file.
PictureFile load_picture(const std::string& path, Size fit, std::stop_token stop);
// Throws the same where there is no such file, or none that can be opened.
void expect_picture(const std::string& path);

}  // namespace regions
