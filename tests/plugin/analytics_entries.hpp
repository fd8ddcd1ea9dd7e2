// What GStreamer's analytics metadata says of a small picture's regions, read by GStreamer's own
// library or by one of ours for tests.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "plugin/metadata/standard_metas.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {

using Library = AnalyticsLibrary;
inline constexpr int kWidth = 41, kHeight = 30;  // rows are no multiple of four bytes

// The version whose library must be here; 0: none need be.
inline int promised() {
  const gchar* minor = g_getenv("REGIONS_ANALYTICS");
  return minor ? static_cast<int>(g_ascii_strtoll(minor, nullptr, 10)) : 0;
}

#define NEEDS(library)                                                 \
  const Library* const library = (start_gstreamer(), Library::find()); \
  ASSERT_TRUE(library || promised() < 24);                             \
  if (!library) GTEST_SKIP() << "no analytics library here: it came with GStreamer 1.24"
#define NEEDS_SEGMENTATION(library)                           \
  NEEDS(library);                                             \
  ASSERT_TRUE(library->segmentation_type || promised() < 26); \
  if (!library->segmentation_type) GTEST_SKIP() << "segmentation came with GStreamer 1.26"

// The first with 24 pixels at (3, 2), the second with 50 at (20, 12).
inline std::vector<uint8_t> two_rectangles() {
  std::vector<uint8_t> bytes(kWidth * kHeight, 16);
  for (int y = 2; y < 6; ++y) std::fill_n(&bytes[static_cast<size_t>(y * kWidth + 3)], 6, 200);
  for (int y = 12; y < 17; ++y) std::fill_n(&bytes[static_cast<size_t>(y * kWidth + 20)], 10, 240);
  return bytes;
}

// As caps have it: rows of a multiple of four bytes.
inline std::vector<uint8_t> padded(const std::vector<uint8_t>& picture) {
  constexpr size_t kRow = 44;
  std::vector<uint8_t> bytes(kRow * kHeight);
  for (size_t y = 0; y < kHeight; ++y) std::copy_n(&picture[y * kWidth], kWidth, &bytes[y * kRow]);
  return bytes;
}

// Functions that only tests need.
template <class Function>
Function* in_library(const char* name) {
  void* library = dlopen("libgstanalytics-1.0.so.0", RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

struct Track {
  guint64 id = 0;
  GstClockTime first = 0, last = 0;
};

// Entries of a frame, in order.
class Entries {
 public:
  Entries(const Library& library, GstBuffer* buffer)
      : library_(library), meta_(library.get(buffer)) {
    gpointer state = nullptr;
    AnalyticsEntry entry;
    while (meta_ && library.iterate(meta_, &state, nullptr, &entry)) {
      if (library.type_of(&entry)) all_.push_back(entry);
    }
  }
  size_t count() const { return all_.size(); }
  std::vector<AnalyticsEntry> of(const AnalyticsType* type) const {
    std::vector<AnalyticsEntry> some;
    for (const AnalyticsEntry& e : all_) {
      if (library_.type_of(&e) == type) some.push_back(e);
    }
    return some;
  }
  std::set<std::string> boxes() const {
    static auto* const location =
        in_library<gboolean(const AnalyticsEntry*, gint*, gint*, gint*, gint*, gfloat*)>(
            "gst_analytics_od_mtd_get_location");
    std::set<std::string> result;
    for (const AnalyticsEntry& e : of(library_.detection_type())) {
      gint x = 0, y = 0, w = 0, h = 0;
      gfloat confidence = 0;
      location(&e, &x, &y, &w, &h, &confidence);
      const bool is_ours = library_.detection_object(&e) == g_quark_from_string("region");
      EXPECT_EQ(confidence, is_ours ? 1.0F : 0.5F);
      result.insert(std::string(g_quark_to_string(library_.detection_object(&e))) + " " +
                    std::to_string(x) + " " + std::to_string(y) + " " + std::to_string(w) + " " +
                    std::to_string(h));
    }
    return result;
  }
  std::vector<Track> tracks() const {
    static auto* const info =
        in_library<gboolean(const AnalyticsEntry*, guint64*, GstClockTime*, GstClockTime*,
                            gboolean*)>("gst_analytics_tracking_mtd_get_info");
    std::vector<Track> result;
    for (const AnalyticsEntry& e : of(library_.tracking_type())) {
      Track& track = result.emplace_back();
      gboolean lost = TRUE;
      info(&e, &track.id, &track.first, &track.last, &lost);
      EXPECT_FALSE(lost);
    }
    return result;
  }

 private:
  const Library& library_;
  RelationMeta* meta_;
  std::vector<AnalyticsEntry> all_;
};

inline BufferPtr after(const std::string& line, GstBuffer* in = nullptr) {
  Harness h(line);
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=1/1");
  GstBuffer* frame = in ? in : Harness::buffer(padded(two_rectangles()));
  if (gst_harness_push(h.get(), frame) != GST_FLOW_OK) throw std::runtime_error(h.error_text());
  h.eos();
  BufferPtr out = h.pull();
  if (!out) throw std::runtime_error(line + " gave no frame");
  return out;
}

inline const std::set<std::string> kBoxes = {"region 3 2 6 4", "region 20 12 10 5"};

}  // namespace regions::test
