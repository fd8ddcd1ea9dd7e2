// Stamps the ink of boxes and tags into a band of the picture: writes a code (see ink_code()) to
// each pixel of the ink. If several regions cover a pixel, it keeps the greatest code.
//
// Regions are first stamped one by one. If this writes too many pixels, all regions are stamped
// again in decreasing order of their codes. The rows of each rectangle are then divided into nodes
// of a segment tree (core/drawing/stamp.hpp). Each node has one bit per column, which is set when
// the column is covered. Later codes are smaller, so they skip covered columns. Each column of a
// node is written at most once. Each pixel is written at most once per level of the tree, which has
// 7 levels.
#include <algorithm>
#include <bit>

#include "core/drawing/stamp.hpp"
#include "cpu/drawing/drawing.hpp"

namespace regions {
namespace {

// The maximum number of pixels that are stamped one by one, as a multiple of the area of the band.
constexpr size_t kMaxOverdraw = 4;

// Writes code_of(x, y) to each pixel whose existing code is less.
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

// Stamps regions one by one. Returns false if it stopped because it would exceed kMaxOverdraw.
bool stamp_one_by_one(const StampPlan& plan, std::span<const Region> regions, const Ink& ink,
                      const Rect& band) {
  const uint8_t* coverage = glyph_coverage();
  size_t pixels_left = kMaxOverdraw * band.area();
  for (size_t i = 0; i < regions.size(); ++i) {
    const Stamp stamp(plan, regions[i], static_cast<uint32_t>(i));
    if (!stamp.reaches(band)) continue;
    for (int k = 0; k < Stamp::kParts; ++k) {
      const Rect part = stamp.part(k).within(band);
      if (part.empty()) continue;
      if (part.area() > pixels_left) return false;
      pixels_left -= part.area();
      write(ink.codes, part, [&](int x, int y) { return stamp.code(k, x, y, coverage); });
      mark_tiles(ink.tiles, part);
    }
  }
  return true;
}

// The columns of one segment-tree node that are covered by greater codes.
struct CoveredColumns {
  uint32_t* words;  // one bit per column, set if the column is covered
  uint32_t* full;   // one bit per word, set if all columns of the word are covered

  // Returns a mask of the columns first..last in the word that begins with column `start`.
  static uint32_t range_mask(int first, int last, int start) {
    const int low = std::max(first - start, 0);
    const int high = std::min(last - start, 31);
    return ~0u << low & ~0u >> (31 - high);
  }

  // Covers the columns first..last. Calls visit(first, last) for each range of columns that was not
  // covered.
  template <std::invocable<int, int> Visit>
  void cover(int first, int last, Visit visit) const {
    // A word of `full` represents 32 words, which are 1024 columns.
    for (int start = first / (32 * 32) * 32; start <= last / 32; start += 32) {
      uint32_t not_full = ~full[start / 32] & range_mask(first / 32, last / 32, start);
      for (; not_full != 0; not_full &= not_full - 1) {
        const int word = start + std::countr_zero(not_full);
        uint32_t new_columns = range_mask(first, last, word * 32) & ~words[word];
        words[word] |= new_columns;
        if (words[word] == ~0u) full[start / 32] |= not_full & -not_full;
        while (new_columns != 0) {
          const int low = std::countr_zero(new_columns);
          const int high = low + std::countr_one(new_columns >> low) - 1;
          visit(word * 32 + low, word * 32 + high);
          new_columns &= ~range_mask(low, high, 0);
        }
      }
    }
  }
};

// Stamps many regions into a band, in decreasing order of their codes.
class OrderedStamper {
 public:
  OrderedStamper(const Ink& ink, int band_index, const Rect& band)
      : ink_(ink), band_(band), first_row_(band_index * kNodes) {
    mark_tiles(ink.tiles, band);
  }
  ~OrderedStamper() {  // clears the bits of covered columns for the next frame
    for (int row = first_row_; row < first_row_ + kNodes; ++row) {
      std::fill_n(ink_.taken.row(row), ink_.taken.width, 0);
      std::fill_n(ink_.full.row(row), ink_.full.width, 0);
    }
  }
  OrderedStamper(const OrderedStamper&) = delete;
  OrderedStamper& operator=(const OrderedStamper&) = delete;

  // Stamps a rectangle with one code.
  void stamp(const Rect& part, uint32_t code) const {
    if (part.empty()) return;
    const int top = band_.top;
    for_each_node<Ink::kBandHeight>(
        part.top - top, part.bottom - top, [&](const SegmentTreeNode& node) {
          covered(node.index).cover(part.left, part.right, [&](int left, int right) {
            write(ink_.codes, {left, top + node.begin, right, top + node.end - 1},
                  [code](int, int) { return code; });
          });
        });
  }

  // Stamps a tag row by row, so that each code is computed only once. Codes of tags are expensive
  // to compute, and a tag has few rows.
  void stamp_tag(const Stamp& stamp) const {
    const uint8_t* coverage = glyph_coverage();
    const Rect tag = stamp.part(Stamp::kTagPart).within(band_);
    for (int y = tag.top; y <= tag.bottom; ++y) {
      covered(Ink::kBandHeight + y - band_.top)
          .cover(tag.left, tag.right, [&](int left, int right) {
            write(ink_.codes, {left, y, right, y},
                  [&](int u, int v) { return stamp.code(Stamp::kTagPart, u, v, coverage); });
          });
    }
  }

 private:
  static constexpr int kNodes = 2 * Ink::kBandHeight;

  CoveredColumns covered(int node) const {
    return {ink_.taken.row(first_row_ + node), ink_.full.row(first_row_ + node)};
  }

  Ink ink_;
  Rect band_;
  int first_row_;
};

// Stamps the ink of one kind for all regions, in decreasing order of the regions' indices.
void stamp_all(StampPlan plan, std::span<const Region> regions, const Rect& band,
               const OrderedStamper& stamper, InkKind kind) {
  const bool is_tag = kind == InkKind::tag;
  plan.style &= static_cast<uint32_t>(is_tag ? Style::ids : Style::boxes);
  if (plan.style == 0 && !have_marks(regions)) return;
  for (size_t i = regions.size(); i-- > 0;) {
    const auto index = static_cast<uint32_t>(i);
    const Stamp stamp(plan, regions[i], index);
    if (!stamp.reaches(band)) continue;
    if (is_tag) stamper.stamp_tag(stamp);
    for (int k = 0; !is_tag && k < Stamp::kTagPart; ++k) {
      stamper.stamp(stamp.part(k, kind).within(band), ink_code(kind, index, 0));
    }
  }
}

}  // namespace

void stamp_band(const StampPlan& plan, std::span<const Region> regions, const Ink& ink, int band) {
  const int top = band * Ink::kBandHeight;
  const Rect pixels =
      Rect{0, top, plan.picture.right, top + Ink::kBandHeight - 1}.within(plan.picture);
  if (stamp_one_by_one(plan, regions, ink, pixels)) return;
  const OrderedStamper stamper(ink, band, pixels);
  for (const InkKind kind : {InkKind::tag, InkKind::box_edge, InkKind::box_shadow}) {
    stamp_all(plan, regions, pixels, stamper, kind);
  }
}

}  // namespace regions
