// Picture files (PNG, JPEG, whatever GStreamer decodes) as frames.
#pragma once

#include <string>
#include <vector>

#include "core/frame.hpp"

namespace regions {

struct PictureFile {
  Size size;
  std::vector<std::byte> pixels;  // [height][width] RGB

  ConstFrame frame() const;
};

// Decodes the file's first picture, scaled to `fit` where that is not empty. Waits for it. Throws
// InputError naming the file.
PictureFile load_picture(const std::string& path, Size fit = {});

}  // namespace regions
