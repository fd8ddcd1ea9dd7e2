// The element cclabel with depth and thresholds: which frames leave when, and with which slice.
#include <algorithm>

#include "tests/cclabel/oracle.hpp"
#include "tests/cclabel/scenes.hpp"
#include "tests/plugin/masked_frame.hpp"
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

constexpr Size kSize = {37, 19};

std::vector<uint8_t> slice_of(const Volume& volume, int z) {
  const size_t pixels = volume.size.area();
  const auto begin = volume.voxels.begin() + static_cast<ptrdiff_t>(pixels) * z;
  std::vector<uint8_t> rows;  // each row is a multiple of 4 bytes
  for (int y = 0; y < volume.size.height; ++y) {
    const auto row = begin + static_cast<ptrdiff_t>(y) * volume.size.width;
    rows.insert(rows.end(), row, row + volume.size.width);
    rows.resize((rows.size() + 3) / 4 * 4);
  }
  return rows;
}

// The labels of slice z in all layers.
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

// Checks the timestamp, the labels and the regions of one frame of a volume.
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

void expect_stats(Harness& h, guint64 in, guint64 out, guint64 dropped) {
  EXPECT_EQ(stat(h, "frames-in"), in);
  EXPECT_EQ(stat(h, "frames-out"), out);
  EXPECT_EQ(stat(h, "frames-dropped"), dropped);
}

Labelling expected_of(const Volume& volume, Connectivity connectivity,
                      const std::vector<double>& thresholds = {}) {
  CcLabelParams params;
  params.connectivity = connectivity;
  params.thresholds = thresholds;
  return label_slowly(volume.frame(), {}, params, volume.slices);
}

const std::string kLabels = "video/x-region-labels,format=U32_LE";

TEST(CcLabelElement, Volume_Complete_EachFrameHasLabelsAndRegionsOfItsSlice) {
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

TEST(CcLabelElement, Volume_IncompleteAtEos_EachFrameHasLabelsAndRegionsOfItsSlice) {
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

TEST(CcLabelElement, Volume_NewCaps_IncompleteVolumeIsLabelledAndAnotherBegins) {
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

TEST(CcLabelElement, Volume_IncompleteAtFlush_IsDropped) {
  Harness h("cclabel depth=3 connectivity=26 output=labels", kLabels);
  h.video("GRAY8", kSize.width, kSize.height);
  const Volume volume = make_volume("noise", kSize, 3);
  ASSERT_EQ(h.push(slice_of(volume, 2), 0), GST_FLOW_OK);
  h.flush();
  for (int z = 0; z < 3; ++z) ASSERT_EQ(h.push(slice_of(volume, z), 7 + z), GST_FLOW_OK);
  const Labelling expected = expected_of(volume, Connectivity::twenty_six);
  for (int z = 0; z < 3; ++z) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    expect_slice(out.get(), expected, 3, 1, z, 7 + z);
  }
}

// Pictures pass unchanged; the metadata contains their slice of the label map.
TEST(CcLabelElement, Volume_OutputNone_FramesAreUnchangedAndHaveTheLabelMapAttached) {
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

// The label map of each frame is a slice of the mask.
TEST(CcLabelElement, Volume_SourceMaskWithUpstreamLabelMaps_LabelsEqualReference) {
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
  const Labelling expected = label_slowly(volume.frame(), {}, params, 3);
  for (int z = 0; z < 3; ++z) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out) << h.error_text();
    expect_slice(out.get(), expected, 3, 1, z, z);
  }
}

TEST(CcLabelElement, SeveralThresholds_OutputLabels_LayersAreStackedAndInTheCaps) {
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

TEST(CcLabelElement, ContradictingProperties_PostAnError) {
  struct Case {
    const char *line, *caps, *says;
  };
  for (const Case& c : {Case{"depth=4", "GRAY8", "output=overlay"},
                        Case{"depth=4 output=none", "GRAY8", "6, 18 or 26"},
                        Case{"connectivity=26 output=none", "GRAY8", "is for volumes"},
                        Case{"thresholds=<0.1,0.2>", "GRAY8", "output=overlay"},
                        Case{"depth=4 connectivity=6 output=none track=true", "GRAY8", "track"},
                        Case{"depth=4 connectivity=6 output=none", "NV12", "odd height"},
                        Case{"method=propagation device=cpu output=none", "GRAY8", "CUDA only"},
                        Case{"sliding=true output=none", "GRAY8", "depth of at least 2"}}) {
    Harness h("cclabel " + std::string(c.line));
    h.video(c.caps, 16, 9);
    h.push(std::vector<uint8_t>(16 * 32), 0);
    EXPECT_NE(h.error_text().find(c.says), std::string::npos) << c.line;
  }
}

constexpr int kDepth = 3;

struct Words {
  size_t bytes;  // a sample
  const char* format;
};
const Words kFormats[] = {{1, "GRAY8"}, {4, "U32_LE"}};

// The masks of one volume. Each seed gives other masks.
Volume masks_of(uint32_t seed, int slices = kDepth) {
  Volume volume = make_volume("noise", kSize, kDepth, PixelFormat::gray8, seed);
  for (uint8_t& voxel : volume.voxels) voxel = voxel < 128 ? 0 : 255;
  volume.slices = slices;
  volume.voxels.resize(kSize.area() * static_cast<size_t>(slices));
  return volume;
}

// A black picture, so that all regions are from the masks.
GstBuffer* black(int index) {
  return Harness::buffer(std::vector<uint8_t>(40 * static_cast<size_t>(kSize.height)), index);
}

GstBuffer* mask_of(const Volume& volume, int z, const Words& words) {
  std::vector<uint8_t> bytes;
  const auto* voxel = &volume.voxels[kSize.area() * static_cast<size_t>(z)];
  for (size_t i = 0; i < kSize.area(); ++i) {
    // The lowest bytes of a label are 0.
    bytes.resize(bytes.size() + words.bytes - 1);
    bytes.push_back(voxel[i] ? 7 : 0);
  }
  return Harness::buffer(bytes);
}

GstFlowReturn push(Harness& h, const Volume& volume, int z, int index, const Words& words) {
  return gst_harness_push(h.get(), with_mask(black(index), mask_of(volume, z, words), words.format,
                                             kSize.width, kSize.height));
}

// Pulls all frames of the volume and checks their labels.
void expect_volume(Harness& h, const Volume& volume, int first_index, const std::string& where) {
  CcLabelParams params;
  params.connectivity = Connectivity::twenty_six;
  const Labelling expected = label_slowly(volume.frame(), {}, params, volume.slices);
  for (int z = 0; z < volume.slices; ++z) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out) << where << ": " << h.error_text();
    EXPECT_EQ(GST_BUFFER_PTS(out.get()),
              static_cast<GstClockTime>(first_index + z) * 40 * GST_MSECOND)
        << where;
    const std::vector<uint8_t> bytes = bytes_of(out.get());
    std::vector<uint32_t> labels(kSize.area());
    ASSERT_EQ(bytes.size(), labels.size() * 4);
    std::memcpy(labels.data(), bytes.data(), bytes.size());
    const auto begin = expected.labels.begin() + static_cast<ptrdiff_t>(kSize.area()) * z;
    EXPECT_TRUE(std::equal(labels.begin(), labels.end(), begin)) << where << ", slice " << z;
  }
}

