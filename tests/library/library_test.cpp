// The C interface, as a program sees it that knows nothing else of ours.
#include "tests/library/kinds.hpp"

namespace regions::test {
namespace {

TEST(Library, LabelsAndRegions) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  Labelled l;
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(l.frame.total, 2u);
  ASSERT_EQ(l.frame.count, 2u);
  const RegionsRegion& r = l.regions[1];
  EXPECT_EQ(r.id, 2u);
  EXPECT_EQ(r.left, 20);
  EXPECT_EQ(r.top, 12);
  EXPECT_EQ(r.right, 29);
  EXPECT_EQ(r.bottom, 16);
  EXPECT_EQ(r.area, 50u);
  EXPECT_EQ(r.sum_x, 1225u);  // 24.5 on average
  EXPECT_EQ(r.sum_value[0], 50u * 240u);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const uint8_t value = l.in[static_cast<size_t>(y * kWidth + x)];
      EXPECT_EQ(l.labels[static_cast<size_t>(y * kWidth + x)], value == 200   ? 1u
                                                               : value == 240 ? 2u
                                                                              : 0u);
    }
  }
}

TEST(Library, CapacityBoundsTheRecordsNotTheTotal) {
  const Filter filter = open("cclabel");
  regions_set(filter.get(), "output", "none");
  Labelled l;
  l.frame.capacity = 1;
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK);
  EXPECT_EQ(l.frame.total, 2u);
  EXPECT_EQ(l.frame.count, 1u);
  EXPECT_EQ(l.regions[1].area, 0u);
}

TEST(Library, PropertiesChangeBetweenFrames) {
  const Filter filter = open("cclabel");
  regions_set(filter.get(), "output", "none");
  Labelled l;
  const auto total_at = [&](const char* threshold) {
    EXPECT_EQ(regions_set(filter.get(), "threshold", threshold), REGIONS_OK);
    EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK);
    return l.frame.total;
  };
  EXPECT_EQ(total_at("0.9"), 1u);
  EXPECT_EQ(total_at("0.5"), 2u);
  EXPECT_STREQ(regions_get(filter.get(), "threshold"), "0.5");
  // One that counts from the next stream on makes the filter begin anew.
  EXPECT_EQ(regions_set(filter.get(), "max-regions", "1"), REGIONS_OK);
  EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK);
  EXPECT_EQ(l.frame.count, 1u);
}

TEST(Library, SizesChangeBetweenFrames) {
  const Filter filter = open("cclabel");
  regions_set(filter.get(), "output", "none");
  Labelled l;
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK);
  l.frame.in.height = l.frame.labels.height = 8;  // the second rectangle begins below
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK);
  EXPECT_EQ(l.frame.total, 1u);
}

TEST(Library, MasksAreLabelledAndOutputsWritten) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "source", "mask"), REGIONS_OK);
  ASSERT_EQ(regions_set(filter.get(), "output", "mask"), REGIONS_OK);
  std::vector<uint8_t> black(kWidth * kHeight), mask = rectangles(), out(kWidth * kHeight, 9);
  for (uint8_t& value : mask) value = value > 100 ? 255 : 0;
  RegionsFrame frame = REGIONS_FRAME_INIT;
  frame.in = picture("GRAY8", black);
  frame.mask = picture("GRAY8", mask);
  frame.out = picture("GRAY8", out);
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(frame.total, 2u);
  EXPECT_EQ(frame.count, 0u);
  EXPECT_EQ(out, mask);
}

TEST(Library, GraphCutsGiveAForeground) {
  const Filter filter = open("graphcutbg");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  std::vector<uint8_t> empty(kWidth * kHeight, 20), picture_now = rectangles(),
                                                    foreground(kWidth * kHeight, 9);
  RegionsFrame frame = REGIONS_FRAME_INIT;
  frame.in = picture("GRAY8", empty);
  frame.foreground = picture("GRAY8", foreground);
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  }
  EXPECT_EQ(foreground, std::vector<uint8_t>(kWidth * kHeight, 0));
  frame.in = picture("GRAY8", picture_now);
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK);
  EXPECT_EQ(foreground[14 * kWidth + 25], 255);
  EXPECT_EQ(foreground[30 * kWidth + 45], 0);
}

