// Where a working picture lies in its picture.
#include "core/work_area.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/resampling.hpp"

namespace regions {
namespace {

struct Span {
  int first = 0, length = 0;
};

Span span_of(int wanted, int wanted_length, int whole, int shift, const char* side) {
  expects_setting(wanted < whole, std::string("the rectangle's ") + side + " edge is at " +
                                      std::to_string(wanted) + "; the picture ends at " +
                                      std::to_string(whole) + " pixels");
  const int mask = (1 << shift) - 1;
  int end = whole;
  if (wanted_length > 0 && wanted_length < whole - wanted) {
    end = std::min(whole, (wanted + wanted_length + mask) & ~mask);
  }
  const int first = wanted & ~mask;
  return {first, end - first};
}

int scaled(int length, double scale) {
  return std::clamp(static_cast<int>(std::lround(length * scale)), 1, length);
}

uint64_t times(uint64_t sum, double factor) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(sum) * factor));
}

// Sum of products of coordinates whose covariance and sums these are.
uint64_t sum_of_products(double covariance, uint64_t a, uint64_t b, uint64_t area) {
  if (area == 0) return 0;
  // The sums' product needs more digits than a double has.
  const auto n = static_cast<long double>(area);
  const auto sum = static_cast<long double>(a) * static_cast<long double>(b) / n + n * covariance;
  return static_cast<uint64_t>(std::max(sum, 0.0L) + 0.5L);
}

// Sum over `area` pixels of the coordinate whose mean in the working picture is `mean`.
uint64_t sum_of(double mean, int first, int few, int many, uint64_t area) {
  const double center = first + (mean + 0.5) * many / few - 0.5;  // pixels' middles
  return static_cast<uint64_t>(std::llround(std::max(0.0, center) * static_cast<double>(area)));
}

}  // namespace

WorkArea work_area_of(const WorkAreaParams& params, const Layout& layout, Size picture) {
  int x_shift = 0, y_shift = 0;
  for (const Component& k : layout.component) {
    x_shift = std::max<int>(x_shift, k.x_shift);
    y_shift = std::max<int>(y_shift, k.y_shift);
  }
  const Span x = span_of(params.left, params.width, picture.width, x_shift, "left");
  const Span y = span_of(params.top, params.height, picture.height, y_shift, "upper");
  WorkArea place;
  place.picture = picture;
  place.left = x.first;
  place.top = y.first;
  place.area = {x.length, y.length};
  place.work = {scaled(x.length, params.process_scale), scaled(y.length, params.process_scale)};
  return place;
}

void enlarge(const WorkArea& place, std::span<Region> regions, std::span<Moments> moments) {
  const auto [few_x, few_y] = place.work;
  const auto [many_x, many_y] = place.area;
  const double factor =
      static_cast<double>(place.area.area()) / static_cast<double>(place.work.area());
  for (size_t i = 0; i < regions.size(); ++i) {
    Region& r = regions[i];
    const Covariance spread = moments.empty() ? Covariance() : covariance(r, moments[i]);
    const double mean_x = r.centroid_x(), mean_y = r.centroid_y();
    r.first_x = place.left + first_of(r.first_x, few_x, many_x);
    r.first_y = place.top + first_of(r.first_y, few_y, many_y);
    r.left = place.left + first_of(r.left, few_x, many_x);
    r.top = place.top + first_of(r.top, few_y, many_y);
    r.right = place.left + first_of(r.right + 1, few_x, many_x) - 1;
    r.bottom = place.top + first_of(r.bottom + 1, few_y, many_y) - 1;
    const uint64_t area = r.area;
    r.area = times(area, factor);
    r.sum_x = sum_of(mean_x, place.left, few_x, many_x, r.area);
    r.sum_y = sum_of(mean_y, place.top, few_y, many_y, r.area);
    const double grown = area ? static_cast<double>(r.area) / static_cast<double>(area) : 1;
    for (uint64_t& sum : r.sum_value) sum = times(sum, grown);
    if (moments.empty()) continue;
    Moments& m = moments[i];
    for (uint64_t& sum : m.sum_lab) sum = times(sum, grown);
    const double wide = static_cast<double>(many_x) / few_x,
                 high = static_cast<double>(many_y) / few_y;
    m.sum_xx = sum_of_products(spread.xx * wide * wide, r.sum_x, r.sum_x, r.area);
    m.sum_xy = sum_of_products(spread.xy * wide * high, r.sum_x, r.sum_y, r.area);
    m.sum_yy = sum_of_products(spread.yy * high * high, r.sum_y, r.sum_y, r.area);
  }
}

void enlarge(const WorkArea& place, std::span<const PixelRun> runs, std::vector<PixelRun>& large) {
  const auto [few_x, few_y] = place.work;
  const auto [many_x, many_y] = place.area;
  large.clear();
  for (size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
    const PixelRun& row = runs[begin];
    while (end < runs.size() && runs[end].label == row.label && runs[end].row == row.row) ++end;
    const Steps rows = steps_of(static_cast<int>(row.row), few_y, many_y);
    for (int y = rows.first; y < rows.end; ++y) {
      for (const PixelRun& run : runs.subspan(begin, end - begin)) {
        const int left = first_of(static_cast<int>(run.x), few_x, many_x);
        const int right = first_of(static_cast<int>(run.x + run.width), few_x, many_x);
        large.push_back({run.label, static_cast<uint32_t>(place.left + left),
                         static_cast<uint32_t>(place.top + y),
                         static_cast<uint32_t>(right - left)});
      }
    }
  }
}

bool reduce(const WorkArea& place, int& x, int& y) {
  x -= place.left;
  y -= place.top;
  if (x < 0 || y < 0 || x >= place.area.width || y >= place.area.height) return false;
  x = step_of(x, place.work.width, place.area.width);
  y = step_of(y, place.work.height, place.area.height);
  return true;
}

void reduce(const WorkArea& place, std::vector<Region>& regions) {
  std::erase_if(regions, [&](const Region& r) {
    return r.right < place.left || r.bottom < place.top ||
           r.left >= place.left + place.area.width || r.top >= place.top + place.area.height;
  });
  const auto inside = [](int at, int first, int few, int many) {
    const int64_t from_side = int64_t{at} - first;
    return step_of(static_cast<int>(std::clamp<int64_t>(from_side, 0, many - 1)), few, many);
  };
  for (Region& r : regions) {
    r.left = inside(r.left, place.left, place.work.width, place.area.width);
    r.right = inside(r.right, place.left, place.work.width, place.area.width);
    r.top = inside(r.top, place.top, place.work.height, place.area.height);
    r.bottom = inside(r.bottom, place.top, place.work.height, place.area.height);
    r.first_x = inside(r.first_x, place.left, place.work.width, place.area.width);
    r.first_y = inside(r.first_y, place.top, place.work.height, place.area.height);
  }
}

}  // namespace regions
