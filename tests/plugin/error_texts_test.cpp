// The texts of errors name the wrong number in the metadata, the memory that was missing, or the
// buffer that cannot be read.
#include <set>

#include "tests/plugin/counted_memory.hpp"
#include "tests/plugin/moving_square.hpp"
#include "tests/plugin/region_structures.hpp"
#include "tests/plugin/told.hpp"

namespace regions::test {
namespace {

// Metadata of one region, of a picture of that size, with a label map.
GstBuffer* frame_with(const Box& box, int width = kWidth, int height = kHeight) {
  start_gstreamer();
  GstBuffer* frame = Harness::buffer(std::vector<uint8_t>(kWidth * kHeight, 20));
  GstStructure* s = gst_custom_meta_get_structure(gst_buffer_add_custom_meta(frame, "regions"));
  GstBuffer* labels = Harness::buffer(std::vector<uint8_t>(kWidth * kHeight * 4));
  gst_structure_set(s, "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, "labels",
                    GST_TYPE_BUFFER, labels, "labels-format", G_TYPE_STRING, "U32_LE",
                    "labels-width", G_TYPE_INT, kWidth, "labels-height", G_TYPE_INT, kHeight,
                    nullptr);
  gst_buffer_unref(labels);
  set_regions(s, {box_structure(box, 7u)});
  return frame;
}

GstStructure* structure_of(GstBuffer* frame) {
  return gst_custom_meta_get_structure(gst_buffer_get_custom_meta(frame, "regions"));
}
GstStructure* region_of(GstBuffer* frame) {
  const GValue* array = gst_structure_get_value(structure_of(frame), "regions");
  return const_cast<GstStructure*>(gst_value_get_structure(gst_value_array_get_value(array, 0)));
}

std::string error_of(const std::string& line, GstBuffer* frame) {
  Harness h(line);
  h.video("GRAY8", kWidth, kHeight);
  gst_harness_push(h.get(), frame);
  h.eos();
  const Told error = told(h.error_so_far());
  EXPECT_TRUE(error.text.empty() ||
              (error.domain == GST_STREAM_ERROR && error.code == GST_STREAM_ERROR_FORMAT))
      << error.text;
  return error.text;
}

TEST(ErrorTexts, NameWhatIsMalformed) {
  struct Case {
    void (*spoil)(GstBuffer* frame);
    const char* says;
  };
  const Case cases[] = {
      {[](GstBuffer*) {}, ""},
      {[](GstBuffer* f) { gst_structure_remove_field(structure_of(f), "labels-format"); }, ""},
      {[](GstBuffer* f) { gst_structure_remove_field(structure_of(f), "width"); },
       "lacks the number 'width'"},
      {[](GstBuffer* f) { gst_structure_remove_field(structure_of(f), "height"); },
       "lacks the number 'height'"},
      {[](GstBuffer* f) { gst_structure_set(structure_of(f), "width", G_TYPE_INT, 0, nullptr); },
       "regions metadata has no size"},
      {[](GstBuffer* f) { gst_structure_set(structure_of(f), "height", G_TYPE_INT, 0, nullptr); },
       "regions metadata has no size"},
      {[](GstBuffer* f) { gst_structure_remove_field(structure_of(f), "regions"); },
       "lacks the array 'regions'"},
      {[](GstBuffer* f) { gst_structure_set(structure_of(f), "regions", G_TYPE_INT, 1, nullptr); },
       "lacks the array 'regions'"},
      {[](GstBuffer* f) {
         GValue array = G_VALUE_INIT, item = G_VALUE_INIT;
         g_value_init(&array, GST_TYPE_ARRAY);
         g_value_init(&item, G_TYPE_INT);
         gst_value_array_append_and_take_value(&array, &item);
         gst_structure_take_value(structure_of(f), "regions", &array);
       },
       "holds a value that is not a region"},
      {[](GstBuffer* f) { gst_structure_remove_field(region_of(f), "id"); }, "lacks 'id'"},
      {[](GstBuffer* f) { gst_structure_remove_field(region_of(f), "x"); }, "lacks the number 'x'"},
      {[](GstBuffer* f) { gst_structure_remove_field(region_of(f), "y"); }, "lacks the number 'y'"},
      {[](GstBuffer* f) { gst_structure_remove_field(region_of(f), "width"); },
       "lacks the number 'width'"},
      {[](GstBuffer* f) { gst_structure_remove_field(region_of(f), "height"); },
       "lacks the number 'height'"},
      {[](GstBuffer* f) {
         gst_structure_set(structure_of(f), "labels-width", G_TYPE_INT, 0, nullptr);
       },
       "label map has no size"},
      {[](GstBuffer* f) {
         gst_structure_set(structure_of(f), "labels-height", G_TYPE_INT, 0, nullptr);
       },
       "label map has no size"},
      {[](GstBuffer* f) {
         gst_structure_set(structure_of(f), "labels-height", G_TYPE_INT, kHeight + 1, nullptr);
       },
       "label map must have one channel"},
      {[](GstBuffer* f) {
         gst_structure_set(structure_of(f), "labels-format", G_TYPE_STRING, "RGB", nullptr);
       },
       "label map must have one channel"},
      {[](GstBuffer* f) {
         gst_structure_set(structure_of(f), "labels-format", G_TYPE_STRING, "NV12", nullptr);
       },
       "label map must have one channel"},
      {[](GstBuffer* f) {
         gst_structure_set(structure_of(f), "labels-format", G_TYPE_STRING, "FOO", nullptr);
       },
       "FOO"},
  };
  for (const Case& c : cases) {
    GstBuffer* frame = frame_with({3, 3, 9, 9});
    c.spoil(frame);
    const std::string text = error_of("regionoverlay style=boxes+fill", frame);
    EXPECT_NE(text.find(c.says), std::string::npos) << text << "\nsays nothing of: " << c.says;
    EXPECT_EQ(text.empty(), c.says[0] == 0) << text;
  }
}

// ---- coordinates

std::vector<uint8_t> drawn(GstBuffer* frame, const char* style = "boxes") {
  Harness h(std::string("regionoverlay thickness=1 style=") + style);
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  return out ? bytes_of(out.get()) : std::vector<uint8_t>();
}

TEST(Coordinates, OfAnotherSizeAreScaled) {
  struct Case {
    Box box;
    int width, height;
    Box scaled;
  };
  for (const Case& c : {Case{{20, 10, 30, 20}, 128, 96, {10, 5, 15, 10}},
                        {{5, 4, 7, 6}, 32, 24, {10, 8, 14, 12}},
                        {{5, 4, 7, 6}, 64, 24, {5, 8, 7, 12}},
                        {{5, 4, 7, 6}, 32, 48, {10, 4, 14, 6}},
                        {{21, 11, 1, 1}, 128, 96, {10, 5, 1, 1}},
                        {{20, 10, 5, 5}, 192, 144, {6, 3, 2, 2}},
                        {{8, 8, 0, 0}, 64, 48, {8, 8, 1, 1}}}) {
    EXPECT_EQ(drawn(frame_with(c.box, c.width, c.height)), drawn(frame_with(c.scaled)))
        << c.box.x << ", " << c.box.y << " of " << c.width << "x" << c.height;
    EXPECT_NE(drawn(frame_with(c.scaled)), std::vector<uint8_t>(kWidth * kHeight, 20));
  }
}

// The number next to a box is the track, or the id of a region without a track.
TEST(Coordinates, IdsAreTracksWhereThereAreAny) {
  const auto with = [](guint id, int track) {
    GstBuffer* frame = frame_with({20, 20, 20, 20});
    gst_structure_set(region_of(frame), "id", G_TYPE_UINT, id, nullptr);
    if (track >= 0) {
      gst_structure_set(region_of(frame), "track", G_TYPE_UINT, static_cast<guint>(track), nullptr);
    }
    return drawn(frame, "ids");
  };
  EXPECT_EQ(with(7, -1), with(1, 7));
  EXPECT_EQ(with(7, 7), with(1, 7));
  EXPECT_NE(with(7, 1), with(7, 7));
}

// ---- memory

// The purpose of some allocations that may fail, by name.
TEST(ErrorTexts, NameWhatMemoryIsFor) {
  for (const auto& [line, says] : {std::pair{"cclabel output=none frames-in-flight=1",
                                             "out of memory for label maps: injected"},
                                   {"cclabel output=none frames-in-flight=1",
                                    "out of memory for a label map or mask: injected"},
                                   {"cclabel output=none depth=2 connectivity=6 frames-in-flight=1",
                                    "out of memory for a label map: injected"}}) {
    std::set<std::string> texts;
    for (int n = 1; n < 60; ++n) {
      g_setenv("REGIONS_FAULTS", ("allocation=" + std::to_string(n)).c_str(), TRUE);
      Harness h(line);
      h.video("GRAY8", kWidth, kHeight);
      for (int i = 0; i < 8 && h.push(gray_with_square(), i) == GST_FLOW_OK; ++i) continue;
      h.eos();
      const Told error = told(h.error_so_far());
      g_unsetenv("REGIONS_FAULTS");
      if (error.text.empty()) break;
      texts.insert(error.text);
    }
    bool said = false;
    for (const std::string& text : texts) said |= text.find(says) != std::string::npos;
    EXPECT_TRUE(said) << line << ": " << says << "\nnot in\n" << testing::PrintToString(texts);
  }
  // Or later streams of this process would fail.
  Harness h("cclabel output=none");
  EXPECT_TRUE(h.starts());
}

TEST(ErrorTexts, NameBuffersThatCannotBeMapped) {
  const auto error = [](const char* line, const char* sink, GstBuffer* frame) {
    Harness h(line, sink);
    CountedMemory::offer(h.get()->sinkpad);
    h.video("GRAY8", kWidth, kHeight);
    CountedMemory::refuse_maps(true);
    EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_ERROR) << line;
    const std::string text = told(h.message(GST_MESSAGE_ERROR)).text;
    CountedMemory::refuse_maps(false);
    return text;
  };
  const std::vector<uint8_t> picture(kWidth * kHeight, 20);
  EXPECT_NE(error("cclabel output=none device=cpu", "", CountedMemory::buffer(picture))
                .find("of 3072 bytes cannot be mapped as the 64x48 GRAY8 picture"),
            std::string::npos);
  EXPECT_NE(
      error("cclabel output=labels device=cpu", "video/x-region-labels", Harness::buffer(picture))
          .find("the buffer of the label map cannot be mapped"),
      std::string::npos);
  GstBuffer* frame = frame_with({3, 3, 9, 9});
  GstBuffer* labels = CountedMemory::buffer(std::vector<uint8_t>(kWidth * kHeight * 4));
  gst_structure_set(structure_of(frame), "labels", GST_TYPE_BUFFER, labels, nullptr);
  gst_buffer_unref(labels);
  EXPECT_NE(error("regionoverlay device=cpu", "", frame).find("label map cannot be mapped"),
            std::string::npos);
}

}  // namespace
}  // namespace regions::test
