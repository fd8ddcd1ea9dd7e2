// The window of cclabel with sliding=true: the volume that it labels, and the maps it passes on.
#include <gtest/gtest.h>

#include "core/cclabel/sliding_window.hpp"
#include "core/frame.hpp"
#include "cpu/backend.hpp"

namespace regions {
namespace {

constexpr Size kSize{5, 3};
constexpr int kDepth = 3;

// Stores the jobs it gets.
class Recorder final : public CcLabel {
 public:
  explicit Recorder(std::vector<FrameTask>& jobs) : jobs_(jobs) {}
  void configure(const Setup&) override {}
  void enqueue(const FrameTask& task, const CcLabelParams&, Queue&) override {
    jobs_.push_back(task);
  }
  TrackEvents track_events(int) const override { return {}; }
  uint32_t passes(int) const override { return 0; }

 private:
  std::vector<FrameTask>& jobs_;
};

class Window final : public SlidingWindow {
 public:
  Window(std::shared_ptr<Backend> backend, std::vector<FrameTask>& jobs)
      : SlidingWindow(std::move(backend), std::make_unique<Recorder>(jobs)) {}
  const WindowLabels& last() const { return last_; }

 private:
  void allocate(const Setup&) override {}
  void slide(const FrameTask& task, const CcLabelParams& params, Queue& queue) override {
    last_ = label_window(task, params, queue);
  }
  void forget(IdNumbering) override {}
  TrackEvents window_events(int) const override { return {}; }
  WindowLabels last_;
};

TEST(CcLabelWindow, EachFrame_LabelsAVolumeOfTheWholeWindow) {
  const auto backend = make_cpu_backend(1);
  const auto queue = make_immediate_queue(*backend);
  std::vector<FrameTask> jobs;
  Window window(backend, jobs);
  regions::Setup setup;
  setup.in = layout_of(PixelFormat::gray8);
  setup.size = kSize;
  setup.depth = kDepth;
  setup.slides = true;
  window.configure(setup);
  CcLabelParams params;
  params.depth = kDepth;
  params.connectivity = Connectivity::six;
  params.sliding = true;
  params.output = CcOutput::none;
  const uint32_t* before = nullptr;
  for (int i = 0; i < 2 * kDepth; ++i) {
    std::vector<std::byte> bytes(packed_bytes(setup.in, kSize), static_cast<std::byte>(i));
    FrameTask task;
    task.in = packed_frame(setup.in, kSize, {}, Memory::host, bytes.data());
    window.enqueue(task, params, *queue);
    const int slices = std::min(i + 1, kDepth);
    ASSERT_EQ(jobs.size(), static_cast<size_t>(i) + 1);
    const FrameTask& volume = jobs.back();
    EXPECT_EQ(volume.slices, slices);
    EXPECT_EQ(volume.in.size(), (Size{kSize.width, slices * kSize.height}));
    EXPECT_EQ(volume.labels.width, kSize.width);
    EXPECT_EQ(volume.labels.height, slices * kSize.height);
    for (int z = 0; z < slices; ++z) {
      EXPECT_EQ(volume.in.sample(0, 0, z * kSize.height), i - z) << "slice " << z;
    }
    const WindowLabels& labels = window.last();
    EXPECT_EQ(labels.now.height, slices * kSize.height);
    EXPECT_EQ(labels.before.height, slices * kSize.height);
    EXPECT_EQ(labels.newest().height, kSize.height);
    EXPECT_EQ(labels.shared, slices - 1);
    EXPECT_EQ(labels.now.data, volume.labels.data);
    if (i > 0) {
      EXPECT_EQ(labels.before.data, before);
    }
    before = labels.now.data;
  }
}

}  // namespace
}  // namespace regions
