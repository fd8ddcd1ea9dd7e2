// Memory: the arena, how blocks are divided, and how much the algorithms allocate on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/arena.hpp"
#include "core/drawing/drawing.hpp"
#include "core/drawing/stamp.hpp"
#include "core/frame.hpp"
#include "core/tracking/tracking.hpp"
#include "cpu/backend.hpp"
#include "tests/algorithms.hpp"
#include "tests/pictures/watched_memory.hpp"

namespace regions {
namespace {

constexpr size_t kMega = size_t{1} << 20;

// Allocates up to `most` bytes per request.
struct System {
  size_t most = SIZE_MAX;
  std::vector<size_t> requested;
  int pieces = 0;  // not freed

  Block operator()(size_t bytes) {
    requested.push_back(bytes);
    if (bytes > most) throw MemoryError(std::to_string(bytes) + " bytes wanted");
    ++pieces;
    const auto free = [](void* owner, void* data) {
      --static_cast<System*>(owner)->pieces;
      std::free(data);
    };
    return {std::aligned_alloc(Arena::kAlignment, (bytes + 255) / 256 * 256), bytes, free, this};
  }
};

struct ArenaTest : testing::Test {
  Arena::Clock::time_point now = Arena::Clock::now();
  System system;
  Arena arena{2 * kMega, 64 * kMega};

