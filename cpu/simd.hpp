// Tools for SIMD on the CPU: vector types, functions compiled for several instruction sets, and
// rows of bits (one bit per pixel, 64 pixels per word).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

// REGIONS_CLONES compiles a function once for each level of the x86-64 instruction set. The
// program selects the best level for the machine when it starts. Functions called from a clone
// must be inlined to be compiled for that level. The macro does nothing with ThreadSanitizer,
// because the selection runs before the sanitizer is initialised.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define REGIONS_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define REGIONS_CLONES
#endif
#define REGIONS_INLINE [[gnu::always_inline]] inline

// Every function with vector parameters or results is inlined, so GCC's warning about their calling
// convention does not apply.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace regions {

// Vector types with kLanes lanes of 32 bits: Floats, Signed and Unsigned. Words has the same size
// with 64-bit lanes, and Bytes has kLanes lanes of 8 bits. The types are specialisations because
// g++ 12 does not accept a template argument as vector size.
template <int kLanes>
struct VectorTypes;
template <>
struct VectorTypes<4> {
  typedef float Floats __attribute__((vector_size(16)));
  typedef int32_t Signed __attribute__((vector_size(16)));
  typedef uint32_t Unsigned __attribute__((vector_size(16)));
  typedef uint64_t Words __attribute__((vector_size(16)));
  typedef int8_t Bytes __attribute__((vector_size(4)));
};
template <>
struct VectorTypes<8> {
  typedef float Floats __attribute__((vector_size(32)));
  typedef int32_t Signed __attribute__((vector_size(32)));
  typedef uint32_t Unsigned __attribute__((vector_size(32)));
  typedef uint64_t Words __attribute__((vector_size(32)));
  typedef int8_t Bytes __attribute__((vector_size(8)));
};
template <>
struct VectorTypes<16> {
  typedef float Floats __attribute__((vector_size(64)));
  typedef int32_t Signed __attribute__((vector_size(64)));
  typedef uint32_t Unsigned __attribute__((vector_size(64)));
  typedef uint64_t Words __attribute__((vector_size(64)));
  typedef int8_t Bytes __attribute__((vector_size(16)));
};

using Word = uint64_t;  // one bit for each of 64 pixels, the leftmost pixel in the lowest bit
inline constexpr int kWordBits = 64;

constexpr int words_for(int width) { return (width + kWordBits - 1) / kWordBits; }

// A binary image. Bit x % 64 of word x / 64 of row y is pixel (x, y). Bits beyond the width are
// zero.
struct BitImage {
  Word* data = nullptr;  // [height][words + gap]
  int words = 0;
  int gap = 0;  // unused words after each row

  Word* row(int y) const {
    return data + static_cast<size_t>(y) * static_cast<size_t>(words + gap);
  }
};

// Sets the bits of all pixels of a width x height image.
inline void set_all_pixels(const BitImage& image, int width, int height) {
  const int last_word_bits = width % kWordBits;
  for (int y = 0; y < height; ++y) {
    for (int w = 0; w < image.words; ++w) image.row(y)[w] = ~Word{0};
    if (last_word_bits) image.row(y)[image.words - 1] = (Word{1} << last_word_bits) - 1;
  }
}

REGIONS_INLINE uint32_t count_bits(Word word) {
  return static_cast<uint32_t>(__builtin_popcountll(word));
}
REGIONS_INLINE int lowest_bit(Word word) { return __builtin_ctzll(word); }
// Returns a mask of the lowest set bit and all bits below it.
REGIONS_INLINE Word mask_up_to_lowest(Word word) { return word ^ (word - 1); }
// Returns word w of the row after a shift by one pixel to the right: bit x of the shifted row is
// bit x - 1 of `row`.
REGIONS_INLINE Word left_neighbour_bits(const Word* row, int w) {
  return row[w] << 1 | (w > 0 ? row[w - 1] >> (kWordBits - 1) : 0);
}

// Calls visit(begin, end) for each run of set bits in a row of `words` words. The run has the
// pixels begin..end - 1.
template <std::invocable<int, int> Visit>
REGIONS_INLINE void for_each_run(const Word* row, int words, Visit visit) {
  int begin = -1;
  for (int w = 0; w < words; ++w) {
    for (Word edges = row[w] ^ left_neighbour_bits(row, w); edges; edges &= edges - 1) {
      const int x = w * kWordBits + lowest_bit(edges);
      if (begin >= 0) visit(begin, x);
      begin = begin < 0 ? x : -1;
    }
  }
  if (begin >= 0) visit(begin, words * kWordBits);
}

// Sets the bits begin..end - 1 of a row.
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

// Splits a row into segments from left to right. A segment belongs to one run or is background.
// Calls visit(begin, end, run) for each segment. `run` is the index of the run in its band, or -1
// for background. A band is one or two rows, see cpu/cclabel/run_forest.hpp. `pixels` contains the
// foreground bits of the row. `starts` has a set bit at the first pixel of each run of the band.
template <std::invocable<int, int, int64_t> Visit>
REGIONS_INLINE void for_each_segment(const Word* pixels, const Word* starts, int width,
                                     Visit visit) {
  const int words = words_for(width);
  int begin = 0;
  int64_t run = -1;
  int64_t last_run_before = -1;  // index of the last run that starts left of this word
  for (int w = 0; w < words; ++w) {
    const Word left_bits = left_neighbour_bits(pixels, w);
    const Word run_begins = pixels[w] & (~left_bits | starts[w]);
    Word edges = run_begins | (left_bits & ~pixels[w]);
    while (edges) {
      const int x = w * kWordBits + lowest_bit(edges);
      if (x >= width) break;
      if (x > begin) visit(begin, x, run);
      const int64_t run_index = last_run_before + count_bits(starts[w] & mask_up_to_lowest(edges));
      run = run_begins & edges & -edges ? run_index : -1;
      begin = x;
      edges &= edges - 1;
    }
    last_run_before += count_bits(starts[w]);
  }
  visit(begin, width, run);
}

}  // namespace regions
