// What metadata says of a region before and after its track is born.
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

bool has_object_id(GstBuffer* frame) {
  gpointer state = nullptr;
  const GstMeta* meta =
      gst_buffer_iterate_meta_filtered(frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
  if (!meta) {
    ADD_FAILURE() << "no region of interest";
    return false;
  }
  const auto* region = reinterpret_cast<const GstVideoRegionOfInterestMeta*>(meta);
  for (const GList* node = region->params; node; node = node->next) {
    if (gst_structure_has_name(static_cast<const GstStructure*>(node->data), "object_id")) {
      return true;
    }
  }
  return false;
}

// Until then its number is 0, and a frame that shows it is its first.
TEST(Births, NumbersAndTimesComeWithThem) {
  Harness h("cclabel output=none track=true track-birth=3 device=cpu");
  h.video("GRAY8", kWidth, kHeight);
  for (int t = 1; t < 6; ++t) {
    ASSERT_EQ(h.push(gray_with_square(t), t), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    const GstStructure* regions = regions_of(out.get());
    ASSERT_EQ(region_count(regions), 1u);
    EXPECT_EQ(region_field(regions, 0, "track"), t < 3 ? "0" : "1") << t;
    EXPECT_EQ(region_field(regions, 0, "first-seen"),
              std::to_string(std::min(t, 3) * 40 * GST_MSECOND));
    EXPECT_EQ(has_object_id(out.get()), t >= 3) << t;
  }
}

TEST(Births, LabelsShowTracksFromThenOn) {
  Harness h("cclabel output=labels label-values=track track=true track-birth=2 device=cpu",
            "video/x-raw,format=GRAY8");
  h.video("GRAY8", kWidth, kHeight);
  for (int t = 0; t < 3; ++t) {
    ASSERT_EQ(h.push(gray_with_square(), t), GST_FLOW_OK);
    EXPECT_EQ(bytes_of(h.pull().get())[10 * kWidth + 10], t < 1 ? 0 : 1) << t;
  }
}

}  // namespace
}  // namespace regions::test
