// Scales whole frames in host memory. A "step" is the group of samples of the large frame that
// one sample of the small frame covers. Scaling down computes the mean of each step. Most frames
// with 8-bit samples use a fast method: it sums each column over the rows of a step, then adds
// groups of column sums.
#include "cpu/resampling.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/simd.hpp"

namespace regions {
namespace {

constexpr int kRowsPerChunk = 16;  // maximum number of rows that a thread processes at a time

// Calls row(c, j, width) for each row j of each component c of the frame. `width` is the number of
// samples in the row.
template <std::invocable<int, int, int> Row>
void for_each_row(const Frame& frame, const Workers& workers, Row row) {
  for (int c = 0; c < components(frame.layout); ++c) {
    const Component& component = frame.layout.component[c];
    const int width = samples(frame.width, component.x_shift),
              height = samples(frame.height, component.y_shift);
    workers.parallel_for((height + kRowsPerChunk - 1) / kRowsPerChunk, [&](int chunk) {
      for (int j = chunk * kRowsPerChunk; j < std::min(height, (chunk + 1) * kRowsPerChunk); ++j)
        row(c, j, width);
    });
  }
}

constexpr int kMaxSummedBytes = 65535 / 255;  // maximum number of bytes whose sum fits into 16 bits
constexpr int kMaxColumnSums = 4096;          // maximum number of column sums computed at a time

// Computes `count` sums, each over `rows` rows. sums[kStep * x + c] is the sum of sample(row, x, c)
// over the rows.
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
// These functions compute sums over the rows with sum_rows(): sum_columns() of single bytes,
// sum_pairs_of_1_byte() of pairs of 1-byte pixels, sum_pairs_of_2_bytes() of pairs of 2-byte
// pixels.
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

// Iterates over the `few` steps that cover `many` samples. at() returns the index of the first
// sample of the current step i, which is first_of(i, few, many). next() needs no division.
class StepIterator {
 public:
  StepIterator(int few, int many) : few_(few), quotient_(many / few), remainder_(many % few) {}
  int at() const { return at_; }
  void next() {
    at_ += quotient_;
    fraction_ += remainder_;
    if (fraction_ < few_) return;
    fraction_ -= few_;
    ++at_;
  }

 private:
  int few_, quotient_, remainder_;
  int at_ = 0;
  int fraction_ = 0;  // the step begins at sample at_ + fraction_ / few_ before rounding down
};

// Computes rounded means by a multiplication with the inverse of the count. Keeps the inverse for
// the next call, because most consecutive counts are equal.
class RoundedMean {
 public:
  uint32_t operator()(uint32_t sum, uint32_t count) {
    if (count != count_) {
      count_ = count;
      inverse_ = (uint64_t{1} << kShift) / count + 1;
    }
    // The result is exact if sum * count < 2^40.
    return static_cast<uint32_t>((sum + count / 2) * inverse_ >> kShift);
  }
  // Maximum count for sums of bytes: then sum * count < 256 * count^2 <= 2^38.
  static constexpr uint32_t kMaxCount = 1 << 15;

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

// Returns whether two components are interleaved: in one plane, with the same distance between
// samples.
bool are_interleaved(const Component& a, const Component& b) {
  return a.plane == b.plane && a.step == b.step;
}

// Row j of the small frame, and the rows of the large frame that row j covers. Only for interleaved
// 8-bit components.
struct ByteRow {
  int width, large_width;  // number of samples in a row of the small and of the large frame
  int rows;                // number of rows of the large frame that are averaged
  const uint8_t* from;
  ptrdiff_t pitch;
  std::byte* to;
  int offset[4], channels = 0;  // offset of each component in a pixel, bytes

