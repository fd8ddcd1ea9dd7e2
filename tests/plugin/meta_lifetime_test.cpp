// Structures of regions serve frame after frame: what one frame says stays as it is for as long as
// an element holds the frame or a copy of what it says.
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 64, kHeight = 48;

// `count` squares of 2x2, the first at (x, 0), the others to the right of it.
std::vector<uint8_t> squares(int x, int count) {
  std::vector<uint8_t> bytes(kWidth * kHeight, 16);
  for (int i = 0; i < count; ++i) {
    uint8_t* first = &bytes[static_cast<size_t>(x) + 4 * static_cast<size_t>(i)];
    first[0] = first[1] = first[kWidth] = first[kWidth + 1] = 240;
  }
  return bytes;
}

struct StructureFree {
  void operator()(GstStructure* s) const { gst_structure_free(s); }
};
using StructureOwner = std::unique_ptr<GstStructure, StructureFree>;

std::string left_edges(const GstStructure* regions) {
  std::string edges;
  for (guint i = 0; i < region_count(regions); ++i) edges += region_field(regions, i, "x") + " ";
  return edges;
}

class MetaLifetime : public testing::Test {
 protected:
  MetaLifetime() { h_.video("GRAY8", kWidth, kHeight); }
  BufferPtr labelled(int x, int count) {
    EXPECT_EQ(h_.push(squares(x, count), frames_++), GST_FLOW_OK);
    return h_.pull();
  }

  Harness h_{"cclabel output=none frames-in-flight=1 device=cpu"};
  int frames_ = 0;
};

TEST_F(MetaLifetime, FramesThatAreHeldKeepTheirRegions) {
  std::vector<BufferPtr> held;
  for (int i = 0; i < 24; ++i) held.push_back(labelled(i, 1 + i % 3));
  for (int i = 0; i < 24; i += 2) held[static_cast<size_t>(i)].reset();
  for (int i = 0; i < 24; ++i) labelled(30, 5);
  for (int i = 1; i < 24; i += 2) {
    std::string expected;
    for (int k = 0; k < 1 + i % 3; ++k) expected += std::to_string(i + 4 * k) + " ";
    EXPECT_EQ(left_edges(regions_of(held[static_cast<size_t>(i)].get())), expected);
  }
}

TEST_F(MetaLifetime, CopiesOutliveTheFrame) {
  BufferPtr frame = labelled(7, 2);
  const BufferPtr other(gst_buffer_copy(frame.get()));
  const StructureOwner structure(gst_structure_copy(regions_of(frame.get())));
  const GValue* array = gst_structure_get_value(structure.get(), "regions");
  const StructureOwner region(
      gst_structure_copy(gst_value_get_structure(gst_value_array_get_value(array, 1))));
  frame.reset();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(left_edges(regions_of(labelled(20, 3).get())), "20 24 28 ");
  EXPECT_EQ(left_edges(regions_of(other.get())), "7 11 ");
  EXPECT_EQ(left_edges(structure.get()), "7 11 ");
  gint x = 0;
  EXPECT_TRUE(gst_structure_get_int(region.get(), "x", &x));
  EXPECT_EQ(x, 11);
}

// Tables alone, whose frames have gone: none is written again.
TEST_F(MetaLifetime, TablesOutliveTheFrame) {
  std::vector<BufferPtr> held;
  std::vector<std::vector<uint8_t>> bytes;
  for (int i = 0; i < 24; ++i) {
    const BufferPtr frame = labelled(i, 1 + i % 3);
    GstBuffer* table = nullptr;
    ASSERT_TRUE(
        gst_structure_get(regions_of(frame.get()), "table", GST_TYPE_BUFFER, &table, nullptr));
    bytes.push_back(bytes_of(table));
    ASSERT_EQ(bytes.back().size() % static_cast<size_t>(1 + i % 3), 0u);
    held.emplace_back(i % 4 ? table : nullptr);  // others are freed, and their memory used again
    if (!held.back()) gst_buffer_unref(table);
  }
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i]) {
      EXPECT_EQ(bytes_of(held[i].get()), bytes[i]) << i;
    }
  }
}

