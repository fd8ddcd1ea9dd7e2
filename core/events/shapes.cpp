// Geometry of rules: points in areas, crossings of lines, and the pixels of areas.
#include "core/events/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace regions::events {
namespace {

// Twice the area of the triangle a, b, p. Positive if p is right of the line from a to b, as seen
// in a picture, whose y axis points down.
double side_of(Point a, Point b, Point p) {
  return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

// Whether the segments have a point in common.
bool do_meet(Point a, Point b, Point c, Point d) {
  const auto sign = [](double value) { return (value > 0) - (value < 0); };
  const int abc = sign(side_of(a, b, c)), abd = sign(side_of(a, b, d));
  const int cda = sign(side_of(c, d, a)), cdb = sign(side_of(c, d, b));
  if (abc != abd && cda != cdb) return true;
  // The remaining segments meet only if an end of one is on the other.
  const auto is_between = [](Point p, Point q, Point r) {
    return std::min(p.x, q.x) <= r.x && r.x <= std::max(p.x, q.x) && std::min(p.y, q.y) <= r.y &&
           r.y <= std::max(p.y, q.y);
  };
  return (abc == 0 && is_between(a, b, c)) || (abd == 0 && is_between(a, b, d)) ||
         (cda == 0 && is_between(c, d, a)) || (cdb == 0 && is_between(c, d, b));
}

// Calls use(a, b) for each edge of the ring until it returns true. Returns whether it did.
template <class Use>
bool any_edge(std::span<const Point> ring, const Use& use) {
  for (size_t i = 0, last = ring.size() - 1; i < ring.size(); last = i++) {
    if (use(ring[last], ring[i])) return true;
  }
  return false;
}

// The x coordinate at which the edge crosses the horizontal line at y. The edge must cross it.
double crossing_at(Point a, Point b, double y) {
  // The ends are used in the same order for both areas of a common edge.
  if (a.y > b.y) std::swap(a, b);
  return a.x + (y - a.y) * (b.x - a.x) / (b.y - a.y);
}

struct Edge {
  size_t ring, index;
  Point a, b;
};

std::string name_of(const Edge& edge) {
  return "the edge that begins at point " + std::to_string(edge.index + 1) + " of ring " +
         std::to_string(edge.ring + 1);
}

// Whether two edges meet where they should not. Consecutive edges of a ring share a corner, but
// must not overlap.
bool do_collide(const Edge& one, const Edge& other, size_t ring_size) {
  const bool is_same_ring = one.ring == other.ring;
  if (is_same_ring && (one.index + 1) % ring_size == other.index)
    return side_of(one.a, one.b, other.b) == 0 &&
           (other.b.x - one.b.x) * (one.a.x - one.b.x) +
                   (other.b.y - one.b.y) * (one.a.y - one.b.y) >
               0;
  if (is_same_ring && (other.index + 1) % ring_size == one.index)
    return do_collide(other, one, ring_size);
  return do_meet(one.a, one.b, other.a, other.b);
}

}  // namespace

Box bounds_of(std::span<const Point> points) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Box box{kInfinity, kInfinity, -kInfinity, -kInfinity};
  for (const Point& p : points) {
    box.left = std::min(box.left, p.x);
    box.top = std::min(box.top, p.y);
    box.right = std::max(box.right, p.x);
    box.bottom = std::max(box.bottom, p.y);
  }
  return box;
}

double distance_to_segment(Point p, Point a, Point b) {
  const Point along = b - a, to = p - a;
  const double length = along.x * along.x + along.y * along.y;
  const double position =
      length > 0 ? std::clamp((to.x * along.x + to.y * along.y) / length, 0.0, 1.0) : 0;
  return std::hypot(to.x - position * along.x, to.y - position * along.y);
}

Area::Area(std::vector<std::vector<Point>> rings) : rings_(std::move(rings)) {
  std::vector<Point> all;
  for (const auto& ring : rings_) all.insert(all.end(), ring.begin(), ring.end());
  bounds_ = bounds_of(all);
}

Area::Area(Point center, double radius)
    : center_(center),
      radius_(radius),
      bounds_(Box{center.x, center.y, center.x, center.y}.grown(radius)) {}

bool Area::contains(Point p) const {
  if (!bounds_.contains(p)) return false;
  if (rings_.empty()) return std::hypot(p.x - center_.x, p.y - center_.y) <= radius_;
  bool is_inside = false;
  for (const auto& ring : rings_) {
    any_edge(ring, [&](Point a, Point b) {
      if ((a.y > p.y) != (b.y > p.y) && p.x < crossing_at(a, b, p.y)) is_inside = !is_inside;
      return false;
    });
  }
  return is_inside;
}

double Area::distance_to_border(Point p) const {
  if (rings_.empty()) return std::abs(std::hypot(p.x - center_.x, p.y - center_.y) - radius_);
  double nearest = std::numeric_limits<double>::infinity();
  for (const auto& ring : rings_) {
    any_edge(ring, [&](Point a, Point b) {
      nearest = std::min(nearest, distance_to_segment(p, a, b));
      return false;
    });
  }
  return nearest;
}

bool Area::meets(const Box& box) const {
  if (!bounds_.meets(box)) return false;
  const Point corners[] = {
      {box.left, box.top}, {box.right, box.top}, {box.right, box.bottom}, {box.left, box.bottom}};
  if (rings_.empty()) {
    const Point nearest = {std::clamp(center_.x, box.left, box.right),
                           std::clamp(center_.y, box.top, box.bottom)};
    return std::hypot(nearest.x - center_.x, nearest.y - center_.y) <= radius_;
  }
  if (contains(corners[0]) || box.contains(rings_[0][0])) return true;
  return std::ranges::any_of(rings_, [&](const std::vector<Point>& ring) {
    return box.contains(ring[0]) || any_edge(ring, [&](Point a, Point b) {
             return any_edge(corners, [&](Point c, Point d) { return do_meet(a, b, c, d); });
           });
  });
}

