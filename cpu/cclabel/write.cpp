// Rows of labels, masks and colours, eight pixels at a time.
#include "cpu/cclabel/write.hpp"

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
  std::array<std::array<uint32_t, kLanes>, 256> table{};
  for (unsigned starts = 0; starts < 256; ++starts) {
    for (unsigned i = 1; i < kLanes; ++i) {
      table[starts][i] = table[starts][i - 1] + (starts >> i & 1);
    }
  }
  return table;
}();

// In each byte of the result: how many bits are set in the bytes of `word` before it.
REGIONS_INLINE Word bits_before(Word word) {
  constexpr Word kEach = ~Word{0} / 255;  // a 1 in each byte
  word -= word >> 1 & kEach * 0x55;
  word = (word & kEach * 0x33) + (word >> 2 & kEach * 0x33);
  word = (word + (word >> 4)) & kEach * 0x0f;
  return (word * kEach) << 8;
}

// Values of eight pixels; `value` is the first pixel's run.
REGIONS_INLINE void expand(unsigned pixels, unsigned starts, const uint32_t* value, Lanes& out) {
  Lanes values, lane_of;
  std::memcpy(&values, value, sizeof values);
  std::memcpy(&lane_of, kRunOf[starts].data(), sizeof lane_of);
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

// The pixels of a word; `run` is that of the pixel before.
template <int kBytes>
REGIONS_INLINE void write_word(Word pixels, Word starts, const uint32_t* run, std::byte* out) {
  if (starts == 0 && (pixels == 0 || pixels == ~Word{0})) {
    Lanes same = {};
    if (pixels) same += *run;
    for (int x = 0; x < kWordBits; x += kLanes) store<kBytes>(same, out + x * kBytes);
    return;
  }
  const Word before = bits_before(starts);
  for (int x = 0; x < kWordBits; x += kLanes) {
    const auto here = static_cast<unsigned>(starts >> x & 255);
    const uint32_t* first = run + (before >> x & 255) + (here & 1);
    Lanes values;
    expand(static_cast<unsigned>(pixels >> x & 255), here, first, values);
    store<kBytes>(values, out + x * kBytes);
  }
}

template <int kBytes>
REGIONS_INLINE void write_pixels(const Word* pixels, const Word* starts, const uint32_t* value,
                                 int width, std::byte* out) {
  constexpr size_t kWordBytes = kWordBits * kBytes;
  const uint32_t* run = value - 1;  // of the pixel before
  const int whole = width / kWordBits;
  for (int w = 0; w < whole; ++w, out += kWordBytes) {
    write_word<kBytes>(pixels[w], starts[w], run, out);
    run += count_bits(starts[w]);
  }
  if (const int rest = width % kWordBits) {
    std::byte last[kWordBytes];
    write_word<kBytes>(pixels[whole], starts[whole], run, last);
    std::memcpy(out, last, static_cast<size_t>(rest) * kBytes);
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
