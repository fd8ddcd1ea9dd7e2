// What the CUDA tests of volumes share: a run of any cclabel on the GPU, compared with the CPU's
// and the oracle's.
#pragma once

#include <functional>

#include "core/frame.hpp"
#include "tests/cclabel/cuda_fixture.hpp"
#include "tests/cclabel/volume_cases.hpp"
#include "tests/cclabel/volume_oracle.hpp"

namespace regions {

class CcLabelVolumeCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    gpu_ = make_cuda_backend();
    entry_.emplace(*gpu_);
    queue_ = gpu_->make_queue();
  }

  RunResult run(const Volume& volume, const CcLabelParams& params, const RunOptions& options,
                int padding = 0, const ConstFrame& mask = {}) {
    const auto poisoned = std::make_shared<PoisonedBackend>(gpu_);
    const auto algorithm = make_(poisoned);
    algorithm->prepare(params);
    const VolumeLayout stack{volume.size, volume.slices, layers_of(params)};
    const ConstFrame in = volume.frame();
    regions::Setup setup{.in = in.layout, .size = volume.size};
    setup.depth = options.depth;
    setup.layers = stack.layers;
    setup.has_background = params.label_background;
    setup.max_regions = std::max(options.capacity, 1u);
    setup.max_runs = options.most_runs;
    if (options.out) {
      setup.has_output = true;
      setup.out = layout_of(*options.out);
    }
    setup.has_mask = !mask.empty();
    setup.mask = mask.layout;
    algorithm->configure(setup);
    DeviceFrame picture(*gpu_, *queue_, volume.format, in.size(), padding);
    DeviceFrame labels(*gpu_, *queue_, PixelFormat::labels32, stack.size(), 4 * padding);
    std::optional<DeviceFrame> out;
    picture.upload(in);
    const Block table = gpu_->allocate_pinned(sizeof(Region) * options.capacity + 8);
    FrameTask task{.slices = volume.slices, .in = picture.frame()};
    std::optional<DeviceFrame> attached;
    if (!mask.empty()) {
      attached.emplace(*gpu_, *queue_, mask.layout.format, mask.size(), 0);
      attached->upload(mask);
      task.mask = attached->frame();
    }
    const Frame map = labels.frame();
    if (options.wants_labels) {
      task.labels = {reinterpret_cast<uint32_t*>(map.plane[0]), map.width, map.height,
                     map.pitch[0]};
    }
    auto* total = reinterpret_cast<uint32_t*>(table.as<Region>() + options.capacity);
    task.table = {table.as<Region>(), options.capacity, total};
    const Block runs = gpu_->allocate_pinned(options.most_runs * sizeof(PixelRun) + 8);
    auto* total_runs = reinterpret_cast<uint32_t*>(runs.as<PixelRun>() + options.most_runs);
    *total_runs = 0;
    if (options.most_runs > 0) {
      task.table.runs = runs.as<PixelRun>();
      task.table.run_capacity = options.most_runs;
      task.table.run_total = total_runs;
    }
    if (options.out) {
      out.emplace(*gpu_, *queue_, *options.out, stack.size(), padding);
      task.out = out->frame();
    }
    algorithm->enqueue(task, params, *queue_);
    queue_->record();
    queue_->wait();

    RunResult result;
    result.total = *total;
    passes_ = static_cast<CcLabel&>(*algorithm).passes(0);
    result.total_runs = *total_runs;
    result.runs.assign(runs.as<PixelRun>(),
                       runs.as<PixelRun>() + std::min(*total_runs, options.most_runs));
    const auto known = std::min(result.total, options.capacity);
    result.labelling.regions.assign(table.as<Region>(), table.as<Region>() + known);
    bool intact_out = true;
    GuardedFrame found = labels.download(&result.intact);
    for (int y = 0; y < stack.rows(); ++y) {
      const uint32_t* row = found.labels().row(y);
      result.labelling.labels.insert(result.labelling.labels.end(), row, row + volume.size.width);
    }
    if (out) result.out.emplace(out->download(&intact_out));
    result.intact = result.intact && intact_out;
    return result;
  }

  void expect_equal(const Volume& volume, const CcLabelParams& params, bool asks_oracle = true,
                    int padding = 0, std::optional<PixelFormat> format = {}) {
    SCOPED_TRACE(volume.name() + " " + to_text(params) + " padding=" + std::to_string(padding));
    RunOptions options;
    options.slices = volume.slices;
    options.depth = is_spatial(params.connectivity) ? std::max(volume.slices, 2) : 1;
    options.out = format;
    options.padding = padding;
    CcLabelParams anyhow = params;
    anyhow.method = Method::automatic;
    const RunResult cpu = run_on_cpu(2, volume.frame(), {}, anyhow, options);
    const RunResult cuda = run(volume, params, options, padding);
    EXPECT_EQ(difference(cuda.labelling, cpu.labelling, volume.size.width), "");
    EXPECT_EQ(cuda.total, cpu.total);
    EXPECT_TRUE(cuda.intact);
    if (format) {
      EXPECT_TRUE(cuda.out->same_pixels(*cpu.out));
    }
    // Where no regions are asked for, volumes keep less of what they find.
    if (params.method == Method::automatic && !format) {
      options.capacity = 0;
      const RunResult bare = run(volume, params, options, padding);
      EXPECT_EQ(bare.labelling.labels, cpu.labelling.labels) << "labels alone";
    }
    if (!asks_oracle) return;
    const Labelling expected = label_volumes_slowly(volume.frame(), volume.slices, params);
    EXPECT_EQ(difference(cuda.labelling, expected, volume.size.width), "");
  }

  // What is tested.
  using Make = std::unique_ptr<Algorithm<CcLabelParams>>(std::shared_ptr<Backend>);
  std::function<Make> make_ = make_algorithm<CcLabelParams, BackendKind::cuda>;
  uint32_t passes_ = 0;  // of the last run
  std::shared_ptr<Backend> gpu_;
  std::optional<Backend::Entry> entry_;
  std::unique_ptr<Queue> queue_;
};

}  // namespace regions
