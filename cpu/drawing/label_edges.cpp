// Finds the edges of labels and computes their outlines. Rows are compared in segments of 256
// pixels, in simple loops that compilers vectorise.
#include <algorithm>
#include <cstring>

#include "cpu/drawing/drawing.hpp"

namespace regions {

void read_labels(const LabelSampler& labels, int x, int y, int count, uint32_t* to) {
  if (labels.is_plain()) {
    std::memcpy(to, labels.row(y) + static_cast<size_t>(x) * 4, static_cast<size_t>(count) * 4);
  } else {
    for (int i = 0; i < count; ++i) to[i] = labels.at(x + i, y);
  }
}

namespace {

constexpr int kSegment = 256;  // length of a segment, pixels

// The labels of a row segment and of one more pixel at each end. Pixels outside the picture get the
// label of the nearest pixel inside, so they do not create edges.
struct RowSegment {
  uint32_t label[kSegment + 2];
  // For each pixel: all bits are set if the pixel and its left and right neighbours have the same
  // label, else 0.
  uint32_t uniform[kSegment];
  uint32_t any;      // bitwise OR of all labels
  bool is_compared;  // whether compare() has computed `uniform`

  void load(const LabelSampler& labels, Size picture, int x0, int y) {
    y = std::clamp(y, 0, picture.height - 1);
    const int begin = std::max(0, x0 - 1);
    const int end = std::min(picture.width, x0 + kSegment + 1);
    const int count = end - begin;
    uint32_t* to = label + (begin - (x0 - 1));
    is_compared = false;
    if (labels.is_plain() && is_background(labels, begin, y, count)) {
      std::memset(label, 0, sizeof label);
      any = 0;
      return;
    }
    read_labels(labels, begin, y, count, to);
    if (begin == x0) label[0] = label[1];
    std::fill(to + count, label + kSegment + 2, to[count - 1]);
    any = 0;
    for (const uint32_t l : label) any |= l;
  }

  // Returns whether all labels are 0. Most pixels of typical pictures are background, so this check
  // often avoids a copy.
  static bool is_background(const LabelSampler& labels, int x, int y, int count) {
    const auto* row = reinterpret_cast<const uint32_t*>(labels.row(y)) + x;
    uint32_t any = 0;
    for (int i = 0; i < count; ++i) any |= row[i];
    return any == 0;
  }

  // Computes `uniform` unless it has been computed already.
  void compare() {
    if (is_compared) return;
    is_compared = true;
    for (int i = 0; i < kSegment; ++i) {
      const bool same = (label[i + 1] == label[i]) & (label[i + 1] == label[i + 2]);
      uniform[i] = same ? ~0u : 0u;
    }
  }
};

// Sets edge[i] to 1 if pixel i of `row` is an edge, else to 0. `above` and `below` are the adjacent
// rows.
void find_edges(const RowSegment& above, const RowSegment& row, const RowSegment& below,
                uint8_t (&edge)[kSegment]) {
  for (int i = 0; i < kSegment; ++i) {
    const uint32_t label = row.label[i + 1];
    const uint32_t differs = (label ^ above.label[i + 1]) | (label ^ below.label[i + 1]);
    const uint32_t uniform = above.uniform[i] & row.uniform[i] & below.uniform[i];
    edge[i] = (label != 0) & ((differs | ~uniform) != 0);
  }
}

// Packs eight bytes of 0 or 1 into eight bits: the multiplication collects the bits in the highest
// byte of the product.
uint32_t pack_bits(const uint8_t* bytes) {
  uint64_t eight;
  std::memcpy(&eight, bytes, 8);
  return static_cast<uint32_t>(eight * 0x0102040810204080u >> 56);
}

}  // namespace

void find_label_edges(const LabelSampler& labels, Image<uint32_t> edges, Size picture, int begin,
                      int end) {
  RowSegment ring[3];
  uint8_t edge[kSegment];
  const auto row = [&ring](int y) -> RowSegment& { return ring[(y + 3) % 3]; };
  for (int x0 = 0; x0 < picture.width; x0 += kSegment) {
    row(begin - 1).load(labels, picture, x0, begin - 1);
    row(begin).load(labels, picture, x0, begin);
    for (int y = begin; y < end; ++y) {
      row(y + 1).load(labels, picture, x0, y + 1);
      uint32_t* words = edges.row(y) + x0 / 32;
      const int count = std::min(kSegment / 32, edges.width - x0 / 32);
      if (row(y).any == 0) {
        std::fill_n(words, count, 0);
        continue;
      }
      for (int i = -1; i <= 1; ++i) row(y + i).compare();
      find_edges(row(y - 1), row(y), row(y + 1), edge);
      for (int w = 0; w < count; ++w) {
        const uint8_t* e = edge + w * 32;
        words[w] = pack_bits(e) | pack_bits(e + 8) << 8 | pack_bits(e + 16) << 16 |
                   pack_bits(e + 24) << 24;
      }
    }
  }
}

bool OutlineRow::compute(Image<const uint32_t> edges, int thickness, int y) {
  // `inner` is the union of the rows of `edges` that are less than `thickness` rows away from row
  // y. `outer` also includes the rows that are exactly `thickness` rows away. Each array has two
  // zero words at each end.
  uint32_t inner[kMaxWords + 4];
  uint32_t outer[kMaxWords + 4];
  const int words = edges.width;
  std::fill_n(inner, words + 4, 0);
  std::fill_n(outer, words + 4, 0);
  const int last = std::min(edges.height - 1, y + thickness);
  for (int row = std::max(0, y - thickness); row <= last; ++row) {
    uint32_t* to = row == y - thickness || row == y + thickness ? outer : inner;
    const uint32_t* from = edges.row(row);
    for (int w = 0; w < words; ++w) to[w + 2] |= from[w];
  }
  uint32_t any = 0;
  for (int w = 2; w < words + 2; ++w) any |= outer[w] |= inner[w];
  if (any == 0) return false;
  for (int w = 0; w < words; ++w) {
    outline_[w] = dilated_word({inner[w], inner[w + 1], inner[w + 2], inner[w + 3], inner[w + 4]},
                               thickness - 1);
    shadow_[w] =
        dilated_word({outer[w], outer[w + 1], outer[w + 2], outer[w + 3], outer[w + 4]}, thickness);
  }
  return true;
}

}  // namespace regions
