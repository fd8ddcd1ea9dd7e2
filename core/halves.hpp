// Rows or columns as a tree of halves: a stretch of any length is made of few nodes, and a pixel
// lies in one node of each level.
#pragma once

#include "core/image.hpp"

namespace regions {

// Node 1 is the whole, 2 n and 2 n + 1 are the halves of n.
struct Node {
  int index;
  int begin, end;  // what it covers
};

// Calls use(Node) for the nodes that make up first..last of 0..kLength-1, kLength a power of two:
// at most two of each level, one if it is the whole.
template <int kLength, class Use>
REGIONS_HD void for_each_node(int first, int last, Use use) {
  static_assert((kLength & (kLength - 1)) == 0);
  int low = first + kLength;
  int high = last + kLength + 1;
  const auto node = [](int index, int length) {
    return Node{index, index * length - kLength, (index + 1) * length - kLength};
  };
  for (int length = 1; low < high; low /= 2, high /= 2, length *= 2) {
    if (low & 1) use(node(low++, length));
    if (high & 1) use(node(--high, length));
  }
}

}  // namespace regions
