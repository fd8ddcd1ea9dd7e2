// Scaling of whole frames in host memory. A "step" is the group of samples of the large frame that
// one sample of the small frame covers. Scaling down computes the mean of each step. Most frames of
// 8-bit samples take a fast path: it sums columns over the rows of a step, then groups of columns.
#include "cpu/resampling.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/simd.hpp"

namespace regions {
namespace {

constexpr int kShare = 16;  // rows that one thread processes at a time

// Calls row(component, j, samples of the row) for every row of every component of the frame.
template <std::invocable<int, int, int> Row>
void for_rows(const Frame& frame, const Workers& workers, Row row) {
  for (int c = 0; c < components(frame.layout); ++c) {
    const Component& k = frame.layout.component[c];
    const int width = samples(frame.width, k.x_shift), height = samples(frame.height, k.y_shift);
    workers.parallel_for((height + kShare - 1) / kShare, [&](int share) {
      for (int j = share * kShare; j < std::min(height, (share + 1) * kShare); ++j)
        row(c, j, width);
    });
  }
}

constexpr int kMaxAdded = 65535 / 255;  // number of bytes whose sum fits into 16 bits
constexpr int kColumns = 4096;          // column sums that are computed at a time

// Computes `count` sums over the rows. Sum kStep * x + c adds up sample(row, x, c) of all rows.
template <int kStep, class Sample>
REGIONS_INLINE void sum_rows(const uint8_t* row, ptrdiff_t pitch, int rows, int count,
                             uint16_t* sums, Sample sample) {
  for (int x = 0; x < count / kStep; ++x) {
    for (int c = 0; c < kStep; ++c) sums[kStep * x + c] = static_cast<uint16_t>(sample(row, x, c));
  }
  for (int y = 1; y < rows; ++y) {
    row += pitch;
    for (int x = 0; x < count / kStep; ++x) {
      for (int c = 0; c < kStep; ++c) {
        uint16_t& sum = sums[kStep * x + c];
        sum = static_cast<uint16_t>(sum + sample(row, x, c));
      }
    }
  }
}
// Sums over the rows of single bytes, of pairs of pixels of one byte, and of pairs of pixels of two
// bytes.
REGIONS_CLONES
void sum_columns(const uint8_t* row, ptrdiff_t pitch, int rows, int count, uint16_t* sums) {
  sum_rows<1>(row, pitch, rows, count, sums, [](const uint8_t* at, int x, int) { return +at[x]; });
}
REGIONS_CLONES
void sum_pairs_of_1_byte(const uint8_t* row, ptrdiff_t pitch, int rows, int count, uint16_t* sums) {
  sum_rows<1>(row, pitch, rows, count, sums,
              [](const uint8_t* at, int x, int) { return at[2 * x] + at[2 * x + 1]; });
}
REGIONS_CLONES
void sum_pairs_of_2_bytes(const uint8_t* row, ptrdiff_t pitch, int rows, int count,
                          uint16_t* sums) {
  sum_rows<2>(row, pitch, rows, count, sums,
              [](const uint8_t* at, int x, int c) { return at[4 * x + c] + at[4 * x + 2 + c]; });
}

// Iterates over the first samples of steps, first_of(i, few, many) for i = 0, 1, ..., without a
// division per step.
class StepIterator {
 public:
  StepIterator(int few, int many) : few_(few), quotient_(many / few), remainder_(many % few) {}
  int at() const { return at_; }
  void next() {
    at_ += quotient_;
    rest_ += remainder_;
    if (rest_ < few_) return;
    rest_ -= few_;
    ++at_;
  }

 private:
  int few_, quotient_, remainder_;
  int at_ = 0, rest_ = 0;
};

// Rounded mean by multiplication with the inverse of the count. The inverse is stored, because most
// consecutive counts are equal.
class RoundedMean {
 public:
  uint32_t operator()(uint32_t sum, uint32_t count) {
    if (count != count_) {
      count_ = count;
      inverse_ = (uint64_t{1} << kShift) / count + 1;
    }
    // Exact if sum * count < 2^40.
    return static_cast<uint32_t>((sum + count / 2) * inverse_ >> kShift);
  }
  static constexpr uint32_t kMaxCount = 1 << 15;  // for sums of bytes: 256 * count^2 < 2^40

 private:
  static constexpr int kShift = 40;
  uint32_t count_ = 0;
  uint64_t inverse_ = 0;
};

// Sums `count` values that are kStep apart.
template <int kStep>
REGIONS_INLINE uint32_t sum_every(const uint16_t* sums, int count) {
  uint32_t even = 0, odd = 0;
  int u = 0;
  for (; u + 2 <= count; u += 2) {
    even += sums[u * kStep];
    odd += sums[(u + 1) * kStep];
    asm("" : "+r"(even), "+r"(odd));  // prevents vectorisation: about ten sums are too few for it
  }
  return u < count ? even + odd + sums[u * kStep] : even + odd;
}

// Components that are interleaved: in one plane, with the same distance between pixels.
bool are_interleaved(const Component& a, const Component& b) {
  return a.plane == b.plane && a.step == b.step;
}

// Row j of the small frame, for interleaved components of 8 bits, and the rows of the large frame
// that it covers.
struct ByteRow {
  int width, large_width;  // samples in a row of the small frame and of the large frame
  int rows;                // of the large frame
  const uint8_t* from;
  ptrdiff_t pitch;
  std::byte* to;
  int offset[4], channels = 0;  // bytes from the start of a pixel to each component

