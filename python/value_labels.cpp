// Labels regions of equal values in arrays with any number of axes and any element type. Works with
// runs: consecutive equal elements of one row. Its memory is proportional to the number of runs.
//
// cclabel, which labels masks and pictures with bytes, represents rows by bits and is faster for
// them. It supports neither other element types nor other numbers of axes.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpu/pixel_rows.hpp"
#include "python/arrays.hpp"
#include "python/module.hpp"

namespace regions::python {
namespace {

// Sets flags[x] to 1 if a[x] and b[x] differ, else to 0. NaN differs from every value.
template <class T>
REGIONS_INLINE void flag_differences(const std::byte* first, const std::byte* second, int64_t count,
                                     uint8_t* flags) {
  const auto* a = reinterpret_cast<const T*>(first);
  const auto* b = reinterpret_cast<const T*>(second);
  for (int64_t x = 0; x < count; ++x) flags[x] = a[x] != b[x];
}

// Returns whether a[x] and b[x] are equal for any x.
template <class T>
REGIONS_INLINE bool has_equal(const std::byte* first, const std::byte* second, int64_t count) {
  constexpr int64_t kBlock = 256;  // elements that are compared before the result is tested
  const auto* a = reinterpret_cast<const T*>(first);
  const auto* b = reinterpret_cast<const T*>(second);
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(count, begin + kBlock);
    uint8_t is_equal = 0;
    for (int64_t x = begin; x < end; ++x) is_equal |= a[x] == b[x];
    if (is_equal) return true;
  }
  return false;
}

// How the elements of an array are compared: as integers of their size, or as floating point.
enum class Comparison : uint8_t { bytes1, bytes2, bytes4, bytes8, float4, float8 };

Comparison comparison_of(nb::dlpack::dtype type) {
  if (static_cast<nb::dlpack::dtype_code>(type.code) == nb::dlpack::dtype_code::Float) {
    return type.bits == 32 ? Comparison::float4 : Comparison::float8;
  }
  return type.bits == 8    ? Comparison::bytes1
         : type.bits == 16 ? Comparison::bytes2
         : type.bits == 32 ? Comparison::bytes4
                           : Comparison::bytes8;
}

REGIONS_CLONES
void flag_row(Comparison comparison, const std::byte* a, const std::byte* b, int64_t count,
              uint8_t* flags) {
  switch (comparison) {
    case Comparison::bytes1:
      return flag_differences<uint8_t>(a, b, count, flags);
    case Comparison::bytes2:
      return flag_differences<uint16_t>(a, b, count, flags);
    case Comparison::bytes4:
      return flag_differences<uint32_t>(a, b, count, flags);
    case Comparison::bytes8:
      return flag_differences<uint64_t>(a, b, count, flags);
    case Comparison::float4:
      return flag_differences<float>(a, b, count, flags);
    case Comparison::float8:
      return flag_differences<double>(a, b, count, flags);
  }
}

// Replaces each of `count` labels by its entry in `new_label`.
REGIONS_CLONES
void replace_labels(const int32_t* __restrict new_label, size_t count, int32_t* __restrict labels) {
  for (size_t i = 0; i < count; ++i) labels[i] = new_label[labels[i]];
}

REGIONS_CLONES
bool rows_share_values(Comparison comparison, const std::byte* a, const std::byte* b,
                       int64_t count) {
  switch (comparison) {
    case Comparison::bytes1:
      return has_equal<uint8_t>(a, b, count);
    case Comparison::bytes2:
      return has_equal<uint16_t>(a, b, count);
    case Comparison::bytes4:
      return has_equal<uint32_t>(a, b, count);
    case Comparison::bytes8:
      return has_equal<uint64_t>(a, b, count);
    case Comparison::float4:
      return has_equal<float>(a, b, count);
    case Comparison::float8:
      return has_equal<double>(a, b, count);
  }
  return true;
}

// An array that grows. New entries have no values: std::vector would set each of them.
template <class V>
class RunArray {
 public:
  // Makes the array at least `size` entries long.
  void make_room(size_t size) {
    if (size <= size_) return;
    const size_t larger = std::max(size, size_ + size_ / 2);
    auto values = std::make_unique_for_overwrite<V[]>(larger);
    std::copy_n(values_.get(), size_, values.get());
    values_ = std::move(values);
    size_ = larger;
  }
  V* data() { return values_.get(); }
  const V* data() const { return values_.get(); }
  V& operator[](size_t i) { return values_[i]; }
  const V& operator[](size_t i) const { return values_[i]; }

