// cclabel on CUDA against the oracle, bit for bit. Run one case alone with --gtest_filter.
#include "tests/cclabel/cuda_fixture.hpp"

namespace regions {
namespace {

TEST_F(CcLabelCuda, EveryContentAtAnOddSize) {
  for (const auto list : {contents(), edge_contents()}) {
    for (const std::string_view content : list) {
      const Picture picture = make_picture(content, {517, 389});
      for (const Connectivity connectivity : kBoth) {
        CcLabelParams params;
        params.connectivity = connectivity;
        expect_oracle(picture.frame(), {}, params, std::string(content));
      }
    }
  }
}

// Pixels apart in every second row, and rows with holes, or none, between: runs side by side that
// one below joins, or nearly, over gaps of any length. The closest are more in a tile and in a
// strip than are listed.
TEST_F(CcLabelCuda, RunsThatOneBelowJoins) {
  for (const Size size : {Size{517, 389}, {512, 512}, {640, 480}}) {
    for (const int step : {2, 3, 31, 33, 70, 129}) {
      for (const int holes : {1 << 16, 37, 64, 129}) {
        Picture picture = make_picture("empty", size);
        for (int y = 0; y < size.height; ++y) {
          for (int x = 0; x < size.width; ++x) {
            const bool set = y % 2 == 0 ? x % step == 0 : (x + y) % holes != holes - 1;
            picture.pixels[static_cast<size_t>(y) * size.width + x] = set ? 255 : 0;
          }
        }
        for (const Connectivity connectivity : kBoth) {
          CcLabelParams params;
          params.connectivity = connectivity;
          expect_oracle(picture.frame(), {}, params,
                        std::to_string(step) + " apart, holes " + std::to_string(holes));
        }
      }
    }
  }
}

TEST_F(CcLabelCuda, SizesAroundWordsAndTiles) {
  const int sides[] = {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257};
  for (const int width : sides) {
    for (const int height : sides) {
      const Picture picture = make_picture("rand_g1_d50", {width, height});
      for (const Connectivity connectivity : kBoth) {
        CcLabelParams params;
        params.connectivity = connectivity;
        expect_oracle(picture.frame(), {}, params, "noise", width % 3);
      }
    }
  }
}

TEST_F(CcLabelCuda, LinkedCriteria) {
  for (const std::string_view content : tone_contents()) {
    for (const Size size : {Size{1, 1}, {65, 3}, {64, 64}, {63, 129}, {200, 131}}) {
      const Picture picture = make_picture(content, size);
      for (const Connectivity connectivity : kBoth) {
        CcLabelParams params;
        params.connectivity = connectivity;
        params.criterion = Criterion::equal;
        expect_oracle(picture.frame(), {}, params, std::string(content), 1);
        params.criterion = Criterion::difference;
        for (const double tolerance : {0.0, 0.02, 0.1, 0.5}) {
          params.tolerance = tolerance;
          expect_oracle(picture.frame(), {}, params, std::string(content));
        }
      }
    }
  }
}

// Nearly every pixel is a run, and touches two above; pixels lie apart, packed and in words.
TEST_F(CcLabelCuda, LinkedPixelsOfFinePatterns) {
  for (const std::string_view content : {"checkerboard", "rand_g1_d50", "comb", "spiral"}) {
    const Picture picture = make_picture(content, {200, 131});
    for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::rgb, PixelFormat::rgbx}) {
      const GuardedFrame frame = convert(picture.frame(), format);
      for (const Connectivity connectivity : kBoth) {
        CcLabelParams params;
        params.connectivity = connectivity;
        params.criterion = Criterion::equal;
        expect_oracle(std::as_const(frame).frame(), {}, params, std::string(content));
      }
    }
  }
}

TEST_F(CcLabelCuda, EveryFormatAndRange) {
  const Picture picture = make_picture("rand_g4_d45", {131, 67});
  const Picture tones = make_picture("clouds", {131, 67});
  for (int f = 0; f < kPixelFormats - 1; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    for (const bool full_range : {true, false}) {
      const Colorimetry color{YuvMatrix::bt709, full_range};
      const GuardedFrame noise = convert(picture.frame(), format, color, 0, Tint::noise);
      const GuardedFrame clouds = convert(tones.frame(), format, color, 0, Tint::noise);
      const std::string name = std::string(name_of(format)) + (full_range ? " full" : " limited");
      for (const int padding : {0, 2, 16}) {
        CcLabelParams params;
        expect_oracle(std::as_const(noise).frame(), {}, params, name, padding);
        params.threshold = 0.37;
        expect_oracle(std::as_const(clouds).frame(), {}, params, name + " clouds", padding);
        params.criterion = Criterion::difference;
        params.tolerance = 0.03;
        expect_oracle(std::as_const(clouds).frame(), {}, params, name, padding);
      }
      if (!layout_of(format).alpha) continue;
      CcLabelParams params;
      params.source = Source::alpha;
      expect_oracle(std::as_const(noise).frame(), {}, params, name);
      params.criterion = Criterion::difference;
      params.tolerance = 0.3;
      expect_oracle(std::as_const(noise).frame(), {}, params, name);
    }
  }
}

