// A picture of the C interface whose planes have memory of exactly their size, at any pitch.
#pragma once

#include <memory>
#include <vector>

#include "core/frame.hpp"
#include "library/regions.h"
#include "tests/fuzz/values.hpp"

namespace regions::fuzz {

class Picture {
 public:
  Picture() = default;
  Picture(const char* format, Size size, RegionsColor color, Input& in);

  const RegionsPicture& view() const { return view_; }
  // Nothing was written; nothing outside of the rows was.
  void expect_kept() const;
  void expect_padding_kept() const;
  bool same(const Picture& other) const;

 private:
  struct Plane {
    std::unique_ptr<uint8_t[]> bytes;
    std::vector<uint8_t> before;
    size_t row = 0, begin = 0, pitch = 0;  // bytes of a row's pixels, of the first, to the next
    int rows = 0;
  };
  RegionsPicture view_ = {};
  std::vector<Plane> planes_;
};

}  // namespace regions::fuzz
