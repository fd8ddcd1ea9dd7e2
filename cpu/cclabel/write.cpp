// Rows of labels, masks and colours, eight pixels at a time.
#include "cpu/cclabel/write.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace regions {
namespace {

constexpr int kLanes = 8;
typedef uint32_t Lanes __attribute__((vector_size(4 * kLanes)));
typedef uint16_t Halves __attribute__((vector_size(2 * kLanes)));
typedef uint8_t Bytes __attribute__((vector_size(kLanes)));

// For each byte of run starts: which run each of its pixels lies in, the first pixel's being 0.
constexpr auto kRunOf = [] {
  std::array<std::array<uint8_t, kLanes>, 256> table{};
  for (unsigned starts = 0; starts < 256; ++starts) {
    for (unsigned i = 1; i < kLanes; ++i) {
      table[starts][i] = static_cast<uint8_t>(table[starts][i - 1] + (starts >> i & 1));
    }
  }
  return table;
}();

// Values of eight pixels; `value` is the first pixel's run.
REGIONS_INLINE void expand(unsigned pixels, unsigned starts, const uint32_t* value, Lanes& out) {
  Lanes values;
  Bytes run;
  std::memcpy(&values, value, sizeof values);
  std::memcpy(&run, kRunOf[starts].data(), sizeof run);
  const Lanes lane_of = __builtin_convertvector(run, Lanes);
#ifdef __clang__
  for (int i = 0; i < kLanes; ++i) out[i] = values[lane_of[i]];
#else
  out = __builtin_shuffle(values, lane_of);
#endif
  constexpr Lanes kBit = {1, 2, 4, 8, 16, 32, 64, 128};
  out &= Lanes((kBit & pixels) == kBit);
}

// Stores the low kBytes bytes of eight values.
template <int kBytes>
REGIONS_INLINE void store(const Lanes& values, std::byte* out) {
  if constexpr (kBytes == 4) {
    std::memcpy(out, &values, sizeof values);
  } else if constexpr (kBytes == 2) {
    const Halves narrow = __builtin_convertvector(values, Halves);
    std::memcpy(out, &narrow, sizeof narrow);
  } else if constexpr (kBytes == 1) {
    const Bytes narrow = __builtin_convertvector(values, Bytes);
    std::memcpy(out, &narrow, sizeof narrow);
  } else {
    for (int i = 0; i < kLanes; ++i) {
      for (int b = 0; b < kBytes; ++b) {
        out[i * kBytes + b] = static_cast<std::byte>(values[i] >> (8 * b));
      }
    }
  }
}

template <int kBytes>
REGIONS_INLINE void write_pixels(const Word* pixels, const Word* starts, const uint32_t* value,
                                 int width, std::byte* out) {
  const uint32_t* run = value - 1;  // of the pixel before
  for (int w = 0; w < words_for(width); ++w) {
    Word rest_pixels = pixels[w], rest_starts = starts[w];
    const int count = std::min(kWordBits, width - w * kWordBits);
    std::byte* to = out + static_cast<ptrdiff_t>(w) * kWordBits * kBytes;
    // A word within one run, or without any: all values are the same.
    const bool same = rest_starts == 0 && (rest_pixels == 0 || rest_pixels == ~Word{0});
    Lanes lanes = {};
    if (same && rest_pixels) lanes += *run;
    for (int x = 0; x < count; x += kLanes) {
      if (!same) {
        const auto here = static_cast<unsigned>(rest_starts & 255);
        expand(static_cast<unsigned>(rest_pixels & 255), here, run + (here & 1), lanes);
        run += count_bits(here);
        rest_pixels >>= kLanes;
        rest_starts >>= kLanes;
      }
      if (x + kLanes <= count) {
        store<kBytes>(lanes, to + x * kBytes);
      } else {
        std::byte last[kLanes * kBytes];
        store<kBytes>(lanes, last);
        std::memcpy(to + x * kBytes, last, static_cast<size_t>(count - x) * kBytes);
      }
    }
  }
}

}  // namespace

REGIONS_CLONES
void write_row(const Word* pixels, const Word* starts, const uint32_t* value, int width, int bytes,
               std::byte* out) {
  switch (bytes) {
    case 1:
      return write_pixels<1>(pixels, starts, value, width, out);
    case 2:
      return write_pixels<2>(pixels, starts, value, width, out);
    case 3:
      return write_pixels<3>(pixels, starts, value, width, out);
    default:
      return write_pixels<4>(pixels, starts, value, width, out);
  }
}

}  // namespace regions