 private:
  std::unique_ptr<V[]> values_;
  size_t size_ = 0;
};

// The runs of an array and a union-find forest of them. T is the unsigned or floating-point type
// with which elements are compared.
template <class T>
class ValueRuns {
 public:
  ValueRuns(const Grid& grid, int connectivity, const T* background)
      : grid_(grid),
        comparison_(comparison_of(grid.type)),
        steps_(row_steps(grid.outer_axes(), connectivity)),
        has_all_neighbours_(static_cast<size_t>(connectivity) > grid.outer_axes()),
        background_(background),
        rows_(grid.rows()) {
    first_run_.reserve(static_cast<size_t>(rows_) + 1);
    values_.reserve(static_cast<size_t>(rows_));
    // The pages of unused entries are never touched.
    constexpr int64_t kReserved = 1 << 26;  // runs
    const auto runs = static_cast<size_t>(std::min(rows_ * (grid.width() + 1), kReserved));
    begin_.make_room(runs);
    parent_.make_room(runs);
    const auto width = static_cast<size_t>(grid.width());
    flags_.resize(width);
    bits_.resize(static_cast<size_t>(words_for(static_cast<int>(width))));
  }

  void find_runs() {
    // The steps before the middle one lead to earlier rows. `distance` is their distance in rows.
    const size_t axes = grid_.outer_axes(), earlier_steps = steps_.size() / 2;
    std::vector<int64_t> distance(earlier_steps), index(axes);
    for (size_t k = 0; k < earlier_steps; ++k) {
      for (size_t axis = 0; axis < axes; ++axis) {
        distance[k] = distance[k] * grid_.shape[axis] + steps_[k].step[axis];
      }
    }
    const auto has_row = [&](const RowStep& step) {
      for (size_t axis = 0; axis < axes; ++axis) {
        const int64_t next = index[axis] + step.step[axis];
        if (next < 0 || next >= grid_.shape[axis]) return false;
      }
      return true;
    };
    // The step with -1 along the first axis and 0 along the others.
    const size_t middle = axes > 1 && has_all_neighbours_ ? middle_step() : earlier_steps;
    for (int64_t row = 0; row < rows_; ++row) {
      add_row(row);
      if (middle < earlier_steps && has_row(steps_[middle]) && has_long_runs(row)) {
        others_.clear();
        for (size_t k = 0; k < earlier_steps; ++k) {
          if (k != middle && has_row(steps_[k]))
            others_.push_back({values(row + distance[k]), first_run(row + distance[k])});
        }
        merge_row_with_all_neighbours(row, row + distance[middle]);
      } else {
        for (size_t k = 0; k < earlier_steps; ++k) {
          if (has_row(steps_[k])) merge_rows(row, row + distance[k], steps_[k].is_diagonal);
        }
      }
      for (size_t axis = axes; axis-- > 0;) {  // the index of the next row
        if (++index[axis] < grid_.shape[axis]) break;
        index[axis] = 0;
      }
    }
  }

  // Merges regions across the borders of the array, whose opposite sides are neighbours.
  void merge_opposite_sides() {
    const int64_t width = grid_.width();
    for (int64_t row = 0; row < rows_; ++row) {
      for (const RowStep& step : steps_) {
        const int64_t other = row_after(grid_, row, step, true);
        if (row_after(grid_, row, step) < 0) merge_rows(row, other, step.is_diagonal);
        // The first element of a row is a neighbour of the last element.
        const bool is_neighbour = step.is_diagonal || other == row;
        if (is_neighbour && values(row)[0] == values(other)[width - 1] &&
            is_foreground(values(row)[0])) {
          merge(first_run(row), end_run(other) - 1);
        }
      }
    }
  }

