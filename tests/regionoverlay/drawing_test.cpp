// Drawing of regions: the CPU equals the oracle, and CUDA equals the CPU, in every format, size and
// style.
#include "cpu/drawing/drawing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>

#include "core/drawing/marks.hpp"
#include "core/drawing/paint.hpp"
#include "core/drawing/regionoverlay.hpp"
#include "tests/pictures/backend_test.hpp"
#include "tests/pictures/pictures.hpp"
#include "tests/regionoverlay/scene.hpp"

namespace regions {
namespace {

// Draws with a new workspace, which must be blank afterwards.
void draw_blank(const ConstFrame& in, const Frame& out, const LabelView& labels,
                const std::vector<Region>& regions, const DrawingParams& params, int threads = 1) {
  std::vector<uint32_t> memory(ink_bytes(out.size()) / sizeof(uint32_t));
  const Ink ink = ink_in(memory.data(), out.size());
  draw(in, out, labels, regions, params, ink, Workers(threads));
  if (labels.empty()) {
    ASSERT_EQ(std::count(memory.begin(), memory.end(), 0u), std::ssize(memory));
  }
  for (const Image<uint32_t>& image : {ink.codes, ink.tiles}) {
    for (int y = 0; y < image.height; ++y) {
      const uint32_t* row = image.row(y);
      ASSERT_EQ(std::count(row, row + image.width, 0u), image.width) << "row " << y;
    }
  }
}

// Compares component c of all pixels that share the sample at (x, y) with the oracle.
void expect_sample(const std::vector<Touch>& touches, const ConstFrame& in, const ConstFrame& out,
                   int c, int x, int y, const std::string& name) {
  const Component& component = in.layout.component[c];
  const int x_end = std::min(in.width, x + (1 << component.x_shift));
  const int y_end = std::min(in.height, y + (1 << component.y_shift));
  const int old = in.sample(c, x, y);
  double sum = 0;
  bool touched = false, text = false;
  for (int v = y; v < y_end; ++v) {
    for (int u = x; u < x_end; ++u) {
      const Touch& touch =
          touches[static_cast<size_t>(v) * static_cast<size_t>(in.width) + static_cast<size_t>(u)];
      sum += mixed_slowly(touch, old, c, in.layout, in.color);
      touched |= touch.alpha > 0;
      text |= touch.text;
    }
  }
  const int got = out.sample(c, x, y);
  if (!touched) {
    ASSERT_EQ(got, old) << name << ": component " << c << " changed at " << x << ", " << y;
    return;
  }
  // Colours, opacities and (in text) coverage are rounded to 1 / 256.
  const double slack = 1 + (text ? 3 : 1) * in.layout.max_value() / 256.0;
  ASSERT_NEAR(got, sum / ((x_end - x) * (y_end - y)), slack)
      << name << ": component " << c << " at " << x << ", " << y;
}

struct DrawingOptions {
  Colorimetry color;
  bool with_labels = true;
  PixelFormat label_format = PixelFormat::labels32;
  int padding = 3;  // bytes after each row
};

class Drawing : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (!IsSkipped()) algorithm_ = make_algorithm_on<RegionOverlayParams>(backend_);
  }

  // Compares the CPU with the oracle, and CUDA with the CPU.
  void check(PixelFormat format, const Scene& scene, const DrawingParams& params,
             const DrawingOptions& options = {}) {
    const std::string name = describe(format, scene.size, params);
    const GuardedFrame in = noisy_picture(format, scene.size, 3, options.color);
    GuardedFrame out(format, scene.size, 5, options.color);
    const LabelView labels = options.with_labels ? LabelView(scene.label_map()) : LabelView();
    draw_blank(in.frame(), out.frame(), labels, scene.regions, params);
    EXPECT_TRUE(out.intact()) << name;
    if (is_cuda()) return expect_on_device(scene, params, options, in, out, name);
    expect_oracle(scene, params, options, in.frame(), std::as_const(out).frame(), name);
    // In place, and with other numbers of threads.
    for (const int threads : {1, 3}) {
      GuardedFrame place = noisy_picture(format, scene.size, 3, options.color);
      draw_blank(place.frame(), place.frame(), labels, scene.regions, params, threads);
      EXPECT_TRUE(place.same_pixels(out)) << name << " in place by " << threads;
    }
  }

