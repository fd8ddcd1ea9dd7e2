// Pictures whose runs fit into the shared memory of one cluster of blocks: labelled, numbered,
// measured and written by one launch, with no memory of the device's between.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/base/records.hpp"
#include "gpu/cclabel/base/subject.hpp"

namespace regions::cclabel {

// Whether the device in use does so with pictures of such a size. Prepares it for that.
bool fits_strips(Size size);

// What is made of a picture.
struct StripOutputs {
  LabelMap labels;
  Records records;    // with a capacity: of the labels
  RegionTable table;  // likewise: where they go
};

// Labels a subject of criterion=binary that fits_strips(); `frame` has the regions' colours.
void label_strips(const Subject& subject, Connectivity connectivity, const ConstFrame& frame,
                  const StripOutputs& out, cudaStream_t stream);

}  // namespace regions::cclabel
