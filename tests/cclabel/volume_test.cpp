// cclabel on volumes and at many thresholds, on the CPU, against the oracle.
#include <gtest/gtest.h>

#include <sstream>

#include "cpu/backend.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/cclabel/volume_cases.hpp"
#include "tests/cclabel/volume_oracle.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

void expect_oracle(int threads, const Volume& volume, const CcLabelParams& params, int depth = 0) {
  const ConstFrame in = volume.frame();
  SCOPED_TRACE(volume.name() + " " + to_text(params) + " threads=" + std::to_string(threads));
  RunOptions options;
  options.slices = volume.slices;
  options.depth = depth > 0 ? depth : is_spatial(params.connectivity) ? volume.slices : 1;
  if (is_spatial(params.connectivity) && options.depth == 1) options.depth = 2;  // part-filled
  const RunResult result = run_on_cpu(threads, in, {}, params, options);
  const Labelling expected = label_volumes_slowly(in, volume.slices, params);
  EXPECT_EQ(difference(result.labelling, expected, in.width), "");
  EXPECT_EQ(result.total, expected.regions.size());
  EXPECT_TRUE(result.intact);
}

TEST(CcLabelVolume, EveryContentSizeAndConnectivity) {
  for (const Volume& volume : volume_cases()) {
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      expect_oracle(1, volume, params);
      expect_oracle(2, volume, params);
    }
  }
}

TEST(CcLabelVolume, EveryCriterion) {
  for (const Volume& volume : volume_cases()) {
    if (volume.size.area() * static_cast<size_t>(volume.slices) > 40000) continue;
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      params.tolerance = 0.2;
      params.criterion = Criterion::difference;
      expect_oracle(3, volume, params);
      params.criterion = Criterion::equal;
      expect_oracle(2, volume, params);
      params.criterion = Criterion::binary;
      params.label_background = true;
      expect_oracle(2, volume, params);
    }
  }
}

TEST(CcLabelVolume, ManySmallNoiseVolumes) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const auto [volume, params, choice] = random_volume(seed, {90, 12}, 12);
    expect_oracle(1 + choice % 5, volume, params);
  }
}

TEST(CcLabelVolume, ThresholdsOfAPictureAndOfAVolume) {
  const std::vector<double> lists[] = {{0.5}, {0.1, 0.2, 0.3}, {0.9, 0.1, 0.5}, {0.4, 0.4}, {0, 1}};
  for (const auto& list : lists) {
    CcLabelParams params;
    params.thresholds = list;
    for (const bool background : {false, true}) {
      params.label_background = background;
      params.connectivity = Connectivity::eight;
      expect_oracle(2, make_volume("noise", {70, 33}, 1), params);
      params.connectivity = Connectivity::twenty_six;
      expect_oracle(2, make_volume("clouds", {70, 21}, 9), params);
    }
  }
  CcLabelParams params;
  std::vector<double> many;
  for (int k = 0; k < 64; ++k) many.push_back((4 * k + 2) / 255.0);
  params.thresholds = many;
  params.connectivity = Connectivity::twenty_six;
  expect_oracle(2, make_volume("clouds", {33, 20}, 12), params);
}

// Dark voxels at random in white are holes of one or several, some at a side; with many thresholds
// each has its own.
TEST(CcLabelVolume, HolesAreFilled) {
  size_t filled = 0;
  for (const Volume& volume : volume_cases()) {
    if (volume.content != "noise" && volume.content != "clouds") continue;
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      params.threshold = 0.2;
      const auto bright = [&] {
        uint64_t voxels = 0;
        const Labelling all = label_volumes_slowly(volume.frame(), volume.slices, params);
        for (const Region& r : all.regions) voxels += r.area;
        return voxels;
      };
      const uint64_t before = bright();
      for (const int64_t area : {1, 7, 100000}) {
        params.fill_holes = area;
        expect_oracle(2, volume, params);
      }
      filled += bright() > before;
    }
  }
  EXPECT_GT(filled, 15u);
  for (const Connectivity connectivity :
       {Connectivity::four, Connectivity::eight, Connectivity::six, Connectivity::twenty_six}) {
    CcLabelParams params;
    params.connectivity = connectivity;
    params.fill_holes = 20;
    params.thresholds = std::vector<double>{0.3, 0.15, 0.6, 0.3};
    expect_oracle(3, make_volume("noise", {70, 33}, is_spatial(connectivity) ? 9 : 1), params);
  }
}

