// Every format in, every format out, for every output of every algorithm: what does not fit is
// refused by name, and no byte beside the pictures is touched.
#include <algorithm>
#include <climits>
#include <span>

#include "tests/algorithms.hpp"
#include "tests/library/library_case.hpp"

namespace regions::test {
namespace {

constexpr uint8_t kGuard = 0xA5;
constexpr size_t kGuardBytes = 256;

// Planes without a byte to spare, between guards.
class GuardedPicture {
 public:
  GuardedPicture(PixelFormat format, uint8_t fill) {
    const Layout& layout = layout_of(format);
    picture_.format = name_of(format).data();
    picture_.width = kWidth;
    picture_.height = kHeight;
    for (int p = 0; p < layout.planes; ++p) {
      const size_t row = row_bytes(layout, p, {kWidth, kHeight});
      const size_t bytes = row * static_cast<size_t>(row_count(layout, p, {kWidth, kHeight}));
      std::vector<uint8_t>& plane = planes_.emplace_back(bytes + 2 * kGuardBytes, kGuard);
      std::fill_n(plane.begin() + kGuardBytes, bytes, fill);
      picture_.plane[p] = plane.data() + kGuardBytes;
      picture_.pitch[p] = static_cast<ptrdiff_t>(row);
    }
  }
  RegionsPicture& get() { return picture_; }
  bool guards_are_whole() const {
    const auto is_guard = [](uint8_t byte) { return byte == kGuard; };
    return std::ranges::all_of(planes_, [&](const std::vector<uint8_t>& plane) {
      return std::all_of(plane.begin(), plane.begin() + kGuardBytes, is_guard) &&
             std::all_of(plane.end() - kGuardBytes, plane.end(), is_guard);
    });
  }