std::string line(int slots) {
  return "cclabel source=mask depth=3 connectivity=26 output=labels device=cpu frames-in-flight=" +
         std::to_string(slots);
}

TEST(CcLabelElement, VolumesOfSourceMasks_MoreVolumesThanSlots_LabelsOfEachEqualReference) {
  for (const Words& words : kFormats) {
    for (const int slots : {1, 2}) {
      Harness h(line(slots), kLabels);
      h.video("GRAY8", kSize.width, kSize.height);
      for (int n = 0; n < 5; ++n) {
        const Volume volume = masks_of(static_cast<uint32_t>(n));
        for (int z = 0; z < kDepth; ++z) {
          ASSERT_EQ(push(h, volume, z, n * kDepth + z, words), GST_FLOW_OK) << h.error_text();
        }
        expect_volume(h, volume, n * kDepth,
                      "volume " + std::to_string(n) + " of " + words.format + " in " +
                          std::to_string(slots) + " slots");
      }
    }
  }
}

// Volumes with two mask formats in the same slot.
TEST(CcLabelElement, VolumesOfSourceMasks_MaskFormatChanges_LabelsOfEachEqualReference) {
  Harness h(line(1), kLabels);
  h.video("GRAY8", kSize.width, kSize.height);
  for (int n = 0; n < 4; ++n) {
    const Volume volume = masks_of(static_cast<uint32_t>(n));
    for (int z = 0; z < kDepth; ++z) {
      ASSERT_EQ(push(h, volume, z, n * kDepth + z, kFormats[n % 2]), GST_FLOW_OK);
    }
    expect_volume(h, volume, n * kDepth, "volume " + std::to_string(n));
  }
}

TEST(CcLabelElement, VolumesOfSourceMasks_AfterFlush_LabelsOfEachEqualReference) {
  for (const int before : {1, 2, 4}) {
    Harness h(line(2), kLabels);
    h.video("GRAY8", kSize.width, kSize.height);
    for (int i = 0; i < before; ++i) {
      ASSERT_EQ(push(h, masks_of(9), i % kDepth, i, kFormats[1]), GST_FLOW_OK);
    }
    h.flush();
    while (h.waiting() > 0) h.pull();
    for (int n = 0; n < 3; ++n) {
      const Volume volume = masks_of(static_cast<uint32_t>(n));
      for (int z = 0; z < kDepth; ++z) {
        ASSERT_EQ(push(h, volume, z, 10 + n * kDepth + z, kFormats[0]), GST_FLOW_OK);
      }
      expect_volume(h, volume, 10 + n * kDepth,
                    "volume " + std::to_string(n) + " after a flush of " + std::to_string(before));
    }
  }
}

