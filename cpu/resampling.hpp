// Scales whole frames in host memory, as core/resampling.hpp defines it for single samples. All
// functions divide the rows among the workers and return when the frame is complete.
#pragma once

#include "core/resampling.hpp"
#include "core/workers.hpp"

namespace regions {

// Scales `from` down to `to`, which has the same format and at most the same size. Each sample
// becomes the rounded mean of the samples that it covers.
void shrink(const ConstFrame& from, const Frame& to, const Workers& workers);

// Transfers drawing from a small picture to a large one. `before` and `after` are the small picture
// without and with the drawing; `to` is the large picture, of the same format. Where a small sample
// has changed, all large samples that it covers get the new value. If `is_tint` is true, the
// difference is added to the large samples instead, so that they keep their detail.
void transfer_changes(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                      bool is_tint, const Workers& workers);

// Nearest-neighbour scaling: copies the pixels that `picking` selects. Pixels of `to` for which
// `picking` selects no pixel of `from` become 0. The frames have the same packed format.
void pick(const ConstFrame& from, const Frame& to, const PixelMapping& picking,
          const Workers& workers);

}  // namespace regions