// What cclabel does with more regions than the picture holds labels for is `overflow`'s to say.
TEST(Library, LabelsThatDoNotFitAreAnErrorUnlessAllowed) {
  std::vector<uint8_t> dots(kWidth * kHeight), out(kWidth * kHeight);
  for (size_t y = 0; y < kHeight; y += 2) {
    for (size_t x = 0; x < kWidth; x += 2) dots[y * kWidth + x] = 255;
  }
  const auto process = [&](const char* algorithm,
                           std::initializer_list<std::pair<const char*, const char*>> settings) {
    const Filter filter = open(algorithm);
    EXPECT_EQ(regions_set(filter.get(), "output", "labels"), REGIONS_OK);
    for (const auto& [name, value] : settings) {
      EXPECT_EQ(regions_set(filter.get(), name, value), REGIONS_OK) << regions_error();
    }
    RegionsFrame frame = REGIONS_FRAME_INIT;
    frame.in = picture("GRAY8", dots);
    frame.out = picture("GRAY8", out);
    return std::string(regions_process(filter.get(), &frame) == REGIONS_OK ? "" : regions_error());
  };
  EXPECT_EQ(process("cclabel", {{"overflow", "drop-smallest"}}), "");
  EXPECT_EQ(process("cclabel", {{"overflow", "saturate"}}), "");
  EXPECT_EQ(process("cclabel", {{"overflow", "error"}}),
            "513 regions, but GRAY8 holds labels up to 255");
  EXPECT_EQ(
      process("cclabel", {{"sliding", "true"}, {"depth", "2"}, {"connectivity", "6"}}),
      "513 regions, but GRAY8 holds labels up to 255; sliding=true requires overflow=saturate "
      "or overflow=error");
  EXPECT_NE(process("slicsuperpixel", {{"region-size", "2"}, {"color-space", "luma"}})
                .find("superpixels, but GRAY8 holds labels up to 255"),
            std::string::npos);
  EXPECT_EQ(process("slicsuperpixel", {{"region-size", "16"}, {"color-space", "luma"}}), "");
}

TEST(Library, OverlaysDrawInPlace) {
  const Filter filter = open("regionoverlay");
  ASSERT_EQ(regions_set(filter.get(), "style", "boxes"), REGIONS_OK);
  std::vector<uint8_t> pixels(kWidth * kHeight, 20);
  RegionsRegion region = {};
  region.id = region.track = 1;
  region.left = 10;
  region.top = 10;
  region.right = 30;
  region.bottom = 30;
  RegionsFrame frame = REGIONS_FRAME_INIT;
  frame.in = frame.out = picture("GRAY8", pixels);
  frame.attached = &region;
  frame.attached_count = 1;
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  EXPECT_NE(pixels[10 * kWidth + 20], 20);  // the box's upper side
  EXPECT_EQ(pixels[20 * kWidth + 20], 20);  // within
  EXPECT_EQ(pixels[5 * kWidth + 20], 20);   // without
}

TEST(Library, OverlaysMayGoElsewhere) {
  const Filter filter = open("cclabel");
  Labelled l;
  const std::vector<uint8_t> before = l.in;
  std::vector<uint8_t> elsewhere(kWidth * kHeight);
  l.frame.out = picture("GRAY8", elsewhere);
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(l.in, before);
  std::vector<uint8_t> in_place = before;
  Labelled again;
  again.frame.in = again.frame.out = picture("GRAY8", in_place);
  ASSERT_EQ(regions_process(filter.get(), &again.frame), REGIONS_OK);
  EXPECT_EQ(elsewhere, in_place);
}

// What is wrong is named, and the next frame works.
TEST(Library, WhatIsWrongIsNamed) {
  const Filter filter = open("cclabel");
  regions_set(filter.get(), "output", "none");
  const auto text_of = [&](auto spoil) {
    Labelled l;
    spoil(l.frame);
    EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_ERROR_INPUT);
    return std::string(regions_error());
  };
  using Frame = RegionsFrame&;
  EXPECT_NE(text_of([](Frame f) { f.in.plane[0] = nullptr; }).find("in.plane[0]"),
            std::string::npos);
  EXPECT_NE(text_of([](Frame f) { f.in.format = "YV12"; }).find("YV12"), std::string::npos);
  EXPECT_NE(text_of([](Frame f) { f.in.format = nullptr; }).find("format"), std::string::npos);
  EXPECT_NE(text_of([](Frame f) { f.in.format = "NV12"; }).find("plane 1"), std::string::npos);
  EXPECT_NE(text_of([](Frame f) { f.in.width = 0; }).find("0x37"), std::string::npos);
  EXPECT_NE(text_of([](Frame f) { f.in.height = 65536; }).find("65536"), std::string::npos);
  EXPECT_NE(text_of([](Frame f) { f.in.pitch[0] = 5; }).find("overlap"), std::string::npos);
  EXPECT_NE(text_of([](Frame f) { f.labels.format = "GRAY8"; }).find("U32_LE"), std::string::npos);
  EXPECT_NE(text_of([](Frame f) { f.labels.width = 9; }).find("labels"), std::string::npos);
  EXPECT_NE(text_of([](Frame f) { f.regions = nullptr; }).find("regions"), std::string::npos);
  EXPECT_NE(text_of([](Frame f) { f.out = f.in; }).find("output=none"), std::string::npos);
  EXPECT_NE(text_of([](Frame f) { f.in.memory = REGIONS_MEMORY_CUDA; }).find("CUDA"),
            std::string::npos);
  Labelled l;
  EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK);
  EXPECT_EQ(l.frame.total, 2u);
}