 private:
  static void expect_oracle(const Scene& scene, const DrawingParams& params,
                            const DrawingOptions& options, const ConstFrame& in,
                            const ConstFrame& out, const std::string& name) {
    const std::vector<Touch> touches =
        draw_slowly(scene.size, options.with_labels ? scene.labels : std::vector<uint32_t>(),
                    scene.regions, params);
    const Layout& layout = in.layout;
    for (int c = 0; c < 4; ++c) {
      if (c >= layout.channels && !(c == 3 && layout.alpha)) continue;
      const Component& k = layout.component[c];
      for (int y = 0; y < scene.size.height; y += 1 << k.y_shift) {
        for (int x = 0; x < scene.size.width; x += 1 << k.x_shift) {
          expect_sample(touches, in, out, c, x, y, name);
          if (HasFatalFailure()) return;
        }
      }
    }
  }

  // Draws twice with one workspace, into another picture and in place.
  void expect_on_device(const Scene& scene, const DrawingParams& params,
                        const DrawingOptions& options, const GuardedFrame& in,
                        const GuardedFrame& expected, const std::string& name) {
    const PixelFormat format = in.frame().layout.format;
    const GuardedFrame labels = labels_as(options.label_format, scene);
    DeviceFrame from(*backend_, *queue_, format, scene.size, options.padding, options.color);
    DeviceFrame to(*backend_, *queue_, format, scene.size, options.padding, options.color);
    DeviceFrame map(*backend_, *queue_, options.label_format, scene.size, 4);
    from.upload(in.frame());
    map.upload(labels.frame());
    regions::Setup setup{.in = layout_of(format), .size = scene.size, .color = options.color};
    setup.out = setup.in;
    setup.has_output = true;
    setup.has_mask = options.with_labels;
    setup.mask = map.frame().layout;
    setup.max_regions = 1 << 16;
    algorithm_->configure(setup);
    for (const DeviceFrame* out : {&to, &from}) {
      FrameTask task;
      task.in = from.frame();
      task.out = out->frame();
      if (options.with_labels) task.mask = map.frame();
      task.attached = scene.regions.data();
      task.attached_count = static_cast<uint32_t>(scene.regions.size());
      algorithm_->enqueue(task, {params}, *queue_);
      finish();
      bool intact = false;
      const GuardedFrame result = out->download(&intact);
      EXPECT_TRUE(intact) << name;
      ASSERT_TRUE(result.same_pixels(expected)) << name << (out == &from ? " in place" : "");
    }
  }

  static GuardedFrame labels_as(PixelFormat format, const Scene& scene) {
    GuardedFrame labels(format, scene.size);
    const auto bytes = layout_of(format).sample_bytes;
    for (int y = 0; y < scene.size.height; ++y) {
      for (int x = 0; x < scene.size.width; ++x) {
        std::memcpy(labels.frame().at(0, x, y), &scene.label_map()(x, y), bytes);
      }
    }
    return labels;
  }

  std::unique_ptr<Algorithm<RegionOverlayParams>> algorithm_;
};
TEST_ON_BACKENDS(Drawing);

TEST_P(Drawing, EveryPixelFormat_EqualsTheReference) {
  for (const PixelFormat format : drawable_formats()) {
    for (const Size size : {Size{131, 97}, {128, 64}, {7, 5}}) {
      check(format, make_scene(size, 12), {15, 0.4, 2});
      check(format, make_scene(size, 12), {15, 0.4, 2}, {.padding = 16});
    }
  }
}

TEST_P(Drawing, EveryStyleAndThickness_EqualsTheReference) {
  const Size size = is_cuda() ? Size{231, 197} : Size{131, 97};
  for (const DrawingParams& params : scene_params()) {
    check(PixelFormat::bgra, make_scene(size, 12, 1), params);
    check(PixelFormat::nv12, make_scene(size, 3, 2), params);
    check(PixelFormat::yuy2, make_scene(size, 0, 3), params);
  }
}

TEST_P(Drawing, EveryPictureSize_EqualsTheReference) {
  for (const Size size : scene_sizes()) {
    check(PixelFormat::i420, make_scene(size, 5, 3), {15, 0.6, 3});
    check(PixelFormat::uyvy, make_scene(size, 5, 4), {7, 0.6, 1});
    check(PixelFormat::p010, make_scene(size, 5, 4), {15, 0.6, 1});
  }
  for (const Size size : {Size{65535, 2}, {2, 65535}}) {
    check(PixelFormat::nv12, make_scene(size, 5, 4), {15, 0.6, 1});
  }
}

