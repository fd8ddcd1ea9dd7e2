// cclabel on volumes and at many thresholds: CUDA against the CPU, bit for bit, and the oracle.
#include "core/stack.hpp"
#include "tests/cclabel/cuda_fixture.hpp"
#include "tests/cclabel/volume_cases.hpp"
#include "tests/cclabel/volume_oracle.hpp"

namespace regions {
namespace {

class CcLabelVolumeCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    gpu_ = make_cuda_backend();
    entry_.emplace(*gpu_);
    queue_ = gpu_->make_queue();
  }

  RunResult run(const Volume& volume, const CcLabelParams& params, const RunOptions& options,
                int padding = 0) {
    const auto poisoned = std::make_shared<PoisonedBackend>(gpu_);
    const auto algorithm = make_algorithm<CcLabelParams, BackendKind::cuda>(poisoned);
    const Stack stack{volume.size, volume.slices, layers_of(params)};
    const ConstFrame in = volume.frame();
    regions::Setup setup{.in = in.layout, .size = volume.size};
    setup.depth = options.depth;
    setup.layers = stack.layers;
    setup.has_background = params.label_background;
    setup.max_regions = options.capacity;
    if (options.out) {
      setup.has_output = true;
      setup.out = layout_of(*options.out);
    }
    algorithm->configure(setup);
    DeviceFrame picture(*gpu_, *queue_, volume.format, in.size(), padding);
    DeviceFrame labels(*gpu_, *queue_, PixelFormat::labels32, stack.size(), 4 * padding);
    std::optional<DeviceFrame> out;
    picture.upload(in);
    const Block table = gpu_->allocate_pinned(sizeof(Region) * options.capacity + 8);
    Job job{.slices = volume.slices, .in = picture.frame()};
    const Frame map = labels.frame();
    job.labels = {reinterpret_cast<uint32_t*>(map.plane[0]), map.width, map.height, map.pitch[0]};
    auto* total = reinterpret_cast<uint32_t*>(table.as<Region>() + options.capacity);
    job.table = {table.as<Region>(), options.capacity, total};
    if (options.out) {
      out.emplace(*gpu_, *queue_, *options.out, stack.size(), padding);
      job.out = out->frame();
    }
    algorithm->enqueue(job, params, *queue_);
    queue_->record();
    queue_->wait();

    RunResult result;
    result.total = *total;
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
    const RunResult cpu = run_on_cpu(2, volume.frame(), {}, params, options);
    const RunResult cuda = run(volume, params, options, padding);
    EXPECT_EQ(difference(cuda.labelling, cpu.labelling, volume.size.width), "");
    EXPECT_EQ(cuda.total, cpu.total);
    EXPECT_TRUE(cuda.intact);
    if (format) {
      EXPECT_TRUE(cuda.out->same_pixels(*cpu.out));
    }
    if (!asks_oracle) return;
    const Labelling expected = label_volumes_slowly(volume.frame(), volume.slices, params);
    EXPECT_EQ(difference(cuda.labelling, expected, volume.size.width), "");
  }

  std::shared_ptr<Backend> gpu_;
  std::optional<Backend::Entry> entry_;
  std::unique_ptr<Queue> queue_;
};

TEST_F(CcLabelVolumeCuda, EveryContentSizeAndConnectivity) {
  for (const Volume& volume : volume_cases()) {
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      expect_equal(volume, params);
      params.label_background = true;
      expect_equal(volume, params, true, 5);
    }
  }
}

TEST_F(CcLabelVolumeCuda, ManySmallNoiseVolumes) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const auto [volume, params, choice] = random_volume(seed, {150, 20}, 20);
    expect_equal(volume, params, true, choice);
  }
}

TEST_F(CcLabelVolumeCuda, ThresholdsOfPicturesAndVolumes) {
  std::vector<double> many;
  for (int k = 0; k < 64; ++k) many.push_back((4 * k + 2) / 255.0);
  CcLabelParams params;
  for (const auto& list : {std::vector<double>{0.9, 0.1, 0.5, 0, 1}, many}) {
    params.thresholds = list;
    for (const char* content : {"noise", "clouds"}) {
      for (const Connectivity flat : {Connectivity::four, Connectivity::eight}) {
        params.connectivity = flat;
        expect_equal(make_volume(content, {70, 33}, 1), params);
      }
      for (const Connectivity spatial : kSpatial) {
        params.connectivity = spatial;
        expect_equal(make_volume(content, {45, 20}, 11), params);
      }
    }
  }
}

TEST_F(CcLabelVolumeCuda, FormatsAndOutputs) {
  CcLabelParams params;
  params.connectivity = Connectivity::twenty_six;
  params.overflow = Overflow::saturate;
  for (const PixelFormat format :
       {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::rgb, PixelFormat::bgrx}) {
    const Volume volume = make_volume("noise", {45, 11}, 8, format);
    params.output = CcOutput::labels;
    expect_equal(volume, params, true, 3, PixelFormat::gray8);
    expect_equal(volume, params, true, 4, PixelFormat::gray16);
    params.output = CcOutput::mask;
    expect_equal(volume, params, true, 7, PixelFormat::gray8);
    params.output = CcOutput::colors;
    expect_equal(volume, params, true, 0, PixelFormat::rgba);
  }
}

// Races do not show in one run, nor in small volumes.
TEST_F(CcLabelVolumeCuda, LargeOnesAgreeTimeAfterTime) {
  for (const char* content : {"noise", "sparse", "helix", "comb", "clouds"}) {
    const Volume volume = make_volume(content, {200, 190}, 130);
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      if (volume.content == "noise") params.threshold = 0.7;  // near where all is about to join
      RunOptions options;
      options.slices = options.depth = volume.slices;
      const RunResult cpu = run_on_cpu(0, volume.frame(), {}, params, options);
      for (int time = 0; time < 8; ++time) {
        const RunResult cuda = run(volume, params, options);
        ASSERT_EQ(difference(cuda.labelling, cpu.labelling, volume.size.width), "")
            << volume.name() << " " << to_text(params) << " time " << time;
      }
    }
  }
}

}  // namespace
}  // namespace regions
