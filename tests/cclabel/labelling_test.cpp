// Labelling of pictures: contents, sizes, formats, sources, criteria, filters, seeds and outputs.
#include <cstring>

#include "tests/cclabel/run.hpp"
#include "tests/cclabel/scenes.hpp"

namespace regions {
namespace {

using CcLabelPicture = CcLabelTest;
TEST_ON_BACKENDS(CcLabelPicture);

std::vector<std::string_view> all_contents() {
  std::vector<std::string_view> all;
  for (const auto list : {contents(), edge_contents(), tone_contents()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

CcLabelParams params_of(Connectivity connectivity, Criterion criterion = Criterion::binary) {
  CcLabelParams params;
  params.connectivity = connectivity;
  params.criterion = criterion;
  params.tolerance = 0.03;
  return params;
}

TEST_P(CcLabelPicture, EveryContentAndCriterion_LabelsAndRecordsEqualReference) {
  std::vector<Size> sizes = {{1, 1},   {1, 67},  {67, 1},  {2, 2},    {31, 9},   {32, 8},  {33, 7},
                             {63, 31}, {64, 32}, {65, 33}, {127, 20}, {128, 21}, {129, 64}};
  sizes.push_back(is_cuda() ? Size{517, 389} : Size{300, 129});
  for (const Size size : sizes) {
    for (const std::string_view content : all_contents()) {
      const Picture picture = make_picture(content, size);
      for (const Criterion criterion : kCriteria) {
        for (const Connectivity connectivity : kFlat) {
          check(picture.frame(), params_of(connectivity, criterion), std::string(content));
        }
      }
    }
  }
}

TEST_P(CcLabelPicture, SizesNearMultiplesOf32_LabelsAndRecordsEqualReference) {
  const int sides[] = {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257};
  for (const int width : sides) {
    for (const int height : sides) {
      const Picture picture = make_picture("rand_g1_d50", {width, height});
      for (const Connectivity connectivity : kFlat) {
        check(picture.frame(), params_of(connectivity), "noise", {.padding = width % 3});
      }
    }
  }
}

// Every second row has single pixels at a fixed distance; the rows between have holes at another
// distance, or none. Runs of one row are joined below, or almost joined, over gaps of any length.
// At the smallest distances a tile has more runs than its list holds.
TEST_P(CcLabelPicture, RunsThatTheNextRowConnects_LabelsAndRecordsEqualReference) {
  const auto sizes = is_cuda() ? std::vector<Size>{{517, 389}, {512, 512}, {640, 480}}
                               : std::vector<Size>{{301, 40}};
  for (const Size size : sizes) {
    for (const int step : {2, 3, 31, 33, 70, 129}) {
      for (const int holes : {1 << 16, 37, 64, 129}) {
        Picture picture = make_picture("empty", size);
        for (int y = 0; y < size.height; ++y) {
          for (int x = 0; x < size.width; ++x) {
            const bool set = y % 2 == 0 ? x % step == 0 : (x + y) % holes != holes - 1;
            picture.pixels[static_cast<size_t>(y) * size.width + x] = set ? 255 : 0;
          }
        }
        for (const Connectivity connectivity : kFlat) {
          check(picture.frame(), params_of(connectivity),
                std::to_string(step) + " apart, holes " + std::to_string(holes));
        }
      }
    }
  }
}

TEST_P(CcLabelPicture, DifferenceOrEqualCriterion_LabelsAndRecordsEqualReference) {
  for (const std::string_view content : tone_contents()) {
    for (const Size size : {Size{1, 1}, {65, 3}, {64, 64}, {63, 129}, {200, 131}}) {
      const Picture picture = make_picture(content, size);
      for (const Connectivity connectivity : kFlat) {
        CcLabelParams params = params_of(connectivity, Criterion::equal);
        check(picture.frame(), params, std::string(content), {.padding = 1});
        params.criterion = Criterion::difference;
        for (const double tolerance : {0.0, 0.02, 0.1, 0.5}) {
          params.tolerance = tolerance;
          check(picture.frame(), params, std::string(content));
        }
      }
    }
  }
}

// Almost every pixel is a run, and touches two runs above.
TEST_P(CcLabelPicture, FinePatternsWithCriterionEqual_LabelsAndRecordsEqualReference) {
  for (const std::string content : {"checkerboard", "rand_g1_d50", "comb", "spiral"}) {
    const Picture picture = make_picture(content, {200, 131});
    for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::rgb, PixelFormat::rgbx}) {
      const GuardedFrame frame = convert(picture.frame(), format);
      for (const Connectivity connectivity : kFlat) {
        check(frame.frame(), params_of(connectivity, Criterion::equal), content);
      }
    }
  }
}

TEST_P(CcLabelPicture, EveryPixelFormatAndColorRange_LabelsAndRecordsEqualReference) {
  constexpr Size kSize = {93, 77};
  for (int f = 0; f + 1 < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    for (const bool full_range : {true, false}) {
      const Colorimetry color{YuvMatrix::bt709, full_range};
      const auto made = [&](std::string_view content) {
        return convert(make_picture(content, kSize).frame(), format, color, 0, Tint::noise);
      };
      const GuardedFrame clouds = made("clouds"), noise = made("rand_g4_d45");
      const std::string range = full_range ? "full range" : "limited range";
      for (const int padding : {0, 2, 16}) {
        const RunOptions options{.padding = padding};
        check(noise.frame(), {}, range, options);
        for (const double threshold : {0.0, 0.2, 0.4321, 0.5, 0.503, 0.6, 1.0}) {
          CcLabelParams params;
          params.threshold = threshold;
          check(clouds.frame(), params, range, options);
        }
        for (const Criterion criterion : {Criterion::equal, Criterion::difference}) {
          for (const Connectivity connectivity : kFlat) {
            CcLabelParams params = params_of(connectivity, criterion);
            params.tolerance = 0.012;
            check(clouds.frame(), params, range, options);
          }
        }
      }
    }
  }
}

// Aligned rows are read 16 bytes at a time, in words that reach beyond the end of the row.
TEST_P(CcLabelPicture, PicturesWithAlignedRows_EveryFormat_LabelsAndRecordsEqualReference) {
  for (const Size size : {Size{31, 5}, {160, 67}, {131, 9}, {210, 130}}) {
    for (int f = 0; f + 1 < kPixelFormats; ++f) {
      const auto format = static_cast<PixelFormat>(f);
      for (const char* content : {"rand_g4_d45", "clouds"}) {
        const GuardedFrame in =
            convert(make_picture(content, size).frame(), format, {}, 0, Tint::noise);
        check(in.frame(), {}, content, {.is_aligned = true});
        check(in.frame(), params_of(Connectivity::eight, Criterion::difference), content,
              {.is_aligned = true});
      }
    }
  }
}

TEST_P(CcLabelPicture, SourceAlpha_EveryFormatWithAlpha_LabelsAndRecordsEqualReference) {
  for (int f = 0; f < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    if (!layout_of(format).alpha) continue;
    const GuardedFrame in = convert(make_picture("clouds", {93, 77}).frame(), format);
    for (const double threshold : {0.0, 0.3, 0.7}) {
      for (const Criterion criterion : kCriteria) {
        CcLabelParams params;
        params.source = Source::alpha;
        params.criterion = criterion;
        params.threshold = params.tolerance = threshold;
        check(in.frame(), params, "alpha");
      }
    }
  }
}

// Masks of values and of names: large labels differ in their upper bytes only.
TEST_P(CcLabelPicture, SourceMask_EveryMaskFormat_LabelsAndRecordsEqualReference) {
  constexpr Size kSize = {93, 77};
  const Picture noise = make_picture("rand_g3_d55", kSize);
  for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::nv12, PixelFormat::rgba}) {
    const GuardedFrame in = convert(make_picture("clouds", kSize).frame(), format);
    for (const PixelFormat mask_format :
         {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::labels32}) {
      GuardedFrame mask(mask_format, kSize);
      for (int y = 0; y < kSize.height; ++y) {
        for (int x = 0; x < kSize.width; ++x) {
          const uint32_t h =
              hash(static_cast<uint32_t>(x / 5), static_cast<uint32_t>(y / 4), 3) % 3;
          if (mask_format == PixelFormat::labels32) {
            mask.labels()(x, y) = h == 0 ? 0 : h == 1 ? 0x10000 : 0x80000000;
          } else {
            const int value = noise.frame().sample(0, x, y) ? 1 + static_cast<int>(h) * 90 : 0;
            mask.frame().set_sample(0, x, y, value);
          }
        }
      }
      for (const Criterion criterion : kCriteria) {
        CcLabelParams params;
        params.source = Source::mask;
        params.criterion = criterion;
        params.tolerance = 0.5;
        check(in.frame(), params, std::string(name_of(mask_format)), {.padding = 3},
              std::as_const(mask).frame());
      }
    }
  }
}

// A low-resolution mask gives the same result as the mask at the picture's size.
TEST(CcLabelMask, LowResolutionMask_LabelsEqualThoseOfTheEnlargedMask) {
  for (uint32_t n = 0; n < 120; ++n) {
    uint32_t draw = 0;
    const auto below = [&](uint32_t end) { return hash(++draw, n, 5) % end; };
    const auto side = [&](uint32_t end) { return 1 + static_cast<int>(below(end)); };
    const Size size = {side(n % 4 ? 200 : 3), side(n % 5 ? 120 : 3)};
    const Size few = {side(static_cast<uint32_t>(size.width)),
                      side(static_cast<uint32_t>(size.height))};
    const PixelFormat format = below(2) ? PixelFormat::gray8 : PixelFormat::labels32;
    GuardedFrame small(format, few);
    for (int y = 0; y < few.height; ++y) {
      for (int x = 0; x < few.width; ++x) {
        const uint32_t value = hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y), n) % 3;
        if (format == PixelFormat::gray8) {
          small.frame().set_sample(0, x, y, static_cast<int>(value * 100));
        } else {
          small.labels()(x, y) = value << 20;
        }
      }
    }
    const GuardedFrame whole = enlarged(small.frame(), size);
    const GuardedFrame in = convert(make_picture("clouds", size).frame(), PixelFormat::nv12);
    CcLabelParams params;
    params.source = Source::mask;
    params.connectivity = kFlat[below(2)];
    params.fill_holes = below(3) == 0 ? 12 : 0;
    if (below(4) == 0) params.criterion = Criterion::equal;
    params.label_background =
        params.criterion == Criterion::binary && params.fill_holes == 0 && below(3) == 0;
    params.min_area = below(3) == 0 ? 40 : 0;
    if (!params.label_background && below(3) == 0) {
      std::vector<double> points;
      for (int i = 0; i < 16; ++i) {
        points.push_back(below(static_cast<uint32_t>(size.width)));
        points.push_back(below(static_cast<uint32_t>(size.height)));
      }
      params.seeds = points;
    }
    params.output = CcOutput::labels;
    RunOptions options;
    if (below(2)) options.out = PixelFormat::labels32;
    options.most_runs = below(2) ? 4000 : 0;
    const RunResult expected = run_on_cpu(2, in.frame(), whole.frame(), params, options);
    options.mask_is_small = true;
    const RunResult found =
        run_on_cpu(side(3), in.frame(), std::as_const(small).frame(), params, options);
    EXPECT_EQ(difference(found, expected, size.width), "")
        << "case " << n << ", " << few.width << "x" << few.height << " as " << size.width << "x"
        << size.height << ", " << to_text(params);
    EXPECT_TRUE(found.intact) << n;
  }
}

