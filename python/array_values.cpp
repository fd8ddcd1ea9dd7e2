// Converts elements to numbers of distinct values, or to ranks among thresholds.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_map>

#include "python/arrays.hpp"

namespace regions::python {
namespace {

constexpr uint32_t kMaxValues = 1 << 24;

std::string nan_at(int row, int column) {
  return "NaN at row " + std::to_string(row) + ", column " + std::to_string(column) +
         "; without threshold, the image must not contain NaN";
}

template <class T>
std::vector<uint32_t> number(const Voxels& voxels, uint32_t& count) {
  std::unordered_map<T, uint32_t> known;  // -0.0 == 0.0, with equal hashes
  std::vector<uint32_t> numbers(voxels.slice.area() * static_cast<size_t>(voxels.slices));
  uint32_t* out = numbers.data();
  for (int y = 0; y < voxels.rows(); ++y) {
    const T* row = reinterpret_cast<const T*>(voxels.row(y));
    for (int x = 0; x < voxels.slice.width; ++x, ++out) {
      if (x > 0 && row[x] == row[x - 1]) {
        *out = out[-1];
        continue;
      }
      if (row[x] != row[x]) throw InputError(nan_at(y, x));
      *out = known.try_emplace(row[x], static_cast<uint32_t>(known.size())).first->second;
    }
    expects(known.size() <= kMaxValues, "the image has more than " + std::to_string(kMaxValues) +
                                            " distinct values; pass threshold");
  }
  count = static_cast<uint32_t>(known.size());
  return numbers;
}

// Adds 1 to the rank of each element that reaches the threshold. Compares like NumPy:
// floating-point values in the array's precision, integers exactly.
template <class T>
void raise_ranks(const T* row, int width, double threshold, uint8_t* rank) {
  T level = static_cast<T>(0);
  if constexpr (std::is_integral_v<T>) {
    const double min_value = std::ceil(threshold);
    if (min_value >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return;
    level = min_value <= static_cast<double>(std::numeric_limits<T>::min())
                ? std::numeric_limits<T>::min()
                : static_cast<T>(min_value);
  } else {
    level = static_cast<T>(threshold);
  }
  for (int x = 0; x < width; ++x) rank[x] += row[x] >= level;
}

}  // namespace

OwnedPicture number_values(const Voxels& voxels) {
  uint32_t count = 0;
  const std::vector<uint32_t> numbers =
      with_type(voxels.type, [&](auto type) { return number<decltype(type)>(voxels, count); });
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
    uint8_t others = 0;
    for (const auto* v = row; v != end; ++v) others |= (*v != 0) & (*v != value);
    if (others) return false;
  }
  return true;
}

bool is_blank(const Voxels& voxels) {
  const size_t bytes =
      static_cast<size_t>(voxels.slice.width) * static_cast<size_t>(voxels.element_bytes());
  for (int y = 0; y < voxels.rows(); ++y) {
    const auto* row = reinterpret_cast<const uint8_t*>(voxels.row(y));
    uint8_t set = 0;
    for (size_t i = 0; i < bytes; ++i) set |= row[i];
    if (set != 0) return false;
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
  std::vector<int32_t> number(size_t{count} + 1);
  int32_t seen = 0, remaining = 0;
  with_type(voxels.type, [&](auto type) {
    using T = decltype(type);
    const T value = *static_cast<const T*>(background);
    for (int y = 0; y < voxels.rows(); ++y) {
      const T* row = reinterpret_cast<const T*>(voxels.row(y));
      for (int x = 0; x < voxels.slice.width; ++x, ++labels) {
        if (*labels > seen) {
          seen = *labels;
          number[static_cast<size_t>(seen)] = row[x] == value ? 0 : ++remaining;
        }
        *labels = number[static_cast<size_t>(*labels)];
      }
    }
  });
  return static_cast<uint32_t>(remaining);
}

}  // namespace regions::python
