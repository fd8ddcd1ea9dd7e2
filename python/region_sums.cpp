// Computes the measurements for tables of regions: sums over the elements of each label.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "cpu/pixel_rows.hpp"
#include "python/arrays.hpp"
#include "python/module.hpp"

namespace regions::python {
namespace {

using Numbers = HostArray<int64_t, nb::ndim<2>, nb::c_contig>;
using Sums = HostArray<double, nb::ndim<2>, nb::c_contig>;

// The measurements of one label. Each array has one value per axis, in the order z, y, x. `end` is
// exclusive.
struct Extent {
  int64_t area;
  int64_t begin[3], end[3], sum[3];
};
constexpr size_t kExtentColumns = sizeof(Extent) / sizeof(int64_t);

// A row of a label array: its number among all rows, its slice, and its number in the slice.
struct Row {
  int index, z, y;
};

// Adds the elements x to end - 1 of a row.
REGIONS_INLINE void add_run(Extent& extent, const Row& row, int64_t x, int64_t end) {
  const int64_t run_begin[] = {row.z, row.y, x}, run_end[] = {row.z + 1, row.y + 1, end},
                count = end - x;
  const int64_t run_sum[] = {row.z * count, row.y * count, (x + end - 1) * count / 2};
  const bool is_first = extent.area == 0;
  for (int axis = 0; axis < 3; ++axis) {
    extent.begin[axis] = is_first ? run_begin[axis] : std::min(extent.begin[axis], run_begin[axis]);
    extent.end[axis] = std::max(extent.end[axis], run_end[axis]);
    extent.sum[axis] += run_sum[axis];
  }
  extent.area += count;
}

// Sets flags[x] to whether label[x] differs from label[x - 1]; flags[0] is 1.
REGIONS_CLONES void flag_changes(const int32_t* label, int width, uint8_t* flags) {
  flags[0] = 1;
  for (int x = 1; x < width; ++x) flags[x] = label[x] != label[x - 1];
}

// Calls f(end) for the end of each run of equal labels in a row. `bits` has words_for(width) words,
// and `flags` has `width` bytes.
template <class F>
REGIONS_INLINE void for_each_end(const int32_t* label, int width, uint8_t* flags, Word* bits, F f) {
  constexpr int kWide = 64;  // in shorter rows, the calls take longer than a comparison per label
  if (width < kWide) {
    for (int x = 1; x < width; ++x) {
      if (label[x] != label[x - 1]) f(x);
    }
  } else {
    flag_changes(label, width, flags);
    pack_at_least(reinterpret_cast<const std::byte*>(flags), 1, width, 1, bits);
    for (int w = 0; w < words_for(width); ++w) {
      for (Word ends = w == 0 ? bits[w] & ~Word{1} : bits[w]; ends; ends &= ends - 1) {
        f(w * kWordBits + lowest_bit(ends));
      }
    }
  }
  f(width);
}

// Calls f(label, row, x, end) for each run of elements with the same label, except label 0. Throws
// InputError if a label is not in 0..max_label.
template <class F>
void for_each_run(const Voxels& labels, int32_t max_label, F f) {
  const int width = labels.slice.width, height = labels.slice.height;
  std::vector<uint8_t> flags(static_cast<size_t>(width));
  std::vector<Word> bits(static_cast<size_t>(words_for(width)));
  for (Row row{0, 0, 0}; row.index < labels.rows(); ++row.index) {
    const auto* label = reinterpret_cast<const int32_t*>(labels.row(row.index));
    int begin = 0;
    for_each_end(label, width, flags.data(), bits.data(), [&](int end) {
      const int32_t number = label[begin];
      if (number < 0 || number > max_label)
        throw InputError("label " + std::to_string(number) + " is out of range, must be 0 to " +
                         std::to_string(max_label));
      if (number != 0) f(number, row, begin, end);
      begin = end;
    });
    if (++row.y == height) row = {row.index, row.z + 1, 0};
  }
}

// Writes the measurements of each label to row `label - 1` of `extents`, which must be zero before.
void measure(const ConstLabels& labels, const Numbers& extents) {
  const Voxels voxels{AnyArray(labels)};
  expects(extents.shape(1) == kExtentColumns, "extents has " + std::to_string(extents.shape(1)) +
                                                  " columns, must have " +
                                                  std::to_string(kExtentColumns));
  auto* table = reinterpret_cast<Extent*>(extents.data());
  const auto max_label = static_cast<int32_t>(extents.shape(0));
  const Unlocked unlocked;
  for_each_run(voxels, max_label, [&](int32_t label, const Row& row, int x, int end) {
    add_run(table[label - 1], row, x, end);
  });
}

// Calls add(label, row, x, end, sum, channel) with the sum of the values of each run and channel.
template <class Add>
void for_each_sum(const ConstLabels& labels, const HostArray<nb::ro, nb::c_contig>& values,
                  size_t channels, int32_t max_label, Add add) {
  const Voxels voxels{AnyArray(labels)};
  expects(values.size() == labels.size() * channels,
          "values must have one element per label and channel");
  with_type(values.dtype(), [&](auto type) {
    const auto* value = static_cast<const decltype(type)*>(values.data());
    for_each_run(voxels, max_label, [&](int32_t label, const Row& row, int x, int end) {
      const size_t elements_before_row =
          static_cast<size_t>(row.index) * static_cast<size_t>(voxels.slice.width);
      const auto* first = value + (elements_before_row + static_cast<size_t>(x)) * channels;
      for (size_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (int i = 0; i < end - x; ++i) {
          sum += static_cast<double>(first[static_cast<size_t>(i) * channels + c]);
        }
        add(label, row, x, end, sum, c);
      }
    });
  });
}

// Adds the channel values of each element to row `label - 1` of `sums`.
void add_values(const ConstLabels& labels, const HostArray<nb::ro, nb::c_contig>& values,
                const Sums& sums) {
  const size_t channels = sums.shape(1);
  const Unlocked unlocked;
  for_each_sum(labels, values, channels, static_cast<int32_t>(sums.shape(0)),
               [&](int32_t label, const Row&, int, int, double sum, size_t c) {
                 sums.data()[static_cast<size_t>(label - 1) * channels + c] += sum;
               });
}

// Appends the bytes of a number to the row of a table.
template <class T>
void append(std::byte*& out, T number) {
  std::memcpy(out, &number, sizeof number);
  out += sizeof number;
}

// Writes the rows of the labels from 1 on to `table`: the label and the area (int64), the bounding
// box (int32), the centroid and the mean of each channel (double), without gaps. The number of rows
// is the number of labels. The row of a label that does not occur has area 0.
void fill_table(const ConstLabels& labels,
                const std::optional<HostArray<nb::ro, nb::c_contig>>& values,
                const HostArray<uint8_t, nb::ndim<2>, nb::c_contig>& table) {
  const Voxels voxels{AnyArray(labels)};
  const size_t axes = labels.ndim(), rows = table.shape(0),
               channels = values ? values->size() / labels.size() : 0;
  expects(table.shape(1) == 16 + axes * 16 + channels * 8, "table must have rows of another size");
  const auto max_label = static_cast<int32_t>(rows);
  const Unlocked unlocked;
  std::vector<Extent> extents(rows);
  std::vector<double> sums(rows * channels);
  const auto add_extent = [&](int32_t label, const Row& row, int x, int end) {
    add_run(extents[static_cast<size_t>(label - 1)], row, x, end);
  };
  if (channels == 0) {
    for_each_run(voxels, max_label, add_extent);
  } else {
    for_each_sum(labels, *values, channels, max_label,
                 [&](int32_t label, const Row& row, int x, int end, double sum, size_t c) {
                   if (c == 0) add_extent(label, row, x, end);
                   sums[static_cast<size_t>(label - 1) * channels + c] += sum;
                 });
  }
  auto* out = reinterpret_cast<std::byte*>(table.data());
  for (size_t k = 0; k < rows; ++k) {
    const Extent& extent = extents[k];
    append(out, static_cast<int64_t>(k + 1));
    append(out, extent.area);
    for (size_t i = 3 - axes; i < 3; ++i) append(out, static_cast<int32_t>(extent.begin[i]));
    for (size_t i = 3 - axes; i < 3; ++i) append(out, static_cast<int32_t>(extent.end[i]));
    const double area = extent.area ? static_cast<double>(extent.area) : 1;
    for (size_t i = 3 - axes; i < 3; ++i) append(out, static_cast<double>(extent.sum[i]) / area);
    for (size_t c = 0; c < channels; ++c) append(out, sums[k * channels + c] / area);
  }
}

constexpr size_t kPowers = 4;  // moments have the powers 0 to 3 along each axis

// Returns the powers 0 to 3 of a number.
std::array<double, kPowers> powers_of(double number) {
  return {1, number, number * number, number * number * number};
}

// Adds the moments of each label to its row of `sums`, which has kPowers entries for each axis. The
// coordinates along an axis are (index - begin) * spacing - center, where `begins` and `centers`
// have one row per label. Elements are weighted by `values`, if there are values, else by 1.
void moments(const ConstLabels& labels, const Numbers& begins, const Sums& centers,
             const std::vector<double>& spacing,
             const std::optional<HostArray<const double, nb::c_contig>>& values, const Sums& sums) {
  const Voxels voxels{AnyArray(labels)};
  const size_t axes = labels.ndim();
  const size_t entries = axes == 2 ? kPowers * kPowers : kPowers * kPowers * kPowers;
  for (const size_t rows : {begins.shape(0), centers.shape(0)}) {
    expects(rows == sums.shape(0), "begins and centers must have as many rows as sums");
  }
  expects(begins.shape(1) == axes && centers.shape(1) == axes && spacing.size() == axes &&
              sums.shape(1) == entries && (!values || values->size() == labels.size()),
          "begins, centers, spacing, values and sums must match the labels");
  const auto max_label = static_cast<int32_t>(sums.shape(0));
  const int height = voxels.slice.height, width = voxels.slice.width;
  const Unlocked unlocked;
  for_each_run(voxels, max_label, [&](int32_t label, const Row& position, int x, int end) {
    const int row = position.index;
    const size_t first = static_cast<size_t>(label - 1) * axes;
    const auto powers_at = [&](int index, size_t axis) {
      const auto offset = static_cast<double>(index - begins.data()[first + axis]);
      return powers_of(offset * spacing[axis] - centers.data()[first + axis]);
    };
    const double* const weight =
        values ? values->data() + static_cast<size_t>(row) * static_cast<size_t>(width) : nullptr;
    std::array<double, kPowers> along_x{};
    for (int k = x; k < end; ++k) {
      const auto power = powers_at(k, axes - 1);
      for (size_t q = 0; q < kPowers; ++q) along_x[q] += (weight ? weight[k] : 1) * power[q];
    }
    const auto along_y = powers_at(row % height, axes - 2);
    const auto along_z = axes == 3 ? powers_at(row / height, 0) : std::array<double, kPowers>{1};
    double* sum = sums.data() + static_cast<size_t>(label - 1) * entries;
    for (size_t r = 0; r < (axes == 3 ? kPowers : 1); ++r) {
      for (size_t p = 0; p < kPowers; ++p) {
        for (size_t q = 0; q < kPowers; ++q) *sum++ += along_z[r] * along_y[p] * along_x[q];
      }
    }
  });
}

// Sets each label's row of `spread` to the minimum, the maximum and the sum of squared differences
// from the mean, for each channel. `means` has one row per label and one column per channel.
void measure_spread(const ConstLabels& labels, const HostArray<nb::ro, nb::c_contig>& values,
                    const Sums& means, const Sums& spread) {
  const Voxels voxels{AnyArray(labels)};
  const size_t channels = means.shape(1);
  expects(values.size() == labels.size() * channels && spread.shape(0) == means.shape(0) &&
              spread.shape(1) == 3 * channels,
          "values, means and spread must match the labels");
  const auto max_label = static_cast<int32_t>(means.shape(0));
  std::fill_n(spread.data(), spread.size(), 0.0);
  const Unlocked unlocked;
  std::vector<uint8_t> has_values(means.shape(0));
  with_type(values.dtype(), [&](auto type) {
    const auto* value = static_cast<const decltype(type)*>(values.data());
    for_each_run(voxels, max_label, [&](int32_t label, const Row& position, int x, int end) {
      const int row = position.index;
      const auto entry = static_cast<size_t>(label - 1);
      const size_t before = static_cast<size_t>(row) * static_cast<size_t>(voxels.slice.width) +
                            static_cast<size_t>(x);
      for (size_t c = 0; c < channels; ++c) {
        const double mean = means.data()[entry * channels + c];
        double* out = spread.data() + (entry * channels + c) * 3;
        const auto* next = value + before * channels + c;
        if (!has_values[entry]) out[0] = out[1] = static_cast<double>(*next);
        double squares = 0;
        for (int k = x; k < end; ++k, next += channels) {
          const auto number = static_cast<double>(*next);
          // NaN is the minimum and the maximum of a region that contains it.
          out[0] = number < out[0] || number != number ? number : out[0];
          out[1] = number > out[1] || number != number ? number : out[1];
          squares += (number - mean) * (number - mean);
        }
        out[2] += squares;
      }
      has_values[entry] = 1;
    });
  });
}

// Adds the perimeter of each label to `perimeters`: the length of a line through the centres of the
// border pixels. A border pixel has a neighbour above, below, left or right in another label or
// outside the picture. Benkrid, Crookes: "Design and FPGA implementation of a perimeter estimator",
// 2000: the number of neighbours on the border determines a pixel's share.
void add_perimeters(const ConstLabels& labels, const Sums& perimeters) {
  const Voxels voxels{AnyArray(labels)};
  expects(voxels.slices == 1, "perimeters are defined for pictures only");
  const int height = voxels.slice.height, width = voxels.slice.width;
  const auto max_label = static_cast<int32_t>(perimeters.size());
  const Unlocked unlocked;
  // The arrays have a margin of one pixel.
  const size_t pitch = static_cast<size_t>(width) + 2;
  std::vector<int32_t> label((static_cast<size_t>(height) + 2) * pitch);
  std::vector<uint8_t> is_border(label.size());
  for_each_run(voxels, max_label, [&](int32_t number, const Row& position, int x, int end) {
    const int row = position.index;
    std::fill_n(
        label.begin() + static_cast<ptrdiff_t>((static_cast<size_t>(row) + 1) * pitch) + x + 1,
        end - x, number);
  });
  for (size_t i = pitch; i + pitch < label.size(); ++i) {
    is_border[i] = label[i] != 0 && (label[i - 1] != label[i] || label[i + 1] != label[i] ||
                                     label[i - pitch] != label[i] || label[i + pitch] != label[i]);
  }
  for (size_t i = pitch; i + pitch < label.size(); ++i) {
    if (!is_border[i]) continue;
    const auto on_border = [&](size_t k) { return is_border[k] && label[k] == label[i] ? 1 : 0; };
    const int sides =
                  on_border(i - 1) + on_border(i + 1) + on_border(i - pitch) + on_border(i + pitch),
              corners = on_border(i - pitch - 1) + on_border(i - pitch + 1) +
                        on_border(i + pitch - 1) + on_border(i + pitch + 1);
    const double diagonal = std::sqrt(2.0);
    double share = 0;
    if ((sides == 2 || sides == 3) && corners < 3) {
      share = 1;
    } else if ((corners == 1 || corners == 2) && sides == 1) {
      share = (1 + diagonal) / 2;
    } else if ((corners == 2 && sides == 0) || (corners == 3 && sides == 1)) {
      share = diagonal;
    }
    perimeters.data()[label[i] - 1] += share;
  }
}

// The corners of the left or right border of a convex hull, from top to bottom. Coordinates are
// doubled, so that they are integers.
using Chain = std::vector<std::array<int64_t, 2>>;  // y, x

// Appends a corner below the others and removes the corners that are not convex any more. `side` is
// 1 for the left border and -1 for the right border.
void add_corner(Chain& chain, int64_t y, int64_t x, int64_t side) {
  while (chain.size() >= 2) {
    const auto [y0, x0] = chain[chain.size() - 2];
    const auto [y1, x1] = chain.back();
    if (side * ((x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)) < 0) break;
    chain.pop_back();
  }
  chain.push_back({y, x});
}

// Returns the first (side 1) or last (side -1) pixel of row y / 2 inside the hull.
int64_t column_at(const Chain& chain, size_t& segment, int64_t y, int64_t side) {
  while (segment + 2 < chain.size() && chain[segment + 1][0] < y) ++segment;
  const auto [y0, x0] = chain[segment];
  const auto [y1, x1] = chain[std::min(segment + 1, chain.size() - 1)];
  const int64_t rise = std::max<int64_t>(1, y1 - y0);
  // The pixel's column is numerator / (2 * rise), rounded towards the inside.
  const int64_t numerator = x0 * rise + (x1 - x0) * (y - y0), divisor = 2 * rise;
  const int64_t floor =
      numerator >= 0 ? numerator / divisor : -((-numerator + divisor - 1) / divisor);
  return side > 0 && floor * divisor != numerator ? floor + 1 : floor;
}

// Sets `areas` to the number of pixels in the convex hull of each label. As in scikit-image, the
// hull contains the diamonds around the pixel centres, and pixels on its border count.
// `extents` comes from measure().
void measure_hulls(const ConstLabels& labels, const Numbers& extents, const Sums& areas) {
  const Voxels voxels{AnyArray(labels)};
  expects(voxels.slices == 1, "hulls are measured for pictures only");
  expects(extents.shape(0) == areas.size() && extents.shape(1) == kExtentColumns,
          "areas must have one entry per row of extents");
  const auto* table = reinterpret_cast<const Extent*>(extents.data());
  const auto max_label = static_cast<int32_t>(areas.size());
  const Unlocked unlocked;
  struct Ends {
    int left = std::numeric_limits<int>::max(), right = -1;
  };
  std::vector<size_t> first_row(areas.size() + 1);  // index of each label's first row in `rows`
  for (size_t k = 0; k < areas.size(); ++k) {
    first_row[k + 1] = first_row[k] + static_cast<size_t>(table[k].end[1] - table[k].begin[1]);
  }
  std::vector<Ends> rows(first_row.back());
  for_each_run(voxels, max_label, [&](int32_t label, const Row& position, int x, int end) {
    const int row = position.index;
    const auto k = static_cast<size_t>(label - 1);
    Ends& ends = rows[first_row[k] + static_cast<size_t>(row - table[k].begin[1])];
    ends.left = std::min(ends.left, x);
    ends.right = std::max(ends.right, end - 1);
  });
  for (size_t k = 0; k < areas.size(); ++k) {
    const int64_t begin = table[k].begin[1], end = table[k].end[1];
    Chain left, right;
    const auto ends_of = [&](int64_t y) {
      return y < begin || y >= end ? Ends{} : rows[first_row[k] + static_cast<size_t>(y - begin)];
    };
    for (int64_t y = 2 * begin - 1; y <= 2 * end - 1; ++y) {
      // An even y is a row of pixel centres. An odd y has the tips of the diamonds of two rows.
      const bool is_row = y % 2 == 0;
      const Ends above = is_row ? ends_of(y / 2) : ends_of((y - 1) / 2),
                 below = is_row ? above : ends_of((y + 1) / 2);
      const int64_t reach = is_row;
      if (std::max(above.right, below.right) < 0) continue;
      add_corner(left, y, 2 * int64_t{std::min(above.left, below.left)} - reach, 1);
      add_corner(right, y, 2 * int64_t{std::max(above.right, below.right)} + reach, -1);
    }
    int64_t area = 0;
    size_t left_segment = 0, right_segment = 0;
    for (int64_t y = begin; y < end; ++y) {
      const int64_t first = column_at(left, left_segment, 2 * y, 1),
                    last = column_at(right, right_segment, 2 * y, -1);
      area += std::max<int64_t>(0, last - first + 1);
    }
    areas.data()[k] = static_cast<double>(area);
  }
}

// Returns the pairs of labels whose elements are adjacent along an axis, as bytes of int32. The
// pairs are sorted, and each has the lower label first. Label 0 is ignored.
nb::bytes touching(const ConstLabels& labels) {
  const Voxels voxels{AnyArray(labels)};
  std::vector<std::array<int32_t, 2>> pairs;
  const auto add_pair = [&](int32_t a, int32_t b) {
    if (a == b || a == 0 || b == 0) return;
    const std::array<int32_t, 2> pair{std::min(a, b), std::max(a, b)};
    if (pairs.empty() || pairs.back() != pair) pairs.push_back(pair);
  };
  {
    const Unlocked unlocked;
    const int height = voxels.slice.height, width = voxels.slice.width;
    const auto row = [&](int y) { return reinterpret_cast<const int32_t*>(voxels.row(y)); };
    for (int y = 0; y < voxels.rows(); ++y) {
      for (int x = 1; x < width; ++x) add_pair(row(y)[x - 1], row(y)[x]);
      if (y % height != 0) {
        for (int x = 0; x < width; ++x) add_pair(row(y - 1)[x], row(y)[x]);
      }
      if (y >= height) {
        for (int x = 0; x < width; ++x) add_pair(row(y - height)[x], row(y)[x]);
      }
    }
    std::ranges::sort(pairs);
    pairs.erase(std::ranges::unique(pairs).begin(), pairs.end());
  }
  return nb::bytes(static_cast<const void*>(pairs.data()), pairs.size() * sizeof(pairs[0]));
}

}  // namespace

void bind_region_sums(nb::module_& module) {
  module.def("measure", measure);
  module.def("add_values", add_values);
  module.def("fill_table", fill_table, nb::arg("labels"), nb::arg("values").none(),
             nb::arg("table"));
  module.def("moments", moments, nb::arg("labels"), nb::arg("begins"), nb::arg("centers"),
             nb::arg("spacing"), nb::arg("values").none(), nb::arg("sums"));
  module.def("measure_spread", measure_spread);
  module.def("add_perimeters", add_perimeters);
  module.def("measure_hulls", measure_hulls);
  module.def("touching", touching);
}

}  // namespace regions::python
