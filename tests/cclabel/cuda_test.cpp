// cclabel on CUDA against the oracle, bit for bit. Run one case alone with --gtest_filter.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "gpu/device.hpp"
#include "tests/cclabel/cuda_case.hpp"
#include "tests/cclabel/oracle.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

class CcLabelCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    gpu_ = std::make_unique<CudaCase>();
  }

  void expect_oracle(const ConstFrame& in, const ConstFrame& mask, const CcLabelParams& params,
                     const std::string& name, int padding = 0) {
    const Labelling expected = label_slowly(in, mask, params);
    const CudaResult result = gpu_->label(in, mask, params, padding);
    EXPECT_TRUE(result.intact) << name;
    ASSERT_EQ(result.labels.size(), expected.labels.size()) << name;
    const auto [a, b] =
        std::mismatch(expected.labels.begin(), expected.labels.end(), result.labels.begin());
    if (a != expected.labels.end()) {
      const auto at = a - expected.labels.begin();
      ADD_FAILURE() << name << ": label " << *b << " instead of " << *a << " at (" << at % in.width
                    << ", " << at / in.width << ")";
    }
  }

  static std::string text_of(const Region& r) {
    std::ostringstream text;
    text << "id " << r.id << " track " << r.track << " first " << r.first_x << "," << r.first_y
         << " box " << r.left << "," << r.top << "," << r.right << "," << r.bottom << " area "
         << r.area << " sums " << r.sum_x << "," << r.sum_y << " values " << r.sum_value[0] << ","
         << r.sum_value[1] << "," << r.sum_value[2];
    return text.str();
  }

  std::unique_ptr<CudaCase> gpu_;
};

constexpr Connectivity kBoth[] = {Connectivity::four, Connectivity::eight};

std::string named(std::string_view content, Size size, Connectivity connectivity) {
  return std::string(content) + " " + std::to_string(size.width) + "x" +
         std::to_string(size.height) + " " + std::to_string(static_cast<int>(connectivity));
}

TEST_F(CcLabelCuda, EveryContentAtAnOddSize) {
  for (const auto list : {contents(), edge_contents()}) {
    for (const std::string_view content : list) {
      const Picture picture = make_picture(content, {517, 389});
      for (const Connectivity connectivity : kBoth) {
        CcLabelParams params;
        params.connectivity = connectivity;
        expect_oracle(picture.frame(), {}, params, named(content, picture.size, connectivity));
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
        expect_oracle(picture.frame(), {}, params, named("noise", picture.size, connectivity),
                      width % 3);
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
        expect_oracle(picture.frame(), {}, params, "equal " + named(content, size, connectivity),
                      1);
        params.criterion = Criterion::difference;
        for (const double tolerance : {0.0, 0.02, 0.1, 0.5}) {
          params.tolerance = tolerance;
          expect_oracle(picture.frame(), {}, params,
                        "difference " + named(content, size, connectivity));
        }
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
        expect_oracle(std::as_const(clouds).frame(), {}, params, name + " difference", padding);
      }
      if (!layout_of(format).alpha) continue;
      CcLabelParams params;
      params.source = Source::alpha;
      expect_oracle(std::as_const(noise).frame(), {}, params, name + " alpha");
      params.criterion = Criterion::difference;
      params.tolerance = 0.3;
      expect_oracle(std::as_const(noise).frame(), {}, params, name + " alpha difference");
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
                    std::string(name_of(format)) + " criterion " +
                        std::to_string(static_cast<int>(criterion)));
    }
  }
}

TEST_F(CcLabelCuda, AreaFiltersAndHoles) {
  for (const std::string_view content :
       {"rand_g1_d40", "rand_g4_d60", "smooth", "frame", "maze", "checkerboard", "full"}) {
    const Picture picture = make_picture(content, {301, 203});
    for (const Connectivity connectivity : kBoth) {
      const std::string name = named(content, picture.size, connectivity);
      CcLabelParams params;
      params.connectivity = connectivity;
      params.min_area = 5;
      expect_oracle(picture.frame(), {}, params, name + " min-area");
      params.max_area = 60;
      expect_oracle(picture.frame(), {}, params, name + " min-area max-area");
      params.fill_holes = 9;
      expect_oracle(picture.frame(), {}, params, name + " all");
      params.min_area = params.max_area = 0;
      for (const int64_t area : {1, 30, 100000}) {
        params.fill_holes = area;
        expect_oracle(picture.frame(), {}, params, name + " holes " + std::to_string(area));
      }
    }
  }
}