  ByteRow(const ConstFrame& large, const Frame& small, int first, int j) {
    const Layout& layout = small.layout;
    const Component& component = layout.component[first];
    for (int c = first; c < components(layout); ++c) {
      if (are_interleaved(layout.component[c], component))
        offset[channels++] = layout.component[c].offset;
    }
    width = samples(small.width, component.x_shift);
    large_width = samples(large.width, component.x_shift);
    const PixelInterval y = pixels_of_cell(j, samples(small.height, component.y_shift),
                                           samples(large.height, component.y_shift));
    rows = y.end - y.first;
    pitch = large.pitch[component.plane];
    from = reinterpret_cast<const uint8_t*>(large.plane[component.plane]) + y.first * pitch;
    to = small.plane[component.plane] + j * small.pitch[component.plane];
  }
};

// Writes pixel i of the small frame. Each component is the mean of `sum_count` sums, which
// contain `byte_count` bytes in total.
template <int kStep>
REGIONS_INLINE void write_means(const ByteRow& row, int i, const uint16_t* sums, int sum_count,
                                uint32_t byte_count, RoundedMean& mean) {
  for (int c = 0; c < row.channels; ++c) {
    const uint32_t sum = sum_every<kStep>(sums + row.offset[c], sum_count);
    row.to[i * kStep + row.offset[c]] = static_cast<std::byte>(mean(sum, byte_count));
  }
}

// Writes the pixels from `begin` to `end` of the small frame. Each pixel has `sum_count` sums. A
// constant kSumCount is faster; 0 is for any number.
template <int kStep, int kSumCount>
void write_pixels(const ByteRow& row, int begin, int end, const uint16_t* sums, int sum_count,
                  uint32_t byte_count) {
  const int count = kSumCount > 0 ? kSumCount : sum_count;
  for (int c = 0; c < row.channels; ++c) {
    RoundedMean mean;
    const uint16_t* sums_of_pixel = sums + row.offset[c];
    std::byte* to = row.to + row.offset[c];
    for (int i = begin; i < end; ++i, sums_of_pixel += count * kStep)
      to[i * kStep] =
          static_cast<std::byte>(mean(sum_every<kStep>(sums_of_pixel, count), byte_count));
  }
}

// Returns the function write_pixels() for a number of sums per pixel.
template <int kStep, int... kSumCounts>
auto pixel_writer(int sum_count, std::integer_sequence<int, kSumCounts...>) {
  auto* writer = write_pixels<kStep, 0>;
  ((sum_count == kSumCounts ? void(writer = write_pixels<kStep, kSumCounts>) : void()), ...);
  return writer;
}

// Scales a row down if all its steps have the same width. First sums columns, or pairs of columns,
// over the rows of the step. Then adds the sums that belong to one pixel.
template <int kStep>
void shrink_evenly(const ByteRow& row) {
  const int step_width = row.large_width / row.width;
  const bool has_pairs = kStep <= 2 && step_width % 2 == 0 && 2 * row.rows <= kMaxSummedBytes;
  const auto add = !has_pairs   ? sum_columns
                   : kStep == 1 ? sum_pairs_of_1_byte
                                : sum_pairs_of_2_bytes;
  const int sums_per_step = has_pairs ? step_width / 2 : step_width,
            sums_per_pixel = sums_per_step * kStep;
  const int pixels_per_pass = kMaxColumnSums / sums_per_pixel;
  const auto count = static_cast<uint32_t>(step_width * row.rows);
  const auto write = pixel_writer<kStep>(sums_per_step, std::make_integer_sequence<int, 9>());
  uint16_t sums[kMaxColumnSums];
  for (int begin = 0; begin < row.width; begin += pixels_per_pass) {
    const int end = std::min(begin + pixels_per_pass, row.width);
    add(row.from + begin * step_width * kStep, row.pitch, row.rows, (end - begin) * sums_per_pixel,
        sums);
    write(row, begin, end, sums, sums_per_step, count);
  }
}

// Scales a row down whose steps may have different widths.
template <int kStep>
void shrink_bytes(const ByteRow& row) {
  if (row.large_width % row.width == 0) return shrink_evenly<kStep>(row);
  const int width = row.width, large_width = row.large_width;
  uint16_t sums[kMaxColumnSums];
  RoundedMean mean;
  StepIterator x(width, large_width), summed_end(width, large_width);
  for (int i = 0, end = 0; i < width;) {
    const int begin = x.at();
    for (StepIterator next = summed_end; end < width; ++end, summed_end = next) {
      next.next();
      if ((next.at() - begin) * kStep > kMaxColumnSums) break;
    }
    sum_columns(row.from + begin * kStep, row.pitch, row.rows, (summed_end.at() - begin) * kStep,
                sums);
    for (; i < end; ++i) {
      const uint16_t* sums_of_pixel = sums + (x.at() - begin) * kStep;
      const int first = x.at();
      x.next();
      const int step_width = x.at() - first;
      write_means<kStep>(row, i, sums_of_pixel, step_width,
                         static_cast<uint32_t>(step_width * row.rows), mean);
    }
  }
}

// Returns whether shrink_bytes() can represent all sums of component c. It requires 8-bit samples
// and small steps.
bool fits_shrink_bytes(const ConstFrame& from, const Frame& to, int c) {
  const Component& component = to.layout.component[c];
  const auto max_step_length = [](int few, int many) { return (many + few - 1) / few; };
  const int step_width =
      max_step_length(samples(to.width, component.x_shift), samples(from.width, component.x_shift));
  const int step_height = max_step_length(samples(to.height, component.y_shift),
                                          samples(from.height, component.y_shift));
  return to.layout.sample_bytes == 1 && step_width * component.step <= kMaxColumnSums &&
         step_height <= kMaxSummedBytes &&
         static_cast<uint32_t>(step_width * step_height) <= RoundedMean::kMaxCount;
}

// Computes row j of the small frame `to`, for component `first` and all components interleaved with
// it.
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
  const Component& component = to.layout.component[c];
  const int large_width = samples(from.width, component.x_shift);
  const PixelInterval y = pixels_of_cell(j, samples(to.height, component.y_shift),
                                         samples(from.height, component.y_shift));
  std::byte* sample = to.at(c, 0, j << component.y_shift);
  PixelInterval x = {0, 0};
  for (int i = 0; i < width; ++i, sample += component.step) {
    x = {x.end, first_of(i + 1, width, large_width)};
    // No step is empty: the small frame has at most as many samples as the large frame.
    if (x.end <= x.first || y.end <= y.first) __builtin_unreachable();
    put_value<bytes>(sample, to.layout, mean_of<bytes>(from, c, x, y));
  }
}

template <int bytes>
void transfer_row(const ConstFrame& before, const ConstFrame& after, const Frame& to, bool is_tint,
                  int c, int j, int width) {
  const Layout& layout = to.layout;
  const Component& component = layout.component[c];
  const int small_width = samples(before.width, component.x_shift);
  const int y =
      cell_of(j, samples(before.height, component.y_shift), samples(to.height, component.y_shift))
      << component.y_shift;
  const std::byte *old_row = before.at(c, 0, y), *new_row = after.at(c, 0, y);
  std::byte* row = to.at(c, 0, j << component.y_shift);
  for (int i = 0; i < small_width; ++i) {
    const int old_value = value_in<bytes>(old_row + i * component.step, layout);
    const int new_value = value_in<bytes>(new_row + i * component.step, layout);
    if (old_value == new_value) continue;
    const PixelInterval x = pixels_of_cell(i, small_width, width);
    for (int u = x.first; u < x.end; ++u) {
      std::byte* sample = row + u * component.step;
      put_value<bytes>(
          sample, layout,
          changed_sample(value_in<bytes>(sample, layout), old_value, new_value, is_tint, layout));
    }
  }
}

// Fills row y of `to` from row v of `from`. Computes the source column u of the next pixel by
// additions, because a division per pixel would take longer than copying the pixel.
template <int bytes>
void pick_row(const ConstFrame& from, int v, const Frame& to, int y, const AxisMapping& picking) {
  int x = 0;
  for (; x < to.width && picking.at(x, from.width) < 0; ++x)
    pick_pixel<bytes>(from, -1, v, to, x, y);
  int64_t u = (x * picking.factor + picking.offset) / picking.divisor;
  int64_t fraction = (x * picking.factor + picking.offset) % picking.divisor;
  const int64_t quotient = picking.factor / picking.divisor,
                remainder = picking.factor % picking.divisor;
  for (; x < to.width && u < from.width; ++x) {
    pick_pixel<bytes>(from, static_cast<int>(u), v, to, x, y);
    u += quotient;
    fraction += remainder;
    if (fraction >= picking.divisor) {
      fraction -= picking.divisor;
      ++u;
    }
  }
  for (; x < to.width; ++x) pick_pixel<bytes>(from, -1, v, to, x, y);
}

template <int bytes>
void pick_pixels(const ConstFrame& from, const Frame& to, const PixelMapping& picking,
                 const Workers& workers) {
  const size_t row_length = static_cast<size_t>(to.width) * bytes;
  workers.parallel_for((to.height + kRowsPerChunk - 1) / kRowsPerChunk, [&](int chunk) {
    // The row of `from` that was copied to the previous row; -1: that row was set to 0; -2: this is
    // the first row of the chunk.
    int last = -2;
    for (int y = chunk * kRowsPerChunk; y < std::min(to.height, (chunk + 1) * kRowsPerChunk); ++y) {
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
  const auto shrink_general_row = to.layout.sample_bytes == 1 ? shrink_row<1> : shrink_row<2>;
  for_each_row(to, workers, [&](int c, int j, int width) {
    const Component* all = to.layout.component;
    if (!fits_shrink_bytes(from, to, c)) return shrink_general_row(from, to, c, j, width);
    const bool is_first =
        std::none_of(all, all + c, [&](const Component& k) { return are_interleaved(k, all[c]); });
    if (is_first) shrink_bytes(from, to, c, j);
  });
}

void transfer_changes(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                      bool is_tint, const Workers& workers) {
  const auto row = to.layout.sample_bytes == 1 ? transfer_row<1> : transfer_row<2>;
  for_each_row(to, workers,
               [&](int c, int j, int width) { row(before, after, to, is_tint, c, j, width); });
}

void pick(const ConstFrame& from, const Frame& to, const PixelMapping& picking,
          const Workers& workers) {
  with_pixel_bytes(to.layout, [&]<int bytes>() { pick_pixels<bytes>(from, to, picking, workers); });
}

}  // namespace regions
