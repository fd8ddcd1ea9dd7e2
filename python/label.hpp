// cclabel for arrays. label.cpp, label_device.cpp and masks.cpp use it.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "python/arrays.hpp"
#include "python/engines.hpp"
#include "python/settings.hpp"
#include "python/values.hpp"

namespace regions::python {

// The input of cclabel: the array itself if cclabel supports its elements, else a converted
// picture.
struct Picture {
  Made made;
  ConstFrame frame;

  void take(Made&& other, const Voxels& voxels) {
    made = std::move(other);
    frame = frame_at(made.bytes.data(), made.format, {voxels.slice.width, voxels.rows()});
  }
};

// The threshold (fraction of 255) that bytes of at least `level` reach, and lower bytes do not.
inline double threshold_at(int level) { return (level - 0.5) / 255; }

inline CcLabelParams parameters_of_mask(const Settings& settings) {
  auto params = parameters<CcLabelParams>(settings);
  params.threshold = threshold_at(1);
  return params;
}

// The results that a call must produce.
struct Output {
  int32_t* labels = nullptr;                // the label map, or null
  bool* mask = nullptr;                     // the output mask, or null; one of both is set
  bool counts = true;                       // return the number of regions
  std::optional<uint32_t> background = {};  // on a device: regions of this value get label 0
};

// Labels `frame`. Returns the number of regions, or nothing if it is not counted.
std::optional<uint32_t> run(const Voxels& voxels, const ConstFrame& frame,
                            const CcLabelParams& params, const Output& output, const Place& place);

}  // namespace regions::python