  // Replaces the parent of each run by the number of its region, and returns the number of regions.
  uint32_t number_regions() {
    uint32_t count = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      for (uint32_t run = first_run(row); run < end_run(row); ++run) {
        if (parent_[run] == kBackground) {
          parent_[run] = 0;
        } else if (parent_[run] == run) {
          parent_[run] = ++count;
        } else {
          parent_[run] = parent_[parent_[run]];  // has been numbered already
        }
      }
    }
    return count;
  }

  // Writes the numbers of the regions. `labels` has one entry per element, in raster order.
  void write(int32_t* labels) const {
    const int64_t width = grid_.width();
    const int32_t* const end_of_labels = labels + rows_ * width;
    constexpr ptrdiff_t kBlock = 8;
    for (int64_t row = 0; row < rows_; ++row, labels += width) {
      if (end_run(row) - first_run(row) == width) {  // each run is one element
        std::copy_n(parent_.data() + first_run(row), width, labels);
        continue;
      }
      for (uint32_t run = first_run(row); run < end_run(row); ++run) {
        const auto label = static_cast<int32_t>(parent_[run]);
        int32_t *next = labels + begin_[run], *const end = labels + end_of(run);
        if (end_of_labels - end < kBlock) {
          std::fill(next, end, label);
          continue;
        }
        // Whole blocks are written. Later runs overwrite the end of the last block.
        for (; next < end; next += kBlock) std::fill_n(next, kBlock, label);
      }
    }
  }

 private:
  const T* values(int64_t row) const { return values_[static_cast<size_t>(row)]; }
  bool is_foreground(T value) const { return !background_ || value != *background_; }
  uint32_t first_run(int64_t row) const { return first_run_[static_cast<size_t>(row)]; }
  uint32_t end_run(int64_t row) const { return first_run_[static_cast<size_t>(row) + 1] - 1; }
  int64_t end_of(uint32_t run) const { return begin_[run + 1]; }

  void add_row(int64_t row) {
    const int64_t width = grid_.width();
    const std::byte* data = grid_.row(row);
    values_.push_back(reinterpret_cast<const T*>(data));
    if (row == 0) first_run_.push_back(0);
    if constexpr (std::is_floating_point_v<T>) expect_numbers(row, data);
    flags_[0] = 1;
    flag_row(comparison_, data + sizeof(T), data, width - 1, flags_.data() + 1);
    pack_at_least(reinterpret_cast<const std::byte*>(flags_.data()), 1, static_cast<int>(width), 1,
                  bits_.data());
    const size_t first = run_count_;
    const size_t most = first + static_cast<size_t>(width) + 1;
    begin_.make_room(most);
    parent_.make_room(most);
    int32_t* begin = begin_.data() + first;
    for (size_t w = 0; w < bits_.size(); ++w) {
      for (Word bits = bits_[w]; bits; bits &= bits - 1) {
        *begin++ = static_cast<int32_t>(w) * kWordBits + lowest_bit(bits);
      }
    }
    *begin++ = static_cast<int32_t>(width);
    run_count_ = static_cast<size_t>(begin - begin_.data());
    first_run_.push_back(static_cast<uint32_t>(run_count_));
    const T* const value = values(row);
    for (size_t run = first; run + 1 < run_count_; ++run) {
      parent_[run] = is_foreground(value[begin_[run]]) ? static_cast<uint32_t>(run) : kBackground;
    }
  }

  void expect_numbers(int64_t row, const std::byte* data) {
    flag_row(comparison_, data, data, grid_.width(), flags_.data());
    const auto found = std::ranges::find(flags_, uint8_t{1});
    expects(found == flags_.end(), [&] {
      return "NaN at row " + std::to_string(row) + ", column " +
             std::to_string(found - flags_.begin()) +
             "; without threshold, the image must not contain NaN";
    });
  }

