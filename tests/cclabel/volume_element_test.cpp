// The element cclabel with depth and with thresholds: which frames leave when, with which slice.
#include "tests/cclabel/volume_cases.hpp"
#include "tests/cclabel/volume_oracle.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr Size kSize = {37, 19};

std::vector<uint8_t> slice_of(const Volume& volume, int z) {
  const size_t pixels = volume.size.area();
  const auto begin = volume.voxels.begin() + static_cast<ptrdiff_t>(pixels) * z;
  std::vector<uint8_t> rows;  // GStreamer's rows are multiples of 4 bytes
  for (int y = 0; y < volume.size.height; ++y) {
    const auto row = begin + static_cast<ptrdiff_t>(y) * volume.size.width;
    rows.insert(rows.end(), row, row + volume.size.width);
    rows.resize((rows.size() + 3) / 4 * 4);
  }
  return rows;
}

// What label_volumes_slowly says of slice z, all layers.
std::vector<uint32_t> labels_of(const Labelling& labelling, int slices, int layers, int z) {
  std::vector<uint32_t> labels;
  const size_t pixels = kSize.area();
  for (int layer = 0; layer < layers; ++layer) {
    const size_t k = static_cast<size_t>(layer * slices + z) * pixels;
    for (size_t i = 0; i < pixels; ++i) labels.push_back(labelling.labels[k + i]);
  }
  return labels;
}

std::vector<uint32_t> words_of(GstBuffer* buffer) {
  const std::vector<uint8_t> bytes = bytes_of(buffer);
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

int number(const GstStructure* s, const char* name) {
  gint value = -1;
  gst_structure_get_int(s, name, &value);
  return value;
}

// A frame of a volume: its time, its labels, and of its regions those that cross it.
void expect_slice(GstBuffer* out, const Labelling& expected, int slices, int layers, int z,
                  int index) {
  SCOPED_TRACE("slice " + std::to_string(z) + " of " + std::to_string(slices));
  EXPECT_EQ(GST_BUFFER_PTS(out), static_cast<GstClockTime>(index) * 40 * GST_MSECOND);
  EXPECT_EQ(words_of(out), labels_of(expected, slices, layers, z));
  const GstStructure* regions = regions_of(out);
  ASSERT_TRUE(regions);
  EXPECT_EQ(number(regions, "slice"), z);
  EXPECT_EQ(number(regions, "slices"), slices);
  guint total = 0;
  gst_structure_get_uint(regions, "regions-total", &total);
  EXPECT_EQ(total, expected.regions.size());
  guint k = 0;
  for (const Region& r : expected.regions) {
    if (r.front > z || r.back < z) continue;
    ASSERT_LT(k, region_count(regions));
    EXPECT_EQ(region_field(regions, k, "id"), std::to_string(r.id));
    EXPECT_EQ(region_field(regions, k, "z"), std::to_string(r.front));
    EXPECT_EQ(region_field(regions, k, "depth"), std::to_string(r.back - r.front + 1));
    EXPECT_EQ(region_field(regions, k, "y"), std::to_string(r.top));
    EXPECT_EQ(region_field(regions, k, "area"), std::to_string(r.area));
    EXPECT_EQ(region_field(regions, k, "layer"), std::to_string(r.layer));
    EXPECT_EQ(region_field(regions, k, "first-z"), std::to_string(r.first_z));
    EXPECT_NEAR(g_ascii_strtod(region_field(regions, k, "cz").c_str(), nullptr), r.centroid_z(),
                1e-9);
    ++k;
  }
  EXPECT_EQ(k, region_count(regions));
}

Labelling expected_of(const Volume& volume, Connectivity connectivity,
                      const std::vector<double>& thresholds = {}) {
  CcLabelParams params;
  params.connectivity = connectivity;
  params.thresholds = thresholds;
  return label_volumes_slowly(volume.frame(), volume.slices, params);
}

const std::string kLabels = "video/x-region-labels,format=U32_LE";

TEST(CcLabelDepth, EveryFrameLeavesWithItsSlice) {
  Harness h("cclabel depth=5 connectivity=26 output=labels", kLabels);
  h.video("GRAY8", kSize.width, kSize.height);
  for (uint32_t seed = 0; seed < 6; ++seed) {
    const Volume volume = make_volume("noise", kSize, 5, PixelFormat::gray8, seed);
    const auto first = static_cast<int>(seed) * 5;
    for (int z = 0; z < 5; ++z) ASSERT_EQ(h.push(slice_of(volume, z), first + z), GST_FLOW_OK);
    const Labelling expected = expected_of(volume, Connectivity::twenty_six);
    for (int z = 0; z < 5; ++z) {
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out);
      expect_slice(out.get(), expected, 5, 1, z, first + z);
    }
  }
}

