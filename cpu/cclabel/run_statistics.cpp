// Statistics of regions, and counts of pixels shared with the previous frame, summed run by run.
// Sums of coordinates have a closed form. Sums of colours use vectors.

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
REGIONS_INLINE uint64_t sum_plain(const T* values, int count) {
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  return sum;
}

// `readable` is the number of values from `values` to the end of the row.
REGIONS_INLINE uint64_t sum_values(const uint16_t* values, int count, int) {
  return sum_plain(values, count);
}

#ifdef __SSE2__
// The 16 bytes from kFirstBytes + 16 - n on are a mask of the first n bytes.
alignas(32) constexpr uint8_t kFirstBytes[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                 255, 255, 255, 255, 255, 255, 255, 255};

REGIONS_INLINE uint64_t sum_values(const uint8_t* values, int count, int readable) {
  if (readable < (count + 15) / 16 * 16) return sum_plain(values, count);
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
  return sum_plain(values, count);
}
#endif

template <class T>
REGIONS_INLINE void measure(const Word* pixels, const Word* starts, const uint32_t* label,
                            int width, const VolumeLayout::Position& position,
                            const ChannelRows& values, Region* records, uint32_t count) {
  for_each_segment(
      pixels, starts, width, [&](int begin, int end, int64_t run) __attribute__((always_inline)) {
        const uint32_t id = run < 0 ? 0 : label[run];
        if (id - 1 >= count) return;  // also background: 0 - 1 wraps around
        Region& r = records[id - 1];
        if (r.area == 0) {
          r.id = r.track = id;
          r.first_x = r.left = begin;
          r.first_y = r.top = position.y;
          r.first_z = r.front = position.z;
          r.layer = static_cast<uint32_t>(position.layer);
        }
        const auto pixels_here = static_cast<uint64_t>(end - begin);
        r.area += pixels_here;
        r.left = std::min(r.left, begin);
        r.right = std::max(r.right, end - 1);
        r.top = std::min(r.top, position.y);
        r.bottom = std::max(r.bottom, position.y);
        r.back = position.z;
        r.sum_x += pixels_here * static_cast<uint64_t>(begin + end - 1) / 2;
        r.sum_y += pixels_here * static_cast<uint64_t>(position.y);
        r.sum_z += pixels_here * static_cast<uint64_t>(position.z);
        for (int c = 0; c < values.channels; ++c) {
          const T* row = reinterpret_cast<const T*>(values.row[c]);
          r.sum_value[c] += sum_values(row + begin, end - begin, width - begin);
        }
      });
}

}  // namespace

REGIONS_CLONES
void measure_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
                 const VolumeLayout::Position& position, const ChannelRows& values, Region* records,
                 uint32_t count) {
  if (values.bytes == 1) {
    measure<uint8_t>(pixels, starts, label, width, position, values, records, count);
  } else {
    measure<uint16_t>(pixels, starts, label, width, position, values, records, count);
  }
}

void add_record(const Region& more, Region& record) {
  if (more.area == 0) return;
  if (record.area == 0) {
    record = more;
    return;
  }
  record.left = std::min(record.left, more.left);
  record.right = std::max(record.right, more.right);
  record.top = std::min(record.top, more.top);
  record.bottom = std::max(record.bottom, more.bottom);
  record.back = more.back;
  record.area += more.area;
  record.sum_x += more.sum_x;
  record.sum_y += more.sum_y;
  record.sum_z += more.sum_z;
  for (int c = 0; c < 3; ++c) record.sum_value[c] += more.sum_value[c];
}

namespace {

// Returns the end of the values equal to *first; compares four values at a time.
REGIONS_INLINE uint16_t* end_of_equal(uint16_t* first, uint16_t* last) {
  uint16_t* p = first + 1;
  uint64_t equal, four;
  for (equal = *first * uint64_t{0x0001000100010001}; p + 4 <= last; p += 4) {
    std::memcpy(&four, p, sizeof four);
    if (four != equal) break;
  }
  while (p < last && *p == *first) ++p;
  return p;
}

}  // namespace

REGIONS_CLONES
void share_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
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
    const auto now = static_cast<uint16_t>(id <= count ? id : 0);
    uint16_t* const last = previous + end;
    for (uint16_t* p = previous + begin; now != 0 && p < last;) {
      uint16_t* const other = end_of_equal(p, last);
      if (*p != 0) pairs.add<CpuAtomics>(*p, now, static_cast<uint32_t>((other - p) * rows));
      p = other;
    }
    std::fill(previous + begin, last, now);
  });
}

}  // namespace regions
