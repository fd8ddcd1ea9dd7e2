// Means of bytes: sums of rows' columns, then of the columns of each step.
#include "cpu/shrink_bytes.hpp"

#include <algorithm>

#include "cpu/bits.hpp"

namespace regions {
namespace {

constexpr int kMaxAdded = 65535 / 255;  // bytes whose sum fits 16 bits
constexpr int kColumns = 4096;          // bytes of a row that are added up together

// `count` sums over the rows, kStep side by side: of what sample(row, x, c) gives.
template <int kStep, class Sample>
REGIONS_INLINE void add_up(const uint8_t* row, ptrdiff_t pitch, int rows, int count, uint16_t* sums,
                           Sample sample) {
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
// Of columns of bytes, and of pairs of pixels of one and of two bytes.
REGIONS_CLONES
void add_rows(const uint8_t* row, ptrdiff_t pitch, int rows, int count, uint16_t* sums) {
  add_up<1>(row, pitch, rows, count, sums, [](const uint8_t* at, int x, int) { return +at[x]; });
}
REGIONS_CLONES
void add_pairs_of_one(const uint8_t* row, ptrdiff_t pitch, int rows, int count, uint16_t* sums) {
  add_up<1>(row, pitch, rows, count, sums,
            [](const uint8_t* at, int x, int) { return at[2 * x] + at[2 * x + 1]; });
}
REGIONS_CLONES
void add_pairs_of_two(const uint8_t* row, ptrdiff_t pitch, int rows, int count, uint16_t* sums) {
  add_up<2>(row, pitch, rows, count, sums,
            [](const uint8_t* at, int x, int c) { return at[4 * x + c] + at[4 * x + 2 + c]; });
}

// The places that steps begin at, one after another, without a division each.
class StepWalk {
 public:
  StepWalk(int few, int many) : few_(few), whole_(many / few), broken_(many % few) {}
  int at() const { return at_; }
  void next() {
    at_ += whole_;
    rest_ += broken_;
    if (rest_ < few_) return;
    rest_ -= few_;
    ++at_;
  }

 private:
  int few_, whole_, broken_;
  int at_ = 0, rest_ = 0;
};

// Division by one count after another, most of which are alike.
class MeanOf {
 public:
  uint32_t operator()(uint32_t sum, uint32_t count) {
    if (count != count_) {
      count_ = count;
      inverse_ = (uint64_t{1} << kShift) / count + 1;
    }
    // Exact where sum * count < 2^40.
    return static_cast<uint32_t>((sum + count / 2) * inverse_ >> kShift);
  }
  static constexpr uint32_t kMax = 1 << 15;  // count, of bytes: 256 * count^2 < 2^40

 private:
  static constexpr int kShift = 40;
  uint32_t count_ = 0;
  uint64_t inverse_ = 0;
};

template <int kStep>
REGIONS_INLINE uint32_t sum_of(const uint16_t* sums, int count) {
  uint32_t even = 0, odd = 0;
  int u = 0;
  for (; u + 2 <= count; u += 2) {
    even += sums[u * kStep];
    odd += sums[(u + 1) * kStep];
    asm("" : "+r"(even), "+r"(odd));  // ten at a time are not worth vectors
  }
  return u < count ? even + odd + sums[u * kStep] : even + odd;
}

// Row j of a component and of those together with it, of bytes.
struct ByteRow {
  int width, many;  // pixels of the small picture's row and of the large one's
  int rows;         // of the large one
  const uint8_t* from;
  ptrdiff_t pitch;
  std::byte* to;
  int offset[4], together = 0;  // of components in a pixel

  ByteRow(const ConstFrame& large, const Frame& small, int first, int j) {
    const Layout& layout = small.layout;
    const Component& k = layout.component[first];
    for (int c = first; c < components(layout); ++c) {
      if (are_together(layout.component[c], k)) offset[together++] = layout.component[c].offset;
    }
    width = samples(small.width, k.x_shift);
    many = samples(large.width, k.x_shift);
    const Steps y = steps_of(j, samples(small.height, k.y_shift), samples(large.height, k.y_shift));
    rows = y.end - y.first;
    pitch = large.pitch[k.plane];
    from = reinterpret_cast<const uint8_t*>(large.plane[k.plane]) + y.first * pitch;
    to = small.plane[k.plane] + j * small.pitch[k.plane];
  }
};

// The small picture's pixel i, each of whose components is the mean of so many sums, of `count`
// bytes together.
template <int kStep>
REGIONS_INLINE void put_means(const ByteRow& row, int i, const uint16_t* sums, int many,
                              uint32_t count, MeanOf& mean) {
  for (int c = 0; c < row.together; ++c) {
    const uint32_t sum = sum_of<kStep>(sums + row.offset[c], many);
    row.to[i * kStep + row.offset[c]] = static_cast<std::byte>(mean(sum, count));
  }
}

// Sums of columns, or of pairs of them, then of those that each step holds: of steps that hold as
// many.
template <int kStep>
void shrink_evenly(const ByteRow& row) {
  const int wide = row.many / row.width;
  const bool has_pairs = kStep <= 2 && wide % 2 == 0 && 2 * row.rows <= kMaxAdded;
  const auto add = !has_pairs ? add_rows : kStep == 1 ? add_pairs_of_one : add_pairs_of_two;
  const int sums_of_step = has_pairs ? wide / 2 : wide, length = sums_of_step * kStep;
  const int at_once = kColumns / length;
  const auto count = static_cast<uint32_t>(wide * row.rows);
  uint16_t sums[kColumns];
  MeanOf mean;
  for (int begin = 0; begin < row.width; begin += at_once) {
    const int end = std::min(begin + at_once, row.width);
    add(row.from + begin * wide * kStep, row.pitch, row.rows, (end - begin) * length, sums);
    const uint16_t* own = sums;
    for (int i = begin; i < end; ++i, own += length) {
      put_means<kStep>(row, i, own, sums_of_step, count, mean);
    }
  }
}

// Sums of columns, then of those that each step holds.
template <int kStep>
void shrink_bytes(const ByteRow& row) {
  if (row.many % row.width == 0) return shrink_evenly<kStep>(row);
  const int width = row.width, many = row.many;
  uint16_t sums[kColumns];
  MeanOf mean;
  StepWalk x(width, many), added(width, many);
  for (int i = 0, end = 0; i < width;) {
    const int begin = x.at();
    for (StepWalk further = added; end < width; ++end, added = further) {
      further.next();
      if ((further.at() - begin) * kStep > kColumns) break;
    }
    add_rows(row.from + begin * kStep, row.pitch, row.rows, (added.at() - begin) * kStep, sums);
    for (; i < end; ++i) {
      const uint16_t* own = sums + (x.at() - begin) * kStep;
      const int before = x.at();
      x.next();
      const int wide = x.at() - before;
      put_means<kStep>(row, i, own, wide, static_cast<uint32_t>(wide * row.rows), mean);
    }
  }
}

}  // namespace

bool are_together(const Component& a, const Component& b) {
  return a.plane == b.plane && a.step == b.step;
}

bool fits_shrink_bytes(const ConstFrame& from, const Frame& to, int c) {
  const Component& k = to.layout.component[c];
  const auto longest = [](int few, int many) { return (many + few - 1) / few; };
  const int wide = longest(samples(to.width, k.x_shift), samples(from.width, k.x_shift));
  const int high = longest(samples(to.height, k.y_shift), samples(from.height, k.y_shift));
  return to.layout.sample_bytes == 1 && wide * k.step <= kColumns && high <= kMaxAdded &&
         static_cast<uint32_t>(wide * high) <= MeanOf::kMax;
}

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

}  // namespace regions
