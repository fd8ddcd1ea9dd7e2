// Pictures in the memory of any backend, with guarded surroundings.
#pragma once

#include <memory>
#include <vector>

#include "core/backend.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {

// Wraps a backend and fills each newly allocated block with 0xA5.
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

// A padding that makes each row a multiple of 16 bytes.
inline constexpr int kToSixteen = -1;

// A picture in the backend's memory. A pattern before and after each plane and in the padding of
// the rows detects stray writes.
class DeviceFrame {
 public:
  // `padding`: bytes after each row, or kToSixteen.
  DeviceFrame(Backend& backend, Queue& queue, PixelFormat format, Size size, int padding,
              Colorimetry color = {});
  Frame frame() const { return view_; }
  void upload(const ConstFrame& from);
  // Returns the pixels. Sets `*intact` to whether the pattern is unchanged.
  GuardedFrame download(bool* intact) const;

 private:
  Frame host_view(std::vector<std::byte>& bytes) const;

  Queue& queue_;
  Block block_;
  Frame view_;
  Colorimetry color_;
};

}  // namespace regions
