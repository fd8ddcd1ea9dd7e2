// Converts arrays to frames, and makes NumPy arrays for labels in reused memory.
#include "python/arrays.hpp"

#include <nanobind/stl/vector.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "python/module.hpp"

namespace regions::python {
namespace {

// Throws InputError if an axis has too few or too many elements.
void expects_side(size_t side) {
  expects(side >= 1 && side <= kMaxSide, [&] {
    return "an axis has " + std::to_string(side) + " elements, must be 1 to " +
           std::to_string(kMaxSide);
  });
}

Memory memory_of(int device_type) {
  return device_type == nb::device::cpu::value ? Memory::host : Memory::device;
}

constexpr size_t kMaxIdle = 2;  // maximum number of blocks that are kept for reuse
constexpr size_t kMaxIdleBytes = size_t{64} << 20;  // larger blocks are not kept
constexpr size_t kHugePageBytes = size_t{2} << 20;  // size of a huge page (Linux)

// A block of memory for a label array. Blocks are reused, because the first write to new memory
// causes a page fault per page. For a 1920x1080 picture, the page faults take as long as the
// labelling.
struct LabelMemory {
  void* data;
  size_t bytes;
};

// Returns the blocks that are free for reuse, the most recently released block first. The
// interpreter's lock guards the list. It is never destroyed, because arrays may outlive the module.
std::vector<LabelMemory>& idle_memory() {
  static std::vector<LabelMemory>& memory = *new std::vector<LabelMemory>;
  return memory;
}

// Returns a free block of exactly this size, or allocates one.
LabelMemory take_memory(size_t bytes) {
  std::vector<LabelMemory>& idle = idle_memory();
  const auto found =
      std::ranges::find_if(idle, [&](const LabelMemory& block) { return block.bytes == bytes; });
  if (found != idle.end()) {
    const LabelMemory taken = *found;
    idle.erase(found);
    return taken;
  }
  idle.reserve(kMaxIdle + 1);  // so that put_back() does not allocate
  const size_t rounded_bytes = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  void* data = std::aligned_alloc(kHugePageBytes, rounded_bytes);
  if (!data) throw std::bad_alloc();
  madvise(data, rounded_bytes, MADV_HUGEPAGE);  // has no effect on some systems
  return {data, bytes};
}

// Called when a label array is destroyed: keeps its block for reuse or frees it.
void put_back(void* memory) noexcept {
  const std::unique_ptr<LabelMemory> returned(static_cast<LabelMemory*>(memory));
  if (returned->bytes > kMaxIdleBytes) return std::free(returned->data);
  std::vector<LabelMemory>& idle = idle_memory();
  idle.insert(idle.begin(), *returned);
  if (idle.size() <= kMaxIdle) return;
  std::free(idle.back().data);
  idle.pop_back();
}

// Makes a label array in reused memory. Called for large arrays only, because NumPy allocates small
// arrays faster.
nb::ndarray<nb::numpy, int32_t> empty_labels(const std::vector<size_t>& shape) {
  size_t bytes = sizeof(int32_t);
  for (const size_t side : shape) bytes *= side;
  auto memory = std::make_unique<LabelMemory>(take_memory(bytes));
  void* const data = memory->data;
  const nb::capsule owner(memory.release(), put_back);
  return {data, shape.size(), shape.data(), owner};
}

}  // namespace

Voxels::Voxels(const AnyArray& array)
    : Voxels(static_cast<const std::byte*>(array.data()), array.dtype(),
             {array.shape_ptr(), array.ndim()}, {array.stride_ptr(), array.ndim()},
             memory_of(array.device_type())) {}

Voxels::Voxels(const std::byte* first_element, nb::dlpack::dtype element_type,
               std::span<const int64_t> shape, std::span<const int64_t> strides,
               Memory array_memory)
    : data(first_element), type(element_type), memory(array_memory) {
  expects(shape.size() == 2 || shape.size() == 3, [&] {
    return "an array has " + std::to_string(shape.size()) +
           " axes, must have 2 (a picture) or 3 (a volume)";
  });
  const size_t y_axis = shape.size() - 2, x_axis = shape.size() - 1;
  const auto side_of = [&](size_t axis) { return static_cast<size_t>(shape[axis]); };
  const size_t height = side_of(y_axis), width = side_of(x_axis),
               depth = y_axis == 1 ? side_of(0) : 1;
  for (const size_t side : {width, height, depth}) expects_side(side);
  expects(depth * height * width <= std::numeric_limits<int32_t>::max(), [&] {
    return "an array has " + std::to_string(depth * height * width) +
           " elements, must have at most 2147483647, the largest int32 label";
  });
  slice = {static_cast<int>(width), static_cast<int>(height)};
  slices = static_cast<int>(depth);
  // The stride of an axis with one element has no meaning.
  const int64_t row_stride = height > 1 ? strides[y_axis] : slices > 1 ? strides[0] : slice.width;
  pitch = row_stride * element_bytes();
  expects(strides[x_axis] == 1 || width == 1, "the elements of a row must be contiguous");
  expects(slices == 1 || strides[0] == row_stride * slice.height,
          "the slices of a volume must have no gaps between them");
}

ConstFrame Voxels::frame(PixelFormat format) const {
  ConstFrame frame = frame_at(data, format, {slice.width, rows()});
  frame.pitch[0] = pitch;
  frame.memory = memory;
  return frame;
}

Grid::Grid(const AnyArray& array)
    : data(const_cast<std::byte*>(static_cast<const std::byte*>(array.data()))),
      type(array.dtype()),
      shape(array.shape_ptr(), array.shape_ptr() + array.ndim()),
      strides(array.stride_ptr(), array.stride_ptr() + array.ndim()) {
  expects(array.device_type() == nb::device::cpu::value, "an array is not in host memory");
  expects(!shape.empty(), "an array has no axes, must have at least 1");
  for (const int64_t side : shape) expects(side >= 1, "an array has no elements");
}

int64_t Grid::rows() const {
  int64_t count = 1;
  for (size_t axis = 0; axis < outer_axes(); ++axis) count *= shape[axis];
  return count;
}

std::byte* Grid::row(int64_t index) const {
  int64_t offset = 0;
  for (size_t axis = outer_axes(); axis-- > 0; index /= shape[axis]) {
    offset += index % shape[axis] * strides[axis];
  }
  return data + offset * (type.bits / 8);
}

std::vector<RowStep> row_steps(size_t outer_axes, int connectivity) {
  std::vector<RowStep> steps{{{}, connectivity > 1}};
  for (size_t axis = 0; axis < outer_axes; ++axis) {
    std::vector<RowStep> longer;
    for (const RowStep& step : steps) {
      for (const int next : {-1, 0, 1}) {
        longer.push_back(step);
        longer.back().step.push_back(next);
      }
    }
    steps = std::move(longer);
  }
  const auto axes_of = [](const RowStep& step) {
    return step.step.size() - static_cast<size_t>(std::ranges::count(step.step, 0));
  };
  std::erase_if(steps, [&](const RowStep& step) {
    return axes_of(step) > static_cast<size_t>(connectivity);
  });
  for (RowStep& step : steps) step.is_diagonal = axes_of(step) < static_cast<size_t>(connectivity);
  return steps;
}

int64_t row_after(const Grid& grid, int64_t row, const RowStep& step, bool wraps) {
  int64_t target = row, pitch = 1;  // `pitch` is the distance of neighbours along the axis, in rows
  for (size_t axis = grid.outer_axes(); axis-- > 0; pitch *= grid.shape[axis]) {
    const int64_t side = grid.shape[axis], index = row / pitch % side,
                  next = index + step.step[axis];
    if (!wraps && (next < 0 || next >= side)) return -1;
    target += ((next + side) % side - index) * pitch;
  }
  return target;
}

ConstFrame picture_of(const Pixels& pixels, ColorOrder order) {
  expects(pixels.ndim() == 2 || pixels.ndim() == 3,
          "a picture must have 2 axes, or a third axis with colour channels");
  const auto type = pixels.dtype();
  const bool is_bytes = type == nb::dtype<uint8_t>();
  const size_t channels = pixels.ndim() == 3 ? pixels.shape(2) : 1;
  expects(is_bytes || (type == nb::dtype<uint16_t>() && channels == 1),
          "a picture must have uint8 elements, or uint16 elements and no third axis");
  const bool is_rgb = order == ColorOrder::rgb;
  PixelFormat format = is_bytes ? PixelFormat::gray8 : PixelFormat::gray16;
  if (pixels.ndim() == 3) {
    expects(channels == 3 || channels == 4, "a picture with 3 axes must have 3 or 4 channels");
    format = channels == 3 ? (is_rgb ? PixelFormat::rgb : PixelFormat::bgr)
                           : (is_rgb ? PixelFormat::rgba : PixelFormat::bgra);
  }
  for (const size_t side : {pixels.shape(0), pixels.shape(1)}) expects_side(side);
  const Size size{static_cast<int>(pixels.shape(1)), static_cast<int>(pixels.shape(0))};
  ConstFrame frame = frame_at(static_cast<const std::byte*>(pixels.data()), format, size);
  frame.memory = memory_of(pixels.device_type());
  return frame;
}

void bind_arrays(nb::module_& module) { module.def("empty_labels", empty_labels); }

}  // namespace regions::python
