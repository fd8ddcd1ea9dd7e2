// The element regionevents: objects of any producer, rules that change, results, and bad input.
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/pictures/pictures.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 200, kHeight = 100;
const std::string kYard =
    R"({"zones": [{"id": "yard", "points": [[100, 0], [200, 0], [200, 100], [100, 100]], "object-retention": 0}]})";

// A path for a file of rules that is removed at the end of the test.
class RulesFile {
 public:
  explicit RulesFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() /
               ("regions-rules-" + std::to_string(getpid()) + ".json"))
                  .string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~RulesFile() { std::filesystem::remove(path_); }
  RulesFile(const RulesFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Box {
  guint track;
  int x, y, width, height;
};

// A buffer of one byte with region metadata that another element could have attached.
GstBuffer* frame_with(const std::vector<Box>& boxes, int index, bool is_tracked = true) {
  GstBuffer* buffer = Harness::buffer({0}, index);
  GstStructure* meta = add_regions(buffer);
  GValue regions = G_VALUE_INIT;
  gst_value_array_init(&regions, 0);
  guint id = 0;
  for (const Box& box : boxes) {
    ++id;
    GValue item = G_VALUE_INIT;
    g_value_init(&item, GST_TYPE_STRUCTURE);
    GstStructure* region = gst_structure_new(
        "region", "id", G_TYPE_UINT, id, "track", G_TYPE_UINT, box.track, "x", G_TYPE_INT, box.x,
        "y", G_TYPE_INT, box.y, "width", G_TYPE_INT, box.width, "height", G_TYPE_INT, box.height,
        "area", G_TYPE_UINT64, static_cast<guint64>(box.width) * static_cast<guint64>(box.height),
        "cx", G_TYPE_DOUBLE, box.x + (box.width - 1) / 2.0, "cy", G_TYPE_DOUBLE,
        box.y + (box.height - 1) / 2.0, nullptr);
    if (is_tracked) gst_structure_set(region, "first-seen", G_TYPE_UINT64, guint64{0}, nullptr);
    g_value_take_boxed(&item, region);
    gst_value_array_append_and_take_value(&regions, &item);
  }
  gst_structure_set(meta, "algorithm", G_TYPE_STRING, "test", "width", G_TYPE_INT, kWidth, "height",
                    G_TYPE_INT, kHeight, "regions-total", G_TYPE_UINT, id, nullptr);
  gst_structure_take_value(meta, "regions", &regions);
  return buffer;
}

// The element alone, with these rules.
class Events : public Harness {
 public:
  explicit Events(const std::string& rules, const std::string& more = "")
      : Harness("regionevents " + more) {
    set_rules(rules);
    caps("application/x-anything,width=200,height=100");
  }
  void set_rules(const std::string& rules) const {
    g_object_set(element(), "rules", rules.c_str(), nullptr);
  }
  // Pushes a buffer, and returns the events in its metadata: "enter:yard:7 ".
  std::string push(GstBuffer* buffer) {
    EXPECT_EQ(gst_harness_push(get(), buffer), GST_FLOW_OK);
    frame = pull();
    return events_in(frame.get());
  }
  std::string push(const std::vector<Box>& boxes, bool is_tracked = true) {
    return push(frame_with(boxes, index++, is_tracked));
  }
  static std::string text_of(const GstStructure* event) {
    const char* rule = gst_structure_get_string(event, "zone");
    if (!rule) rule = gst_structure_get_string(event, "line");
    if (!rule) rule = gst_structure_get_string(event, "change");
    std::string text = std::string(gst_structure_get_string(event, "event")) + ":" + rule;
    if (gst_structure_has_field(event, "track")) text += ":" + field_of(event, "track");
    return text + " ";
  }
  static std::string events_in(GstBuffer* buffer) {
    const GstStructure* meta = regions_of(buffer);
    const GValue* events = meta ? gst_structure_get_value(meta, "events") : nullptr;
    if (!events) return "(none)";
    std::string text;
    for (guint i = 0; i < gst_value_array_get_size(events); ++i)
      text += text_of(gst_value_get_structure(gst_value_array_get_value(events, i)));
    return text;
  }
  std::string messages() {
    std::string text;
    while (const MessagePtr m = message_so_far(GST_MESSAGE_ELEMENT))
      text += text_of(gst_message_get_structure(m.get()));
    return text;
  }
  std::string warning() {
    const MessagePtr m = message_so_far(GST_MESSAGE_WARNING);
    if (!m) return "";
    GError* error = nullptr;
    gst_message_parse_warning(m.get(), &error, nullptr);
    const std::string text = error->message;
    g_error_free(error);
    return text;
  }
  // A row of one of the tables in the metadata of the last frame.
  template <class Row>
  Row row(const char* table, size_t at) {
    const std::vector<uint8_t> bytes =
        bytes_of(gst_value_get_buffer(gst_structure_get_value(regions_of(frame.get()), table)));
    Row row = {};
    EXPECT_LE((at + 1) * sizeof row, bytes.size());
    std::memcpy(&row, &bytes[at * sizeof row], sizeof row);
    return row;
  }

  BufferPtr frame;
  int index = 0;
};

const Box kInside = {7, 150, 10, 10, 40}, kOutside = {7, 20, 10, 10, 40};

TEST(RegionEvents, ObjectThatPasses_IsInMetadataAndMessages) {
  Events h(kYard);
  EXPECT_EQ(h.push({kOutside}), "");
  EXPECT_EQ(h.push({kInside}), "enter:yard:7 ");
  EXPECT_EQ(h.push({kInside}), "");
  struct {
    guint64 count, entered, left;
    double foreground;
  } zone = h.row<decltype(zone)>("zones", 0);
  EXPECT_EQ(zone.count, 1U);
  EXPECT_EQ(zone.entered, 1U);
  EXPECT_EQ(zone.left, 0U);
  EXPECT_EQ(zone.foreground, -1);
  struct {
    guint32 zone, id;
    guint64 track;
    gint64 dwell;
  } visit = h.row<decltype(visit)>("visits", 0);
  EXPECT_EQ(visit.track, 7U);
  EXPECT_EQ(visit.id, 1U);
  EXPECT_EQ(visit.dwell, 40000000);
  EXPECT_EQ(field_of(regions_of(h.frame.get()), "zone-ids"), "yard");
  EXPECT_EQ(h.push({kOutside}), "leave:yard:7 ");
  EXPECT_EQ(h.messages(), "enter:yard:7 leave:yard:7 ");
}

TEST(RegionEvents, LeaveEvent_HasTimesAndPosition) {
  Events h(kYard);
  h.push({kInside});
  h.push({kInside});
  h.push({kOutside});
  const MessagePtr enter = h.message_so_far(GST_MESSAGE_ELEMENT);
  const MessagePtr leave = h.message_so_far(GST_MESSAGE_ELEMENT);
  EXPECT_EQ(taken(gst_structure_to_string(gst_message_get_structure(leave.get()))),
            "regions-event, event=(string)leave, zone=(string)yard, time=(guint64)80000000, "
            "track=(guint64)7, id=(uint)1, x=(double)25, y=(double)49.5, lost=(boolean)false, "
            "dwell=(guint64)80000000;");
}

TEST(RegionEvents, PostMessagesOff_EventsAreOnlyInTheMetadata) {
  Events h(kYard, "post-messages=false");
  EXPECT_EQ(h.push({kInside}), "enter:yard:7 ");
  EXPECT_EQ(h.messages(), "");
}

TEST(RegionEvents, WithoutRules_FramesPassUntouched) {
  Events h("");
  GstBuffer* buffer = frame_with({kInside}, 0);
  gst_buffer_ref(buffer);
  EXPECT_EQ(h.push(buffer), "(none)");
  EXPECT_EQ(h.frame.get(), buffer);
  gst_buffer_unref(buffer);
}

TEST(RegionEvents, PictureMemory_IsNeverCopied) {
  Events h(kYard);
  GstBuffer* buffer = frame_with({kInside}, 0);
  gst_buffer_ref(buffer);  // not writable
  GstMemory* memory = gst_buffer_peek_memory(buffer, 0);
  EXPECT_EQ(h.push(buffer), "enter:yard:7 ");
  EXPECT_EQ(gst_buffer_peek_memory(h.frame.get(), 0), memory);
  EXPECT_EQ(Events::events_in(buffer), "(none)")
      << "the metadata of the shared buffer is unchanged";
  gst_buffer_unref(buffer);
  GstBuffer* own = frame_with({kInside}, 1);
  h.push(own);
  EXPECT_EQ(h.frame.get(), own);
}

TEST(RegionEvents, UntrackedRegions_AreCounted) {
  Events h(R"([{"id": "yard", "center": [150, 50], "radius": 30, "occupancy": true}])");
  EXPECT_EQ(h.push({kInside, {2, 150, 20, 10, 30}, kOutside}, false), "occupancy:yard ");
  EXPECT_EQ(h.push({}, false), "occupancy:yard ");
}

TEST(RegionEvents, FramesWithoutMetadata_ChangeNothing) {
  Events h(kYard);
  h.push({kInside});
  EXPECT_EQ(h.push(Harness::buffer({0}, h.index++)), "(none)");
  GstBuffer* gap = frame_with({}, h.index++);
  GST_BUFFER_FLAG_SET(gap, GST_BUFFER_FLAG_GAP);
  EXPECT_EQ(h.push(gap), "(none)");
  EXPECT_EQ(h.push({kInside}), "");
}

TEST(RegionEvents, Seek_ForgetsObjects) {
  Events h(kYard);
  h.push({kInside});
  h.flush();
  EXPECT_EQ(h.push({kOutside}), "");
  EXPECT_EQ(h.push({kInside}), "enter:yard:7 ");
}

TEST(RegionEvents, RulesThatChangeWhilePlaying_ApplyToTheNextFrame) {
  Events h(kYard);
  h.push({kOutside});
  h.set_rules(R"([{"id": "street", "points": [[0, 0], [50, 0], [50, 100], [0, 100]]}])");
  EXPECT_EQ(h.push({kOutside}), "enter:street:7 ");
  h.set_rules("");
  EXPECT_EQ(h.push({kOutside}), "(none)");
}

TEST(RegionEvents, InvalidRulesWhilePlaying_WarnAndKeepTheFormerRules) {
  Events h(kYard);
  for (const char* rules : {"{", "/no/such/file.json", "/", R"([{"id": "z"}])",
                            R"([{"id": "z", "points": [[0, 0], [9, 9], [9, 0], [0, 9]]}])"}) {
    h.set_rules(rules);
    EXPECT_PRED2(contains, h.warning(), "rules kept as it was: ") << rules;
  }
  EXPECT_EQ(h.push({kInside}), "enter:yard:7 ");
  EXPECT_PRED2(contains, h.property("rules"), "yard");
}

TEST(RegionEvents, InvalidRulesAtTheStart_AreAnError) {
  const RulesFile file(R"({"zones": [{"id": "z", "points": [[1, 1]]}]})");
  for (const auto& [rules, message] : std::vector<std::pair<std::string, std::string>>{
           {"/no/such/file.json", "the file of rules '/no/such/file.json' does not exist"},
           {"{", "rules: no valid JSON: "},
           {file.path(),
            "'" + file.path() + "': rules: zone 'z': ring 1 has 1 different points"}}) {
    Harness h("regionevents rules=\"" + rules + "\"");
    EXPECT_FALSE(h.starts());
    EXPECT_PRED2(contains, h.error_text(), message);
  }
}

TEST(RegionEvents, FileOfRules_IsRead) {
  const RulesFile file(kYard);
  Events h(file.path());
  EXPECT_EQ(h.push({kInside}), "enter:yard:7 ");
}

TEST(RegionEvents, RulesForAnotherShape_WarnAndTheStreamGoesOn) {
  Events h(
      R"({"width": 100, "height": 100, "zones": [{"id": "z", "center": [50, 50], "radius": 9}]})");
  EXPECT_EQ(h.push({kInside}), "(none)");
  EXPECT_PRED2(contains, h.warning(),
               "the rules are for 100x100 pixels, but the video has 200x100");
  EXPECT_EQ(h.push({kInside}), "(none)");
  EXPECT_EQ(h.warning(), "");
  h.set_rules(kYard);
  EXPECT_EQ(h.push({kInside}), "enter:yard:7 ");
}

TEST(RegionEvents, ZoneOutsideOfThePicture_Warns) {
  Events h(R"([{"id": "z", "center": [500, 50], "radius": 9}])");
  EXPECT_EQ(h.push({kInside}), "(none)");
  EXPECT_EQ(h.warning(), "zone 'z' is outside of the picture, which has 200x100 pixels");
}

TEST(RegionEvents, MalformedMetadata_WarnsAndTheFramePasses) {
  Events h(kYard);
  GstBuffer* buffer = Harness::buffer({0}, 0);
  add_regions(buffer);
  EXPECT_EQ(h.push(buffer), "(none)");
  EXPECT_EQ(h.warning(), "regions metadata has no size");
  buffer = frame_with({kInside}, 1);
  gst_structure_remove_field(
      gst_custom_meta_get_structure(gst_buffer_get_custom_meta(buffer, "regions")), "regions");
  EXPECT_EQ(h.push(buffer), "(none)");
  EXPECT_PRED2(contains, h.warning(), "lacks the array 'regions'");
}

TEST(RegionEvents, FrameWithoutTimestamp_WarnsAndIsEvaluated) {
  Events h(kYard);
  GstBuffer* buffer = frame_with({kInside}, 0);
  GST_BUFFER_PTS(buffer) = GST_CLOCK_TIME_NONE;
  EXPECT_EQ(h.push(buffer), "enter:yard:7 ");
  EXPECT_PRED2(contains, h.warning(), "a frame has no timestamp");
}

TEST(RegionEvents, ReferenceTimestamp_IsTheWallClockTime) {
  Events h(kYard);
  for (const auto& [kind, offset] : std::vector<std::pair<std::string, guint64>>{
           {"timestamp/x-unix", 0}, {"timestamp/x-ntp", 2208988800ULL}}) {
    GstBuffer* buffer = frame_with({kInside}, h.index++);
    const CapsPtr caps(gst_caps_from_string(kind.c_str()));
    gst_buffer_add_reference_timestamp_meta(
        buffer, caps.get(), (1700000000ULL + offset) * GST_SECOND, GST_CLOCK_TIME_NONE);
    h.push(buffer);
    const MessagePtr event = h.message_so_far(GST_MESSAGE_ELEMENT);
    ASSERT_TRUE(event);
    EXPECT_EQ(field_of(gst_message_get_structure(event.get()), "utc"), "1700000000000000000");
    h.push({kOutside});
    h.messages();
  }
}

// Runs a chain of elements on pictures of 64×48 pixels with a square of 8×8 pixels.
struct Chain {
  static std::vector<uint8_t> square_at(int x) {
    std::vector<uint8_t> bytes(64 * 48, 10);
    for (int y = 20; y < 28; ++y) std::fill_n(&bytes[static_cast<size_t>(y * 64 + x)], 8, 200);
    return bytes;
  }
  // The events of a square that moves through these columns.
  static std::string walk(const std::string& chain, const std::string& rules,
                          const std::vector<int>& columns, std::string* warning = nullptr) {
    const RulesFile file(rules);
    Harness h(chain + " ! regionevents rules=" + file.path());
    h.video("GRAY8", 64, 48);
    std::string text;
    int index = 0;
    for (const int x : columns) {
      EXPECT_EQ(h.push(square_at(x), index++), GST_FLOW_OK);
    }
    h.eos();
    for (size_t i = 0; i < columns.size(); ++i) {
      const BufferPtr frame = h.pull();
      if (frame) text += Events::events_in(frame.get());
    }
    if (const MessagePtr m = h.message_so_far(GST_MESSAGE_WARNING); m && warning) {
      GError* error = nullptr;
      gst_message_parse_warning(m.get(), &error, nullptr);
      *warning = error->message;
      g_error_free(error);
    }
    return text;
  }
};

const std::string kRight =
    R"({"zones": [{"id": "right", "points": [[32, 0], [64, 0], [64, 48], [32, 48]]KEYS}]})";
std::string right_with(const std::string& keys) {
  std::string text = kRight;
  return text.replace(text.find("KEYS"), 4, keys);
}
const std::string kTrack = "cclabel device=cpu threshold=0.5 track=true output=none";

TEST(RegionEvents, RegionsOfCclabel_AreFollowed) {
  EXPECT_EQ(Chain::walk(kTrack, right_with(""), {10, 16, 22, 28, 34, 28, 22, 16}),
            "enter:right:1 leave:right:1 ");
  EXPECT_EQ(
      Chain::walk(
          kTrack + " ! videoscale method=nearest-neighbour ! video/x-raw,width=128,height=96",
          R"({"width": 64, "height": 48, "lines": [{"id": "middle", "points": [[32, 0], [32, 48]]}]})",
          {10, 16, 22, 28, 34, 28, 22, 16}),
      "crossing:middle:1 crossing:middle:1 ")
      << "regions that another element moved";
}

TEST(RegionEvents, CoveredCamera_IsReportedAndNoObjectLeaves) {
  const RulesFile file(kYard);
  Harness camera("graphcutbg output=mask ! cclabel track=true min-area=20 ! regionevents rules=" +
                 file.path());
  camera.video("GRAY8", 200, 100);
  std::string events;
  for (int i = 0; i < 50; ++i) {
    const bool is_covered = i >= 35 && i < 45;
    std::vector<uint8_t> picture(200 * 100);
    for (int y = 0; y < 100; ++y) {
      for (int x = 0; x < 200; ++x) {
        const auto random = [&](int seed) {
          const uint32_t number =
              hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(seed));
          return static_cast<int>(number % 60);
        };
        const bool is_object = i >= 20 && x >= 140 && x < 160 && y >= 50 && y < 70;
        const int noise = random(i + 9) / 12;
        picture[static_cast<size_t>(y * 200 + x)] =
            static_cast<uint8_t>(noise + (is_covered  ? 20
                                          : is_object ? 220
                                                      : 40 + random(1) + x / 4 + y / 4));
      }
    }
    camera.push(picture);
    const BufferPtr frame = camera.pull();
    events += Events::events_in(frame.get());
    EXPECT_STREQ(gst_structure_get_string(regions_of(frame.get()), "scene-change"),
                 is_covered ? "covered" : "none");
  }
  EXPECT_EQ(events, "enter:yard:1 scene-change:covered scene-steady:covered ");
}