  // Merges the runs of two rows that have equal values and are neighbours.
  void merge_rows(int64_t row, int64_t other, bool is_diagonal) {
    const T *value = values(row), *other_value = values(other);
    const int64_t width = grid_.width();
    uint32_t run = first_run(row), other_run = first_run(other);
    const uint32_t end = end_run(row), other_end = end_run(other);
    if (end - run + other_end - other_run > width &&
        !have_equal_neighbours(value, other_value, is_diagonal)) {
      return;
    }
    const int64_t reach = is_diagonal;
    while (run < end && other_run < other_end) {
      const int64_t begin = begin_[run], run_end = end_of(run), other_begin = begin_[other_run],
                    other_run_end = end_of(other_run);
      const T v = value[begin];
      const auto merge_if_equal = [&](uint32_t a, uint32_t b, T other_v) {
        if (v == other_v && is_foreground(v)) merge(a, b);
      };
      if (begin < other_run_end + reach && other_begin < run_end + reach) {
        merge_if_equal(run, other_run, other_value[other_begin]);
      }
      if (is_diagonal && run_end == other_run_end && run_end < width) {
        merge_if_equal(run, other_run + 1, other_value[other_run_end]);
        const T next = value[run_end];
        if (next == other_value[other_begin] && is_foreground(next)) merge(run + 1, other_run);
      }
      run += run_end <= other_run_end;
      other_run += other_run_end <= run_end;
    }
  }

  size_t middle_step() const {
    const auto found = std::ranges::find_if(steps_, [](const RowStep& step) {
      return step.step[0] == -1 && std::count(step.step.begin() + 1, step.step.end(), 0) ==
                                       static_cast<ptrdiff_t>(step.step.size()) - 1;
    });
    return static_cast<size_t>(found - steps_.begin());
  }
  bool has_long_runs(int64_t row) const {
    // The average from which on merge_row_with_all_neighbours() is faster.
    constexpr int64_t kMinLength = 4;
    return (end_run(row) - first_run(row)) * kMinLength < grid_.width();
  }

  struct Position {
    const T* values;  // of a row
    uint32_t run;     // a run of this row, near the last visited column
  };

  // Merges the runs of a row with their neighbours in row `middle` and in the rows `others_`. Each
  // of the other rows is also a neighbour of the middle row. So where a run of the middle row has
  // the same value as a run of this row, it is already merged with the other rows, and they
  // are read only next to it.
  void merge_row_with_all_neighbours(int64_t row, int64_t middle) {
    const T *const value = values(row), *const middle_value = values(middle);
    const auto width = static_cast<int32_t>(grid_.width());
    const int32_t* const begins = begin_.data();
    const uint32_t end = end_run(row), middle_end = end_run(middle);
    uint32_t middle_run = first_run(middle);
    for (uint32_t run = first_run(row); run < end; ++run) {
      const int32_t begin = begins[run], run_end = begins[run + 1];
      const T v = value[begin];
      if (!is_foreground(v)) continue;
      while (begins[middle_run + 1] < begin) ++middle_run;
      int32_t column = std::max(begin - 1, 0);  // earlier columns are merged
      for (uint32_t k = middle_run; k < middle_end && begins[k] <= run_end; ++k) {
        if (middle_value[begins[k]] != v) continue;
        merge(run, k);
        if (column < begins[k] - 1) merge_others(run, v, column, begins[k] - 1);
        column = begins[k + 1] + 1;
      }
      const int32_t last = std::min(run_end + 1, width);
      if (column < last) merge_others(run, v, column, last);
    }
  }

