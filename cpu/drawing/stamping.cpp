// Region by region until a band has had its fill of ink; then all from the greatest code down.
// A part's rows are made of nodes (core/halves.hpp), each with a bit a column for what a greater
// code has taken, so a node's column is written once and a pixel once a level: 7 times.
#include "cpu/drawing/stamping.hpp"

#include <algorithm>
#include <bit>

#include "core/halves.hpp"

namespace regions {
namespace {

constexpr size_t kFill = 4;  // times a band's area that regions one by one may write

// The greatest code stays.
template <std::invocable<int, int> CodeOf>
void write(const Image<uint32_t>& codes, const Rect& pixels, CodeOf code_of) {
  for (int y = pixels.top; y <= pixels.bottom; ++y) {
    uint32_t* row = codes.row(y);
    for (int x = pixels.left; x <= pixels.right; ++x) row[x] = std::max(row[x], code_of(x, y));
  }
}

void mark_tiles(const Image<uint32_t>& tiles, const Rect& pixels) {
  for (int t = pixels.top / Ink::kTileHeight; t <= pixels.bottom / Ink::kTileHeight; ++t) {
    uint32_t* row = tiles.row(t);
    std::fill(row + pixels.left / Ink::kTileWidth, row + pixels.right / Ink::kTileWidth + 1, 1);
  }
}

// Returns whether all regions are stamped.
bool stamp_few(const StampPlan& plan, std::span<const Region> regions, const Ink& ink,
               const Rect& band) {
  const uint8_t* coverage = glyph_coverage();
  size_t room = kFill * band.area();
  for (size_t i = 0; i < regions.size(); ++i) {
    const Stamp stamp(plan, regions[i], static_cast<uint32_t>(i));
    if (!stamp.reaches(band)) continue;
    for (int k = 0; k < Stamp::kParts; ++k) {
      const Rect part = stamp.part(k).within(band);
      if (part.empty()) continue;
      if (part.area() > room) return false;
      room -= part.area();
      write(ink.codes, part, [&](int x, int y) { return stamp.code(k, x, y, coverage); });
      mark_tiles(ink.tiles, part);
    }
  }
  return true;
}

// What is taken in one node.
struct TakenRow {
  uint32_t* words;  // a bit a column
  uint32_t* full;   // a bit a word

  // Bits first..last of the 32 from `start` on.
  static uint32_t bits(int first, int last, int start) {
    const int low = std::max(first - start, 0);
    const int high = std::min(last - start, 31);
    return ~0u << low & ~0u >> (31 - high);
  }

  // Takes the columns first..last. Calls use(first, last) for each stretch that was free.
  template <std::invocable<int, int> Use>
  void take(int first, int last, Use use) const {
    // A word of `full` stands for 32 words, which are 1024 columns.
    for (int start = first / (32 * 32) * 32; start <= last / 32; start += 32) {
      uint32_t open = ~full[start / 32] & bits(first / 32, last / 32, start);
      for (; open != 0; open &= open - 1) {
        const int word = start + std::countr_zero(open);
        uint32_t fresh = bits(first, last, word * 32) & ~words[word];
        words[word] |= fresh;
        if (words[word] == ~0u) full[start / 32] |= open & -open;
        while (fresh != 0) {
          const int low = std::countr_zero(fresh);
          const int high = low + std::countr_one(fresh >> low) - 1;
          use(word * 32 + low, word * 32 + high);
          fresh &= ~bits(low, high, 0);
        }
      }
    }
  }
};

// Stamps in falling order of codes.
class Crowd {
 public:
  Crowd(const Ink& ink, int band_index, const Rect& band)
      : ink_(ink), band_(band), first_row_(band_index * kNodes) {
    mark_tiles(ink.tiles, band);
  }
  ~Crowd() {
    for (int row = first_row_; row < first_row_ + kNodes; ++row) {
      std::fill_n(ink_.taken.row(row), ink_.taken.width, 0);
      std::fill_n(ink_.full.row(row), ink_.full.width, 0);
    }
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // One code for all pixels.
  void stamp(const Rect& part, uint32_t code) const {
    if (part.empty()) return;
    const int top = band_.top;
    for_each_node<Ink::kBandHeight>(part.top - top, part.bottom - top, [&](const Node& node) {
      taken(node.index).take(part.left, part.right, [&](int left, int right) {
        write(ink_.codes, {left, top + node.begin, right, top + node.end - 1},
              [code](int, int) { return code; });
      });
    });
  }

  // A tag has few rows and dear codes: row by row, so that each pixel is written once.
  void stamp_tag(const Stamp& stamp) const {
    const uint8_t* coverage = glyph_coverage();
    const Rect tag = stamp.part(Stamp::kTagPart).within(band_);
    for (int y = tag.top; y <= tag.bottom; ++y) {
      taken(Ink::kBandHeight + y - band_.top).take(tag.left, tag.right, [&](int left, int right) {
        write(ink_.codes, {left, y, right, y},
              [&](int u, int v) { return stamp.code(Stamp::kTagPart, u, v, coverage); });
      });
    }
  }

 private:
  static constexpr int kNodes = 2 * Ink::kBandHeight;

  TakenRow taken(int node) const {
    return {ink_.taken.row(first_row_ + node), ink_.full.row(first_row_ + node)};
  }

  Ink ink_;
  Rect band_;
  int first_row_;
};

void stamp_crowd(StampPlan plan, std::span<const Region> regions, const Rect& band,
                 const Crowd& crowd, InkKind kind) {
  const bool tags = kind == InkKind::tag;
  plan.style &= static_cast<uint32_t>(tags ? Style::ids : Style::boxes);
  if (plan.style == 0) return;
  for (size_t i = regions.size(); i-- > 0;) {
    const auto index = static_cast<uint32_t>(i);
    const Stamp stamp(plan, regions[i], index);
    if (!stamp.reaches(band)) continue;
    if (tags) crowd.stamp_tag(stamp);
    for (int k = 0; !tags && k < Stamp::kTagPart; ++k) {
      crowd.stamp(stamp.part(k, kind).within(band), ink_code(kind, index, 0));
    }
  }
}

}  // namespace

void stamp_band(const StampPlan& plan, std::span<const Region> regions, const Ink& ink, int band) {
  const int top = band * Ink::kBandHeight;
  const Rect pixels =
      Rect{0, top, plan.picture.right, top + Ink::kBandHeight - 1}.within(plan.picture);
  if (stamp_few(plan, regions, ink, pixels)) return;
  const Crowd crowd(ink, band, pixels);
  for (const InkKind kind : {InkKind::tag, InkKind::box_edge, InkKind::box_shadow}) {
    stamp_crowd(plan, regions, pixels, crowd, kind);
  }
}

}  // namespace regions
