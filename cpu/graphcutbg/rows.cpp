// Rows of pixels in vectors, and the rest of a row pixel by pixel.
#include "cpu/graphcutbg/rows.hpp"

#include <algorithm>

#include "cpu/graphcutbg/lanes.hpp"

namespace regions::graphcut {
namespace {

// Calls run(first, last) for each run of pixels of row y that are not excluded, rest(first, last)
// for what lies between them.
template <std::invocable<int, int> Run, std::invocable<int, int> Rest>
REGIONS_INLINE void split_row(const Canvas& canvas, int y, Run run, Rest rest) {
  const uint8_t* excluded = canvas.excluded ? canvas.excluded + canvas.at(0, y) : nullptr;
  for (int x = 0; x < canvas.width;) {
    int end = canvas.width;
    if (excluded)
      end = static_cast<int>(
          std::find_if(excluded + x, excluded + canvas.width, [](uint8_t e) { return e != 0; }) -
          excluded);
    if (end > x) run(x, end);
    x = end;
    if (excluded)
      end = static_cast<int>(std::find(excluded + x, excluded + canvas.width, 0) - excluded);
    if (end > x) rest(x, end);
    x = end;
  }
}

// Calls body.operator()<Int>(x, lanes) along first..last-1.
template <int kLanes, class Body>
REGIONS_INLINE void along(int first, int last, Body body) {
  int x = first;
  for (; x + kLanes <= last; x += kLanes) body.template operator()<Lanes<kLanes>>(x, kLanes);
  for (; x < last; ++x) body.template operator()<int32_t>(x, 1);
}

REGIONS_INLINE void put(int32_t* to, int32_t value) { *to = value; }
template <int kLanes>
REGIONS_INLINE void put(int32_t* to, Lanes<kLanes> value) {
  write_words(reinterpret_cast<uint32_t*>(to), value);
}

// The links of row y: first the steps of all of a pixel's links, then the capacities that the
// plan's table has for the steps.
template <int kLanes>
REGIONS_INLINE void link_by(const Canvas& canvas, const FramePlan& frame, const EnergyPlan& plan,
                            int y) {
  const size_t row = canvas.at(0, y);
  const auto width = static_cast<size_t>(canvas.width);
  const bool has_below = y + 1 < canvas.height;
  int32_t* right = canvas.right + row;
  int32_t* down = canvas.down + row;
  const auto map = [&](int32_t * links, size_t first, size_t last, bool diagonal)
      __attribute__((always_inline)) {
    std::fill(links, links + first, 0);
    std::fill(links + last, links + width, 0);
    for (size_t x = first; x < last; ++x) {
      links[x] = plan.link_for(links[x], diagonal);
    }
  };
  along<kLanes>(
      0, canvas.width - 1, [&]<class Int>(int x, int) __attribute__((always_inline)) {
        const size_t i = row + static_cast<size_t>(x);
        const auto here = Spot<Int>::at(canvas, frame, i);
        put(right + x, link_step(here, Spot<Int>::at(canvas, frame, i + 1), frame, plan));
        if (!has_below) return;
        put(down + x, link_step(here, Spot<Int>::at(canvas, frame, i + width), frame, plan));
      });
  if (has_below) {
    const size_t last = row + width - 1;
    down[width - 1] = link_step(Spot<int32_t>::at(canvas, frame, last),
                                Spot<int32_t>::at(canvas, frame, last + width), frame, plan);
  }
  map(right, 0, width - 1, false);
  map(down, 0, has_below ? width : 0, false);
  if (!canvas.down_right) return;

  int32_t* down_right = canvas.down_right + row;
  int32_t* down_left = canvas.down_left + row;
  along<kLanes>(
      0,
      has_below ? canvas.width - 1 : 0, [&]<class Int>(int x, int) __attribute__((always_inline)) {
        const size_t i = row + static_cast<size_t>(x);
        const auto here = Spot<Int>::at(canvas, frame, i);
        const auto beside = Spot<Int>::at(canvas, frame, i + 1);
        const auto below = Spot<Int>::at(canvas, frame, i + width);
        const auto across = Spot<Int>::at(canvas, frame, i + width + 1);
        put(down_right + x, link_step(here, across, frame, plan));
        put(down_left + x + 1, link_step(beside, below, frame, plan));
      });
  map(down_right, 0, has_below ? width - 1 : 0, true);
  map(down_left, has_below ? 1 : width, width, true);
}

template <int kLanes>
REGIONS_INLINE void weigh_by(const Canvas& canvas, const ConstFrame& mask, const FramePlan& frame,
                             const EnergyPlan& plan, int y) {
  const size_t row = canvas.at(0, y);
  int32_t* terminal = canvas.terminal + row;
  const bool has_mask = plan.uses_mask && !mask.empty();
  split_row(
      canvas, y,
      [&](int first, int last) __attribute__((always_inline)) {
        if (has_mask) {
          for (int x = first; x < last; ++x) {
            terminal[x] = terminal_at(canvas, mask, frame, plan, x, y);
          }
          return;
        }
        along<kLanes>(
            first, last, [&]<class Int>(int x, int lanes) __attribute__((always_inline)) {
              const Int own =
                  model_evidence<Int>(canvas, frame.model, row + static_cast<size_t>(x));
              put(terminal + x, own);
              if (!plan.uses_colors && !any(own > -kShadowMost)) return;
              for (int i = x; i < x + lanes; ++i) {
                if (!plan.uses_colors && !is_in_doubt(terminal[i])) continue;
                terminal[i] = judged(terminal[i], canvas, frame, plan, i, y);
              }
            });
      },
      [&](int first, int last) { std::fill(terminal + first, terminal + last, -kSure); });

  link_by<kLanes>(canvas, frame, plan, y);
}

template <int kLanes>
REGIONS_INLINE void teach_by(const Canvas& canvas, const FramePlan& frame,
                             const uint8_t* foreground, int y) {
  if (!frame.model.learns) return;
  const auto teach_run = [&](int first, int last) __attribute__((always_inline)) {
    along<kLanes>(
        first, last, [&]<class Int>(int x, int) __attribute__((always_inline)) {
          Truth<Int> is_foreground;
          if constexpr (std::is_same_v<Int, int32_t>) {
            is_foreground = foreground[x] != 0;
          } else {
            is_foreground = Int::nonzero(foreground + x);
          }
          teach_model<Int>(canvas, frame.model, is_foreground, canvas.at(x, y));
        });
  };
  if (frame.model.starts) {
    teach_run(0, canvas.width);
  } else {
    split_row(canvas, y, teach_run, [](int, int) {});
  }
}

void weigh_4(const Canvas& canvas, const ConstFrame& mask, const FramePlan& frame,
             const EnergyPlan& plan, int y) {
  weigh_by<4>(canvas, mask, frame, plan, y);
}
void teach_4(const Canvas& canvas, const FramePlan& frame, const uint8_t* foreground, int y) {
  teach_by<4>(canvas, frame, foreground, y);
}

// (Sixteen at a time were slower: g++ 12 moves each comparison from mask to vector and back.)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target("arch=x86-64-v3"))) void weigh_8(const Canvas& canvas, const ConstFrame& mask,
                                                       const FramePlan& frame,
                                                       const EnergyPlan& plan, int y) {
  weigh_by<8>(canvas, mask, frame, plan, y);
}
__attribute__((target("arch=x86-64-v3"))) void teach_8(const Canvas& canvas, const FramePlan& frame,
                                                       const uint8_t* foreground, int y) {
  teach_by<8>(canvas, frame, foreground, y);
}
constexpr RowPasses kPasses[] = {{4, weigh_4, teach_4}, {8, weigh_8, teach_8}};
size_t usable() { return __builtin_cpu_supports("x86-64-v3") ? 2 : 1; }
#else
constexpr RowPasses kPasses[] = {{4, weigh_4, teach_4}};
size_t usable() { return 1; }
#endif

}  // namespace

std::span<const RowPasses> row_passes() { return {kPasses, usable()}; }

}  // namespace regions::graphcut
