// cclabel on the CPU against the oracle: every input format, range, source and output.
#include <gtest/gtest.h>

#include "tests/cclabel/run.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

constexpr Size kSize{93, 77};

std::string trace(PixelFormat format, const CcLabelParams& params) {
  return std::string(name_of(format)) + " " + to_text(params);
}

void expect_oracle(const ConstFrame& in, const ConstFrame& mask, const CcLabelParams& params) {
  SCOPED_TRACE(trace(in.layout.format, params));
  const RunResult result = run_on_cpu(2, in, mask, params);
  EXPECT_EQ(difference(result.labelling, label_slowly(in, mask, params), in.width), "");
  EXPECT_TRUE(result.intact);
}

class Formats : public testing::TestWithParam<int> {
 protected:
  PixelFormat format() const { return static_cast<PixelFormat>(GetParam()); }
};

TEST_P(Formats, CriteriaThresholdsAndRanges) {
  const Picture clouds = make_picture("clouds", kSize);
  for (const bool full_range : {true, false}) {
    for (const int padding : {0, 1, 13}) {
      const Colorimetry color{YuvMatrix::bt709, full_range};
      const GuardedFrame in = convert(clouds.frame(), format(), color, padding, Tint::noise);
      CcLabelParams params;
      for (const double threshold : {0.0, 0.2, 0.4321, 0.5, 0.503, 0.6, 1.0}) {
        params.threshold = threshold;
        expect_oracle(in.frame(), {}, params);
      }
      for (const Criterion criterion : {Criterion::equal, Criterion::difference}) {
        for (const Connectivity connectivity : {Connectivity::four, Connectivity::eight}) {
          params = {};
          params.criterion = criterion;
          params.connectivity = connectivity;
          params.tolerance = 0.012;
          expect_oracle(in.frame(), {}, params);
        }
      }
    }
  }
}

TEST_P(Formats, Alpha) {
  if (!layout_of(format()).alpha) return;
  const GuardedFrame in = convert(make_picture("clouds", kSize).frame(), format());
  for (const double threshold : {0.0, 0.3, 0.7}) {
    for (const Criterion criterion : {Criterion::binary, Criterion::equal, Criterion::difference}) {
      CcLabelParams params;
      params.source = Source::alpha;
      params.criterion = criterion;
      params.threshold = threshold;
      params.tolerance = threshold;
      expect_oracle(in.frame(), {}, params);
    }
  }
}

TEST_P(Formats, MasksKeepThePicturesColours) {
  const GuardedFrame in = convert(make_picture("clouds", kSize).frame(), format());
  const Picture noise = make_picture("rand_g3_d55", kSize);
  for (const PixelFormat mask : {PixelFormat::gray8, PixelFormat::gray16}) {
    const GuardedFrame values = convert(noise.frame(), mask, {}, 3);
    for (const Criterion criterion : {Criterion::binary, Criterion::equal, Criterion::difference}) {
      CcLabelParams params;
      params.source = Source::mask;
      params.criterion = criterion;
      expect_oracle(in.frame(), values.frame(), params);
    }
  }
  GuardedFrame names(PixelFormat::labels32, kSize, 4);
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      const uint32_t h = hash(static_cast<uint32_t>(x / 5), static_cast<uint32_t>(y / 4), 3);
      names.labels()(x, y) = h % 3 == 0 ? 0 : h % 3 == 1 ? 0x10000 : 0x80000000;
    }
  }
  for (const Criterion criterion : {Criterion::binary, Criterion::equal, Criterion::difference}) {
    CcLabelParams params;
    params.source = Source::mask;
    params.criterion = criterion;
    expect_oracle(in.frame(), names.frame(), params);
  }
}

INSTANTIATE_TEST_SUITE_P(CcLabel, Formats, testing::Range(0, kPixelFormats - 1),
                         [](const auto& which) {
                           return std::string(name_of(static_cast<PixelFormat>(which.param)));
                         });

int label_at(const RunResult& result, int x, int y) {
  return static_cast<int>(
      result.labelling.labels[static_cast<size_t>(y) * kSize.width + static_cast<size_t>(x)]);
}

