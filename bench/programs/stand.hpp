// An algorithm on a backend with several frames. Each frame has its own input and
// outputs, so that a timing neither finds its input in the cache nor overwrites its last output.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/programs/cuda.hpp"

namespace regions {

// The outputs of the frames.
struct Outputs {
  bool labels = true;
  bool mask = false;
  bool total = false;    // number of regions
  bool records = false;  // records of up to Setup::max_regions regions
};

struct Answer {
  std::vector<uint32_t> labels;  // [rows][width]
  std::vector<Region> regions;   // recorded regions
  uint32_t total = 0;            // from the table; without a table, the largest label
};
// Describes the first difference; empty if the answers are equal. Records are compared if `got` has
// any.
std::string difference(const Answer& expected, const Answer& got);

// The time of a frame by one of its backend's clocks.
struct ClockedTime {
  const char* clock;  // graph and stream on a GPU, wall on the CPU
  Timing time;
};

// The frames, for any algorithm. All Setup::depth slices of a volume are in one frame.
class Frames {
 public:
  // The setup's slots are used in turn.
  Frames(std::shared_ptr<Backend> backend, const Setup& setup, int count, Outputs outputs);

  int count() const { return static_cast<int>(buffers_.size()); }
  Queue& queue() { return *queue_; }
  const FrameTask& task(int frame) const { return buffers_[static_cast<size_t>(frame)].task; }

  // Copies a picture into the frame. A gray picture is converted to the frame's format.
  void set_input(int frame, const ConstFrame& picture);
  // Waits for all work.
  void wait_for_all();
  // Overwrites the outputs, so that an earlier answer cannot be mistaken for a new one.
  void overwrite_outputs();
  // The answer of the last run of this frame. Waits for it.
  Answer answer(int frame);
  // Whether the labels equal these. Does not copy them all, because many layers need gigabytes.
  bool has_labels(int frame, std::span<const uint32_t> expected);
  // The frame's mask; valid until the next output is read.
  std::span<const uint8_t> mask(int frame);
  uint32_t total(int frame) const { return *task(frame).table.total; }

 protected:
  // On a GPU, one graph has `calls` calls of the work, on the frames in turn.
  std::vector<ClockedTime> time_each(const FrameWork& enqueue, const Effort& effort, int calls);

 private:
  struct FrameBuffers {
    Block in, labels, mask, table;
    FrameTask task;
  };
  // Copies an output into staging and waits.
  void fetch(const Block& output);
  const uint32_t* fetched_row(const LabelMap& labels, int row) const;

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  Setup setup_;
  Block staging_;  // pinned, for the largest output
  std::vector<FrameBuffers> buffers_;
};

template <class P>
class TestStand : public Frames {
 public:
  // `algorithm` is made by the backend for P if it is not given.
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

  P params;  // may change, but must not need more than the initial parameters

 private:
  std::unique_ptr<Algorithm<P>> algorithm_;
};

}  // namespace regions
