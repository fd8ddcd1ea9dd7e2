// From contacts, which are bits of columns, to the runs that touch there.
#pragma once

#include <concepts>

#include "cpu/cclabel/forest.hpp"

namespace regions {

// Calls join(lower, upper) with the nodes that touch at the bits of one kind of contact, or, where
// it takes them, join(lower, upper, count) with as many of each that follow one another and touch
// one by one. kShift is where the upper column lies from the bit's own.
template <int kShift, std::invocable<uint32_t, uint32_t> Join>
REGIONS_INLINE void for_each_contact(const Word* contacts, const Word* lower, const Word* upper,
                                     uint32_t lower_first, uint32_t upper_first, int words,
                                     Join join) {
  uint32_t lower_before = lower_first - 1, upper_before = upper_first - 1;
  for (int w = 0; w < words; ++w) {
    Word bits = contacts[w];
    if (kShift == 0 && bits == lower[w] && bits == upper[w]) {  // the runs meet one by one
      const uint32_t count = count_bits(bits);
      if constexpr (std::invocable<Join, uint32_t, uint32_t, uint32_t>) {
        join(lower_before + 1, upper_before + 1, count);
      } else {
        for (uint32_t k = 1; k <= count; ++k) join(lower_before + k, upper_before + k);
      }
      lower_before += count;
      upper_before += count;
      continue;
    }
    for (; bits; bits &= bits - 1) {
      const Word here = up_to_lowest(bits);
      const uint32_t node = lower_before + count_bits(lower[w] & here);
      uint32_t other;
      if constexpr (kShift <= 0) {
        other = upper_before + count_bits(upper[w] & (kShift < 0 ? here >> 1 : here));
      } else {
        const Word next = upper[w] >> 1 | (w + 1 < words ? upper[w + 1] << (kWordBits - 1) : 0);
        other = upper_before + count_bits(upper[w] & here) + ((next & bits & -bits) != 0);
      }
      join(node, other);
    }
    lower_before += count_bits(lower[w]);
    upper_before += count_bits(upper[w]);
  }
}

// The same of all kinds of contacts.
template <std::invocable<uint32_t, uint32_t> Join>
REGIONS_INLINE void for_all_contacts(const Contacts& contacts, const Word* lower, const Word* upper,
                                     uint32_t lower_first, uint32_t upper_first, int words,
                                     Join join) {
  for_each_contact<0>(contacts.up, lower, upper, lower_first, upper_first, words, join);
  if (contacts.up_left) {
    for_each_contact<-1>(contacts.up_left, lower, upper, lower_first, upper_first, words, join);
  }
  if (contacts.up_right) {
    for_each_contact<1>(contacts.up_right, lower, upper, lower_first, upper_first, words, join);
  }
}

}  // namespace regions
