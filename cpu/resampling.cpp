// Whole pictures of core/resampling.hpp, in host memory.
#include "cpu/resampling.hpp"

#include <algorithm>
#include <cstring>

namespace regions {
namespace {

constexpr int kShare = 16;  // rows a thread takes at a time

// Calls row(component, j, samples of the row) for every row of every component of the picture.
template <class Row>
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
void shrink_words(const ConstFrame& from, const Frame& to, const Workers& workers) {
  for_rows(to, workers, [&](int c, int j, int width) {
    for (int i = 0; i < width; ++i) shrink_sample<bytes>(from, to, c, i, j);
  });
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
  if (from.layout.sample_bytes == 1) {
    shrink_words<1>(from, to, workers);
  } else {
    shrink_words<2>(from, to, workers);
  }
}

void carry_over(const ConstFrame& before, const ConstFrame& after, const Frame& to, bool is_tint,
                const Workers& workers) {
  for_rows(to, workers, [&](int c, int j, int width) {
    for (int i = 0; i < width; ++i) carry_over(before, after, to, is_tint, c, i, j);
  });
}

void pick(const ConstFrame& from, const Frame& to, const PixelPicking& picking,
          const Workers& workers) {
  with_pixel_bytes(to.layout, [&]<int bytes>() { pick_pixels<bytes>(from, to, picking, workers); });
}

}  // namespace regions
