// Whole pictures of core/resampling.hpp, in host memory.
#include "cpu/resampling.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/bits.hpp"

namespace regions {
namespace {

constexpr int kShare = 16;  // rows a thread takes at a time

// Calls row(component, j, samples of the row) for every row of every component of the picture.
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

template <int bytes>
void shrink_row(const ConstFrame& from, const Frame& to, int c, int j, int width) {
  const Component& k = to.layout.component[c];
  const int many = samples(from.width, k.x_shift);
  const Steps y = steps_of(j, samples(to.height, k.y_shift), samples(from.height, k.y_shift));
  std::byte* sample = to.at(c, 0, j << k.y_shift);
  Steps x = {0, 0};
  for (int i = 0; i < width; ++i, sample += k.step) {
    x = {x.end, first_of(i + 1, width, many)};
    // No step is empty: there are at least as many places.
    if (x.end <= x.first || y.end <= y.first) __builtin_unreachable();
    put_value<bytes>(sample, to.layout, mean_of<bytes>(from, c, x, y));
  }
}

constexpr int kMostAdded = 65535 / 255;  // bytes whose sum fits 16 bits
constexpr int kColumns = 4096;           // bytes of a row that are added up together

REGIONS_CLONES
void add_rows(const uint8_t* row, ptrdiff_t pitch, int rows, int count, uint16_t* sums) {
  for (int x = 0; x < count; ++x) sums[x] = row[x];
  for (int y = 1; y < rows; ++y) {
    row += pitch;
    for (int x = 0; x < count; ++x) sums[x] = static_cast<uint16_t>(sums[x] + row[x]);
  }
}

// Components that lie side by side: of one plane, as far apart from pixel to pixel.
bool are_together(const Component& a, const Component& b) {
  return a.plane == b.plane && a.step == b.step;
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
  static constexpr uint32_t kMost = 1 << 15;  // count, of bytes: 256 * count^2 < 2^40

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

// Row j of component `first` and of those together with it, of bytes: sums of columns, then of
// those that each step holds.
template <int kStep>
void shrink_bytes(const ConstFrame& from, const Frame& to, int first, int j) {
  const Layout& layout = to.layout;
  const Component& k = layout.component[first];
  int offset[4], together = 0;
  for (int c = first; c < components(layout); ++c) {
    if (are_together(layout.component[c], k)) offset[together++] = layout.component[c].offset;
  }
  const int width = samples(to.width, k.x_shift), many = samples(from.width, k.x_shift);
  const Steps y = steps_of(j, samples(to.height, k.y_shift), samples(from.height, k.y_shift));
  const auto* row =
      reinterpret_cast<const uint8_t*>(from.plane[k.plane]) + y.first * from.pitch[k.plane];
  std::byte* out = to.plane[k.plane] + j * to.pitch[k.plane];
  uint16_t sums[kColumns];
  MeanOf mean;
  StepWalk x(width, many), added(width, many);
  for (int i = 0, end = 0; i < width;) {
    const int begin = x.at();
    for (StepWalk further = added; end < width; ++end, added = further) {
      further.next();
      if ((further.at() - begin) * kStep > kColumns) break;
    }
    add_rows(row + begin * kStep, from.pitch[k.plane], y.end - y.first,
             (added.at() - begin) * kStep, sums);
    for (; i < end; ++i) {
      const uint16_t* own = sums + (x.at() - begin) * kStep;
      const int before = x.at();
      x.next();
      const int wide = x.at() - before;
      const auto count = static_cast<uint32_t>(wide * (y.end - y.first));
      for (int c = 0; c < together; ++c) {
        out[i * kStep + offset[c]] =
            static_cast<std::byte>(mean(sum_of<kStep>(own + offset[c], wide), count));
      }
    }
  }
}

void shrink_bytes(const ConstFrame& from, const Frame& to, int first, int j) {
  switch (to.layout.component[first].step) {
    case 1:
      return shrink_bytes<1>(from, to, first, j);
    case 2:
      return shrink_bytes<2>(from, to, first, j);
    case 3:
      return shrink_bytes<3>(from, to, first, j);
    default:
      return shrink_bytes<4>(from, to, first, j);
  }
}

// Whether shrink_bytes() holds the sums of component c's steps.
bool adds_up(const ConstFrame& from, const Frame& to, int c) {
  const Component& k = to.layout.component[c];
  const auto longest = [](int few, int many) { return (many + few - 1) / few; };
  const int wide = longest(samples(to.width, k.x_shift), samples(from.width, k.x_shift));
  const int high = longest(samples(to.height, k.y_shift), samples(from.height, k.y_shift));
  return to.layout.sample_bytes == 1 && wide * k.step <= kColumns && high <= kMostAdded &&
         static_cast<uint32_t>(wide * high) <= MeanOf::kMost;
}

template <int bytes>
void carry_row(const ConstFrame& before, const ConstFrame& after, const Frame& to, bool is_tint,
               int c, int j, int width) {
  const Layout& layout = to.layout;
  const Component& k = layout.component[c];
  const int few = samples(before.width, k.x_shift);
  const int y = step_of(j, samples(before.height, k.y_shift), samples(to.height, k.y_shift))
                << k.y_shift;
  const std::byte *old_row = before.at(c, 0, y), *fresh_row = after.at(c, 0, y);
  std::byte* row = to.at(c, 0, j << k.y_shift);
  for (int i = 0; i < few; ++i) {
    const int old = value_in<bytes>(old_row + i * k.step, layout);
    const int fresh = value_in<bytes>(fresh_row + i * k.step, layout);
    if (old == fresh) continue;
    const Steps x = steps_of(i, few, width);
    for (int u = x.first; u < x.end; ++u) {
      std::byte* sample = row + u * k.step;
      put_value<bytes>(sample, layout,
                       carried(value_in<bytes>(sample, layout), old, fresh, is_tint, layout));
    }
  }
}

// Row y of `to` from row v of `from`. Places move on by whole and broken steps: dividing at each
// pixel would take longer than copying it.
template <int bytes>
void pick_row(const ConstFrame& from, int v, const Frame& to, int y, const Picking& picking) {
  int x = 0;
  for (; x < to.width && picking.at(x, from.width) < 0; ++x)
    pick_pixel<bytes>(from, -1, v, to, x, y);
  int64_t u = (x * picking.times + picking.plus) / picking.by;
  int64_t rest = (x * picking.times + picking.plus) % picking.by;
  const int64_t whole = picking.times / picking.by, broken = picking.times % picking.by;
  for (; x < to.width && u < from.width; ++x) {
    pick_pixel<bytes>(from, static_cast<int>(u), v, to, x, y);
    u += whole;
    rest += broken;
    if (rest >= picking.by) {
      rest -= picking.by;
      ++u;
    }
  }
  for (; x < to.width; ++x) pick_pixel<bytes>(from, -1, v, to, x, y);
}

template <int bytes>
void pick_pixels(const ConstFrame& from, const Frame& to, const PixelPicking& picking,
                 const Workers& workers) {
  const size_t row_length = static_cast<size_t>(to.width) * bytes;
  workers.parallel_for((to.height + kShare - 1) / kShare, [&](int share) {
    int last = -2;  // row of `from` that the row above was made of
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
  const auto plain_row = to.layout.sample_bytes == 1 ? shrink_row<1> : shrink_row<2>;
  for_rows(to, workers, [&](int c, int j, int width) {
    const Component* all = to.layout.component;
    if (!adds_up(from, to, c)) return plain_row(from, to, c, j, width);
    const bool is_first =
        std::none_of(all, all + c, [&](const Component& k) { return are_together(k, all[c]); });
    if (is_first) shrink_bytes(from, to, c, j);
  });
}

void carry_over(const ConstFrame& before, const ConstFrame& after, const Frame& to, bool is_tint,
                const Workers& workers) {
  const auto row = to.layout.sample_bytes == 1 ? carry_row<1> : carry_row<2>;
  for_rows(to, workers,
           [&](int c, int j, int width) { row(before, after, to, is_tint, c, j, width); });
}

void pick(const ConstFrame& from, const Frame& to, const PixelPicking& picking,
          const Workers& workers) {
  with_pixel_bytes(to.layout, [&]<int bytes>() { pick_pixels<bytes>(from, to, picking, workers); });
}

}  // namespace regions