TEST(CcLabelDepth, TheEndLabelsWhatIsThere) {
  for (const int frames : {1, 3, 8}) {
    Harness h("cclabel depth=5 connectivity=6 output=labels", kLabels);
    h.video("GRAY8", kSize.width, kSize.height);
    const Volume volume = make_volume("noise", kSize, 8);
    for (int z = 0; z < frames; ++z) ASSERT_EQ(h.push(slice_of(volume, z), z), GST_FLOW_OK);
    h.eos();
    for (int begin = 0; begin < frames; begin += 5) {
      const int slices = std::min(5, frames - begin);
      Volume part = volume;
      const auto pixels = static_cast<ptrdiff_t>(kSize.area());
      part.slices = slices;
      part.voxels.assign(volume.voxels.begin() + pixels * begin,
                         volume.voxels.begin() + pixels * (begin + slices));
      const Labelling expected = expected_of(part, Connectivity::six);
      for (int z = 0; z < slices; ++z) {
        const BufferPtr out = h.pull();
        ASSERT_TRUE(out);
        expect_slice(out.get(), expected, slices, 1, z, begin + z);
      }
    }
    EXPECT_EQ(h.waiting(), 0u);
  }
}

TEST(CcLabelDepth, NewCapsEndAVolumeAndTagsDoNot) {
  Harness h("cclabel depth=4 connectivity=18 output=labels", kLabels);
  h.video("GRAY8", kSize.width, kSize.height);
  const Volume volume = make_volume("noise", kSize, 4);
  for (int z = 0; z < 4; ++z) {
    if (z == 2) gst_harness_push_event(h.get(), gst_event_new_tag(gst_tag_list_new_empty()));
    ASSERT_EQ(h.push(slice_of(volume, z), z), GST_FLOW_OK);
  }
  const Labelling expected = expected_of(volume, Connectivity::eighteen);
  for (int z = 0; z < 4; ++z) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    expect_slice(out.get(), expected, 4, 1, z, z);
  }
  ASSERT_EQ(h.push(slice_of(volume, 0), 4), GST_FLOW_OK);
  EXPECT_EQ(h.waiting(), 0u);
  h.video("GRAY8", 20, 8);
  const BufferPtr alone = h.pull();
  ASSERT_TRUE(alone);
  Volume first = volume;
  first.slices = 1;
  first.voxels.resize(kSize.area());
  expect_slice(alone.get(), expected_of(first, Connectivity::eighteen), 1, 1, 0, 4);
  const Volume small = make_volume("noise", {20, 8}, 4);
  for (int z = 0; z < 4; ++z) ASSERT_EQ(h.push(slice_of(small, z), 5 + z), GST_FLOW_OK);
  for (int z = 0; z < 4; ++z) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    EXPECT_EQ(number(regions_of(out.get()), "slices"), 4);
    EXPECT_EQ(bytes_of(out.get()).size(), 20u * 8 * 4);
  }
}

TEST(CcLabelDepth, AFlushDropsAPartFilledVolume) {
  Harness h("cclabel depth=3 connectivity=26 output=labels", kLabels);
  h.video("GRAY8", kSize.width, kSize.height);
  const Volume volume = make_volume("noise", kSize, 3);
  ASSERT_EQ(h.push(slice_of(volume, 2), 0), GST_FLOW_OK);
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  for (int z = 0; z < 3; ++z) ASSERT_EQ(h.push(slice_of(volume, z), 7 + z), GST_FLOW_OK);
  const Labelling expected = expected_of(volume, Connectivity::twenty_six);
  for (int z = 0; z < 3; ++z) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    expect_slice(out.get(), expected, 3, 1, z, 7 + z);
  }
}

// The picture passes untouched, its slice of the label map in its metadata.
TEST(CcLabelDepth, UntouchedPicturesCarryTheirMaps) {
  Harness h("cclabel depth=3 connectivity=26 output=none thresholds=<0.3,0.7>");
  h.video("GRAY8", kSize.width, kSize.height);
  const Volume volume = make_volume("clouds", kSize, 3);
  for (int z = 0; z < 3; ++z) ASSERT_EQ(h.push(slice_of(volume, z), z), GST_FLOW_OK);
  const Labelling expected = expected_of(volume, Connectivity::twenty_six, {0.3, 0.7});
  for (int z = 0; z < 3; ++z) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    EXPECT_EQ(bytes_of(out.get()), slice_of(volume, z));
    const GstStructure* regions = regions_of(out.get());
    EXPECT_EQ(number(regions, "layers"), 2);
    GstBuffer* map = gst_value_get_buffer(gst_structure_get_value(regions, "labels"));
    ASSERT_TRUE(map);
    EXPECT_EQ(words_of(map), labels_of(expected, 3, 2, z));
  }
}