TEST(RegionEvents, PositionsOfEvents_AreMovedWithThePicture) {
  const RulesFile file(right_with(""));
  Harness h(kTrack + " ! regionevents rules=" + file.path() +
            " ! videoscale method=nearest-neighbour ! video/x-raw,width=128,height=96 ! identity");
  h.video("GRAY8", 64, 48);
  h.push(Chain::square_at(40));
  h.eos();
  const BufferPtr frame = h.pull();
  const GValue* events = gst_structure_get_value(regions_of(frame.get()), "events");
  ASSERT_EQ(gst_value_array_get_size(events), 1U);
  const GstStructure* event = gst_value_get_structure(gst_value_array_get_value(events, 0));
  EXPECT_EQ(field_of(event, "x"), "88");
  EXPECT_EQ(field_of(event, "y"), "55");
}

// The column of the first pixel of a row that has the colour, or -1.
int column_of(const std::vector<uint8_t>& rgb, int width, int y,
              const std::array<uint8_t, 3>& color) {
  for (int x = 0; x < width; ++x) {
    const size_t at = static_cast<size_t>((y * width + x) * 3);
    if (std::equal(color.begin(), color.end(), &rgb[at])) return x;
  }
  return -1;
}

TEST(RegionEvents, ZonesLinesAndCounts_AreDrawnByRegionoverlay) {
  const RulesFile file(
      R"({"zones": [{"id": "z", "points": [[20.5, 10], [60, 10], [60, 90], [20.5, 90]], "color": {"r": 1, "g": 2, "b": 3}, "thickness": 1}],
          "lines": [{"id": "l", "points": [[100.5, 0], [100.5, 100]], "color": {"r": 7, "g": 8, "b": 9}, "thickness": 1}]})");
  const auto drawn = [&](const std::string& more, const std::string& rest, int width, int height) {
    Harness h("regionevents rules=" + file.path() + " " + more + rest +
              " ! regionoverlay device=cpu style=ids");
    h.video("RGB", kWidth, kHeight);
    GstBuffer* buffer = frame_with({}, 0);
    gst_buffer_remove_all_memory(buffer);
    gst_buffer_append_memory(buffer, gst_allocator_alloc(nullptr, kWidth * kHeight * 3, nullptr));
    gst_buffer_memset(buffer, 0, 255, kWidth * kHeight * 3);
    EXPECT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_OK);
    h.eos();
    const BufferPtr out = h.pull();
    EXPECT_EQ(gst_buffer_get_size(out.get()), static_cast<size_t>(width * height * 3));
    return bytes_of(out.get());
  };
  const std::vector<uint8_t> picture = drawn("", "", kWidth, kHeight);
  EXPECT_EQ(column_of(picture, kWidth, 70, {1, 2, 3}), 20);
  EXPECT_EQ(column_of(picture, kWidth, 70, {7, 8, 9}), 100);
  EXPECT_EQ(column_of(picture, kWidth, 5, {1, 2, 3}), -1);
  // The plates of the numbers are dark: one in the zone's corner, and one on each side of the line.
  for (const auto& [x, y] : {std::pair{26, 21}, {88, 50}, {112, 50}})
    EXPECT_LT(picture[static_cast<size_t>((y * kWidth + x) * 3)], 255) << x << "," << y;
  const std::vector<uint8_t> scaled = drawn(
      "", " ! videoscale method=nearest-neighbour ! video/x-raw,width=400,height=200", 400, 200);
  EXPECT_EQ(column_of(scaled, 400, 140, {1, 2, 3}), 41);
  EXPECT_EQ(column_of(scaled, 400, 140, {7, 8, 9}), 201);
  const std::vector<uint8_t> blank = drawn("attach-shapes=false", "", kWidth, kHeight);
  EXPECT_EQ(std::count(blank.begin(), blank.end(), 255), kWidth * kHeight * 3);
}