  // Merges a run with those runs of the rows `others_` that have the value `v` in the columns
  // [begin, end).
  void merge_others(uint32_t run, T v, int32_t begin, int32_t end) {
    const int32_t* const begins = begin_.data();
    for (Position& other : others_) {
      for (int32_t x = begin; x < end; ++x) {
        if (other.values[x] != v) continue;
        uint32_t found = other.run;
        while (begins[found] > x) --found;
        while (begins[found + 1] <= x) ++found;
        merge(run, found);
        x = begins[found + 1];  // the next element has another value
        other.run = found;
      }
    }
  }

  // Returns whether any element of a row equals one of its neighbours in another row.
  bool have_equal_neighbours(const T* row, const T* other, bool is_diagonal) const {
    const int64_t width = grid_.width();
    const auto* a = reinterpret_cast<const std::byte*>(row);
    const auto* b = reinterpret_cast<const std::byte*>(other);
    return rows_share_values(comparison_, a, b, width) ||
           (is_diagonal && (rows_share_values(comparison_, a + sizeof(T), b, width - 1) ||
                            rows_share_values(comparison_, a, b + sizeof(T), width - 1)));
  }

  uint32_t find_root(uint32_t run) {
    while (parent_[run] != run) run = parent_[run] = parent_[parent_[run]];
    return run;
  }
  // The earlier root becomes the parent, so a root is the first run of its region.
  void merge(uint32_t a, uint32_t b) {
    if (parent_[a] == parent_[b]) return;  // this is the most frequent case
    a = find_root(a);
    b = find_root(b);
    if (a < b) {
      parent_[b] = a;
    } else {
      parent_[a] = b;
    }
  }

  static constexpr uint32_t kBackground = UINT32_MAX;  // parent of a run without a region

  const Grid& grid_;
  const Comparison comparison_;
  const std::vector<RowStep> steps_;
  const bool has_all_neighbours_;  // along all axes at once
  const T* const background_;      // its regions get label 0; may be null
  const int64_t rows_;
  std::vector<const T*> values_;  // [rows], each row's first value
  // The runs of each row are followed by an empty run, which begins after the row.
  RunArray<int32_t> begin_;    // [run_count_], column of each run's first element
  RunArray<uint32_t> parent_;  // [run_count_], index of a run of the same region, or the region;
                               // the empty runs have no value
  size_t run_count_ = 0;
  std::vector<uint32_t> first_run_;  // [rows + 1], index of each row's first run
  std::vector<uint8_t> flags_;       // [width]
  std::vector<Word> bits_;           // flags_ as bits
  std::vector<Position> others_;     // see merge_row_with_all_neighbours()
};

// Throws InputError if the array has more elements than there are labels.
void expect_labellable_size(const AnyArray& image) {
  expects(image.size() <= std::numeric_limits<int32_t>::max(), [&] {
    return "an array has " + std::to_string(image.size()) +
           " elements, must have at most 2147483647, the largest int32 label";
  });
}

// A union-find forest of the elements of an array, in the memory of their labels. It is slower than
// a forest of runs, but elements of different values can be neighbours in one region.
class ElementForest {
 public:
  explicit ElementForest(std::span<int32_t> parents) : parent_(parents) {}

  void add(size_t element) { parent_[element] = static_cast<int32_t>(element); }
  void add_background(size_t element) { parent_[element] = kBackground; }
  bool contains(size_t element) const { return parent_[element] != kBackground; }
  // The earlier root becomes the parent.
  void merge(size_t a, size_t b) {
    const int32_t first = find_root(static_cast<int32_t>(a)),
                  second = find_root(static_cast<int32_t>(b));
    at(std::max(first, second)) = std::min(first, second);
  }
  // Replaces each element by the number of its region, and returns the number of regions.
  uint32_t number_regions() {
    int32_t count = 0;
    for (size_t i = 0; i < parent_.size(); ++i) {
      int32_t& parent = parent_[i];
      if (parent == kBackground) {
        parent = 0;
      } else {  // earlier elements have been numbered already
        parent = static_cast<size_t>(parent) == i ? ++count : at(parent);
      }
    }
    return static_cast<uint32_t>(count);
  }

