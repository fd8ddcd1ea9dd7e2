// TestStand runs an algorithm on a backend with several frames. Each frame has its own input and
// outputs, so a timed run does not find its data in a cache.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/programs/cuda.hpp"

namespace regions {

// Selects the outputs that a frame has.
struct Outputs {
  bool labels = true;
  bool mask = false;
  bool total = false;    // the number of regions
  bool records = false;  // records of up to Setup::max_regions regions
};

struct Answer {
  std::vector<uint32_t> labels;  // [rows][width]
  std::vector<Region> regions;   // the region table
  uint32_t total = 0;            // number of regions; without a region table, the largest label
};
// Describes the first difference between two answers. Returns an empty string if they are equal.
// Region records are compared only if `got` has records.
std::string difference(const Answer& expected, const Answer& got);

// The time of a frame, measured with one kind of clock.
struct ClockedTime {
  const char* clock;  // "graph" or "stream" on a GPU (see CudaTimes), "wall" on the CPU
  Timing time;
};

// Inputs and outputs of several frames, for any algorithm. A frame contains all Setup::depth slices
// of a volume.
class Frames {
 public:
  // Frame i uses slot i % setup.slots.
  Frames(std::shared_ptr<Backend> backend, const Setup& setup, int count, Outputs outputs);

  int count() const { return static_cast<int>(buffers_.size()); }
  Queue& queue() { return *queue_; }
  const FrameTask& task(int frame) const { return buffers_[static_cast<size_t>(frame)].task; }

  // Copies a picture into the input of the frame. Converts it to the frame's pixel format if
  // necessary.
  void set_input(int frame, const ConstFrame& picture);
  // Waits for all work.
  void wait_for_all();
  // Overwrites the outputs, so that an earlier answer cannot be mistaken for a new one.
  void overwrite_outputs();
  // Waits for the last run of this frame and returns its outputs.
  Answer answer(int frame);
  // Returns true if the frame's labels equal the expected labels. Compares them in the staging
  // memory, because another copy of the labels of many layers would need gigabytes.
  bool has_labels(int frame, std::span<const uint32_t> expected);
  // Returns the frame's foreground mask. The result is valid until the next output is read.
  std::span<const uint8_t> mask(int frame);
  uint32_t total(int frame) const { return *task(frame).table.total; }

 protected:
  // Measures the time of one call of enqueue(call). On a GPU, one CUDA graph contains `calls`
  // calls.
  std::vector<ClockedTime> time_each(const FrameWork& enqueue, const Effort& effort, int calls);

 private:
  struct FrameBuffers {
    Block in, labels, mask, table;
    FrameTask task;
  };
  // Copies an output into the staging memory and waits for the copy.
  void fetch(const Block& output);
  const uint32_t* fetched_row(const LabelMap& labels, int row) const;

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  Setup setup_;
  Block staging_;  // pinned staging memory with the size of the largest output
  std::vector<FrameBuffers> buffers_;
};

// One algorithm with its frames on one backend.
template <class P>
class TestStand : public Frames {
 public:
  // If `algorithm` is null, the default implementation of the backend is used.
  TestStand(const std::shared_ptr<Backend>& backend, const Setup& setup, P parameters, int count,
            Outputs outputs = {}, std::unique_ptr<Algorithm<P>> algorithm = nullptr)
      : Frames(backend, setup, count, outputs),
        params(std::move(parameters)),
        algorithm_(algorithm ? std::move(algorithm) : make_algorithm_on<P>(backend)) {
    algorithm_->prepare(params);
    algorithm_->configure(setup);
  }

  Algorithm<P>& algorithm() { return *algorithm_; }
  void enqueue(int frame) { algorithm_->enqueue(task(frame), params, queue()); }
  void run(int frame) {
    enqueue(frame);
    wait_for_all();
  }
  std::vector<ClockedTime> time(const Effort& effort, int calls) {
    return time_each([this](int call) { enqueue(call % count()); }, effort, calls);
  }
  std::vector<ClockedTime> time(const Effort& effort) { return time(effort, count()); }

  P params;  // may change between runs, but must not need more memory than the initial values

 private:
  std::unique_ptr<Algorithm<P>> algorithm_;
};

}  // namespace regions
