// slicsuperpixel on CUDA, run once into guarded outputs. Its memory is poisoned.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/runtime/cuda_backend.hpp"
#include "tests/cclabel/cuda_case.hpp"
#include "tests/slicsuperpixel/run.hpp"

namespace regions {

class SlicCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    const auto device = make_cuda_backend();
    entry_ = std::make_unique<Backend::Entry>(*device);
    queue_ = device->make_queue();
    backend_ = std::make_shared<PoisonedBackend>(device);
    algorithm_ = make_algorithm<SlicParams, BackendKind::cuda>(backend_);
  }
  void TearDown() override {
    algorithm_.reset();
    queue_.reset();
    entry_.reset();
  }

  SlicResult run(const ConstFrame& in, const SlicParams& params, const SlicOptions& options = {},
                 int times = 1) {
    DeviceFrame picture(*backend_, *queue_, in.layout.format, in.size(), 0, in.color);
    picture.upload(in);
    DeviceFrame labels(*backend_, *queue_, PixelFormat::labels32, in.size(), 12);
    regions::Setup setup;
    setup.in = in.layout;
    setup.size = in.size();
    setup.color = in.color;
    setup.max_regions = std::max(options.capacity, 1u);
    setup.has_borders = true;
    std::unique_ptr<DeviceFrame> out;
    if (options.out) {
      setup.has_output = true;
      setup.out = layout_of(*options.out);
      out = std::make_unique<DeviceFrame>(*backend_, *queue_, *options.out, in.size(),
                                          4 * layout_of(*options.out).sample_bytes, in.color);
    }
    algorithm_->prepare(params);
    algorithm_->configure(setup);
    const Block records = backend_->allocate_pinned(options.capacity * sizeof(Region) + 16);
    std::fill_n(records.as<std::byte>(), records.bytes(), static_cast<std::byte>(0xA5));
    auto* table = records.as<Region>();
    auto* total = reinterpret_cast<uint32_t*>(table + options.capacity);
    const Frame map = labels.frame();
    FrameTask job;
    job.in = picture.frame();
    if (out) job.out = out->frame();
    job.labels = {reinterpret_cast<uint32_t*>(map.plane[0]), map.width, map.height, map.pitch[0]};
    job.table = {options.capacity ? table : nullptr, options.capacity, total};
    const Block moments = backend_->allocate_pinned((options.capacity + 1) * sizeof(Moments));
    const Block borders =
        backend_->allocate_pinned((max_borders(options.capacity) + 1) * sizeof(Border));
    const Block border_count = backend_->allocate_pinned(sizeof(uint32_t));
    *border_count.as<uint32_t>() = 0;
    if (options.capacity) {
      job.table.moments = moments.as<Moments>();
      job.table.borders = borders.as<Border>();
      job.table.border_count = border_count.as<uint32_t>();
    }
    for (int i = 0; i < times; ++i) algorithm_->enqueue(job, params, *queue_);
    queue_->record();
    queue_->wait();

    SlicResult result;
    bool labels_intact = false, out_intact = true;
    const GuardedFrame pixels = labels.download(&labels_intact);
    const auto* first = reinterpret_cast<const uint32_t*>(pixels.frame().plane[0]);
    result.superpixels.labels.assign(first, first + in.size().area());
    result.total = *total;
    result.superpixels.regions.assign(table, table + std::min(*total, options.capacity));
    const auto* first_moments = moments.as<Moments>();
    result.superpixels.moments.assign(first_moments,
                                      first_moments + result.superpixels.regions.size());
    result.superpixels.borders.assign(borders.as<Border>(),
                                      borders.as<Border>() + *border_count.as<uint32_t>());
    if (out) result.out.emplace(out->download(&out_intact));
    result.intact = labels_intact && out_intact;
    return result;
  }

  void expect_cpu(const SlicCase& task) {
    SCOPED_TRACE(task.name());
    const GuardedFrame picture = task.frame();
    const SlicResult expected = run_slic_on_cpu(2, picture.frame(), task.params());
    const SlicResult found = run(picture.frame(), task.params());
    EXPECT_EQ(found.total, expected.total);
    EXPECT_EQ(difference(found.superpixels, expected.superpixels, task.size.width), "");
    EXPECT_TRUE(found.intact);
  }

  std::unique_ptr<Backend::Entry> entry_;
  std::unique_ptr<Queue> queue_;
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Algorithm<SlicParams>> algorithm_;
};

}  // namespace regions
