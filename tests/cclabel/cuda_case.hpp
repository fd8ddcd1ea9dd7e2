// Runs cclabel on a GPU as a test wants it: inputs copied there, every output and workspace
// poisoned first, the surroundings of the outputs watched.
#pragma once

#include <memory>
#include <vector>

#include "core/cclabel/cclabel.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {

// A backend whose fresh memory is full of 0xA5, also when it is asked for again.
class PoisonedBackend : public Backend {
 public:
  explicit PoisonedBackend(std::shared_ptr<Backend> inner);
  BackendKind kind() const override { return inner_->kind(); }
  std::string description() const override { return inner_->description(); }
  Memory memory() const override { return inner_->memory(); }
  std::unique_ptr<Queue> make_queue(int priority) override { return inner_->make_queue(priority); }
  Block allocate(size_t bytes) override;
  Block allocate_pinned(size_t bytes) override { return inner_->allocate_pinned(bytes); }

 private:
  std::shared_ptr<Backend> inner_;
  std::unique_ptr<Queue> queue_;
};

// The padding of rows that begin at multiples of sixteen bytes.
inline constexpr int kToSixteen = -1;

// A picture in the GPU's memory with watched bytes around it and in the padding of its rows.
class DeviceFrame {
 public:
  DeviceFrame(Backend& backend, Queue& queue, PixelFormat format, Size size, int padding,
              Colorimetry color = {});
  Frame frame() const { return view_; }
  void upload(const ConstFrame& from);
  // The pixels as they are there; `*intact`: nothing outside them was written.
  GuardedFrame download(bool* intact) const;
  void poison();

 private:
  Frame host_view(std::vector<std::byte>& bytes) const;

  Queue& queue_;
  Block block_;
  Frame view_;
  Colorimetry color_;
};

struct CudaResult {
  std::vector<uint32_t> labels;  // [height][width]
  std::vector<Region> regions;   // as many as were recorded
  uint32_t total = 0;
  bool intact = true;
};

// One algorithm on one GPU, configured anew for each run.
class CudaCase {
 public:
  CudaCase();
  // `padding` bytes behind each row of the picture and, in whole labels, of the label map; or
  // kToSixteen, of the picture alone.
  CudaResult label(const ConstFrame& in, const ConstFrame& mask, const CcLabelParams& params,
                   int padding = 0, uint32_t capacity = 4096);
  // The output picture of that format.
  GuardedFrame output(const ConstFrame& in, const CcLabelParams& params, PixelFormat format,
                      bool* intact);
  // Labels the same picture again and again on dirty workspaces; how many results differ from the
  // first, and whether the first equals `expected`.
  int repeats_that_differ(const ConstFrame& in, const CcLabelParams& params,
                          const std::vector<uint32_t>& expected, int times);

 private:
  std::shared_ptr<Backend> backend_;
  Backend::Entry entry_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Algorithm<CcLabelParams>> algorithm_;
};

}  // namespace regions