// What a mask's voxels are worth is not asked; its picture gives the colours.
TEST(CcLabelVolume, MasksAreStacked) {
  const Volume volume = make_volume("clouds", {50, 14}, 6);
  const Volume mask = make_volume("noise", {50, 14}, 6);
  GuardedFrame nonzero(PixelFormat::gray8, mask.frame().size());
  for (int y = 0; y < nonzero.frame().height; ++y) {
    for (int x = 0; x < nonzero.frame().width; ++x) {
      const int value = mask.frame().sample(0, x, y);
      nonzero.frame().set_sample(0, x, y, value >= 200 ? value - 199 : 0);
    }
  }
  for (const Connectivity connectivity : kSpatial) {
    CcLabelParams params;
    params.connectivity = connectivity;
    params.source = Source::mask;
    params.fill_holes = 30;
    RunOptions options;
    options.slices = options.depth = volume.slices;
    const RunResult result =
        run_on_cpu(2, volume.frame(), std::as_const(nonzero).frame(), params, options);
    CcLabelParams bright = params;
    bright.threshold = 199.5 / 255;
    Labelling expected = label_volumes_slowly(mask.frame(), volume.slices, bright);
    EXPECT_EQ(result.labelling.labels, expected.labels);
    ASSERT_EQ(result.labelling.regions.size(), expected.regions.size());
    uint64_t sum = 0, found = 0;
    for (int y = 0; y < volume.frame().height; ++y) {
      for (int x = 0; x < 50; ++x) {
        const bool is_labelled = expected.labels[static_cast<size_t>(y * 50 + x)] != 0;
        if (is_labelled) sum += static_cast<uint64_t>(volume.frame().sample(0, x, y));
      }
    }
    for (const Region& r : result.labelling.regions) found += r.sum_value[0];
    EXPECT_EQ(found, sum);
  }
}

// A picture's regions are those of a volume of one slice.
TEST(CcLabelVolume, PartFilled) {
  for (const int depth : {2, 7, 40}) {
    CcLabelParams params;
    params.connectivity = Connectivity::eighteen;
    expect_oracle(2, make_volume("noise", {61, 17}, 1), params, depth);
    if (depth > 5) expect_oracle(2, make_volume("noise", {61, 17}, 5), params, depth);
  }
}

TEST(CcLabelVolume, FormatsGiveColours) {
  for (const PixelFormat format : {PixelFormat::gray16, PixelFormat::rgb, PixelFormat::bgrx}) {
    CcLabelParams params;
    params.connectivity = Connectivity::twenty_six;
    expect_oracle(2, make_volume("noise", {45, 11}, 8, format), params);
  }
}

TEST(CcLabelVolume, LabelPicturesAreStacked) {
  const Volume volume = make_volume("noise", {50, 14}, 6);
  CcLabelParams params;
  params.connectivity = Connectivity::six;
  params.output = CcOutput::labels;
  params.thresholds = std::vector<double>{0.8, 0.9};
  RunOptions options;
  options.slices = options.depth = volume.slices;
  for (const uint32_t limit : {255u, 65535u}) {
    options.out = limit == 255 ? PixelFormat::gray8 : PixelFormat::gray16;
    const RunResult result = run_on_cpu(2, volume.frame(), {}, params, options);
    Labelling expected = label_volumes_slowly(volume.frame(), volume.slices, params);
    ASSERT_GT(expected.regions.size(), 255u);  // so that GRAY8 overflows
    keep_largest(expected, limit);
    ASSERT_TRUE(result.intact);
    for (size_t i = 0; i < expected.labels.size(); ++i) {
      const auto x = static_cast<int>(i % 50), y = static_cast<int>(i / 50);
      ASSERT_EQ(static_cast<uint32_t>(result.out->frame().sample(0, x, y)), expected.labels[i]);
    }
  }
}