TEST_P(Drawing, EveryColorimetry_EqualsTheReference) {
  for (const YuvMatrix matrix : {YuvMatrix::bt601, YuvMatrix::bt709, YuvMatrix::bt2020}) {
    for (const bool full_range : {false, true}) {
      for (const PixelFormat format : {PixelFormat::p010, PixelFormat::yuy2}) {
        check(format, make_scene({65, 33}, 6, 5), {15, 0.5, 1}, {.color = {matrix, full_range}});
      }
    }
  }
}

TEST_P(Drawing, WithoutLabelMap_EqualsTheReference) {
  check(PixelFormat::rgb, make_scene({131, 97}, 6, 6), {15, 0.5, 2}, {.with_labels = false});
}

TEST_P(Drawing, LabelMapsOf8Or16Bits_EqualTheReference) {
  for (const PixelFormat labels : {PixelFormat::gray8, PixelFormat::gray16}) {
    check(PixelFormat::rgb, make_scene({131, 97}, 12, 5), {15, 0.4, 2}, {.label_format = labels});
  }
}

TEST_P(Drawing, ThousandsOfRegions_EqualTheReference) {
  for (const Size size : {Size{131, 97}, {64, 64}, {1100, 7}, {5, 300}}) {
    for (const uint32_t style : {1u, 8u, 9u}) {
      for (const int thickness : {1, 3, 8, 64}) {
        check(PixelFormat::rgb, make_scene(size, 2500, static_cast<uint32_t>(thickness)),
              {style, 0.4, thickness}, {.with_labels = false});
      }
    }
  }
  if (!is_cuda()) return;
  // More ink than CUDA stamps region by region, and large pictures.
  for (const DrawingParams& params : {DrawingParams{1, 0.4, 64}, {9, 0.4, 8}, {15, 0.4, 2}}) {
    check(PixelFormat::i420, make_scene({641, 363}, 65536, 8), params);
  }
  check(PixelFormat::rgb, make_scene({1920, 1080}, 4096, 9), {9, 0.4, 64});
  check(PixelFormat::nv12, make_scene({1920, 1080}, 4096, 6), {15, 0.4, 2}, {.padding = 0});
  check(PixelFormat::nv12, make_scene({3840, 2160}, 20, 7), {11, 0.4, 2});
}

TEST_P(Drawing, ThousandsOfBoxesAtOnePlace_EqualTheReference) {
  for (const Size size : {Size{131, 97}, {1100, 7}}) {
    for (const int thickness : {1, 8, 64}) {
      Scene scene = make_scene(size, 2500);
      for (Region& r : scene.regions) {
        r.left = r.top = 0;
        r.right = size.width - 1;
        r.bottom = size.height - 1;
      }
      check(PixelFormat::rgb, scene, {9, 0.4, thickness}, {.with_labels = false});
    }
  }
}

// Lines at every position in few colours, with gaps.
TEST_P(Drawing, ThousandsOfBoxesOnAGrid_EqualTheReference) {
  Scene scene = make_scene({131, 97}, 3000);
  for (size_t i = 0; i < scene.regions.size(); ++i) {
    Region& r = scene.regions[i];
    r.left = static_cast<int>(i * 7 % 19) * 7 - 5;
    r.top = static_cast<int>(i * 5 % 13) * 9 - 5;
    r.right = r.left + static_cast<int>(i % 4) * 42;
    r.bottom = r.top + static_cast<int>(i % 3) * 36;
  }
  for (const int thickness : {1, 2, 5}) {
    check(PixelFormat::rgb, scene, {1, 0.4, thickness}, {.with_labels = false});
  }
}

// A scene with lines in all directions and numbers, partly outside.
Scene scene_with_marks(Size size, const DrawingParams& params, int line_thickness) {
  Scene scene = make_scene(size, 6, 3);
  const StampPlan plan = stamp_plan(size, params);
  for (int i = 0; i < 12; ++i) {
    const double angle = i * 0.5236;
    append(
        LineMark{size.width / 2.0, size.height / 2.0, size.width * (0.5 + 0.7 * std::cos(angle)),
                 size.height * (0.5 + 0.7 * std::sin(angle)), 0x102030u * (i % 8u), line_thickness},
        plan, scene.regions);
    append(NumberMark{i * size.width / 11.0, i * size.height / 11.0, i * 37u, 0xFFFF00}, plan,
           scene.regions);
  }
  return scene;
}

