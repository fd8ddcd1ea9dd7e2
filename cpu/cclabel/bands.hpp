// The two kinds of pictures whose runs become a forest: binary ones, and ones whose neighbours are
// linked by their values.
#pragma once

#include "cpu/cclabel/contacts.hpp"
#include "cpu/cclabel/forest.hpp"

namespace regions {

struct BinaryPicture {
  BitImage pixels;
  Stack stack;
  RowSpans spans;
  Connectivity connectivity = Connectivity::eight;

  int band_rows() const { return within_slice(connectivity) == Connectivity::eight ? 2 : 1; }
  // Second row of the band that begins with this row; null if there is none.
  const Word* lower_row(int row) const {
    const bool has_two = band_rows() == 2 && row % stack.slice.height + 1 < stack.slice.height;
    return has_two ? pixels.row(row + 1) : nullptr;
  }
};

struct LinkedPicture {
  LinkRule rule;
  Stack stack;
  Connectivity connectivity = Connectivity::eight;

  int band_rows() const { return 1; }
};

// Adds all rows of strip s. `rows` is the strip's own workspace.
void add_strip(const BinaryPicture& picture, Forest& forest, int s, LinkRows& rows);
void add_strip(const LinkedPicture& picture, Forest& forest, int s, LinkRows& rows);
// Joins strip s to the one before.
void join_seam(const BinaryPicture& picture, Forest& forest, int s, LinkRows& rows);
void join_seam(const LinkedPicture& picture, Forest& forest, int s, LinkRows& rows);

// The forest's areas, of a picture or volume with these foreground pixels. Runs that touch a side
// of it count `border` more; the first and last slices are sides only if `is_spatial`.
void find_areas(Forest& forest, const BitImage& pixels, uint64_t border, bool is_spatial,
                const Workers& workers);

// Turns background regions of at most `area` pixels that touch no side of the picture or volume
// into foreground. They are connected as dual() says.
// `background` is workspace of the size of picture.pixels; rows as many as strips.
void fill_holes(const BinaryPicture& picture, uint64_t area, Forest& forest,
                const BitImage& background, int strips, LinkRows* rows, const Workers& workers);

}  // namespace regions