TEST(RegionEvents, LastEvent_IsACaptionForFiveSeconds) {
  Events h(kYard);
  const auto caption = [&] {
    const char* text = gst_structure_get_string(regions_of(h.frame.get()), "caption");
    return std::string(text ? text : "");
  };
  h.push({kOutside});
  EXPECT_EQ(caption(), "");
  const int first = h.index;
  h.push({kInside});
  EXPECT_EQ(caption(), "enter yard #7");
  GstClockTime entered = GST_BUFFER_PTS(h.frame.get());
  for (; GST_BUFFER_PTS(h.frame.get()) < entered + 5 * GST_SECOND; h.push({kInside})) {
    ASSERT_EQ(caption(), "enter yard #7") << h.index - first;
  }
  EXPECT_EQ(caption(), "");
}

TEST(RegionEvents, Caption_IsDrawnByRegionoverlayInTheUpperLeftCorner) {
  std::vector<std::vector<uint8_t>> drawn;
  for (const char* caption : {"", "enter", "\xC3\xA4 text that is longer than the picture"}) {
    Harness h("regionoverlay device=cpu");
    h.video("RGB", kWidth, kHeight);
    GstBuffer* buffer = frame_with({}, 0);
    gst_buffer_remove_all_memory(buffer);
    gst_buffer_append_memory(buffer, gst_allocator_alloc(nullptr, kWidth * kHeight * 3, nullptr));
    gst_buffer_memset(buffer, 0, 255, kWidth * kHeight * 3);
    gst_structure_set(gst_custom_meta_get_structure(gst_buffer_get_custom_meta(buffer, "regions")),
                      "caption", G_TYPE_STRING, caption, "caption-color", G_TYPE_UINT, 0x112233U,
                      nullptr);
    EXPECT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_OK);
    h.eos();
    drawn.push_back(bytes_of(h.pull().get()));
  }
  const auto dark_rows = [](const std::vector<uint8_t>& rgb) {
    int last = -1;
    for (size_t i = 0; i < rgb.size(); ++i)
      if (rgb[i] < 100) last = static_cast<int>(i / (kWidth * 3));
    return last;
  };
  EXPECT_EQ(dark_rows(drawn[0]), -1);
  EXPECT_GT(dark_rows(drawn[1]), 8);
  EXPECT_LT(dark_rows(drawn[1]), 24);
  EXPECT_EQ(dark_rows(drawn[2]), dark_rows(drawn[1]));
  EXPECT_NE(drawn[1], drawn[2]);
}

