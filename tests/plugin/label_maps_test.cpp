// Label maps and masks in the metadata: their contents, sharing and lifetime, and the enlargement
// of maps that were made at a smaller scale.
#include "tests/plugin/moving_square.hpp"
#include "tests/plugin/work_area_scene.hpp"

namespace regions::test {
namespace {

// The attached label map or mask of a frame with one square.
BufferPtr map_after(const std::string& line) {
  GrayHarness h(line);
  EXPECT_EQ(h.push(gray_with_square()), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  return out ? BufferPtr(gst_buffer_ref(labels_of(out.get()))) : nullptr;
}

// ---- contents

TEST(LabelMap, ElementIsGone_StillContainsTheLabels) {
  const BufferPtr labels = map_after("cclabel output=none");
  ASSERT_TRUE(labels);
  EXPECT_EQ(gst_buffer_n_memory(labels.get()), 1u);
  std::vector<uint8_t> expected;
  for (const uint8_t pixel : gray_with_square()) {
    for (const uint8_t byte : {pixel == 200 ? 1 : 0, 0, 0, 0}) expected.push_back(byte);
  }
  for (int time = 0; time < 2; ++time) EXPECT_EQ(bytes_of(labels.get()), expected);
  const BufferPtr mask = map_after("graphcutbg output=none");
  EXPECT_EQ(bytes_of(mask.get()), std::vector<uint8_t>(kWidth * kHeight)) << "all is background";
}

// A map's memory is used again after the frame is gone. It must not keep the previous labels.
TEST(LabelMap, MemoryReusedForAnotherFrame_ContainsTheLabelsOfTheNewFrame) {
  GrayHarness h("cclabel output=none frames-in-flight=1");
  const bool on_cpu = device_of(h.element()).starts_with("cpu");
  const void* first = nullptr;
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    const void* memory = gst_buffer_peek_memory(labels_of(out.get()), 0);
    if (i == 0) first = memory;
    EXPECT_TRUE(memory == first || !on_cpu) << "frame " << i;
    const std::vector<uint8_t> bytes = bytes_of(labels_of(out.get()));
    for (int x = 0; x < kWidth; ++x) {
      const bool inside = x >= 8 + i && x < 28 + i;
      ASSERT_EQ(bytes[static_cast<size_t>((10 * kWidth + x) * 4)], inside ? 1 : 0)
          << "frame " << i << ", column " << x;
    }
  }
}

TEST(LabelMap, MapFromUpstream_IsRemovedOnlyWithAttachLabelsNever) {
  GrayHarness first("cclabel output=none");
  for (const bool removed : {false, true}) {
    ASSERT_EQ(first.push(gray_with_square()), GST_FLOW_OK);
    GrayHarness h(std::string("regionoverlay style=boxes") +
                  (removed ? " attach-labels=never" : ""));
    gst_harness_push(h.get(), first.pull().release());
    const BufferPtr out = h.pull();
    const GstStructure* regions = regions_of(out.get());
    EXPECT_EQ(region_count(regions), 1u);
    EXPECT_EQ(gst_structure_has_field(regions, "labels"), !removed);
    EXPECT_EQ(gst_structure_has_field(regions, "labels-format"), !removed);
  }
}

TEST(LabelPicture, EveryPixelFormat_ContainsTheLabels) {
  for (const auto& [caps, bytes] : {std::pair{"video/x-raw,format=GRAY8", size_t{1}},
                                    {"video/x-raw,format=GRAY16_LE", size_t{2}},
                                    {"video/x-region-labels,format=U32_LE", size_t{4}}}) {
    GrayHarness h("cclabel output=labels label-background=true", caps);
    ASSERT_EQ(h.push(gray_with_square()), GST_FLOW_OK) << caps;
    const std::vector<uint8_t> picture = bytes_of(h.pull().get());
    EXPECT_EQ(picture[0], 1) << caps;
    EXPECT_EQ(picture[(12 * kWidth + 20) * bytes], 2) << caps;
  }
}

TEST(LabelPicture, MoreRegionsThanGray8Holds_DropsTheSmallestAndWarns) {
  GrayHarness h("cclabel output=labels", "video/x-raw,format=GRAY8");
  std::vector<uint8_t> picture = dots();
  picture[47 * 64 + 63] = picture[47 * 64 + 62] = 255;  // the last region is the largest
  ASSERT_EQ(h.push(picture), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  EXPECT_TRUE(h.message(GST_MESSAGE_WARNING));
  const std::vector<uint8_t> labels = bytes_of(out.get());
  EXPECT_EQ(labels[46 * 64 + 62], 255);
  EXPECT_EQ(labels[46 * 64 + 60], 0);
  EXPECT_EQ(labels[0], 1);
  EXPECT_EQ(field_of(regions_of(out.get()), "regions-total"), "768");
  EXPECT_EQ(region_count(regions_of(out.get())), 255u);
}

// ---- sharing

TEST(LabelMap, CopiedPartOfTheMap_SharesItsMemoryAndIsReadOnly) {
  const BufferPtr labels = map_after("cclabel output=none");
  const std::vector<uint8_t> whole = bytes_of(labels.get());
  const size_t row = kWidth * 4, begin = 9 * row + 20, bytes = 3 * row;
  BufferPtr part(gst_buffer_copy_region(labels.get(), GST_BUFFER_COPY_MEMORY, begin, bytes));
  EXPECT_EQ(bytes_of(part.get()), std::vector<uint8_t>(&whole[begin], &whole[begin + bytes]));
  const BufferPtr inner(
      gst_buffer_copy_region(part.get(), GST_BUFFER_COPY_MEMORY, row, static_cast<gsize>(-1)));
  EXPECT_EQ(bytes_of(inner.get()),
            std::vector<uint8_t>(&whole[begin + row], &whole[begin + bytes]));
  GstMapInfo map;
  for (GstBuffer* one : {part.get(), inner.get()}) {
    GstMemory* memory = gst_buffer_peek_memory(one, 0);
    EXPECT_FALSE(gst_memory_map(memory, &map, GST_MAP_WRITE)) << "others share the memory";
    ASSERT_TRUE(memory->parent);
    EXPECT_FALSE(memory->parent->parent) << "the parent is the whole map";
  }
  GstMemory* rest = gst_memory_share(gst_buffer_peek_memory(labels.get(), 0), 40, -1);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->size, whole.size() - 40);
  ASSERT_TRUE(gst_memory_map(rest, &map, GST_MAP_READ));
  EXPECT_EQ(std::memcmp(map.data, &whole[40], whole.size() - 40), 0);
  gst_memory_unmap(rest, &map);
  gst_memory_unref(rest);
  part.reset();
  EXPECT_EQ(bytes_of(labels.get()), whole);
}

// The host gets a copy of device memory. Writing to the copy would have no effect.
TEST(LabelMap, DeviceMemory_IsReadOnly) {
  SKIP_WITHOUT_CUDA();
  const BufferPtr labels = map_after("cclabel output=none device=cuda");
  GstMemory* memory = gst_buffer_peek_memory(labels.get(), 0);
  EXPECT_STREQ(memory->allocator->mem_type, "RegionsDeviceMemory");
  GstMapInfo map;
  EXPECT_FALSE(gst_memory_map(memory, &map, GST_MAP_WRITE));
  EXPECT_TRUE(gst_memory_map(memory, &map, GST_MAP_READ));
  gst_memory_unmap(memory, &map);
}

// ---- maps of a smaller scale

// Maps the attached mask for writing, so that the next element reads the enlarged mask.
GstPadProbeReturn touch_mask(GstPad*, GstPadProbeInfo* info, gpointer) {
  const GValue* labels =
      gst_structure_get_value(regions_of(GST_PAD_PROBE_INFO_BUFFER(info)), "labels");
  GstMemory* memory = gst_buffer_peek_memory(gst_value_get_buffer(labels), 0);
  GstMapInfo map;
  EXPECT_TRUE(gst_memory_map(memory, &map, GST_MAP_READWRITE));
  gst_memory_unmap(memory, &map);
  return GST_PAD_PROBE_OK;
}

TEST(SmallMask, ReadByTheNextElement_OutputEqualsThatOfTheEnlargedMask) {
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

TEST(SmallLabelMap, MappedByAnApplication_IsEnlarged) {
  const Scene scene;
  const Area r = {12, 8, 64, 48};
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
      const Bytes whole = bytes_of(labels_of(a.get()));
      EXPECT_EQ(whole, bytes_of(labels_of(a.get()))) << "read twice";
      ASSERT_EQ(whole, enlarged(bytes_of(labels_of(b.get())), scene, r, 4, bytes)) << line << i;
    }
  }
}

}  // namespace
}  // namespace regions::test
