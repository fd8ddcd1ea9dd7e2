// Feeding rows to the forest.
#include "cpu/cclabel/bands.hpp"

#include "cpu/cclabel/measure.hpp"

namespace regions {

void add_strip(const BinaryPicture& picture, Forest& forest, int s, LinkRows& rows) {
  Strip& strip = forest.strip(s);
  const BitImage& pixels = picture.pixels;
  for (int y = strip.begin; y < strip.end; y += picture.band_rows()) {
    const int band = forest.band_of(y);
    const Word* upper = pixels.row(y);
    const Word* lower = picture.lower_row(y);
    const uint32_t births = strip.births;
    find_starts(upper, lower, pixels.words, forest.starts(band));
    if (y > strip.begin) {
      find_contacts(picture.connectivity, upper, pixels.row(y - 1), forest.starts(band),
                    forest.starts(band - 1), pixels.words, rows.contacts[0]);
    }
    forest.add_band(strip, band, {.up = y > strip.begin ? rows.contacts[0] : nullptr});
    if (lower) forest.sort_births(strip, band, births, upper, lower);
  }
}

void join_seam(const BinaryPicture& picture, Forest& forest, int s, LinkRows& rows) {
  const int y = forest.strip(s).begin, band = forest.band_of(y);
  find_contacts(picture.connectivity, picture.pixels.row(y), picture.pixels.row(y - 1),
                forest.starts(band), forest.starts(band - 1), picture.pixels.words,
                rows.contacts[0]);
  forest.join_seam(s, {.up = rows.contacts[0]});
}

void add_strip(const LinkedPicture& picture, Forest& forest, int s, LinkRows& rows) {
  Strip& strip = forest.strip(s);
  for (int y = strip.begin; y < strip.end; ++y) {
    read_link_row(picture.rule, y, rows);
    find_link_starts(picture.rule, y, rows, forest.starts(y));
    Contacts contacts;
    if (y > strip.begin) {
      contacts = find_link_contacts(picture.rule, picture.connectivity, y, forest.starts(y),
                                    forest.starts(y - 1), rows);
    }
    forest.add_band(strip, y, contacts);
  }
}

void join_seam(const LinkedPicture& picture, Forest& forest, int s, LinkRows& rows) {
  const int y = forest.strip(s).begin;
  read_link_row(picture.rule, y - 1, rows);
  read_link_row(picture.rule, y, rows);
  forest.join_seam(s, find_link_contacts(picture.rule, picture.connectivity, y, forest.starts(y),
                                         forest.starts(y - 1), rows));
}

void find_areas(Forest& forest, const BitImage& pixels, Size size, uint64_t border,
                const Workers& workers) {
  forest.clear_areas();
  workers.parallel_for(forest.strips(), [&](int s) {
    const Strip& strip = forest.strip(s);
    for (int y = strip.begin; y < strip.end; ++y) {
      const int band = forest.band_of(y);
      const bool at_edge = y == 0 || y == size.height - 1;
      for_each_segment(pixels.row(y), forest.starts(band), size.width,
                       [&](int begin, int end, int64_t run) {
                         if (run < 0) return;
                         const bool touches = at_edge || begin == 0 || end == size.width;
                         const auto count = static_cast<uint64_t>(end - begin);
                         forest.add_area(strip, band, run, count + (touches ? border : 0));
                       });
    }
  });
  forest.fold_areas();
}

void fill_holes(const BinaryPicture& picture, uint64_t area, Forest& forest,
                const BitImage& background, int strips, LinkRows* rows, const Workers& workers) {
  const Size size = picture.size;
  const int words = background.words, rest = size.width % kWordBits;
  const Word last = rest ? (Word{1} << rest) - 1 : ~Word{0};
  BinaryPicture holes{background, size, Connectivity::four};
  if (picture.connectivity == Connectivity::four) holes.connectivity = Connectivity::eight;
  forest.begin(size, holes.band_rows(), strips);
  workers.parallel_for(forest.strips(), [&](int s) {
    for (int y = forest.strip(s).begin; y < forest.strip(s).end; ++y) {
      for (int w = 0; w < words; ++w) {
        background.row(y)[w] = ~picture.pixels.row(y)[w] & (w + 1 == words ? last : ~Word{0});
      }
    }
    add_strip(holes, forest, s, rows[s]);
  });
  for (int s = 1; s < forest.strips(); ++s) join_seam(holes, forest, s, rows[0]);
  constexpr uint64_t kBorder = uint64_t{1} << 40;  // more than any area
  find_areas(forest, background, size, kBorder, workers);
  const AreaRange filled{1, area};
  forest.number(workers, &filled);
  forest.settle();
  workers.parallel_for(forest.strips(), [&](int s) {
    const Strip& strip = forest.strip(s);
    const uint32_t* label = nullptr;
    for (int y = strip.begin; y < strip.end; ++y) {
      const int band = forest.band_of(y);
      if (y % holes.band_rows() == 0) label = forest.resolve(strip, band);
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
