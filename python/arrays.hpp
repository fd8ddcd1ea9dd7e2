// The array types that the module accepts, and their conversion to pictures. The package's Python
// code has already checked types and shapes. This file repeats only the checks that memory safety
// requires.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/backend.hpp"

namespace regions::python {

namespace nb = nanobind;

// An array in host memory, or in the memory of the Target that is passed with it.
using AnyArray = nb::ndarray<nb::ro>;
using Labels = nb::ndarray<int32_t, nb::c_contig>;
// An array in host memory.
template <class... Traits>
using HostArray = nb::ndarray<nb::device::cpu, Traits...>;
using ConstLabels = HostArray<const int32_t, nb::c_contig>;

inline constexpr int kMaxSide = 65535;  // maximum length of an axis (elements)

// A view of the elements of a picture or volume. Rows are `pitch` bytes apart. Slices follow each
// other without a gap.
struct Voxels {
  explicit Voxels(const AnyArray& array);
  // The strides are in elements.
  Voxels(const std::byte* data, nb::dlpack::dtype type, std::span<const int64_t> shape,
         std::span<const int64_t> strides, Memory memory);

  const std::byte* data;
  nb::dlpack::dtype type;
  Size slice;
  int slices;
  ptrdiff_t pitch;  // bytes from one row to the next
  Memory memory;

  int rows() const { return slice.height * slices; }
  int element_bytes() const { return type.bits / 8; }
  const std::byte* row(int y) const { return data + y * pitch; }
  // Returns a frame with the slices one below another. The format must have elements of the same
  // size.
  ConstFrame frame(PixelFormat format) const;
};

// A view of the elements of an array with any number of axes and any strides. A row consists of the
// elements along the last axis. Rows are numbered in raster order.
struct Grid {
  explicit Grid(const AnyArray& array);

  std::byte* data;
  nb::dlpack::dtype type;
  std::vector<int64_t> shape, strides;  // strides in elements

  size_t outer_axes() const { return shape.size() - 1; }
  int64_t width() const { return shape.back(); }
  int64_t rows() const;
  // Returns the address of a row's first element.
  std::byte* row(int64_t index) const;
};

// A neighbour row of a row: the step to it along each outer axis, and whether elements of adjacent
// columns are neighbours, too.
struct RowStep {
  std::vector<int> step;  // -1, 0 or 1
  bool is_diagonal;
};

// Returns the steps to all neighbour rows, in raster order. Two elements are neighbours if their
// indices differ by at most 1 along at most `connectivity` axes. The row itself is included.
std::vector<RowStep> row_steps(size_t outer_axes, int connectivity);

// Returns the row to which `step` leads from row `row`, or -1 outside the array. With `wraps`, the
// first and the last index of each axis are neighbours.
int64_t row_after(const Grid& grid, int64_t row, const RowStep& step, bool wraps = false);

// Returns a frame that refers to contiguous memory, without gaps between rows.
template <class Byte>
BasicFrame<Byte> frame_at(Byte* data, PixelFormat format, Size size) {
  BasicFrame<Byte> frame;
  frame.layout = layout_of(format);
  frame.width = size.width;
  frame.height = size.height;
  frame.plane[0] = data;
  frame.pitch[0] = static_cast<ptrdiff_t>(row_bytes(frame.layout, 0, size));
  return frame;
}

// A picture: an array of shape (H, W) with 8 or 16 bits per sample, or of shape (H, W, 3) or (H, W,
// 4) with 8 bits per sample.
using Pixels = nb::ndarray<nb::ro, nb::c_contig>;
enum class ColorOrder : uint8_t { rgb, bgr };
// Returns a frame that refers to the array.
ConstFrame picture_of(const Pixels& pixels, ColorOrder order = ColorOrder::rgb);

// Calls f(T{}), where T is the C++ type that corresponds to `type`.
template <class F>
auto with_type(nb::dlpack::dtype type, F f) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(type.code);
  const bool is_signed = code == Code::Int;
  if (code == Code::Float) {
    if (type.bits == 32) return f(float{});
    if (type.bits == 64) return f(double{});
  } else if (code == Code::Int || code == Code::UInt || code == Code::Bool) {
    if (type.bits == 8) return is_signed ? f(int8_t{}) : f(uint8_t{});
    if (type.bits == 16) return is_signed ? f(int16_t{}) : f(uint16_t{});
    if (type.bits == 32) return is_signed ? f(int32_t{}) : f(uint32_t{});
    if (type.bits == 64) return is_signed ? f(int64_t{}) : f(uint64_t{});
  }
  throw InputError(
      "array elements have an unsupported type, must be bool, int8 to int64, uint8 to "
      "uint64, float32 or float64");
}

// A picture that owns its memory.
struct OwnedPicture {
  std::unique_ptr<std::byte[]> bytes;
  PixelFormat format = PixelFormat::gray8;
};

// number_values() and rank_values() convert arrays of any element type to pictures that cclabel
// supports. number_values() preserves which elements are equal. rank_values() preserves which
// elements reach each threshold.

// Replaces elements of 4 or 8 bytes by numbers of 8 or 16 bits: different values have different
// numbers. The number of `background` (may be null) is 0. Returns nothing if
// there are too many distinct values; then label_values() is faster. Throws InputError for NaN.
std::optional<OwnedPicture> number_values(const Voxels& voxels, const void* background);

// Whether all elements of a picture with one byte per pixel that are not 0 have the same value.
bool is_mask(const ConstFrame& frame);

// Replaces each element by the number of levels that it reaches; 0 for NaN. `levels` points to
// `count` elements (at most 255) of the array's type.
OwnedPicture rank_values(const Voxels& voxels, const void* levels, size_t count);

// Returns whether label_values() is the fastest method for a picture or volume, judging from some
// of its rows: their runs of equal values are long, and they are not a mask. The other method uses
// several threads. `background` may be null.
bool suits_runs(const Voxels& voxels, const void* background, int threads);

// Labels the regions of equal values of an array with any number of axes, whose rows are
// contiguous. Regions whose value equals the only element of `background` get label 0. With
// `is_periodic`, opposite sides of the array are neighbours. Returns the number of regions.
uint32_t label_values(const AnyArray& image, const AnyArray& background, const Labels& labels,
                      int connectivity, bool is_periodic);

}  // namespace regions::python
