// Labelling of volumes, and of pictures and volumes at several thresholds.
#include "tests/cclabel/run.hpp"
#include "tests/cclabel/scenes.hpp"

namespace regions {
namespace {

class CcLabelVolume : public CcLabelTest {
 protected:
  void check_volume(const Volume& volume, const CcLabelParams& params, RunOptions options = {},
                    const ConstFrame& mask = {}) {
    options.slices = volume.slices;
    const int least = is_spatial(params.connectivity) ? std::max(volume.slices, 2) : 1;
    options.depth = std::max(options.depth, least);
    check(volume.frame(), params, volume.name(), options, mask);
  }
};
TEST_ON_BACKENDS(CcLabelVolume);

TEST_P(CcLabelVolume, EveryContentAndSize_LabelsAndRecordsEqualReference) {
  for (const Volume& volume : volume_cases()) {
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      check_volume(volume, params);
      params.label_background = true;
      check_volume(volume, params, {.padding = 5});
    }
  }
}

TEST_P(CcLabelVolume, EqualAndDifferenceCriteria_LabelsAndRecordsMatchTheReference) {
  const auto check_criteria = [&](const Volume& volume, Connectivity connectivity, int padding) {
    CcLabelParams params;
    params.connectivity = connectivity;
    params.tolerance = 0.2;
    for (const Criterion criterion : {Criterion::equal, Criterion::difference}) {
      params.criterion = criterion;
      for (const int64_t min_area : {0, 3}) {
        params.min_area = min_area;
        check_volume(volume, params, {.padding = padding});
      }
    }
  };
  for (const Volume& volume : volume_cases()) {
    if (volume.size.area() * static_cast<size_t>(volume.slices) > 40000) continue;
    for (const Connectivity connectivity : kSpatial) check_criteria(volume, connectivity, 0);
  }
  for (const char* content : {"noise", "clouds", "corners"}) {
    for (const Connectivity connectivity : kSpatial) {
      check_criteria(make_volume(content, {33, 20}, 5, PixelFormat::rgb), connectivity, 4);
    }
  }
}

// A picture or volume whose values differ only in the bits `mask`. Equal values form cubes.
Volume make_codes(uint32_t mask, uint32_t other_bits, Size size, int slices, PixelFormat format,
                  int side) {
  Volume volume{"codes " + std::to_string(mask), size, slices, format, {}};
  for (int z = 0; z < slices; ++z) {
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const auto row = static_cast<uint32_t>(z / side * size.height + y / side);
        const uint32_t value = other_bits | (hash(static_cast<uint32_t>(x / side), row) & mask);
        volume.voxels.push_back(static_cast<uint8_t>(value));
        if (format == PixelFormat::gray16)
          volume.voxels.push_back(static_cast<uint8_t>(value >> 8));
      }
    }
  }
  return volume;
}

struct CodeCase {
  uint32_t mask, other_bits;  // as in make_codes()
  PixelFormat format;
};
constexpr CodeCase kCodeCases[] = {
    {0x01, 0, PixelFormat::gray8},       {0x81, 0x20, PixelFormat::gray8},
    {0x54, 0, PixelFormat::gray8},       {0x3c, 0x80, PixelFormat::gray8},
    {0xab, 0, PixelFormat::gray8},       {0x7e, 0x01, PixelFormat::gray8},
    {0xfe, 0, PixelFormat::gray8},       {0xff, 0, PixelFormat::gray8},
    {0x8001, 0x10, PixelFormat::gray16}, {0x0380, 0, PixelFormat::gray16},
    {0xff00, 0x42, PixelFormat::gray16}, {0, 7, PixelFormat::gray8}};

// Calls check(volume, params) for pictures and volumes of each case, with criterion=equal.
template <class Check>
void for_each_code_case(Check check) {
  CcLabelParams params;
  params.criterion = Criterion::equal;
  for (const CodeCase& c : kCodeCases) {
    const auto check_with = [&](Size size, int side, int slices, Connectivity connectivity) {
      params.connectivity = connectivity;
      check(make_codes(c.mask, c.other_bits, size, slices, c.format, side), params);
    };
    for (const int side : {1, 4}) {
      for (const Size size : {Size{1, 3}, {63, 9}, {64, 7}, {130, 20}, {257, 12}}) {
        for (const Connectivity flat : kFlat) check_with(size, side, 1, flat);
        for (const Connectivity spatial : kSpatial) check_with(size, side, 7, spatial);
      }
    }
  }
}

TEST_P(CcLabelVolume, CriterionEqual_ValuesThatDifferInSomeBits_LabelsAndRecordsEqualReference) {
  for_each_code_case([&](const Volume& volume, const CcLabelParams& params) {
    check_volume(volume, params, {.padding = 1});
  });
}

