// The test cases of superpixels.
#include "tests/slicsuperpixel/cases.hpp"

namespace regions {
namespace {

// Shaded shapes with textures and noise, similar to a photograph.
GuardedFrame scene(Size size) {
  GuardedFrame frame(PixelFormat::rgb, size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const int disc = (x % 61 - 30) * (x % 61 - 30) + (y % 47 - 20) * (y % 47 - 20);
      const auto shape = static_cast<uint32_t>(disc < 260 ? 1 + (x / 61 * 7 + y / 47) % 9
                                               : (x + 2 * y) % 90 < 12 ? 11
                                                                       : 0);
      for (int c = 0; c < 3; ++c) {
        const auto base = static_cast<int>(hash(shape, static_cast<uint32_t>(c), 5) % 200);
        const auto noise = static_cast<int>(
            hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(c)) %
            25);
        frame.frame().set_sample(c, x, y, std::min(255, base + (x + y) % 37 / 2 + noise));
      }
    }
  }
  return frame;
}

GuardedFrame noise(Size size) {
  GuardedFrame frame(PixelFormat::rgb, size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const uint32_t level =
            hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(c + 7));
        frame.frame().set_sample(c, x, y, static_cast<int>(level % 256));
      }
    }
  }
  return frame;
}

}  // namespace

std::string SlicCase::name() const {
  std::string text = content + " " + std::to_string(size.width) + "x" +
                     std::to_string(size.height) + " " + std::string(name_of(format));
  for (const std::string& setting : settings) text += " " + setting;
  return text;
}

SlicParams SlicCase::params() const {
  SlicParams params;
  params.output = SlicOutput::none;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    assign_text(find(fields_of(params), setting.substr(0, equals)), &params,
                setting.substr(equals + 1));
  }
  return params;
}

GuardedFrame SlicCase::frame(int padding) const {
  if (content != "scene" && content != "noise") {
    return convert(make_picture(content, size).frame(), format, {YuvMatrix::bt709, false}, padding,
                   Tint::noise);
  }
  const GuardedFrame picture = content == "noise" ? noise(size) : scene(size);
  GuardedFrame out(format, size, padding, {YuvMatrix::bt709, false});
  const ConstFrame from = picture.frame();
  const Frame to = out.frame();
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < to.layout.channels; ++c) {
        to.set_sample(c, x, y, from.sample(c, x, y) << (to.layout.sample_bits - 8));
      }
      if (to.layout.alpha) to.set_sample(3, x, y, 255);
    }
  }
  return out;
}

