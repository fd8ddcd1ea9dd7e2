// The facts about a cut in graphcutbg's metadata.
#include "tests/graphcutbg/room.hpp"
#include "tests/plugin/region_structures.hpp"

namespace regions::test {
namespace {

TEST(GraphCutBg, SaysWhetherTheCutIsExact) {
  Harness h("graphcutbg output=none post-messages=true");
  h.video("GRAY8", kWidth, kHeight);
  const BufferPtr out = last_of(h);
  ASSERT_TRUE(out);
  const GstStructure* facts = regions_of(out.get());
  ASSERT_TRUE(facts);
  gboolean exact = FALSE;
  gint64 flow = -1, gap = -1;
  ASSERT_TRUE(gst_structure_get_boolean(facts, "exact", &exact));
  ASSERT_TRUE(gst_structure_get_int64(facts, "flow", &flow));
  ASSERT_TRUE(gst_structure_get_int64(facts, "gap", &gap));
  EXPECT_TRUE(exact);
  EXPECT_GE(flow, 0);
  EXPECT_EQ(gap, 0);
  const MessagePtr message = h.message(GST_MESSAGE_ELEMENT);
  ASSERT_TRUE(message);
  EXPECT_TRUE(gst_structure_has_field(gst_message_get_structure(message.get()), "exact"));
}

// As in frames_test: 6 units of 1/64 nat for each neighbour, and 181 / 256 of that for each
// diagonal.
TEST(GraphCutBg, FlowOfAKnownGraph_IsItsMinimumCut) {
  for (const auto& [neighbours, expected] :
       {std::pair{"4", gint64{4 * 6}}, {"8", gint64{4 * 6 + 4 * 4}}}) {
    Harness h("graphcutbg output=none source=mask sigma=255 lambda=0.1 neighbours=" +
              std::string(neighbours));
    h.video("GRAY8", 5, 5);
    GstBuffer* mask = Harness::buffer(std::vector<uint8_t>(5 * 5, 120));
    gst_buffer_memset(mask, 12, 255, 1);
    GstBuffer* frame = Harness::buffer(std::vector<uint8_t>(8 * 5, 90));
    GstStructure* s = gst_custom_meta_get_structure(gst_buffer_add_custom_meta(frame, "regions"));
    gst_structure_set(s, "width", G_TYPE_INT, 5, "height", G_TYPE_INT, 5, "labels", GST_TYPE_BUFFER,
                      mask, "labels-format", G_TYPE_STRING, "GRAY8", nullptr);
    gst_buffer_unref(mask);
    set_regions(s, {});
    ASSERT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK) << h.error_text();
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    gint64 flow = -1, pixels = -1;
    EXPECT_TRUE(gst_structure_get_int64(regions_of(out.get()), "flow", &flow));
    EXPECT_TRUE(gst_structure_get_int64(regions_of(out.get()), "foreground-pixels", &pixels));
    EXPECT_EQ(flow, expected);
    EXPECT_EQ(pixels, 1);
  }
}

}  // namespace
}  // namespace regions::test
