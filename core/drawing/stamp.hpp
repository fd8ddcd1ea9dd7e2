// Stamping: computes the ink codes that the box and the id of a region write, and the pixels that
// get them. An ink code contains the kind in its upper 3 bits, the index of the region's record in
// the next 21 bits, and the coverage of the glyph in the lower 8 bits. If several regions write to
// one pixel, the largest code remains. So neither the number nor the order of threads changes the
// picture.
#pragma once

#include <cstdint>

#include "core/drawing/drawing.hpp"

namespace regions {

struct GlyphSize {
  int em = 0;      // nominal font height, pixels
  int width = 0;   // pixels of a character's cell, equal for all characters
  int height = 0;  // pixels of a character's cell, without margins
  // Index of the first of [glyphs][height][width] values in the coverage table. The first ten
  // glyphs are the digits.
  uint32_t start = 0;
};

// The glyph size for a picture with this many rows.
GlyphSize glyphs_for(int picture_height);

// Returns the coverage table in host memory. The GPU has its own copy (glyph_table.hpp).
const uint8_t* glyph_coverage();

// Returns the index of a character's glyph. Letters are shown as capitals. A character without a
// glyph is shown as a question mark.
int glyph_of(char character);

// The word of a tag: the indices of up to 10 glyphs, packed into a number.
struct TagWord {
  static constexpr int kMaxGlyphs = 10;
  static constexpr int kBits = 6;  // of an index

  uint64_t glyphs = 0;

  REGIONS_HD constexpr void set(int place, int glyph) {
    glyphs |= static_cast<uint64_t>(glyph) << (place * kBits);
  }
  REGIONS_HD constexpr uint32_t at(int place) const {
    return static_cast<uint32_t>(glyphs >> (place * kBits)) & ((1U << kBits) - 1);
  }
};

// The kinds of ink, from the lowest layer to the highest. Outlines are drawn between box_shadow and
// box_edge (see paint.hpp).
enum class InkKind : uint8_t { none, box_shadow, box_edge, tag };

// Maximum number of records that are drawn; later records are not drawn.
inline constexpr uint32_t kMaxStamped = 1u << 21;

REGIONS_HD constexpr uint32_t ink_code(InkKind kind, uint32_t index, uint32_t coverage) {
  return static_cast<uint32_t>(kind) << 29 | index << 8 | coverage;
}
REGIONS_HD constexpr InkKind kind_of(uint32_t code) { return static_cast<InkKind>(code >> 29); }
REGIONS_HD constexpr uint32_t index_of(uint32_t code) { return code >> 8 & (kMaxStamped - 1); }
REGIONS_HD constexpr int coverage_of(uint32_t code) { return static_cast<int>(code & 255); }

// A rectangle whose four sides are inclusive. Empty if right < left or bottom < top.
struct Rect {
  int left = 0, top = 0, right = -1, bottom = -1;

  REGIONS_HD constexpr bool empty() const { return right < left || bottom < top; }
  // Number of pixels. The rectangle must not be empty.
  REGIONS_HD constexpr size_t area() const {
    return static_cast<size_t>(right - left + 1) * static_cast<size_t>(bottom - top + 1);
  }
  // Returns this rectangle in coordinates relative to (x, y).
  REGIONS_HD constexpr Rect from(int x, int y) const {
    return {left - x, top - y, right - x, bottom - y};
  }
  // The intersection of both rectangles.
  REGIONS_HD constexpr Rect within(const Rect& other) const {
    return {left > other.left ? left : other.left, top > other.top ? top : other.top,
            right < other.right ? right : other.right,
            bottom < other.bottom ? bottom : other.bottom};
  }
};

// Values shared by all stamps of one frame.
struct StampPlan {
  Rect picture;
  uint32_t style = 0;
  int thickness = 1;
  GlyphSize glyphs;

