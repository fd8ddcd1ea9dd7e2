// The oracles of cclabel. They are slow and obvious, and share no code with the backends.
#pragma once

#include <optional>
#include <vector>

#include "core/cclabel/cclabel.hpp"

namespace regions {

struct Labelling {
  std::vector<uint32_t> labels;  // [layer][slice][height][width]
  std::vector<Region> regions;   // all regions that pass the area filters and the seeds
};

// Labels a picture, or a volume whose slices are stacked in `in`, by flood fill. Labels are those
// before any overflow rule. With source=alpha or mask, criterion=equal and difference compare alpha
// or the mask's values, and the colour sums are still the picture's. The values of a labels32 mask
// are names: criterion=difference links equal values only. criterion=binary takes the nonzero
// pixels of a mask and ignores the threshold. Pixels of the value `excluded` get label 0.
Labelling label_slowly(const ConstFrame& in, const ConstFrame& mask, const CcLabelParams& params,
                       int slices = 1, std::optional<uint32_t> excluded = {});

// Labels frame t of a sliding window that began with frames[0]: labels the window as a volume, then
// numbers and measures the regions of its last slice. The frames are gray8; `params.source` may be
// image or mask (then `frames` are the masks). Colours are measured in `measured`. Tracks are the
// labels.
Labelling label_window_slowly(const std::vector<ConstFrame>& frames, size_t t,
                              const CcLabelParams& params, const ConstFrame& measured);

// Applies overflow=drop-smallest for labels up to `limit`.
void keep_largest(Labelling& labelling, uint32_t limit);

// The first `capacity` runs of labels 1..most in raster order, sorted by label and raster order.
struct SlowRuns {
  std::vector<PixelRun> runs;
  uint32_t total = 0;  // including the runs beyond the capacity
};
SlowRuns runs_slowly(const std::vector<uint32_t>& labels, int width, uint32_t most,
                     uint32_t capacity);

}  // namespace regions
