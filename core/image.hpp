// Image<T>: a non-owning view of pixels in rows, on the host or on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__
#define REGIONS_HD __host__ __device__
#else
#define REGIONS_HD
#endif

namespace regions {

// The CPU can access `host` memory. Only the GPU can access `device` memory.
enum class Memory : uint8_t { host, device };

struct Size {
  int width = 0;   // pixels
  int height = 0;  // pixels

  REGIONS_HD constexpr bool operator==(const Size& other) const {
    return width == other.width && height == other.height;
  }
  // Number of pixels, in 64 bits.
  REGIONS_HD constexpr size_t area() const {
    return static_cast<size_t>(width) * static_cast<size_t>(height);
  }
};

template <class T>
struct Image {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;

  T* data = nullptr;    // [height][pitch / sizeof(T)]
  int width = 0;        // pixels
  int height = 0;       // pixels
  ptrdiff_t pitch = 0;  // bytes from one row to the next

  REGIONS_HD bool empty() const { return data == nullptr; }
  REGIONS_HD Size size() const { return {width, height}; }
  REGIONS_HD T* row(int y) const {
    return reinterpret_cast<T*>(reinterpret_cast<Byte*>(data) + y * pitch);
  }
  REGIONS_HD T& operator()(int x, int y) const { return row(y)[x]; }
  REGIONS_HD bool contains(int x, int y) const {
    return x >= 0 && y >= 0 && x < width && y < height;
  }
  // A writable view converts to a read-only view.
  REGIONS_HD operator Image<const T>() const { return {data, width, height, pitch}; }
};

}  // namespace regions