 private:
  static constexpr int32_t kBackground = -1;

  int32_t& at(int32_t element) { return parent_[static_cast<size_t>(element)]; }
  int32_t find_root(int32_t element) {
    while (at(element) != element) element = at(element) = at(at(element));
    return element;
  }

  std::span<int32_t> parent_;
};

// Returns whether two values differ by at most `delta`, without overflow.
template <class T>
bool are_similar(T a, T b, T delta) {
  if constexpr (std::is_integral_v<T>) {
    using Distance = std::make_unsigned_t<T>;
    const T low = std::min(a, b), high = std::max(a, b);
    return static_cast<Distance>(static_cast<Distance>(high) - static_cast<Distance>(low)) <=
           static_cast<Distance>(delta);
  } else {
    return a == b || std::abs(a - b) <= delta;  // the difference of equal infinite values is NaN
  }
}

// Labels the regions in which neighbours differ by at most the only element of `delta`. Elements
// that equal the only element of `background` get label 0, and so does NaN. `offsets` lead to
// neighbours that are earlier in raster order: one number per axis, each -1, 0 or 1.
uint32_t label_similar(const AnyArray& image, const AnyArray& background, const AnyArray& delta,
                       const Labels& labels, const std::vector<std::vector<int>>& offsets) {
  const Grid grid(image);
  expects(grid.strides.back() == 1 || grid.width() == 1,
          "the elements of a row must be contiguous");
  expects(background.dtype() == image.dtype() && background.size() <= 1 &&
              delta.dtype() == image.dtype() && delta.size() == 1 && labels.size() == image.size(),
          "background and delta must have the type of the image and one element, and labels must "
          "have as many elements as the image");
  for (const std::vector<int>& offset : offsets) {
    expects(offset.size() == grid.shape.size(), "an offset must have one number per axis");
  }
  expect_labellable_size(image);
  const Unlocked unlocked;
  ElementForest forest({labels.data(), labels.size()});
  with_type(grid.type, [&](auto zero) {
    using T = decltype(zero);
    const T limit = *static_cast<const T*>(delta.data());
    const T* const excluded =
        background.size() ? static_cast<const T*>(background.data()) : nullptr;
    const int64_t width = grid.width();
    for (int64_t row = 0; row < grid.rows(); ++row) {
      const T* value = reinterpret_cast<const T*>(grid.row(row));
      const auto first = static_cast<size_t>(row * width);
      for (int64_t x = 0; x < width; ++x) {
        const size_t element = first + static_cast<size_t>(x);
        if (value[x] != value[x] || (excluded && value[x] == *excluded)) {
          forest.add_background(element);
        } else {
          forest.add(element);
        }
      }
      for (const std::vector<int>& offset : offsets) {
        const int64_t other_row = row_after(grid, row, {{offset.begin(), offset.end() - 1}, false});
        if (other_row < 0) continue;
        const T* other = reinterpret_cast<const T*>(grid.row(other_row));
        const auto other_first = static_cast<size_t>(other_row * width);
        const int step = offset.back();
        const int64_t end = width - std::max(step, 0);
        for (int64_t x = std::max(-step, 0); x < end; ++x) {
          const size_t a = first + static_cast<size_t>(x),
                       b = other_first + static_cast<size_t>(x + step);
          if (are_similar(value[x], other[x + step], limit) && forest.contains(a) &&
              forest.contains(b)) {
            forest.merge(a, b);
          }
        }
      }
    }
  });
  return forest.number_regions();
}

