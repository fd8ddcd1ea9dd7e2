// Finds run starts and run adjacencies of binary and linked images, 64 pixels at a time.
#include "cpu/cclabel/run_adjacency.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cpu/pixel_rows.hpp"

namespace regions {

REGIONS_CLONES
void find_run_starts(const Word* upper, const Word* lower, int words, Word* starts) {
  Word previous = 0;
  for (int w = 0; w < words; ++w) {
    const Word band = lower ? upper[w] | lower[w] : upper[w];
    starts[w] = band & ~(band << 1 | previous >> (kWordBits - 1));
    previous = band;
  }
}

// Straight adjacency: two runs touch if they have a common column, and bit x represents column x.
// Diagonal adjacency: two runs also touch at corners, and bit x represents the corner left of pixel
// x. The bits at which two runs touch are consecutive. Only the first of these bits is kept: either
// the runs do not touch at the previous bit, or one of the runs starts here.
REGIONS_CLONES
void find_adjacency(Adjacency adjacency, const Word* row, const Word* above, const Word* starts,
                    const Word* starts_above, int words, Word* up) {
  Word previous_row = 0, previous_above = 0, previous = 0;
  const bool is_diagonal = adjacency == Adjacency::diagonal;
  for (int w = 0; w < words; ++w) {
    const Word row_bits =
        is_diagonal ? row[w] | row[w] << 1 | previous_row >> (kWordBits - 1) : row[w];
    const Word above_bits =
        is_diagonal ? above[w] | above[w] << 1 | previous_above >> (kWordBits - 1) : above[w];
    const Word touching = row_bits & above_bits;
    up[w] =
        touching & (~(touching << 1 | previous >> (kWordBits - 1)) | starts[w] | starts_above[w]);
    previous_row = row[w];
    previous_above = above[w];
    previous = touching;
  }
}

namespace {

using Values = const std::byte* const*;

// Sets flags[x] to 1 if the sum of |a[x] - b[x]| over the channels is less than `tolerance_level`,
// else to 0.
template <class T, int kChannels>
REGIONS_INLINE void flag_values(Values a, Values b, int count, int tolerance_level,
                                uint8_t* flags) {
  using Sum = std::conditional_t<sizeof(T) == 1, int16_t, int32_t>;
  const T* from[3] = {};
  const T* to[3] = {};
  for (int c = 0; c < kChannels; ++c) {
    from[c] = reinterpret_cast<const T*>(a[c]);
    to[c] = reinterpret_cast<const T*>(b[c]);
  }
  const auto limit = static_cast<Sum>(tolerance_level);
  for (int x = 0; x < count; ++x) {
    Sum sum = 0;
    for (int c = 0; c < kChannels; ++c) {
      const Sum difference =
          static_cast<Sum>(static_cast<Sum>(from[c][x]) - static_cast<Sum>(to[c][x]));
      sum = static_cast<Sum>(sum + (difference < 0 ? -difference : difference));
    }
    flags[x] = sum < limit;
  }
}

// Sets flags[x] to 1 if a[x] and b[x] are equal, else to 0.
template <class T>
REGIONS_INLINE void flag_equal(Values a, Values b, int count, uint8_t* flags) {
  const T* from = reinterpret_cast<const T*>(a[0]);
  const T* to = reinterpret_cast<const T*>(b[0]);
  for (int x = 0; x < count; ++x) flags[x] = from[x] == to[x];
}

}  // namespace

// Sets flags[x] to 1 if the values a[x] and b[x] are linked, else to 0.
REGIONS_CLONES
void flag_links(Values a, Values b, int bytes, int channels, int count, int tolerance_level,
                uint8_t* flags) {
  if (bytes == 4) {  // labels are linked if they are equal
    flag_equal<uint32_t>(a, b, count, flags);
  } else if (tolerance_level == 1 && channels == 1) {
    bytes == 2 ? flag_equal<uint16_t>(a, b, count, flags) : flag_equal<uint8_t>(a, b, count, flags);
  } else if (bytes == 2) {
    flag_values<uint16_t, 1>(a, b, count, tolerance_level, flags);
  } else if (channels == 1) {
    flag_values<uint8_t, 1>(a, b, count, tolerance_level, flags);
  } else {
    flag_values<uint8_t, 3>(a, b, count, tolerance_level, flags);
  }
}

namespace {

// Words of a row after a shift by one pixel.
REGIONS_INLINE Word shifted_right(const Word* row, int w) {
  return row[w] << 1 | row[w - 1] >> (kWordBits - 1);
}
REGIONS_INLINE Word shifted_left(const Word* row, int w) {
  return row[w] >> 1 | row[w + 1] << (kWordBits - 1);
}

// Compares the codes of the pixels of a row with the codes of another row: in the same column, and
// in the columns left and right if `is_diagonal` is true. Sets the bits of included pixels with
// equal codes.
template <int kPlanes>
REGIONS_INLINE void set_same_code_bits(Values row, Values other, const Word* included, int words,
                                       bool is_diagonal, Word* const* bits) {
  const Word* from[kPlanes];
  const Word* to[kPlanes];
  for (int k = 0; k < kPlanes; ++k) {
    from[k] = reinterpret_cast<const Word*>(row[k]);
    to[k] = reinterpret_cast<const Word*>(other[k]);
  }
  Word *const same = bits[0], *const left = bits[1], *const right = bits[2];
  if (!is_diagonal) {
#pragma GCC ivdep
    for (int w = 0; w < words; ++w) {
      Word differ = 0;
      for (int k = 0; k < kPlanes; ++k) differ |= from[k][w] ^ to[k][w];
      same[w] = ~differ & included[w];
    }
    return;
  }
#pragma GCC ivdep
  for (int w = 0; w < words; ++w) {
    Word differ = 0, differ_left = 0, differ_right = 0;
    for (int k = 0; k < kPlanes; ++k) {
      differ |= from[k][w] ^ to[k][w];
      differ_left |= from[k][w] ^ shifted_right(to[k], w);
      differ_right |= from[k][w] ^ shifted_left(to[k], w);
    }
    same[w] = ~differ & included[w];
    left[w] = ~differ_left & included[w];
    right[w] = ~differ_right & included[w];
  }
}

// Calls set_same_code_bits() for `planes` planes, at most kMost.
template <int kMost = kMaxPlanes>
REGIONS_INLINE void compare_codes(Values row, Values other, int planes, const Word* included,
                                  int words, bool is_diagonal, Word* const* bits) {
  if constexpr (kMost > 1) {
    if (planes < kMost) {
      return compare_codes<kMost - 1>(row, other, planes, included, words, is_diagonal, bits);
    }
  }
  set_same_code_bits<kMost>(row, other, included, words, is_diagonal, bits);
}

}  // namespace

REGIONS_CLONES
void find_same_codes(Values row, Values other, int planes, const Word* included, int words,
                     bool is_diagonal, Word* const* bits) {
  compare_codes(row, other, planes, included, whole_blocks(words), is_diagonal, bits);
}

namespace {

// Compares values: sets bit x if pixel x of buffer row `i` is linked to pixel x + shift of buffer
// row `other`.
void link_values(const LinkRule& rule, const LinkBuffers& buffers, int i, int other, int shift,
                 Word* bits) {
  const int bytes = rule.frame.layout.sample_bytes, width = rule.frame.width;
  const int first = shift < 0 ? 1 : 0, first_other = shift > 0 ? 1 : 0;
  const std::byte* a[3] = {};
  const std::byte* b[3] = {};
  for (int c = 0; c < rule.channels; ++c) {
    a[c] = buffers.row[i][c] + first * bytes;
    b[c] = buffers.row[other][c] + first_other * bytes;
  }
  buffers.flags[0] = buffers.flags[width - 1] = 0;
  flag_links(a, b, bytes, rule.channels, width - std::abs(shift), rule.tolerance_level,
             buffers.flags + first);
  pack_at_least(reinterpret_cast<const std::byte*>(buffers.flags), 1, width, 1, bits);
  for (int w = 0; w < words_for(width); ++w) bits[w] &= buffers.included[i][w];
}

// Compares codes: sets the bits links[0..2] of the pixels of buffer row `i` that are linked to the
// pixels of buffer row `other` in the same column, in the column to the left, and in the column to
// the right.
void link_codes(const LinkRule& rule, const LinkBuffers& buffers, int i, int other,
                bool is_diagonal, Word* const* links) {
  const int width = rule.frame.width, words = words_for(width);
  find_same_codes(buffers.row[i], buffers.row[other], rule.planes, buffers.included[i], words,
                  is_diagonal, links);
  if (!is_diagonal) return;
  links[1][0] &= ~Word{1};  // the first pixel has no pixel to its left
  links[2][words - 1] &= ~(Word{1} << (width - 1) % kWordBits);
}

}  // namespace

void load_link_row(const LinkRule& rule, int y, int i, LinkBuffers& buffers) {
  buffers.included[i] = rule.included.row(y);
  if (rule.planes > 0) {
    for (int k = 0; k < rule.planes; ++k) {
      buffers.row[i][k] = reinterpret_cast<const std::byte*>(rule.plane[k].row(y));
    }
    return;
  }
  for (int c = 0; c < rule.channels; ++c) {
    buffers.row[i][c] = channel_row(rule.frame, rule.first_channel + c, y, buffers.values[i][c]);
  }
}

void find_link_starts(const LinkRule& rule, int i, const LinkBuffers& buffers, Word* starts) {
  Word* const linked_left = buffers.links[1];
  if (rule.planes > 0) {
    link_codes(rule, buffers, i, i, true, buffers.links);
  } else {
    link_values(rule, buffers, i, i, -1, linked_left);
  }
  const Word* const included = buffers.included[i];
  for (int w = 0; w < words_for(rule.frame.width); ++w) starts[w] = included[w] & ~linked_left[w];
}

namespace {

// Removes links whose runs are connected without them, and does what `kPruning` says.
template <Pruning kPruning, bool kIsDiagonal>
REGIONS_INLINE void reduce(const LinkBuffers& buffers, const Word* starts, const Word* starts_above,
                           int words) {
  const Word *const links = buffers.links[0], *const links_left = buffers.links[1],
                    *const links_right = buffers.links[2];
  Word *const up = buffers.adjacency[0], *const up_left = buffers.adjacency[1],
              *const up_right = buffers.adjacency[2];
  Word *const linked = buffers.linked[0], *const linked_left = buffers.linked[1],
              *const linked_right = buffers.linked[2];
#pragma GCC ivdep
  for (int w = 0; w < words; ++w) {
    const Word link = links[w], left = kIsDiagonal ? links_left[w] : 0,
               right = kIsDiagonal ? links_right[w] : 0;
    const Word link_of_left = shifted_right(links, w);
    Word to_up = link & (~link_of_left | starts[w] | starts_above[w]), to_left = 0, to_right = 0;
    if constexpr (kIsDiagonal) {
      // A diagonal adjacency of pixel x to x - 1 (or x + 1) is redundant if a straight adjacency
      // connects the same two runs: in column x, or in column x - 1 (or x + 1).
      to_left = left & ~(link & ~starts_above[w]) & ~(link_of_left & ~starts[w]);
      to_right = right & ~(link & ~shifted_left(starts_above, w)) &
                 ~(shifted_left(links, w) & ~shifted_left(starts, w));
    }
    if constexpr (kPruning == Pruning::use || kPruning == Pruning::extend) {
      to_up &= ~(linked[w] | linked_left[w] | linked_right[w]);
      to_left &= ~(linked[w] | linked_left[w]);
      to_right &= ~(linked[w] | linked_right[w]);
    }
    if constexpr (kPruning == Pruning::first || kPruning == Pruning::extend) {
      constexpr bool kKeeps = kPruning == Pruning::extend;
      linked[w] = link | (kKeeps ? linked[w] : 0);
      linked_left[w] = left | (kKeeps ? linked_left[w] : 0);
      linked_right[w] = right | (kKeeps ? linked_right[w] : 0);
    }
    up[w] = to_up;
    if constexpr (kIsDiagonal) {
      up_left[w] = to_left;
      up_right[w] = to_right;
    }
  }
}

}  // namespace

// Computes buffers.adjacency from buffers.links.
REGIONS_CLONES
void reduce_links(const LinkBuffers& buffers, const Word* starts, const Word* starts_above,
                  int words, bool is_diagonal, Pruning pruning) {
  words = whole_blocks(words);
  if (!is_diagonal) return reduce<Pruning::none, false>(buffers, starts, starts_above, words);
  switch (pruning) {
    case Pruning::none:
      return reduce<Pruning::none, true>(buffers, starts, starts_above, words);
    case Pruning::first:
      return reduce<Pruning::first, true>(buffers, starts, starts_above, words);
    case Pruning::use:
      return reduce<Pruning::use, true>(buffers, starts, starts_above, words);
    case Pruning::extend:
      return reduce<Pruning::extend, true>(buffers, starts, starts_above, words);
  }
}

RunAdjacency find_link_adjacency(const LinkRule& rule, Adjacency adjacency, int i, int above,
                                 const Word* starts, const Word* starts_above,
                                 const LinkBuffers& buffers, Pruning pruning) {
  const bool is_diagonal = adjacency == Adjacency::diagonal;
  Word* const* links = buffers.links;
  if (rule.planes > 0) {
    link_codes(rule, buffers, i, above, is_diagonal, links);
  } else {
    link_values(rule, buffers, i, above, 0, links[0]);
    if (is_diagonal) {
      link_values(rule, buffers, i, above, -1, links[1]);
      link_values(rule, buffers, i, above, 1, links[2]);
    }
  }
  reduce_links(buffers, starts, starts_above, words_for(rule.frame.width), is_diagonal, pruning);
  Word* const* found = buffers.adjacency;
  return {found[0], is_diagonal ? found[1] : nullptr, is_diagonal ? found[2] : nullptr};
}

}  // namespace regions
