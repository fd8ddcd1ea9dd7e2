// The element cclabel with attach-runs: what the metadata says of every frame's pixels.
#include <algorithm>
#include <utility>

#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 40, kHeight = 30;

// A frame of noise whose value 255 has the given share of 16.
std::vector<uint8_t> noise(uint32_t seed, uint32_t share) {
  std::vector<uint8_t> bytes(kWidth * kHeight);
  uint32_t state = seed * 2654435761u + 12345;
  for (uint8_t& value : bytes) {
    state = state * 1664525u + 1013904223u;
    value = (state >> 24 & 15) < share ? 255 : 0;
  }
  return bytes;
}

std::vector<uint32_t> words_in(const GstStructure* s, const char* name) {
  const GValue* value = gst_structure_get_value(s, name);
  if (!value) return {};
  const std::vector<uint8_t> bytes = bytes_of(gst_value_get_buffer(value));
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

bool truncated(const GstStructure* s) {
  gboolean value = FALSE;
  EXPECT_TRUE(gst_structure_get_boolean(s, "runs-truncated", &value));
  return value;
}

// Paints what the runs say, of `layers` pictures one below another.
std::vector<uint32_t> painted(const GstStructure* s, int layers = 1) {
  std::vector<uint32_t> map(static_cast<size_t>(kWidth * kHeight * layers));
  const std::vector<uint32_t> runs = words_in(s, "runs");
  for (size_t i = 0; i + 3 < runs.size(); i += 4) {
    guint layer = 0;
    if (layers > 1) {
      for (guint k = 0; k < region_count(s); ++k) {
        if (region_field(s, k, "id") != std::to_string(runs[i])) continue;
        layer = static_cast<guint>(std::stoul(region_field(s, k, "layer")));
      }
    }
    for (uint32_t x = 0; x < runs[i + 3]; ++x) {
      map[(layer * kHeight + runs[i + 2]) * kWidth + runs[i + 1] + x] = runs[i];
    }
  }
  return map;
}

TEST(CcLabelRunsElement, TheyPaintTheLabelMap) {
  for (const char* more :
       {"", " connectivity=4 min-area=3", " criterion=equal", " track=true",
        " left=3 top=5 width=30 height=20", " process-scale=0.4 left=2 width=31"}) {
    Harness h(std::string("cclabel device=cpu output=none attach-runs=true") + more);
    h.video("GRAY8", kWidth, kHeight);
    for (uint32_t frame = 0; frame < 3; ++frame) {
      ASSERT_EQ(h.push(noise(frame, 6), static_cast<int>(frame)), GST_FLOW_OK);
      const BufferPtr out = h.pull();
      const GstStructure* s = regions_of(out.get());
      EXPECT_FALSE(truncated(s));
      EXPECT_FALSE(words_in(s, "runs").empty());
      EXPECT_EQ(painted(s), words_in(s, "labels")) << more;
    }
  }
}

TEST(CcLabelRunsElement, FramesOfVolumesTellOfTheirOwnPixels) {
  for (const auto& [more, layers] :
       {std::pair("connectivity=26", 1), std::pair("connectivity=6 thresholds=<0.5,0.9>", 2)}) {
    Harness h(std::string("cclabel device=cpu depth=3 output=none attach-runs=true ") + more);
    h.video("GRAY8", kWidth, kHeight);
    for (int z = 0; z < 3; ++z) {
      ASSERT_EQ(h.push(noise(static_cast<uint32_t>(z), 4), z), GST_FLOW_OK);
    }
    for (int z = 0; z < 3; ++z) {
      const BufferPtr out = h.pull();
      const GstStructure* s = regions_of(out.get());
      EXPECT_EQ(painted(s, layers), words_in(s, "labels")) << more;
    }
  }
}

TEST(CcLabelRunsElement, MoreThanMaxRunsIsSaid) {
  Harness h("cclabel device=cpu output=none attach-runs=true max-runs=7");
  h.video("GRAY8", kWidth, kHeight);
  h.push(noise(1, 6));
  const BufferPtr out = h.pull();
  EXPECT_TRUE(truncated(regions_of(out.get())));
  const std::vector<uint32_t> labels = words_in(regions_of(out.get()), "labels");
  std::vector<uint32_t> first = painted(regions_of(out.get()));
  EXPECT_EQ(words_in(regions_of(out.get()), "runs").size(), 28u);
  size_t last = first.size();
  while (last > 0 && first[last - 1] == 0) --last;
  EXPECT_TRUE(
      std::equal(first.begin(), first.begin() + static_cast<ptrdiff_t>(last), labels.begin()));
}

TEST(CcLabelRunsElement, OnRequestOnly) {
  Harness h("cclabel device=cpu output=none");
  h.video("GRAY8", kWidth, kHeight);
  h.push(noise(1, 6));
  EXPECT_FALSE(gst_structure_has_field(regions_of(h.pull().get()), "runs"));
}

}  // namespace
}  // namespace regions::test
