// The output pictures of cclabel on CUDA, pixel for pixel. Run one case alone with --gtest_filter.
#include <cstring>

#include "tests/cclabel/cuda_fixture.hpp"

namespace regions {
namespace {

TEST_F(CcLabelCuda, LabelPicturesAndOverflow) {
  for (const auto& [content, size] : {std::pair<std::string_view, Size>{"rand_g1_d20", {700, 611}},
                                      {"checkerboard", {400, 390}},
                                      {"smooth", {333, 222}}}) {
    const Picture picture = make_picture(content, size);
    for (const PixelFormat format :
         {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::labels32}) {
      // Also where other rules have dropped regions before.
      for (const auto& [overflow, min_area, max_area] : {std::tuple{Overflow::drop_smallest, 0, 0},
                                                         {Overflow::saturate, 0, 0},
                                                         {Overflow::drop_smallest, 2, 0},
                                                         {Overflow::drop_smallest, 0, 40}}) {
        CcLabelParams params;
        params.min_area = min_area;
        params.max_area = max_area;
        params.connectivity = Connectivity::four;
        params.output = CcOutput::labels;
        params.overflow = overflow;
        Labelling expected = label_slowly(picture.frame(), {}, params);
        const uint32_t limit = max_label_of(layout_of(format));
        if (overflow == Overflow::drop_smallest) keep_largest(expected, limit);
        bool intact = false;
        const GuardedFrame out = gpu_->output(picture.frame(), params, format, &intact);
        const std::string name =
            std::string(content) + " " + std::string(name_of(format)) + " " + to_text(params);
        EXPECT_TRUE(intact) << name;
        size_t wrong = 0, at = 0;
        for (int y = 0; y < size.height; ++y) {
          for (int x = 0; x < size.width; ++x) {
            uint32_t found = 0;
            std::memcpy(&found, out.frame().at(0, x, y), layout_of(format).sample_bytes);
            wrong += found != std::min(expected.labels[at++], limit);
          }
        }
        EXPECT_EQ(wrong, 0u) << name;
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

TEST_F(CcLabelCuda, OverlayEqualsTheCpu) {
  const Picture picture = make_picture("rand_g16_d40", {333, 211});
  for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::nv12, PixelFormat::p010,
                                   PixelFormat::yuy2, PixelFormat::bgra, PixelFormat::rgb}) {
    const GuardedFrame in = convert(picture.frame(), format, {}, 0, Tint::noise);
    CcLabelParams params;
    params.output = CcOutput::overlay;
    params.style = 15;
    const RunResult expected = run_on_cpu(1, in.frame(), {}, params, {.out = format});
    bool intact = false;
    const GuardedFrame out = gpu_->output(in.frame(), params, format, &intact);
    EXPECT_TRUE(intact) << name_of(format);
    EXPECT_TRUE(out.same_pixels(*expected.out)) << name_of(format);
  }
}

}  // namespace
}  // namespace regions
