// Runs slicsuperpixel on any backend, with guarded outputs.
#pragma once

#include <optional>
#include <string>

#include "tests/slicsuperpixel/cases.hpp"
#include "tests/slicsuperpixel/oracle.hpp"

namespace regions {

struct SlicOptions {
  std::optional<PixelFormat> out;  // format of the output picture, if any
  int padding = 0;                 // bytes after the rows of the output picture
  uint32_t capacity = 1 << 16;     // number of requested records
  int repeats = 1;                 // frames that are enqueued one after another
};

struct SlicResult {
  Superpixels superpixels;
  uint32_t total = 0;
  std::optional<GuardedFrame> out;
  bool intact = false;  // nothing was written outside the outputs
};

SlicResult run_slic(const std::shared_ptr<Backend>& backend, const ConstFrame& in,
                    const SlicParams& params, const SlicOptions& options = {});
SlicResult run_slic_on_cpu(int threads, const ConstFrame& in, const SlicParams& params,
                           const SlicOptions& options = {});

// Labels and records of consecutive frames.
std::vector<Superpixels> run_frames(const std::shared_ptr<Backend>& backend,
                                    Algorithm<SlicParams>& algorithm,
                                    const std::vector<GuardedFrame>& frames,
                                    const SlicParams& params, int slots);

// Returns the first difference, or an empty string. Compares the records that `found` contains.
std::string difference(const Superpixels& found, const Superpixels& expected, int width);

}  // namespace regions
