// Computes the measurements for tables of regions: sums over the elements of each label.
#include <algorithm>
#include <array>
#include <vector>

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

// Adds the elements x to end - 1 of row y in slice z.
void add_run(Extent& extent, int64_t z, int64_t y, int64_t x, int64_t end) {
  const int64_t run_begin[] = {z, y, x}, run_end[] = {z + 1, y + 1, end}, count = end - x;
  const int64_t run_sum[] = {z * count, y * count, (x + end - 1) * count / 2};
  for (int axis = 0; axis < 3; ++axis) {
    extent.begin[axis] =
        extent.area ? std::min(extent.begin[axis], run_begin[axis]) : run_begin[axis];
    extent.end[axis] = std::max(extent.end[axis], run_end[axis]);
    extent.sum[axis] += run_sum[axis];
  }
  extent.area += count;
}

// Calls f(label, row, x, end) for each run of elements with the same label, except label 0. Throws
// InputError if a label is not in 0..max_label.
template <class F>
void for_each_run(const Voxels& labels, int32_t max_label, F f) {
  const int width = labels.slice.width;
  for (int row = 0; row < labels.rows(); ++row) {
    const auto* label = reinterpret_cast<const int32_t*>(labels.row(row));
    for (int x = 0, end = 0; x < width; x = end) {
      end = x + 1;
      while (end < width && label[end] == label[x]) ++end;
      if (label[x] == 0) continue;
      if (label[x] < 0 || label[x] > max_label)
        throw InputError("label " + std::to_string(label[x]) + " is out of range, must be 0 to " +
                         std::to_string(max_label));
      f(label[x], row, x, end);
    }
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
  for_each_run(voxels, max_label, [&](int32_t label, int row, int x, int end) {
    const int height = voxels.slice.height;
    add_run(table[label - 1], row / height, row % height, x, end);
  });
}

// Adds the channel values of each element to row `label - 1` of `sums`.
void add_values(const ConstLabels& labels, const HostArray<nb::ro, nb::c_contig>& values,
                const Sums& sums) {
  const Voxels voxels{AnyArray(labels)};
  const size_t channels = sums.shape(1);
  expects(values.size() == labels.size() * channels,
          "values must have one element per label and channel");
  const auto max_label = static_cast<int32_t>(sums.shape(0));
  const Unlocked unlocked;
  with_type(values.dtype(), [&](auto type) {
    const auto* value = static_cast<const decltype(type)*>(values.data());
    for_each_run(voxels, max_label, [&](int32_t label, int row, int x, int end) {
      const size_t elements_before_row =
          static_cast<size_t>(row) * static_cast<size_t>(voxels.slice.width);
      const auto* first = value + (elements_before_row + static_cast<size_t>(x)) * channels;
      for (size_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (int i = 0; i < end - x; ++i) {
          sum += static_cast<double>(first[static_cast<size_t>(i) * channels + c]);
        }
        sums.data()[static_cast<size_t>(label - 1) * channels + c] += sum;
      }
    });
  });
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
  module.def("touching", touching);
}

}  // namespace regions::python
