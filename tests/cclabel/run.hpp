// Running cclabel once, into guarded outputs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/cclabel/cclabel.hpp"
#include "tests/cclabel/oracle.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {

struct RunOptions {
  std::optional<PixelFormat> out;  // of the output picture; none without
  int padding = 0;                 // bytes after the output's rows
  bool wants_labels = true;
  uint32_t capacity = 1 << 17;  // records wanted
  int slices = 1;               // the frame is a stack of so many
  int depth = 1;                // configured, at least as many
  uint32_t most_runs = 0;       // wanted
  bool mask_is_small = false;   // see FrameTask
};

struct RunResult {
  Labelling labelling;              // labels, and the records
  uint32_t total = 0;               // regions counted
  std::vector<PixelRun> runs;       // those recorded
  uint32_t total_runs = 0;          // counted
  std::optional<GuardedFrame> out;  // the output picture
  bool intact = false;              // all guards are whole
};

// One frame on the CPU with so many threads.
RunResult run_on_cpu(int threads, const ConstFrame& in, const ConstFrame& mask,
                     const CcLabelParams& params, const RunOptions& options = {});

// A mask as a smaller one stands for it in a picture of such a size.
GuardedFrame enlarged(const ConstFrame& mask, Size size);

// A picture and parameters with seeds at random, in regions, beside them and outside; with filters
// in some cases.
struct SeededCase {
  std::string content;
  Size size;
  CcLabelParams params;
};
SeededCase seeded_case(uint32_t seed);

// What the overflow rule makes of an oracle's labelling when labels go up to `limit`.
void keep_largest(Labelling& labelling, uint32_t limit);

// Empty if equal, else what differs first.
std::string difference(const Labelling& found, const Labelling& expected, int width);

// "threshold=0.3 connectivity=4 …" of what is not as by default.
std::string to_text(const CcLabelParams& params);

}  // namespace regions
