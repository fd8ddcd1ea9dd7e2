// Running slicsuperpixel once, into guarded outputs.
#pragma once

#include <optional>
#include <string>

#include "tests/slicsuperpixel/cases.hpp"
#include "tests/slicsuperpixel/oracle.hpp"

namespace regions {

struct SlicOptions {
  std::optional<PixelFormat> out;  // of the output picture; none without
  int padding = 0;                 // bytes after the output's rows
  uint32_t capacity = 1 << 16;     // records wanted
};

struct SlicResult {
  Superpixels superpixels;
  uint32_t total = 0;
  std::optional<GuardedFrame> out;
  bool intact = false;
};

SlicResult run_slic_on_cpu(int threads, const ConstFrame& in, const SlicParams& params,
                           const SlicOptions& options = {});

// Empty if equal, else what differs first; records as far as `found` has them.
std::string difference(const Superpixels& found, const Superpixels& expected, int width);

}  // namespace regions
