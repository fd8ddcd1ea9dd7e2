// Elements that follow each other hand over the regions as a table, and as structures for
// applications: both say the same, and what stands in the structures counts where they were
// changed.
#include <random>

#include "tests/plugin/region_structures.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 64, kHeight = 48;

// Blobs of noise, as cclabel leaves them with hundreds of regions.
BufferPtr labelled() {
  Harness h("cclabel output=none attach-labels=never");
  h.video("GRAY8", kWidth, kHeight);
  std::vector<uint8_t> bytes(kWidth * kHeight);
  std::mt19937 random(7);
  for (uint8_t& pixel : bytes) pixel = random() % 4 ? 16 : 240;
  EXPECT_EQ(h.push(bytes), GST_FLOW_OK);
  return h.pull();
}

GstStructure* metadata(GstBuffer* frame) {
  return gst_custom_meta_get_structure(gst_buffer_get_custom_meta(frame, "regions"));
}

std::vector<uint8_t> drawn(GstBuffer* frame) {
  Harness h("regionoverlay style=boxes+ids");
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  return bytes_of(out.get());
}

TEST(RegionTable, SaysWhatTheStructuresSay) {
  struct Case {
    const char* name;
    void (*change)(GstStructure* metadata);
  };
  const Case cases[] = {
      {"as it came", [](GstStructure*) {}},
      {"of a larger picture",
       [](GstStructure* s) {
         gst_structure_set(s, "width", G_TYPE_INT, 2 * kWidth, "height", G_TYPE_INT, 3 * kHeight,
                           nullptr);
       }},
      {"another region in place of all",
       [](GstStructure* s) {
         set_regions(s, {box_structure({30, 20, 20, 20}, 9)});
       }},
      {"another region in place of the last",
       [](GstStructure* s) {
         const GValue* array = gst_structure_get_value(s, "regions");
         std::vector<GstStructure*> regions;
         for (guint i = 0; i + 1 < gst_value_array_get_size(array); ++i) {
           regions.push_back(
               gst_structure_copy(gst_value_get_structure(gst_value_array_get_value(array, i))));
         }
         regions.push_back(box_structure({10, 10, 40, 30}, 9));
         set_regions(s, regions);
       }},
      {"none", [](GstStructure* s) { set_regions(s, {}); }},
  };
  std::vector<std::vector<uint8_t>> pictures;
  for (const Case& c : cases) {
    BufferPtr frame = labelled();
    ASSERT_GT(region_count(regions_of(frame.get())), 100u);
    BufferPtr copy(gst_buffer_copy_deep(frame.get()));  // its structures are copies
    c.change(metadata(frame.get()));
    c.change(metadata(copy.get()));
    pictures.push_back(drawn(frame.release()));
    EXPECT_EQ(pictures.back(), drawn(copy.release())) << c.name;
    for (size_t other = 0; other + 1 < pictures.size(); ++other) {
      EXPECT_NE(pictures.back(), pictures[other]) << c.name << ", " << cases[other].name;
    }
  }
}

}  // namespace
}  // namespace regions::test
