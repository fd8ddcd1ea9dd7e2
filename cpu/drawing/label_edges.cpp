// Compares labels a chunk of a row at a time, in plain loops that compilers vectorise.
#include "cpu/drawing/label_edges.hpp"

#include <algorithm>
#include <cstring>

namespace regions {

void read_labels(const LabelSampler& labels, int x, int y, int count, uint32_t* to) {
  if (labels.is_plain()) {
    std::memcpy(to, labels.row(y) + static_cast<size_t>(x) * 4, static_cast<size_t>(count) * 4);
  } else {
    for (int i = 0; i < count; ++i) to[i] = labels.at(x + i, y);
  }
}

namespace {

constexpr int kChunk = 256;  // pixels

// Labels of a chunk, with one more at either end; outside the picture those of its border, which
// makes no edge.
struct Line {
  uint32_t label[kChunk + 2];
  uint32_t uniform[kChunk];  // all ones where a pixel equals its left and right neighbour
  uint32_t any;              // nonzero if some label is
  bool compared;             // `uniform` is set

  void load(const LabelSampler& labels, Size picture, int x0, int y) {
    y = std::clamp(y, 0, picture.height - 1);
    const int begin = std::max(0, x0 - 1);
    const int end = std::min(picture.width, x0 + kChunk + 1);
    const int count = end - begin;
    uint32_t* to = label + (begin - (x0 - 1));
    compared = false;
    if (labels.is_plain() && is_background(labels, begin, y, count)) {
      std::memset(label, 0, sizeof label);
      any = 0;
      return;
    }
    read_labels(labels, begin, y, count, to);
    if (begin == x0) label[0] = label[1];
    std::fill(to + count, label + kChunk + 2, to[count - 1]);
    any = 0;
    for (const uint32_t l : label) any |= l;
  }

  // Most of most pictures is background: worth a look before the copy.
  static bool is_background(const LabelSampler& labels, int x, int y, int count) {
    const auto* row = reinterpret_cast<const uint32_t*>(labels.row(y)) + x;
    uint32_t any = 0;
    for (int i = 0; i < count; ++i) any |= row[i];
    return any == 0;
  }

  void compare() {
    if (compared) return;
    compared = true;
    for (int i = 0; i < kChunk; ++i) {
      const bool same = (label[i + 1] == label[i]) & (label[i + 1] == label[i + 2]);
      uniform[i] = same ? ~0u : 0u;
    }
  }
};

// The edges of the line between two others.
void find_edges(const Line& above, const Line& line, const Line& below, uint8_t (&edge)[kChunk]) {
  for (int i = 0; i < kChunk; ++i) {
    const uint32_t label = line.label[i + 1];
    const uint32_t differs = (label ^ above.label[i + 1]) | (label ^ below.label[i + 1]);
    const uint32_t uniform = above.uniform[i] & line.uniform[i] & below.uniform[i];
    edge[i] = (label != 0) & ((differs | ~uniform) != 0);
  }
}

// Bit i is byte i of eight, each 0 or 1: the product brings them side by side into the top byte.
uint32_t packed(const uint8_t* bytes) {
  uint64_t eight;
  std::memcpy(&eight, bytes, 8);
  return static_cast<uint32_t>(eight * 0x0102040810204080u >> 56);
}

}  // namespace

void find_label_edges(const LabelSampler& labels, Image<uint32_t> edges, Size picture, int begin,
                      int end) {
  Line ring[3];
  uint8_t edge[kChunk];
  const auto line = [&ring](int y) -> Line& { return ring[(y + 3) % 3]; };
  for (int x0 = 0; x0 < picture.width; x0 += kChunk) {
    line(begin - 1).load(labels, picture, x0, begin - 1);
    line(begin).load(labels, picture, x0, begin);
    for (int y = begin; y < end; ++y) {
      line(y + 1).load(labels, picture, x0, y + 1);
      uint32_t* words = edges.row(y) + x0 / 32;
      const int count = std::min(kChunk / 32, edges.width - x0 / 32);
      if (line(y).any == 0) {
        std::fill_n(words, count, 0);
        continue;
      }
      for (int i = -1; i <= 1; ++i) line(y + i).compare();
      find_edges(line(y - 1), line(y), line(y + 1), edge);
      for (int w = 0; w < count; ++w) {
        const uint8_t* e = edge + w * 32;
        words[w] = packed(e) | packed(e + 8) << 8 | packed(e + 16) << 16 | packed(e + 24) << 24;
      }
    }
  }
}

bool OutlineRow::find(Image<const uint32_t> edges, int thickness, int y) {
  // Rows of edges that reach this one, with two words of nothing at either end.
  uint32_t near[kWords + 4];
  uint32_t far[kWords + 4];
  const int words = edges.width;
  std::fill_n(near, words + 4, 0);
  std::fill_n(far, words + 4, 0);
  const int last = std::min(edges.height - 1, y + thickness);
  for (int row = std::max(0, y - thickness); row <= last; ++row) {
    uint32_t* to = row == y - thickness || row == y + thickness ? far : near;
    const uint32_t* from = edges.row(row);
    for (int w = 0; w < words; ++w) to[w + 2] |= from[w];
  }
  uint32_t any = 0;
  for (int w = 2; w < words + 2; ++w) any |= far[w] |= near[w];
  if (any == 0) return false;
  for (int w = 0; w < words; ++w) {
    bright_[w] =
        dilated_word({near[w], near[w + 1], near[w + 2], near[w + 3], near[w + 4]}, thickness - 1);
    dark_[w] = dilated_word({far[w], far[w + 1], far[w + 2], far[w + 3], far[w + 4]}, thickness);
  }
  return true;
}

}  // namespace regions
