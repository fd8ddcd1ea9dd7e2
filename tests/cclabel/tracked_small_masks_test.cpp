// Tracks of regions of smaller masks against those of the same masks at the picture's size.
#include <utility>

#include "cpu/cclabel/region_tracker.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/cclabel/tracked_discs.hpp"

namespace regions {
namespace {

// Of the discs of a painted picture.
GuardedFrame small_mask(const ConstFrame& picture, Size few) {
  GuardedFrame mask(PixelFormat::gray8, few);
  for (int y = 0; y < few.height; ++y) {
    for (int x = 0; x < few.width; ++x) {
      const int value =
          picture.sample(0, x * picture.width / few.width, y * picture.height / few.height);
      mask.frame().set_sample(0, x, y, value);
    }
  }
  return mask;
}

// Sizes change, also to the picture's own, as a mask's do that something mapped at its whole size.
TEST(Tracking, SmallMasksGiveTheTracksOfWholeOnes) {
  const Scene scene = crowd_scene(kSize, 25, 60, 3);
  const std::vector<Picture> pictures = painted(scene);
  const Size sizes[] = {{80, 45}, {80, 45}, {96, 54}, kSize, {31, 17}};
  std::vector<GuardedFrame> small, whole;
  for (size_t t = 0; t < scene.size(); ++t) {
    const Size few = sizes[t < 20 ? 0 : hash(static_cast<uint32_t>(t), 7) % std::size(sizes)];
    small.push_back(small_mask(pictures[t].frame(), few));
    whole.push_back(enlarged(small.back().frame(), kSize));
  }
  std::vector<ConstFrame> small_masks, whole_masks;
  for (size_t t = 0; t < scene.size(); ++t) {
    small_masks.push_back(std::as_const(small[t]).frame());
    whole_masks.push_back(std::as_const(whole[t]).frame());
  }
  CcLabelParams params = tracked();
  params.source = Source::mask;
  for (const int threads : {1, 2}) {
    const auto found =
        on_cpu(PixelFormat::rgb, kSize, 2, threads).run(frames_of(pictures), small_masks, params);
    const auto expected =
        on_cpu(PixelFormat::rgb, kSize, 2, threads).run(frames_of(pictures), whole_masks, params);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t t = 0; t < found.size(); ++t) {
      EXPECT_EQ(found[t], expected[t]) << "frame " << t << ", " << small_masks[t].width << "x"
                                       << small_masks[t].height << ", " << threads << " threads";
    }
  }
}

// Of rows alike the tracker has the first one alone, until a frame's are others.
TEST(Tracking, RowsOfSmallMasksAreThereWhenOthersCome) {
  constexpr Size kFew = {70, 23};
  constexpr RowSpans kAlike = {7, kFew.height}, kWhole = {kFew.height, kFew.height};
  const auto backend = make_cpu_backend(1);
  Tracker tracker;
  tracker.allocate(*backend, {.size = kFew, .max_regions = 16, .tracks = true});
  tracker.begin(tracker.take_ticket());
  EXPECT_FALSE(tracker.set_row_spans(kAlike));
  const auto label = [](int span, int x) { return static_cast<uint16_t>(span * x % 5); };
  for (int span = 0; span < kAlike.spans; ++span) {
    for (int x = 0; x < kFew.width; ++x) {
      tracker.memory().labels(x, kAlike.begin(span)) = label(span, x);
      if (label(span, x) == 0) continue;
      tracker.labelled_pixels().row(kAlike.begin(span))[x / kWordBits] |= Word{1} << x % kWordBits;
    }
  }
  EXPECT_TRUE(tracker.set_row_spans(kAlike));
  EXPECT_FALSE(tracker.set_row_spans(kWhole));
  for (int y = 0; y < kFew.height; ++y) {
    const int span = kAlike.span_of(y);
    for (int x = 0; x < kFew.width; ++x) {
      ASSERT_EQ(tracker.memory().labels(x, y), label(span, x)) << x << ", " << y;
      const Word bit = tracker.labelled_pixels().row(y)[x / kWordBits] >> x % kWordBits & 1;
      ASSERT_EQ(bit != 0, label(span, x) != 0) << x << ", " << y;
    }
  }
  EXPECT_TRUE(tracker.set_row_spans(kWhole));
}

}  // namespace
}  // namespace regions