TEST(RegionEvents, MalformedMarks_AreIgnored) {
  Harness h("regionoverlay device=cpu");
  h.video("RGB", kWidth, kHeight);
  for (const size_t bytes : {size_t{0}, size_t{39}, size_t{41}, size_t{200}}) {
    GstBuffer* buffer = frame_with({}, 0);
    gst_buffer_remove_all_memory(buffer);
    gst_buffer_append_memory(buffer, gst_allocator_alloc(nullptr, kWidth * kHeight * 3, nullptr));
    GstBuffer* table = Harness::buffer(std::vector<uint8_t>(bytes, 0xFF));
    gst_structure_set(gst_custom_meta_get_structure(gst_buffer_get_custom_meta(buffer, "regions")),
                      "shapes", GST_TYPE_BUFFER, table, "numbers", GST_TYPE_BUFFER, table, nullptr);
    gst_buffer_unref(table);
    EXPECT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_OK);
  }
  h.eos();
}

TEST(RegionEvents, ShareOfArea_ComesFromRunsOrLabels) {
  // With 3 of 8 columns inside, the share is 0.375.
  const std::string rules =
      right_with(R"(, "anchor": "area", "min-share": 0.6, "leave-share": 0.3)");
  const std::vector<int> columns = {20, 27, 29, 27, 26, 20};
  for (const std::string more :
       {" attach-runs=true attach-labels=never", " attach-labels=always"}) {
    std::string warning;
    EXPECT_EQ(Chain::walk(kTrack + more, rules, columns, &warning), "enter:right:1 leave:right:1 ")
        << more;
    EXPECT_EQ(warning, "");
  }
  std::string warning;
  EXPECT_EQ(Chain::walk(kTrack + " attach-labels=never", rules, columns, &warning), "");
  EXPECT_PRED2(contains, warning, "zone 'right' requires the pixels of the objects");
}

