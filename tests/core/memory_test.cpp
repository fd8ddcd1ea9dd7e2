// How memory is cut into parts: each has what it needs, none overlaps another, nothing is wasted.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "core/drawing/drawing.hpp"
#include "core/drawing/stamp.hpp"
#include "core/frame.hpp"
#include "core/region_records.hpp"
#include "core/tracking/tracking.hpp"
#include "cpu/backend.hpp"

namespace regions {
namespace {

struct Part {
  const char* name;
  const void* at;
  size_t bytes;
};

size_t rounded_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// Parts in any order, each taking a multiple of `alignment`, fill `bytes` from `start` on.
void expect_filled(const std::byte* start, size_t bytes, size_t alignment,
                   std::vector<Part> parts) {
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.at < b.at; });
  const std::byte* next = start;
  for (const Part& part : parts) {
    EXPECT_EQ(part.at, next) << part.name;
    next += rounded_up(part.bytes, alignment);
  }
  EXPECT_EQ(next, start + bytes);
}

constexpr Size kSizes[] = {{1, 1}, {31, 15}, {32, 16}, {33, 65}, {64, 64}, {1025, 129}, {2048, 3}};

TEST(Memory, OfTracking) {
  for (const Size size : kSizes) {
    for (const uint32_t regions : {1u, 63u, 64u, 1000u, 65535u}) {
      const size_t bytes = tracking_bytes(size, regions);
      const auto memory = std::make_unique<std::byte[]>(bytes);
      const TrackMemory m = tracking_in(memory.get(), size, regions);
      const size_t n = regions, free = 1024;
      EXPECT_EQ(m.capacity, regions);
      EXPECT_EQ(m.pairs.max_pairs, 4 * regions);
      EXPECT_TRUE(std::has_single_bit(m.pairs.slots));
      EXPECT_GE(m.pairs.slots, 2 * m.pairs.max_pairs);
      EXPECT_LT(m.pairs.slots, 4 * m.pairs.max_pairs);
      EXPECT_EQ(m.labels.width, size.width);
      EXPECT_EQ(m.labels.height, size.height);
      EXPECT_GE(m.labels.pitch, 2 * size.width);
      EXPECT_LT(m.labels.pitch, 2 * size.width + 256);
      EXPECT_EQ(m.labels.pitch % 256, 0);
      const auto pitch = static_cast<size_t>(m.labels.pitch);
      const std::vector<Part> past = {
          {"counts_before", m.counts_before, sizeof(TrackCounts)},
          {"report", m.report, sizeof(TrackEvents)},
          {"used_count", m.pairs.used_count, 4},
          {"key", m.pairs.key, m.pairs.slots * size_t{4}},
          {"count", m.pairs.count, m.pairs.slots * size_t{4}},
          {"labels", m.labels.data, pitch * static_cast<size_t>(size.height)},
          {"best_of_region", m.best_of_region, n * 8},
          {"best_of_track", m.best_of_track, 2 * n * 8},
          {"track_of", m.track_of, n * 4},
          {"joins", m.tracks_inside, n * 4},
          {"region_of", m.region_of, 2 * n * 4},
          {"claims", m.claims, 2 * n * 4},
          {"counts", m.counts, sizeof(TrackCounts)}};
      std::vector<Part> parts = {{"used", m.pairs.used, m.pairs.max_pairs * size_t{4}},
                                 {"visible 0", m.visible[0], n * sizeof(Track)},
                                 {"visible 1", m.visible[1], n * sizeof(Track)},
                                 {"lost 0", m.lost[0], n * sizeof(Track)},
                                 {"lost 1", m.lost[1], n * sizeof(Track)},
                                 {"origin", m.origin, n * 4},
                                 {"kept", m.lost_indices, n * 4},
                                 {"part", m.occluded, n * 4},
                                 {"part_rank", m.occluded_rank, n * 4},
                                 {"part_record", m.occluded_record, n * sizeof(Region)},
                                 {"outermost", m.outermost[0], n * 8},
                                 {"outermost", m.outermost[1], n * 8},
                                 {"outermost", m.outermost[2], n * 8},
                                 {"outermost", m.outermost[3], n * 8},
                                 {"heir", m.destination, 2 * n * 4},
                                 {"row", m.row, free * 4},
                                 {"column", m.column, free * 4},
                                 {"row_summary", m.row_summary, free * sizeof(TrackSummary)},
                                 {"column_summary", m.column_summary, free * sizeof(TrackSummary)},
                                 {"best_of_row", m.best_of_row, free * 8},
                                 {"best_of_column", m.best_of_column, free * 8}};
      // What forgetting clears comes first, and at its end the last id, which may go on.
      const auto* last = reinterpret_cast<const std::byte*>(&m.counts->last_id);
      EXPECT_EQ(tracking_reset_bytes(size, regions, IdNumbering::continued),
                static_cast<size_t>(last - memory.get()));
      EXPECT_EQ(tracking_reset_bytes(size, regions, IdNumbering::restarted),
                static_cast<size_t>(last + 4 - memory.get()));
      for (const Part& part : past) EXPECT_LE(part.at, m.counts) << part.name;
      parts.insert(parts.end(), past.begin(), past.end());
      expect_filled(memory.get(), bytes, 256, parts);
    }
  }
}