  REGIONS_HD constexpr int tag_margin() const {
    return glyphs.height / 5 > 2 ? glyphs.height / 5 : 2;
  }
  REGIONS_HD constexpr int tag_width(int characters) const {
    return characters * glyphs.width + 2 * tag_margin();
  }
  REGIONS_HD constexpr int tag_height() const { return glyphs.height + 2 * tag_margin(); }
};
inline StampPlan stamp_plan(Size picture, const DrawingParams& params) {
  return {{0, 0, picture.width - 1, picture.height - 1},
          params.style,
          params.thickness,
          glyphs_for(picture.height)};
}

// The ink of one region: the four bars of its box, and its tag (a plate with the id, or the word of
// a mark). Regions
// without a track have no tag. A mark has either bars or a tag, whatever the style.
class Stamp {
 public:
  static constexpr int kParts = 5;  // four bars and the tag
  static constexpr int kTagPart = 4;

  // The maximum number of pixels in one part of any region.
  static size_t max_pixels(const StampPlan& plan) {
    const Size picture{plan.picture.right + 1, plan.picture.bottom + 1};
    const auto bar = static_cast<size_t>(larger(picture.width, picture.height)) *
                     static_cast<size_t>(plan.thickness + 1);
    const size_t tag = Size{plan.tag_width(TagWord::kMaxGlyphs), plan.tag_height()}.area();
    return bar > tag ? bar : tag;
  }

  REGIONS_HD Stamp(const StampPlan& plan, const Region& region, uint32_t index)
      : plan_(plan),
        index_(index),
        number_(region.track - (is_mark(region) ? 1 : 0)),
        word_{is_mark(region) ? region.sum_x : 0},
        is_word_(is_mark(region) && region.area > 0),
        characters_(is_word_ ? static_cast<int>(region.area) : 0) {
    // Clamp coordinates far outside the picture to prevent overflow. This does not change the
    // result.
    box_ = Rect{region.left, region.top, region.right, region.bottom}.within(
        {-kMaxCoordinate, -kMaxCoordinate, kMaxCoordinate, kMaxCoordinate});
    visible_ = !box_.within(plan.picture).empty();
    const bool has_track = region.track != 0;
    const bool has_tag =
        has_track && (is_mark(region) || (plan.style & static_cast<uint32_t>(Style::ids)));
    has_bars_ = visible_ &&
                (is_mark(region) ? !has_track : (plan.style & static_cast<uint32_t>(Style::boxes)));
    if (visible_ && has_tag) place_tag();
  }

  // True if the rectangle `pixels` may contain ink of this region.
  REGIONS_HD bool reaches(const Rect& pixels) const {
    return !box_.within(pixels).empty() || !tag_.within(pixels).empty();
  }

  // The pixels of part k inside the picture. The bars of a region do not overlap each other. Its
  // tag may overlap them.
  REGIONS_HD Rect part(int k) const {
    // The innermost line of a bar is its shadow.
    return k == kTagPart ? tag_.within(plan_.picture) : bar(box_, plan_.thickness + 1, k);
  }

  // The pixels of part k with codes of this kind.
  REGIONS_HD Rect part(int k, InkKind kind) const {
    if ((k == kTagPart) != (kind == InkKind::tag)) return {};
    if (kind == InkKind::tag) return part(k);
    const int t = plan_.thickness;
    if (kind == InkKind::box_edge) return bar(box_, t, k);
    return bar({box_.left + t, box_.top + t, box_.right - t, box_.bottom - t}, 1, k);
  }

  // The code of a pixel of part k.
  REGIONS_HD uint32_t code(int k, int x, int y, const uint8_t* coverage) const {
    if (k == kTagPart) return ink_code(InkKind::tag, index_, tag_coverage(x, y, coverage));
    const int across = smaller(x - box_.left, box_.right - x);
    const int down = smaller(y - box_.top, box_.bottom - y);
    const bool shadow = smaller(across, down) >= plan_.thickness;
    return ink_code(shadow ? InkKind::box_shadow : InkKind::box_edge, index_, 0);
  }

 private:
  static constexpr int kMaxCoordinate = 1 << 20;
  REGIONS_HD static constexpr int smaller(int a, int b) { return a < b ? a : b; }
  REGIONS_HD static constexpr int larger(int a, int b) { return a > b ? a : b; }

