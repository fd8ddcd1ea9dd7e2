// Replaces the elements of arrays by numbers that identify their values, or by the number of
// thresholds that they reach. Also contains other passes over all elements.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "cpu/simd.hpp"
#include "python/arrays.hpp"

namespace regions::python {
namespace {

// Numbers distinct values in order of appearance, from 0 on: a hash table with linear probing. Keys
// are the bits of values.
class ValueNumbers {
 public:
  static constexpr size_t kMaxValues = 1 << 16;

  // `elements` is the number of elements of the whole array.
  explicit ValueNumbers(size_t elements) : tolerated_(std::min<size_t>(1024, elements / 16)) {
    slots_.resize(kFirstSlots);
  }
  size_t count() const { return count_; }
  // Whether labelling by runs is faster, because too many of the first `elements` elements are
  // distinct.
  bool is_worthless(size_t elements) const {
    constexpr size_t kRareness = 8;  // least average number of elements per distinct value
    return count_ == kMaxValues || count_ > tolerated_ + elements / kRareness;
  }

  // Returns the number of a value, or kMaxValues if there are more distinct values than that.
  REGIONS_INLINE uint32_t number_of(uint64_t key) {
    for (size_t slot = slot_of(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].number == kEmpty) return insert(key, slot);
      if (slots_[slot].key == key) return slots_[slot].number;
    }
  }

 private:
  static constexpr size_t kFirstSlots = 512;
  static constexpr uint32_t kEmpty = ~uint32_t{0};
  struct Slot {
    uint64_t key = 0;
    uint32_t number = kEmpty;
  };

  size_t slot_of(uint64_t key) const {
    constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio (Knuth)
    return key * kGolden >> shift_;
  }

  [[gnu::noinline]] uint32_t insert(uint64_t key, size_t slot) {
    if (count_ == kMaxValues) return kMaxValues;
    const auto number = static_cast<uint32_t>(count_++);
    slots_[slot] = {key, number};
    if (2 * count_ > slots_.size()) grow();
    return number;
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    --shift_;
    for (const Slot& entry : old) {
      if (entry.number == kEmpty) continue;
      size_t slot = slot_of(entry.key);
      while (slots_[slot].number != kEmpty) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = entry;
    }
  }