std::string refusal(const Setup& setup, const CcLabelParams& params, int slices) {
  try {
    const auto backend = make_cpu_backend(1);
    const auto queue = backend->make_queue();
    const auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend);
    algorithm->configure(setup);
    const Volume volume = make_volume("noise", setup.size, slices, setup.in.format);
    FrameTask task{.slices = slices, .in = volume.frame()};
    algorithm->enqueue(task, params, *queue);
    queue->record();
    queue->wait();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(CcLabelVolume, RefusesWhatDoesNotGoTogether) {
  const Layout& gray = layout_of(PixelFormat::gray8);
  const regions::Setup flat{.in = gray, .size = {8, 8}},
      deep{.in = gray, .size = {8, 8}, .depth = 4};
  CcLabelParams params;
  EXPECT_EQ(refusal(flat, params, 1), "");
  EXPECT_NE(refusal(deep, params, 4).find("connectivity 8 is for pictures"), std::string::npos);
  params.connectivity = Connectivity::six;
  EXPECT_EQ(refusal(deep, params, 4), "");
  EXPECT_NE(refusal(deep, params, 5).find("5 slices"), std::string::npos);
  EXPECT_NE(refusal(flat, params, 1).find("connectivity 6 is for volumes"), std::string::npos);
  params.fill_holes = 3;
  params.label_background = true;
  regions::Setup both = deep;
  both.has_background = true;
  EXPECT_NE(refusal(both, params, 4).find("fill-holes"), std::string::npos);
  params.fill_holes = 0;
  params.label_background = false;
  params.criterion = Criterion::equal;
  params.thresholds = std::vector<double>{0.1, 0.2};
  regions::Setup layered = deep;
  layered.layers = 2;
  EXPECT_NE(refusal(layered, params, 4).find("criterion=binary"), std::string::npos);
  EXPECT_NE(refusal(deep, params, 4).find("differs from the configured"), std::string::npos);
  regions::Setup followed = deep;
  followed.tracks = true;
  EXPECT_NE(refusal(followed, {}, 4).find("track=true"), std::string::npos);
  regions::Setup huge = deep;
  huge.size = {65535, 65535};
  EXPECT_NE(refusal(huge, {}, 1).find("more voxels than labels"), std::string::npos);
  EXPECT_THROW(params.thresholds = std::vector<double>(129, 0.5), InputError);
}

TEST(CcLabelMethod, WhatTheHistoricOnesDoNotTake) {
  struct Case {
    const char *line, *says;
  };
  for (const Case& c :
       {Case{"propagation", ""}, Case{"propagation criterion=difference", ""},
        Case{"sweep connectivity=26", ""}, Case{"sweep connectivity=6", "connectivity=26"},
        Case{"sweep connectivity=26 criterion=equal", "criterion=binary"},
        Case{"propagation track=true", "no track"}, Case{"propagation min-area=5", ""},
        Case{"propagation fill-holes=5", "fill-holes"}}) {
    CcLabelParams params;
    std::istringstream words(std::string("method=") + c.line);
    for (std::string word; words >> word;) {
      const size_t is = word.find('=');
      assign_text(find(fields_of(params), word.substr(0, is)), &params, word.substr(is + 1));
    }
    const regions::Setup setup{.in = layout_of(PixelFormat::gray8), .size = {1024, 8}, .depth = 2};
    const auto refused = [&](const regions::Setup& s, BackendKind backend) -> std::string {
      try {
        expects_method(s, params, backend);
      } catch (const InputError& error) {
        return error.what();
      }
      return "";
    };
    const std::string text = refused(setup, BackendKind::cuda);
    EXPECT_EQ(text.empty(), std::string(c.says).empty()) << c.line << ": " << text;
    EXPECT_NE(text.find(c.says), std::string::npos) << c.line << ": " << text;
    EXPECT_NE(refused(setup, BackendKind::cpu).find("CUDA only"), std::string::npos) << c.line;
    regions::Setup wide = setup;
    wide.size.width = 1025;
    const bool sweeps = params.method == Method::sweep && *c.says == 0;
    EXPECT_EQ(refused(wide, BackendKind::cuda).find("1024") != std::string::npos, sweeps);
  }
  // The CPU says so before it labels anything.
  CcLabelParams params;
  params.method = Method::propagation;
  const regions::Setup flat{.in = layout_of(PixelFormat::gray8), .size = {8, 8}};
  EXPECT_NE(refusal(flat, params, 1).find("CUDA only"), std::string::npos);
}

}  // namespace
}  // namespace regions
