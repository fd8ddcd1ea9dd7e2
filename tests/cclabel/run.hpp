// Runs cclabel on any backend, on single frames and on streams, and compares the results.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/cclabel/oracle.hpp"
#include "tests/pictures/backend_test.hpp"

namespace regions {

struct RunOptions {
  std::optional<PixelFormat> out;  // format of the output picture; empty: no output picture
  int padding = 0;                 // samples after each row of all pictures and maps
  // Makes the rows of the input start at multiples of 16 bytes, whatever `padding` is.
  bool is_aligned = false;
  bool wants_labels = true;
  bool wants_records = true;
  uint32_t capacity = 1 << 17;                  // maximum number of records
  int slices = 1;                               // number of slices that are stacked in the frame
  int depth = 1;                                // configured maximum of slices
  uint32_t most_runs = 0;                       // maximum number of runs
  bool mask_is_small = false;                   // see FrameTask
  std::optional<uint32_t> excluded_value = {};  // see FrameTask
  bool is_prepared = true;  // false: without prepare(), as if the criterion changed later
};

struct RunResult {
  Labelling labelling;              // labels, and the records
  uint32_t total = 0;               // number of all regions
  std::vector<PixelRun> runs;       // recorded runs
  uint32_t total_runs = 0;          // number of all runs
  std::optional<GuardedFrame> out;  // output picture
  bool intact = false;              // no byte outside the inputs and outputs was written
  uint32_t passes = 0;              // see CcLabel::passes()
};

// Labels one frame. Configures the algorithm for it.
RunResult run(Backend& backend, Algorithm<CcLabelParams>& algorithm, const ConstFrame& in,
              const ConstFrame& mask, const CcLabelParams& params, const RunOptions& options = {});
RunResult run_on_cpu(int threads, const ConstFrame& in, const ConstFrame& mask,
                     const CcLabelParams& params, const RunOptions& options = {});

struct StreamOptions {
  int slots = 1;
  bool wants_labels = true;
  uint32_t capacity = 4096;
  uint32_t most_runs = 0;
  std::optional<PixelFormat> out;
  std::vector<ConstFrame> masks;  // gray8, one per frame; empty: no masks
};

struct StreamFrame {
  Labelling labelling;
  uint32_t total = 0;
  std::vector<Region> occluded;    // records of tracks that are hidden in other tracks' regions
  std::vector<TrackState> states;  // of the regions, then of the occluded tracks
  std::vector<uint8_t> out;        // output picture, rows without padding
  std::vector<PixelRun> runs;
  TrackEvents events;
};

// One algorithm with track=true or sliding=true, for frames of one size and format, with several
// frames in flight.
class CcLabelStream {
 public:
  CcLabelStream(std::shared_ptr<Backend> backend, const Layout& layout, Size size,
                const CcLabelParams& params, StreamOptions options = {});
  ~CcLabelStream();
  std::vector<StreamFrame> run(const std::vector<ConstFrame>& frames, const CcLabelParams& params);
  void reset() { algorithm_->reset(); }
  void begin_scene() { algorithm_->begin_scene(); }

 private:
  class Slot;
  std::shared_ptr<Backend> backend_;
  Backend::Entry entry_;
  StreamOptions options_;
  Setup setup_;
  std::unique_ptr<Algorithm<CcLabelParams>> algorithm_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

// Enlarges a mask to a picture's size, as FrameTask::mask_is_small specifies.
GuardedFrame enlarged(const ConstFrame& mask, Size size);

// Describe the first difference; empty if there is none.
std::string difference(const Labelling& found, const Labelling& expected, int width);
std::string difference(const std::vector<PixelRun>& found, const std::vector<PixelRun>& expected);
std::string difference(const RunResult& found, const RunResult& expected, int width);
std::string difference(const std::vector<StreamFrame>& found,
                       const std::vector<StreamFrame>& expected, int width);

// "threshold=0.3 connectivity=4 …": the parameters that differ from the defaults.
std::string to_text(const CcLabelParams& params);

// Compares the CPU with the oracle, and CUDA with the CPU.
class CcLabelTest : public BackendTest {
 protected:
  RunResult run(const ConstFrame& in, const ConstFrame& mask, const CcLabelParams& params,
                const RunOptions& options = {}) const;
  // Labels, number of regions, records, runs; on CUDA the output picture, too. CUDA has several
  // methods for the same frame, see check_other_methods().
  void check(const ConstFrame& in, const CcLabelParams& params, const std::string& name,
             const RunOptions& options = {}, const ConstFrame& mask = {});

  std::shared_ptr<Backend> cpu_ = make_cpu_backend(2);

 private:
  void check_other_methods(const ConstFrame& in, const CcLabelParams& params, RunOptions options,
                           const ConstFrame& mask, const RunResult& expected);
};

}  // namespace regions