// What the overflow rule makes of labels that go beyond `limit`.
std::vector<uint32_t> overflown(const Labelling& all, Overflow overflow, uint32_t limit) {
  std::vector<uint32_t> now(all.regions.size() + 1);
  std::vector<Region> order = all.regions;
  std::stable_sort(order.begin(), order.end(),
                   [](const Region& a, const Region& b) { return a.area > b.area; });
  std::vector<bool> kept(now.size());
  for (size_t i = 0; i < order.size() && i < limit; ++i) kept[order[i].id] = true;
  uint32_t next = 0;
  for (uint32_t id = 1; id < now.size(); ++id) {
    if (overflow != Overflow::drop_smallest) {
      now[id] = std::min(id, limit);
    } else if (kept[id]) {
      now[id] = ++next;
    }
  }
  std::vector<uint32_t> labels = all.labels;
  for (uint32_t& label : labels) label = now[label];
  return labels;
}

TEST_F(CcLabelCuda, LabelPicturesAndOverflow) {
  for (const auto& [content, size] : {std::pair<std::string_view, Size>{"rand_g1_d20", {700, 611}},
                                      {"checkerboard", {400, 390}},
                                      {"smooth", {333, 222}}}) {
    const Picture picture = make_picture(content, size);
    for (const PixelFormat format :
         {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::labels32}) {
      for (const Overflow overflow : {Overflow::drop_smallest, Overflow::saturate}) {
        CcLabelParams params;
        params.connectivity = Connectivity::four;
        params.output = CcOutput::labels;
        params.overflow = overflow;
        const Labelling all = label_slowly(picture.frame(), {}, params);
        const uint32_t limit = label_limit(layout_of(format));
        const std::vector<uint32_t> expected = overflown(all, overflow, limit);
        bool intact = false;
        const GuardedFrame out = gpu_->output(picture.frame(), params, format, &intact);
        const std::string name = std::string(content) + " " + std::string(name_of(format)) + " " +
                                 std::to_string(static_cast<int>(overflow));
        EXPECT_TRUE(intact) << name;
        size_t wrong = 0, at = 0;
        for (int y = 0; y < size.height; ++y) {
          for (int x = 0; x < size.width; ++x) {
            uint32_t found = 0;
            std::memcpy(&found, out.frame().at(0, x, y), layout_of(format).sample_bytes);
            wrong += found != expected[at++];
          }
        }
        EXPECT_EQ(wrong, 0u) << name << ", " << all.regions.size() << " regions";
      }
    }
  }
}

TEST_F(CcLabelCuda, MasksAndColors) {
  const Picture picture = make_picture("rand_g4_d50", {205, 99});
  CcLabelParams params;
  const Labelling all = label_slowly(picture.frame(), {}, params);
  for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::rgba, PixelFormat::bgrx,
                                   PixelFormat::rgb, PixelFormat::bgr}) {
    const bool is_mask = format == PixelFormat::gray8;
    params.output = is_mask ? CcOutput::mask : CcOutput::colors;
    bool intact = false;
    const GuardedFrame out = gpu_->output(picture.frame(), params, format, &intact);
    EXPECT_TRUE(intact) << name_of(format);
    size_t wrong = 0, at = 0;
    for (int y = 0; y < picture.size.height; ++y) {
      for (int x = 0; x < picture.size.width; ++x, ++at) {
        const uint32_t label = all.labels[at];
        const Rgb color = label ? track_color(label) : Rgb{};
        const int expected[] = {is_mask ? (label ? 255 : 0) : color.red, color.green, color.blue};
        for (int c = 0; c < (is_mask ? 1 : 3); ++c) {
          wrong += out.frame().sample(c, x, y) != expected[c];
        }
      }
    }
    EXPECT_EQ(wrong, 0u) << name_of(format);
  }
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
          << named(content, picture.size, connectivity);
    }
  }
}

}  // namespace
}  // namespace regions
