// Running cclabel on a GPU in tests.
#include "tests/cclabel/cuda_case.hpp"

#include <algorithm>

#include "gpu/runtime/cuda_backend.hpp"

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
  poison();
}

void DeviceFrame::poison() {
  const std::vector<std::byte> guard(block_.bytes(), kGuard);
  queue_.copy_bytes(guard.data(), block_.data(), guard.size());
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
      std::fill(from, from + row, kGuard);  // what is left is the surroundings
    }
  }
  *intact = std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == kGuard; });
  return result;
}

CudaCase::CudaCase()
    : backend_(make_cuda_backend()), entry_(*backend_), queue_(backend_->make_queue()) {
  backend_ = std::make_shared<PoisonedBackend>(backend_);
  algorithm_ = make_algorithm<CcLabelParams, BackendKind::cuda>(backend_);
}

CudaResult CudaCase::label(const ConstFrame& in, const ConstFrame& mask,
                           const CcLabelParams& params, int padding, uint32_t capacity) {
  DeviceFrame picture(*backend_, *queue_, in.layout.format, in.size(), padding, in.color);
  picture.upload(in);
  DeviceFrame labels(*backend_, *queue_, PixelFormat::labels32, in.size(),
                     std::max(padding, 0) * 4);
  Setup setup{.in = in.layout, .size = in.size(), .color = in.color, .max_regions = capacity};
  FrameTask task;
  std::unique_ptr<DeviceFrame> attached;
  if (!mask.empty()) {
    setup.has_mask = true;
    setup.mask = mask.layout;
    attached =
        std::make_unique<DeviceFrame>(*backend_, *queue_, mask.layout.format, mask.size(), 0);
    attached->upload(mask);
    task.mask = attached->frame();
  }
  algorithm_->prepare(params);
  algorithm_->configure(setup);

  const Block records = backend_->allocate_pinned(capacity * sizeof(Region) + 16);
  std::fill_n(records.as<std::byte>(), records.bytes(), static_cast<std::byte>(0xA5));
  auto* table = records.as<Region>();
  auto* total = reinterpret_cast<uint32_t*>(table + capacity);
  const Frame out = labels.frame();
  task.in = picture.frame();
  task.labels = {reinterpret_cast<uint32_t*>(out.plane[0]), out.width, out.height, out.pitch[0]};
  task.table = {table, capacity, total};
  algorithm_->enqueue(task, params, *queue_);
  queue_->record();
  queue_->wait();

  CudaResult result;
  const GuardedFrame pixels = labels.download(&result.intact);
  const auto* first = reinterpret_cast<const uint32_t*>(pixels.frame().plane[0]);
  result.labels.assign(first, first + in.size().area());
  result.total = *total;
  result.regions.assign(table, table + std::min(*total, capacity));
  bool input_intact = false;
  picture.download(&input_intact);
  result.intact = result.intact && input_intact;
  return result;
}

GuardedFrame CudaCase::output(const ConstFrame& in, const CcLabelParams& params, PixelFormat format,
                              bool* intact) {
  DeviceFrame picture(*backend_, *queue_, in.layout.format, in.size(), 0, in.color);
  picture.upload(in);
  DeviceFrame out(*backend_, *queue_, format, in.size(), 5 * layout_of(format).sample_bytes,
                  in.color);
  Setup setup{.in = in.layout, .size = in.size(), .color = in.color};
  setup.out = layout_of(format);
  setup.has_output = true;
  algorithm_->prepare(params);
  algorithm_->configure(setup);
  FrameTask task;
  task.in = picture.frame();
  task.out = out.frame();
  algorithm_->enqueue(task, params, *queue_);
  queue_->record();
  queue_->wait();
  return out.download(intact);
}

int CudaCase::repeats_that_differ(const ConstFrame& in, const CcLabelParams& params,
                                  const std::vector<uint32_t>& expected, int times) {
  DeviceFrame picture(*backend_, *queue_, in.layout.format, in.size(), 0);
  picture.upload(in);
  algorithm_->prepare(params);
  algorithm_->configure({.in = in.layout, .size = in.size(), .color = in.color});
  const size_t bytes = in.size().area() * sizeof(uint32_t);
  const Block labels = backend_->allocate(bytes), host = backend_->allocate_pinned(bytes);
  FrameTask task;
  task.in = picture.frame();
  task.labels = {labels.as<uint32_t>(), in.width, in.height, in.width * 4};
  int different = 0;
  for (int i = 0; i < times; ++i) {
    algorithm_->enqueue(task, params, *queue_);
    queue_->copy_bytes(labels.data(), host.data(), bytes);
    queue_->record();
    queue_->wait();
    different += !std::equal(expected.begin(), expected.end(), host.as<uint32_t>());
  }
  return different;
}

}  // namespace regions