TEST(RegionEvents, ShareOfForeground_ComesFromRunsLabelsOrAMask) {
  // The square covers 64 of 1536 pixels of the zone.
  const std::string rules = right_with(R"(, "motion-share": 0.04)");
  const std::vector<int> columns = {10, 20, 30, 40, 20};
  for (const std::string source :
       {"cclabel device=cpu threshold=0.5 output=none attach-runs=true attach-labels=never",
        "cclabel device=cpu threshold=0.5 output=none attach-labels=always"}) {
    EXPECT_EQ(Chain::walk(source, rules, columns), "motion:right motion-end:right ") << source;
  }
}

TEST(RegionEvents, ForegroundMask_IsReadFromTheMetadata) {
  Events h(
      R"([{"id": "yard", "points": [[100, 0], [200, 0], [200, 100], [100, 100]], "motion-share": 0.5}])");
  for (const int white : {4000, 6000}) {
    GstBuffer* buffer = frame_with({}, h.index++);
    std::vector<uint8_t> mask(kWidth * kHeight);
    int left = white;
    for (int y = 0; y < kHeight; ++y)
      for (int x = 100; x < kWidth && left > 0; ++x, --left)
        mask[static_cast<size_t>(y * kWidth + x)] = 255;
    GstBuffer* labels = Harness::buffer(mask);
    gst_structure_set(gst_custom_meta_get_structure(gst_buffer_get_custom_meta(buffer, "regions")),
                      "algorithm", G_TYPE_STRING, "graphcutbg", "labels", GST_TYPE_BUFFER, labels,
                      "labels-format", G_TYPE_STRING, "GRAY8", nullptr);
    gst_buffer_unref(labels);
    EXPECT_EQ(h.push(buffer), white == 6000 ? "motion:yard " : "");
  }
}

