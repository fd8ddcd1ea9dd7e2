// Areas of the forest's regions, and their labels.
#include <algorithm>

#include "cpu/cclabel/band_links.hpp"
#include "cpu/cclabel/forest.hpp"

namespace regions {

void Forest::clear_areas() {
  // All roots are among the births, also where number() has left only the regions' roots of them,
  // and the lost roots.
  for (int s = 0; s < strip_count_; ++s) {
    const Strip& strip = strip_[s];
    for (uint32_t k = 0; k < strip.births; ++k) area_[birth_[strip.first_run + k]] = 0;
    for_each_lost(strip, [&](uint32_t root) { area_[root] = 0; });
  }
}

void Forest::fold_areas() {
  for (int s = 0; s < strip_count_; ++s) {
    for_each_lost(strip_[s], [&](uint32_t root) { area_[find(root)] += area_[root]; });
  }
}

void Forest::choose(const BitImage& pixels, const Seeds& seeds) {
  for (int i = 0; i < seeds.count; ++i) {
    const int w = seeds.x[i] / kWordBits;
    const Word bit = Word{1} << seeds.x[i] % kWordBits;
    const int row = spans_.span_of(seeds.y[i]);
    if (!(pixels.row(row)[w] & bit)) continue;
    const int band = band_of(row);
    const Word* begins = starts(band);
    const uint32_t begun = count_row(begins, w) + count_bits(begins[w] & up_to_lowest(bit));
    area_[find(first_run_[band] + begun - 1)] |= AreaRange::kChosen;
  }
}

uint32_t Forest::number(const Workers& workers, const AreaRange* kept) {
  workers.parallel_for(strip_count_, [&](int s) {
    Strip& strip = strip_[s];
    uint32_t* birth = birth_ + strip.first_run;
    for (uint32_t k = 0; k < strip.births; ++k) label_[birth[k]] = 0;
    strip.regions = 0;
    for (uint32_t k = 0; k < strip.births; ++k) {
      const uint32_t root = find(birth[k]);
      if (root < strip.first_run || label_[root] != 0) continue;
      if (kept && !kept->contains(area_[root])) continue;
      birth[strip.regions++] = root;
      label_[root] = strip.regions;
    }
  });
  uint32_t total = 0;
  for (int s = 0; s < strip_count_; ++s) {
    strip_[s].base = total;
    total += strip_[s].regions;
  }
  workers.parallel_for(strip_count_, [&](int s) {
    const Strip& strip = strip_[s];
    if (strip.base == 0) return;
    for (uint32_t k = 0; k < strip.regions; ++k) label_[root_of(strip, k)] += strip.base;
  });
  return total;
}

void Forest::drop_smallest(uint32_t limit) {
  // Radix selection, a byte a pass: `least` becomes the area of the smallest region kept, and
  // `ties` how many regions of just that area are kept.
  uint64_t least = 0, ties = limit;
  for (int shift = 24; shift >= 0; shift -= 8) {
    uint32_t bin[256] = {};
    for (int s = 0; s < strip_count_; ++s) {
      for (uint32_t k = 0; k < strip_[s].regions; ++k) {
        const uint64_t area = area_[root_of(strip_[s], k)];
        if (area >> (shift + 8) == least >> (shift + 8)) ++bin[area >> shift & 255];
      }
    }
    uint64_t digit = 255;
    for (; digit > 0 && bin[digit] < ties; --digit) ties -= bin[digit];
    least |= digit << shift;
  }
  uint32_t label = 0;
  for (int s = 0; s < strip_count_; ++s) {
    for (uint32_t k = 0; k < strip_[s].regions; ++k) {
      const uint32_t root = root_of(strip_[s], k);
      const bool is_tie = area_[root] == least && ties > 0;
      ties -= is_tie;
      label_[root] = area_[root] > least || is_tie ? ++label : 0;
    }
  }
}

void Forest::settle(const Workers& workers) {
  workers.parallel_for(strip_count_, [&](int s) {
    for_each_lost(strip_[s], [&](uint32_t root) { label_[root] = label_[find(root)]; });
  });
  workers.parallel_for(strip_count_, [&](int s) {
    for_each_lost(strip_[s], [&](uint32_t root) { parent_[root] = root; });
  });
}

const uint32_t* Forest::resolve(const Strip& strip, int band) {
  const uint32_t first = first_run_[band];
  label_runs(parent_, label_, first, first + runs(strip, band));
  return label_ + first;
}

}  // namespace regions
