// Compiled once per level of the instruction set, as counting bits is most of the work.
#include "cpu/cclabel/band_links.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/cclabel/touching_runs.hpp"

namespace regions {
namespace {

// The root of a node. Most hang from it directly, or are one; else every second node on the way is
// linked to its grandparent (path halving), from the second one on.
REGIONS_INLINE uint32_t find_halving(uint32_t* parent, uint32_t node) {
  node = parent[node];
  while (parent[node] != node) {
    const uint32_t above = parent[node];
    node = parent[node] = parent[above];
  }
  return node;
}

// Hangs runs of a band on trees of earlier bands.
struct Uniting {
  uint32_t* parent;

  REGIONS_INLINE void operator()(uint32_t node, uint32_t other) const {
    const uint32_t upper_root = find_halving(parent, other);
    if (parent[node] == node) {  // its first contact
      parent[node] = upper_root;
      return;
    }
    const uint32_t root = find_halving(parent, node);
    if (root == upper_root) return;
    if (root < upper_root) {
      parent[upper_root] = root;
    } else {
      parent[root] = upper_root;
    }
  }
  // As many of each that follow one another. Those without a contact yet hang from what the others
  // hang from, which need be no root: halve_paths() shortens the way.
  REGIONS_INLINE void operator()(uint32_t node, uint32_t other, uint32_t count) const {
    for (; count >= kLanes && is_new(node); count -= kLanes, node += kLanes, other += kLanes) {
      std::memcpy(parent + node, parent + other, kLanes * sizeof *parent);
    }
    for (uint32_t k = 0; k < count; ++k) (*this)(node + k, other + k);
  }

 private:
  static constexpr uint32_t kLanes = 8;

  // Whether neither the node nor one of the next ones has had a contact.
  REGIONS_INLINE bool is_new(uint32_t node) const {
    uint32_t differ = 0;
    for (uint32_t k = 0; k < kLanes; ++k) differ |= parent[node + k] ^ (node + k);
    return differ == 0;
  }
};

}  // namespace

REGIONS_CLONES
uint32_t count_row(const Word* row, int words) {
  uint32_t count = 0;
  for (int w = 0; w < words; ++w) count += count_bits(row[w]);
  return count;
}

REGIONS_CLONES
void unite_band(uint32_t* parent, const Contacts& contacts, const Word* lower, const Word* upper,
                uint32_t lower_first, uint32_t upper_first, int words) {
  for_all_contacts(contacts, lower, upper, lower_first, upper_first, words, Uniting{parent});
}

REGIONS_CLONES
uint32_t halve_paths(uint32_t* parent, uint32_t first, uint32_t end, uint32_t* birth) {
  uint32_t births = 0;
  for (uint32_t node = first; node < end; ++node) {
    const uint32_t above = parent[parent[node]];
    parent[node] = above;
    birth[births] = node;
    births += above == node;
  }
  return births;
}

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

}  // namespace regions
