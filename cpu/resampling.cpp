// Whole pictures of core/resampling.hpp, in host memory.
#include "cpu/resampling.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/shrink_bytes.hpp"

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
    if (!fits_shrink_bytes(from, to, c)) return plain_row(from, to, c, j, width);
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