TEST_P(Drawing, Captions_EqualTheReferenceInEveryStyle) {
  for (const DrawingParams& params : scene_params()) {
    for (const Size size : {Size{131, 97}, {65, 33}, {1, 1}, {600, 70}}) {
      for (const char* text :
           {"enter yard #7", "ABSENTMINDEDLY 0123456789", "  \xC3\xA4\n:/.-  x"}) {
        Scene scene = scene_with_marks(size, params, 2);
        append(CaptionMark{text, 0x33CC99}, stamp_plan(size, params), scene.regions);
        check(PixelFormat::rgb, scene, params);
      }
    }
  }
}

TEST(CaptionMarks, Text_IsDividedIntoWordsOfUpToTenCharacters) {
  const StampPlan plan = stamp_plan({2000, 200}, {});
  const auto words = [&](const std::string& text) {
    std::vector<Region> records;
    append(CaptionMark{text, 0}, plan, records);
    std::string text_of_words;
    int left = 0;
    for (const Region& record : records) {
      EXPECT_GT(record.left, left);
      left = record.left + plan.tag_width(static_cast<int>(record.area)) - 1;
      for (uint64_t i = 0; i < record.area; ++i) {
        const auto glyph = static_cast<int>(record.sum_x >> 6 * i & 63);
        for (const char c : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ#-.:/?"))
          if (glyph_of(c) == glyph) text_of_words += c;
      }
      text_of_words += ' ';
    }
    return text_of_words;
  };
  EXPECT_EQ(words("enter yard #7"), "ENTER YARD #7 ");
  EXPECT_EQ(words("  a  b "), "A B ");
  EXPECT_EQ(words("abcdefghijklm"), "ABCDEFGHIJ KLM ");
  EXPECT_EQ(words("H\xC3\xB6"
                  "fe_1!"),
            "H?FE?1? ");
  EXPECT_EQ(words(""), "");
}

TEST(CaptionMarks, WordsBeyondThePicture_AreLeftOut) {
  const StampPlan plan = stamp_plan({100, 50}, {});
  std::vector<Region> records;
  append(CaptionMark{"enter entrance #17", 0}, plan, records);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].area, 5U);
}

TEST(Glyphs, EachCharacter_HasItsOwnPicture) {
  for (const int height : {90, 1080, 2160}) {
    const GlyphSize size = glyphs_for(height);
    const auto cells = static_cast<size_t>(size.width) * static_cast<size_t>(size.height);
    std::set<std::vector<uint8_t>> pictures;
    const std::string characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ#-.:/?";
    for (const char c : characters) {
      const uint8_t* first =
          glyph_coverage() + size.start + static_cast<size_t>(glyph_of(c)) * cells;
      EXPECT_GT(*std::max_element(first, first + cells), 128) << c;
      pictures.emplace(first, first + cells);
    }
    EXPECT_EQ(pictures.size(), characters.size()) << height;
  }
  EXPECT_EQ(glyph_of('7'), 7);
  EXPECT_EQ(glyph_of('a'), glyph_of('A'));
  EXPECT_EQ(glyph_of('!'), glyph_of('?'));
}

TEST_P(Drawing, Marks_EqualTheReferenceInEveryStyle) {
  for (const DrawingParams& params : scene_params()) {
    for (const Size size : {Size{131, 97}, {65, 33}, {1, 1}, {600, 70}}) {
      check(PixelFormat::rgb, scene_with_marks(size, params, 3), params);
      check(PixelFormat::nv12, scene_with_marks(size, params, 1), params);
    }
  }
}

TEST_P(Drawing, ThousandsOfMarksAtOnePlace_EqualTheReferenceInEveryStyle) {
  for (const Size size : {Size{131, 97}, {1100, 7}}) {
    for (const uint32_t style : {1u, 2u, 4u, 8u}) {
      const DrawingParams params = {style, 0.4, 8};
      Scene scene = make_scene(size, 3);
      const StampPlan plan = stamp_plan(size, params);
      for (uint32_t i = 0; i < 1500; ++i) {
        append(LineMark{0, 5, static_cast<double>(size.width), 5, i * 4099, 16}, plan,
               scene.regions);
        append(NumberMark{size.width / 2.0, size.height / 2.0, i, i * 257}, plan, scene.regions);
      }
      check(PixelFormat::rgb, scene, params, {.with_labels = false});
    }
  }
}

