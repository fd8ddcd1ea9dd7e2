// cclabel for arrays: what label.cpp and masks.cpp share.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "python/arrays.hpp"
#include "python/engines.hpp"
#include "python/settings.hpp"
#include "python/values.hpp"

namespace regions::python {

// What is labelled: the array itself where cclabel takes its elements, else what is made of it.
struct Picture {
  Made made;
  ConstFrame frame;

  void take(Made&& other, const Voxels& voxels) {
    made = std::move(other);
    frame = frame_at(made.bytes.data(), made.format, {voxels.slice.width, voxels.rows()});
  }
};

// The threshold that bytes of at least `level` reach, and no lower ones.
inline double threshold_at(int level) { return (level - 0.5) / 255; }

inline CcLabelParams parameters_of_mask(const Settings& settings) {
  auto params = parameters<CcLabelParams>(settings);
  params.threshold = threshold_at(1);
  return params;
}

// What a call is to do, besides where.
struct Output {
  int32_t* labels = nullptr;                // what regions become, or else
  bool* mask = nullptr;                     // this
  bool counts = true;                       // wanted is how many there are
  std::optional<uint32_t> background = {};  // on a device: the value of regions without a number
};

// How many regions there are; nothing if that does not count.
std::optional<uint32_t> run(const Voxels& voxels, const ConstFrame& frame,
                            const CcLabelParams& params, const Output& output, const Place& place);

}  // namespace regions::python