// The runs of equal labels in each row of a label array.
class LabelRuns {
 public:
  // Calls visit(row, x) for the first element of each run, while the row is in the cache.
  template <class Visit>
  LabelRuns(const Grid& grid, Visit visit)
      : grid_(grid),
        words_(static_cast<size_t>(words_for(static_cast<int>(grid.width())))),
        starts_(static_cast<size_t>(grid.rows()) * words_) {
    std::vector<uint8_t> flags(static_cast<size_t>(grid.width()));
    for (int64_t row = 0; row < grid.rows(); ++row) {
      const std::byte* data = grid.row(row);
      Word* const bits = starts_.data() + static_cast<size_t>(row) * words_;
      flags[0] = 1;
      flag_row(Comparison::bytes4, data + sizeof(int32_t), data, grid.width() - 1,
               flags.data() + 1);
      pack_at_least(reinterpret_cast<const std::byte*>(flags.data()), 1,
                    static_cast<int>(grid.width()), 1, bits);
      for_each(row, [&](int64_t x) {
        ++count_;
        visit(row, x);
      });
    }
  }

  size_t count() const { return count_; }
  // Replaces each label by its entry in `new_label`. Fast for long runs.
  void replace(const std::vector<int32_t>& new_label) const {
    for (int64_t row = 0; row < grid_.rows(); ++row) {
      auto* const label = reinterpret_cast<int32_t*>(grid_.row(row));
      int64_t begin = 0;
      const auto fill_until = [&](int64_t end) {
        if (end == begin) return;
        const int32_t old = label[begin], replacement = new_label[static_cast<size_t>(old)];
        if (old != replacement) std::fill(label + begin, label + end, replacement);
        begin = end;
      };
      for_each(row, fill_until);
      fill_until(grid_.width());
    }
  }

 private:
  // Calls f(x) for the first element of each run of a row.
  template <class F>
  void for_each(int64_t row, F f) const {
    const Word* const bits = starts_.data() + static_cast<size_t>(row) * words_;
    for (size_t w = 0; w < words_; ++w) {
      for (Word remaining = bits[w]; remaining; remaining &= remaining - 1) {
        f(static_cast<int64_t>(w) * kWordBits + lowest_bit(remaining));
      }
    }
  }

  const Grid& grid_;
  const size_t words_;        // number of words per row
  std::vector<Word> starts_;  // [rows][words], one bit per label: the first of its run
  size_t count_ = 0;
};

// Returns the position of the first element of a row in raster order of the transposed array. The
// position of element x of the row is larger by x times the number of rows.
int64_t transposed_position(const Grid& grid, int64_t row) {
  int64_t position = 0, pitch = 1;
  for (size_t axis = 0, axes = grid.outer_axes(); axis < axes; ++axis) {
    int64_t inner = 1;  // number of rows per index of this axis
    for (size_t k = axis + 1; k < axes; ++k) inner *= grid.shape[k];
    position += row / inner % grid.shape[axis] * pitch;
    pitch *= grid.shape[axis];
  }
  return position;
}

// Renumbers labels whose array is the transpose of the caller's array. Afterwards, labels are in
// raster order of the caller's array. The labels must be 0..count.
void renumber_transposed(const Labels& labels, uint32_t count) {
  const Grid grid{AnyArray(labels)};
  const Unlocked unlocked;
  // The position of the first element of each label in raster order of the caller's array.
  std::vector<int32_t> first(size_t{count} + 1, std::numeric_limits<int32_t>::max());
  const int64_t rows = grid.rows();
  int64_t last_row = -1, offset = 0;
  const LabelRuns runs(grid, [&](int64_t row, int64_t x) {
    if (row != last_row) offset = transposed_position(grid, last_row = row);
    const size_t index = static_cast<size_t>(row * grid.width() + x);
    int32_t& position = first[static_cast<size_t>(labels.data()[index])];
    position = std::min(position, static_cast<int32_t>(offset + x * rows));
  });
  // The rank of a first position is the number of smaller first positions.
  std::vector<Word> bits(labels.size() / kWordBits + 1);
  for (size_t k = 1; k <= count; ++k) {
    bits[static_cast<size_t>(first[k]) / kWordBits] |= Word{1} << first[k] % kWordBits;
  }
  std::vector<uint32_t> before(bits.size());
  for (size_t w = 1; w < bits.size(); ++w) before[w] = before[w - 1] + count_bits(bits[w - 1]);
  std::vector<int32_t> new_label(size_t{count} + 1);
  for (size_t k = 1; k <= count; ++k) {
    const auto w = static_cast<size_t>(first[k]) / kWordBits;
    const Word up_to = mask_up_to_lowest(Word{1} << first[k] % kWordBits);
    new_label[k] = static_cast<int32_t>(before[w] + count_bits(bits[w] & up_to));
  }
  constexpr size_t kLongRun = 16;  // average length from which on filling runs is faster
  if (runs.count() * kLongRun < labels.size()) {
    runs.replace(new_label);
  } else {
    replace_labels(new_label.data(), labels.size(), labels.data());
  }
}

}  // namespace

