// cclabel on volumes and at many thresholds: CUDA against the CPU, bit for bit, and the oracle.
#include "tests/cclabel/volume_cuda_fixture.hpp"

namespace regions {
namespace {

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

TEST_F(CcLabelVolumeCuda, HolesAreFilled) {
  for (const Volume& volume : volume_cases()) {
    if (volume.content != "noise" && volume.content != "clouds") continue;
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      params.threshold = 0.2;
      for (const int64_t area : {1, 7, 100000}) {
        params.fill_holes = area;
        expect_equal(volume, params, true, area == 7 ? 3 : 0);
      }
    }
  }
}

TEST_F(CcLabelVolumeCuda, HolesAtManyThresholds) {
  for (const Connectivity connectivity :
       {Connectivity::four, Connectivity::eight, Connectivity::six, Connectivity::eighteen,
        Connectivity::twenty_six}) {
    CcLabelParams params;
    params.connectivity = connectivity;
    params.fill_holes = 20;
    params.thresholds = std::vector<double>{0.3, 0.15, 0, 0.6, 0.3, 1};
    const int slices = is_spatial(connectivity) ? 9 : 1;
    expect_equal(make_volume("noise", {70, 33}, slices), params);
    expect_equal(make_volume("noise", {70, 34}, slices, PixelFormat::rgb), params);
    params.min_area = 4;
    expect_equal(make_volume("noise", {70, 33}, slices, PixelFormat::gray16), params);
  }
}

TEST_F(CcLabelVolumeCuda, MasksAreStacked) {
  const Volume volume = make_volume("clouds", {70, 20}, 9, PixelFormat::rgb);
  for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::labels32}) {
    Volume mask = make_volume("sparse", {70, 20}, 9);
    if (format == PixelFormat::labels32) {  // whose low byte says nothing
      mask.format = format;
      std::vector<uint8_t> wide(4 * mask.voxels.size());
      for (size_t i = 0; i < mask.voxels.size(); ++i) wide[4 * i + 1] = mask.voxels[i];
      mask.voxels = wide;
    }
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      params.source = Source::mask;
      RunOptions options;
      options.slices = options.depth = volume.slices;
      const RunResult cpu = run_on_cpu(2, volume.frame(), mask.frame(), params, options);
      const RunResult cuda = run(volume, params, options, 0, mask.frame());
      EXPECT_EQ(difference(cuda.labelling, cpu.labelling, volume.size.width), "");
      EXPECT_GT(cuda.total, 10u);
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

TEST_F(CcLabelVolumeCuda, SmallestAreDroppedWhereLabelsDoNotFit) {
  for (const Connectivity connectivity : kSpatial) {
    CcLabelParams params;
    params.connectivity = connectivity;
    params.output = CcOutput::labels;
    params.threshold = 0.8;
    const Volume volume = make_volume("noise", {150, 40}, 20);
    expect_equal(volume, params, false, 3, PixelFormat::gray8);  // more than 255 regions, and
    expect_equal(make_volume("full", {50, 9}, 6), params, false, 0, PixelFormat::gray8);  // fewer
    params.min_area = 2;
    params.thresholds = std::vector<double>{0.8, 0.9};
    expect_equal(volume, params, false, 0, PixelFormat::gray8);
    params.label_background = true;
    expect_equal(volume, params, false, 0, PixelFormat::gray8);
  }
}

TEST_F(CcLabelVolumeCuda, EveryCriterion) {
  for (const char* content : {"noise", "clouds", "corners"}) {
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      params.tolerance = 0.2;
      for (const Criterion criterion : {Criterion::equal, Criterion::difference}) {
        params.criterion = criterion;
        params.min_area = 0;
        expect_equal(make_volume(content, {65, 20}, 11), params);
        expect_equal(make_volume(content, {33, 20}, 5, PixelFormat::rgb), params, true, 4);
        params.min_area = 3;
        expect_equal(make_volume(content, {65, 20}, 11), params);
        params.output = CcOutput::labels;
        expect_equal(make_volume(content, {65, 20}, 11), params, false, 0, PixelFormat::gray8);
      }
    }
  }
}

// From a thousand tiles on, blocks have other shapes (gpu/cclabel/volume/label_volume_tiles.cu).
TEST_F(CcLabelVolumeCuda, ManyTiles) {
  for (const char* content : {"noise", "clouds"}) {
    const Volume volume = make_volume(content, {8261, 17}, 17);  // 259 x 2 x 2 tiles
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      params.threshold = 0.6;
      expect_equal(volume, params, false);
      params.label_background = true;
      expect_equal(volume, params, false);
    }
    for (const Connectivity flat : {Connectivity::four, Connectivity::eight}) {
      CcLabelParams params;
      params.connectivity = flat;
      params.thresholds = std::vector<double>{0.5, 0.6, 0.7};
      expect_equal(make_volume(content, {5600, 300}, 1), params, false);  // 175 x 2 x 3
    }
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
      options.capacity = 0;
      for (int time = 0; time < 8; ++time) {
        const RunResult bare = run(volume, params, options);
        ASSERT_EQ(bare.labelling.labels, cpu.labelling.labels)
            << volume.name() << " " << to_text(params) << ", labels alone, time " << time;
      }
    }
  }
}

}  // namespace
}  // namespace regions
