// Marks: lines, numbers and captions that are drawn together with the regions. A mark is a record
// of the type Region, so both backends draw it without further code.
#pragma once

#include <string>
#include <vector>

#include "core/drawing/stamp.hpp"

namespace regions {

// A line from (x1, y1) to (x2, y2). Coordinates are between pixels: pixel 0 covers 0 .. 1.
struct LineMark {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  uint32_t color = 0;     // 0xRRGGBB
  int32_t thickness = 2;  // pixels
};

// A number on a plate whose centre is at (x, y).
struct NumberMark {
  double x = 0, y = 0;
  uint32_t number = 0;
  uint32_t color = 0;  // 0xRRGGBB
};

// Words on plates, in a row from the upper left corner of the picture. A word of more than 10
// characters has several plates.
struct CaptionMark {
  std::string text;    // UTF-8
  uint32_t color = 0;  // 0xRRGGBB
};

// Words on plates above a box, from its left side on. If there is not enough space, below the box.
struct LabelMark {
  Rect box;
  int indent = 0;      // space at the left, pixels
  std::string text;    // UTF-8
  uint32_t color = 0;  // 0xRRGGBB
};

// Append the records of a mark for a picture that is drawn with `plan`. Parts outside of the
// picture are left out.
void append(const LineMark& line, const StampPlan& plan, std::vector<Region>& records);
void append(const NumberMark& mark, const StampPlan& plan, std::vector<Region>& records);
void append(const CaptionMark& caption, const StampPlan& plan, std::vector<Region>& records);
void append(const LabelMark& label, const StampPlan& plan, std::vector<Region>& records);

}  // namespace regions
