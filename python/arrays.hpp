// Arrays as the module takes them. The package's Python has checked types and shapes; what is
// checked here again is what memory safety needs.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <limits>
#include <span>

#include "core/backend.hpp"

namespace regions::python {

namespace nb = nanobind;

// Of the host, or where a Place is given, of its memory.
using AnyArray = nb::ndarray<nb::ro>;
using Labels = nb::ndarray<int32_t, nb::c_contig>;
// Of the host.
template <class... Traits>
using HostArray = nb::ndarray<nb::device::cpu, Traits...>;
using ConstLabels = HostArray<const int32_t, nb::c_contig>;

inline constexpr int kMostSide = 65535;  // pixels, see Setup

// A picture's or volume's elements, rows one `pitch` apart, slices without a gap between.
struct Voxels {
  explicit Voxels(const AnyArray& array);
  // Strides in elements.
  Voxels(const std::byte* data, nb::dlpack::dtype type, std::span<const int64_t> shape,
         std::span<const int64_t> strides, Memory memory);

  const std::byte* data;
  nb::dlpack::dtype type;
  Size slice;
  int slices;
  ptrdiff_t pitch;  // bytes
  Memory memory;

  int rows() const { return slice.height * slices; }
  int element_bytes() const { return type.bits / 8; }
  const std::byte* row(int y) const { return data + y * pitch; }
  // As a stack of frames of a format with elements as large.
  ConstFrame frame(PixelFormat format) const;
};

// A frame whose rows lie without a gap.
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

// A picture of 8 or 16 bits: (H, W), or with 3 or 4 bytes of colour in a third axis.
using Pixels = nb::ndarray<nb::ro, nb::c_contig>;
enum class ColorOrder : uint8_t { rgb, bgr };
ConstFrame picture_of(const Pixels& pixels, ColorOrder order = ColorOrder::rgb);

// Calls f(T{}) with the type of the elements.
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
  throw InputError("elements of this type are not supported");
}

}  // namespace regions::python