bool suits_runs(const Voxels& voxels, const void* background, int threads) {
  // With one thread, runs of this average length take as long as rows of bits, and kFewRuns runs
  // take as long as the preparation of rows of bits. Measured with pictures of 16x16 to 1024x1024
  // and volumes of 160x160x160 and 256x256x256, uint8 and int64 (AMD EPYC, 2026-11-30).
  const int long_run = voxels.slices > 1 ? 20 : 32;
  constexpr int kFewRuns = 500;
  constexpr int kSamples = 16;  // number of rows that are read
  return with_type(voxels.type, [&](auto zero) {
    using T = decltype(zero);
    const T excluded = background ? *static_cast<const T*>(background) : T{};
    const int width = voxels.slice.width, samples = std::min(kSamples, voxels.rows());
    int64_t runs = 0;
    T first{};  // the first value other than the background
    bool has_value = false, has_several_values = !background;
    for (int k = 0; k < samples; ++k) {
      const T* row = reinterpret_cast<const T*>(
          voxels.row(static_cast<int>((2 * int64_t{k} + 1) * voxels.rows() / (2 * samples))));
      int starts = 1;
      for (int x = 1; x < width; ++x) starts += row[x] != row[x - 1];
      runs += starts;
      if (!has_value) {
        const T* const found = std::find_if(row, row + width, [&](T v) { return v != excluded; });
        has_value = found != row + width;
        if (has_value) first = *found;
      }
      bool has_other = false;
      for (int x = 0; x < width; ++x) has_other |= (row[x] != excluded) & (row[x] != first);
      has_several_values |= has_value & has_other;
    }
    const int64_t all_runs = runs * voxels.rows() / samples;
    return has_several_values &&
           (all_runs * threads - kFewRuns) * long_run < int64_t{voxels.rows()} * width;
  });
}

uint32_t label_values(const AnyArray& image, const AnyArray& background, const Labels& labels,
                      int connectivity, bool is_periodic) {
  const Grid grid(image);
  expects(grid.strides.back() == 1 || grid.width() == 1,
          "the elements of a row must be contiguous");
  expects(background.dtype() == image.dtype() && background.size() <= 1 &&
              labels.size() == image.size(),
          "background must have the type of the image and at most one element, and labels must "
          "have as many elements as the image");
  expect_labellable_size(image);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const auto* value = background.size() ? static_cast<const T*>(background.data()) : nullptr;
    ValueRuns<T> runs(grid, connectivity, value);
    runs.find_runs();
    if (is_periodic) runs.merge_opposite_sides();
    const uint32_t count = runs.number_regions();
    runs.write(labels.data());
    return count;
  };
  const Unlocked unlocked;
  switch (comparison_of(grid.type)) {
    case Comparison::bytes1:
      return run(uint8_t{});
    case Comparison::bytes2:
      return run(uint16_t{});
    case Comparison::bytes4:
      return run(uint32_t{});
    case Comparison::bytes8:
      return run(uint64_t{});
    case Comparison::float4:
      return run(float{});
    case Comparison::float8:
      return run(double{});
  }
  return 0;
}

void bind_value_labels(nb::module_& module) {
  module.def("label_values", label_values);
  module.def("label_similar", label_similar);
  module.def("renumber_transposed", renumber_transposed);
}

}  // namespace regions::python