TEST_P(Drawing, NoRegions_ChangesNothing) {
  for (const PixelFormat format : drawable_formats()) {
    Scene scene = make_scene({65, 33}, 0);
    std::fill(scene.labels.begin(), scene.labels.end(), 0);
    check(format, scene, {15, 1, 64});
    const GuardedFrame in = noisy_picture(format, {65, 33});
    GuardedFrame out(format, {65, 33}, 1);
    draw_blank(in.frame(), out.frame(), {}, {}, {15, 1, 64});
    EXPECT_TRUE(out.same_pixels(in)) << name_of(format);
  }
}

// The picture is larger than a thread's share of rows.
TEST(DrawingThreads, AnyThreadCount_PixelsEqualThoseOfOneThread) {
  const Scene scene = make_scene({200, 333}, 40, 7);
  const GuardedFrame in = noisy_picture(PixelFormat::nv12, scene.size);
  for (const DrawingParams& params : scene_params()) {
    GuardedFrame one(PixelFormat::nv12, scene.size);
    draw_blank(in.frame(), one.frame(), scene.label_map(), scene.regions, params, 1);
    for (const int threads : {2, 7}) {
      GuardedFrame out(PixelFormat::nv12, scene.size);
      draw_blank(in.frame(), out.frame(), scene.label_map(), scene.regions, params, threads);
      EXPECT_TRUE(out.same_pixels(one)) << params.style << " by " << threads;
    }
  }
}

// Draws a mark on a black RGB picture. Returns for each pixel whether it has the colour.
std::vector<bool> pixels_of(const LineMark& line, Size size, int box_thickness) {
  const DrawingParams params = {4, 0.4, box_thickness};
  std::vector<Region> records;
  append(line, stamp_plan(size, params), records);
  const Picture black = make_picture("empty", size);
  GuardedFrame picture = convert(black.frame(), PixelFormat::rgb);
  draw_blank(picture.frame(), picture.frame(), {}, records, params);
  std::vector<bool> drawn;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const int red = picture.frame().sample(0, x, y), blue = picture.frame().sample(2, x, y);
      EXPECT_TRUE((red == 0 && blue == 0) || (red == 0x12 && blue == 0x56)) << red << " " << blue;
      drawn.push_back(red != 0);
    }
  }
  return drawn;
}

TEST(LineMarks, RandomLines_AreDrawnAlongTheirLength) {
  constexpr Size kSize = {120, 90};
  std::srand(3);
  for (int i = 0; i < 200; ++i) {
    const auto at = [](int length) { return std::rand() % (length * 20) / 10.0 - length / 2.0; };
    const int thickness = 1 + i % 7;
    const LineMark line = {at(kSize.width),  at(kSize.height), at(kSize.width),
                           at(kSize.height), 0x123456,         thickness};
    const std::vector<bool> drawn = pixels_of(line, kSize, 1 + i % 3);
    for (int y = 0; y < kSize.height; ++y) {
      for (int x = 0; x < kSize.width; ++x) {
        const double px = x + 0.5 - line.x1, py = y + 0.5 - line.y1;
        const double dx = line.x2 - line.x1, dy = line.y2 - line.y1;
        const double length = dx * dx + dy * dy;
        const double along = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, 1.0) : 0;
        const double distance = std::hypot(px - along * dx, py - along * dy);
        const bool is_drawn = drawn[static_cast<size_t>(y * kSize.width + x)];
        // The thickness is measured along an axis. Ends are cut along an axis, too.
        EXPECT_FALSE(is_drawn && distance > thickness / 2.0 + 1.5) << i << ": " << x << "," << y;
        const bool is_inner = along > 0.05 && along < 0.95;
        EXPECT_FALSE(!is_drawn && is_inner && distance < thickness / 3.0 - 0.5)
            << i << ": " << x << "," << y;
      }
    }
  }
}

TEST(LineMarks, HugeOrInvalidCoordinates_AreClippedOrLeftOut) {
  constexpr Size kSize = {60, 40};
  const std::vector<bool> across = pixels_of({-1e9, 20, 1e9, 20, 0x123456, 1}, kSize, 2);
  EXPECT_EQ(std::count(across.begin(), across.end(), true), kSize.width);
  for (const double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    const std::vector<bool> none = pixels_of({0, 20, bad, 20, 0x123456, 1}, kSize, 2);
    EXPECT_EQ(std::count(none.begin(), none.end(), true), 0);
  }
}

