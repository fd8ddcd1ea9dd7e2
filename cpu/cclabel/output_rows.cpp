// Writes output rows of labels, masks and colours, eight pixels at a time.

#include <algorithm>
#include <array>
#include <cstring>

#include "core/drawing/paint.hpp"
#include "cpu/cclabel/cclabel.hpp"

namespace regions {
namespace {

constexpr int kLanes = 8;
// Vectors of eight values of 32, 16 and 8 bits.
typedef uint32_t Lanes __attribute__((vector_size(4 * kLanes)));
typedef uint16_t Shorts __attribute__((vector_size(2 * kLanes)));
typedef uint8_t Bytes __attribute__((vector_size(kLanes)));

// For eight pixels: kRunOf[starts][i] is the index of pixel i's run minus the index of pixel 0's
// run. Bit i of `starts` is set if pixel i is the first pixel of a run.
constexpr auto kRunOf = [] {
  std::array<std::array<uint32_t, kLanes>, 256> table{};
  for (unsigned starts = 0; starts < 256; ++starts) {
    for (unsigned i = 1; i < kLanes; ++i) {
      table[starts][i] = table[starts][i - 1] + (starts >> i & 1);
    }
  }
  return table;
}();

// Counts set bits: byte i of the result is the number of bits set in bytes 0..i - 1 of `word`.
REGIONS_INLINE Word count_preceding_bits(Word word) {
  constexpr Word kOneInEachByte = ~Word{0} / 255;  // 0x0101...01
  word -= word >> 1 & kOneInEachByte * 0x55;
  word = (word & kOneInEachByte * 0x33) + (word >> 2 & kOneInEachByte * 0x33);
  word = (word + (word >> 4)) & kOneInEachByte * 0x0f;
  return (word * kOneInEachByte) << 8;
}

// Computes the values of eight pixels from the values of their runs. `value` points to the value of
// the first pixel's run.
REGIONS_INLINE void expand_runs(unsigned pixels, unsigned starts, const uint32_t* value,
                                Lanes& out) {
#if defined(__x86_64__) && !defined(__clang__)
  Lanes values, lane_of;
  std::memcpy(&values, value, sizeof values);
  std::memcpy(&lane_of, kRunOf[starts].data(), sizeof lane_of);
  out = __builtin_shuffle(values, lane_of);
#else  // NEON cannot shuffle 32 bytes: g++ 14.2 for aarch64 made code that crashed
  for (unsigned i = 0; i < kLanes; ++i) out[i] = value[kRunOf[starts][i]];
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
    const Shorts narrow = __builtin_convertvector(values, Shorts);
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

// Writes the 64 pixels of a word. `run` points to the value of the last run that starts before the
// word.
template <int kBytes>
REGIONS_INLINE void write_word(Word pixels, Word starts, const uint32_t* run, std::byte* out) {
  if (starts == 0 && (pixels == 0 || pixels == ~Word{0})) {
    Lanes uniform = {};
    if (pixels) uniform += *run;
    for (int x = 0; x < kWordBits; x += kLanes) store<kBytes>(uniform, out + x * kBytes);
    return;
  }
  const Word preceding = count_preceding_bits(starts);
  for (int x = 0; x < kWordBits; x += kLanes) {
    const auto eight_starts = static_cast<unsigned>(starts >> x & 255);
    const uint32_t* first = run + (preceding >> x & 255) + (eight_starts & 1);
    Lanes values;
    expand_runs(static_cast<unsigned>(pixels >> x & 255), eight_starts, first, values);
    store<kBytes>(values, out + x * kBytes);
  }
}

template <int kBytes>
REGIONS_INLINE void write_pixels(const Word* pixels, const Word* starts, const uint32_t* value,
                                 int width, std::byte* out) {
  constexpr size_t kWordBytes = kWordBits * kBytes;
  // Address of the value of the last run that started so far. Before the first run, an unused
  // entry.
  const uint32_t* run = value - 1;
  const int whole_words = width / kWordBits;
  for (int w = 0; w < whole_words; ++w, out += kWordBytes) {
    write_word<kBytes>(pixels[w], starts[w], run, out);
    run += count_bits(starts[w]);
  }
  if (const int last_pixels = width % kWordBits) {
    std::byte last[kWordBytes];
    write_word<kBytes>(pixels[whole_words], starts[whole_words], run, last);
    std::memcpy(out, last, static_cast<size_t>(last_pixels) * kBytes);
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

namespace {

// Returns the colour of a label as a packed pixel. The fourth byte (alpha or unused) is 255. The
// pixel of label 0 is 0.
uint32_t packed_color(uint32_t label, const Layout& layout) {
  const Rgb color = track_color(label);
  const uint32_t channel[4] = {color.red, color.green, color.blue, 255};
  uint32_t pixel = 0;
  for (int c = 0; c < 4; ++c) pixel |= channel[c] << (8 * layout.component[c].offset);
  return label == 0 ? 0 : pixel;
}

}  // namespace

const uint32_t* output_values(const uint32_t* label, uint32_t runs, uint32_t* scratch,
                              const FrameTask& task, const CcLabelParams& params,
                              const ShownTracks& tracks) {
  const auto converted = [&](auto convert) {
    std::transform(label, label + runs, scratch, convert);
    return scratch;
  };
  const auto track_of = [&](uint32_t id, uint32_t limit) {
    return track_value(tracks.regions, tracks.states, tracks.count, id, limit, params.overflow);
  };
  if (params.output == CcOutput::none) return label;
  if (params.output == CcOutput::mask) {
    return converted([](uint32_t id) { return id ? UINT32_MAX : 0; });
  }
  if (params.output == CcOutput::colors) {
    return converted([&](uint32_t id) {
      return packed_color(params.track ? track_of(id, UINT32_MAX) : id, task.out.layout);
    });
  }
  if (params.track && params.label_values == LabelValues::track) {
    return converted([&](uint32_t id) { return track_of(id, max_label_of(task.out.layout)); });
  }
  const uint32_t limit = max_output_label(task, params);
  if (limit == UINT32_MAX) return label;
  return converted([&](uint32_t id) { return std::min(id, limit); });
}

}  // namespace regions