TEST(Library, NamesAndValuesThatAreNot) {
  EXPECT_EQ(regions_open("cclabels", "cpu", 0), nullptr);
  EXPECT_NE(std::string(regions_error()).find("slicsuperpixel"), std::string::npos);
  EXPECT_EQ(regions_open("cclabel", "tpu", 0), nullptr);
  EXPECT_EQ(regions_open("cclabel", "cuda:x", 0), nullptr);
  EXPECT_EQ(regions_open(nullptr, "cpu", 0), nullptr);
  EXPECT_EQ(regions_open("cclabel", "cpu", -1), nullptr);
  const Filter filter = open("cclabel");
  EXPECT_EQ(regions_set(filter.get(), "treshold", "0.5"), REGIONS_ERROR_INPUT);
  EXPECT_EQ(regions_set(filter.get(), "threshold", "2"), REGIONS_ERROR_INPUT);
  EXPECT_EQ(regions_set(filter.get(), "threshold", nullptr), REGIONS_ERROR_INPUT);
  EXPECT_EQ(regions_get(filter.get(), "treshold"), nullptr);
  EXPECT_EQ(regions_set(nullptr, "threshold", "0.5"), REGIONS_ERROR_INPUT);
  EXPECT_EQ(regions_process(filter.get(), nullptr), REGIONS_ERROR_INPUT);
  const Filter cut = open("graphcutbg");
  EXPECT_EQ(regions_set(cut.get(), "background-image", "a.png"), REGIONS_ERROR_INPUT);
  Labelled l;
  EXPECT_EQ(regions_process(cut.get(), &l.frame), REGIONS_ERROR_INPUT);  // it has no labels
}

TEST(Library, EveryAlgorithmRunsOnBothDevicesAlike) {
  const Filter cuda(regions_open("cclabel", "cuda", 0));
  if (!cuda) GTEST_SKIP() << "no CUDA device: " << regions_error();
  const auto run = [](const char* algorithm, const char* output, const char* device) {
    const Filter filter = open(algorithm, device);
    if (*output) {
      EXPECT_EQ(regions_set(filter.get(), "output", output), REGIONS_OK);
    }
    Labelled l;
    std::vector<uint8_t> out(kWidth * kHeight), foreground(kWidth * kHeight);
    const Gives gives = gives_of(algorithm);
    if (!gives.regions) {
      l.frame.labels = {};
      l.frame.capacity = 0;
    }
    if (gives.foreground) l.frame.foreground = picture("GRAY8", foreground);
    if (std::strcmp(output, "none") != 0) l.frame.out = picture("GRAY8", out);
    for (int i = 0; i < 3; ++i) {
      l.in[static_cast<size_t>(i)] = 200;
      EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
    }
    out.insert(out.end(), foreground.begin(), foreground.end());
    const auto* bytes = reinterpret_cast<const uint8_t*>(l.labels.data());
    out.insert(out.end(), bytes, bytes + l.labels.size() * sizeof(uint32_t));
    out.push_back(static_cast<uint8_t>(l.frame.count));
    return out;
  };
  std::vector<std::pair<const char*, const char*>> cases = {
      {"cclabel", "none"}, {"graphcutbg", "none"}, {"slicsuperpixel", "mean"}};
  for (const KnownAlgorithm& known : kAlgorithms) cases.emplace_back(known.name, "");
  for (const auto& [algorithm, output] : cases) {
    EXPECT_EQ(run(algorithm, output, "cuda"), run(algorithm, output, "cpu")) << algorithm;
  }
}

}  // namespace
}  // namespace regions::test
