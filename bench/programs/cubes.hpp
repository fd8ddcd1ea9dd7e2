// Volumes of gray values for benchmarks, and a stand that labels one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/cclabel/cclabel.hpp"

namespace regions {

// A cube. rand_g<granularity>_d<density>: 0 or 255; uniform: any value; smooth: four octaves of
// noise.
std::vector<uint8_t> make_cube(const std::string& content, int side);
// Tissues of a head, a value each, with some voxels of noise: air, skin, skull, brain, ventricles.
std::vector<uint8_t> make_head(Size slice, int slices);

// A volume (or, of one slice, a picture) of gray values on a backend: inputs and outputs of their
// own for each frame in turn.
class CubeStand {
 public:
  CubeStand(const std::shared_ptr<Backend>& backend,
            std::unique_ptr<Algorithm<CcLabelParams>> algorithm, const std::vector<uint8_t>& voxels,
            Size slice, int slices, const CcLabelParams& params, int frames);
  Queue& queue() { return *queue_; }
  int frames() const { return static_cast<int>(stations_.size()); }
  // Goes on with other parameters, which ask for nothing that the first ones did not.
  void use(const CcLabelParams& params) { params_ = params; }
  CcLabel& algorithm() { return static_cast<CcLabel&>(*algorithm_); }
  void enqueue(int frame) {
    algorithm_->enqueue(stations_[static_cast<size_t>(frame)].job, params_, *queue_);
  }
  void run(int frame) {
    enqueue(frame);
    wait();
  }
  std::vector<uint32_t> answer(int frame);
  // Whether that is the answer, without a copy of it: labels of many layers fill gigabytes.
  bool gives(const std::vector<uint32_t>& expected, int frame);

 private:
  struct Station {
    Block in, labels;
    Job job;
  };
  void fetch(int frame);  // its answer, into staging
  size_t label_bytes() const { return cells_ * sizeof(uint32_t); }
  void wait() {
    queue_->record();
    queue_->wait();
  }

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Algorithm<CcLabelParams>> algorithm_;
  std::unique_ptr<Queue> queue_;
  CcLabelParams params_;
  size_t cells_;  // of all layers
  Block staging_;
  std::vector<Station> stations_;
};

}  // namespace regions