const std::vector<SlicCase>& small_cases() {
  static const std::vector<SlicCase> cases = [] {
    std::vector<SlicCase> list;
    const Size common = {131, 87};
    for (const char* content : {"scene", "blobs", "clouds", "gradient", "rand_g1_d50", "maze",
                                "checkerboard", "full", "empty", "single", "stripes_v"}) {
      list.push_back({content, common});
    }
    for (const char* setting :
         {"region-size=2",   "region-size=3",       "region-size=7",    "region-size=15",
          "region-size=17",  "region-size=32",      "region-size=33",   "region-size=48",
          "region-size=100", "region-size=512",     "superpixels=1",    "superpixels=2",
          "superpixels=37",  "superpixels=1000000", "compactness=0",    "compactness=0.5",
          "compactness=40",  "compactness=1000",    "iterations=0",     "iterations=1",
          "row-step=1",      "row-step=3",          "row-step=4",       "tolerance=0.5",
          "tolerance=100",   "color-space=rgb",     "color-space=luma", "min-size=0",
          "min-size=1"}) {
      list.push_back({"scene", common, {setting}});
      list.push_back({"scene", common, {setting, "variant=slico"}});
    }
    for (const char* content : {"blobs", "clouds", "rand_g1_d50", "full", "maze", "checkerboard"}) {
      list.push_back({content, common, {"variant=slico"}});
    }
    // Small cells: as many per row as a vector has lanes, one more, several strips of rows and
    // blocks of cells, and fewer cells per row than a cell has pixels.
    for (const Size size : {Size{61, 37}, {32, 40}, {33, 9}, {3, 130}, {7, 66}, {531, 34}}) {
      for (const char* cells :
           {"region-size=2", "region-size=3", "region-size=5", "region-size=8"}) {
        for (const char* content : {"noise", "scene"}) {
          list.push_back({content, size, {cells}});
          list.push_back({content, size, {cells, "variant=slico", "compactness=3"}});
        }
        list.push_back({"noise", size, {cells, "compactness=0", "min-size=1", "iterations=1"}});
        list.push_back({"noise", size, {cells, "compactness=1", "tolerance=0.1"}});
      }
    }
    list.push_back({"noise", {96, 64}, {"superpixels=700"}});  // cells that are not square
    list.push_back({"noise", {131, 60}, {"superpixels=330", "variant=slico"}});
    for (const char* content : {"scene", "noise", "clouds", "full", "maze", "rand_g1_d50"}) {
      list.push_back({content, common, {"superpixels=150"}});
    }
    list.push_back({"scene", common, {"superpixels=40", "compactness=1", "min-size=1"}});
    list.push_back({"scene", common, {"superpixels=60", "min-size=0"}});
    list.push_back({"rand_g1_d50", common, {"compactness=0", "min-size=1"}});
    list.push_back({"rand_g1_d50", common, {"compactness=0", "min-size=0"}});
    list.push_back({"scene", common, {"region-size=40", "row-step=3", "compactness=3"}});
    list.push_back(
        {"full", {1400, 20}, {"region-size=512", "compactness=0"}});  // long rows of one colour
    for (const Size size : {Size{1, 1},
                            {1, 90},
                            {90, 1},
                            {2, 2},
                            {15, 16},
                            {16, 16},
                            {17, 33},
                            {16, 1},
                            {64, 15},
                            {65, 64},
                            {63, 96},
                            {33, 18}}) {
      list.push_back({"scene", size});
      list.push_back({"scene", size, {"region-size=5", "compactness=2"}});
      list.push_back({"scene", size, {"region-size=32", "row-step=1"}});
      list.push_back({"scene", size, {"region-size=7", "variant=slico"}});
    }
    for (int f = 0; f < kPixelFormats - 1; ++f) {
      list.push_back({"scene", {75, 43}, {}, static_cast<PixelFormat>(f)});
      list.push_back({"scene", {75, 43}, {"color-space=luma"}, static_cast<PixelFormat>(f)});
    }
    return list;
  }();
  return cases;
}

const std::vector<SlicCase>& large_cases() {
  static const std::vector<SlicCase> cases = {
      {"scene", {1920, 1080}},
      {"scene", {1920, 1080}, {"region-size=32"}, PixelFormat::nv12},
      {"scene", {1280, 720}, {"superpixels=1234", "row-step=1"}, PixelFormat::bgrx},
      {"clouds", {1921, 1079}, {"compactness=1", "iterations=5"}, PixelFormat::gray8},
      {"rand_g1_d50", {1001, 703}, {"compactness=0"}},
      {"rand_g1_d50", {1001, 703}, {"compactness=3", "min-size=1"}},
      {"rand_g1_d50", {1001, 703}, {"superpixels=900"}},
      {"clouds", {1921, 1079}, {"superpixels=4000", "compactness=1"}},
      {"scene", {2048, 1024}, {"region-size=128", "min-size=0", "row-step=1"}, PixelFormat::rgba},
      {"scene", {1920, 1080}, {"variant=slico"}, PixelFormat::nv12},
      {"rand_g1_d50", {1001, 703}, {"variant=slico", "region-size=33"}},
      {"scene", {3840, 2160}, {"iterations=3"}, PixelFormat::rgbx}};
  return cases;
}

GuardedFrame panned_frame(Size size, int x, bool cut) {
  const SlicCase wide = {"scene", {size.width + 100, size.height + 40}};
  const GuardedFrame scene = wide.frame();
  GuardedFrame frame(PixelFormat::rgb, size);
  for (int y = 0; y < size.height; ++y) {
    for (int u = 0; u < size.width; ++u) {
      for (int c = 0; c < 3; ++c) {
        const int value = scene.frame().sample(c, u + x, cut ? size.height + 39 - y : y);
        frame.frame().set_sample(c, u, y, cut ? 255 - value : value);
      }
    }
  }
  return frame;
}

}  // namespace regions