void Area::find_crossings(double y, std::vector<double>& crossings) const {
  crossings.clear();
  if (rings_.empty()) {
    const double half = std::sqrt(radius_ * radius_ - (y - center_.y) * (y - center_.y));
    if (half >= 0) crossings = {center_.x - half, center_.x + half};  // false for NaN
    return;
  }
  for (const auto& ring : rings_) {
    any_edge(ring, [&](Point a, Point b) {
      if ((a.y > y) != (b.y > y)) crossings.push_back(crossing_at(a, b, y));
      return false;
    });
  }
  std::ranges::sort(crossings);
}

PixelSpan Area::pixels_between(double low, double high, int width) {
  const auto first_from = [&](double x) {
    return static_cast<int>(std::ceil(std::clamp(x, -0.5, width + 0.5) - 0.5));
  };
  return {std::clamp(first_from(low), 0, width), std::clamp(first_from(high), 0, width)};
}

int crossings_of(std::span<const Point> line, Point from, Point to) {
  int total = 0;
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    const Point a = line[i], b = line[i + 1];
    const bool was_right = side_of(a, b, from) >= 0, is_right = side_of(a, b, to) >= 0;
    if (was_right == is_right) continue;
    if ((side_of(from, to, a) >= 0) == (side_of(from, to, b) >= 0)) continue;
    total += is_right ? 1 : -1;
  }
  return total;
}

double distance_to_line(std::span<const Point> line, Point p) {
  double nearest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    nearest = std::min(nearest, distance_to_segment(p, line[i], line[i + 1]));
  }
  return nearest;
}

void expect_simple(const std::string& name, const std::vector<std::vector<Point>>& rings) {
  std::vector<Edge> edges;
  for (size_t r = 0; r < rings.size(); ++r) {
    const auto& ring = rings[r];
    expects(ring.size() >= 3, [&] {
      return name + ": ring " + std::to_string(r + 1) + " has " + std::to_string(ring.size()) +
             " different points; an area requires at least 3";
    });
    for (size_t i = 0; i < ring.size(); ++i)
      edges.push_back({r, i, ring[i], ring[(i + 1) % ring.size()]});
    const bool is_straight =
        std::ranges::all_of(ring, [&](Point p) { return side_of(ring[0], ring[1], p) == 0; });
    expects(!is_straight,
            [&] { return name + ": ring " + std::to_string(r + 1) + " encloses no area"; });
  }
  for (size_t i = 0; i < edges.size(); ++i) {
    for (size_t k = i + 1; k < edges.size(); ++k) {
      expects(!do_collide(edges[i], edges[k], rings[edges[i].ring].size()), [&] {
        return name + " is not a simple area: " + name_of(edges[i]) + " meets " + name_of(edges[k]);
      });
    }
  }
}

AreaPixels::AreaPixels(const Area& area, Size picture) : picture_(picture) {
  const auto row_of = [&](double y) {
    return static_cast<int>(std::clamp(y, 0.0, static_cast<double>(picture.height)));
  };
  top_ = row_of(std::floor(area.bounds().top));
  bottom_ = std::max(top_, row_of(std::ceil(area.bounds().bottom)));
  std::vector<double> crossings;
  for (int y = top_; y < bottom_; ++y) {
    begin_.push_back(spans_.size());
    area.for_each_span(y, picture.width, crossings, [&](PixelSpan span) {
      spans_.push_back(span);
      count_ += static_cast<uint64_t>(span.end - span.first);
    });
  }
  begin_.push_back(spans_.size());
}

void AreaPixels::add_labels(ConstLabelMap labels, std::span<uint32_t> pixels) const {
  for (int y = top_; y < bottom_; ++y) {
    const uint32_t* const label = labels.row(y);
    for (const PixelSpan& span : row(y)) {
      for (int x = span.first; x < span.end; ++x) {
        if (label[x] < pixels.size()) ++pixels[label[x]];
      }
    }
  }
}

void AreaPixels::add_runs(std::span<const PixelRun> runs, std::span<uint32_t> pixels) const {
  for (const PixelRun& run : runs) {
    if (run.label >= pixels.size() || run.row < static_cast<uint32_t>(top_) ||
        run.row >= static_cast<uint32_t>(bottom_)) {
      continue;
    }
    const int64_t begin = run.x, end = begin + run.width;
    for (const PixelSpan& span : row(static_cast<int>(run.row))) {
      const int64_t shared =
          std::min<int64_t>(end, span.end) - std::max<int64_t>(begin, span.first);
      if (shared > 0) pixels[run.label] += static_cast<uint32_t>(shared);
    }
  }
}

template <class T>
uint64_t AreaPixels::count_nonzero(Image<const T> image) const {
  uint64_t count = 0;
  for (int y = top_; y < bottom_; ++y) {
    const T* const pixel = image.row(y);
    for (const PixelSpan& span : row(y)) {
      for (int x = span.first; x < span.end; ++x) count += pixel[x] != 0;
    }
  }
  return count;
}
uint64_t AreaPixels::count_foreground(ConstLabelMap labels) const { return count_nonzero(labels); }
uint64_t AreaPixels::count_foreground(Image<const uint8_t> mask) const {
  return count_nonzero(mask);
}

}  // namespace regions::events
