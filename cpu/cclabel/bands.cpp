// Feeding rows to the forest.
#include "cpu/cclabel/bands.hpp"

#include "cpu/cclabel/measure.hpp"

namespace regions {

namespace {

Reach reach_of(Connectivity connectivity) {
  return within_slice(connectivity) == Connectivity::eight ? Reach::slanted : Reach::straight;
}

// The neighbours that voxels have in the slice before, by how many rows they lie above or below.
// Neighbours three steps away exist in 26-connectivity alone, two steps away in 18- as well.
Reach reach_across(Connectivity connectivity, int rows) {
  const bool corners = connectivity == Connectivity::twenty_six;
  const bool edges = corners || connectivity == Connectivity::eighteen;
  return corners || (edges && rows == 0) ? Reach::slanted : Reach::straight;
}

// Calls join(earlier band, contacts) for the bands of the slice before that touch the one that
// begins with `row`.
template <std::invocable<int, const Contacts&> Join>
void for_slice_before(const BinaryPicture& picture, const Forest& forest, int row, LinkRows& rows,
                      Join join) {
  const int height = picture.stack.slice.height, y = row % height, words = picture.pixels.words;
  const int band = forest.band_of(row);
  const bool is_spread = picture.connectivity != Connectivity::six;
  const auto touch = [&](int mine, int step) {  // my row, and a row of the slice before
    const int there = y + mine + step;
    if (there < 0 || there >= height) return;
    const int other = row - y - height + there, earlier = forest.band_of(other);
    find_contacts(reach_across(picture.connectivity, step), picture.pixels.row(row + mine),
                  picture.pixels.row(other), forest.starts(band), forest.starts(earlier), words,
                  rows.contacts[0]);
    join(earlier, Contacts{.up = rows.contacts[0]});
  };
  const int last = picture.lower_row(row) ? 1 : 0;
  if (last == 1 && picture.connectivity == Connectivity::twenty_six) {
    // Any two voxels of two rows by two slices are neighbours if their columns are.
    const int other = row - height, earlier = forest.band_of(other);
    for (int w = 0; w < words; ++w) {
      rows.contacts[1][w] = picture.pixels.row(row)[w] | picture.pixels.row(row + 1)[w];
      rows.contacts[2][w] = picture.pixels.row(other)[w] | picture.pixels.row(other + 1)[w];
    }
    find_contacts(Reach::slanted, rows.contacts[1], rows.contacts[2], forest.starts(band),
                  forest.starts(earlier), words, rows.contacts[0]);
    join(earlier, Contacts{.up = rows.contacts[0]});
    touch(0, -1);
    touch(1, 1);
    return;
  }
  for (int mine = 0; mine <= last; ++mine) {
    touch(mine, 0);
    if (!is_spread) continue;
    touch(mine, -1);
    touch(mine, 1);
  }
}

// The same of a picture whose row is in that line.
template <std::invocable<int, const Contacts&> Join>
void for_slice_before(const LinkedPicture& picture, const Forest& forest, int row, int line,
                      LinkRows& rows, Join join) {
  constexpr int kOther = 2;
  const int height = picture.stack.slice.height, y = row % height;
  for (int step = -1; step <= 1; ++step) {
    if (step != 0 && picture.connectivity == Connectivity::six) continue;
    if (y + step < 0 || y + step >= height) continue;
    const int other = row - height + step;
    read_link_row(picture.rule, other, kOther, rows);
    join(other, find_link_contacts(picture.rule, reach_across(picture.connectivity, step), line,
                                   kOther, forest.starts(row), forest.starts(other), rows));
  }
}

// Whether the strip before has a slice that the first one of this strip touches.
bool has_slice_seam(Forest& forest, int s) {
  const Stack& stack = forest.stack();
  return !stack.begins_volume(forest.strip(s).begin / stack.slice.height);
}

}  // namespace

void add_strip(const BinaryPicture& picture, Forest& forest, int s, LinkRows& rows) {
  Strip& strip = forest.strip(s);
  const BitImage& pixels = picture.pixels;
  const int height = picture.stack.slice.height;
  for (int row = strip.begin, next; row < strip.end; row = next) {
    const int y = row % height, band = forest.band_of(row);
    const Word* upper = pixels.row(row);
    const Word* lower = picture.lower_row(row);
    next = row + (lower ? 2 : 1);
    const uint32_t births = strip.births;
    find_starts(upper, lower, pixels.words, forest.starts(band));
    forest.begin_band(strip, band);
    if (y > 0 && row > strip.begin) {
      find_contacts(reach_of(picture.connectivity), upper, pixels.row(row - 1), forest.starts(band),
                    forest.starts(band - 1), pixels.words, rows.contacts[0]);
      forest.unite(band, band - 1, {.up = rows.contacts[0]});
    }
    if (row - y > strip.begin && !picture.stack.begins_volume(row / height)) {
      for_slice_before(picture, forest, row, rows, [&](int earlier, const Contacts& contacts) {
        forest.unite(band, earlier, contacts);
      });
    }
    forest.end_band(strip, band);
    if (lower) forest.sort_births(strip, band, births, upper, lower);
  }
}

void join_seam(const BinaryPicture& picture, Forest& forest, int s, LinkRows& rows) {
  const int begin = forest.strip(s).begin, height = picture.stack.slice.height;
  if (picture.stack.depth() == 1) {
    const int band = forest.band_of(begin);
    find_contacts(reach_of(picture.connectivity), picture.pixels.row(begin),
                  picture.pixels.row(begin - 1), forest.starts(band), forest.starts(band - 1),
                  picture.pixels.words, rows.contacts[0]);
    return forest.join_seam(s, band, band - 1, {.up = rows.contacts[0]});
  }
  if (!has_slice_seam(forest, s)) return;
  for (int y = 0; y < height; y += picture.band_rows()) {
    const int band = forest.band_of(begin + y);
    for_slice_before(picture, forest, begin + y, rows, [&](int earlier, const Contacts& contacts) {
      forest.join_seam(s, band, earlier, contacts);
    });
  }
}

void add_strip(const LinkedPicture& picture, Forest& forest, int s, LinkRows& rows) {
  Strip& strip = forest.strip(s);
  const int height = picture.stack.slice.height;
  for (int row = strip.begin; row < strip.end; ++row) {
    const int y = row % height, line = y % 2;
    read_link_row(picture.rule, row, line, rows);
    find_link_starts(picture.rule, line, rows, forest.starts(row));
    forest.begin_band(strip, row);
    if (y > 0 && row > strip.begin) {
      forest.unite(row, row - 1,
                   find_link_contacts(picture.rule, reach_of(picture.connectivity), line, 1 - line,
                                      forest.starts(row), forest.starts(row - 1), rows));
    }
    if (row - y > strip.begin && !picture.stack.begins_volume(row / height)) {
      for_slice_before(
          picture, forest, row, line, rows,
          [&](int earlier, const Contacts& contacts) { forest.unite(row, earlier, contacts); });
    }
    forest.end_band(strip, row);
  }
}

void join_seam(const LinkedPicture& picture, Forest& forest, int s, LinkRows& rows) {
  const int begin = forest.strip(s).begin, height = picture.stack.slice.height;
  if (picture.stack.depth() == 1) {
    read_link_row(picture.rule, begin - 1, 0, rows);
    read_link_row(picture.rule, begin, 1, rows);
    return forest.join_seam(
        s, begin, begin - 1,
        find_link_contacts(picture.rule, reach_of(picture.connectivity), 1, 0, forest.starts(begin),
                           forest.starts(begin - 1), rows));
  }
  if (!has_slice_seam(forest, s)) return;
  for (int row = begin; row < begin + height; ++row) {
    read_link_row(picture.rule, row, 0, rows);
    for_slice_before(picture, forest, row, 0, rows, [&](int earlier, const Contacts& contacts) {
      forest.join_seam(s, row, earlier, contacts);
    });
  }
}

void find_areas(Forest& forest, const BitImage& pixels, uint64_t border, bool is_spatial,
                const Workers& workers) {
  const Stack& stack = forest.stack();
  const int width = stack.slice.width;
  const auto is_last = [](int at, int count) { return at == 0 || at == count - 1; };
  forest.clear_areas();
  workers.parallel_for(forest.strips(), [&](int s) {
    const Strip& strip = forest.strip(s);
    for (int row = strip.begin; row < strip.end; ++row) {
      const int band = forest.band_of(row);
      const Stack::Place place = stack.place(row);
      const auto height = static_cast<uint64_t>(forest.spans().height(row));
      const bool at_edge =
          is_last(place.y, stack.slice.height) || (is_spatial && is_last(place.z, stack.slices));
      for_each_segment(pixels.row(row), forest.starts(band), width,
                       [&](int begin, int end, int64_t run) {
                         if (run < 0) return;
                         const bool touches = at_edge || begin == 0 || end == width;
                         const auto count = static_cast<uint64_t>(end - begin) * height;
                         forest.add_area(strip, band, run, count + (touches ? border : 0));
                       });
    }
  });
  forest.fold_areas();
}

void fill_holes(const BinaryPicture& picture, uint64_t area, Forest& forest,
                const BitImage& background, int strips, LinkRows* rows, const Workers& workers) {
  const Size size = picture.stack.slice;
  const int words = background.words, rest = size.width % kWordBits;
  const Word last = rest ? (Word{1} << rest) - 1 : ~Word{0};
  const BinaryPicture holes{background, picture.stack, picture.spans, dual(picture.connectivity)};
  forest.begin(holes.stack, holes.spans, holes.band_rows(), strips);
  workers.parallel_for(forest.strips(), [&](int s) {
    for (int y = forest.strip(s).begin; y < forest.strip(s).end; ++y) {
      for (int w = 0; w < words; ++w) {
        background.row(y)[w] = ~picture.pixels.row(y)[w] & (w + 1 == words ? last : ~Word{0});
      }
    }
    add_strip(holes, forest, s, rows[s]);
  });
  forest.for_each_seam(workers, [&](int s) { join_seam(holes, forest, s, rows[s]); });
  // More than any area, and so little that as many as there may be runs, 2^31, add up in 63 bits.
  constexpr uint64_t kBorder = uint64_t{1} << 32;
  find_areas(forest, background, kBorder, is_spatial(picture.connectivity), workers);
  const AreaRange filled{1, area};
  forest.number(workers, &filled);
  forest.settle(workers);
  workers.parallel_for(forest.strips(), [&](int s) {
    const Strip& strip = forest.strip(s);
    const uint32_t* label = nullptr;
    for (int y = strip.begin, resolved = -1; y < strip.end; ++y) {
      const int band = forest.band_of(y);
      if (band != resolved) label = forest.resolve(strip, resolved = band);
      Word* row = picture.pixels.row(y);
      for_each_segment(background.row(y), forest.starts(band), size.width,
                       [&](int begin, int end, int64_t run) {
                         if (run < 0 || label[run] == 0) return;
                         for (int x = begin; x < end; ++x) {
                           row[x / kWordBits] |= Word{1} << (x % kWordBits);
                         }
                       });
    }
  });
}

}  // namespace regions
