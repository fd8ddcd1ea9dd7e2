// Labels masks of at most 64x64 elements, and measures their regions. A row is one word of bits.
// The algorithm for pictures prepares memory and threads for each call, which takes longer than
// labelling a small mask.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "cpu/simd.hpp"
#include "python/arrays.hpp"
#include "python/module.hpp"

namespace regions::python {
namespace {

constexpr int kMaxSide = kWordBits;       // maximum length of both axes
using Rows = std::array<Word, kMaxSide>;  // bit x of word y is element x of row y

// Sets bit x of each row to whether its byte x is not 0. Rows have `count` bytes and are `pitch`
// bytes apart. Returns the value of the bytes that are not 0, or nothing if they differ.
std::optional<uint8_t> read_rows(const uint8_t* data, ptrdiff_t pitch, int rows, int count,
                                 Rows& bits) {
  constexpr uint64_t kLow = 0x0101010101010101, kHigh = 0x8080808080808080;
  uint64_t value = 0;  // the value of the foreground in each byte; 0: none yet
  for (int y = 0; y < rows; ++y, data += pitch) {
    Word row = 0;
    for (int x = 0; x < count; x += 8) {
      uint64_t bytes = 0;
      std::memcpy(&bytes, data + x, static_cast<size_t>(std::min(8, count - x)));
      // The high bit of each byte that is not 0.
      const uint64_t marks = (((bytes & ~kHigh) + ~kHigh) | bytes) & kHigh;
      if (marks == 0) continue;
      if (value == 0) value = kLow * (bytes >> (lowest_bit(marks) - 7) & 255);
      if (((marks >> 7) * 255 & value) != bytes) return {};
      constexpr uint64_t kGather = 0x0102040810204080;  // moves bit 8 k to bit 56 + k
      row |= ((marks >> 7) * kGather >> 56) << x;
    }
    bits[static_cast<size_t>(y)] = row;
  }
  return static_cast<uint8_t>(value & 255);
}

// Transposes 64x64 bits: swaps blocks of 32x32 bits, then of 16x16 bits, and so on (Warren,
// "Hacker's Delight", section 7-3).
void transpose(Rows& bits) {
  Word mask = 0xFFFFFFFF;
  for (size_t size = 32; size != 0; size /= 2, mask ^= mask << size) {
    for (size_t y = 0; y < bits.size(); y = ((y | size) + 1) & ~size) {
      const Word exchanged = (bits[y] >> size ^ bits[y | size]) & mask;
      bits[y] ^= exchanged << size;
      bits[y | size] ^= exchanged;
    }
  }
}

// A row of the table of regions, as fill_table() writes it.
struct TableRow {
  int64_t label, area;
  int32_t begin_y, begin_x, end_y, end_x;  // the bounding box; ends are exclusive
  double center_y, center_x, mean;
};

// The runs of a mask and a union-find forest of them. A root is the first run of its region.
class SmallForest {
 public:
  // Adds the runs of all rows and merges neighbours. Runs of adjacent rows are neighbours if they
  // share a column, or with `reach` 1 also if they touch at a corner.
  SmallForest(const Rows& bits, int rows, int reach) : rows_(rows) {
    for (int y = 0; y < rows; ++y) {
      first_run_[static_cast<size_t>(y)] = count_;
      for (Word row = bits[static_cast<size_t>(y)]; row != 0;) {
        const int begin = lowest_bit(row);
        const Word after = row + (Word{1} << begin);  // the bit after the run, or 0
        const int end = after & ~row ? lowest_bit(after & ~row) : kWordBits;
        begin_[count_] = static_cast<uint8_t>(begin);
        end_[count_] = static_cast<uint8_t>(end);
        parent_[count_] = count_;
        ++count_;
        row = end == kWordBits ? 0 : row >> end << end;
      }
      if (y > 0) merge_rows(y, reach);
    }
    first_run_[static_cast<size_t>(rows)] = count_;
  }

  // Replaces the parent of each run by the number of its region. Returns the number of regions.
  int number_regions() {
    uint16_t regions = 0;
    for (uint16_t run = 0; run < count_; ++run) {
      uint16_t& parent = parent_[run];
      parent = parent == run ? ++regions : parent_[parent];
    }
    return regions;
  }

  // Writes the numbers. Neighbours are `row_stride` and `column_stride` labels apart.
  void write(int32_t* labels, ptrdiff_t row_stride, ptrdiff_t column_stride) const {
    for (int y = 0; y < rows_; ++y, labels += row_stride) {
      const size_t end = first_run_[static_cast<size_t>(y) + 1];
      for (size_t run = first_run_[static_cast<size_t>(y)]; run < end; ++run) {
        for (int x = begin_[run]; x < end_[run]; ++x) labels[x * column_stride] = parent_[run];
      }
    }
  }

