// Counting shared pixels, row after row, against plain loops over the pixels.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "cpu/cclabel/cclabel.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

TEST(ShareRow, CountsPairsAndLeavesThisFramesLabels) {
  constexpr uint32_t kSlots = 1 << 12, kCount = 40;
  for (const int width : {1, 63, 64, 65, 200}) {
    const int rows = 1 + width % 3;
    const auto words = static_cast<size_t>(words_for(width));
    std::vector<uint16_t> labels(static_cast<size_t>(width)), expected(labels);
    std::vector<Word> known(words);
    for (uint32_t frame = 0; frame < 60; ++frame) {
      std::vector<Word> pixels(words), starts(words);
      std::vector<uint32_t> label;
      std::map<std::pair<uint32_t, uint32_t>, uint32_t> pairs;
      for (int x = 0; x < width; ++x) {
        // Long runs, short ones, and frames without any.
        const auto piece = static_cast<uint32_t>(x) / (1 + frame % 9);
        const bool inside = frame % 7 != 3 && hash(piece, frame) % 3 == 0;
        const bool before = x > 0 && (pixels[static_cast<size_t>(x - 1) / 64] >> (x - 1) % 64 & 1);
        if (inside) pixels[static_cast<size_t>(x) / 64] |= Word{1} << x % 64;
        if (inside && !before) {
          starts[static_cast<size_t>(x) / 64] |= Word{1} << x % 64;
          label.push_back(hash(piece, frame, 3) % (kCount + 4));  // 0 and too many, too
        }
        const auto here =
            static_cast<uint32_t>(inside && label.back() <= kCount ? label.back() : 0);
        uint16_t& last = expected[static_cast<size_t>(x)];
        if (here != 0 && last != 0) ++pairs[{last, here}];
        last = static_cast<uint16_t>(here);
      }
      std::vector<uint32_t> key(kSlots), count(kSlots), used(kSlots);
      uint32_t used_count = 0;
      const PairTable table = {kSlots, kSlots, key.data(), count.data(), used.data(), &used_count};
      count_shared_in_row(pixels.data(), starts.data(), label.data(), width, kCount, rows, table,
                          labels.data(), known.data());
      EXPECT_EQ(labels, expected) << width << " pixels, frame " << frame;
      ASSERT_EQ(used_count, pairs.size()) << width << " pixels, frame " << frame;
      for (uint32_t i = 0; i < used_count; ++i) {
        const uint32_t pair = key[used[i]];
        const uint32_t in_a_row = pairs[{pair >> 16, pair & 0xffff}];
        EXPECT_EQ(count[used[i]], in_a_row * static_cast<uint32_t>(rows));
      }
    }
  }
}

}  // namespace
}  // namespace regions