  ByteRow(const ConstFrame& large, const Frame& small, int first, int j) {
    const Layout& layout = small.layout;
    const Component& k = layout.component[first];
    for (int c = first; c < components(layout); ++c) {
      if (are_interleaved(layout.component[c], k)) offset[channels++] = layout.component[c].offset;
    }
    width = samples(small.width, k.x_shift);
    large_width = samples(large.width, k.x_shift);
    const PixelInterval y =
        pixels_of_cell(j, samples(small.height, k.y_shift), samples(large.height, k.y_shift));
    rows = y.end - y.first;
    pitch = large.pitch[k.plane];
    from = reinterpret_cast<const uint8_t*>(large.plane[k.plane]) + y.first * pitch;
    to = small.plane[k.plane] + j * small.pitch[k.plane];
  }
};

// Writes pixel i of the small frame. Each component is the mean of `many` sums, which contain
// `count` bytes in total.
template <int kStep>
REGIONS_INLINE void put_means(const ByteRow& row, int i, const uint16_t* sums, int many,
                              uint32_t count, RoundedMean& mean) {
  for (int c = 0; c < row.channels; ++c) {
    const uint32_t sum = sum_every<kStep>(sums + row.offset[c], many);
    row.to[i * kStep + row.offset[c]] = static_cast<std::byte>(mean(sum, count));
  }
}

// Scales a row if all steps have the same width. Sums columns, or pairs of columns, over the rows
// of the step; then sums the groups that belong to one pixel.
template <int kStep>
void shrink_evenly(const ByteRow& row) {
  const int wide = row.large_width / row.width;
  const bool has_pairs = kStep <= 2 && wide % 2 == 0 && 2 * row.rows <= kMaxAdded;
  const auto add = !has_pairs   ? sum_columns
                   : kStep == 1 ? sum_pairs_of_1_byte
                                : sum_pairs_of_2_bytes;
  const int sums_of_step = has_pairs ? wide / 2 : wide, length = sums_of_step * kStep;
  const int pixels_per_pass = kColumns / length;
  const auto count = static_cast<uint32_t>(wide * row.rows);
  uint16_t sums[kColumns];
  RoundedMean mean;
  for (int begin = 0; begin < row.width; begin += pixels_per_pass) {
    const int end = std::min(begin + pixels_per_pass, row.width);
    add(row.from + begin * wide * kStep, row.pitch, row.rows, (end - begin) * length, sums);
    const uint16_t* sums_of_pixel = sums;
    for (int i = begin; i < end; ++i, sums_of_pixel += length) {
      put_means<kStep>(row, i, sums_of_pixel, sums_of_step, count, mean);
    }
  }
}

// Scales a row of steps of different widths.
template <int kStep>
void shrink_bytes(const ByteRow& row) {
  if (row.large_width % row.width == 0) return shrink_evenly<kStep>(row);
  const int width = row.width, many = row.large_width;
  uint16_t sums[kColumns];
  RoundedMean mean;
  StepIterator x(width, many), added(width, many);
  for (int i = 0, end = 0; i < width;) {
    const int begin = x.at();
    for (StepIterator next = added; end < width; ++end, added = next) {
      next.next();
      if ((next.at() - begin) * kStep > kColumns) break;
    }
    sum_columns(row.from + begin * kStep, row.pitch, row.rows, (added.at() - begin) * kStep, sums);
    for (; i < end; ++i) {
      const uint16_t* sums_of_pixel = sums + (x.at() - begin) * kStep;
      const int first = x.at();
      x.next();
      const int wide = x.at() - first;
      put_means<kStep>(row, i, sums_of_pixel, wide, static_cast<uint32_t>(wide * row.rows), mean);
    }
  }
}

// Whether shrink_bytes() can represent all sums of component c: 8-bit samples and small steps.
bool fits_shrink_bytes(const ConstFrame& from, const Frame& to, int c) {
  const Component& k = to.layout.component[c];
  const auto longest = [](int few, int many) { return (many + few - 1) / few; };
  const int wide = longest(samples(to.width, k.x_shift), samples(from.width, k.x_shift));
  const int high = longest(samples(to.height, k.y_shift), samples(from.height, k.y_shift));
  return to.layout.sample_bytes == 1 && wide * k.step <= kColumns && high <= kMaxAdded &&
         static_cast<uint32_t>(wide * high) <= RoundedMean::kMaxCount;
}

// Scales row j of component `first` of the small frame and of all components interleaved with it.
void shrink_bytes(const ConstFrame& from, const Frame& to, int first, int j) {
  const ByteRow row(from, to, first, j);
  switch (to.layout.component[first].step) {
    case 1:
      return shrink_bytes<1>(row);
    case 2:
      return shrink_bytes<2>(row);
    case 3:
      return shrink_bytes<3>(row);
    default:
      return shrink_bytes<4>(row);
  }
}

template <int bytes>
void shrink_row(const ConstFrame& from, const Frame& to, int c, int j, int width) {
  const Component& k = to.layout.component[c];
  const int many = samples(from.width, k.x_shift);
  const PixelInterval y =
      pixels_of_cell(j, samples(to.height, k.y_shift), samples(from.height, k.y_shift));
  std::byte* sample = to.at(c, 0, j << k.y_shift);
  PixelInterval x = {0, 0};
  for (int i = 0; i < width; ++i, sample += k.step) {
    x = {x.end, first_of(i + 1, width, many)};
    // No step is empty: the small frame has at most as many samples as the large one.
    if (x.end <= x.first || y.end <= y.first) __builtin_unreachable();
    put_value<bytes>(sample, to.layout, mean_of<bytes>(from, c, x, y));
  }
}

template <int bytes>
void carry_row(const ConstFrame& before, const ConstFrame& after, const Frame& to, bool is_tint,
               int c, int j, int width) {
  const Layout& layout = to.layout;
  const Component& k = layout.component[c];
  const int few = samples(before.width, k.x_shift);
  const int y = cell_of(j, samples(before.height, k.y_shift), samples(to.height, k.y_shift))
                << k.y_shift;
  const std::byte *old_row = before.at(c, 0, y), *fresh_row = after.at(c, 0, y);
  std::byte* row = to.at(c, 0, j << k.y_shift);
  for (int i = 0; i < few; ++i) {
    const int old = value_in<bytes>(old_row + i * k.step, layout);
    const int fresh = value_in<bytes>(fresh_row + i * k.step, layout);
    if (old == fresh) continue;
    const PixelInterval x = pixels_of_cell(i, few, width);
    for (int u = x.first; u < x.end; ++u) {
      std::byte* sample = row + u * k.step;
      put_value<bytes>(
          sample, layout,
          changed_sample(value_in<bytes>(sample, layout), old, fresh, is_tint, layout));
    }
  }
}

// Fills row y of `to` from row v of `from`. The source column u is advanced by quotient and
// remainder: a division per pixel would take longer than copying the pixel.
template <int bytes>
void pick_row(const ConstFrame& from, int v, const Frame& to, int y, const AxisMapping& picking) {
  int x = 0;
  for (; x < to.width && picking.at(x, from.width) < 0; ++x)
    pick_pixel<bytes>(from, -1, v, to, x, y);
  int64_t u = (x * picking.factor + picking.offset) / picking.divisor;
  int64_t rest = (x * picking.factor + picking.offset) % picking.divisor;
  const int64_t quotient = picking.factor / picking.divisor,
                remainder = picking.factor % picking.divisor;
  for (; x < to.width && u < from.width; ++x) {
    pick_pixel<bytes>(from, static_cast<int>(u), v, to, x, y);
    u += quotient;
    rest += remainder;
    if (rest >= picking.divisor) {
      rest -= picking.divisor;
      ++u;
    }
  }
  for (; x < to.width; ++x) pick_pixel<bytes>(from, -1, v, to, x, y);
}

template <int bytes>
void pick_pixels(const ConstFrame& from, const Frame& to, const PixelMapping& picking,
                 const Workers& workers) {
  const size_t row_length = static_cast<size_t>(to.width) * bytes;
  workers.parallel_for((to.height + kShare - 1) / kShare, [&](int share) {
    int last = -2;  // row of `from` that was copied to the previous row; -1: none
    for (int y = share * kShare; y < std::min(to.height, (share + 1) * kShare); ++y) {
      const int v = picking.y.at(y, from.height);
      std::byte* row = to.plane[0] + y * to.pitch[0];
      if (v == last) {
        std::memcpy(row, row - to.pitch[0], row_length);
      } else if (v < 0) {
        std::memset(row, 0, row_length);
      } else {
        pick_row<bytes>(from, v, to, y, picking.x);
      }
      last = v;
    }
  });
}

}  // namespace

void shrink(const ConstFrame& from, const Frame& to, const Workers& workers) {
  const auto general_row = to.layout.sample_bytes == 1 ? shrink_row<1> : shrink_row<2>;
  for_rows(to, workers, [&](int c, int j, int width) {
    const Component* all = to.layout.component;
    if (!fits_shrink_bytes(from, to, c)) return general_row(from, to, c, j, width);
    const bool is_first =
        std::none_of(all, all + c, [&](const Component& k) { return are_interleaved(k, all[c]); });
    if (is_first) shrink_bytes(from, to, c, j);
  });
}

void transfer_changes(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                      bool is_tint, const Workers& workers) {
  const auto row = to.layout.sample_bytes == 1 ? carry_row<1> : carry_row<2>;
  for_rows(to, workers,
           [&](int c, int j, int width) { row(before, after, to, is_tint, c, j, width); });
}

void pick(const ConstFrame& from, const Frame& to, const PixelMapping& picking,
          const Workers& workers) {
  with_pixel_bytes(to.layout, [&]<int bytes>() { pick_pixels<bytes>(from, to, picking, workers); });
}

}  // namespace regions
