// Contacts as bit rows, for binary pictures and for linked values.
#include "cpu/cclabel/contacts.hpp"

#include <cstdlib>
#include <cstring>

#include "cpu/pixel_rows.hpp"

namespace regions {

REGIONS_CLONES
void find_starts(const Word* upper, const Word* lower, int words, Word* starts) {
  Word before = 0;
  for (int w = 0; w < words; ++w) {
    const Word whole = lower ? upper[w] | lower[w] : upper[w];
    starts[w] = whole & ~(whole << 1 | before >> (kWordBits - 1));
    before = whole;
  }
}

// Two runs that share an edge have a common column; two that share a corner have a common corner,
// when column x stands for the corner left of pixel x. A pair of runs meets in consecutive columns,
// of which one suffices: the first, where the column before is no contact or one of the runs
// starts.
REGIONS_CLONES
void find_contacts(Reach reach, const Word* row, const Word* above, const Word* starts,
                   const Word* starts_above, int words, Word* up) {
  Word row_before = 0, above_before = 0, before = 0;
  const bool corners = reach == Reach::slanted;
  for (int w = 0; w < words; ++w) {
    const Word r = corners ? row[w] | row[w] << 1 | row_before >> (kWordBits - 1) : row[w];
    const Word a = corners ? above[w] | above[w] << 1 | above_before >> (kWordBits - 1) : above[w];
    const Word touch = r & a;
    up[w] = touch & (~(touch << 1 | before >> (kWordBits - 1)) | starts[w] | starts_above[w]);
    row_before = row[w];
    above_before = above[w];
    before = touch;
  }
}

namespace {

using Values = const std::byte* const*;

template <class T, int kChannels>
REGIONS_INLINE void flag_values(Values a, Values b, int count, int level, uint8_t* flags) {
  using Sum = std::conditional_t<sizeof(T) == 1, int16_t, int32_t>;
  const T* from[3] = {};
  const T* to[3] = {};
  for (int c = 0; c < kChannels; ++c) {
    from[c] = reinterpret_cast<const T*>(a[c]);
    to[c] = reinterpret_cast<const T*>(b[c]);
  }
  const auto limit = static_cast<Sum>(level);
  for (int x = 0; x < count; ++x) {
    Sum sum = 0;
    for (int c = 0; c < kChannels; ++c) {
      const Sum d = static_cast<Sum>(static_cast<Sum>(from[c][x]) - static_cast<Sum>(to[c][x]));
      sum = static_cast<Sum>(sum + (d < 0 ? -d : d));
    }
    flags[x] = sum < limit;
  }
}

}  // namespace

// Flags 1 where value a[x] is linked to b[x].
REGIONS_CLONES
void flag_links(Values a, Values b, int bytes, int channels, int count, int level, uint8_t* flags) {
  if (bytes == 4) {  // labels are linked when they are equal
    const auto* from = reinterpret_cast<const uint32_t*>(a[0]);
    const auto* to = reinterpret_cast<const uint32_t*>(b[0]);
    for (int x = 0; x < count; ++x) flags[x] = from[x] == to[x];
  } else if (bytes == 2) {
    flag_values<uint16_t, 1>(a, b, count, level, flags);
  } else if (channels == 1) {
    flag_values<uint8_t, 1>(a, b, count, level, flags);
  } else {
    flag_values<uint8_t, 3>(a, b, count, level, flags);
  }
}

namespace {

// Bits of the pixels x of one row whose class is that of x + shift of the other.
void class_bits(const LinkRule& rule, const Word* row, const Word* other, int shift, Word* bits) {
  const int width = rule.frame.width, words = words_for(width);
  for (int w = 0; w < words; ++w) {
    Word beside = other[w];
    if (shift < 0) beside = shifted(other, w);
    if (shift > 0) beside = other[w] >> 1 | (w + 1 < words ? other[w + 1] << (kWordBits - 1) : 0);
    bits[w] = ~(row[w] ^ beside);
  }
  if (const int rest = width % kWordBits) bits[words - 1] &= (Word{1} << rest) - 1;
  if (shift < 0) bits[0] &= ~Word{1};
  if (shift > 0) bits[words - 1] &= ~(Word{1} << (width - 1) % kWordBits);
}

// Bits of the pixels x of the row in one line linked to x + shift of the other.
void link_bits(const LinkRule& rule, const LinkRows& rows, int line, int other, int shift,
               Word* bits) {
  const int bytes = rule.frame.layout.sample_bytes, width = rule.frame.width;
  if (rule.classes.data) {
    return class_bits(rule, reinterpret_cast<const Word*>(rows.row[line][0]),
                      reinterpret_cast<const Word*>(rows.row[other][0]), shift, bits);
  }
  const int here = shift < 0 ? 1 : 0, there = shift > 0 ? 1 : 0;
  const std::byte* a[3] = {};
  const std::byte* b[3] = {};
  for (int c = 0; c < rule.channels; ++c) {
    a[c] = rows.row[line][c] + here * bytes;
    b[c] = rows.row[other][c] + there * bytes;
  }
  rows.flags[0] = rows.flags[width - 1] = 0;
  flag_links(a, b, bytes, rule.channels, width - std::abs(shift), rule.level, rows.flags + here);
  pack_at_least(reinterpret_cast<const std::byte*>(rows.flags), 1, width, 1, bits);
}

}  // namespace

void read_link_row(const LinkRule& rule, int y, int line, LinkRows& rows) {
  if (rule.classes.data) {
    rows.row[line][0] = reinterpret_cast<const std::byte*>(rule.classes.row(y));
    return;
  }
  for (int c = 0; c < rule.channels; ++c) {
    rows.row[line][c] = channel_row(rule.frame, rule.first_channel + c, y, rows.values[line][c]);
  }
}

void find_link_starts(const LinkRule& rule, int line, const LinkRows& rows, Word* starts) {
  const int width = rule.frame.width;
  link_bits(rule, rows, line, line, -1, starts);
  for (int w = 0; w < words_for(width); ++w) starts[w] = ~starts[w];
  if (const int rest = width % kWordBits) starts[width / kWordBits] &= (Word{1} << rest) - 1;
}

Contacts find_link_contacts(const LinkRule& rule, Reach reach, int line, int above,
                            const Word* starts, const Word* starts_above, const LinkRows& rows) {
  Word* up = rows.contacts[0];
  Word* up_left = rows.contacts[1];
  Word* up_right = rows.contacts[2];
  const int words = words_for(rule.frame.width);
  const bool diagonals = reach == Reach::slanted;
  link_bits(rule, rows, line, above, 0, up);
  if (diagonals) {
    link_bits(rule, rows, line, above, -1, up_left);
    link_bits(rule, rows, line, above, 1, up_right);
  }
  const auto next = [words](const Word* bits, int w) {
    return bits[w] >> 1 | (w + 1 < words ? bits[w + 1] << (kWordBits - 1) : 0);
  };
  // From the last word to the first: what lies left of a word is still as it was.
  Word up_after = 0;  // the next word of `up`, unchanged
  for (int w = words - 1; w >= 0; --w) {
    const Word straight = up[w];
    const Word left_up = shifted(up, w);
    if (diagonals) {
      // Left-up goes along up-left, or left-up, where the rows are linked there.
      up_left[w] &= ~(straight & ~starts_above[w]) & ~(left_up & ~starts[w]);
      const Word right_up = straight >> 1 | up_after << (kWordBits - 1);
      up_right[w] &= ~(straight & ~next(starts_above, w)) & ~(right_up & ~next(starts, w));
    }
    up_after = straight;
    up[w] = straight & (~left_up | starts[w] | starts_above[w]);
  }
  return {up, diagonals ? up_left : nullptr, diagonals ? up_right : nullptr};
}

}  // namespace regions
