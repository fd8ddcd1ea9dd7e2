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

// Sets bit x if pixel x of `row` has the same voxel class (foreground or background) as pixel
// x + shift of `other`.
void set_same_class_bits(const LinkRule& rule, const Word* row, const Word* other, int shift,
                         Word* bits) {
  const int width = rule.frame.width, words = words_for(width);
  for (int w = 0; w < words; ++w) {
    Word neighbours = other[w];
    if (shift < 0) neighbours = left_neighbour_bits(other, w);
    if (shift > 0) {
      neighbours = other[w] >> 1 | (w + 1 < words ? other[w + 1] << (kWordBits - 1) : 0);
    }
    bits[w] = ~(row[w] ^ neighbours);
  }
  if (const int last_bits = width % kWordBits) bits[words - 1] &= (Word{1} << last_bits) - 1;
  if (shift < 0) bits[0] &= ~Word{1};
  if (shift > 0) bits[words - 1] &= ~(Word{1} << (width - 1) % kWordBits);
}

// Sets bit x if pixel x of buffer row `i` is linked to pixel x + shift of buffer row `other`.
void set_link_bits(const LinkRule& rule, const LinkBuffers& buffers, int i, int other, int shift,
                   Word* bits) {
  const int bytes = rule.frame.layout.sample_bytes, width = rule.frame.width;
  if (rule.classes.data) {
    return set_same_class_bits(rule, reinterpret_cast<const Word*>(buffers.row[i][0]),
                               reinterpret_cast<const Word*>(buffers.row[other][0]), shift, bits);
  }
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
}

}  // namespace

void load_link_row(const LinkRule& rule, int y, int i, LinkBuffers& buffers) {
  if (rule.classes.data) {
    buffers.row[i][0] = reinterpret_cast<const std::byte*>(rule.classes.row(y));
    return;
  }
  for (int c = 0; c < rule.channels; ++c) {
    buffers.row[i][c] = channel_row(rule.frame, rule.first_channel + c, y, buffers.values[i][c]);
  }
}

void find_link_starts(const LinkRule& rule, int i, const LinkBuffers& buffers, Word* starts) {
  const int width = rule.frame.width;
  set_link_bits(rule, buffers, i, i, -1, starts);
  for (int w = 0; w < words_for(width); ++w) starts[w] = ~starts[w];
  if (const int last_bits = width % kWordBits)
    starts[width / kWordBits] &= (Word{1} << last_bits) - 1;
}

RunAdjacency find_link_adjacency(const LinkRule& rule, Adjacency adjacency, int i, int above,
                                 const Word* starts, const Word* starts_above,
                                 const LinkBuffers& buffers, const Word* connected,
                                 Word* straight_links) {
  Word* up = buffers.adjacency[0];
  Word* up_left = buffers.adjacency[1];
  Word* up_right = buffers.adjacency[2];
  const int words = words_for(rule.frame.width);
  const bool is_diagonal = adjacency == Adjacency::diagonal;
  set_link_bits(rule, buffers, i, above, 0, up);
  if (straight_links) std::copy_n(up, words, straight_links);
  if (is_diagonal) {
    set_link_bits(rule, buffers, i, above, -1, up_left);
    set_link_bits(rule, buffers, i, above, 1, up_right);
  }
  const auto right_neighbour_bits = [words](const Word* bits, int w) {
    return bits[w] >> 1 | (w + 1 < words ? bits[w + 1] << (kWordBits - 1) : 0);
  };
  // The loop goes from the last word to the first, because each word needs the unchanged word to
  // its left.
  Word next_up = 0;  // the value of up[w + 1] before the loop changed it
  for (int w = words - 1; w >= 0; --w) {
    const Word straight = up[w];
    const Word up_of_left = left_neighbour_bits(up, w);
    if (is_diagonal) {
      // A diagonal adjacency of pixel x to x - 1 (or x + 1) is redundant if a straight adjacency
      // connects the same two runs: in column x, or in column x - 1 (or x + 1).
      up_left[w] &= ~(straight & ~starts_above[w]) & ~(up_of_left & ~starts[w]);
      const Word up_of_right = straight >> 1 | next_up << (kWordBits - 1);
      up_right[w] &= ~(straight & ~right_neighbour_bits(starts_above, w)) &
                     ~(up_of_right & ~right_neighbour_bits(starts, w));
    }
    next_up = straight;
    up[w] = straight & (~up_of_left | starts[w] | starts_above[w]);
    if (is_diagonal && straight_links) {
      up_left[w] &= ~straight;
      up_right[w] &= ~straight;
    }
    if (connected) {
      for (Word* bits : {up, up_left, up_right}) bits[w] &= ~connected[w];
    }
  }
  return {up, is_diagonal ? up_left : nullptr, is_diagonal ? up_right : nullptr};
}

}  // namespace regions