TEST_F(MetaLifetime, FramesOutliveTheElement) {
  BufferPtr last;
  {
    Harness h("cclabel output=none device=cpu");
    h.video("GRAY8", kWidth, kHeight);
    EXPECT_EQ(h.push(squares(9, 2)), GST_FLOW_OK);
    last = h.pull();
  }
  labelled(1, 2);
  EXPECT_EQ(left_edges(regions_of(last.get())), "9 13 ");
}

// An element that may write a frame can reach its structures; the next frame must not show it.
TEST_F(MetaLifetime, WhatOthersChangeStaysWithTheirFrame) {
  const auto region_of = [](const BufferPtr& frame) {
    const GValue* array = gst_structure_get_value(regions_of(frame.get()), "regions");
    return const_cast<GstStructure*>(gst_value_get_structure(gst_value_array_get_value(array, 0)));
  };
  for (int round = 0; round < 4; ++round) {
    BufferPtr frame = labelled(5, 1);
    EXPECT_EQ(gst_structure_n_fields(region_of(frame)), 14);
    EXPECT_TRUE(gst_structure_has_name(region_of(frame), "region"));
    EXPECT_EQ(left_edges(regions_of(frame.get())), "5 ");
    if (round == 0) gst_structure_set(region_of(frame), "x", G_TYPE_STRING, "five", nullptr);
    if (round == 1) gst_structure_set(region_of(frame), "guess", G_TYPE_STRING, "cat", nullptr);
    if (round == 2) gst_structure_set_name(region_of(frame), "cat");
  }
}

TEST_F(MetaLifetime, ParametersThatOthersChangeStayWithTheirFrame) {
  for (int round = 0; round < 4; ++round) {
    BufferPtr frame = labelled(5 + round, 1);
    auto* roi = gst_buffer_get_video_region_of_interest_meta_id(frame.get(), 1);
    ASSERT_TRUE(roi);
    EXPECT_EQ(g_list_length(roi->params), 1u);
    GstStructure* box = gst_video_region_of_interest_meta_get_param(roi, "detection");
    ASSERT_TRUE(box);
    EXPECT_EQ(gst_structure_n_fields(box), 6);
    EXPECT_STREQ(gst_structure_get_string(box, "label"), "region");
    gdouble left = 0;
    EXPECT_TRUE(gst_structure_get_double(box, "x_min", &left));
    EXPECT_EQ(left, (5.0 + round) / kWidth);
    if (round == 0) gst_structure_set(box, "label", G_TYPE_STRING, "cat", nullptr);
    if (round == 1) gst_structure_remove_field(box, "x_min");
    if (round == 2) {
      gst_video_region_of_interest_meta_add_param(roi, gst_structure_new_empty("classification"));
    }
  }
}

// On a buffer of a pool, which comes again with other regions.
TEST_F(MetaLifetime, BuffersComeAgain) {
  GstBufferPool* pool = gst_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, nullptr, kWidth * kHeight, 1, 1);
  gst_buffer_pool_set_config(pool, config);
  gst_buffer_pool_set_active(pool, TRUE);
  for (const int count : {3, 9, 1, 4}) {
    GstBuffer* buffer = nullptr;
    ASSERT_EQ(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
    EXPECT_FALSE(regions_of(buffer));
    const std::vector<uint8_t> picture = squares(count, count);
    gst_buffer_fill(buffer, 0, picture.data(), picture.size());
    EXPECT_EQ(gst_harness_push(h_.get(), buffer), GST_FLOW_OK);
    const BufferPtr out = h_.pull();
    ASSERT_EQ(region_count(regions_of(out.get())), static_cast<guint>(count));
    EXPECT_EQ(region_field(regions_of(out.get()), 0, "x"), std::to_string(count));
    for (guint i = 0; i < static_cast<guint>(count); ++i) {
      auto* roi =
          gst_buffer_get_video_region_of_interest_meta_id(out.get(), static_cast<gint>(i) + 1);
      ASSERT_TRUE(roi);
      gdouble left = 0;
      EXPECT_TRUE(gst_structure_get_double(
          gst_video_region_of_interest_meta_get_param(roi, "detection"), "x_min", &left));
      EXPECT_EQ(left, static_cast<double>(count + 4 * static_cast<int>(i)) / kWidth);
    }
  }
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

}  // namespace
}  // namespace regions::test