  // Bar k of a box: 0 is the top, 1 the bottom, 2 the left and 3 the right bar. Together, the bars
  // contain the pixels of `box` whose distance from its border is below `thickness`.
  REGIONS_HD Rect bar(const Rect& box, int thickness, int k) const {
    if (!has_bars_) return {};
    Rect bar = box;
    if (k == 0) bar.bottom = box.top + thickness - 1;
    if (k == 1) bar.top = larger(box.bottom - thickness + 1, box.top + thickness);
    if (k >= 2) {
      bar.top = box.top + thickness;
      bar.bottom = box.bottom - thickness;
    }
    if (k == 2) bar.right = box.left + thickness - 1;
    if (k == 3) bar.left = larger(box.right - thickness + 1, box.left + thickness);
    return bar.within(box).within(plan_.picture);
  }

  // Places the tag above the box. If there is not enough space, places it below the box, and
  // otherwise inside the box at its top.
  REGIONS_HD void place_tag() {
    if (!is_word_) {
      characters_ = 1;
      for (uint32_t higher = number_ / 10; higher != 0; higher /= 10) ++characters_;
    }
    const int width = plan_.tag_width(characters_);
    const int height = plan_.tag_height();
    const Rect& picture = plan_.picture;
    tag_.left = larger(0, smaller(box_.left, picture.right - width + 1));
    if (box_.top >= height) {
      tag_.top = box_.top - height;
    } else if (box_.bottom <= picture.bottom - height) {
      tag_.top = box_.bottom + 1;
    } else {
      tag_.top = larger(0, smaller(box_.top, picture.bottom - height + 1));
    }
    tag_.right = tag_.left + width - 1;
    tag_.bottom = tag_.top + height - 1;
  }

  REGIONS_HD uint32_t tag_coverage(int x, int y, const uint8_t* coverage) const {
    const GlyphSize& g = plan_.glyphs;
    const int column = x - tag_.left - plan_.tag_margin();
    const int row = y - tag_.top - plan_.tag_margin();
    if (column < 0 || row < 0 || row >= g.height || column >= characters_ * g.width) return 0;
    const auto cell = static_cast<uint32_t>(g.height * g.width) * glyph_at(column / g.width);
    return coverage[g.start + cell + static_cast<uint32_t>(row * g.width + column % g.width)];
  }

  // The glyph of a character of the tag.
  REGIONS_HD uint32_t glyph_at(int place) const {
    if (is_word_) return word_.at(place);
    uint32_t digits = number_;
    for (int skipped = characters_ - 1 - place; skipped > 0; --skipped) digits /= 10;
    return digits % 10;
  }

  StampPlan plan_;
  uint32_t index_;
  uint32_t number_;  // shown on the tag, unless it has a word
  TagWord word_;
  bool is_word_;
  int characters_;  // of the tag
  Rect box_;
  Rect tag_;
  bool visible_;
  bool has_bars_;
};

// A node of a segment tree over the rows or columns 0..kLength-1. Node 1 is the root, and the
// children of node n are 2 n and 2 n + 1. Each row or column is in one node per level.
struct SegmentTreeNode {
  int index;
  int begin, end;  // the node covers begin..end - 1
};

// Calls use(SegmentTreeNode) for the nodes that together cover first..last of 0..kLength-1, where
// kLength is a power of two. There are at most two nodes per level, and only one node for the whole
// range.
template <int kLength, class Use>
REGIONS_HD void for_each_node(int first, int last, Use use) {
  static_assert((kLength & (kLength - 1)) == 0);
  int low = first + kLength;
  int high = last + kLength + 1;
  const auto node = [](int index, int length) {
    return SegmentTreeNode{index, index * length - kLength, (index + 1) * length - kLength};
  };
  for (int length = 1; low < high; low /= 2, high /= 2, length *= 2) {
    if (low & 1) use(node(low++, length));
    if (high & 1) use(node(--high, length));
  }
}

}  // namespace regions
