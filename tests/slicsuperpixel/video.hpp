// Frames that move, for warm start on both backends.
#pragma once

#include "tests/slicsuperpixel/run.hpp"

namespace regions {

// A window of `size` into the scene, `x` pixels to the right; another scene if `cut`.
GuardedFrame panned_frame(Size size, int x, bool cut = false);

// Labels and records of each frame through one algorithm of a backend.
std::vector<Superpixels> run_frames(const std::shared_ptr<Backend>& backend,
                                    Algorithm<SlicParams>& algorithm,
                                    const std::vector<GuardedFrame>& frames,
                                    const SlicParams& params, int slots);

}  // namespace regions