TEST_P(CcLabelPicture, RandomSeeds_LabelsAndRecordsEqualReference) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const SeededCase made = seeded_case(seed);
    check(make_picture(made.content, made.size).frame(), made.params, made.content);
  }
}

TEST_P(CcLabelPicture, AreaBoundsAndHoleFilling_LabelsAndRecordsEqualReference) {
  for (const std::string content :
       {"frame", "rand_g1_d60", "rand_g4_d60", "smooth", "maze", "checkerboard", "full"}) {
    const Picture picture = make_picture(content, {210, 130});
    for (const Connectivity connectivity : kFlat) {
      const auto check_with = [&](int64_t min_area, int64_t max_area, int64_t fill_holes) {
        CcLabelParams params = params_of(connectivity);
        params.min_area = min_area;
        params.max_area = max_area;
        params.fill_holes = fill_holes;
        check(picture.frame(), params, content);
      };
      for (const int64_t area : {1, 2, 7, 100, 100000}) {
        check_with(area, 0, 0);
        check_with(0, area, 0);
        check_with(0, 0, area);
        check_with(50, 0, area);
      }
      check_with(5, 60, 9);
    }
  }
}

TEST_P(CcLabelPicture, RandomSettings_LabelsAndRecordsEqualReference) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const auto draw = [&](uint32_t what, int limit) {
      return static_cast<int>(hash(seed, what) % static_cast<uint32_t>(limit));
    };
    const std::string content =
        "rand_g" + std::to_string(1 + draw(1, 3)) + "_d" + std::to_string(5 + draw(2, 90));
    const Picture picture = make_picture(content, {1 + draw(3, 150), 1 + draw(4, 150)});
    CcLabelParams params = params_of(kFlat[seed % 2], kCriteria[draw(5, 3)]);
    params.min_area = draw(6, 3) == 0 ? draw(7, 20) : 0;
    params.max_area = draw(8, 3) == 0 ? 1 + draw(9, 60) : 0;
    params.fill_holes = draw(10, 2) == 0 ? draw(11, 30) : 0;
    check(picture.frame(), params, content);
  }
}