 private:
  std::vector<std::vector<uint8_t>> planes_;
  RegionsPicture picture_ = {};
};

std::vector<std::string> choices_of(const KnownAlgorithm& algorithm, const char* name) {
  std::vector<std::string> names;
  for (const Field& field : algorithm.fields) {
    if (field.name != std::string(name)) continue;
    for (const Choice& choice : field.choices) names.emplace_back(choice.name);
  }
  return names;
}

bool fits(const std::string& output, PixelFormat in, PixelFormat out) {
  const Layout& layout = layout_of(out);
  if (in == PixelFormat::labels32 || output == "none") return false;
  if (output == "labels") return layout.model == ColorModel::gray || out == PixelFormat::labels32;
  if (output == "mask" || output == "boundaries") return out == PixelFormat::gray8;
  if (output == "colors") return layout.model == ColorModel::rgb;
  if (output == "cutout") return out == PixelFormat::rgba;
  return out == in;
}

TEST(LibraryFormats, EveryPairOfFormatsForEveryOutput) {
  for (const KnownAlgorithm& algorithm : kAlgorithms) {
    std::vector<std::string> outputs = choices_of(algorithm, "output");
    if (outputs.empty()) outputs = {""};  // draws
    for (const std::string& output : outputs) {
      const Filter filter = open(algorithm.name);
      if (!output.empty()) {
        ASSERT_EQ(regions_set(filter.get(), "output", output.c_str()), REGIONS_OK);
      }
      for (int i = 0; i < kPixelFormats; ++i) {
        for (int o = 0; o < kPixelFormats; ++o) {
          const auto in_format = static_cast<PixelFormat>(i),
                     out_format = static_cast<PixelFormat>(o);
          GuardedPicture in(in_format, 90), out(out_format, 30);
          RegionsFrame frame = REGIONS_FRAME_INIT;
          frame.in = in.get();
          frame.out = out.get();
          const RegionsStatus status = regions_process(filter.get(), &frame);
          const std::string where = std::string(algorithm.name) + " output=" + output + " from " +
                                    frame.in.format + " to " + frame.out.format;
          EXPECT_EQ(status, fits(output, in_format, out_format) ? REGIONS_OK : REGIONS_ERROR_INPUT)
              << where << ": " << regions_error();
          EXPECT_TRUE(in.guards_are_whole() && out.guards_are_whole()) << where;
        }
      }
    }
  }
}

TEST(LibraryFormats, MasksAreGreyOrLabels) {
  for (const auto& [algorithm, output] :
       {std::pair("cclabel", "mask"), std::pair("graphcutbg", "mask"),
        std::pair("regionoverlay", "")}) {
    const Filter filter = open(algorithm);
    if (*output) {
      ASSERT_EQ(regions_set(filter.get(), "output", output), REGIONS_OK);
      ASSERT_EQ(regions_set(filter.get(), "source", "mask"), REGIONS_OK);
    }
    for (int m = 0; m < kPixelFormats; ++m) {
      const auto format = static_cast<PixelFormat>(m);
      GuardedPicture in(PixelFormat::gray8, 90), out(PixelFormat::gray8, 30), mask(format, 255);
      RegionsFrame frame = REGIONS_FRAME_INIT;
      frame.in = in.get();
      frame.out = out.get();
      frame.mask = mask.get();
      const ColorModel model = layout_of(format).model;
      const bool is_mask = model == ColorModel::gray || model == ColorModel::labels;
      EXPECT_EQ(regions_process(filter.get(), &frame), is_mask ? REGIONS_OK : REGIONS_ERROR_INPUT)
          << algorithm << " with a mask of " << frame.mask.format << ": " << regions_error();
      EXPECT_TRUE(in.guards_are_whole() && out.guards_are_whole() && mask.guards_are_whole());
    }
  }
}

// Of each picture of a frame, one plane that cannot be as it is said to be.
TEST(LibraryFormats, PlanesThatCannotBeAreNamed) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "labels"), REGIONS_OK);
  const auto text_of = [&](auto spoil) {
    GuardedPicture in(PixelFormat::nv12, 90), out(PixelFormat::gray16, 30),
        labels(PixelFormat::labels32, 30), mask(PixelFormat::labels32, 0);
    RegionsFrame frame = REGIONS_FRAME_INIT;
    frame.in = in.get();
    frame.out = out.get();
    frame.labels = labels.get();
    frame.mask = mask.get();
    EXPECT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
    spoil(frame);
    EXPECT_EQ(regions_process(filter.get(), &frame), REGIONS_ERROR_INPUT);
    return std::string(regions_error());
  };
  const auto moved = [](void* plane) -> void* { return static_cast<uint8_t*>(plane) + 1; };
  using Frame = RegionsFrame&;
  EXPECT_EQ(text_of([](Frame f) { f.in.plane[1] = nullptr; }), "plane 1 of in is missing");
  EXPECT_EQ(text_of([](Frame f) { f.in.pitch[1] = kWidth; }), "rows of plane 1 of in overlap");
  EXPECT_EQ(text_of([](Frame f) { f.in.pitch[0] = 0; }), "rows of plane 0 of in overlap");
  EXPECT_EQ(text_of([](Frame f) { f.in.pitch[0] = PTRDIFF_MAX; }),
            "rows of plane 0 of in lie 2 GiB apart");
  EXPECT_EQ(text_of([](Frame f) { f.in.pitch[0] = PTRDIFF_MIN; }),
            "rows of plane 0 of in lie 2 GiB apart");
  EXPECT_EQ(text_of([&](Frame f) { f.out.plane[0] = moved(f.out.plane[0]); }),
            "rows of plane 0 of out must begin at multiples of 2 bytes, the size of a sample");
  EXPECT_EQ(text_of([](Frame f) { f.out.pitch[0] += 1; }),
            "rows of plane 0 of out must begin at multiples of 2 bytes, the size of a sample");
  EXPECT_EQ(text_of([&](Frame f) { f.labels.plane[0] = moved(f.labels.plane[0]); }),
            "rows of plane 0 of labels must begin at multiples of 4 bytes, the size of a sample");
  EXPECT_EQ(text_of([](Frame f) { f.labels.pitch[0] += 2; }),
            "rows of plane 0 of labels must begin at multiples of 4 bytes, the size of a sample");
  EXPECT_EQ(text_of([](Frame f) { f.mask.pitch[0] += 2; }),
            "rows of plane 0 of mask must begin at multiples of 4 bytes, the size of a sample");
}

TEST(LibraryFormats, APictureInPlaceHasOneLayout) {
  const Filter filter = open("cclabel");
  const auto status_of = [&](auto spoil) {
    GuardedPicture in(PixelFormat::nv12, 90), other(PixelFormat::nv12, 90);
    RegionsFrame frame = REGIONS_FRAME_INIT;
    frame.in = frame.out = in.get();
    spoil(frame.out, other.get());
    return regions_process(filter.get(), &frame);
  };
  using Picture = RegionsPicture&;
  EXPECT_EQ(status_of([](Picture, Picture) {}), REGIONS_OK);
  EXPECT_EQ(status_of([](Picture out, Picture other) { out.plane[1] = other.plane[1]; }),
            REGIONS_ERROR_INPUT);
  EXPECT_EQ(status_of([](Picture out, Picture) { out.pitch[0] += 16; }), REGIONS_ERROR_INPUT);
}

}  // namespace
}  // namespace regions::test
