// The shapes of rules: areas bounded by rings or a circle, and lines. Coordinates are continuous:
// the pixel in column x and row y covers x .. x + 1 and y .. y + 1.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/region.hpp"

namespace regions::events {

struct Point {
  double x = 0, y = 0;

  bool operator==(const Point&) const = default;
};
inline Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }

// A rectangle with its edges.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  bool contains(Point p) const {
    return p.x >= left && p.x <= right && p.y >= top && p.y <= bottom;
  }
  bool meets(const Box& other) const {
    return left <= other.right && other.left <= right && top <= other.bottom && other.top <= bottom;
  }
  Box grown(double pixels) const {
    return {left - pixels, top - pixels, right + pixels, bottom + pixels};
  }
};
Box bounds_of(std::span<const Point> points);

// The distance between a point and the line segment from `a` to `b`.
double distance_to_segment(Point p, Point a, Point b);

// The pixels first .. end - 1 of a row.
struct PixelSpan {
  int first = 0, end = 0;
};

// An area of a picture: a circle, or the points that an odd number of rings encloses. So a ring
// inside a ring is a hole. Of two areas that share an edge, each point of the edge belongs to one.
class Area {
 public:
  Area() = default;
  explicit Area(std::vector<std::vector<Point>> rings);
  Area(Point center, double radius);

  const Box& bounds() const { return bounds_; }
  bool contains(Point p) const;
  // The distance between the point and the border (pixels).
  double distance_to_border(Point p) const;
  // Whether the box and the area have a point in common.
  bool meets(const Box& box) const;
  // Calls use(span) for the pixels of row y whose centres are inside the area, from left to right.
  // Only columns 0 .. width - 1 are used. `crossings` is memory for intermediate results.
  template <class Use>
  void for_each_span(int y, int width, std::vector<double>& crossings, const Use& use) const {
    find_crossings(y + 0.5, crossings);
    for (size_t i = 0; i + 1 < crossings.size(); i += 2) {
      const PixelSpan span = pixels_between(crossings[i], crossings[i + 1], width);
      if (span.first < span.end) use(span);
    }
  }

 private:
  void find_crossings(double y, std::vector<double>& crossings) const;
  static PixelSpan pixels_between(double low, double high, int width);

  std::vector<std::vector<Point>> rings_;  // empty for a circle
  Point center_;
  double radius_ = 0;
  Box bounds_;
};

// Returns how often a move from `from` to `to` crosses the line: the number of crossings from its
// left to its right side, minus the number in the other direction. Sides are as seen by a viewer
// looking from the first to the last point. A point on the line counts as right of it, so two
// consecutive moves never count one crossing twice.
int crossings_of(std::span<const Point> line, Point from, Point to);
double distance_to_line(std::span<const Point> line, Point p);

// Throws InputError if the rings do not bound an area: a ring with fewer than three corners or
// without area, or edges that meet each other. The message begins with `name`.
void expect_simple(const std::string& name, const std::vector<std::vector<Point>>& rings);

// The pixels of an area in a picture of one size. Regions are counted in it by label.
class AreaPixels {
 public:
  AreaPixels() = default;
  AreaPixels(const Area& area, Size picture);

  Size picture() const { return picture_; }
  uint64_t count() const { return count_; }
  // Adds the number of pixels of each label inside the area to pixels[label]. Labels beyond the end
  // of `pixels` are ignored.
  void add_labels(ConstLabelMap labels, std::span<uint32_t> pixels) const;
  void add_runs(std::span<const PixelRun> runs, std::span<uint32_t> pixels) const;
  // The number of pixels inside the area whose label or mask value is not 0.
  uint64_t count_foreground(ConstLabelMap labels) const;
  uint64_t count_foreground(Image<const uint8_t> mask) const;

 private:
  template <class T>
  uint64_t count_nonzero(Image<const T> image) const;
  std::span<const PixelSpan> row(int y) const {
    return {spans_.data() + begin_[static_cast<size_t>(y - top_)],
            spans_.data() + begin_[static_cast<size_t>(y - top_) + 1]};
  }

  Size picture_;
  uint64_t count_ = 0;
  int top_ = 0, bottom_ = 0;      // the area has pixels only in the rows top_ .. bottom_ - 1
  std::vector<PixelSpan> spans_;  // of all rows
  std::vector<size_t> begin_;     // [bottom_ - top_ + 1], start of the spans of each row
};

}  // namespace regions::events
