// The arena: few requests, blocks that do not overlap, pieces freed with their last block.
#include "core/arena.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace regions {
namespace {

constexpr size_t kMega = size_t{1} << 20;

// Gives up to `most` bytes at a time.
struct System {
  size_t most = SIZE_MAX;
  std::vector<size_t> asked;
  int pieces = 0;  // not freed

  Block operator()(size_t bytes) {
    asked.push_back(bytes);
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

TEST_F(ArenaTest, BlocksAreAlignedAndApart) {
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
    for (size_t at = 0; at < blocks[i].bytes(); ++at) ASSERT_EQ(bytes[at], i + 1) << at;
  }
}

TEST_F(ArenaTest, ManyStreamsThatBeginTogetherAskSeldom) {
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
  EXPECT_LE(system.asked.size(), 12u);
  size_t asked = 0;
  for (const size_t size : system.asked) asked += size;
  EXPECT_LE(asked, 2 * given);
}

TEST_F(ArenaTest, PiecesAreAsLargeAsWhatWasGiven) {
  const Block first = take(10 * kMega), small = take(1000), third = take(15 * kMega),
              of_second_piece = take(9 * kMega);
  EXPECT_EQ(system.asked, (std::vector<size_t>{10 * kMega, 10 * kMega, 15 * kMega}));
}

TEST_F(ArenaTest, SmallestAndLargestPieces) {
  const Block small = take(1), large = take(63 * kMega), next = take(3 * kMega),
              own = take(65 * kMega);
  EXPECT_EQ(system.asked,
            (std::vector<size_t>{2 * kMega, 63 * kMega, 63 * kMega + 256, 65 * kMega}));
  const Block none = take(0);
  EXPECT_EQ(none.bytes(), 0u);
}

TEST_F(ArenaTest, PiecesGoWithTheirLastBlock) {
  Block first = take(100), second = take(100);
  EXPECT_EQ(system.pieces, 1);
  const void* const place = first.data();
  first = Block();
  EXPECT_EQ(system.pieces, 1);
  Block third = take(100);
  EXPECT_NE(third.data(), place) << "work that was dropped may still write there";
  second = Block();
  EXPECT_EQ(system.pieces, 1);
  third = Block();
  EXPECT_EQ(system.pieces, 0);
  const Block fresh = take(100);
  EXPECT_EQ(system.pieces, 1);
}

TEST_F(ArenaTest, StreamsThatBeginLaterHavePiecesOfTheirOwn) {
  const Block first = take(100), second = take(40 * kMega);
  now += Arena::kSharingTime + std::chrono::milliseconds(1);
  const Block later = take(100), too = take(100);
  EXPECT_EQ(system.asked, (std::vector<size_t>{2 * kMega, 40 * kMega, 2 * kMega}));
}

// A stream that goes on keeps the pieces of its second alone, however often others begin anew.
TEST_F(ArenaTest, WhatOthersDroppedIsNotKept) {
  std::vector<Block> kept;
  for (int second = 0; second < 20; ++second) {
    const Block dropped = take(8 * kMega), more = take(8 * kMega);
    if (second == 3) kept.push_back(take(1000));
    now += Arena::kSharingTime + std::chrono::milliseconds(1);
  }
  EXPECT_EQ(system.pieces, 1);
}

TEST_F(ArenaTest, WhereThereIsLittleMemoryBlocksAreAskedForAlone) {
  system.most = 10 * kMega;
  const Block first = take(9 * kMega), second = take(9 * kMega);
  const Block third = take(1000);  // would begin a piece of 18 MB
  EXPECT_EQ(system.asked.back(), 1000u);
  EXPECT_EQ(third.bytes(), 1000u);
  try {
    take(11 * kMega);
    ADD_FAILURE() << "there is no such memory";
  } catch (const MemoryError& error) {
    EXPECT_EQ(std::string(error.what()), std::to_string(11 * kMega) + " bytes wanted");
  }
}

TEST_F(ArenaTest, ApartEachBlockIsAskedFor) {
  inject_faults("apart=1");
  const Block first = take(1), second = take(2);
  EXPECT_EQ(reserve(kMega), nullptr);
  inject_faults("");
  EXPECT_EQ(system.asked, (std::vector<size_t>{1, 2}));
}

TEST_F(ArenaTest, RoomThatIsKeptIsUsedFirst) {
  const Block before = take(100);
  const std::shared_ptr<void> kept = reserve(kMega), more = reserve(3 * kMega);
  now += 10 * Arena::kSharingTime;  // the caps come when they come
  const Block a = take(kMega / 2), b = take(2 * kMega), c = take(kMega / 2), d = take(kMega);
  EXPECT_EQ(system.asked, (std::vector<size_t>{2 * kMega, kMega, 3 * kMega}));
  EXPECT_EQ(c.as<char>(), a.as<char>() + kMega / 2);
  EXPECT_EQ(d.as<char>(), b.as<char>() + 2 * kMega);
  const Block e = take(100);  // there is no room left
  EXPECT_EQ(system.asked.size(), 4u);
}

TEST_F(ArenaTest, RoomIsFreedWithTheLastThatHoldsIt) {
  std::shared_ptr<void> kept = reserve(kMega), unused = reserve(kMega);
  Block a = take(1000);
  unused.reset();
  EXPECT_EQ(system.pieces, 1);
  kept.reset();
  EXPECT_EQ(system.pieces, 1);
  a = Block();
  EXPECT_EQ(system.pieces, 0);
  const Block b = take(1000);
  EXPECT_EQ(system.asked.back(), 2 * kMega);
}

TEST_F(ArenaTest, WhereThereIsNoRoomNoneIsKept) {
  system.most = kMega;
  EXPECT_EQ(reserve(2 * kMega), nullptr);
  EXPECT_EQ(take(1000).bytes(), 1000u);
}

TEST_F(ArenaTest, SeveralThreads) {
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

}  // namespace
}  // namespace regions
