// Manages the inputs and outputs of TestStand in the backend's memory, and copies outputs to the
// host.
#include "bench/programs/stand.hpp"

#include <algorithm>
#include <cstring>

#include "core/frame.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {
namespace {

constexpr int kOverwriteByte = 0xA5;  // value of all bytes after overwrite_outputs()

}  // namespace

std::string difference(const Answer& expected, const Answer& got) {
  if (expected.total != got.total) {
    return std::to_string(got.total) + " regions instead of " + std::to_string(expected.total);
  }
  const auto first_mismatch = std::mismatch(expected.labels.begin(), expected.labels.end(),
                                            got.labels.begin(), got.labels.end());
  if (first_mismatch.first != expected.labels.end()) {
    return "pixel " + std::to_string(first_mismatch.first - expected.labels.begin()) +
           " has label " + std::to_string(*first_mismatch.second) + " instead of " +
           std::to_string(*first_mismatch.first);
  }
  for (size_t i = 0; i < got.regions.size(); ++i) {
    if (std::memcmp(&expected.regions[i], &got.regions[i], sizeof(Region)) != 0) {
      return "the record of region " + std::to_string(i + 1) + " differs";
    }
  }
  return {};
}

Frames::Frames(std::shared_ptr<Backend> backend, const Setup& setup, int count, Outputs outputs)
    : backend_(std::move(backend)),
      queue_(backend_->make_queue()),
      setup_(setup),
      buffers_(static_cast<size_t>(count)) {
  const Size input{setup.size.width, setup.size.height * setup.depth};
  const Size output{input.width, input.height * setup.layers};
  const Layout& label_layout = layout_of(PixelFormat::labels32);
  const size_t label_bytes = outputs.labels ? packed_bytes(label_layout, output) : 0;
  const size_t mask_bytes = outputs.mask ? output.area() : 0;
  const uint32_t capacity = outputs.records ? setup.max_regions : 0;
  if (label_bytes + mask_bytes) {
    staging_ = backend_->allocate_pinned(std::max(label_bytes, mask_bytes));
  }
  int slot = 0;
  for (FrameBuffers& buffers : buffers_) {
    FrameTask& task = buffers.task;
    task.slot = slot++ % setup.slots;
    task.slices = setup.depth;
    buffers.in = backend_->allocate(packed_bytes(setup.in, input));
    task.in = packed_frame(setup.in, input, setup.color, backend_->memory(), buffers.in.data());
    if (outputs.labels) {
      buffers.labels = backend_->allocate(label_bytes);
      const Frame map =
          packed_frame(label_layout, output, {}, backend_->memory(), buffers.labels.data());
      task.labels = map.plane_as<uint32_t>(0, output.width, output.height);
    }
    if (outputs.mask) {
      buffers.mask = backend_->allocate(mask_bytes);
      task.foreground = {buffers.mask.as<uint8_t>(), output.width, output.height, output.width};
    }
    if (!outputs.total && !outputs.records) continue;
    buffers.table = backend_->allocate_pinned((capacity + 1) * sizeof(Region));
    auto* records = buffers.table.as<Region>();
    task.table = {capacity ? records : nullptr, capacity,
                  reinterpret_cast<uint32_t*>(records + capacity)};
  }
}

void Frames::set_input(int frame, const ConstFrame& picture) {
  const FrameBuffers& buffers = buffers_[static_cast<size_t>(frame)];
  const Frame to = packed_frame(setup_.in, buffers.task.in.size(), setup_.color, backend_->memory(),
                                buffers.in.data());
  if (picture.layout.format == setup_.in.format) {
    queue_->copy(picture, to);
    return wait_for_all();
  }
  const GuardedFrame converted = convert(picture, setup_.in.format);
  queue_->copy(converted.frame(), to);
  wait_for_all();
}

void Frames::wait_for_all() {
  queue_->record();
  queue_->wait();
}

void Frames::overwrite_outputs() {
  if (staging_.bytes()) std::memset(staging_.data(), kOverwriteByte, staging_.bytes());
  for (FrameBuffers& buffers : buffers_) {
    for (const Block* output : {&buffers.labels, &buffers.mask}) {
      if (output->bytes()) queue_->copy_bytes(staging_.data(), output->data(), output->bytes());
    }
    if (buffers.table.bytes())
      std::memset(buffers.table.data(), kOverwriteByte, buffers.table.bytes());
  }
  wait_for_all();
}

void Frames::fetch(const Block& output) {
  queue_->copy_bytes(output.data(), staging_.data(), output.bytes());
  wait_for_all();
}

const uint32_t* Frames::fetched_row(const LabelMap& labels, int row) const {
  return reinterpret_cast<const uint32_t*>(staging_.as<std::byte>() + row * labels.pitch);
}

Answer Frames::answer(int frame) {
  const FrameBuffers& buffers = buffers_[static_cast<size_t>(frame)];
  const LabelMap& map = buffers.task.labels;
  fetch(buffers.labels);
  Answer answer;
  answer.labels.reserve(map.size().area());
  for (int y = 0; y < map.height; ++y) {
    const uint32_t* row = fetched_row(map, y);
    answer.labels.insert(answer.labels.end(), row, row + map.width);
  }
  const RegionTable& table = buffers.task.table;
  answer.total =
      table.total ? *table.total : *std::max_element(answer.labels.begin(), answer.labels.end());
  const uint32_t recorded = std::min(answer.total, table.capacity);
  if (recorded) answer.regions.assign(table.regions, table.regions + recorded);
  return answer;
}

bool Frames::has_labels(int frame, std::span<const uint32_t> expected) {
  const FrameBuffers& buffers = buffers_[static_cast<size_t>(frame)];
  const LabelMap& map = buffers.task.labels;
  const auto width = static_cast<size_t>(map.width);
  if (expected.size() != map.size().area()) return false;
  fetch(buffers.labels);
  for (int y = 0; y < map.height; ++y) {
    const uint32_t* row = fetched_row(map, y);
    if (!std::equal(row, row + width, &expected[static_cast<size_t>(y) * width])) return false;
  }
  return true;
}

std::span<const uint8_t> Frames::mask(int frame) {
  const Block& mask = buffers_[static_cast<size_t>(frame)].mask;
  fetch(mask);
  return {staging_.as<uint8_t>(), mask.bytes()};
}

std::vector<ClockedTime> Frames::time_each(const FrameWork& enqueue, const Effort& effort,
                                           int calls) {
  if (backend_->kind() == BackendKind::cuda) {
    const CudaTimes times = time_on_cuda(*queue_, calls, enqueue, effort.max_timings);
    return {{"graph", times.graph}, {"stream", times.stream}};
  }
  const auto run = [&](int call) {
    enqueue(call);
    wait_for_all();
  };
  return {{"wall", time_calls(calls, run, effort)}};
}

}  // namespace regions
