// Converts coordinates and measurements of regions between a picture and its reduced working
// picture.
#include "core/work_area.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/resampling.hpp"

namespace regions {
namespace {

// An interval of pixels along one axis.
struct Span {
  int first = 0, length = 0;
};

// The requested interval, widened to whole chroma samples of 1 << shift pixels.
Span span_of(int start, int requested_length, int whole, int shift, const char* side) {
  expects_setting(start < whole, std::string("the rectangle's ") + side + " edge is at " +
                                     std::to_string(start) + "; the picture ends at " +
                                     std::to_string(whole) + " pixels");
  const int mask = (1 << shift) - 1;
  int end = whole;
  if (requested_length > 0 && requested_length < whole - start) {
    end = std::min(whole, (start + requested_length + mask) & ~mask);
  }
  const int first = start & ~mask;
  return {first, end - first};
}

int scaled(int length, double scale) {
  return std::clamp(static_cast<int>(std::lround(length * scale)), 1, length);
}

uint64_t scaled_sum(uint64_t sum, double factor) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(sum) * factor));
}

// Sum of the products of two coordinates over `area` pixels, from their covariance and their sums a
// and b.
uint64_t sum_of_products(double covariance, uint64_t a, uint64_t b, uint64_t area) {
  if (area == 0) return 0;
  // The product of the sums has more digits than a double can store.
  const auto n = static_cast<long double>(area);
  const auto sum = static_cast<long double>(a) * static_cast<long double>(b) / n + n * covariance;
  return static_cast<uint64_t>(std::max(sum, 0.0L) + 0.5L);
}

// Sum of a coordinate over `area` pixels of the picture, from its mean in the working picture.
uint64_t sum_of(double mean, int first, int cells, int pixels, uint64_t area) {
  // Positions are measured at pixel centres, so 0.5 is added before and subtracted after scaling.
  const double center = first + (mean + 0.5) * pixels / cells - 0.5;
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
  WorkArea work_area;
  work_area.picture = picture;
  work_area.left = x.first;
  work_area.top = y.first;
  work_area.area = {x.length, y.length};
  work_area.work = {scaled(x.length, params.process_scale), scaled(y.length, params.process_scale)};
  return work_area;
}

void enlarge(const WorkArea& work_area, std::span<Region> regions, std::span<Moments> moments) {
  const auto [work_width, work_height] = work_area.work;
  const auto [area_width, area_height] = work_area.area;
  const double factor =
      static_cast<double>(work_area.area.area()) / static_cast<double>(work_area.work.area());
  for (size_t i = 0; i < regions.size(); ++i) {
    Region& r = regions[i];
    const Covariance spread = moments.empty() ? Covariance() : covariance(r, moments[i]);
    const double mean_x = r.centroid_x(), mean_y = r.centroid_y();
    r.first_x = work_area.left + first_of(r.first_x, work_width, area_width);
    r.first_y = work_area.top + first_of(r.first_y, work_height, area_height);
    r.left = work_area.left + first_of(r.left, work_width, area_width);
    r.top = work_area.top + first_of(r.top, work_height, area_height);
    r.right = work_area.left + first_of(r.right + 1, work_width, area_width) - 1;
    r.bottom = work_area.top + first_of(r.bottom + 1, work_height, area_height) - 1;
    const uint64_t area = r.area;
    r.area = scaled_sum(area, factor);
    r.sum_x = sum_of(mean_x, work_area.left, work_width, area_width, r.area);
    r.sum_y = sum_of(mean_y, work_area.top, work_height, area_height, r.area);
    const double area_ratio = area ? static_cast<double>(r.area) / static_cast<double>(area) : 1;
    for (uint64_t& sum : r.sum_value) sum = scaled_sum(sum, area_ratio);
    if (moments.empty()) continue;
    Moments& m = moments[i];
    for (uint64_t& sum : m.sum_lab) sum = scaled_sum(sum, area_ratio);
    const double x_scale = static_cast<double>(area_width) / work_width,
                 y_scale = static_cast<double>(area_height) / work_height;
    m.sum_xx = sum_of_products(spread.xx * x_scale * x_scale, r.sum_x, r.sum_x, r.area);
    m.sum_xy = sum_of_products(spread.xy * x_scale * y_scale, r.sum_x, r.sum_y, r.area);
    m.sum_yy = sum_of_products(spread.yy * y_scale * y_scale, r.sum_y, r.sum_y, r.area);
  }
}

void enlarge(const WorkArea& work_area, std::span<const PixelRun> runs,
             std::vector<PixelRun>& large) {
  const auto [work_width, work_height] = work_area.work;
  const auto [area_width, area_height] = work_area.area;
  large.clear();
  for (size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
    const PixelRun& row = runs[begin];
    while (end < runs.size() && runs[end].label == row.label && runs[end].row == row.row) ++end;
    const PixelInterval rows = pixels_of_cell(static_cast<int>(row.row), work_height, area_height);
    for (int y = rows.first; y < rows.end; ++y) {
      for (const PixelRun& run : runs.subspan(begin, end - begin)) {
        const int left = first_of(static_cast<int>(run.x), work_width, area_width);
        const int right = first_of(static_cast<int>(run.x + run.width), work_width, area_width);
        large.push_back({run.label, static_cast<uint32_t>(work_area.left + left),
                         static_cast<uint32_t>(work_area.top + y),
                         static_cast<uint32_t>(right - left)});
      }
    }
  }
}

bool reduce(const WorkArea& work_area, int& x, int& y) {
  x -= work_area.left;
  y -= work_area.top;
  if (x < 0 || y < 0 || x >= work_area.area.width || y >= work_area.area.height) return false;
  x = cell_of(x, work_area.work.width, work_area.area.width);
  y = cell_of(y, work_area.work.height, work_area.area.height);
  return true;
}

void reduce(const WorkArea& work_area, std::vector<Region>& regions) {
  std::erase_if(regions, [&](const Region& r) {
    return r.right < work_area.left || r.bottom < work_area.top ||
           r.left >= work_area.left + work_area.area.width ||
           r.top >= work_area.top + work_area.area.height;
  });
  const auto to_work_area = [](int at, int first, int cells, int pixels) {
    const int64_t distance = int64_t{at} - first;
    return cell_of(static_cast<int>(std::clamp<int64_t>(distance, 0, pixels - 1)), cells, pixels);
  };
  for (Region& r : regions) {
    r.left = to_work_area(r.left, work_area.left, work_area.work.width, work_area.area.width);
    r.right = to_work_area(r.right, work_area.left, work_area.work.width, work_area.area.width);
    r.top = to_work_area(r.top, work_area.top, work_area.work.height, work_area.area.height);
    r.bottom = to_work_area(r.bottom, work_area.top, work_area.work.height, work_area.area.height);
    r.first_x = to_work_area(r.first_x, work_area.left, work_area.work.width, work_area.area.width);
    r.first_y =
        to_work_area(r.first_y, work_area.top, work_area.work.height, work_area.area.height);
  }
}

}  // namespace regions
