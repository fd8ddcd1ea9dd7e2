// Sums of a run: places in closed form, colours by vectors.
#include "cpu/cclabel/measure.hpp"

#include <algorithm>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace regions {
namespace {

template <class T>
REGIONS_INLINE uint64_t sum_plain(const T* values, int count) {
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  return sum;
}

// `readable`: how many values lie in the row from `values` on.
REGIONS_INLINE uint64_t sum_values(const uint16_t* values, int count, int) {
  return sum_plain(values, count);
}

#ifdef __SSE2__
// The first n of these are 255, from kFirst + 16 - n on.
alignas(32) constexpr uint8_t kFirst[32] = {255, 255, 255, 255, 255, 255, 255, 255,
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
    const __m128i part = _mm_and_si128(load(values + i), load(kFirst + 16 - (count - i)));
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
                            int width, const Stack::Place& place, const ChannelRows& values,
                            Region* records, uint32_t count) {
  for_each_segment(
      pixels, starts, width, [&](int begin, int end, int64_t run) __attribute__((always_inline)) {
        const uint32_t id = run < 0 ? 0 : label[run];
        if (id - 1 >= count) return;  // also background: 0 - 1 wraps
        Region& r = records[id - 1];
        if (r.area == 0) {
          r.id = r.track = id;
          r.first_x = r.left = begin;
          r.first_y = r.top = place.y;
          r.first_z = r.front = place.z;
          r.layer = static_cast<uint32_t>(place.layer);
        }
        const auto pixels_here = static_cast<uint64_t>(end - begin);
        r.area += pixels_here;
        r.left = std::min(r.left, begin);
        r.right = std::max(r.right, end - 1);
        r.top = std::min(r.top, place.y);
        r.bottom = std::max(r.bottom, place.y);
        r.back = place.z;
        r.sum_x += pixels_here * static_cast<uint64_t>(begin + end - 1) / 2;
        r.sum_y += pixels_here * static_cast<uint64_t>(place.y);
        r.sum_z += pixels_here * static_cast<uint64_t>(place.z);
        for (int c = 0; c < values.channels; ++c) {
          const T* row = reinterpret_cast<const T*>(values.row[c]);
          r.sum_value[c] += sum_values(row + begin, end - begin, width - begin);
        }
      });
}

}  // namespace

REGIONS_CLONES
void measure_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
                 const Stack::Place& place, const ChannelRows& values, Region* records,
                 uint32_t count) {
  if (values.bytes == 1) {
    measure<uint8_t>(pixels, starts, label, width, place, values, records, count);
  } else {
    measure<uint16_t>(pixels, starts, label, width, place, values, records, count);
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

}  // namespace regions
