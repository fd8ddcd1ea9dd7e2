// Small pictures of a bright square that moves, and what elements say of a stream of them.
#pragma once

#include "tests/plugin/harness.hpp"

namespace regions::test {

inline constexpr int kWidth = 64, kHeight = 48;

inline std::vector<uint8_t> gray_with_square(int index = 0) {
  std::vector<uint8_t> bytes(kWidth * kHeight, 10);
  for (int y = 8; y < 24; ++y) {
    for (int x = 8; x < 28; ++x) {
      bytes[static_cast<size_t>(y * kWidth + x + index % 16)] = 200;
    }
  }
  return bytes;
}

// A number of the element's `stats`.
inline guint64 stat(Harness& h, const char* name) {
  GstStructure* stats = nullptr;
  g_object_get(h.element(), "stats", &stats, nullptr);
  guint64 value = G_MAXUINT64;
  EXPECT_TRUE(gst_structure_get_uint64(stats, name, &value)) << name;
  gst_structure_free(stats);
  return value;
}

}  // namespace regions::test
