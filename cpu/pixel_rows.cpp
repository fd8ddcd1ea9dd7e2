// Extracts rows of components and luma, compares them with a threshold, and lists runs of labels.
#include "cpu/pixel_rows.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/cclabel/cclabel.hpp"

namespace regions {
namespace {

template <class T>
REGIONS_INLINE T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// Reads values that are kStep bytes apart and writes each of them kRepeat times.
template <class T, int kStep, int kRepeat>
REGIONS_INLINE void copy_samples(const std::byte* from, int width, int shift, T* to) {
  const int whole_count = width / kRepeat;
  for (int i = 0; i < whole_count; ++i) {
    const T value = static_cast<T>(load<T>(from + static_cast<ptrdiff_t>(i) * kStep) >> shift);
    for (int k = 0; k < kRepeat; ++k) to[i * kRepeat + k] = value;
  }
  if (whole_count * kRepeat < width) {
    to[width - 1] =
        static_cast<T>(load<T>(from + static_cast<ptrdiff_t>(whole_count) * kStep) >> shift);
  }
}

}  // namespace

// The distances between samples are template arguments, so that the compiler vectorises each loop.
REGIONS_CLONES
void extract_bytes(const std::byte* from, Component component, int width, uint8_t* to) {
  switch (component.step * 2 + component.x_shift) {
    case 2:
      return copy_samples<uint8_t, 1, 1>(from, width, 0, to);
    case 3:
      return copy_samples<uint8_t, 1, 2>(from, width, 0, to);
    case 4:
      return copy_samples<uint8_t, 2, 1>(from, width, 0, to);
    case 5:
      return copy_samples<uint8_t, 2, 2>(from, width, 0, to);
    case 6:
      return copy_samples<uint8_t, 3, 1>(from, width, 0, to);
    case 8:
      return copy_samples<uint8_t, 4, 1>(from, width, 0, to);
    default:
      return copy_samples<uint8_t, 4, 2>(from, width, 0, to);
  }
}

REGIONS_CLONES
void extract_words(const std::byte* from, Component component, int width, int shift, uint16_t* to) {
  if (component.step == 2) return copy_samples<uint16_t, 2, 1>(from, width, shift, to);
  return copy_samples<uint16_t, 4, 2>(from, width, shift, to);
}

REGIONS_CLONES
void extract_luma(const std::byte* red, const std::byte* green, const std::byte* blue, int step,
                  int width, uint8_t* to) {
  const auto convert = [&](auto kStep) __attribute__((always_inline)) {
    for (int x = 0; x < width; ++x) {
      const ptrdiff_t at = static_cast<ptrdiff_t>(x) * kStep;
      to[x] = static_cast<uint8_t>(luma_of(static_cast<int>(red[at]), static_cast<int>(green[at]),
                                           static_cast<int>(blue[at])));
    }
  };
  if (step == 3) return convert(std::integral_constant<int, 3>{});
  convert(std::integral_constant<int, 4>{});
}

const std::byte* channel_row(const ConstFrame& frame, int c, int y, std::byte* scratch) {
  const Layout& layout = frame.layout;
  const Component component = layout.component[c];
  const std::byte* row = frame.at(c, 0, y);
  const bool aligned = reinterpret_cast<uintptr_t>(row) % layout.sample_bytes == 0;
  if (component.step == layout.sample_bytes && component.x_shift == 0 && layout.low_bits == 0 &&
      aligned) {
    return row;
  }
  if (layout.sample_bytes == 1) {
    extract_bytes(row, component, frame.width, reinterpret_cast<uint8_t*>(scratch));
  } else if (layout.sample_bytes == 2) {
    extract_words(row, component, frame.width, layout.low_bits,
                  reinterpret_cast<uint16_t*>(scratch));
  } else {
    std::memcpy(scratch, row, static_cast<size_t>(frame.width) * sizeof(uint32_t));
  }
  return scratch;
}

const std::byte* value_row(const ConstFrame& frame, int c, int y, std::byte* scratch) {
  if (c != 0 || frame.layout.model != ColorModel::rgb) return channel_row(frame, c, y, scratch);
  extract_luma(frame.at(0, 0, y), frame.at(1, 0, y), frame.at(2, 0, y),
               frame.layout.component[0].step, frame.width, reinterpret_cast<uint8_t*>(scratch));
  return scratch;
}

namespace {

// Tests values of the type T: whether a value is at least `level`.
template <class T>
struct AtLeast {
  uint32_t level;

