// Which pixels of a row begin a run, and where runs touch those of the row above.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "cpu/bits.hpp"
#include "cpu/cclabel/forest.hpp"

namespace regions {

// First pixels of a band's runs, of binary pictures. `upper` and `lower` are the rows of a band,
// `lower` null in bands of one row.
void find_starts(const Word* upper, const Word* lower, int words, Word* starts);

// Which columns of two rows are neighbours: equal ones, or also those beside them.
enum class Reach : uint8_t { straight, slanted };

// Contacts of `row` with `above`, a row of an earlier band (its last row, if it is the band above),
// of binary pictures; the starts are those of the two bands.
void find_contacts(Reach reach, const Word* row, const Word* above, const Word* starts,
                   const Word* starts_above, int words, Word* up);

// Pictures whose neighbours are linked by their values.
struct LinkRule {
  ConstFrame frame;
  int first_channel = 0;
  int channels = 1;
  int level = 1;  // linked when the sum of |difference| is less
  // Unless empty: pixels are linked when their bits are equal, whatever the frame holds.
  BitImage classes;
};

// The rows of a strip that are compared with each other, each in a line of this buffer.
struct LinkRows {
  static constexpr int kLines = 3;
  const std::byte* row[kLines][3] = {};  // [line][channel]: in the picture or in `values`
  std::byte* values[kLines][3] = {};
  uint8_t* flags = nullptr;  // a byte a pixel
  Word* contacts[3] = {};
};

// Reads row y of the picture into a line.
void read_link_row(const LinkRule& rule, int y, int line, LinkRows& rows);
// First pixels of the runs of the row in that line.
void find_link_starts(const LinkRule& rule, int line, const LinkRows& rows, Word* starts);
// Contacts between the rows in two lines, `above` of an earlier band; without those that links
// within the rows imply.
Contacts find_link_contacts(const LinkRule& rule, Reach reach, int line, int above,
                            const Word* starts, const Word* starts_above, const LinkRows& rows);

}  // namespace regions