TEST(RegionEvents, LabelMapThatIsTooSmall_Warns) {
  Events h(R"([{"id": "yard", "center": [150, 50], "radius": 9, "anchor": "area"}])");
  GstBuffer* buffer = frame_with({kInside}, 0);
  GstBuffer* labels = Harness::buffer({1, 2, 3});
  gst_structure_set(gst_custom_meta_get_structure(gst_buffer_get_custom_meta(buffer, "regions")),
                    "labels", GST_TYPE_BUFFER, labels, "labels-format", G_TYPE_STRING, "U32_LE",
                    nullptr);
  gst_buffer_unref(labels);
  EXPECT_EQ(h.push(buffer), "(none)");
  EXPECT_EQ(h.warning(), "the attached label map is smaller than the metadata states");
}

TEST(RegionEvents, HostileRegionNumbers_AreHarmless) {
  Events h(
      R"([{"id": "yard", "center": [150, 50], "radius": 9, "anchor": "area", "motion-share": 0.1}])");
  GstBuffer* buffer =
      frame_with({{0xFFFFFFFF, -2000000000, 2000000000, 2000000000, 2000000000}}, 0);
  const uint32_t runs[] = {0xFFFFFFFF, 0xFFFFFFFF, 50, 0xFFFFFFFF, 1, 0, 0x80000000, 7};
  GstBuffer* bytes = gst_buffer_new_memdup(runs, sizeof runs);
  gst_structure_set(gst_custom_meta_get_structure(gst_buffer_get_custom_meta(buffer, "regions")),
                    "runs", GST_TYPE_BUFFER, bytes, nullptr);
  gst_buffer_unref(bytes);
  EXPECT_EQ(h.push(buffer), "");
}

TEST(RegionEvents, AllocationQuery_ReachesDownstream) {
  Events h(kYard);
  h.answer_allocation([](GstQuery* query) {
    gst_query_add_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  });
  EXPECT_TRUE(
      gst_query_find_allocation_meta(h.allocation().get(), GST_VIDEO_CROP_META_API_TYPE, nullptr));
}

TEST(RegionEvents, StopAndStart_BeginsAgain) {
  Events h(kYard);
  h.push({kInside});
  gst_element_set_state(h.element(), GST_STATE_READY);
  gst_element_set_state(h.element(), GST_STATE_PLAYING);
  gst_harness_push_event(h.get(), gst_event_new_stream_start("again"));
  h.caps("application/x-anything,width=200,height=100");
  GstSegment time;
  gst_segment_init(&time, GST_FORMAT_TIME);
  h.segment(time);
  EXPECT_EQ(h.push({kInside}), "enter:yard:7 ");
}

}  // namespace
}  // namespace regions::test