TEST_P(CcLabelPicture, SidesOf65535Pixels_LabelsAndRecordsEqualReference) {
  for (const Size size : {Size{65535, 3}, {3, 65535}, {65535, 1}, {1, 65535}}) {
    for (const std::string content : {"rand_g3_d55", "maze", "stripes_v"}) {
      const Picture picture = make_picture(content, size);
      for (const Connectivity connectivity : kFlat) {
        CcLabelParams params = params_of(connectivity);
        params.fill_holes = 1;
        check(picture.frame(), params, content);
        check(picture.frame(), params_of(connectivity, Criterion::equal), content);
      }
    }
  }
}

TEST_P(CcLabelPicture, FullHdAnd4K_LabelsAndRecordsEqualReference) {
  struct Case {
    std::string content;
    Size size;
    Connectivity connectivity;
  };
  for (const auto& [content, size, connectivity] :
       {Case{"rand_g1_d50", {1920, 1080}, Connectivity::four},
        {"maze", {1920, 1080}, Connectivity::eight},
        {"rand_g1_d40", {1920, 1080}, Connectivity::eight},
        {"smooth", {3840, 2160}, Connectivity::four},
        {"spiral", {3840, 2160}, Connectivity::eight}}) {
    check(make_picture(content, size).frame(), params_of(connectivity), content,
          {.capacity = 1 << 20});
  }
}

