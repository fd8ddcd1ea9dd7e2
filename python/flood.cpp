// Finds the connected region of similar values around a point. The work is proportional to the
// region: only its elements and their neighbours are read.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "python/arrays.hpp"
#include "python/module.hpp"

namespace regions::python {
namespace {

using Footprint = std::vector<std::vector<int64_t>>;  // [neighbours][axes], steps to neighbours

// Values between `low` and `high` are similar to the value at the seed.
template <class T>
struct Interval {
  static constexpr int64_t kBlock = 32;  // values that are compared before the result is tested

  T low, high;

  bool contains(T value) const { return low <= value && value <= high; }
  // Returns the index of the first of `count` values that is outside the interval, or `count`.
  int64_t find_outside(const T* values, int64_t count) const {
    int64_t x = 0;
    for (bool is_inside = true; is_inside && x + kBlock <= count; x += is_inside ? kBlock : 0) {
      for (int64_t k = x; k < x + kBlock; ++k) is_inside &= contains(values[k]);
    }
    while (x < count && contains(values[x])) ++x;
    return x;
  }
};

// Fills regions span by span. A span is a maximal row of similar elements.
template <class T>
class SpanFill {
 public:
  SpanFill(const Grid& grid, const Grid& mask, int connectivity, const Interval<T>& similar)
      : grid_(grid),
        mask_(mask),
        steps_(row_steps(grid.outer_axes(), connectivity)),
        similar_(similar),
        width_(grid.width()) {
    std::erase_if(steps_, [](const RowStep& step) {
      return std::ranges::all_of(step.step, [](int s) { return s == 0; });
    });
  }

  void fill(int64_t row, int64_t column) {
    add_span(row, column);
    while (!spans_.empty()) {
      const Span span = spans_.back();
      spans_.pop_back();
      for (const RowStep& step : steps_) {
        const int64_t other = row_after(grid_, span.row, step);
        if (other < 0) continue;
        const int64_t reach = step.is_diagonal;
        visit(other, std::max<int64_t>(0, span.begin - reach), std::min(width_, span.end + reach));
      }
    }
  }

 private:
  struct Span {
    int64_t row, begin, end;
  };

  // Adds the spans of a row that have elements in begin..end - 1.
  void visit(int64_t row, int64_t begin, int64_t end) {
    const T* value = values(row);
    const uint8_t* done = flags(row);
    for (int64_t x = begin; x < end; ++x) {
      if (done[x]) {  // skips elements that have been filled
        const void* found = std::memchr(done + x, 0, static_cast<size_t>(end - x));
        if (!found) return;
        x = static_cast<const uint8_t*>(found) - done;
      }
      if (similar_.contains(value[x])) x = add_span(row, x);
    }
  }

  // Fills the span around an element and returns its end.
  int64_t add_span(int64_t row, int64_t x) {
    const T* value = values(row);
    int64_t begin = x;
    while (begin > 0 && similar_.contains(value[begin - 1])) --begin;
    const int64_t end = x + 1 + similar_.find_outside(value + x + 1, width_ - x - 1);
    std::memset(flags(row) + begin, 1, static_cast<size_t>(end - begin));
    spans_.push_back({row, begin, end});
    return end;
  }

  const T* values(int64_t row) const { return reinterpret_cast<const T*>(grid_.row(row)); }
  uint8_t* flags(int64_t row) const { return reinterpret_cast<uint8_t*>(mask_.row(row)); }

  const Grid &grid_, &mask_;
  std::vector<RowStep> steps_;
  const Interval<T> similar_;
  const int64_t width_;
  std::vector<Span> spans_;  // filled, but their neighbours have not been visited
};

// Distance of an element from the first one, in elements.
int64_t offset_of(const Grid& view, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * view.strides[axis];
  return offset;
}

// Fills the region whose elements are connected by the steps of a footprint.
template <class T>
void fill_by_steps(const Grid& grid, const Grid& mask, const Footprint& footprint,
                   const Interval<T>& similar, const std::vector<int64_t>& seed) {
  const auto* value = reinterpret_cast<const T*>(grid.data);
  auto* done = reinterpret_cast<uint8_t*>(mask.data);
  std::vector<std::vector<int64_t>> waiting{seed};
  done[offset_of(mask, seed)] = 1;
  while (!waiting.empty()) {
    const std::vector<int64_t> index = std::move(waiting.back());
    waiting.pop_back();
    for (const auto& step : footprint) {
      std::vector<int64_t> next = index;
      bool is_inside = true;
      for (size_t axis = 0; axis < next.size(); ++axis) {
        next[axis] += step[axis];
        is_inside = is_inside && next[axis] >= 0 && next[axis] < grid.shape[axis];
      }
      if (!is_inside || done[offset_of(mask, next)] ||
          !similar.contains(value[offset_of(grid, next)])) {
        continue;
      }
      done[offset_of(mask, next)] = 1;
      waiting.push_back(std::move(next));
    }
  }
}

// Sets `mask`, which must be False, to True in the region around `seed`. `interval` contains the
// lowest and the highest value of the region, in the image's type. Without an interval, all values
// of the region equal that of the seed. Neighbours are defined by the
// footprint, if there is one, else by the connectivity.
void flood(const AnyArray& image, const nb::ndarray<bool>& mask,
           const std::optional<AnyArray>& interval, const std::vector<int64_t>& seed,
           int connectivity, const std::optional<Footprint>& footprint) {
  const Grid grid(image), mask_grid{AnyArray(mask)};
  expects(grid.strides.back() == 1 || grid.width() == 1,
          "the elements of a row must be contiguous");
  expects(grid.shape == mask_grid.shape && mask_grid.strides.back() == 1 &&
              (!interval || (interval->dtype() == image.dtype() && interval->size() == 2)) &&
              seed.size() == grid.shape.size(),
          "mask must have the shape of the image, and interval two elements of its type");
  for (size_t axis = 0; axis < seed.size(); ++axis) {
    expects(seed[axis] >= 0 && seed[axis] < grid.shape[axis], "the seed is outside the image");
  }
  if (footprint) {
    for (const auto& step : *footprint) {
      expects(step.size() == seed.size(), "a step of the footprint must have one value per axis");
    }
  }
  const Unlocked unlocked;
  with_type(grid.type, [&](auto zero) {
    using T = decltype(zero);
    const auto* bounds = interval ? static_cast<const T*>(interval->data()) : nullptr;
    const T value = reinterpret_cast<const T*>(grid.data)[offset_of(grid, seed)];
    const Interval<T> similar =
        bounds ? Interval<T>{bounds[0], bounds[1]} : Interval<T>{value, value};
    if (footprint) return fill_by_steps(grid, mask_grid, *footprint, similar, seed);
    int64_t row = 0;
    for (size_t axis = 0; axis + 1 < seed.size(); ++axis) row = row * grid.shape[axis] + seed[axis];
    SpanFill<T>(grid, mask_grid, connectivity, similar).fill(row, seed.back());
  });
}

}  // namespace

void bind_flood(nb::module_& module) {
  module.def("flood", flood, nb::arg("image"), nb::arg("mask"), nb::arg("interval").none(),
             nb::arg("seed"), nb::arg("connectivity"), nb::arg("footprint").none());
}

}  // namespace regions::python