// EOS and a frame without picture complete the volume with fewer slices.
TEST(CcLabelElement, VolumesOfSourceMasks_EndedEarlyByGapOrEos_LabelsEqualReference) {
  for (const int slices : {1, 2}) {
    Harness h(line(1), kLabels);
    h.video("GRAY8", kSize.width, kSize.height);
    int index = 0;
    for (uint32_t n = 0; n < 3; ++n) {
      const Volume half = masks_of(n, slices), whole = masks_of(n + 5);
      const int first = index;
      for (int z = 0; z < slices; ++z) {
        ASSERT_EQ(push(h, half, z, index++, kFormats[n % 2]), GST_FLOW_OK);
      }
      GstBuffer* gap = gst_buffer_new();
      GST_BUFFER_PTS(gap) = static_cast<GstClockTime>(index++) * 40 * GST_MSECOND;
      GST_BUFFER_FLAG_SET(gap, GST_BUFFER_FLAG_GAP);
      ASSERT_EQ(gst_harness_push(h.get(), gap), GST_FLOW_OK);
      expect_volume(h, half, first, "half " + std::to_string(n));
      ASSERT_TRUE(h.pull());
      for (int z = 0; z < kDepth; ++z) {
        ASSERT_EQ(push(h, whole, z, index + z, kFormats[0]), GST_FLOW_OK);
      }
      expect_volume(h, whole, index, "volume " + std::to_string(n) + " after an incomplete volume");
      index += kDepth;
    }
    const Volume last = masks_of(77, slices);
    for (int z = 0; z < slices; ++z) {
      ASSERT_EQ(push(h, last, z, index + z, kFormats[1]), GST_FLOW_OK);
    }
    h.eos();
    expect_volume(h, last, index, "the last half");
    EXPECT_EQ(h.waiting(), 0u);
  }
}

// An unsuitable mask is an error. After a flush, the same slot labels a new volume.
TEST(CcLabelElement,
     VolumesOfSourceMasks_InvalidMask_PostsAnErrorAndTheVolumeAfterFlushIsLabelled) {
  struct Case {
    const char* name;
    GstBuffer* (*frame)();
    const char* says;
  };
  const Case cases[] = {
      {"none", [] { return black(2); }, "without a mask"},
      {"another format",
       [] {
         return with_mask(black(2), mask_of(masks_of(3), 0, kFormats[0]), "GRAY8", kSize.width,
                          kSize.height);
       },
       "must have the same format"},
      {"another size",
       [] {
         return with_mask(black(2), mask_of(masks_of(3), 0, kFormats[1]), "U32_LE", kSize.width,
                          kSize.height - 1);
       },
       "must have the size of the frame"},
      {"too few bytes",
       [] {
         return with_mask(black(2), Harness::buffer(std::vector<uint8_t>(kSize.area() * 4 - 1)),
                          "U32_LE", kSize.width, kSize.height);
       },
       "label map must have one channel"},
  };
  for (const Case& c : cases) {
    Harness h(line(1), kLabels);
    h.video("GRAY8", kSize.width, kSize.height);
    for (int time = 0; time < 2; ++time) {
      for (int z = 0; z < 2; ++z) {
        ASSERT_EQ(push(h, masks_of(4), z, z, kFormats[1]), GST_FLOW_OK) << c.name;
      }
      EXPECT_EQ(gst_harness_push(h.get(), c.frame()), GST_FLOW_ERROR) << c.name;
      EXPECT_NE(h.error_text().find(c.says), std::string::npos) << c.name;
      h.flush();
      const Volume volume = masks_of(5);
      for (int z = 0; z < kDepth; ++z) {
        ASSERT_EQ(push(h, volume, z, 10 + z, kFormats[time]), GST_FLOW_OK) << c.name;
      }
      expect_volume(h, volume, 10, std::string("after a mask of ") + c.name);
    }
    expect_stats(h, 2 * (2 + kDepth), 2 * kDepth, 2 * 2);
  }
}

// A flush drops the frames of an incomplete volume.
TEST(CcLabelElement, Stats_FlushOfAnIncompleteVolume_CountItsFramesAsDropped) {
  Harness h(line(2), kLabels);
  h.video("GRAY8", kSize.width, kSize.height);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(push(h, masks_of(1), i, i, kFormats[0]), GST_FLOW_OK);
  h.flush();
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(push(h, masks_of(1), i % kDepth, i, kFormats[0]), GST_FLOW_OK);
  }
  h.eos();
  expect_stats(h, 6, 4, 2);
}

}  // namespace
}  // namespace regions::test