TEST_P(CcLabelVolume,
       CriterionEqual_AfterConfigureForBinaryOnTheCpu_LabelsAndRecordsEqualReference) {
  if (is_cuda()) return;  // CUDA requires prepare() if the criterion of volumes changes
  for_each_code_case([&](const Volume& volume, const CcLabelParams& params) {
    check_volume(volume, params, {.is_prepared = false});
  });
}

TEST_P(CcLabelVolume, ExcludedValue_CriterionEqualOnTheCpu_LabelsAndRecordsEqualReference) {
  if (is_cuda()) return;  // refuses an excluded value, see the next test
  for_each_code_case([&](const Volume& volume, const CcLabelParams& params) {
    RunOptions options;
    options.excluded_value = static_cast<uint32_t>(volume.frame().sample(0, 0, 0));
    check_volume(volume, params, options);
  });
}

TEST_P(CcLabelVolume, ExcludedValue_OtherCriterionOrFormatOrBackend_IsRefused) {
  CcLabelParams params;
  const auto label = [&](PixelFormat format) {
    const Volume picture = make_volume("noise", {33, 20}, 1, format);
    return run(picture.frame(), {}, params, {.excluded_value = 0});
  };
  EXPECT_THROW(label(PixelFormat::gray8), InputError);
  params.criterion = Criterion::equal;
  EXPECT_THROW(label(PixelFormat::rgb), InputError);
  if (is_cuda()) {
    EXPECT_THROW(label(PixelFormat::gray8), InputError);
  }
}

TEST_P(CcLabelVolume, RandomSettings_LabelsAndRecordsEqualReference) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const auto [volume, params, choice] = random_volume(seed, {150, 20}, 20);
    check_volume(volume, params, {.padding = choice});
  }
}

TEST(CcLabelVolumeThreads, AnyThreadCount_LabelsAndRecordsEqualThoseOfOneThread) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const auto [volume, params, choice] = random_volume(seed, {90, 12}, 12);
    const RunOptions options{.slices = volume.slices, .depth = std::max(volume.slices, 2)};
    const RunResult one = run_on_cpu(1, volume.frame(), {}, params, options);
    const RunResult more = run_on_cpu(3 + choice % 3, volume.frame(), {}, params, options);
    EXPECT_EQ(difference(more, one, volume.size.width), "") << volume.name() << to_text(params);
  }
}

TEST_P(CcLabelVolume, SeveralThresholds_EachLayerEqualsReference) {
  std::vector<double> many;
  for (int k = 0; k < 64; ++k) many.push_back((4 * k + 2) / 255.0);
  for (const auto& list :
       {std::vector{0.5}, {0.1, 0.2, 0.3}, {0.9, 0.1, 0.5, 0, 1}, {0.4, 0.4}, many}) {
    for (const bool background : {false, true}) {
      if (background && list.size() > 5) continue;
      CcLabelParams params;
      params.thresholds = list;
      params.label_background = background;
      for (const char* content : {"noise", "clouds"}) {
        for (const Connectivity flat : kFlat) {
          params.connectivity = flat;
          check_volume(make_volume(content, {70, 33}, 1), params);
        }
        for (const Connectivity spatial : kSpatial) {
          params.connectivity = spatial;
          check_volume(make_volume(content, {45, 20}, 11), params);
        }
      }
    }
  }
}

// Dark voxels in white noise form holes of one or more voxels; some touch a side of the volume.
TEST_P(CcLabelVolume, FillHoles_NoiseVolumesWithHoles_LabelsAndRecordsEqualReference) {
  int cases_with_holes = 0;
  for (const Volume& volume : volume_cases()) {
    if (volume.content != "noise" && volume.content != "clouds") continue;
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      params.threshold = 0.2;
      const auto foreground = [&] {
        uint64_t voxels = 0;
        const Labelling all = label_slowly(volume.frame(), {}, params, volume.slices);
        for (const Region& r : all.regions) voxels += r.area;
        return voxels;
      };
      const uint64_t before = foreground();
      for (const int64_t area : {1, 7, 100000}) {
        params.fill_holes = area;
        check_volume(volume, params, {.padding = area == 7 ? 3 : 0});
      }
      cases_with_holes += foreground() > before;
    }
  }
  EXPECT_GT(cases_with_holes, 15) << "the volumes have too few holes";
}

