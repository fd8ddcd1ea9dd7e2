// Which pixels of a row begin a run, and where runs touch those of the row above.
#pragma once

#include "core/cclabel.hpp"
#include "cpu/cclabel/bits.hpp"
#include "cpu/cclabel/forest.hpp"

namespace regions {

// Binary pictures. `upper` and `lower` are the rows of a band, `lower` null in bands of one row.
void find_starts(const Word* upper, const Word* lower, int words, Word* starts);

// `above` is the last row of the band above, `row` the first of this one; the starts are their
// bands'.
void find_contacts(Connectivity connectivity, const Word* row, const Word* above,
                   const Word* starts, const Word* starts_above, int words, Word* up);

// Pictures whose neighbours are linked by their values.
struct LinkRule {
  ConstFrame frame;
  int first_channel = 0;
  int channels = 1;
  int level = 1;  // linked when the sum of |difference| is less
};

// Two rows of a strip while it is built: row y is in place y % 2.
struct LinkRows {
  const std::byte* row[2][3] = {};  // [place][channel]: in the picture or in `values`
  std::byte* values[2][3] = {};
  uint8_t* flags = nullptr;  // a byte a pixel
  Word* contacts[3] = {};
};

void read_link_row(const LinkRule& rule, int y, LinkRows& rows);
// Of row y, which has been read.
void find_link_starts(const LinkRule& rule, int y, const LinkRows& rows, Word* starts);
// Of row y > 0, which has been read as the one above has; without those that links within the rows
// imply.
Contacts find_link_contacts(const LinkRule& rule, Connectivity connectivity, int y,
                            const Word* starts, const Word* starts_above, const LinkRows& rows);

}  // namespace regions
