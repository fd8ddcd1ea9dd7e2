// The gpu layer on fake devices. The CPU does the work. Like a GPU, a device refuses memory of
// another device.
#include <algorithm>
#include <string>
#include <thread>

#include "cpu/backend.hpp"
#include "gpu/runtime/cuda_backend.hpp"
#include "tests/algorithms.hpp"
#include "tests/plugin/fake_gpu/devices.hpp"

namespace regions {
namespace {

constexpr int kHost = -1;

// Throws MemoryError in the words of gpu/runtime/cuda_backend.cpp.
void expect_free(int device, size_t bytes, size_t taken) {
  const size_t all = fake::free_memory();
  const size_t left = all < taken ? 0 : all - taken;
  if (bytes <= left) return;
  throw MemoryError("out of GPU memory on cuda:" + std::to_string(device) +
                    " fake: " + std::to_string(bytes) + " bytes wanted, " + std::to_string(left) +
                    " bytes are free");
}

void expect_on(int device, const void* data, const char* what) {
  if (!data || fake::device_of(data) == device) return;
  throw DeviceError(std::string("an illegal address on fake cuda:") + std::to_string(device) +
                    ": " + what);
}

class FakeQueue final : public Queue {
 public:
  FakeQueue(int device, std::unique_ptr<Queue> cpu) : cpu_(std::move(cpu)), device_(device) {}
  Queue& cpu() { return *cpu_; }

  void copy(const ConstFrame& from, const Frame& to) override {
    expect_on(from.memory == Memory::device ? device_ : kHost, from.plane[0], "copied from");
    expect_on(to.memory == Memory::device ? device_ : kHost, to.plane[0], "copied to");
    cpu_->copy(from, to);
  }
  void copy_bytes(const void* from, void* to, size_t bytes) override {
    for (const void* side : {from, static_cast<const void*>(to)}) {
      if (fake::device_of(side) >= 0) expect_on(device_, side, "copied bytes");
    }
    cpu_->copy_bytes(from, to, bytes);
  }
  void start() override { cpu_->start(); }
  void record() override { cpu_->record(); }
  bool done() const override { return cpu_->done(); }
  void wait() override { cpu_->wait(); }
  int64_t elapsed() const override { return cpu_->elapsed(); }
  void* native() const override { return const_cast<FakeQueue*>(this); }
  void lead(void* native) override {
    ++fake::leads();
    const CpuQueue* const before = &queue_of(*cpu_);
    queue_of(static_cast<FakeQueue*>(native)->cpu()).submit([before] {
      while (!before->done()) std::this_thread::yield();
    });
  }
  void follow(void* native) override {
    auto* stream = static_cast<fake::Stream*>(native);
    ++stream->followed;
    queue_of(*cpu_).submit([stream] { stream->wait(); });
  }
  void shrink(const ConstFrame& from, const Frame& to) override { cpu_->shrink(from, to); }
  void transfer_changes(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                        bool is_tint) override {
    cpu_->transfer_changes(before, after, to, is_tint);
  }
  void pick(const ConstFrame& from, const Frame& to, const PixelMapping& picking) override {
    cpu_->pick(from, to, picking);
  }

 private:
  std::unique_ptr<Queue> cpu_;
  const int device_;
};

class FakeBackend final : public Backend, public std::enable_shared_from_this<FakeBackend> {
 public:
  explicit FakeBackend(int device) : device_(device) {}
  BackendKind kind() const override { return BackendKind::cuda; }
  std::string description() const override { return "cuda:" + std::to_string(device_) + " fake"; }
  int device() const override { return device_; }
  Memory memory() const override { return Memory::device; }
  std::unique_ptr<Queue> make_queue(int priority) override {
    fake::priorities().queue = priority;
    return std::make_unique<FakeQueue>(device_, cpu_->make_queue());
  }
  Block allocate(size_t bytes) override {
    expect_free(device_, bytes, fake::kContextBytes);
    auto block = std::make_unique<Block>(cpu_->allocate(bytes));
    void* data = block->data();
    fake::own(data, bytes, device_);
    const auto free_block = [](void* owner, void* memory) {
      fake::disown(memory);
      delete static_cast<Block*>(owner);
    };
    return {data, bytes, free_block, block.release(), shared_from_this()};
  }
  Block allocate_pinned(size_t bytes) override { return cpu_->allocate_pinned(bytes); }
  std::shared_ptr<void> reserve_pinned(size_t bytes) override {
    fake::pinned_room() += bytes;
    return {new size_t(bytes), [](size_t* kept) {
              fake::pinned_room() -= *kept;
              delete kept;
            }};
  }

