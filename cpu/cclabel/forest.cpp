// Building, joining and numbering the forest of runs.
#include "cpu/cclabel/forest.hpp"

#include <algorithm>

#include "cpu/cclabel/write.hpp"

namespace regions {
namespace {

// The root of a node; every second node on the way is hung higher (path halving).
REGIONS_INLINE uint32_t find_halving(uint32_t* parent, uint32_t node) {
  while (parent[node] != node) {
    const uint32_t above = parent[node];
    node = parent[node] = parent[above];
  }
  return node;
}

// Calls join(lower, upper) with the nodes that touch at the bits of one kind of contact. kShift is
// where the upper column lies from the bit's own.
template <int kShift, class Join>
REGIONS_INLINE void for_each_contact(const Word* contacts, const Word* lower, const Word* upper,
                                     uint32_t lower_first, uint32_t upper_first, int words,
                                     Join join) {
  uint32_t lower_before = lower_first - 1, upper_before = upper_first - 1;
  for (int w = 0; w < words; ++w) {
    for (Word bits = contacts[w]; bits; bits &= bits - 1) {
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

template <class Join>
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

template <class T>
T* cut(std::byte*& memory, size_t count) {
  T* piece = reinterpret_cast<T*>(memory);
  memory += (count * sizeof(T) + 63) / 64 * 64;
  return piece;
}

}  // namespace

REGIONS_CLONES
uint32_t count_row(const Word* row, int words) {
  uint32_t count = 0;
  for (int w = 0; w < words; ++w) count += count_bits(row[w]);
  return count;
}

// Unites what touches; larger roots are hung below smaller ones, so roots are first runs.
REGIONS_CLONES
void unite_band(uint32_t* parent, const Contacts& contacts, const Word* lower, const Word* upper,
                uint32_t lower_first, uint32_t upper_first, int words) {
  const auto join = [&](uint32_t node, uint32_t other) __attribute__((always_inline)) {
    const uint32_t upper_root = find_halving(parent, other);
    if (parent[node] == node) {  // its first contact
      parent[node] = upper_root;
      return;
    }
    const uint32_t root = find_halving(parent, node);
    if (root < upper_root) {
      parent[upper_root] = root;
    } else {
      parent[root] = upper_root;
    }
  };
  for_all_contacts(contacts, lower, upper, lower_first, upper_first, words, join);
}

// Hangs each run one step higher, and lists the births: runs that still are their own parent.
REGIONS_CLONES
uint32_t shorten(uint32_t* parent, uint32_t first, uint32_t end, uint32_t* birth) {
  uint32_t births = 0;
  for (uint32_t node = first; node < end; ++node) {
    const uint32_t above = parent[parent[node]];
    parent[node] = above;
    birth[births] = node;
    births += above == node;
  }
  return births;
}

// Moves the births without a pixel in `upper` behind the others; `below` is workspace.
REGIONS_CLONES
void order_births(uint32_t* birth, uint32_t count, uint32_t first_run, const Word* starts,
                  const Word* upper, const Word* lower, int words, uint32_t* below) {
  // Births are in order of columns; walk along the band and look at each one's pixels.
  uint32_t later = 0, next = 0, before = first_run;
  for (int w = 0; next < count; ++w) {
    const uint32_t here = count_bits(starts[w]);
    for (Word bits = starts[w]; next < count && birth[next] < before + here; ++next) {
      const uint32_t rank = birth[next] - before - (here - count_bits(bits));
      for (uint32_t k = 0; k < rank; ++k) bits &= bits - 1;
      // Adding the first bit of a run carries to just behind its last one in this word.
      const Word whole = upper[w] | lower[w];
      Word run = whole & ~(whole + (bits & -bits));
      bool has_upper = (run & upper[w]) != 0;
      for (int v = w + 1; !has_upper && run >> (kWordBits - 1) && v < words; ++v) {
        const Word rest = upper[v] | lower[v];
        run = rest & ~(rest + 1);
        has_upper = (run & upper[v]) != 0;
      }
      if (has_upper) {
        birth[next - later] = birth[next];
      } else {
        below[later++] = birth[next];
      }
    }
    before += here;
  }
  std::copy_n(below, later, birth + count - later);
}

REGIONS_CLONES
void label_runs(const uint32_t* parent, uint32_t* label, uint32_t first, uint32_t end) {
  for (uint32_t node = first; node < end; ++node) label[node] = label[parent[node]];
}

void Forest::allocate(Backend& backend, const Stack& most) {
  // Runs are at most the pixels; memory that is never touched costs nothing.
  const Size size = most.size();
  const size_t nodes = size.area() + 2 * kValueSlack, bands = static_cast<size_t>(size.height) + 1;
  const size_t words = static_cast<size_t>(words_for(size.width)) * bands;
  memory_ = backend.allocate(nodes * (5 * sizeof(uint32_t) + sizeof(uint64_t)) +
                             words * sizeof(Word) + bands * sizeof(uint32_t) + 7 * 64);
  auto* memory = memory_.as<std::byte>();
  starts_ = {cut<Word>(memory, words), 0};
  first_run_ = cut<uint32_t>(memory, bands);
  parent_ = cut<uint32_t>(memory, nodes);
  label_ = cut<uint32_t>(memory, nodes) + kValueSlack;
  birth_ = cut<uint32_t>(memory, nodes);
  area_ = cut<uint64_t>(memory, nodes);
  lost_ = cut<uint32_t>(memory, 2 * nodes);
}

void Forest::begin(const Stack& stack, int band_rows, int strips) {
  stack_ = stack;
  band_rows_ = band_rows;
  starts_.words = words_for(stack.slice.width);
  bands_ = (stack.slice.height + band_rows - 1) / band_rows;
  // A strip is so many of these: bands of the only slice, or slices.
  const bool is_flat = stack.depth() == 1;
  seam_ = is_flat ? static_cast<size_t>(stack.slice.width) : stack.slice.area();
  const int pieces = is_flat ? bands_ : stack.depth();
  const int rows_of_piece = is_flat ? band_rows : stack.slice.height;
  const int each = (pieces + strips - 1) / strips;
  strip_count_ = (pieces + each - 1) / each;
  for (int s = 0; s < strip_count_; ++s) {
    const int end = std::min(pieces, (s + 1) * each);
    strip_[s] = {.begin = s * each * rows_of_piece,
                 .end = std::min(stack.rows(), end * rows_of_piece),
                 .end_band = is_flat ? end : end * bands_};
    strip_[s].first_run = static_cast<uint32_t>(static_cast<size_t>(strip_[s].begin) *
                                                static_cast<size_t>(stack.slice.width));
  }
}

void Forest::begin_band(Strip& strip, int band) {
  const uint32_t first = strip.first_run + strip.runs;
  const uint32_t end = first + count_row(starts(band), starts_.words);
  first_run_[band] = first;
  for (uint32_t node = first; node < end; ++node) parent_[node] = node;
  strip.runs = end - strip.first_run;
}

void Forest::unite(int band, int earlier, const Contacts& contacts) {
  unite_band(parent_, contacts, starts(band), starts(earlier), first_run_[band],
             first_run_[earlier], starts_.words);
}

void Forest::end_band(Strip& strip, int band) {
  strip.births += shorten(parent_, first_run_[band], strip.first_run + strip.runs,
                          birth_ + strip.first_run + strip.births);
}

void Forest::sort_births(Strip& strip, int band, uint32_t births_before, const Word* upper,
                         const Word* lower) {
  uint32_t* birth = birth_ + strip.first_run + births_before;
  const uint32_t count = strip.births - births_before;
  uint32_t* below = label_ + strip.first_run + strip.runs;  // free until later bands
  if (count > 1) {
    order_births(birth, count, first_run_[band], starts(band), upper, lower, starts_.words, below);
  }
}

void Forest::join_seam(int s, int band, int earlier, const Contacts& contacts) {
  // Nothing but roots is changed, so each strip's own trees stay as they are.
  uint32_t* lost = lost_of(strip_[s]) + strip_[s].lost;
  const auto join = [&](uint32_t node, uint32_t other) {
    const uint32_t a = find(node), b = find(other);
    if (a == b) return;
    parent_[std::max(a, b)] = std::min(a, b);
    *lost++ = std::max(a, b);
  };
  for_all_contacts(contacts, starts(band), starts(earlier), first_run_[band], first_run_[earlier],
                   starts_.words, join);
  strip_[s].lost = static_cast<uint32_t>(lost - lost_of(strip_[s]));
}

void Forest::clear_areas() {
  // Births, which a numbering may have thinned out to the regions' roots; all roots are among both.
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
    if (!(pixels.row(seeds.y[i])[w] & bit)) continue;
    const int band = band_of(seeds.y[i]);
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
  // Radix selection, a byte a pass: `cut` becomes the area of the last region kept, and `room` how
  // many of just that area are kept.
  uint64_t cut = 0, room = limit;
  for (int shift = 24; shift >= 0; shift -= 8) {
    uint32_t bin[256] = {};
    for (int s = 0; s < strip_count_; ++s) {
      for (uint32_t k = 0; k < strip_[s].regions; ++k) {
        const uint64_t area = area_[root_of(strip_[s], k)];
        if (area >> (shift + 8) == cut >> (shift + 8)) ++bin[area >> shift & 255];
      }
    }
    uint64_t digit = 255;
    for (; digit > 0 && bin[digit] < room; --digit) room -= bin[digit];
    cut |= digit << shift;
  }
  uint32_t label = 0;
  for (int s = 0; s < strip_count_; ++s) {
    for (uint32_t k = 0; k < strip_[s].regions; ++k) {
      const uint32_t root = root_of(strip_[s], k);
      const bool tie = area_[root] == cut && room > 0;
      room -= tie;
      label_[root] = area_[root] > cut || tie ? ++label : 0;
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
