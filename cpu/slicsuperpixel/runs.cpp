// Labels are compared a row at a time; then only pixels that differ from a neighbour are visited.
#include "cpu/slicsuperpixel/runs.hpp"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "cpu/bits.hpp"
#include "cpu/pixel_rows.hpp"

namespace regions {
namespace {

REGIONS_CLONES void flag_differences(const uint32_t* a, const uint32_t* b, int count,
                                     uint8_t* flags) {
  for (int x = 0; x < count; ++x) flags[x] = a[x] != b[x];
}

// Bits of the pixels of a row that differ from the ones left of them, and from those above.
class RowEdges {
 public:
  RowEdges(int width, std::byte* scratch)
      : width_(width),
        words_(words_for(width)),
        across_(reinterpret_cast<Word*>(scratch)),
        across_above_(across_ + words_),
        down_(across_above_ + words_),
        flags_(reinterpret_cast<uint8_t*>(down_ + words_)) {}
  static size_t bytes(int width) {
    return 3 * sizeof(Word) * static_cast<size_t>(words_for(width)) + static_cast<size_t>(width);
  }

  // The next row; the first pixel counts as different from one left of it.
  void find_across(const uint32_t* row) {
    std::swap(across_, across_above_);
    flags_[0] = 1;
    flag_differences(row + 1, row, width_ - 1, flags_ + 1);
    pack(across_);
  }
  void find_down(const uint32_t* row, const uint32_t* above) {
    flag_differences(row, above, width_, flags_);
    pack(down_);
  }

  // Calls visit(x) for the first pixels of the row's runs.
  template <class Visit>
  void for_each_start(Visit visit) const {
    for (int w = 0; w < words_; ++w) for_each_bit(w, across_[w], visit);
  }
  // Calls across(x) and down(x) for the pixels of which the left or the upper neighbour differs,
  // but where the pair of pixels before, above or to the left, is of the same two labels.
  template <class Across, class Down>
  void for_each_contact(Across across, Down down) const {
    for (int w = 0; w < words_; ++w) {
      for_each_bit(w, across_[w] & (down_[w] | shifted(down_, w)) & ~Word{w == 0}, across);
      for_each_bit(w, down_[w] & (across_[w] | across_above_[w]), down);
    }
  }

 private:
  void pack(Word* bits) const {
    pack_at_least(reinterpret_cast<const std::byte*>(flags_), 1, width_, 1, bits);
  }
  template <class Visit>
  static void for_each_bit(int w, Word bits, Visit visit) {
    for (; bits; bits &= bits - 1) visit(w * kWordBits + lowest_bit(bits));
  }

  int width_, words_;
  Word* across_;
  Word* across_above_;
  Word* down_;
  uint8_t* flags_;
};

// The sum of component + 128 over so many pixels. Up to 15 beyond may be read.
#ifdef __SSE2__
uint32_t sum_of(const int8_t* color, uint32_t count) {
  // The first 16, from any place on: as many bytes as are of the run.
  alignas(16) static constexpr uint8_t kMask[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                    255, 255, 255, 255, 255, 255, 255, 255};
  const auto load = [](const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  __m128i sums = _mm_setzero_si128();
  for (uint32_t i = 0; i < count; i += 16) {
    const __m128i mask = load(kMask + 16 - std::min(16u, count - i));
    const __m128i bytes =
        _mm_xor_si128(load(color + i), _mm_set1_epi8(static_cast<char>(kColorBias)));
    sums = _mm_add_epi32(sums, _mm_sad_epu8(_mm_and_si128(bytes, mask), _mm_setzero_si128()));
  }
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_add_epi32(sums, _mm_srli_si128(sums, 8))));
}
#else
uint32_t sum_of(const int8_t* color, uint32_t count) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum += static_cast<uint32_t>(color[i] + kColorBias);
  return sum;
}
#endif

}  // namespace

size_t run_scratch_bytes(int width) { return RowEdges::bytes(width); }

PieceStrip find_runs(ConstLabelMap labels, const ColorPlanes& colors, int begin, int end, Run* runs,
                     Contact* contacts, std::byte* scratch) {
  RowEdges edges(labels.width, scratch);
  if (begin > 0) edges.find_across(labels.row(begin - 1));
  Run* run = runs;
  Contact* contact = contacts;
  for (int y = begin; y < end; ++y) {
    const uint32_t* const row = labels.row(y);
    edges.find_across(row);
    Run* const first = run;
    edges.for_each_start([&](int x) {
      if (run != first) run[-1].length = static_cast<uint32_t>(x - run[-1].x);
      *run++ = {.label = row[x], .x = static_cast<uint16_t>(x), .y = static_cast<uint16_t>(y)};
    });
    run[-1].length = static_cast<uint32_t>(labels.width - run[-1].x);
    sum_colors(colors, {first, run});
    if (y == 0) {
      for (const Run* after = first + 1; after < run; ++after) {
        *contact++ = {after[-1].label, after->label};
      }
      continue;
    }
    const uint32_t* const above = labels.row(y - 1);
    edges.find_down(row, above);
    edges.for_each_contact(
        [&](int x) {
          *contact++ = {row[x - 1], row[x]};
        },
        [&](int x) {
          *contact++ = {above[x], row[x]};
        });
  }
  return {{runs, run}, {contacts, contact}};
}

void sum_colors(const ColorPlanes& colors, std::span<Run> runs) {
  for (Run& run : runs) {
    for (int c = 0; c < 3; ++c) {
      run.color[c] = sum_of(colors.plane[c].row(run.y) + run.x, run.length);
    }
  }
}

}  // namespace regions