 private:
  const int device_;
  std::shared_ptr<Backend> cpu_ = make_cpu_backend(1);
};

// `Interface` is the type that elements cast the algorithm to.
template <class P, class Interface = Algorithm<P>>
class FakeAlgorithm : public Interface {
 public:
  explicit FakeAlgorithm(int device)
      : cpu_(make_algorithm<P, BackendKind::cpu>(make_cpu_backend(1))), device_(device) {}
  void prepare(const P& params) override { cpu_->prepare(params); }
  void configure(const Setup& setup) override {
    fake::priorities().algorithm = setup.priority;
    cpu_->configure(setup);
  }
  void enqueue(const FrameTask& task, const P& params, Queue& queue) override {
    expect_on(device_, task.in.plane[0], "the picture");
    expect_on(device_, task.mask.plane[0], "the mask");
    expect_on(device_, task.out.plane[0], "the picture that comes out");
    expect_on(device_, task.labels.data, "the labels");
    cpu_->enqueue(task, params, static_cast<FakeQueue&>(queue).cpu());
  }
  void reset() override { cpu_->reset(); }
  void begin_scene() override { cpu_->begin_scene(); }

 protected:
  Interface& cpu() const { return static_cast<Interface&>(*cpu_); }

 private:
  const std::unique_ptr<Algorithm<P>> cpu_;
  const int device_;
};

class FakeCcLabel final : public FakeAlgorithm<CcLabelParams, CcLabel> {
 public:
  using FakeAlgorithm::FakeAlgorithm;
  TrackEvents track_events(int slot) const override { return cpu().track_events(slot); }
  uint32_t passes(int slot) const override { return cpu().passes(slot); }
};

class FakeGraphCutBg final : public FakeAlgorithm<GraphCutBgParams, GraphCutBg> {
 public:
  using FakeAlgorithm::FakeAlgorithm;
  void set_picture(GraphCutPicture which, const ConstFrame& picture) override {
    cpu().set_picture(which, picture);
  }
  std::vector<std::byte> state() override { return cpu().state(); }
  void restore(std::span<const std::byte> state) override { cpu().restore(state); }
  GraphCutResult result(int slot) const override { return cpu().result(slot); }
};

template <class P>
struct FakeOf {
  using Type = FakeAlgorithm<P>;
};
template <>
struct FakeOf<CcLabelParams> {
  using Type = FakeCcLabel;
};
template <>
struct FakeOf<GraphCutBgParams> {
  using Type = FakeGraphCutBg;
};

}  // namespace

int cuda_device_count() { return fake::kDevices; }

void* primary_context(int ordinal) {
  if (ordinal >= fake::kDevices) throw DeviceError("no fake device " + std::to_string(ordinal));
  expect_free(ordinal, fake::kContextBytes, 0);
  return fake::context_of(ordinal);
}

void use_blocking_sync(int /*ordinal*/) {}

std::shared_ptr<Backend> make_cuda_backend(int ordinal, void* /*context*/) {
  expect_free(ordinal, fake::kContextBytes, 0);
  return std::make_shared<FakeBackend>(ordinal);
}

#define X(name)                                                                             \
  template <>                                                                               \
  std::unique_ptr<Algorithm<name::Params>> make_algorithm<name::Params, BackendKind::cuda>( \
      std::shared_ptr<Backend> backend) {                                                   \
    return std::make_unique<FakeOf<name::Params>::Type>(backend->device());                 \
  }
REGIONS_ALGORITHMS
#undef X

}  // namespace regions
