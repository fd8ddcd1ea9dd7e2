// Masks of a smaller picture against the same masks at the picture's size.
#include <gtest/gtest.h>

#include "tests/cclabel/run.hpp"
#include "tests/cclabel/runs_oracle.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

TEST(CcLabelSmallMasks, GiveWhatWholeOnesGive) {
  for (uint32_t n = 0; n < 120; ++n) {
    uint32_t draw = 0;
    const auto below = [&](uint32_t end) { return hash(++draw, n, 5) % end; };
    const Size size = {1 + static_cast<int>(below(n % 4 ? 200 : 3)),
                       1 + static_cast<int>(below(n % 5 ? 120 : 3))};
    const Size few = {1 + static_cast<int>(below(static_cast<uint32_t>(size.width))),
                      1 + static_cast<int>(below(static_cast<uint32_t>(size.height)))};
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
    params.connectivity = below(2) ? Connectivity::four : Connectivity::eight;
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
    const RunResult found = run_on_cpu(1 + static_cast<int>(below(3)), in.frame(),
                                       std::as_const(small).frame(), params, options);
    EXPECT_EQ(difference(found.labelling, expected.labelling, size.width), "")
        << "case " << n << ", " << few.width << "x" << few.height << " as " << size.width << "x"
        << size.height << ", " << to_text(params);
    EXPECT_EQ(difference(found.runs, expected.runs), "") << n;
    EXPECT_TRUE(!found.out || found.out->same_pixels(*expected.out)) << n;
    EXPECT_TRUE(found.intact) << n;
  }
}

}  // namespace
}  // namespace regions