  Block take(size_t bytes) { return arena.allocate(bytes, std::ref(system), now); }
  std::shared_ptr<void> reserve(size_t bytes) { return arena.reserve(bytes, std::ref(system)); }
};

TEST_F(ArenaTest, Allocate_BlocksOfManySizes_AreAlignedAndDisjoint) {
  constexpr size_t kSizes[] = {1, 255, 256, 257, 4097, kMega, 3 * kMega, 5};
  std::vector<Block> blocks;
  for (int turn = 0; turn < 3; ++turn) {
    for (const size_t size : kSizes) {
      blocks.push_back(take(size));
      EXPECT_EQ(blocks.back().bytes(), size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back().data()) % Arena::kAlignment, 0);
      std::memset(blocks.back().data(), static_cast<int>(blocks.size()), size);
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto* bytes = blocks[i].as<unsigned char>();
    const auto equal = std::count(bytes, bytes + blocks[i].bytes(), i + 1);
    EXPECT_EQ(static_cast<size_t>(equal), blocks[i].bytes()) << i;
  }
}

TEST_F(ArenaTest, Allocate_SixteenStreamsStartTogether_BlocksShareAtMostTwelvePieces) {
  constexpr size_t kOfStream[] = {80 * kMega / 16, 120 * kMega / 16, kMega / 8, kMega / 8,
                                  50 * kMega / 16, kMega / 2,        kMega / 2};
  std::vector<Block> blocks;
  size_t given = 0;
  for (int stream = 0; stream < 16; ++stream) {
    for (const size_t size : kOfStream) {
      blocks.push_back(take(size));
      given += size;
    }
  }
  EXPECT_LE(system.requested.size(), 12u);
  size_t requested = 0;
  for (const size_t size : system.requested) requested += size;
  EXPECT_LE(requested, 2 * given);
}

TEST_F(ArenaTest, NewPiece_AfterEarlierBlocks_IsAtLeastAsLargeAsTheirSum) {
  const Block first = take(10 * kMega), small = take(1000), third = take(15 * kMega),
              of_second_piece = take(9 * kMega);
  EXPECT_EQ(system.requested, (std::vector<size_t>{10 * kMega, 10 * kMega, 15 * kMega}));
}

TEST_F(ArenaTest, NewPiece_AnyBlockSize_StaysWithinTheLimitsUnlessTheBlockIsLarger) {
  const Block small = take(1), large = take(63 * kMega), next = take(3 * kMega),
              own = take(65 * kMega);
  EXPECT_EQ(system.requested,
            (std::vector<size_t>{2 * kMega, 63 * kMega, 63 * kMega + 256, 65 * kMega}));
  const Block none = take(0);
  EXPECT_EQ(none.bytes(), 0u);
}

TEST_F(ArenaTest, Piece_BlocksFreed_IsFreedOnlyWithItsLastBlock) {
  Block first = take(100), second = take(100);
  EXPECT_EQ(system.pieces, 1);
  const void* const place = first.data();
  first = Block();
  EXPECT_EQ(system.pieces, 1);
  Block third = take(100);
  EXPECT_NE(third.data(), place) << "unfinished work may still write there";
  second = Block();
  EXPECT_EQ(system.pieces, 1);
  third = Block();
  EXPECT_EQ(system.pieces, 0);
  const Block fresh = take(100);
  EXPECT_EQ(system.pieces, 1);
}

TEST_F(ArenaTest, Allocate_AfterTheSharingTime_UsesANewPiece) {
  const Block first = take(100), second = take(40 * kMega);
  now += Arena::kSharingTime + std::chrono::milliseconds(1);
  const Block later = take(100), too = take(100);
  EXPECT_EQ(system.requested, (std::vector<size_t>{2 * kMega, 40 * kMega, 2 * kMega}));
}

// A long stream keeps only the pieces of its first second, however many other streams start.
TEST_F(ArenaTest, BlockOfALongStream_OtherStreamsStartAndEnd_KeepsOnlyOnePieceAllocated) {
  std::vector<Block> kept;
  for (int second = 0; second < 20; ++second) {
    const Block dropped = take(8 * kMega), more = take(8 * kMega);
    if (second == 3) kept.push_back(take(1000));
    now += Arena::kSharingTime + std::chrono::milliseconds(1);
  }
  EXPECT_EQ(system.pieces, 1);
}

TEST_F(ArenaTest, Allocate_LargePieceFails_AllocatesTheBlockAlone) {
  system.most = 10 * kMega;
  const Block first = take(9 * kMega), second = take(9 * kMega);
  const Block third = take(1000);  // would begin a piece of 18 MB
  EXPECT_EQ(system.requested.back(), 1000u);
  EXPECT_EQ(third.bytes(), 1000u);
  try {
    take(11 * kMega);
    ADD_FAILURE() << "there is no such memory";
  } catch (const MemoryError& error) {
    EXPECT_EQ(std::string(error.what()), std::to_string(11 * kMega) + " bytes wanted");
  }
}

TEST_F(ArenaTest, Allocate_ApartFaultInjected_AllocatesEachBlockSeparately) {
  inject_faults("apart=1");
  const Block first = take(1), second = take(2);
  EXPECT_EQ(reserve(kMega), nullptr);
  inject_faults("");
  EXPECT_EQ(system.requested, (std::vector<size_t>{1, 2}));
}

TEST_F(ArenaTest, Allocate_MemoryReserved_UsesTheReservedMemoryFirst) {
  const Block before = take(100);
  const std::shared_ptr<void> kept = reserve(kMega), more = reserve(3 * kMega);
  now += 10 * Arena::kSharingTime;  // caps may arrive late
  const Block a = take(kMega / 2), b = take(2 * kMega), c = take(kMega / 2), d = take(kMega);
  EXPECT_EQ(system.requested, (std::vector<size_t>{2 * kMega, kMega, 3 * kMega}));
  EXPECT_EQ(c.as<char>(), a.as<char>() + kMega / 2);
  EXPECT_EQ(d.as<char>(), b.as<char>() + 2 * kMega);
  const Block e = take(100);  // the reserved memory is used up
  EXPECT_EQ(system.requested.size(), 4u);
}

TEST_F(ArenaTest, ReservedMemory_LastHolderReleased_IsFreed) {
  std::shared_ptr<void> kept = reserve(kMega), unused = reserve(kMega);
  Block a = take(1000);
  unused.reset();
  EXPECT_EQ(system.pieces, 1);
  kept.reset();
  EXPECT_EQ(system.pieces, 1);
  a = Block();
  EXPECT_EQ(system.pieces, 0);
  const Block b = take(1000);
  EXPECT_EQ(system.requested.back(), 2 * kMega);
}

TEST_F(ArenaTest, Reserve_SystemAllocationFails_ReturnsNull) {
  system.most = kMega;
  EXPECT_EQ(reserve(2 * kMega), nullptr);
  EXPECT_EQ(take(1000).bytes(), 1000u);
}

TEST_F(ArenaTest, Allocate_FromEightThreads_BlocksAreDisjoint) {
  std::atomic<int> pieces = 0;
  const auto request = [&](size_t bytes) {
    ++pieces;
    const auto free = [](void* count, void* data) {
      --*static_cast<std::atomic<int>*>(count);
      std::free(data);
    };
    return Block(std::malloc(bytes), bytes, free, &pieces);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int turn = 0; turn < 200; ++turn) {
        const Block a = arena.allocate(5000, request), b = arena.allocate(300000, request);
        std::memset(a.data(), t, a.bytes());
        std::memset(b.data(), t, b.bytes());
        EXPECT_EQ(a.as<char>()[4999], t);
        EXPECT_EQ(b.as<char>()[0], t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pieces, 0);
}

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

TEST(TrackingMemory, AnyPictureSize_ArraysFillTheBlockExactly) {
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
          {"heir", m.heir, n * 8},
          {"track_of", m.track_of, n * 4},
          {"tracks_inside", m.tracks_inside, n * 4},
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
                                 {"candidate", m.candidate, n * 4},
                                 {"whole_of", m.whole_of, n * 4},
                                 {"piece_area", m.piece_area, n * 4},
                                 {"destination", m.destination, 2 * n * 4},
                                 {"row", m.row, free * 4},
                                 {"column", m.column, free * 4},
                                 {"row_summary", m.row_summary, free * sizeof(TrackSummary)},
                                 {"column_summary", m.column_summary, free * sizeof(TrackSummary)},
                                 {"best_of_row", m.best_of_row, free * 8},
                                 {"best_of_column", m.best_of_column, free * 8},
                                 {"neighbour", m.neighbour, free * 8}};
      // A reset clears the first part. The last id is at its end, because ids may continue.
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

TEST(DrawingMemory, AnyPictureSize_ArraysFillTheBlockExactly) {
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

TEST(PackedFrame, EveryFormat_PlanesFillTheBlockExactly) {
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

// Bytes of the backend's blocks after configure(), per pixel.
template <class P>
double bytes_per_pixel(const regions::Setup& setup, const P& params = {}) {
  const auto backend = make_cpu_backend(2);
  const size_t before = watched_bytes();
  size_t taken = 0;
  {
    const auto algorithm = make_algorithm<P, BackendKind::cpu>(backend);
    algorithm->prepare(params);
    algorithm->configure(setup);
    taken = watched_bytes() - before;
    algorithm->configure(setup);
    EXPECT_EQ(watched_bytes() - before, taken) << "a second configure() allocates more";
  }
  EXPECT_EQ(watched_bytes(), before) << "not all memory was freed";
  return static_cast<double>(taken) / static_cast<double>(setup.size.area());
}

#define X(name)                                                                         \
  TEST(AlgorithmMemory, name##_ConfigureTwice_AllocatesOnceAndFreesAll) {               \
    const regions::Setup setup{.in = layout_of(PixelFormat::nv12), .size = {641, 478}}; \
    EXPECT_GT(bytes_per_pixel<name::Params>(setup), 0);                                 \
  }
REGIONS_ALGORITHMS
#undef X

// The limits are a few percent above the values of 2026. Labels alone are 4 bytes per pixel.
TEST(AlgorithmMemory, PictureOf640x480_BytesPerPixelStayBelowTheLimit) {
  regions::Setup plain{.in = layout_of(PixelFormat::nv12), .size = {640, 480}};
  regions::Setup drawn = plain, runs = plain, tracked = plain, borders = plain, volume = plain,
                 window = plain, masked;
  drawn.out = drawn.in;
  drawn.has_output = true;
  runs.max_runs = 10000;
  tracked.tracks = true;
  borders.has_borders = true;
  volume.depth = window.depth = 5;
  window.slides = window.tracks = true;
  masked = window;
  masked.mask = layout_of(PixelFormat::labels32);
  masked.has_mask = true;
  GraphCutBgParams eight;
  eight.neighbours = Neighbours::eight;
  CcLabelParams equal;
  equal.criterion = Criterion::equal;
  EXPECT_LT(bytes_per_pixel<CcLabelParams>(plain), 42);
  EXPECT_LT(bytes_per_pixel<CcLabelParams>(plain, equal), 43);
  EXPECT_LT(bytes_per_pixel<CcLabelParams>(drawn), 51);
  EXPECT_LT(bytes_per_pixel<CcLabelParams>(runs), 46);
  EXPECT_LT(bytes_per_pixel<CcLabelParams>(tracked), 53);
  EXPECT_LT(bytes_per_pixel<CcLabelParams>(volume), 152);
  EXPECT_LT(bytes_per_pixel<CcLabelParams>(window), 223);
  EXPECT_LT(bytes_per_pixel<CcLabelParams>(masked), 249);
  EXPECT_LT(bytes_per_pixel<SlicParams>(plain), 184);
  EXPECT_LT(bytes_per_pixel<SlicParams>(borders), 185);
  EXPECT_LT(bytes_per_pixel<RegionOverlayParams>(drawn), 5.2);
  EXPECT_LT(bytes_per_pixel<GraphCutBgParams>(plain), 135);
  EXPECT_LT(bytes_per_pixel<GraphCutBgParams>(plain, eight), 202);
  regions::Setup many = plain;
  many.slots = 3;
  EXPECT_DOUBLE_EQ(bytes_per_pixel<CcLabelParams>(many), 3 * bytes_per_pixel<CcLabelParams>(plain));
  EXPECT_DOUBLE_EQ(bytes_per_pixel<SlicParams>(many), 3 * bytes_per_pixel<SlicParams>(plain));
}

// The largest size up to 1/45 of the height (24 pixels at 1080 rows), but at least 11 pixels.
TEST(Glyphs, AnyPictureHeight_GlyphIsTheLargestUpToOne45thOfTheHeight) {
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