TEST(CcLabelThreads, AnyThreadCount_LabelsAndRecordsEqualThoseOfOneThread) {
  const std::pair<int, std::shared_ptr<Backend>> teams[] = {
      {2, make_cpu_backend(2)}, {3, make_cpu_backend(3)}, {7, make_cpu_backend(7)}};
  for (const std::string_view content : all_contents()) {
    const Picture picture = make_picture(content, {133, 201});
    for (const Criterion criterion : kCriteria) {
      for (const Connectivity connectivity : kFlat) {
        const CcLabelParams params = params_of(connectivity, criterion);
        const RunResult one = run_on_cpu(1, picture.frame(), {}, params);
        for (const auto& [threads, backend] : teams) {
          const auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend);
          const RunResult more = run(*backend, *algorithm, picture.frame(), {}, params);
          EXPECT_EQ(difference(more, one, 133), "")
              << content << " " << to_text(params) << " threads=" << threads;
        }
      }
    }
  }
}

TEST_P(CcLabelPicture,
       OutputMaskAndColors_RegionPixelsAre255InMasksAndTheColorOfTheirLabelInColors) {
  const Picture picture = make_picture("rand_g4_d50", {205, 99});
  for (int f = 0; f < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    const Layout& layout = layout_of(format);
    if (layout.model != ColorModel::rgb && format != PixelFormat::gray8) continue;
    for (const int padding : {0, 1, 31}) {
      CcLabelParams params;
      const bool is_mask = layout.model != ColorModel::rgb;
      params.output = is_mask ? CcOutput::mask : CcOutput::colors;
      RunOptions options{.out = format, .padding = padding};
      check(picture.frame(), params, "colours", options);
      const RunResult result = run(picture.frame(), {}, params, options);
      options.wants_labels = false;
      options.wants_records = false;
      const RunResult alone = run(picture.frame(), {}, params, options);
      EXPECT_TRUE(alone.intact && alone.out->same_pixels(*result.out)) << name_of(format);
      const ConstFrame out = std::as_const(*result.out).frame();
      int wrong = 0;
      size_t at = 0;
      for (int y = 0; y < out.height; ++y) {
        for (int x = 0; x < out.width; ++x) {
          const uint32_t label = result.labelling.labels[at++];
          const Rgb color = track_color(label);
          const int mask = label ? 255 : 0;
          const int expected[] = {is_mask ? mask : mask & color.red, mask & color.green,
                                  mask & color.blue, mask};
          for (int c = 0; c < layout.channels + layout.alpha; ++c) {
            wrong += out.sample(c, x, y) != expected[c];
          }
        }
      }
      EXPECT_EQ(wrong, 0) << name_of(format) << " padding=" << padding;
    }
  }
}

