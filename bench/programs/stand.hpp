// An algorithm set up on a backend with several frames, each with input and outputs of its own, so
// that a timing neither finds its input in the cache nor overwrites its last output.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/programs/cuda.hpp"

namespace regions {

// Which outputs frames have.
struct Outputs {
  bool labels = true;
  bool mask = false;
  bool total = false;    // how many regions there are
  bool records = false;  // and what is known of Setup::max_regions of them
};

struct Answer {
  std::vector<uint32_t> labels;  // [rows][width]
  std::vector<Region> regions;   // those recorded
  uint32_t total = 0;            // as the table says; without one, the greatest label
};
// Empty if the answers are equal, else the first difference in words. Records are compared if `got`
// has any.
std::string difference(const Answer& expected, const Answer& got);

// The time of a frame by each clock that its backend has.
struct Clocked {
  const char* clock;  // graph and stream on a GPU, wall on the CPU
  Timing time;
};

// The frames, whatever works on them. A volume's slices, Setup::depth of them, lie in one frame.
class Frames {
 public:
  // The setup's slots are used in turn.
  Frames(std::shared_ptr<Backend> backend, const Setup& setup, int count, Outputs outputs);

  int count() const { return static_cast<int>(stations_.size()); }
  Queue& queue() { return *queue_; }
  const Job& job(int frame) const { return stations_[static_cast<size_t>(frame)].job; }

  // Gives the frame its picture; one of another format is a gray one and is converted.
  void show(int frame, const ConstFrame& picture);
  // Waits until all work is done.
  void finish();
  // Overwrites the outputs, so that an answer of an earlier run cannot pass.
  void spoil();
  // What the last run of this frame left; waits for it.
  Answer answer(int frame);
  // Whether it left these labels, without a copy of them: those of many layers fill gigabytes.
  bool has_labels(int frame, std::span<const uint32_t> expected);
  // Its mask, until the next output is looked at.
  std::span<const uint8_t> mask(int frame);
  uint32_t total(int frame) const { return *job(frame).table.total; }

 protected:
  // `calls` of the work, on frames in turn, are one graph on a GPU.
  std::vector<Clocked> time_each(const FrameWork& enqueue, const Effort& effort, int calls);

 private:
  struct Station {
    Block in, labels, mask, table;
    Job job;
  };
  // Copies an output into staging; waits for it.
  void fetch(const Block& output);
  const uint32_t* fetched_row(const LabelMap& labels, int row) const;

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  Setup setup_;
  Block staging_;  // pinned, for the largest output
  std::vector<Station> stations_;
};

template <class P>
class Stand : public Frames {
 public:
  // `algorithm` is what the backend makes of P, unless it is given.
  Stand(const std::shared_ptr<Backend>& backend, const Setup& setup, P parameters, int count,
        Outputs outputs = {}, std::unique_ptr<Algorithm<P>> algorithm = nullptr)
      : Frames(backend, setup, count, outputs),
        params(std::move(parameters)),
        algorithm_(algorithm ? std::move(algorithm) : make_on<P>(backend)) {
    algorithm_->prepare(params);
    algorithm_->configure(setup);
  }

  Algorithm<P>& algorithm() { return *algorithm_; }
  void enqueue(int frame) { algorithm_->enqueue(job(frame), params, queue()); }
  void run(int frame) {
    enqueue(frame);
    finish();
  }
  std::vector<Clocked> time(const Effort& effort, int calls) {
    return time_each([this](int call) { enqueue(call % count()); }, effort, calls);
  }
  std::vector<Clocked> time(const Effort& effort) { return time(effort, count()); }

  P params;  // may change to what asks for nothing that the first ones did not

 private:
  std::unique_ptr<Algorithm<P>> algorithm_;
};

}  // namespace regions
