// Which pixels of a row begin a run, and where runs touch those of the row above.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "cpu/bits.hpp"
#include "cpu/cclabel/forest.hpp"

namespace regions {

// Binary pictures. `upper` and `lower` are the rows of a band, `lower` null in bands of one row.
void find_starts(const Word* upper, const Word* lower, int words, Word* starts);

// Which columns of two rows are neighbours: equal ones, or also those beside them.
enum class Reach : uint8_t { straight, slanted };

// `row` is of this band, `above` of an earlier one: its last row, if it is the band above; the
// starts are their bands'.
void find_contacts(Reach reach, const Word* row, const Word* above, const Word* starts,
                   const Word* starts_above, int words, Word* up);

// Pictures whose neighbours are linked by their values.
struct LinkRule {
  ConstFrame frame;
  int first_channel = 0;
  int channels = 1;
  int level = 1;  // linked when the sum of |difference| is less
  // If there are any: pixels are linked when their bits are equal, whatever the frame holds.
  BitImage classes;
};

// Rows of a strip while it is built.
struct LinkRows {
  static constexpr int kPlaces = 3;
  const std::byte* row[kPlaces][3] = {};  // [place][channel]: in the picture or in `values`
  std::byte* values[kPlaces][3] = {};
  uint8_t* flags = nullptr;  // a byte a pixel
  Word* contacts[3] = {};
};

// Puts row y into a place.
void read_link_row(const LinkRule& rule, int y, int place, LinkRows& rows);
// Of the row in that place.
void find_link_starts(const LinkRule& rule, int place, const LinkRows& rows, Word* starts);
// Between the rows in two places, `above` in a band before; without those that links within the
// rows imply.
Contacts find_link_contacts(const LinkRule& rule, Reach reach, int place, int above,
                            const Word* starts, const Word* starts_above, const LinkRows& rows);

}  // namespace regions
