// Replaces the elements of arrays by numbers that identify their values, or by the number of
// thresholds that they reach. Also contains other passes over all elements.
#include <algorithm>
#include <bit>
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

  ValueNumbers() { slots_.resize(kFirstSlots); }
  size_t count() const { return count_; }

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

// Writes the numbers of all elements. Returns the number of distinct values, including
// `background`, which has the number 0. Returns nothing if another method is faster, because too
// many values are distinct.
template <class T>
std::optional<size_t> number_elements(const Voxels& voxels, const T* background,
                                      std::span<uint16_t> out) {
  constexpr size_t kTolerated = 1024;  // number of distinct values that is never too large
  constexpr size_t kRareness = 8;      // least average number of elements per distinct value
  ValueNumbers numbers;
  if (background) numbers.number_of(key_of(*background));
  const auto width = static_cast<size_t>(voxels.slice.width);
  for (int y = 0; y < voxels.rows(); ++y) {
    const T* row = reinterpret_cast<const T*>(voxels.row(y));
    uint16_t* number = out.data() + static_cast<size_t>(y) * width;
    bool has_nan = false;
    for (size_t x = 0; x < width; ++x) {
      number[x] = static_cast<uint16_t>(numbers.number_of(key_of(row[x])));
      has_nan |= row[x] != row[x];
    }
    expects(!has_nan, [&] {
      const T* found = std::find_if(row, row + width, [](T value) { return value != value; });
      return "NaN at row " + std::to_string(y) + ", column " + std::to_string(found - row) +
             "; without threshold, the image must not contain NaN";
    });
    const size_t seen = (static_cast<size_t>(y) + 1) * width;
    if (numbers.count() == ValueNumbers::kMaxValues ||
        numbers.count() > kTolerated + seen / kRareness) {
      return {};
    }
  }
  return numbers.count();
}

// Adds 1 to the rank of each element that is at least `level`. The rank of an element is the number
// of levels that it reaches.
template <class T>
void raise_ranks(const T* row, int width, T level, uint8_t* ranks) {
  for (int x = 0; x < width; ++x) ranks[x] += row[x] >= level;
}

}  // namespace

std::optional<OwnedPicture> number_values(const Voxels& voxels, const void* background) {
  const size_t elements = voxels.slice.area() * static_cast<size_t>(voxels.slices);
  OwnedPicture picture{std::vector<std::byte>(2 * elements), PixelFormat::gray16};
  const std::span<uint16_t> numbers{reinterpret_cast<uint16_t*>(picture.bytes.data()), elements};
  const auto count = with_type(voxels.type, [&](auto type) {
    return number_elements(voxels, static_cast<const decltype(type)*>(background), numbers);
  });
  if (!count) return {};
  if (*count <= 256) {  // bytes are labelled faster
    for (size_t i = 0; i < elements; ++i) picture.bytes[i] = static_cast<std::byte>(numbers[i]);
    picture.format = PixelFormat::gray8;
  }
  return picture;
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
  OwnedPicture picture{std::vector<std::byte>(width * static_cast<size_t>(voxels.rows())),
                       PixelFormat::gray8};
  auto* ranks = reinterpret_cast<uint8_t*>(picture.bytes.data());
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

uint32_t remove_background(const ConstFrame& frame, uint32_t background, int32_t* labels,
                           uint32_t count) {
  std::vector<int32_t> new_label(size_t{count} + 1);  // [old label], its new label
  int32_t max_seen = 0, remaining = 0;
  const auto remove = [&](auto type) {
    using T = decltype(type);
    for (int y = 0; y < frame.height; ++y) {
      const T* row = reinterpret_cast<const T*>(frame.plane[0] + y * frame.pitch[0]);
      for (int x = 0; x < frame.width; ++x, ++labels) {
        if (*labels > max_seen) {  // the first element of a region
          max_seen = *labels;
          new_label[static_cast<size_t>(max_seen)] = row[x] == background ? 0 : ++remaining;
        }
        *labels = new_label[static_cast<size_t>(*labels)];
      }
    }
  };
  frame.layout.sample_bytes == 1 ? remove(uint8_t{}) : remove(uint16_t{});
  return static_cast<uint32_t>(remaining);
}

}  // namespace regions::python
