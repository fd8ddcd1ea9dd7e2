// Whether memory that a stranger describes is a picture.
#include "core/frame.hpp"

#include <climits>
#include <cstdlib>

#include "core/error.hpp"

namespace regions {

namespace {

std::string plane_of(const std::string& name, int plane) {
  return "plane " + std::to_string(plane) + " of " + name;
}

}  // namespace

void expects_planes(const ConstFrame& frame, const std::string& name) {
  constexpr ptrdiff_t kMax = INT_MAX;  // as a copy to a GPU takes it; products with rows fit
  for (int p = 0; p < frame.layout.planes; ++p) {
    const ptrdiff_t pitch = frame.pitch[p];
    const auto least = static_cast<ptrdiff_t>(row_bytes(frame.layout, p, frame.size()));
    expects(frame.plane[p] != nullptr, plane_of(name, p) + " is missing");
    expects(pitch >= -kMax && pitch <= kMax,
            "rows of " + plane_of(name, p) + " are 2 GiB or more apart");
    expects(std::abs(pitch) >= least || row_count(frame.layout, p, frame.size()) == 1,
            "rows of " + plane_of(name, p) + " overlap");
  }
}

void expects_aligned(const ConstFrame& frame, const std::string& name) {
  const auto bytes = static_cast<uintptr_t>(frame.layout.sample_bytes);
  for (int p = 0; p < frame.layout.planes; ++p) {
    const auto places =
        reinterpret_cast<uintptr_t>(frame.plane[p]) | static_cast<uintptr_t>(frame.pitch[p]);
    expects(places % bytes == 0, "rows of " + plane_of(name, p) + " must begin at multiples of " +
                                     std::to_string(bytes) + " bytes, the size of a sample");
  }
}

}  // namespace regions
