// Divides lines into rectangles, and places numbers and captions.
#include "core/drawing/marks.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace regions {
namespace {

// A line as a function of the longer axis.
struct Steps {
  bool is_steep;  // the longer axis is y
  double begin, end, position, slope;

  double at(double along) const { return position + (along - begin) * slope; }
};

// Returns the line with begin <= end, clipped to pixels 0 .. length - 1 of the longer axis.
Steps steps_of(const LineMark& line, const Rect& picture) {
  Steps steps = {};
  steps.is_steep = std::abs(line.y2 - line.y1) >= std::abs(line.x2 - line.x1);
  double a = line.x1, b = line.x2, u = line.y1, v = line.y2;
  if (steps.is_steep) {
    std::swap(a, u);
    std::swap(b, v);
  }
  if (a > b) {
    std::swap(a, b);
    std::swap(u, v);
  }
  steps.slope = b > a ? (v - u) / (b - a) : 0;
  const double length = (steps.is_steep ? picture.bottom : picture.right) + 1;
  steps.begin = std::clamp(a, 0.0, length);
  steps.end = std::clamp(b, 0.0, length);
  steps.position = u + (steps.begin - a) * steps.slope;
  return steps;
}

Region mark(uint32_t color) {
  Region region;
  region.layer = kMarkLayer;
  region.first_x = static_cast<int32_t>(color & 0xFFFFFF);
  return region;
}

// Appends a rectangle that is filled: its sides, which are drawn as boxes, must touch. So it is
// divided into parts of at most two line widths.
void append_filled(Rect rect, uint32_t color, const StampPlan& plan, std::vector<Region>& records) {
  rect = rect.within(plan.picture);
  if (rect.empty()) return;
  const int step = 2 * plan.thickness;
  const bool is_tall = rect.bottom - rect.top > rect.right - rect.left;
  const int first = is_tall ? rect.left : rect.top, last = is_tall ? rect.right : rect.bottom;
  for (int at = first; at <= last; at += step) {
    const int end = std::min(at + step - 1, last);
    Region& region = records.emplace_back(mark(color));
    region.left = is_tall ? at : rect.left;
    region.right = is_tall ? end : rect.right;
    region.top = is_tall ? rect.top : at;
    region.bottom = is_tall ? rect.bottom : end;
  }
}

// Divides a text into words of at most TagWord::kMaxGlyphs characters.
std::vector<std::vector<int>> words_of(const std::string& text) {
  std::vector<std::vector<int>> words(1);
  for (const char character : text) {
    constexpr unsigned kContinuationMask = 0xC0, kContinuation = 0x80;  // further bytes in UTF-8
    if ((static_cast<unsigned char>(character) & kContinuationMask) == kContinuation) continue;
    const bool is_space = character == ' ';
    if (is_space || words.back().size() == TagWord::kMaxGlyphs) words.emplace_back();
    if (!is_space) words.back().push_back(glyph_of(character));
  }
  std::erase_if(words, [](const auto& word) { return word.empty(); });
  return words;
}

Region mark_of_word(const std::vector<int>& word, uint32_t color) {
  Region region = mark(color);
  region.track = 1;
  region.area = word.size();
  TagWord glyphs;
  for (size_t i = 0; i < word.size(); ++i) glyphs.set(static_cast<int>(i), word[i]);
  region.sum_x = glyphs.glyphs;
  return region;
}

}  // namespace

void append(const LineMark& line, const StampPlan& plan, std::vector<Region>& records) {
  const bool is_finite = std::isfinite(line.x1) && std::isfinite(line.y1) &&
                         std::isfinite(line.x2) && std::isfinite(line.y2);
  if (!is_finite) return;
  constexpr double kMaxCoordinate = 1 << 20;
  const Steps steps = steps_of(line, plan.picture);
  const int thickness = std::clamp(line.thickness, 1, 64);
  const auto side_at = [&](int along) {
    const double middle = steps.at(std::clamp(along + 0.5, steps.begin, steps.end));
    return static_cast<int>(
        std::floor(std::clamp(middle, -kMaxCoordinate, kMaxCoordinate) - (thickness - 1) / 2.0));
  };
  const int first = static_cast<int>(std::floor(steps.begin));
  const int end = std::max(first + 1, static_cast<int>(std::ceil(steps.end)));
  // Consecutive rows or columns with the same position are one rectangle.
  for (int from = first; from < end;) {
    const int side = side_at(from);
    int to = from + 1;
    while (to < end && side_at(to) == side) ++to;
    const int other = side + thickness - 1;
    append_filled(
        steps.is_steep ? Rect{side, from, other, to - 1} : Rect{from, side, to - 1, other},
        line.color, plan, records);
    from = to;
  }
}

void append(const NumberMark& number, const StampPlan& plan, std::vector<Region>& records) {
  if (!std::isfinite(number.x) || !std::isfinite(number.y)) return;
  int digits = 1;
  for (uint32_t higher = number.number / 10; higher != 0; higher /= 10) ++digits;
  const int width = plan.tag_width(digits), height = plan.tag_height();
  // Stamp places the tag above the box.
  const auto clamped = [](double value, int most) {
    return static_cast<int>(std::clamp(value, 0.0, static_cast<double>(std::max(0, most))));
  };
  Region& region = records.emplace_back(mark(number.color));
  region.left = region.right = clamped(number.x - width / 2.0, plan.picture.right - width + 1);
  region.top = region.bottom = clamped(number.y + height / 2.0, plan.picture.bottom);
  region.track = std::min(number.number, UINT32_MAX - 1) + 1;
}

void append(const CaptionMark& caption, const StampPlan& plan, std::vector<Region>& records) {
  const int gap = plan.tag_margin();
  int left = gap;
  for (const std::vector<int>& word : words_of(caption.text)) {
    const int width = plan.tag_width(static_cast<int>(word.size()));
    if (left + width > plan.picture.right + 1) return;
    Region& region = records.emplace_back(mark_of_word(word, caption.color));
    region.left = region.right = left;
    // Stamp places the tag above the box.
    region.top = region.bottom = std::min(gap + plan.tag_height(), plan.picture.bottom);
    left += width + gap;
  }
}

void append(const LabelMark& label, const StampPlan& plan, std::vector<Region>& records) {
  const Rect box = label.box.within(plan.picture);
  if (box.empty()) return;
  int left = box.left + label.indent;
  for (const std::vector<int>& word : words_of(label.text)) {
    const int width = plan.tag_width(static_cast<int>(word.size()));
    if (left > plan.picture.right) return;
    Region& region = records.emplace_back(mark_of_word(word, label.color));
    region.left = region.right = left;
    region.top = box.top;
    region.bottom = box.bottom;
    left += width;
  }
}

}  // namespace regions
