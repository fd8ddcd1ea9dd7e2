// Small pictures: a bright square that moves, dots; and the numbers that an element counts.
#pragma once

#include "tests/plugin/harness.hpp"

namespace regions::test {

inline constexpr int kWidth = 64, kHeight = 48;

// A 20×16 square at (8 + index mod 16, 8).
inline std::vector<uint8_t> gray_with_square(int index = 0) {
  std::vector<uint8_t> bytes(kWidth * kHeight, 10);
  for (int y = 8; y < 24; ++y) {
    for (int x = 8; x < 28; ++x) {
      bytes[static_cast<size_t>(y * kWidth + x + index % 16)] = 200;
    }
  }
  return bytes;
}

// 768 regions of one pixel.
inline std::vector<uint8_t> dots() {
  std::vector<uint8_t> bytes(kWidth * kHeight);
  for (size_t y = 0; y < kHeight; y += 2) {
    for (size_t x = 0; x < kWidth; x += 2) bytes[y * kWidth + x] = 255;
  }
  return bytes;
}

// A harness with the input caps of the pictures above.
struct GrayHarness : Harness {
  explicit GrayHarness(const std::string& line, const std::string& sink_caps = "")
      : Harness(line, sink_caps) {
    video("GRAY8", kWidth, kHeight);
  }
};

// A number of the element's `stats`.
inline guint64 stat(Harness& h, const char* name) {
  GstStructure* stats = nullptr;
  g_object_get(h.element(), "stats", &stats, nullptr);
  guint64 value = G_MAXUINT64;
  EXPECT_TRUE(gst_structure_get_uint64(stats, name, &value)) << name;
  gst_structure_free(stats);
  return value;
}

// The track of a frame's only region; "none" if it has no or several regions.
inline std::string track_on(const BufferPtr& frame) {
  const GstStructure* regions = frame ? regions_of(frame.get()) : nullptr;
  return regions && region_count(regions) == 1 ? region_field(regions, 0, "track") : "none";
}

// The fault injection of this process from now on, like the variable REGIONS_FAULTS.
class Fault {
 public:
  explicit Fault(const std::string& fault) { g_setenv("REGIONS_FAULTS", fault.c_str(), TRUE); }
  ~Fault() { g_unsetenv("REGIONS_FAULTS"); }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
};

}  // namespace regions::test
