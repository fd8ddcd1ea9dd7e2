// Label maps and masks of smaller working pictures: they go on as they are, and readers see them
// enlarged.
#include "tests/plugin/harness.hpp"
#include "tests/plugin/work_area_scene.hpp"

namespace regions::test {
namespace {

// Maps the attached mask for writing: an element that reads it later takes it at its whole size.
GstPadProbeReturn touch_mask(GstPad*, GstPadProbeInfo* info, gpointer) {
  const GValue* labels =
      gst_structure_get_value(regions_of(GST_PAD_PROBE_INFO_BUFFER(info)), "labels");
  GstMemory* memory = gst_buffer_peek_memory(gst_value_get_buffer(labels), 0);
  GstMapInfo map;
  EXPECT_TRUE(gst_memory_map(memory, &map, GST_MAP_READWRITE));
  gst_memory_unmap(memory, &map);
  return GST_PAD_PROBE_OK;
}

// A mask of a smaller working picture goes on as it is, and gives what its enlarged one gives.
TEST(SmallMaps, SmallMasksGiveWhatWholeOnesGive) {
  const Scene scene;
  for (const char* scale : {"0.5", "0.3", "0.09"}) {
    for (const char* second :
         {"cclabel source=mask output=labels label-values=track track=true",
          "cclabel source=mask output=labels connectivity=4 fill-holes=9 min-area=5",
          "cclabel source=mask output=labels label-background=true",
          "cclabel source=mask output=labels criterion=equal",
          "cclabel source=mask output=labels left=8 width=40",
          "cclabel source=mask output=labels process-scale=0.5",
          "cclabel source=mask output=labels process-scale=0.3 track=true",
          "graphcutbg source=mask output=mask process-scale=0.3",
          "graphcutbg source=mask output=mask"}) {
      const std::string line = std::string("graphcutbg device=cpu output=none process-scale=") +
                               scale + " ! " + second + " device=cpu name=second";
      Harness small(line), whole(line);
      for (Harness* h : {&small, &whole}) h->video("GRAY8", scene.width, scene.height);
      GstElement* reader = gst_bin_get_by_name(GST_BIN(whole.get()->element), "second");
      GstPad* pad = gst_element_get_static_pad(reader, "sink");
      gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, touch_mask, nullptr, nullptr);
      gst_object_unref(pad);
      gst_object_unref(reader);
      bool found = false;
      Bytes first;
      for (int i = 0; i < 6; ++i) {
        ASSERT_EQ(small.push(scene.picture(i), i), GST_FLOW_OK) << line;
        ASSERT_EQ(whole.push(scene.picture(i), i), GST_FLOW_OK) << line;
        const BufferPtr a = small.pull(), b = whole.pull();
        ASSERT_TRUE(a && b) << line;
        ASSERT_EQ(bytes_of(a.get()), bytes_of(b.get())) << line << ", frame " << i;
        const auto text = [](GstBuffer* frame) {
          const GstStructure* s = regions_of(frame);
          return gst_structure_has_field(s, "regions")
                     ? taken(gst_value_serialize(gst_structure_get_value(s, "regions")))
                     : "";
        };
        EXPECT_EQ(text(a.get()), text(b.get())) << line << ", frame " << i;
        if (i == 0) first = bytes_of(a.get());
        found = found || bytes_of(a.get()) != first;
      }
      EXPECT_TRUE(found) << line;
    }
  }
}

// What an application maps is the whole picture's, frame by frame, in memory that serves again.
TEST(SmallMaps, AttachedMapsAreEnlargedForWhoReadsThem) {
  const Scene scene;
  const Rectangle r = {12, 8, 64, 48};
  for (const auto& [line, bytes] : {std::pair{"graphcutbg device=cpu frames-in-flight=1", 1},
                                    {"cclabel device=cpu frames-in-flight=1", 4}}) {
    Harness attached(placed(std::string(line) + " output=none", r, 0.25));
    Harness small(std::string(line) + " output=none");
    attached.video("GRAY8", scene.width, scene.height);
    small.video("GRAY8", r.width / 4, r.height / 4);
    for (int i = 0; i < 6; ++i) {
      ASSERT_EQ(attached.push(scene.picture(i), i), GST_FLOW_OK);
      ASSERT_EQ(small.push(smaller(scene.picture(i), scene, r, 4), i), GST_FLOW_OK);
      const BufferPtr a = attached.pull(), b = small.pull();
      ASSERT_TRUE(a && b) << line;
      const auto map_of = [](GstBuffer* frame) {
        return bytes_of(gst_value_get_buffer(gst_structure_get_value(regions_of(frame), "labels")));
      };
      const Bytes whole = map_of(a.get()), source = map_of(b.get());
      ASSERT_EQ(whole.size(), static_cast<size_t>(scene.width * scene.height * bytes)) << line;
      EXPECT_EQ(whole, map_of(a.get())) << "read twice";
      for (int y = 0; y < scene.height; ++y) {
        for (int x = 0; x < scene.width; ++x) {
          const int u = x - r.left, v = y - r.top;
          const bool inside = u >= 0 && v >= 0 && u < r.width && v < r.height;
          const int wanted =
              inside ? source[static_cast<size_t>((v / 4 * (r.width / 4) + u / 4) * bytes)] : 0;
          ASSERT_EQ(whole[static_cast<size_t>((y * scene.width + x) * bytes)], wanted)
              << line << ", frame " << i << ": " << x << ", " << y;
        }
      }
    }
  }
}

}  // namespace
}  // namespace regions::test