// Each frame's own label map, whatever lies in it, is a slice of the mask.
TEST(CcLabelDepth, LabelMapsFromUpstreamAreMasks) {
  Harness h(
      "cclabel name=first output=none ! "
      "cclabel name=cclabel source=mask depth=3 connectivity=26 output=labels fill-holes=5",
      kLabels);
  h.video("GRAY8", kSize.width, kSize.height);
  const Volume volume = make_volume("noise", kSize, 3);
  for (int z = 0; z < 3; ++z) ASSERT_EQ(h.push(slice_of(volume, z), z), GST_FLOW_OK);
  CcLabelParams params;
  params.connectivity = Connectivity::twenty_six;
  params.fill_holes = 5;
  const Labelling expected = label_volumes_slowly(volume.frame(), 3, params);
  for (int z = 0; z < 3; ++z) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out) << h.error_text();
    expect_slice(out.get(), expected, 3, 1, z, z);
  }
}

TEST(CcLabelDepth, AFrameWithoutAMaskIsAnError) {
  Harness h("cclabel source=mask depth=3 connectivity=26 output=none");
  h.video("GRAY8", kSize.width, kSize.height);
  h.push(slice_of(make_volume("noise", kSize, 1), 0), 0);
  EXPECT_NE(h.error_text().find("without a mask"), std::string::npos);
}

TEST(CcLabelThresholds, LayersAreStackedAndNamedInCaps) {
  for (const int depth : {1, 2}) {
    Harness h("cclabel output=labels thresholds=<0.8,0.2,0.5> depth=" + std::to_string(depth) +
                  " connectivity=" + (depth > 1 ? "26" : "8"),
              kLabels);
    h.video("GRAY8", kSize.width, kSize.height);
    const Volume volume = make_volume("noise", kSize, depth);
    for (int z = 0; z < depth; ++z) ASSERT_EQ(h.push(slice_of(volume, z), z), GST_FLOW_OK);
    const Labelling expected = expected_of(
        volume, depth > 1 ? Connectivity::twenty_six : Connectivity::eight, {0.8, 0.2, 0.5});
    for (int z = 0; z < depth; ++z) {
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out);
      EXPECT_EQ(words_of(out.get()), labels_of(expected, depth, 3, z));
      EXPECT_EQ(region_field(regions_of(out.get()), 0, "layer"), "0");
    }
    GstCaps* caps = gst_pad_get_current_caps(h.get()->sinkpad);
    const GstStructure* s = gst_caps_get_structure(caps, 0);
    EXPECT_EQ(number(s, "layers"), 3);
    EXPECT_EQ(number(s, "height"), 3 * kSize.height);
    gst_caps_unref(caps);
  }
}

TEST(CcLabelDepth, WhatDoesNotGoTogetherIsAnError) {
  struct Case {
    const char *line, *caps, *says;
  };
  for (const Case& c : {Case{"depth=4", "GRAY8", "output=overlay"},
                        Case{"depth=4 output=none", "GRAY8", "6, 18 or 26"},
                        Case{"connectivity=26 output=none", "GRAY8", "is for volumes"},
                        Case{"thresholds=<0.1,0.2>", "GRAY8", "output=overlay"},
                        Case{"depth=4 connectivity=6 output=none track=true", "GRAY8", "track"},
                        Case{"depth=4 connectivity=6 output=none", "NV12", "odd height"},
                        Case{"method=propagation device=cpu output=none", "GRAY8", "CUDA only"}}) {
    Harness h("cclabel " + std::string(c.line));
    h.video(c.caps, 16, 9);
    h.push(std::vector<uint8_t>(16 * 32), 0);
    EXPECT_NE(h.error_text().find(c.says), std::string::npos) << c.line;
  }
}

TEST(CcLabelDepth, MoreThanMemoryHoldsIsAnError) {
  Harness voxels("cclabel depth=65535 connectivity=26 output=labels", kLabels);
  voxels.video("GRAY8", 640, 480);
  voxels.push(std::vector<uint8_t>(640 * 480), 0);
  EXPECT_NE(voxels.error_text().find("more voxels than labels"), std::string::npos);
}

}  // namespace
}  // namespace regions::test