  const size_t tolerated_;   // number of distinct values that is never too large
  std::vector<Slot> slots_;  // its size is a power of two
  int shift_ = 64 - 9;       // 64 minus the logarithm of the number of slots
  size_t count_ = 0;
};

// Returns the bits that identify a value. 0.0 and -0.0 are equal and have the same bits.
template <class T>
REGIONS_INLINE uint64_t key_of(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(value + 0.0F);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(value + 0.0);
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

// Collects the differences that subtract_background() has written as bytes.
struct Differences {
  uint64_t bits = 0;          // bitwise OR of all differences
  uint64_t shifted_bits = 0;  // bitwise OR of all differences plus 128

  // Whether different values have different bytes: all differences are 0 to 255, or -128 to 127.
  bool fit() const { return bits <= 255 || shifted_bits <= 255; }
};

// Writes value - background of each element as a byte.
template <class T>
REGIONS_INLINE void subtract_background(const T* row, size_t width, T background, uint8_t* out,
                                        Differences& differences) {
  if constexpr (std::is_integral_v<T>) {
    T bits = 0, shifted_bits = 0;
    for (size_t x = 0; x < width; ++x) {
      const T difference = row[x] - background;
      out[x] = static_cast<uint8_t>(difference);
      bits |= difference;
      shifted_bits |= difference + 128;
    }
    differences.bits |= bits;
    differences.shifted_bits |= shifted_bits;
  } else {
    // After the addition of 2^23 or 2^52, the lowest bits of a value are its whole part. Integers
    // alone are compared, because compilers use vectors for them.
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr T kShift = sizeof(T) == 4 ? T{0x1p23} : T{0x1p52};
    const auto offset = static_cast<Bits>(background);
    Bits numbers = 0, remainders = 0;
    for (size_t x = 0; x < width; ++x) {
      const T sum = row[x] + kShift;
      const Bits number = std::bit_cast<Bits>(sum) - std::bit_cast<Bits>(kShift);
      out[x] = static_cast<uint8_t>(number - offset);
      numbers |= number;
      remainders |= std::bit_cast<Bits>(sum - kShift) ^ std::bit_cast<Bits>(row[x]);
    }
    const bool are_whole = numbers <= 255 && remainders == 0;
    if (!are_whole) differences.bits = differences.shifted_bits = ~uint64_t{0};
  }
}

// Like subtract_background() for elements of 4 or 8 bytes. Signed and unsigned integers have the
// same differences.
REGIONS_CLONES
void subtract_row(bool is_float, int bytes, const std::byte* row, size_t width,
                  const void* background, uint8_t* out, Differences& differences) {
  const auto subtract = [&]<class T>(T) __attribute__((always_inline)) {
    subtract_background(reinterpret_cast<const T*>(row), width,
                        background ? *static_cast<const T*>(background) : T{}, out, differences);
  };
  if (is_float) {
    if (bytes == 4) return subtract(float{});
    return subtract(double{});
  }
  if (bytes == 4) return subtract(uint32_t{});
  subtract(uint64_t{});
}

// Writes value - background of all elements as bytes: numbers that preserve which elements are
// equal, and 0 for the background. Returns false if the values are too different, or not whole
// numbers.
bool subtract_background(const Voxels& voxels, const void* background, uint8_t* out) {
  const bool is_float =
      static_cast<nb::dlpack::dtype_code>(voxels.type.code) == nb::dlpack::dtype_code::Float;
  if (is_float && background) {
    const double value = voxels.element_bytes() == 4 ? *static_cast<const float*>(background)
                                                     : *static_cast<const double*>(background);
    if (!(value >= 0 && value <= 255 && std::trunc(value) == value)) return false;
  }
  const auto width = static_cast<size_t>(voxels.slice.width);
  Differences differences;
  for (int y = 0; y < voxels.rows(); ++y, out += width) {
    subtract_row(is_float, voxels.element_bytes(), voxels.row(y), width, background, out,
                 differences);
    if (!differences.fit()) return false;
  }
  return true;
}

// Writes the numbers of the rows from `begin` on, as values of type Out. Returns the row after the
// last one whose numbers fit in Out: the number of rows, or less. Throws InputError for NaN.
template <class Out, class T>
int number_rows(const Voxels& voxels, int begin, ValueNumbers& numbers, Out* out) {
  const auto width = static_cast<size_t>(voxels.slice.width);
  for (int y = begin; y < voxels.rows(); ++y) {
    const T* row = reinterpret_cast<const T*>(voxels.row(y));
    Out* const number = out + static_cast<size_t>(y) * width;
    bool has_nan = false;
    for (size_t x = 0; x < width; ++x) {
      number[x] = static_cast<Out>(numbers.number_of(key_of(row[x])));
      has_nan |= row[x] != row[x];
    }
    expects(!has_nan, [&] {
      const T* found = std::find_if(row, row + width, [](T value) { return value != value; });
      return "NaN at row " + std::to_string(y) + ", column " + std::to_string(found - row) +
             "; without threshold, the image must not contain NaN";
    });
    if (numbers.count() > size_t{std::numeric_limits<Out>::max()} + 1 ||
        numbers.is_worthless(static_cast<size_t>(y + 1) * width)) {
      return y;
    }
  }
  return voxels.rows();
}

// Adds 1 to the rank of each element that is at least `level`. The rank of an element is the number
// of levels that it reaches.
template <class T>
void raise_ranks(const T* row, int width, T level, uint8_t* ranks) {
  for (int x = 0; x < width; ++x) ranks[x] += row[x] >= level;
}

}  // namespace

std::optional<OwnedPicture> number_values(const Voxels& voxels, const void* background) {
  const auto width = static_cast<size_t>(voxels.slice.width);
  const size_t elements = width * static_cast<size_t>(voxels.rows());
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(elements);
  if (subtract_background(voxels, background, reinterpret_cast<uint8_t*>(bytes.get())))
    return OwnedPicture{std::move(bytes), PixelFormat::gray8};
  ValueNumbers numbers(elements);
  return with_type(voxels.type, [&](auto type) -> std::optional<OwnedPicture> {
    using T = decltype(type);
    if (background) numbers.number_of(key_of(*static_cast<const T*>(background)));
    const auto* narrow = reinterpret_cast<const uint8_t*>(bytes.get());
    const int rows =
        number_rows<uint8_t, T>(voxels, 0, numbers, reinterpret_cast<uint8_t*>(bytes.get()));
    if (rows == voxels.rows()) return OwnedPicture{std::move(bytes), PixelFormat::gray8};
    // There are more than 256 values. The numbers so far are widened.
    auto words = std::make_unique_for_overwrite<std::byte[]>(2 * elements);
    auto* wide = reinterpret_cast<uint16_t*>(words.get());
    std::copy_n(narrow, static_cast<size_t>(rows) * width, wide);
    if (number_rows<uint16_t, T>(voxels, rows, numbers, wide) < voxels.rows()) return {};
    return OwnedPicture{std::move(words), PixelFormat::gray16};
  });
}

bool is_mask(const ConstFrame& frame) {
  uint8_t value = 0;
  for (int y = 0; y < frame.height; ++y) {
    const auto* row = reinterpret_cast<const uint8_t*>(frame.plane[0] + y * frame.pitch[0]);
    const auto* end = row + frame.width;
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

OwnedPicture rank_values(const Voxels& voxels, const void* levels, size_t count) {
  const auto width = static_cast<size_t>(voxels.slice.width);
  OwnedPicture picture{std::make_unique<std::byte[]>(width * static_cast<size_t>(voxels.rows())),
                       PixelFormat::gray8};
  auto* ranks = reinterpret_cast<uint8_t*>(picture.bytes.get());
  with_type(voxels.type, [&](auto type) {
    using T = decltype(type);
    const std::span<const T> lowest{static_cast<const T*>(levels), count};
    for (int y = 0; y < voxels.rows(); ++y, ranks += width) {
      const T* row = reinterpret_cast<const T*>(voxels.row(y));
      for (const T level : lowest) raise_ranks(row, voxels.slice.width, level, ranks);
    }
  });
  return picture;
}

}  // namespace regions::python