// A single pixel at the borders of the picture and of blocks that are drawn together. No region
// surrounds the pixel, so its outline has no shadow.
TEST(DrawingDetails, OutlineOfASinglePixel_ChangesOnlyThePixel) {
  constexpr Size kSize = {600, 70};
  const Picture black = make_picture("empty", kSize);
  for (const int thickness : {1, 2, 33}) {
    for (const int x : {0, 1, 31, 32, 63, 64, 254, 255, 256, 257, 511, 512, 598, 599}) {
      for (const int y : {0, 15, 16, 63, 64, 69}) {
        Scene scene;
        scene.size = kSize;
        scene.labels.assign(scene.size.area(), 0);
        scene.labels[static_cast<size_t>(600 * y + x)] = 1;
        const std::vector<Region> regions = {{.id = 1, .track = 3}};
        GuardedFrame picture = convert(black.frame(), PixelFormat::gray8);
        draw_blank(picture.frame(), picture.frame(), scene.label_map(), regions,
                   {2, 0.4, thickness}, 2);
        const std::byte* pixels = picture.frame().plane[0];
        EXPECT_EQ(std::count(pixels, pixels + kSize.area(), std::byte{0}), 600 * 70 - 1)
            << x << ", " << y << ", thickness " << thickness;
        EXPECT_NE(picture.frame().sample(0, x, y), 0) << x << ", " << y;
      }
    }
  }
}

TEST(DrawingDetails, BoxesOutsideOrUpsideDown_DrawNothing) {
  constexpr int kMin = INT32_MIN;
  constexpr int kMax = INT32_MAX;
  std::vector<Region> regions(5);
  const int boxes[5][4] = {{kMin, kMin, -1, -1},
                           {64, 0, kMax, 32},
                           {0, 33, 10, kMax},
                           {20, 20, 10, 30},
                           {kMax, kMax, kMin, kMin}};
  for (size_t i = 0; i < regions.size(); ++i) {
    regions[i].left = boxes[i][0];
    regions[i].top = boxes[i][1];
    regions[i].right = boxes[i][2];
    regions[i].bottom = boxes[i][3];
  }
  const GuardedFrame in = noisy_picture(PixelFormat::rgba, {64, 33});
  GuardedFrame out(PixelFormat::rgba, {64, 33});
  draw_blank(in.frame(), out.frame(), {}, regions, {9, 1, 64});
  EXPECT_TRUE(out.same_pixels(in));
}

TEST(DrawingDetails, BoxLargerThanThePicture_OnlyItsNumberIsDrawn) {
  Region region;
  region.left = region.top = INT32_MIN;
  region.right = region.bottom = INT32_MAX;
  region.track = 7;
  Scene scene{{64, 48}, {region}, {}};
  const GuardedFrame in = noisy_picture(PixelFormat::rgb, scene.size);
  GuardedFrame boxes(PixelFormat::rgb, scene.size), ids(PixelFormat::rgb, scene.size);
  draw_blank(in.frame(), boxes.frame(), {}, scene.regions, {1, 1, 8});
  EXPECT_TRUE(boxes.same_pixels(in));
  draw_blank(in.frame(), ids.frame(), {}, scene.regions, {9, 1, 8});
  EXPECT_FALSE(ids.same_pixels(in));
}

