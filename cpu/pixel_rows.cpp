// Extraction of components, luma, and compares packed to bits.
#include "cpu/pixel_rows.hpp"

#include <cstring>
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

// Every kStep-th byte position of `from`, each value kRepeat times.
template <class T, int kStep, int kRepeat>
REGIONS_INLINE void spread(const std::byte* from, int width, int shift, T* to) {
  const int whole = width / kRepeat;
  for (int i = 0; i < whole; ++i) {
    const T value = static_cast<T>(load<T>(from + static_cast<ptrdiff_t>(i) * kStep) >> shift);
    for (int k = 0; k < kRepeat; ++k) to[i * kRepeat + k] = value;
  }
  if (whole * kRepeat < width) {
    to[width - 1] = static_cast<T>(load<T>(from + static_cast<ptrdiff_t>(whole) * kStep) >> shift);
  }
}

}  // namespace

// The formats' steps as constants, so that each becomes a vector loop.
REGIONS_CLONES
void extract_bytes(const std::byte* from, Component k, int width, uint8_t* to) {
  switch (k.step * 2 + k.x_shift) {
    case 2:
      return spread<uint8_t, 1, 1>(from, width, 0, to);
    case 3:
      return spread<uint8_t, 1, 2>(from, width, 0, to);
    case 4:
      return spread<uint8_t, 2, 1>(from, width, 0, to);
    case 5:
      return spread<uint8_t, 2, 2>(from, width, 0, to);
    case 6:
      return spread<uint8_t, 3, 1>(from, width, 0, to);
    case 8:
      return spread<uint8_t, 4, 1>(from, width, 0, to);
    default:
      return spread<uint8_t, 4, 2>(from, width, 0, to);
  }
}

REGIONS_CLONES
void extract_words(const std::byte* from, Component k, int width, int shift, uint16_t* to) {
  if (k.step == 2) return spread<uint16_t, 2, 1>(from, width, shift, to);
  return spread<uint16_t, 4, 2>(from, width, shift, to);
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
  const Component k = layout.component[c];
  const std::byte* row = frame.at(c, 0, y);
  const bool aligned = reinterpret_cast<uintptr_t>(row) % layout.sample_bytes == 0;
  if (k.step == layout.sample_bytes && k.x_shift == 0 && layout.low_bits == 0 && aligned) {
    return row;
  }
  if (layout.sample_bytes == 1) {
    extract_bytes(row, k, frame.width, reinterpret_cast<uint8_t*>(scratch));
  } else if (layout.sample_bytes == 2) {
    extract_words(row, k, frame.width, layout.low_bits, reinterpret_cast<uint16_t*>(scratch));
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

template <class T>
Word pack_some(const std::byte* values, int count, uint32_t level) {
  Word bits = 0;
  for (int i = 0; i < count; ++i) {
    const T value = load<T>(values + static_cast<ptrdiff_t>(i) * static_cast<int>(sizeof(T)));
    bits |= Word{value >= level} << i;
  }
  return bits;
}

#ifdef __SSE2__
__m128i load16(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }

// 64 values; SSE2 compares of unsigned numbers: v >= level where max(v, level) == v, or where
// level - v saturates to 0.
template <class T>
Word pack_word(const std::byte* values, uint32_t level) {
  Word bits = 0;
  for (int i = 0; i < 4; ++i) {
    __m128i mask;
    if constexpr (sizeof(T) == 1) {
      const __m128i v = load16(values + 16 * i);
      mask = _mm_cmpeq_epi8(_mm_max_epu8(v, _mm_set1_epi8(static_cast<char>(level))), v);
    } else {
      const __m128i limit = _mm_set1_epi16(static_cast<int16_t>(level));
      const auto below = [&](const std::byte* p) { return _mm_subs_epu16(limit, load16(p)); };
      const __m128i zero = _mm_setzero_si128();
      mask = _mm_packs_epi16(_mm_cmpeq_epi16(below(values + 32 * i), zero),
                             _mm_cmpeq_epi16(below(values + 32 * i + 16), zero));
    }
    bits |= static_cast<Word>(static_cast<uint32_t>(_mm_movemask_epi8(mask))) << (16 * i);
  }
  return bits;
}
#else
template <class T>
Word pack_word(const std::byte* values, uint32_t level) {
  return pack_some<T>(values, kWordBits, level);
}
#endif

template <class T>
void pack(const std::byte* values, int width, uint32_t level, Word* bits) {
  const int whole = width / kWordBits;
  for (int w = 0; w < whole; ++w) {
    const std::byte* p = values + static_cast<ptrdiff_t>(w) * kWordBits * int{sizeof(T)};
    if constexpr (sizeof(T) == 4) {
      bits[w] = pack_some<T>(p, kWordBits, level);
    } else {
      bits[w] = pack_word<T>(p, level);
    }
  }
  if (const int rest = width - whole * kWordBits; rest > 0) {
    const std::byte* p = values + static_cast<ptrdiff_t>(whole) * kWordBits * int{sizeof(T)};
    bits[whole] = pack_some<T>(p, rest, level);
  }
}

}  // namespace

void pack_at_least(const std::byte* values, int bytes, int width, int level, Word* bits) {
  const auto least = static_cast<uint32_t>(level);
  if (bytes == 1) return pack<uint8_t>(values, width, least, bits);
  if (bytes == 2) return pack<uint16_t>(values, width, least, bits);
  pack<uint32_t>(values, width, least, bits);
}

}  // namespace regions
