// Computes statistics of regions, and counts the pixels that regions share with regions of the
// previous frame, run by run. Sums of coordinates use a closed formula, sums of colours use SIMD.

#include <algorithm>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "cpu/cclabel/cclabel.hpp"
#include "cpu/cclabel/region_tracker.hpp"

namespace regions {
namespace {

template <class T>
REGIONS_INLINE uint64_t sum_one_by_one(const T* values, int count) {
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  return sum;
}

// Sums `count` values. `readable` is the number of values from `values` to the end of the row.
REGIONS_INLINE uint64_t sum_values(const uint16_t* values, int count, int) {
  return sum_one_by_one(values, count);
}

#ifdef __SSE2__
// The 16 bytes at kFirstBytes + 16 - n are a mask that selects the first n bytes of a vector.
alignas(32) constexpr uint8_t kFirstBytes[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                 255, 255, 255, 255, 255, 255, 255, 255};

REGIONS_INLINE uint64_t sum_values(const uint8_t* values, int count, int readable) {
  if (readable < (count + 15) / 16 * 16) return sum_one_by_one(values, count);
  const auto load = [](const uint8_t* p) __attribute__((always_inline)) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  };
  __m128i sum = _mm_setzero_si128();
  int i = 0;
  for (; i + 16 <= count; i += 16) {
    sum = _mm_add_epi64(sum, _mm_sad_epu8(load(values + i), _mm_setzero_si128()));
  }
  if (i < count) {
    const __m128i part = _mm_and_si128(load(values + i), load(kFirstBytes + 16 - (count - i)));
    sum = _mm_add_epi64(sum, _mm_sad_epu8(part, _mm_setzero_si128()));
  }
  return static_cast<uint64_t>(_mm_cvtsi128_si64(sum)) +
         static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(sum, sum)));
}
#else
REGIONS_INLINE uint64_t sum_values(const uint8_t* values, int count, int) {
  return sum_one_by_one(values, count);
}
#endif

template <class T>
REGIONS_INLINE void measure_runs(const Word* pixels, const Word* starts, const uint32_t* label,
                                 int width, const VolumeLayout::Position& position,
                                 const ChannelRows& values, Region* records, uint32_t count) {
  for_each_segment(
      pixels, starts, width, [&](int begin, int end, int64_t run) __attribute__((always_inline)) {
        const uint32_t id = run < 0 ? 0 : label[run];
        if (id - 1 >= count) return;  // also true for background: 0 - 1 wraps around
        Region& record = records[id - 1];
        if (record.area == 0) {
          record.id = record.track = id;
          record.first_x = record.left = begin;
          record.first_y = record.top = position.y;
          record.first_z = record.front = position.z;
          record.layer = static_cast<uint32_t>(position.layer);
        }
        const auto pixels_here = static_cast<uint64_t>(end - begin);
        record.area += pixels_here;
        record.left = std::min(record.left, begin);
        record.right = std::max(record.right, end - 1);
        record.top = std::min(record.top, position.y);
        record.bottom = std::max(record.bottom, position.y);
        record.back = position.z;
        record.sum_x += pixels_here * static_cast<uint64_t>(begin + end - 1) / 2;
        record.sum_y += pixels_here * static_cast<uint64_t>(position.y);
        record.sum_z += pixels_here * static_cast<uint64_t>(position.z);
        for (int c = 0; c < values.channels; ++c) {
          const T* row = reinterpret_cast<const T*>(values.row[c]);
          record.sum_value[c] += sum_values(row + begin, end - begin, width - begin);
        }
      });
}

}  // namespace

REGIONS_CLONES
void measure_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
                 const VolumeLayout::Position& position, const ChannelRows& values, Region* records,
                 uint32_t count) {
  if (values.bytes == 1) {
    measure_runs<uint8_t>(pixels, starts, label, width, position, values, records, count);
  } else {
    measure_runs<uint16_t>(pixels, starts, label, width, position, values, records, count);
  }
}

void add_record(const Region& lower, Region& record) {
  if (lower.area == 0) return;
  if (record.area == 0) {
    record = lower;
    return;
  }
  record.left = std::min(record.left, lower.left);
  record.right = std::max(record.right, lower.right);
  record.top = std::min(record.top, lower.top);
  record.bottom = std::max(record.bottom, lower.bottom);
  record.back = lower.back;
  record.area += lower.area;
  record.sum_x += lower.sum_x;
  record.sum_y += lower.sum_y;
  record.sum_z += lower.sum_z;
  for (int c = 0; c < 3; ++c) record.sum_value[c] += lower.sum_value[c];
}

namespace {

// Returns the end of the consecutive values from `first` on that are equal to *first. Compares four
// values at a time.
REGIONS_INLINE uint16_t* end_of_equal(uint16_t* first, uint16_t* last) {
  uint16_t* p = first + 1;
  uint64_t four_equal, four;
  for (four_equal = *first * uint64_t{0x0001000100010001}; p + 4 <= last; p += 4) {
    std::memcpy(&four, p, sizeof four);
    if (four != four_equal) break;
  }
  while (p < last && *p == *first) ++p;
  return p;
}

}  // namespace

REGIONS_CLONES
void count_shared_in_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
                         uint32_t count, int rows, const PairTable& pairs, uint16_t* previous,
                         Word* labelled) {
  const int words = words_for(width);
  if (!has_bits(labelled, words) && !has_bits(pixels, words)) return;
  // Clears the labels of pixels that are background now.
  for (int w = 0; w < words; ++w) {
    const Word cleared = labelled[w] & ~pixels[w];
    labelled[w] = pixels[w];
    if (cleared == 0) continue;
    for_each_run(&cleared, 1, [&](int begin, int end) {
      std::fill(previous + w * kWordBits + begin, previous + w * kWordBits + end, uint16_t{0});
    });
  }
  for_each_segment(pixels, starts, width, [&](int begin, int end, int64_t run) {
    if (run < 0) return;
    const uint32_t id = label[run];
    const auto label_now = static_cast<uint16_t>(id <= count ? id : 0);
    uint16_t* const last = previous + end;
    for (uint16_t* p = previous + begin; label_now != 0 && p < last;) {
      uint16_t* const next = end_of_equal(p, last);
      if (*p != 0) pairs.add<CpuAtomics>(*p, label_now, static_cast<uint32_t>((next - p) * rows));
      p = next;
    }
    std::fill(previous + begin, last, label_now);
  });
}

}  // namespace regions