TEST(CcLabelOutput, MaskAndColours) {
  const Picture picture = make_picture("rand_g2_d40", kSize);
  for (int f = 0; f < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    const Layout& layout = layout_of(format);
    if (layout.model != ColorModel::rgb && format != PixelFormat::gray8) continue;
    for (const int padding : {0, 1, 31}) {
      CcLabelParams params;
      params.output = layout.model == ColorModel::rgb ? CcOutput::colors : CcOutput::mask;
      const RunResult result =
          run_on_cpu(2, picture.frame(), {}, params, {.out = format, .padding = padding});
      EXPECT_TRUE(result.intact) << trace(format, params);
      const ConstFrame out = std::as_const(*result.out).frame();
      int wrong = 0;
      for (int y = 0; y < kSize.height; ++y) {
        for (int x = 0; x < kSize.width; ++x) {
          const int label = label_at(result, x, y);
          const Rgb color = track_color(static_cast<uint32_t>(label));
          const int mask = label ? 255 : 0;
          const int expected[4] = {mask & color.red, mask & color.green, mask & color.blue, mask};
          for (int c = 0; c < 4; ++c) {
            if (params.output == CcOutput::mask) {
              wrong += c == 0 && out.sample(0, x, y) != mask;
            } else if (c < 3 || layout.alpha) {
              wrong += out.sample(c, x, y) != expected[c];
            }
          }
        }
      }
      EXPECT_EQ(wrong, 0) << trace(format, params) << " padding=" << padding;
    }
  }
}

TEST(CcLabelOutput, LabelsAndOverflow) {
  for (const char* content : {"rand_g1_d20", "rand_g3_d30", "smooth"}) {
    const Size size = {520, 500};  // more than 65535 regions need more pixels than kSize has
    const Picture picture = make_picture(content, size);
    for (const PixelFormat format :
         {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::labels32}) {
      for (const Overflow overflow :
           {Overflow::drop_smallest, Overflow::saturate, Overflow::error}) {
        for (const int64_t min_area : {0, 2}) {
          CcLabelParams params;
          params.output = CcOutput::labels;
          params.overflow = overflow;
          params.criterion = content[0] == 's' ? Criterion::equal : Criterion::binary;
          params.connectivity = Connectivity::four;
          params.min_area = min_area;
          SCOPED_TRACE(std::string(content) + " " + trace(format, params));
          const uint32_t limit = max_label_of(layout_of(format));
          Labelling expected = label_slowly(picture.frame(), {}, params);
          const auto total = static_cast<uint32_t>(expected.regions.size());
          if (overflow == Overflow::drop_smallest) keep_largest(expected, limit);
          const RunResult result =
              run_on_cpu(3, picture.frame(), {}, params, {.out = format, .padding = 5});
          EXPECT_EQ(result.total, total);
          Labelling found = result.labelling;
          found.regions.resize(std::min(found.regions.size(), expected.regions.size()));
          EXPECT_EQ(difference(found, expected, size.width), "");
          EXPECT_TRUE(result.intact);
          const ConstFrame out = std::as_const(*result.out).frame();
          size_t wrong = 0, at = 0;
          for (int y = 0; y < size.height; ++y) {
            for (int x = 0; x < size.width; ++x, ++at) {
              const auto* p = reinterpret_cast<const uint8_t*>(out.at(0, x, y));
              uint32_t label = 0;
              for (int b = out.layout.sample_bytes; b-- > 0;) label = label << 8 | p[b];
              wrong += label != std::min(expected.labels[at], limit);
            }
          }
          EXPECT_EQ(wrong, 0u);
        }
      }
    }
  }
}

TEST(CcLabelOutput, RecordsStopAtTheCapacity) {
  const Picture picture = make_picture("rand_g1_d30", kSize);
  const CcLabelParams params;
  Labelling expected = label_slowly(picture.frame(), {}, params);
  ASSERT_GT(expected.regions.size(), 40u);
  for (const uint32_t capacity : {0u, 1u, 40u}) {
    const RunResult result = run_on_cpu(2, picture.frame(), {}, params, {.capacity = capacity});
    Labelling first = expected;
    first.regions.resize(capacity);
    EXPECT_EQ(difference(result.labelling, first, kSize.width), "");
    EXPECT_EQ(result.total, expected.regions.size());
    EXPECT_TRUE(result.intact);
  }
}

TEST(CcLabelOutput, RefusesWhatDoesNotFit) {
  const Picture picture = make_picture("smooth", kSize);
  CcLabelParams params;
  params.source = Source::mask;
  EXPECT_THROW(run_on_cpu(1, picture.frame(), {}, params), InputError);
  const Picture other = make_picture("smooth", {kSize.width - 1, kSize.height});
  EXPECT_THROW(run_on_cpu(1, picture.frame(), other.frame(), params), InputError);
  params.source = Source::alpha;
  EXPECT_THROW(run_on_cpu(1, picture.frame(), {}, params), InputError);
}

}  // namespace
}  // namespace regions
