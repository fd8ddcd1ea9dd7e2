// Frame after frame through one cclabel on CUDA, whose slots keep their kernels as a graph:
// whatever changes from one to the next, each frame is labelled as if it was alone.
#include <thread>

#include "core/faults.hpp"
#include "tests/cclabel/cuda_fixture.hpp"

namespace regions {
namespace {

constexpr Size kSize = {203, 117};

// What a frame is made of, and what must come out.
struct Shot {
  Picture picture;
  CcLabelParams params;
  bool wants_labels = true;
  Labelling expected;

  Shot(const char* content, const CcLabelParams& wanted, bool with_labels = true)
      : picture(make_picture(content, kSize)),
        params(wanted),
        wants_labels(with_labels),
        expected(label_slowly(picture.frame(), {}, wanted)) {}
};

// One stream: an algorithm with its slots, each shot's picture on the GPU, several label maps.
class Stream {
 public:
  static constexpr int kSlots = 2;
  static constexpr uint32_t kMax = 1 << 14;
  static constexpr size_t kMaps = 3;

  Stream(const std::shared_ptr<Backend>& backend, const std::vector<Shot>& shots)
      : backend_(backend),
        entry_(*backend),
        algorithm_(make_algorithm<CcLabelParams, BackendKind::cuda>(backend)),
        shots_(shots) {
    for (std::unique_ptr<Queue>& queue : queues_) queue = backend->make_queue();
    for (const Shot& shot : shots) {
      pictures_.emplace_back(*backend, *queues_[0], PixelFormat::gray8, kSize, 0);
      pictures_.back().upload(shot.picture.frame());
    }
    const size_t bytes = kSize.area() * sizeof(uint32_t);
    for (Block& map : maps_) map = backend->allocate(bytes);
    host_ = backend->allocate_pinned(bytes);
    table_ = backend->allocate_pinned(kMax * sizeof(Region) + sizeof(uint32_t));
    algorithm_->configure(
        {.in = layout_of(PixelFormat::gray8), .size = kSize, .slots = kSlots, .max_regions = kMax});
  }

  // The number-th frame, of that shot. Empty, or what is wrong with it.
  std::string play(size_t number, size_t of) {
    const Shot& shot = shots_[of];
    Queue& queue = *queues_[number % kSlots];
    auto* regions = table_.as<Region>();
    auto* total = reinterpret_cast<uint32_t*>(regions + kMax);
    *total = 0;
    auto* labels = maps_[number % kMaps].as<uint32_t>();
    FrameTask task;
    task.slot = static_cast<int>(number % kSlots);
    task.in = pictures_[of].frame();
    if (shot.wants_labels) task.labels = {labels, kSize.width, kSize.height, kSize.width * 4};
    task.table = {regions, kMax, total};
    try {
      algorithm_->enqueue(task, shot.params, queue);
    } catch (const std::exception&) {
      queue.record();  // what was put there already
      queue.wait();
      throw;
    }
    if (shot.wants_labels) queue.copy_bytes(labels, host_.data(), host_.bytes());
    queue.record();
    queue.wait();
    const auto* first = host_.as<uint32_t>();
    const Labelling found = {shot.wants_labels ? std::vector<uint32_t>(first, first + kSize.area())
                                               : shot.expected.labels,
                             std::vector<Region>(regions, regions + std::min(*total, kMax))};
    const std::string what = difference(found, shot.expected, kSize.width);
    return what.empty() ? what : "frame " + std::to_string(number) + ": " + what;
  }

  // Later frames go onto that stream; null is the default one.
  void move_to(void* native) {
    for (const std::unique_ptr<Queue>& queue : queues_) queue->move_to(native);
  }