  // Writes the TableRow of each region to `table`, after number_regions(). `value` is the value of
  // all elements.
  void measure(int regions, double value, std::byte* table) const {
    struct Sums {
      int area = 0, y = 0, x = 0, begin_y = kMaxSide, begin_x = kMaxSide, end_y = 0, end_x = 0;
    };
    std::array<Sums, kMaxRuns> sums;
    std::fill_n(sums.begin(), regions, Sums{});
    for (int y = 0; y < rows_; ++y) {
      const size_t end = first_run_[static_cast<size_t>(y) + 1];
      for (size_t run = first_run_[static_cast<size_t>(y)]; run < end; ++run) {
        Sums& region = sums[parent_[run] - size_t{1}];
        const int first = begin_[run], last = end_[run] - 1, count = last + 1 - first;
        region.area += count;
        region.y += y * count;
        region.x += (first + last) * count / 2;
        region.begin_y = std::min(region.begin_y, y);
        region.begin_x = std::min(region.begin_x, first);
        region.end_y = y + 1;
        region.end_x = std::max(region.end_x, last + 1);
      }
    }
    for (int k = 0; k < regions; ++k) {
      const Sums& region = sums[static_cast<size_t>(k)];
      const double area = region.area;
      const TableRow row{k + 1,           region.area,     region.begin_y,
                         region.begin_x,  region.end_y,    region.end_x,
                         region.y / area, region.x / area, value};
      std::memcpy(table + static_cast<size_t>(k) * sizeof row, &row, sizeof row);
    }
  }

 private:
  static constexpr size_t kMaxRuns = kMaxSide * kMaxSide / 2;

  void merge_rows(int y, int reach) {
    uint16_t above = first_run_[static_cast<size_t>(y) - 1],
             run = first_run_[static_cast<size_t>(y)];
    const uint16_t above_end = run;
    while (above < above_end && run < count_) {
      if (begin_[above] < end_[run] + reach && begin_[run] < end_[above] + reach) merge(above, run);
      if (end_[above] < end_[run]) {
        ++above;
      } else {
        ++run;
      }
    }
  }
  uint16_t find_root(uint16_t run) {
    while (parent_[run] != run) run = parent_[run] = parent_[parent_[run]];
    return run;
  }
  void merge(uint16_t a, uint16_t b) {
    a = find_root(a);
    b = find_root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  const int rows_;
  uint16_t count_ = 0;                       // number of runs
  uint16_t first_run_[kMaxSide + 1];         // [rows + 1], index of each row's first run
  uint8_t begin_[kMaxRuns], end_[kMaxRuns];  // columns of each run; `end` is exclusive
  uint16_t parent_[kMaxRuns];                // a run of the same region, or its number
};

// Whether labels with two axes are contiguous: row by row if `has_rows` is true, else column by
// column.
bool is_contiguous(const nb::ndarray<int32_t>& labels, bool has_rows) {
  const size_t inner = has_rows ? 1 : 0, outer = 1 - inner;
  const auto has_stride = [&](size_t axis, size_t stride) {
    return labels.shape(axis) == 1 || labels.stride(axis) == static_cast<int64_t>(stride);
  };
  return has_stride(inner, 1) && has_stride(outer, labels.shape(inner));
}

// Labels the elements of a picture that are not 0, if all of them have the same value. Returns the
// number of regions, or nothing for other pictures. `image` has one byte per element, row by row if
// `has_rows` is true, else column by column. Passing an array would take longer than labelling it.
// `labels` is contiguous in the same order. If there is a `table`, it receives the rows of all
// regions; `is_signed` is the type of their values.
std::optional<int> label_small_mask(const nb::bytes& image, const nb::ndarray<int32_t>& labels,
                                    bool has_rows, int connectivity, bool is_signed,
                                    std::optional<nb::bytearray> table) {
  expects(
      labels.ndim() == 2 && std::max(labels.shape(0), labels.shape(1)) <= kMaxSide &&
          image.size() == labels.size() && is_contiguous(labels, has_rows),
      "a small mask must have two axes of at most 64 elements of one byte, and labels its shape "
      "and order");
  const auto rows = static_cast<int>(labels.shape(0)), columns = static_cast<int>(labels.shape(1));
  const auto* data = static_cast<const uint8_t*>(image.data());
  Rows bits;
  if (!has_rows) bits.fill(0);
  const std::optional<uint8_t> value = has_rows ? read_rows(data, columns, rows, columns, bits)
                                                : read_rows(data, rows, columns, rows, bits);
  if (!value) return {};
  if (!has_rows) transpose(bits);
  SmallForest forest(bits, rows, connectivity > 1);
  const int count = forest.number_regions();
  std::fill_n(labels.data(), labels.size(), 0);
  forest.write(labels.data(), has_rows ? columns : 1, has_rows ? 1 : rows);
  if (table) {
    table->resize(static_cast<size_t>(count) * sizeof(TableRow));
    forest.measure(count, is_signed ? static_cast<int8_t>(*value) : *value,
                   static_cast<std::byte*>(table->data()));
  }
  return count;
}

}  // namespace

void bind_small_masks(nb::module_& module) {
  module.def("label_small_mask", label_small_mask, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg(), nb::arg().none());
}

}  // namespace regions::python