// Colours are read sixteen bytes at a time, but in words that reach beyond the row.
TEST_F(CcLabelCuda, EveryFormatInAlignedRows) {
  for (const Size size : {Size{31, 5}, {160, 67}, {131, 9}, {210, 130}}) {
    const Picture picture = make_picture("rand_g4_d45", size);
    const Picture tones = make_picture("clouds", size);
    for (int f = 0; f < kPixelFormats - 1; ++f) {
      const auto format = static_cast<PixelFormat>(f);
      const GuardedFrame noise = convert(picture.frame(), format, {}, 0, Tint::noise);
      const GuardedFrame clouds = convert(tones.frame(), format, {}, 0, Tint::noise);
      const std::string name = std::string(name_of(format)) + " " + std::to_string(size.width);
      CcLabelParams params;
      expect_oracle(std::as_const(noise).frame(), {}, params, name, kToSixteen);
      params.criterion = Criterion::difference;
      params.tolerance = 0.03;
      expect_oracle(std::as_const(clouds).frame(), {}, params, name, kToSixteen);
    }
  }
}

TEST_F(CcLabelCuda, Masks) {
  const Picture picture = make_picture("clouds", {150, 70});
  const Picture noise = make_picture("rand_g3_d40", {150, 70});
  for (const PixelFormat format :
       {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::labels32}) {
    GuardedFrame mask(format, picture.size);
    for (int y = 0; y < picture.size.height; ++y) {
      for (int x = 0; x < picture.size.width; ++x) {
        const int value = noise.frame().sample(0, x, y) ? 1 + (x / 20 + y / 9) % 3 * 90 : 0;
        if (format == PixelFormat::labels32) {
          mask.labels()(x, y) = static_cast<uint32_t>(value) << 20;
        } else {
          mask.frame().set_sample(0, x, y, value);
        }
      }
    }
    for (const Criterion criterion : {Criterion::binary, Criterion::equal, Criterion::difference}) {
      CcLabelParams params;
      params.source = Source::mask;
      params.criterion = criterion;
      params.tolerance = 0.5;
      expect_oracle(picture.frame(), std::as_const(mask).frame(), params,
                    std::string(name_of(format)));
    }
  }
}

TEST_F(CcLabelCuda, SeedsChooseRegions) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const SeededCase made = seeded_case(seed);
    const Picture picture = make_picture(made.content, made.size);
    expect_oracle(picture.frame(), {}, made.params, made.content);
  }
}

TEST_F(CcLabelCuda, AreaFiltersAndHoles) {
  for (const std::string_view content :
       {"rand_g1_d40", "rand_g4_d60", "smooth", "frame", "maze", "checkerboard", "full"}) {
    const Picture picture = make_picture(content, {301, 203});
    for (const Connectivity connectivity : kBoth) {
      const std::string name(content);
      CcLabelParams params;
      params.connectivity = connectivity;
      params.min_area = 5;
      expect_oracle(picture.frame(), {}, params, name);
      params.max_area = 60;
      expect_oracle(picture.frame(), {}, params, name);
      params.fill_holes = 9;
      expect_oracle(picture.frame(), {}, params, name);
      params.min_area = params.max_area = 0;
      for (const int64_t area : {1, 30, 100000}) {
        params.fill_holes = area;
        expect_oracle(picture.frame(), {}, params, name);
      }
    }
  }
}

TEST_F(CcLabelCuda, LongestSides) {
  for (const Size size : {Size{65535, 3}, {3, 65535}, {65535, 1}, {1, 65535}}) {
    const Picture picture = make_picture("rand_g3_d55", size);
    for (const Connectivity connectivity : kBoth) {
      CcLabelParams params;
      params.connectivity = connectivity;
      expect_oracle(picture.frame(), {}, params, "noise");
      params.criterion = Criterion::equal;
      expect_oracle(picture.frame(), {}, params, "noise");
    }
  }
}

TEST_F(CcLabelCuda, FourK) {
  for (const std::string_view content : {"smooth", "rand_g1_d40", "spiral"}) {
    const Picture picture = make_picture(content, {3840, 2160});
    for (const Connectivity connectivity : kBoth) {
      CcLabelParams params;
      params.connectivity = connectivity;
      expect_oracle(picture.frame(), {}, params, std::string(content));
    }
  }
}

// Records of more regions than a tile's sums hold at once.
TEST_F(CcLabelCuda, ManyRecords) {
  const Picture picture = make_picture("checkerboard", {700, 500});
  CcLabelParams params;
  params.connectivity = Connectivity::four;
  expect_oracle(picture.frame(), {}, params, "checkerboard", 0, 1 << 18);
}

TEST_F(CcLabelCuda, RefusesWhatItCannotDo) {
  const Picture picture = make_picture("smooth", {64, 48});
  CcLabelParams params;
  params.source = Source::alpha;
  EXPECT_THROW(gpu_->label(picture.frame(), {}, params), InputError);
  params.source = Source::mask;
  EXPECT_THROW(gpu_->label(picture.frame(), {}, params), InputError);
  const GuardedFrame small(PixelFormat::gray8, {63, 48});
  EXPECT_THROW(gpu_->label(picture.frame(), small.frame(), params), InputError);
}

// Races do not show in one run.
TEST_F(CcLabelCuda, HundredRepeatsAreEqual) {
  for (const std::string_view content : {"maze", "rand_g1_d50", "rand_g1_d60"}) {
    const Picture picture = make_picture(content, {3840, 2160});
    for (const Connectivity connectivity : kBoth) {
      CcLabelParams params;
      params.connectivity = connectivity;
      const Labelling expected = label_slowly(picture.frame(), {}, params);
      EXPECT_EQ(gpu_->repeats_that_differ(picture.frame(), params, expected.labels, 100), 0)
          << std::string(content);
    }
  }
}

}  // namespace
}  // namespace regions
