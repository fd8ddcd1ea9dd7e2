// The element cclabel on volumes of masks that came attached: slots used again, volumes that a
// flush, an error, the end or a frame without picture cuts off.
#include <algorithm>

#include "tests/cclabel/volume_cases.hpp"
#include "tests/cclabel/volume_oracle.hpp"
#include "tests/plugin/masked_frame.hpp"

namespace regions::test {
namespace {

constexpr Size kSize = {37, 19};
constexpr int kDepth = 3;

struct Words {
  size_t bytes;  // a sample
  const char* format;
};
const Words kFormats[] = {{1, "GRAY8"}, {4, "U32_LE"}};

// Masks of a whole volume; each volume has its own.
Volume masks_of(uint32_t seed, int slices = kDepth) {
  Volume volume = make_volume("noise", kSize, kDepth, PixelFormat::gray8, seed);
  for (uint8_t& voxel : volume.voxels) voxel = voxel < 128 ? 0 : 255;
  volume.slices = slices;
  volume.voxels.resize(kSize.area() * static_cast<size_t>(slices));
  return volume;
}

// Pictures are black: whatever is found comes of the masks.
GstBuffer* black(int index) {
  return Harness::buffer(std::vector<uint8_t>(40 * static_cast<size_t>(kSize.height)), index);
}

GstBuffer* mask_of(const Volume& volume, int z, const Words& words) {
  std::vector<uint8_t> bytes;
  const auto* voxel = &volume.voxels[kSize.area() * static_cast<size_t>(z)];
  for (size_t i = 0; i < kSize.area(); ++i) {
    // A label's first byte may be 0.
    bytes.resize(bytes.size() + words.bytes - 1);
    bytes.push_back(voxel[i] ? 7 : 0);
  }
  return Harness::buffer(bytes);
}

GstFlowReturn push(Harness& h, const Volume& volume, int z, int index, const Words& words) {
  return gst_harness_push(h.get(), with_mask(black(index), mask_of(volume, z, words), words.format,
                                             kSize.width, kSize.height));
}

// The frames of the volume leave, with their labels.
void expect_volume(Harness& h, const Volume& volume, int first_index, const std::string& where) {
  CcLabelParams params;
  params.connectivity = Connectivity::twenty_six;
  const Labelling expected = label_volumes_slowly(volume.frame(), volume.slices, params);
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
const std::string kLabels = "video/x-region-labels,format=U32_LE";

TEST(CcLabelMaskVolumes, SlotsServeAgain) {
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

// Volumes of two kinds of masks in the same slot.
TEST(CcLabelMaskVolumes, EachHasItsOwnFormat) {
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

TEST(CcLabelMaskVolumes, AFlushDropsHalfOfOne) {
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
                    "volume " + std::to_string(n) + " behind a flush of " + std::to_string(before));
    }
  }
}

// What comes before the end, or before a frame without a picture, is a volume of fewer slices; the
// next one begins anew.
TEST(CcLabelMaskVolumes, HalvesAreVolumesOfTheirOwn) {
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
      expect_volume(h, whole, index, "volume " + std::to_string(n) + " behind a half");
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

// A frame that does not suit fails; behind a flush the same slot holds a new volume.
TEST(CcLabelMaskVolumes, WhatDoesNotSuitEndsOne) {
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
      expect_volume(h, volume, 10, std::string("behind a mask of ") + c.name);
    }
  }
}

// Frames that a volume still waits with count as dropped.
TEST(CcLabelMaskVolumes, DroppedFramesAreCounted) {
  Harness h(line(2), kLabels);
  h.video("GRAY8", kSize.width, kSize.height);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(push(h, masks_of(1), i, i, kFormats[0]), GST_FLOW_OK);
  h.flush();
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(push(h, masks_of(1), i % kDepth, i, kFormats[0]), GST_FLOW_OK);
  }
  h.eos();
  GstStructure* stats = nullptr;
  g_object_get(h.element(), "stats", &stats, nullptr);
  for (const auto& [name, count] :
       {std::pair{"frames-in", 6u}, {"frames-out", 4u}, {"frames-dropped", 2u}}) {
    guint64 value = 0;
    EXPECT_TRUE(gst_structure_get_uint64(stats, name, &value));
    EXPECT_EQ(value, count) << name;
  }
  gst_structure_free(stats);
}

}  // namespace
}  // namespace regions::test
