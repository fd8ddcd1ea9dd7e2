// Rows of one bit a pixel, and walking along them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

// The function is compiled once per level of the x86-64 instruction set and the machine's best is
// taken when the program starts: before ThreadSanitizer does. What it calls must be inlined to
// profit.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define REGIONS_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define REGIONS_CLONES
#endif
#define REGIONS_INLINE [[gnu::always_inline]] inline

namespace regions {

using Word = uint64_t;
inline constexpr int kWordBits = 64;

constexpr int words_for(int width) { return (width + kWordBits - 1) / kWordBits; }

// Bit x % 64 of word x / 64 of row y belongs to pixel (x, y); bits beyond the width are zero.
struct BitImage {
  Word* data = nullptr;  // [rows][words]
  int words = 0;

  Word* row(int y) const { return data + static_cast<size_t>(y) * static_cast<size_t>(words); }
};

// Sets the bits of all pixels.
inline void fill_rows(const BitImage& image, int width, int height) {
  const int rest = width % kWordBits;
  for (int y = 0; y < height; ++y) {
    for (int w = 0; w < image.words; ++w) image.row(y)[w] = ~Word{0};
    if (rest) image.row(y)[image.words - 1] = (Word{1} << rest) - 1;
  }
}

REGIONS_INLINE uint32_t count_bits(Word word) {
  return static_cast<uint32_t>(__builtin_popcountll(word));
}
REGIONS_INLINE int lowest_bit(Word word) { return __builtin_ctzll(word); }
// All bits up to the lowest one that is set, that one too.
REGIONS_INLINE Word up_to_lowest(Word word) { return word ^ (word - 1); }
// Every pixel's bit moved to its right neighbour.
REGIONS_INLINE Word shifted(const Word* row, int w) {
  return row[w] << 1 | (w > 0 ? row[w - 1] >> (kWordBits - 1) : 0);
}

// Calls visit(begin, end) for each run of bits that are set among so many words.
template <std::invocable<int, int> Visit>
REGIONS_INLINE void for_each_run(const Word* row, int words, Visit visit) {
  int begin = -1;
  for (int w = 0; w < words; ++w) {
    for (Word edges = row[w] ^ shifted(row, w); edges; edges &= edges - 1) {
      const int x = w * kWordBits + lowest_bit(edges);
      if (begin >= 0) visit(begin, x);
      begin = begin < 0 ? x : -1;
    }
  }
  if (begin >= 0) visit(begin, words * kWordBits);
}

// Sets bits begin..end - 1.
inline void set_bits(Word* row, int begin, int end) {
  for (int x = begin; x < end;) {
    const int first = x % kWordBits,
              count = end - x < kWordBits - first ? end - x : kWordBits - first;
    row[x / kWordBits] |= (~Word{0} >> (kWordBits - count)) << first;
    x += count;
  }
}

inline bool has_bits(const Word* row, int words) {
  Word any = 0;
  for (int w = 0; w < words; ++w) any |= row[w];
  return any != 0;
}

// Cuts a row into segments of one run or of background each, from left to right, and calls
// visit(begin, end, run): `run` counts the band's runs from 0, or is -1 for background. `pixels`
// are the row's foreground and `starts` the first pixels of the band's runs.
template <std::invocable<int, int, int64_t> Visit>
REGIONS_INLINE void for_each_segment(const Word* pixels, const Word* starts, int width,
                                     Visit visit) {
  const int words = words_for(width);
  int begin = 0;
  int64_t run = -1;
  int64_t before = -1;  // index of the last run that starts before this word
  for (int w = 0; w < words; ++w) {
    const Word left = shifted(pixels, w);
    const Word begins = pixels[w] & (~left | starts[w]);
    Word edges = begins | (left & ~pixels[w]);
    while (edges) {
      const int x = w * kWordBits + lowest_bit(edges);
      if (x >= width) break;
      if (x > begin) visit(begin, x, run);
      const int64_t rank = before + count_bits(starts[w] & up_to_lowest(edges));
      run = begins & edges & -edges ? rank : -1;
      begin = x;
      edges &= edges - 1;
    }
    before += count_bits(starts[w]);
  }
  visit(begin, width, run);
}

}  // namespace regions
