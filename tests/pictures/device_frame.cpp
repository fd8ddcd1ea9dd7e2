// Pictures in the memory of any backend.
#include "tests/pictures/device_frame.hpp"

#include <algorithm>

namespace regions {
namespace {

constexpr auto kGuard = static_cast<std::byte>(0xC3);
constexpr size_t kGuardBytes = 256;

}  // namespace

PoisonedBackend::PoisonedBackend(std::shared_ptr<Backend> inner)
    : inner_(std::move(inner)), queue_(inner_->make_queue()) {}

Block PoisonedBackend::allocate(size_t bytes) {
  Block block = inner_->allocate(bytes);
  const std::vector<std::byte> poison(bytes, static_cast<std::byte>(0xA5));
  queue_->copy_bytes(poison.data(), block.data(), bytes);
  queue_->record();
  queue_->wait();
  return block;
}

DeviceFrame::DeviceFrame(Backend& backend, Queue& queue, PixelFormat format, Size size, int padding,
                         Colorimetry color)
    : queue_(queue), color_(color) {
  view_.layout = layout_of(format);
  view_.width = size.width;
  view_.height = size.height;
  view_.color = color;
  view_.memory = backend.memory();
  size_t start[3] = {}, bytes = kGuardBytes;
  for (int p = 0; p < view_.layout.planes; ++p) {
    const size_t row = row_bytes(view_.layout, p, size);
    const size_t pitch =
        padding == kToSixteen ? (row + 15) / 16 * 16 : row + static_cast<size_t>(padding);
    start[p] = bytes;
    view_.pitch[p] = static_cast<ptrdiff_t>(pitch);
    bytes += pitch * static_cast<size_t>(row_count(view_.layout, p, size)) + kGuardBytes;
    bytes = (bytes + 255) / 256 * 256;
  }
  block_ = backend.allocate(bytes);
  for (int p = 0; p < view_.layout.planes; ++p) view_.plane[p] = block_.as<std::byte>() + start[p];
  const std::vector<std::byte> guard(bytes, kGuard);
  queue_.copy_bytes(guard.data(), block_.data(), bytes);
  queue_.record();
  queue_.wait();
}

void DeviceFrame::upload(const ConstFrame& from) {
  queue_.copy(from, view_);
  queue_.record();
  queue_.wait();
}

Frame DeviceFrame::host_view(std::vector<std::byte>& bytes) const {
  Frame host = view_;
  host.memory = Memory::host;
  for (int p = 0; p < view_.layout.planes; ++p) {
    host.plane[p] = bytes.data() + (view_.plane[p] - block_.as<std::byte>());
  }
  return host;
}

GuardedFrame DeviceFrame::download(bool* intact) const {
  std::vector<std::byte> bytes(block_.bytes());
  queue_.copy_bytes(block_.data(), bytes.data(), bytes.size());
  queue_.record();
  queue_.wait();
  const Frame host = host_view(bytes);
  GuardedFrame result(view_.layout.format, view_.size(), 0, color_);
  for (int p = 0; p < host.layout.planes; ++p) {
    const size_t row = row_bytes(host.layout, p, host.size());
    for (int y = 0; y < row_count(host.layout, p, host.size()); ++y) {
      std::byte* from = host.plane[p] + y * host.pitch[p];
      std::byte* to = result.frame().plane[p] + y * result.frame().pitch[p];
      std::copy(from, from + row, to);
      // Only the surroundings remain to be compared. g++ 16 warns of std::fill here without cause.
      for (size_t i = 0; i < row; ++i) from[i] = kGuard;
    }
  }
  *intact = std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == kGuard; });
  return result;
}

}  // namespace regions