TEST_P(CcLabelVolume, FillHoles_SeveralThresholds_LabelsAndRecordsEqualReference) {
  for (const Connectivity connectivity :
       {Connectivity::four, Connectivity::eight, Connectivity::six, Connectivity::eighteen,
        Connectivity::twenty_six}) {
    CcLabelParams params;
    params.connectivity = connectivity;
    params.fill_holes = 20;
    params.thresholds = std::vector<double>{0.3, 0.15, 0, 0.6, 0.3, 1};
    const int slices = is_spatial(connectivity) ? 9 : 1;
    check_volume(make_volume("noise", {70, 33}, slices), params);
    check_volume(make_volume("noise", {70, 34}, slices, PixelFormat::rgb), params);
    params.min_area = 4;
    check_volume(make_volume("noise", {70, 33}, slices, PixelFormat::gray16), params);
  }
}

TEST_P(CcLabelVolume, SourceMask_GrayOrLabelMask_LabelsAndRecordsEqualReference) {
  const Volume volume = make_volume("clouds", {70, 20}, 9, PixelFormat::rgb);
  for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::labels32}) {
    Volume mask = make_volume("sparse", {70, 20}, 9);
    if (format == PixelFormat::labels32) {  // the lowest byte of each label is 0
      mask.format = format;
      std::vector<uint8_t> wide(4 * mask.voxels.size());
      for (size_t i = 0; i < mask.voxels.size(); ++i) wide[4 * i + 1] = mask.voxels[i];
      mask.voxels = wide;
    }
    for (const Connectivity connectivity : kSpatial) {
      for (const int64_t fill_holes : {0, 30}) {
        CcLabelParams params;
        params.connectivity = connectivity;
        params.source = Source::mask;
        params.fill_holes = fill_holes;
        check_volume(volume, params, {}, mask.frame());
      }
    }
  }
}

// A volume of one slice has the same regions as a picture.
TEST_P(CcLabelVolume, FewerSlicesThanTheDepthProperty_LabelsAndRecordsEqualReference) {
  for (const int depth : {2, 7, 40}) {
    CcLabelParams params;
    params.connectivity = Connectivity::eighteen;
    check_volume(make_volume("noise", {61, 17}, 1), params, {.depth = depth});
    if (depth > 5) check_volume(make_volume("noise", {61, 17}, 5), params, {.depth = depth});
  }
}

TEST_P(CcLabelVolume, EveryFormatAndOutput_LabelsAndRecordsEqualReference) {
  struct Kind {
    CcOutput output;
    PixelFormat format;
    int padding;
  };
  for (const PixelFormat format :
       {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::rgb, PixelFormat::bgrx}) {
    const Volume volume = make_volume("noise", {45, 11}, 8, format);
    for (const auto& [output, out, padding] : {Kind{CcOutput::labels, PixelFormat::gray8, 3},
                                               {CcOutput::labels, PixelFormat::gray16, 2},
                                               {CcOutput::mask, PixelFormat::gray8, 7},
                                               {CcOutput::colors, PixelFormat::rgba, 0}}) {
      CcLabelParams params;
      params.connectivity = Connectivity::twenty_six;
      params.overflow = Overflow::saturate;
      params.output = output;
      check_volume(volume, params, {.out = out, .padding = padding});
    }
  }
}

// Label pictures of more regions than GRAY8 holds, of fewer, and in layers.
TEST_P(CcLabelVolume, OutputLabelsInGray8_FewAndManyRegions_PixelsEqualTheReturnedLabels) {
  for (const Connectivity connectivity : kSpatial) {
    for (const Volume& volume : {make_volume("noise", {50, 14}, 6), make_volume("full", {50, 9}, 6),
                                 make_volume("clouds", {65, 20}, 11)}) {
      for (const bool in_layers : {false, true}) {
        CcLabelParams params;
        params.connectivity = connectivity;
        params.output = CcOutput::labels;
        params.threshold = 0.8;
        if (in_layers) params.thresholds = std::vector<double>{0.8, 0.9};
        params.min_area = in_layers ? 2 : 0;
        params.label_background = in_layers;
        const RunOptions options{.out = PixelFormat::gray8,
                                 .padding = 3,
                                 .slices = volume.slices,
                                 .depth = volume.slices};
        check_volume(volume, params, options);
        const RunResult result = run(volume.frame(), {}, params, options);
        const auto& labels = result.labelling.labels;
        for (size_t i = 0; i < labels.size(); ++i) {
          const auto x = static_cast<int>(i % static_cast<size_t>(volume.size.width));
          const auto y = static_cast<int>(i / static_cast<size_t>(volume.size.width));
          ASSERT_EQ(static_cast<uint32_t>(result.out->frame().sample(0, x, y)), labels[i]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace regions