TEST(Memory, OfDrawing) {
  for (const Size size : kSizes) {
    const size_t bytes = ink_bytes(size);
    const auto memory = std::make_unique<std::byte[]>(bytes);
    const Ink ink = ink_in(memory.get(), size);
    const auto up = [](int n, int step) { return (n + step - 1) / step; };
    const int nodes = 128 * up(size.height, 64);
    struct Wanted {
      const char* name;
      Image<uint32_t> image;
      int width, height;
    };
    std::vector<Part> parts;
    for (const auto& [name, image, width, height] :
         {Wanted{"codes", ink.codes, size.width, size.height},
          {"tiles", ink.tiles, up(size.width, 64), up(size.height, 16)},
          {"edges", ink.edges, up(size.width, 32), size.height},
          {"crowded", ink.crowded, 1, 1},
          {"taken", ink.taken, up(size.width, 32), nodes},
          {"full", ink.full, up(size.width, 1024), nodes}}) {
      EXPECT_EQ(image.width, width) << name;
      EXPECT_EQ(image.height, height) << name;
      EXPECT_EQ(image.pitch, rounded_up(static_cast<size_t>(width) * 4, 128)) << name;
      parts.push_back({name, image.data, static_cast<size_t>(image.pitch * height)});
    }
    expect_filled(memory.get(), bytes, 128, parts);
  }
}

TEST(Memory, OfFrames) {
  std::byte memory[1];  // never touched
  const Colorimetry color{YuvMatrix::bt2020, false};
  for (int f = 0; f < kPixelFormats; ++f) {
    const Layout& layout = layout_of(static_cast<PixelFormat>(f));
    for (const Size size : kSizes) {
      const Frame frame = packed_frame(layout, size, color, Memory::device, memory);
      EXPECT_TRUE(frame.size() == size);
      EXPECT_EQ(frame.layout.format, layout.format);
      EXPECT_EQ(frame.color.matrix, color.matrix);
      EXPECT_EQ(frame.color.full_range, color.full_range);
      EXPECT_EQ(frame.memory, Memory::device);
      std::vector<Part> parts;
      for (int p = 0; p < layout.planes; ++p) {
        EXPECT_EQ(frame.pitch[p], rounded_up(row_bytes(layout, p, size), 16));
        parts.push_back({"plane", frame.plane[p],
                         static_cast<size_t>(frame.pitch[p] * row_count(layout, p, size))});
      }
      for (int p = layout.planes; p < 3; ++p) EXPECT_EQ(frame.plane[p], nullptr);
      expect_filled(memory, packed_bytes(layout, size), 256, parts);
    }
  }
}

TEST(Memory, OfRecords) {
  const auto backend = make_cpu_backend(1);
  EXPECT_TRUE(RegionRecords().empty());
  EXPECT_EQ(RegionRecords().total(), 0u);
  for (int wanted = 0; wanted < 8; ++wanted) {
    const bool moments = wanted & 1, borders = wanted & 2;
    const uint32_t runs = wanted & 4 ? 5 : 0;
    const RegionRecords records(*backend, 7, moments, borders, runs);
    RegionTable table = records.table();
    EXPECT_FALSE(records.empty());
    EXPECT_EQ(table.capacity, 7u);
    EXPECT_EQ(table.run_capacity, runs);
    EXPECT_EQ(*table.total, 0u);
    EXPECT_EQ(table.moments != nullptr, moments);
    EXPECT_EQ(table.borders != nullptr, borders);
    EXPECT_EQ(table.border_count != nullptr, borders);
    EXPECT_EQ(table.runs != nullptr, runs > 0);
    EXPECT_EQ(table.run_total != nullptr, runs > 0);
    // Written to the last, each keeps what it has; counts differ.
    std::fill_n(table.regions, 7, Region{.id = 1});
    *table.total = 9;
    if (moments) std::fill_n(table.moments, 7, Moments{.sum_xx = 2});
    if (borders) std::fill_n(table.borders, max_borders(7), Border{.length = 3});
    if (borders) *table.border_count = 4;
    if (runs > 0) std::fill_n(table.runs, runs, PixelRun{.label = 4});
    if (runs > 0) *table.run_total = 3;
    EXPECT_EQ(records.total(), 9u);
    EXPECT_EQ(records.regions(7).size(), 7u);
    for (const Region& region : records.regions(7)) EXPECT_EQ(region.id, 1u);
    EXPECT_EQ(records.moments(6).size(), moments ? 6u : 0u);
    for (const Moments& m : records.moments(6)) EXPECT_EQ(m.sum_xx, 2u);
    EXPECT_EQ(records.borders().size(), borders ? 4u : 0u);
    for (const Border& border : records.borders()) EXPECT_EQ(border.length, 3u);
    EXPECT_EQ(records.total_runs(), runs > 0 ? 3u : 0u);
    EXPECT_EQ(records.runs().size(), runs > 0 ? 3u : 0u);
    if (runs > 0) *table.run_total = 6;
    EXPECT_EQ(records.runs().size(), runs);
    records.table();
    EXPECT_EQ(records.total() + records.borders().size() + records.total_runs(), 0u)
        << "the next frame begins with nothing";
  }
}

// 24 pixels at 1080 rows, and so on; never below the least.
TEST(Glyphs, GrowWithThePicture) {
  for (int height = 1; height < 4000; ++height) {
    int em = 11;
    for (const int larger : {13, 16, 20, 24, 30, 38, 48, 64}) {
      if (larger <= height / 45.0) em = larger;
    }
    ASSERT_EQ(glyphs_for(height).em, em) << height;
  }
  const GlyphSize size = glyphs_for(1080);
  EXPECT_NE(*std::max_element(glyph_coverage() + size.start,
                              glyph_coverage() + size.start + size.width * size.height),
            0);
}

}  // namespace
}  // namespace regions
