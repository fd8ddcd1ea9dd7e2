// Replaces the elements of arrays by numbers that identify their values, or by the number of
// thresholds that they reach. Also contains other passes over all elements.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_map>

#include "python/arrays.hpp"

namespace regions::python {
namespace {

constexpr uint32_t kMaxDistinctValues = 1 << 24;

std::string nan_error_at(int row, int column) {
  return "NaN at row " + std::to_string(row) + ", column " + std::to_string(column) +
         "; without threshold, the image must not contain NaN";
}

// Returns for each element a number that identifies its value. Distinct values are numbered 0, 1, …
// in order of appearance. Stores the number of distinct values in `count`.
template <class T>
std::vector<uint32_t> number_elements(const Voxels& voxels, uint32_t& count) {
  std::unordered_map<T, uint32_t> number_of_value;  // -0.0 and 0.0 are equal and have equal hashes
  std::vector<uint32_t> numbers(voxels.slice.area() * static_cast<size_t>(voxels.slices));
  uint32_t* out = numbers.data();
  for (int y = 0; y < voxels.rows(); ++y) {
    const T* row = reinterpret_cast<const T*>(voxels.row(y));
    for (int x = 0; x < voxels.slice.width; ++x, ++out) {
      if (x > 0 && row[x] == row[x - 1]) {
        *out = out[-1];
        continue;
      }
      if (row[x] != row[x]) throw InputError(nan_error_at(y, x));
      *out = number_of_value.try_emplace(row[x], static_cast<uint32_t>(number_of_value.size()))
                 .first->second;
    }
    expects(number_of_value.size() <= kMaxDistinctValues, "the image has more than " +
                                                              std::to_string(kMaxDistinctValues) +
                                                              " distinct values; pass threshold");
  }
  count = static_cast<uint32_t>(number_of_value.size());
  return numbers;
}

// Adds 1 to the rank of each element that is at least the threshold. The rank of an element is the
// number of thresholds that it reaches. The comparison is the same as in NumPy: floating-point
// values in the array's precision, integers exactly.
template <class T>
void raise_ranks(const T* row, int width, double threshold, uint8_t* ranks) {
  T lowest = static_cast<T>(0);  // the lowest value that reaches the threshold
  if constexpr (std::is_integral_v<T>) {
    const double min_value = std::ceil(threshold);
    if (min_value >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return;
    lowest = min_value <= static_cast<double>(std::numeric_limits<T>::min())
                 ? std::numeric_limits<T>::min()
                 : static_cast<T>(min_value);
  } else {
    lowest = static_cast<T>(threshold);
  }
  for (int x = 0; x < width; ++x) ranks[x] += row[x] >= lowest;
}

}  // namespace

OwnedPicture number_values(const Voxels& voxels) {
  uint32_t count = 0;
  const std::vector<uint32_t> numbers = with_type(
      voxels.type, [&](auto type) { return number_elements<decltype(type)>(voxels, count); });
  const size_t bytes = count <= 1 << 16 ? 2 : 3;
  OwnedPicture picture{std::vector<std::byte>(numbers.size() * bytes),
                       bytes == 2 ? PixelFormat::gray16 : PixelFormat::rgb};
  std::byte* out = picture.bytes.data();
  for (const uint32_t value : numbers) {
    std::memcpy(out, &value, bytes);
    out += bytes;
  }
  return picture;
}

bool is_mask(const Voxels& voxels) {
  uint8_t value = 0;
  for (int y = 0; y < voxels.rows(); ++y) {
    const auto* row = reinterpret_cast<const uint8_t*>(voxels.row(y));
    const auto* end = row + voxels.slice.width;
    if (value == 0) {
      const auto* first = std::find_if(row, end, [](uint8_t v) { return v != 0; });
      if (first != end) value = *first;
    }
    uint8_t has_other_value = 0;
    for (const auto* v = row; v != end; ++v) has_other_value |= (*v != 0) & (*v != value);
    if (has_other_value) return false;
  }
  return true;
}

bool is_blank(const Voxels& voxels) {
  const size_t bytes =
      static_cast<size_t>(voxels.slice.width) * static_cast<size_t>(voxels.element_bytes());
  for (int y = 0; y < voxels.rows(); ++y) {
    const auto* row = reinterpret_cast<const uint8_t*>(voxels.row(y));
    uint8_t bits = 0;
    for (size_t i = 0; i < bytes; ++i) bits |= row[i];
    if (bits != 0) return false;
  }
  return true;
}

OwnedPicture rank_values(const Voxels& voxels, std::span<const double> thresholds) {
  const auto width = static_cast<size_t>(voxels.slice.width);
  OwnedPicture picture{std::vector<std::byte>(width * static_cast<size_t>(voxels.rows())),
                       PixelFormat::gray8};
  auto* ranks = reinterpret_cast<uint8_t*>(picture.bytes.data());
  with_type(voxels.type, [&](auto type) {
    for (int y = 0; y < voxels.rows(); ++y, ranks += width) {
      const auto* row = reinterpret_cast<const decltype(type)*>(voxels.row(y));
      for (const double threshold : thresholds) {
        raise_ranks(row, voxels.slice.width, threshold, ranks);
      }
    }
  });
  return picture;
}

uint32_t remove_background(const Voxels& voxels, const void* background, int32_t* labels,
                           uint32_t count) {
  std::vector<int32_t> new_label(size_t{count} + 1);  // [old label], its new label
  int32_t max_seen = 0, remaining = 0;
  with_type(voxels.type, [&](auto type) {
    using T = decltype(type);
    const T value = *static_cast<const T*>(background);
    for (int y = 0; y < voxels.rows(); ++y) {
      const T* row = reinterpret_cast<const T*>(voxels.row(y));
      for (int x = 0; x < voxels.slice.width; ++x, ++labels) {
        if (*labels > max_seen) {  // the first element of a region
          max_seen = *labels;
          new_label[static_cast<size_t>(max_seen)] = row[x] == value ? 0 : ++remaining;
        }
        *labels = new_label[static_cast<size_t>(*labels)];
      }
    }
  });
  return static_cast<uint32_t>(remaining);
}

}  // namespace regions::python
