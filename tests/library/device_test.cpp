// Copies of pictures to a device and back, on a fake device. Only its queue may access its memory,
// and calls are allowed only while the backend is entered. The test links library/filter.cpp with
// its own algorithm.
#include <functional>
#include <set>

#include "library/filter.hpp"
#include "tests/library/library_case.hpp"

namespace regions {
namespace {

struct Calls {
  int entered = 0, allocations = 0, copies = 0, resets = 0;
  std::set<const void*> blocks;
  FrameTask job;  // the last task
  bool fails = false;
};
Calls calls;

void expect_entered(const char* what) { EXPECT_GT(calls.entered, 0) << what; }

// Executes the work in wait().
class LazyQueue final : public Queue {
 public:
  ~LazyQueue() override {
    expect_entered("a queue ends");
    EXPECT_TRUE(tasks_.empty()) << "unfinished work";
  }
  void put(std::function<void()> task) { tasks_.push_back(std::move(task)); }
  void copy(const ConstFrame& from, const Frame& to) override {
    expect_entered("copy");
    ++calls.copies;
    EXPECT_NE(from.memory, to.memory);
    put([from, to] {
      for (int p = 0; p < from.layout.planes; ++p) {
        for (int y = 0; y < row_count(from.layout, p, from.size()); ++y) {
          std::memcpy(to.plane[p] + y * to.pitch[p], from.plane[p] + y * from.pitch[p],
                      row_bytes(from.layout, p, from.size()));
        }
      }
    });
  }
  void copy_bytes(const void*, void*, size_t) override {}
  void start() override {}
  void record() override { recorded_ = tasks_.size(); }
  bool done() const override { return tasks_.empty(); }
  void wait() override {
    EXPECT_EQ(recorded_, tasks_.size()) << "work after the last record()";
    for (const auto& task : tasks_) task();
    tasks_.clear();
    recorded_ = 0;
  }
  int64_t elapsed() const override { return 0; }
  void shrink(const ConstFrame&, const Frame&) override {}
  void transfer_changes(const ConstFrame&, const ConstFrame&, const Frame&, bool) override {}
  void pick(const ConstFrame&, const Frame&, const PixelMapping&) override {}

 private:
  std::vector<std::function<void()>> tasks_;
  size_t recorded_ = 0;
};

class DeviceBackend final : public Backend {
 public:
  BackendKind kind() const override { return BackendKind::cuda; }
  std::string description() const override { return "a device"; }
  Memory memory() const override { return Memory::device; }
  std::unique_ptr<Queue> make_queue(int) override {
    expect_entered("make_queue");
    return std::make_unique<LazyQueue>();
  }
  Block allocate(size_t bytes) override {
    ++calls.allocations;
    Block block = allocate_pinned(bytes);
    calls.blocks.insert(block.data());
    return block;
  }
  Block allocate_pinned(size_t bytes) override {
    expect_entered("allocate");
    void* data = ::operator new(bytes);
    std::memset(data, 0xEE, bytes);
    return {data, bytes,
            [](void*, void* memory) {
              expect_entered("a block ends");
              calls.blocks.erase(memory);
              ::operator delete(memory);
            },
            nullptr};
  }