 private:
  std::shared_ptr<Backend> backend_;
  Backend::Entry entry_;
  std::unique_ptr<Algorithm<CcLabelParams>> algorithm_;
  const std::vector<Shot>& shots_;
  std::unique_ptr<Queue> queues_[kSlots];
  std::vector<DeviceFrame> pictures_;
  Block maps_[kMaps], host_, table_;
};

// Three pictures alike in settings, and each of them with something else.
std::vector<Shot> shots() {
  CcLabelParams plain, four, large, linked, filled;
  four.connectivity = Connectivity::four;
  large.min_area = 4;
  linked.criterion = Criterion::equal;
  filled.fill_holes = 30;
  return {{"rand_g1_d50", plain},  {"maze", plain},         {"smooth", plain},
          {"rand_g1_d50", four},   {"rand_g4_d45", large},  {"clouds", linked},
          {"rand_g1_d60", filled}, {"smooth", plain, false}};
}

class CcLabelReplay : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    gpu_ = make_cuda_backend();
  }
  void TearDown() override { inject_faults(""); }

  std::shared_ptr<Backend> gpu_;
};

TEST_F(CcLabelReplay, PicturesAndLabelMapsTakeTurns) {
  const std::vector<Shot> all = shots();
  Stream stream(gpu_, all);
  for (size_t i = 0; i < 90; ++i) EXPECT_EQ(stream.play(i, i % 7 % 3), "");
}

TEST_F(CcLabelReplay, SettingsChangeAtAnyFrame) {
  const std::vector<Shot> all = shots();
  Stream stream(gpu_, all);
  for (size_t i = 0; i < 600; ++i) {
    const auto same = i / 150;  // frames in a row with the same settings: 1, 15, 29, 43
    const auto step = static_cast<uint32_t>(i / (14 * same + 1));
    EXPECT_EQ(stream.play(i, hash(step, 0) % all.size()), "");
  }
}

// The graphs of one stream's frames run on others, the default one among them, too, which cannot
// be captured itself.
TEST_F(CcLabelReplay, FramesMoveFromStreamToStream) {
  const std::vector<Shot> all = shots();
  const auto other = gpu_->make_queue();
  for (void* place : {static_cast<void*>(nullptr), other->native()}) {
    Stream fresh(gpu_, all);
    fresh.move_to(place);
    for (size_t i = 0; i < 60; ++i) EXPECT_EQ(fresh.play(i, i / 30), "");
  }
  Stream stream(gpu_, all);
  for (size_t i = 0; i < 240; ++i) {
    stream.move_to(i / 4 % 2 ? nullptr : other->native());
    EXPECT_EQ(stream.play(i, i / 60 % 2 ? hash(static_cast<uint32_t>(i), 3) % 8 : i % 3), "");
  }
}

TEST_F(CcLabelReplay, SixteenStreamsAtOnce) {
  const std::vector<Shot> all = shots();
  std::vector<std::string> wrong(16);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      Stream stream(gpu_, all);
      for (size_t i = 0; i < 300 && wrong[t].empty(); ++i) {
        wrong[t] = stream.play(i, i / 50 % 2 ? hash(static_cast<uint32_t>(i), 1) % 8 : i % 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& what : wrong) EXPECT_EQ(what, "");
}

// What fails leaves nothing behind, in whatever state the slot's graph was.
TEST_F(CcLabelReplay, AFailedLaunchSpoilsItsFrameAlone) {
  const std::vector<Shot> all = shots();
  Stream stream(gpu_, all);
  int failed = 0;
  for (const char* faults : {"launch=3", "launch=7", "launch=11", "launch=23", "launch=50"}) {
    for (size_t i = 0; i < 160; ++i) {
      inject_faults(faults);
      try {
        EXPECT_EQ(stream.play(i, i / 40 % 2 ? hash(static_cast<uint32_t>(i), 2) % 8 : i % 3), "");
      } catch (const DeviceError&) {
        ++failed;
      }
    }
    inject_faults("");
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(stream.play(i, i % 3), "") << "after " << faults;
  }
  EXPECT_GT(failed, 40);
}

// What bench/programs/pipeline --idle times.
TEST_F(CcLabelReplay, LaunchesCanBeLeftOut) {
  const std::vector<Shot> all = shots();
  Stream stream(gpu_, all);
  for (size_t i = 0; i < 90; ++i) {
    const bool is_idle = i / 30 == 1;
    inject_faults(is_idle ? "idle=1" : "");
    EXPECT_EQ(stream.play(i, i % 3).empty(), !is_idle) << i;
  }
}

}  // namespace
}  // namespace regions