// Label maps of 1 and 2 bytes per pixel and of half the size equal a plain map.
TEST(DrawingDetails, LabelMapsOfOtherFormatsAndSizes_DrawTheSamePixels) {
  const Size size{90, 70};
  const Size half{45, 35};
  const Scene coarse = make_scene(half, 9, 8);
  const DrawingParams params{6, 0.5, 2};
  std::vector<uint32_t> fine(size.area());
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      fine[static_cast<size_t>(y * size.width + x)] =
          coarse.labels[static_cast<size_t>(y / 2 * half.width + x / 2)];
    }
  }
  const GuardedFrame in = noisy_picture(PixelFormat::nv12, size);
  GuardedFrame expected(PixelFormat::nv12, size);
  const ConstLabelMap plain{fine.data(), size.width, size.height, size.width * 4};
  draw_blank(in.frame(), expected.frame(), plain, coarse.regions, params);
  EXPECT_FALSE(expected.same_pixels(in));
  for (const PixelFormat format :
       {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::labels32}) {
    GuardedFrame labels(format, half, 4);
    for (int y = 0; y < half.height; ++y) {
      for (int x = 0; x < half.width; ++x) {
        const uint32_t label = coarse.labels[static_cast<size_t>(y * half.width + x)];
        std::memcpy(labels.frame().at(0, x, y), &label, layout_of(format).sample_bytes);
      }
    }
    GuardedFrame out(PixelFormat::nv12, size);
    draw_blank(in.frame(), out.frame(), LabelView(ConstFrame(labels.frame())), coarse.regions,
               params);
    EXPECT_TRUE(out.same_pixels(expected)) << name_of(format);
  }
}

TEST(DilatedWord, EachBit_SetsTheBitsWithinTheRadius) {
  for (int radius = 0; radius <= 64; ++radius) {
    for (int from = 0; from < 160; ++from) {
      uint32_t around[5] = {};
      around[from / 32] = 1u << from % 32;
      uint32_t expected = 0;
      for (int to = 64; to < 96; ++to) {
        if (std::abs(to - from) <= radius) expected |= 1u << (to - 64);
      }
      ASSERT_EQ(dilated_word(around, radius), expected) << "bit " << from << ", radius " << radius;
    }
  }
}

// Equal sizes read the map one to one.
TEST(LabelSampler, ExtremeSizes_ReadsStayInTheLabelMap) {
  for (const int labels : {1, 2, 3, 640, 1000, 65535}) {
    for (const int pixels : {1, 2, 3, 641, 999, 65535}) {
      const uint32_t step =
          sampler_of({ConstLabelMap{nullptr, labels, labels, 0}}, {pixels, pixels}).step_x;
      int before = 0;
      for (int x = 0; x < pixels; ++x) {
        const auto at = static_cast<int>(LabelSampler::nearest(x, step));
        ASSERT_TRUE(at >= before && at < labels) << x << " of " << pixels << " in " << labels;
        ASSERT_LE(std::abs(at - (2.0 * x + 1) * labels / (2.0 * pixels)), 2);
        before = at;
      }
      if (labels == pixels) {
        EXPECT_EQ(LabelSampler::nearest(pixels - 1, step), labels - 1);
      }
    }
  }
}

TEST(TrackColor, ConsecutiveTracks_ColorsAreBrightAndDiffer) {
  for (uint32_t track = 0; track < 5000; ++track) {
    const Rgb a = track_color(track);
    EXPECT_GE(77 * a.red + 150 * a.green + 29 * a.blue, 130 * 256) << track;
    for (uint32_t other = track + 1; other < track + 4; ++other) {
      const Rgb b = track_color(other);
      const int apart =
          std::abs(a.red - b.red) + std::abs(a.green - b.green) + std::abs(a.blue - b.blue);
      EXPECT_GE(apart, 100) << track << " and " << other;
    }
  }
}

