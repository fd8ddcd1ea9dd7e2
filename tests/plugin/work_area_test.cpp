// The work area: the rectangle and process-scale of an element. The expected result is that of the
// same element for the smaller picture, enlarged pixel by pixel.
#include <algorithm>

#include "tests/plugin/elements.hpp"
#include "tests/plugin/harness.hpp"
#include "tests/plugin/work_area_scene.hpp"

namespace regions::test {
namespace {

// Compares the region metadata of the whole picture with that of the smaller picture.
void expect_enlarged_regions(const GstStructure* all, const GstStructure* few, const Area& r,
                             int factor) {
  ASSERT_EQ(region_count(all), region_count(few));
  for (guint n = 0; n < region_count(all); ++n) {
    const auto number = [&](const GstStructure* s, const char* name) {
      return std::stod(region_field(s, n, name));
    };
    for (const char* name : {"x", "first-x"}) {
      EXPECT_EQ(number(all, name), r.left + factor * number(few, name)) << name;
    }
    for (const char* name : {"y", "first-y"}) {
      EXPECT_EQ(number(all, name), r.top + factor * number(few, name)) << name;
    }
    for (const char* name : {"width", "height"}) {
      EXPECT_EQ(number(all, name), factor * number(few, name)) << name;
    }
    EXPECT_EQ(number(all, "area"), factor * factor * number(few, "area"));
    EXPECT_NEAR(number(all, "cx"), r.left + factor * (number(few, "cx") + 0.5) - 0.5, 0.51);
    EXPECT_NEAR(number(all, "red"), number(few, "red"), 0.5);
    EXPECT_EQ(region_field(all, n, "id"), region_field(few, n, "id"));
  }
}

// Compares the output pictures and metadata for the same scene; `pixel` is in bytes.
void expect_enlarged(const std::string& line, const std::string& sink, int pixel, const Area& r,
                     int factor) {
  const Scene scene;
  Harness whole(placed(line, r, 1.0 / factor), sink), small(line, sink);
  whole.video("GRAY8", scene.width, scene.height);
  small.video("GRAY8", r.width / factor, r.height / factor);
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(line + ", frame " + std::to_string(i) + ", 1/" + std::to_string(factor));
    ASSERT_EQ(whole.push(scene.picture(i), i), GST_FLOW_OK);
    ASSERT_EQ(small.push(smaller(scene.picture(i), scene, r, factor), i), GST_FLOW_OK);
    const BufferPtr a = whole.pull(), b = small.pull();
    ASSERT_TRUE(a && b);
    ASSERT_EQ(bytes_of(a.get()), enlarged(bytes_of(b.get()), scene, r, factor, pixel));
    const GstStructure *all = regions_of(a.get()), *few = regions_of(b.get());
    if (!all || !gst_structure_has_field(few, "regions")) continue;
    EXPECT_EQ(field_of(all, "width"), std::to_string(scene.width));
    expect_enlarged_regions(all, few, r, factor);
  }
}

constexpr Area kAreas[] = {{0, 0, 96, 64}, {12, 8, 64, 48}, {16, 0, 80, 60}};

TEST(WorkArea, LabelsAndMasksOfEveryElement_AreEnlargedToTheWholePicture) {
  struct Line {
    const char* line;
    const char* sink;
    int pixel;
  };
  for (const Line& l :
       {Line{"cclabel output=labels", "video/x-raw,format=GRAY16_LE", 2},
        Line{"cclabel output=mask", "video/x-raw,format=GRAY8", 1},
        Line{"cclabel output=colors", "video/x-raw,format=BGRx", 4},
        Line{"graphcutbg output=mask", "video/x-raw,format=GRAY8", 1},
        Line{"slicsuperpixel output=labels region-size=8", "video/x-raw,format=GRAY16_LE", 2},
        Line{"slicsuperpixel output=boundaries region-size=8", "video/x-raw,format=GRAY8", 1}}) {
    for (const Area& r : kAreas) {
      for (const int factor : {1, 2, 4}) expect_enlarged(l.line, l.sink, l.pixel, r, factor);
    }
  }
}

TEST(WorkArea, DrawnPicture_OutsideTheAreaIsUnchanged) {
  const Scene scene;
  const Area r = {12, 8, 72, 48};
  for (const std::string& line :
       with_all_elements({"cclabel", "graphcutbg", "graphcutbg output=replace", "slicsuperpixel",
                          "slicsuperpixel output=mean", "cclabel output=none ! regionoverlay"})) {
    for (const double scale : {1.0, 0.5, 0.3}) {
      Harness h(placed(line, r, scale));
      h.video("GRAY8", scene.width, scene.height);
      bool changed = false;
      for (int i = 0; i < 5; ++i) {
        const Bytes before = scene.picture(i);
        ASSERT_EQ(h.push(before, i), GST_FLOW_OK) << line;
        const BufferPtr out = h.pull();
        ASSERT_TRUE(out) << line;
        const Bytes after = bytes_of(out.get());
        changed = changed || after != before;
        for (int y = 0; y < scene.height; ++y) {
          for (int x = 0; x < scene.width; ++x) {
            if (x >= r.left && y >= r.top && x < r.left + r.width && y < r.top + r.height) continue;
            const auto at = static_cast<size_t>(y * scene.width + x);
            ASSERT_EQ(after[at], before[at]) << line << " " << scale << ": " << x << ", " << y;
          }
        }
      }
      EXPECT_TRUE(changed) << line << " " << scale;
    }
  }
}

TEST(WorkArea, LargerThanThePicture_OutputEqualsThatWithoutAWorkArea) {
  const Scene scene;
  for (const std::string& line : all_elements()) {
    Harness plain(line), placed_one(placed(line, {0, 0, 500, 500}, 1));
    for (Harness* h : {&plain, &placed_one}) h->video("GRAY8", scene.width, scene.height);
    for (int i = 0; i < 4; ++i) {
      plain.push(scene.picture(i), i);
      placed_one.push(scene.picture(i), i);
      EXPECT_EQ(bytes_of(plain.pull().get()), bytes_of(placed_one.pull().get())) << line;
    }
  }
}

TEST(WorkArea, MaskFromUpstream_IsCroppedToTheArea) {
  const Scene scene;
  Harness chain(
      "graphcutbg output=none ! cclabel source=mask output=labels left=12 top=8 width=72 "
      "height=48",
      "video/x-raw,format=GRAY16_LE");
  Harness mask("graphcutbg output=mask");
  chain.video("GRAY8", scene.width, scene.height);
  mask.video("GRAY8", scene.width, scene.height);
  size_t foreground = 0;
  for (int i = 0; i < 6; ++i) {
    chain.push(scene.picture(i), i);
    mask.push(scene.picture(i), i);
    const Bytes labels = bytes_of(chain.pull().get()), truth = bytes_of(mask.pull().get());
    for (int y = 0; y < scene.height; ++y) {
      for (int x = 0; x < scene.width; ++x) {
        const auto at = static_cast<size_t>(y * scene.width + x);
        const bool inside = x >= 12 && y >= 8 && x < 84 && y < 56;
        EXPECT_EQ(labels[2 * at] != 0, inside && truth[at] != 0) << i << ": " << x << ", " << y;
        foreground += labels[2 * at] != 0;
      }
    }
  }
  EXPECT_GT(foreground, 1000u);
}

TEST(WorkArea, AreaMovesWhilePlaying_IsUsedForTheNextFrame) {
  const Scene scene;
  Harness h("cclabel output=mask");
  h.video("GRAY8", scene.width, scene.height);
  for (int i = 0; i < 12; ++i) {
    g_object_set(h.element(), "left", 2 * i, "process-scale", i % 2 ? 0.5 : 1.0, nullptr);
    ASSERT_EQ(h.push(scene.picture(3), i), GST_FLOW_OK);
    const Bytes mask = bytes_of(h.pull().get());
    for (int y = 0; y < scene.height; ++y) {
      for (int x = 0; x < 2 * i; ++x) {
        ASSERT_EQ(mask[static_cast<size_t>(y * scene.width + x)], 0) << i;
      }
    }
    EXPECT_EQ(mask[static_cast<size_t>(30 * scene.width + 40)], 255) << i;
  }
  h.eos();
  EXPECT_FALSE(h.has_error());
}

// Masks are used from the next frame on, like in a stream that always used them.
TEST(WorkArea, SourceBecomesMaskWhilePlaying_OutputEqualsSourceMaskFromStart) {
  const Scene scene;
  for (const char* place : {"process-scale=0.5", "left=12 top=8 width=72 height=48"}) {
    for (const char* line : {"cclabel output=mask", "graphcutbg output=mask"}) {
      const std::string chain =
          std::string("graphcutbg output=none ! ") + line + " name=second " + place;
      Harness always(chain + " source=mask"), later(chain);
      for (Harness* h : {&always, &later}) h->video("GRAY8", scene.width, scene.height);
      GstElement* second = gst_bin_get_by_name(GST_BIN(later.get()->element), "second");
      bool found = false;
      for (int i = 0; i < 6; ++i) {
        if (i == 2) gst_util_set_object_arg(G_OBJECT(second), "source", "mask");
        ASSERT_EQ(always.push(scene.picture(i), i), GST_FLOW_OK) << chain;
        ASSERT_EQ(later.push(scene.picture(i), i), GST_FLOW_OK) << chain;
        const BufferPtr a = always.pull(), b = later.pull();
        ASSERT_TRUE(a && b) << chain;
        if (i < 2) continue;
        EXPECT_EQ(bytes_of(a.get()), bytes_of(b.get())) << chain << ", frame " << i;
        found = found || std::ranges::count(bytes_of(b.get()), 255) > 0;
      }
      EXPECT_TRUE(found) << chain;
      gst_object_unref(second);
    }
  }
}

}  // namespace
}  // namespace regions::test