  bool test(T value) const { return value >= level; }
#ifdef __SSE2__
  // SSE2 has no comparison of unsigned numbers: v >= level is computed as max(v, level) == v for
  // bytes, and as saturated level - v == 0 for 16 bits. The highest bit of a lane is the result.
  __m128i test(__m128i values) const {
    if constexpr (sizeof(T) == 1) {
      const __m128i max = _mm_max_epu8(values, _mm_set1_epi8(static_cast<char>(level)));
      return _mm_cmpeq_epi8(max, values);
    } else {
      const __m128i below = _mm_subs_epu16(_mm_set1_epi16(static_cast<int16_t>(level)), values);
      return _mm_cmpeq_epi16(below, _mm_setzero_si128());
    }
  }
#endif
};

// Tests whether a value differs from `other`.
template <class T>
struct DiffersFrom {
  uint32_t other;

  bool test(T value) const { return value != other; }
#ifdef __SSE2__
  __m128i test(__m128i values) const {
    const __m128i ones = _mm_set1_epi8(-1);
    if constexpr (sizeof(T) == 1) {
      return _mm_xor_si128(_mm_cmpeq_epi8(values, _mm_set1_epi8(static_cast<char>(other))), ones);
    } else {
      return _mm_xor_si128(_mm_cmpeq_epi16(values, _mm_set1_epi16(static_cast<int16_t>(other))),
                           ones);
    }
  }
#endif
};

// Tests whether a bit of a value is set.
template <class T>
struct HasBit {
  int bit;