double seconds_of(const Scene& scene, const DrawingParams& params) {
  GuardedFrame picture(PixelFormat::gray8, scene.size);
  std::vector<uint32_t> memory(ink_bytes(scene.size) / sizeof(uint32_t));
  const Ink ink = ink_in(memory.data(), scene.size);
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const auto start = std::chrono::steady_clock::now();
    draw(picture.frame(), picture.frame(), {}, scene.regions, params, ink, Workers(1));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

// Thick lines cost little more than thin lines.
TEST(DrawingTime, Thickness64_TakesLessThanSixTimesTheTimeOfThickness1) {
  const Scene scene = make_scene({960, 540}, 10000);
  EXPECT_LT(seconds_of(scene, {1, 0.4, 64}), 6 * seconds_of(scene, {1, 0.4, 1}));
}

// The algorithm: slots, attached labels and unsuitable setups.
class RegionOverlayAlgorithm : public testing::Test {
 protected:
  static regions::Setup setup_for(PixelFormat format, Size size) {
    regions::Setup setup;
    setup.in = setup.out = layout_of(format);
    setup.has_output = true;
    setup.size = size;
    setup.slots = 3;
    return setup;
  }

  static FrameTask task_for(const Scene& scene, const ConstFrame& in, const Frame& out) {
    FrameTask task;
    task.in = in;
    task.out = out;
    task.attached = scene.regions.data();
    task.attached_count = static_cast<uint32_t>(scene.regions.size());
    return task;
  }

  std::shared_ptr<Backend> backend_ = make_cpu_backend(2);
  std::unique_ptr<Algorithm<RegionOverlayParams>> algorithm_ =
      make_algorithm<RegionOverlayParams, BackendKind::cpu>(backend_);
};

TEST_F(RegionOverlayAlgorithm, ThreeFramesInFlight_EachDrawsItsRegions) {
  const Size size{130, 75};
  regions::Setup setup = setup_for(PixelFormat::bgrx, size);
  setup.max_regions = 9;
  algorithm_->configure(setup);
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<GuardedFrame> in, out;
  std::vector<Scene> scenes;
  for (uint32_t slot = 0; slot < 3; ++slot) {
    queues.push_back(backend_->make_queue());
    scenes.push_back(make_scene(size, 6 + static_cast<int>(slot) * 3, slot));
    in.push_back(noisy_picture(PixelFormat::bgrx, size));
    out.emplace_back(PixelFormat::bgrx, size);
  }
  for (size_t slot = 0; slot < 3; ++slot) {
    FrameTask task = task_for(scenes[slot], in[slot].frame(), out[slot].frame());
    task.slot = static_cast<int>(slot);
    algorithm_->enqueue(task, {}, *queues[slot]);
    queues[slot]->record();
  }
  for (size_t slot = 0; slot < 3; ++slot) {
    queues[slot]->wait();
    GuardedFrame expected(PixelFormat::bgrx, size);
    std::vector<uint32_t> memory(ink_bytes(size) / sizeof(uint32_t));
    const std::span<const Region> all = scenes[slot].regions;
    draw(in[slot].frame(), expected.frame(), {}, all.first(std::min<size_t>(all.size(), 9)),
         RegionOverlayParams(), ink_in(memory.data(), size), Workers(1));
    EXPECT_TRUE(out[slot].same_pixels(expected)) << "slot " << slot;
    EXPECT_FALSE(out[slot].same_pixels(in[slot])) << "slot " << slot;
  }
}

TEST_F(RegionOverlayAlgorithm, LabelMapAttached_OutputDiffersFromThatWithoutIt) {
  const Scene scene = make_scene({64, 40}, 4);
  regions::Setup setup = setup_for(PixelFormat::gray8, scene.size);
  setup.has_mask = true;
  setup.mask = layout_of(PixelFormat::labels32);
  algorithm_->configure(setup);
  const GuardedFrame in = noisy_picture(PixelFormat::gray8, scene.size);
  GuardedFrame with(PixelFormat::gray8, scene.size), without(PixelFormat::gray8, scene.size);
  GuardedFrame labels(PixelFormat::labels32, scene.size);
  std::copy(scene.labels.begin(), scene.labels.end(), labels.labels().data);
  const auto queue = backend_->make_queue();
  for (GuardedFrame* out : {&without, &with}) {
    FrameTask task = task_for(scene, in.frame(), out->frame());
    if (out == &with) task.mask = labels.frame();
    algorithm_->enqueue(task, {}, *queue);
    queue->record();
    queue->wait();
  }
  EXPECT_FALSE(with.same_pixels(without));
}

TEST_F(RegionOverlayAlgorithm, InvalidSizeFormatOrMaskFormat_SetupIsRefused) {
  const regions::Setup good = setup_for(PixelFormat::nv12, {16, 16});
  EXPECT_NO_THROW(algorithm_->configure(good));
  for (const Size size : {Size{0, 4}, Size{4, 0}, Size{65536, 1}, Size{1, 65536}}) {
    EXPECT_THROW(algorithm_->configure(setup_for(PixelFormat::nv12, size)), InputError);
  }
  regions::Setup labels = setup_for(PixelFormat::labels32, {16, 16});
  EXPECT_THROW(algorithm_->configure(labels), InputError);
  regions::Setup converting = good;
  converting.out = layout_of(PixelFormat::rgb);
  EXPECT_THROW(algorithm_->configure(converting), InputError);
  regions::Setup mask = good;
  mask.has_mask = true;
  mask.mask = layout_of(PixelFormat::nv12);
  EXPECT_THROW(algorithm_->configure(mask), InputError);
}

}  // namespace
}  // namespace regions