 protected:
  void enter() override { ++calls.entered; }
  void leave() override { --calls.entered; }
};

// Out is in + 1, labels are in + 2, the foreground is the mask + 3.
class TestRunner final : public Runner {
 public:
  TestRunner() { expect_entered("make_runner"); }
  AlgorithmOutputs outputs() const override { return {.regions = true, .foreground = true}; }
  std::span<const Field> fields() const override { return {}; }
  Value get(const Field&) const override { return false; }
  void set(const Field&, std::string_view) override {}
  void configure(Setup& setup) override {
    expect_entered("configure");
    setup.max_regions = 4;
  }
  void enqueue(const FrameTask& job, Queue& queue) override {
    expect_entered("enqueue");
    calls.job = job;
    static_cast<LazyQueue&>(queue).put([job] {
      *job.table.total = 0;
      for (int y = 0; y < job.in.height; ++y) {
        for (int x = 0; x < job.in.width; ++x) {
          const int value = job.in.sample(0, x, y);
          if (!job.out.empty()) job.out.set_sample(0, x, y, value + 1);
          if (job.labels.data) job.labels(x, y) = static_cast<uint32_t>(value) + 2;
          if (job.foreground.data) {
            job.foreground(x, y) = static_cast<uint8_t>(job.mask.sample(0, x, y) + 3);
          }
        }
      }
    });
    if (calls.fails) throw DeviceError("requested");
  }
  void check_capacity(uint32_t) const override {}
  void reset() override {
    expect_entered("reset");
    ++calls.resets;
  }
};

}  // namespace

// The functions that library/filter.cpp calls.
std::shared_ptr<Backend> make_cpu_backend(int) { return std::make_shared<DeviceBackend>(); }
std::unique_ptr<Runner> make_runner(const std::string&, const std::shared_ptr<Backend>& backend) {
  const Backend::Entry entry(*backend);
  return std::make_unique<TestRunner>();
}

namespace test {
namespace {

struct Pictures {
  std::vector<uint8_t> in = rectangles(), out = std::vector<uint8_t>(in.size()),
                       mask = std::vector<uint8_t>(in.size(), 7),
                       foreground = std::vector<uint8_t>(in.size());
  std::vector<uint32_t> labels = std::vector<uint32_t>(in.size());
  RegionsFrame frame = REGIONS_FRAME_INIT;
  Pictures() {
    frame.in = picture("GRAY8", in);
    frame.out = picture("GRAY8", out);
    frame.mask = picture("GRAY8", mask);
    frame.labels = picture("U32_LE", labels);
    frame.foreground = picture("GRAY8", foreground);
  }
  void expect_results() const {
    for (size_t i = 0; i < in.size(); ++i) {
      ASSERT_EQ(out[i], rectangles()[i] + 1) << i;
      ASSERT_EQ(labels[i], rectangles()[i] + 2u) << i;
      ASSERT_EQ(foreground[i], 10) << i;
    }
  }
};

TEST(CLibraryDevice, HostPictures_AreCopiedToDeviceAndBack) {
  calls = {};
  {
    regions::Filter filter("test", "cpu", 1);
    EXPECT_EQ(filter.device(), "a device");
    for (int time = 0; time < 3; ++time) {
      Pictures p;
      filter.process(p.frame);
      p.expect_results();
      EXPECT_EQ(p.in, rectangles());
      EXPECT_EQ(calls.copies, 5 * (time + 1));
      EXPECT_EQ(calls.allocations, 5) << "equal frames allocate nothing";
      EXPECT_EQ(calls.entered, 0);
      EXPECT_TRUE(calls.blocks.contains(calls.job.in.plane[0]) &&
                  calls.blocks.contains(calls.job.out.plane[0]));
    }
    // Larger pictures allocate memory, smaller ones do not.
    Pictures p;
    p.frame.out = p.frame.mask = p.frame.labels = p.frame.foreground = {};
    p.frame.in.width /= 2;
    filter.process(p.frame);
    EXPECT_EQ(calls.allocations, 5);
    std::vector<uint8_t> wide(p.in.size() * 3);
    p.frame.in = picture("RGB", wide, 3);
    filter.process(p.frame);
    EXPECT_EQ(calls.allocations, 6);
    EXPECT_TRUE(calls.job.out.empty() && calls.job.mask.empty() && !calls.job.labels.data &&
                !calls.job.foreground.data);
    filter.reset();
    EXPECT_EQ(calls.resets, 1);
    EXPECT_EQ(calls.blocks.size(), 5u);
  }
  EXPECT_TRUE(calls.blocks.empty()) << "all blocks are freed";
  EXPECT_EQ(calls.entered, 0);
}

TEST(CLibraryDevice, DevicePictures_AreNotCopied) {
  calls = {};
  regions::Filter filter("test", "cpu", 1);
  Pictures p;
  for (RegionsPicture* picture :
       {&p.frame.in, &p.frame.out, &p.frame.mask, &p.frame.labels, &p.frame.foreground}) {
    picture->memory = REGIONS_MEMORY_CUDA;
  }
  filter.process(p.frame);
  p.expect_results();
  EXPECT_EQ(calls.copies, 0);
  EXPECT_EQ(calls.allocations, 0);
  EXPECT_EQ(static_cast<const void*>(calls.job.in.plane[0]), p.in.data());
}

TEST(CLibraryDevice, InPlacePicture_IsCopiedBackInPlace) {
  calls = {};
  regions::Filter filter("test", "cpu", 1);
  Pictures p;
  p.frame.out = p.frame.in;
  filter.process(p.frame);
  for (size_t i = 0; i < p.in.size(); ++i) ASSERT_EQ(p.in[i], rectangles()[i] + 1) << i;
  EXPECT_EQ(static_cast<const void*>(calls.job.in.plane[0]), calls.job.out.plane[0]);
  EXPECT_EQ(calls.copies, 5);
}

TEST(CLibraryDevice, FrameAfterAFailedFrame_HasCorrectOutputs) {
  calls = {};
  regions::Filter filter("test", "cpu", 1);
  Pictures p;
  calls.fails = true;
  EXPECT_THROW(filter.process(p.frame), DeviceError);
  EXPECT_EQ(calls.entered, 0);
  calls.fails = false;
  filter.process(p.frame);
  p.expect_results();
}

}  // namespace
}  // namespace test
}  // namespace regions
