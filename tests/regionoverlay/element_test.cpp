// regionoverlay as an algorithm on the CPU: configuring, slots, what it refuses.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/drawing/regionoverlay.hpp"
#include "cpu/backend.hpp"
#include "cpu/drawing/drawing.hpp"
#include "tests/regionoverlay/scene.hpp"

namespace regions {
namespace {

class RegionOverlayCpu : public testing::Test {
 protected:
  static regions::Setup setup_for(PixelFormat format, Size size) {
    regions::Setup setup;
    setup.in = setup.out = layout_of(format);
    setup.has_output = true;
    setup.size = size;
    setup.slots = 3;
    return setup;
  }

  static FrameTask job_for(const Scene& scene, const ConstFrame& in, const Frame& out) {
    FrameTask task;
    task.in = in;
    task.out = out;
    task.attached = scene.regions.data();
    task.attached_count = static_cast<uint32_t>(scene.regions.size());
    return task;
  }

  std::shared_ptr<Backend> backend_ = make_cpu_backend(2);
  std::unique_ptr<Algorithm<RegionOverlayParams>> algorithm_ =
      make_algorithm<RegionOverlayParams, BackendKind::cpu>(backend_);
};

TEST_F(RegionOverlayCpu, SlotsDrawWhatDrawDraws) {
  const Size size{130, 75};
  regions::Setup setup = setup_for(PixelFormat::bgrx, size);
  setup.max_regions = 9;
  algorithm_->configure(setup);
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<GuardedFrame> in, out;
  std::vector<Scene> scenes;
  for (uint32_t slot = 0; slot < 3; ++slot) {
    queues.push_back(backend_->make_queue());
    scenes.push_back(make_scene(size, 6 + static_cast<int>(slot) * 3, slot));
    in.push_back(noisy_picture(PixelFormat::bgrx, size));
    out.emplace_back(PixelFormat::bgrx, size);
  }
  for (size_t slot = 0; slot < 3; ++slot) {
    FrameTask task = job_for(scenes[slot], in[slot].frame(), out[slot].frame());
    task.slot = static_cast<int>(slot);
    algorithm_->enqueue(task, {}, *queues[slot]);
    queues[slot]->record();
  }
  for (size_t slot = 0; slot < 3; ++slot) {
    queues[slot]->wait();
    GuardedFrame expected(PixelFormat::bgrx, size);
    std::vector<uint32_t> memory(ink_bytes(size) / sizeof(uint32_t));
    const std::span<const Region> all = scenes[slot].regions;
    draw(in[slot].frame(), expected.frame(), {}, all.first(std::min<size_t>(all.size(), 9)),
         RegionOverlayParams(), ink_in(memory.data(), size), Workers(1));
    EXPECT_TRUE(out[slot].same_pixels(expected)) << "slot " << slot;
    EXPECT_FALSE(out[slot].same_pixels(in[slot])) << "slot " << slot;
  }
}

TEST_F(RegionOverlayCpu, ReadsTheAttachedLabels) {
  const Scene scene = make_scene({64, 40}, 4);
  regions::Setup setup = setup_for(PixelFormat::gray8, scene.size);
  setup.has_mask = true;
  setup.mask = layout_of(PixelFormat::labels32);
  algorithm_->configure(setup);
  const GuardedFrame in = noisy_picture(PixelFormat::gray8, scene.size);
  GuardedFrame with(PixelFormat::gray8, scene.size), without(PixelFormat::gray8, scene.size);
  GuardedFrame labels(PixelFormat::labels32, scene.size);
  std::copy(scene.labels.begin(), scene.labels.end(), labels.labels().data);
  const auto queue = backend_->make_queue();
  for (GuardedFrame* out : {&without, &with}) {
    FrameTask task = job_for(scene, in.frame(), out->frame());
    if (out == &with) task.mask = labels.frame();
    algorithm_->enqueue(task, {}, *queue);
    queue->record();
    queue->wait();
  }
  EXPECT_FALSE(with.same_pixels(without));
}

TEST_F(RegionOverlayCpu, RefusesWhatItCannotDraw) {
  const regions::Setup good = setup_for(PixelFormat::nv12, {16, 16});
  EXPECT_NO_THROW(algorithm_->configure(good));
  for (const Size size : {Size{0, 4}, Size{4, 0}, Size{65536, 1}, Size{1, 65536}}) {
    EXPECT_THROW(algorithm_->configure(setup_for(PixelFormat::nv12, size)), InputError);
  }
  regions::Setup labels = setup_for(PixelFormat::labels32, {16, 16});
  EXPECT_THROW(algorithm_->configure(labels), InputError);
  regions::Setup converting = good;
  converting.out = layout_of(PixelFormat::rgb);
  EXPECT_THROW(algorithm_->configure(converting), InputError);
  regions::Setup mask = good;
  mask.has_mask = true;
  mask.mask = layout_of(PixelFormat::nv12);
  EXPECT_THROW(algorithm_->configure(mask), InputError);
}

}  // namespace
}  // namespace regions