// More regions than the format holds, also after other rules have dropped regions.
TEST_P(CcLabelPicture,
       OutputLabels_MoreRegionsThanTheFormatHolds_PixelIsItsLabelLimitedToTheLargestValue) {
  struct Case {
    std::string content;
    Size size;
    Criterion criterion;
  };
  for (const auto& [content, size, criterion] :
       {Case{"checkerboard", {370, 360}, Criterion::binary},  // more than 65535 regions
        {"rand_g3_d30", {200, 150}, Criterion::binary},
        {"smooth", {333, 222}, Criterion::equal}}) {
    const Picture picture = make_picture(content, size);
    for (const PixelFormat format :
         {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::labels32}) {
      for (const auto& [overflow, min_area, max_area] : {std::tuple{Overflow::drop_smallest, 0, 0},
                                                         {Overflow::saturate, 0, 0},
                                                         {Overflow::error, 0, 0},
                                                         {Overflow::drop_smallest, 2, 0},
                                                         {Overflow::drop_smallest, 0, 40}}) {
        CcLabelParams params = params_of(Connectivity::four, criterion);
        params.min_area = min_area;
        params.max_area = max_area;
        params.output = CcOutput::labels;
        params.overflow = overflow;
        const RunOptions options{.out = format, .padding = 5};
        check(picture.frame(), params, content, options);
        const RunResult result = run(picture.frame(), {}, params, options);
        const uint32_t limit = max_label_of(layout_of(format));
        size_t wrong = 0, at = 0;
        for (int y = 0; y < size.height; ++y) {
          for (int x = 0; x < size.width; ++x) {
            uint32_t found = 0;
            std::memcpy(&found, result.out->frame().at(0, x, y), layout_of(format).sample_bytes);
            wrong += found != std::min(result.labelling.labels[at++], limit);
          }
        }
        EXPECT_EQ(wrong, 0u) << content << " " << name_of(format) << " " << to_text(params);
      }
    }
  }
}

// The drawing itself has its own tests (tests/regionoverlay).
TEST_P(CcLabelPicture, OutputOverlay_WithOrWithoutRecords_HasTheSamePixels) {
  const Picture picture = make_picture("rand_g16_d40", {333, 211});
  for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::nv12, PixelFormat::p010,
                                   PixelFormat::yuy2, PixelFormat::bgra, PixelFormat::rgb}) {
    const GuardedFrame in = convert(picture.frame(), format, {}, 0, Tint::noise);
    CcLabelParams params;
    params.output = CcOutput::overlay;
    params.style = 15;
    RunOptions options{.out = format};
    check(in.frame(), params, "overlay", options);
    const RunResult with = run(in.frame(), {}, params, options);
    options.wants_records = false;
    options.wants_labels = false;
    const RunResult without = run(in.frame(), {}, params, options);
    EXPECT_TRUE(without.intact && without.out->same_pixels(*with.out)) << name_of(format);
    EXPECT_FALSE(with.out->same_pixels(in)) << name_of(format);
  }
}

TEST_P(CcLabelPicture, MoreRegionsThanRecords_RecordsStopAtTheCapacity) {
  for (const uint32_t capacity : {0u, 1u, 40u, 4096u}) {
    for (const Size size : {Size{300, 200}, Size{1100, 900}}) {
      check(make_picture("checkerboard", size).frame(), params_of(Connectivity::four), "few",
            {.capacity = capacity});
    }
  }
}

TEST_P(CcLabelPicture, Frame_WithoutTheAlphaOrMaskThatSourceSelects_IsRefused) {
  const Picture picture = make_picture("smooth", {64, 48});
  CcLabelParams params;
  params.source = Source::alpha;
  EXPECT_THROW(run(picture.frame(), {}, params), InputError);
  params.source = Source::mask;
  EXPECT_THROW(run(picture.frame(), {}, params), InputError);
  EXPECT_THROW(run(picture.frame(), make_picture("smooth", {63, 48}).frame(), params), InputError);
}

}  // namespace
}  // namespace regions
