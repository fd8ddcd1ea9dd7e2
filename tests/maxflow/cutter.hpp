// Runs minimum cuts on any backend.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "core/maxflow/maxflow.hpp"
#include "tests/maxflow/oracle.hpp"

namespace regions {

inline constexpr Neighbours kBothNeighbours[] = {Neighbours::four, Neighbours::eight};

// A solver with its queue, and the mask and report of the last frame.
class Cutter {
 public:
  Cutter(std::shared_ptr<Backend> backend, std::unique_ptr<GridCut> cut, Size size,
         Neighbours neighbours)
      : backend_(std::move(backend)),
        queue_(backend_->make_queue()),
        cut_(std::move(cut)),
        size_(size),
        pitch_(static_cast<size_t>(size.width) + kPadding) {
    mask_ = backend_->allocate(pitch_ * static_cast<size_t>(size.height));
    report_ = backend_->allocate_pinned(sizeof(CutResult));
    cut_->configure(size, neighbours, 1);
  }

  // The weights are in host memory and must stay valid until wait() returns.
  void enqueue(const GridGraph& weights, const CutLimits& limits = {}) {
    GridGraph graph = weights;
    size_t k = 0;
    for (auto* image :
         {&graph.terminal, &graph.right, &graph.down, &graph.down_right, &graph.down_left}) {
      if (image->empty()) continue;
      Block& block = weights_[k++];
      const size_t bytes = static_cast<size_t>(image->pitch) * static_cast<size_t>(image->height);
      if (block.bytes() < bytes) block = backend_->allocate(bytes);
      queue_->copy_bytes(image->data, block.data(), bytes);
      image->data = block.as<int32_t>();
    }
    padded_.assign(mask_.bytes(), kUntouched);
    queue_->copy_bytes(padded_.data(), mask_.data(), mask_.bytes());
    cut_->enqueue(graph,
                  {mask_.as<uint8_t>(), size_.width, size_.height, static_cast<ptrdiff_t>(pitch_)},
                  limits, report_.as<CutResult>(), 0, *queue_);
    queue_->copy_bytes(mask_.data(), padded_.data(), mask_.bytes());
    queue_->record();
  }
  void wait() {
    queue_->wait();
    mask.clear();
    for (size_t start = 0; start < padded_.size(); start += pitch_) {
      const auto row = padded_.begin() + static_cast<ptrdiff_t>(start);
      mask.insert(mask.end(), row, row + size_.width);
      for (int x = size_.width; x < size_.width + kPadding; ++x) {
        EXPECT_EQ(row[x], kUntouched) << "written outside the mask";
      }
    }
  }
  const CutResult& solve(const GridGraph& weights, const CutLimits& limits = {}) {
    enqueue(weights, limits);
    wait();
    return report();
  }
  const CutResult& report() const { return *report_.as<CutResult>(); }
  GridCut& cut() { return *cut_; }
  Queue& queue() { return *queue_; }
  // The capacity of the mask's cut, computed from the weights.
  int64_t mask_value(const GridGraph& weights) const {
    return cut_value(weights, {mask.data(), size_.width, size_.height, size_.width});
  }

  std::vector<uint8_t> mask;  // [height][width]

 private:
  static constexpr int kPadding = 5;
  static constexpr uint8_t kUntouched = 0x5a;

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<GridCut> cut_;
  Size size_;
  size_t pitch_;
  std::array<Block, 5> weights_;
  Block mask_, report_;
  std::vector<uint8_t> padded_;
};

// The certificate of a minimum cut: the mask's capacity equals the flow, so both are optimal.
inline void expect_certified(const Cutter& cutter, const GridGraph& graph) {
  EXPECT_TRUE(cutter.report().exact);
  EXPECT_EQ(cutter.report().gap, 0);
  EXPECT_EQ(cutter.report().flow, cutter.mask_value(graph));
}

}  // namespace regions