  bool test(T value) const { return value >> bit & 1; }
#ifdef __SSE2__
  // The shift moves the bit to the highest bit of its lane.
  __m128i test(__m128i values) const {
    return _mm_sll_epi16(values, _mm_cvtsi32_si128(8 * int{sizeof(T)} - 1 - bit));
  }
#endif
};

#ifdef __SSE2__
__m128i load16(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
constexpr size_t kMaxLaneBytes = 2;
#else
constexpr size_t kMaxLaneBytes = 0;
#endif

// Tests 64 values: bit i of the result is set if value i passes the test.
template <class T, class Test>
Word pack_word(const std::byte* values, Test test) {
  Word bits = 0;
  if constexpr (sizeof(T) > kMaxLaneBytes) {
    for (int i = 0; i < kWordBits; ++i) {
      const T value = load<T>(values + static_cast<ptrdiff_t>(i) * static_cast<int>(sizeof(T)));
      bits |= Word{test.test(value)} << i;
    }
  } else {
#ifdef __SSE2__
    for (int i = 0; i < 4; ++i) {
      __m128i results;
      if constexpr (sizeof(T) == 1) {
        results = test.test(load16(values + 16 * i));
      } else {
        results = _mm_packs_epi16(test.test(load16(values + 32 * i)),
                                  test.test(load16(values + 32 * i + 16)));
      }
      bits |= static_cast<Word>(static_cast<uint32_t>(_mm_movemask_epi8(results))) << (16 * i);
    }
#endif
  }
  return bits;
}

template <class T, class Test>
void pack(const std::byte* values, int width, Test test, Word* bits) {
  constexpr size_t kWordBytes = kWordBits * sizeof(T);
  const int whole_words = width / kWordBits;
  for (int w = 0; w < whole_words; ++w, values += kWordBytes) bits[w] = pack_word<T>(values, test);
  if (const int last_pixels = width % kWordBits) {
    std::byte last[kWordBytes] = {};
    std::memcpy(last, values, static_cast<size_t>(last_pixels) * sizeof(T));
    bits[whole_words] = pack_word<T>(last, test) & ((Word{1} << last_pixels) - 1);
  }
}

}  // namespace

void pack_at_least(const std::byte* values, int bytes, int width, int level, Word* bits) {
  const auto min = static_cast<uint32_t>(level);
  if (bytes == 1) return pack<uint8_t>(values, width, AtLeast<uint8_t>{min}, bits);
  if (bytes == 2) return pack<uint16_t>(values, width, AtLeast<uint16_t>{min}, bits);
  pack<uint32_t>(values, width, AtLeast<uint32_t>{min}, bits);
}

void pack_different(const std::byte* values, int bytes, int width, uint32_t value, Word* bits) {
  if (bytes == 1) return pack<uint8_t>(values, width, DiffersFrom<uint8_t>{value}, bits);
  pack<uint16_t>(values, width, DiffersFrom<uint16_t>{value}, bits);
}

void pack_bit(const std::byte* values, int bytes, int width, int bit, Word* bits) {
  if (bytes == 1) return pack<uint8_t>(values, width, HasBit<uint8_t>{bit}, bits);
  pack<uint16_t>(values, width, HasBit<uint16_t>{bit}, bits);
}

namespace {

template <class T>
REGIONS_INLINE uint32_t differing_bits_of(const std::byte* values, int width, uint32_t value) {
  const T* const row = reinterpret_cast<const T*>(values);
  T bits = 0;
  for (int x = 0; x < width; ++x) bits = static_cast<T>(bits | (row[x] ^ static_cast<T>(value)));
  return bits;
}

}  // namespace

REGIONS_CLONES
uint32_t find_differing_bits(const std::byte* values, int bytes, int width, uint32_t value) {
  return bytes == 1 ? differing_bits_of<uint8_t>(values, width, value)
                    : differing_bits_of<uint16_t>(values, width, value);
}

namespace {

constexpr int kMaxRowChunks = 64;  // maximum number of chunks of rows that RunList::fill() uses

}  // namespace

void RunList::allocate(Backend& backend, const Setup& setup) {
  listed_ = backend.allocate(setup.max_runs * sizeof(PixelRun));
  starts_ = backend.allocate((size_t{setup.max_regions} + 1) * sizeof(uint32_t));
}

void RunList::fill(ConstLabelMap labels, const RegionTable& table, const Workers& workers) const {
  const int chunks = std::min(labels.height, kMaxRowChunks);
  const auto begin_of = [&](int chunk) {
    return static_cast<int>(static_cast<int64_t>(labels.height) * chunk / chunks);
  };
  const auto for_each_in_chunk = [&](int chunk, auto visit) {
    for (int y = begin_of(chunk); y < begin_of(chunk + 1); ++y) {
      for_each_label_run(labels.row(y), labels.width, [&](uint32_t label, int begin, int end) {
        if (label - 1 >= table.capacity) return;  // also true for background: 0 - 1 wraps around
        visit(PixelRun{label, static_cast<uint32_t>(begin), static_cast<uint32_t>(y),
                       static_cast<uint32_t>(end - begin)});
      });
    }
  };
  // Counts the runs of each chunk, then lists all runs in raster order, then sorts them by label
  // with a counting sort.
  uint32_t runs_before[kMaxRowChunks + 1] = {};  // [chunk], number of runs in earlier chunks
  workers.parallel_for(chunks, [&](int chunk) {
    for_each_in_chunk(chunk, [&](const PixelRun&) { ++runs_before[chunk + 1]; });
  });
  std::partial_sum(runs_before, runs_before + chunks + 1, runs_before);
  auto* listed = listed_.as<PixelRun>();
  workers.parallel_for(chunks, [&](int chunk) {
    uint32_t next = runs_before[chunk];
    for_each_in_chunk(chunk, [&](const PixelRun& run) {
      if (next < table.run_capacity) listed[next] = run;
      ++next;
    });
  });
  *table.run_total = runs_before[chunks];

  const uint32_t count = std::min(runs_before[chunks], table.run_capacity);
  auto* starts = starts_.as<uint32_t>();
  std::fill_n(starts, table.capacity + 1, 0u);
  for (uint32_t i = 0; i < count; ++i) ++starts[listed[i].label];
  std::partial_sum(starts, starts + table.capacity + 1, starts);
  for (uint32_t i = 0; i < count; ++i) table.runs[starts[listed[i].label - 1]++] = listed[i];
}

}  // namespace regions
