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

// The links from pixels begin..end - 1 of row y to those `step` further on; to[0] is pixel
// `first`'s. First the steps, then the capacities that the plan's table has for them.
template <int kLanes>
REGIONS_INLINE void link_along(const Canvas& canvas, const FramePlan& frame, const EnergyPlan& plan,
                               size_t row, int begin, int end, size_t step, bool diagonal,
                               int first, int32_t* to) {
  const auto link = [&]<class Int>(int x) __attribute__((always_inline)) {
    const size_t i = row + static_cast<size_t>(x);
    put(to + (x - first), link_step(Spot<Int>::at(canvas, frame, i),
                                    Spot<Int>::at(canvas, frame, i + step), frame, plan));
  };
  int x = begin;
  for (; x + kLanes <= end; x += kLanes) link.template operator()<Lanes<kLanes>>(x);
  if (x < end && end - begin >= kLanes) {
    link.template operator()<Lanes<kLanes>>(end - kLanes);  // some for the second time
  } else {
    for (; x < end; ++x) link.template operator()<int32_t>(x);
  }
  for (x = begin; x < end; ++x) to[x - first] = plan.link_for(to[x - first], diagonal);
}

template <int kLanes>
REGIONS_INLINE void link_by(const Canvas canvas, const FramePlan frame, const EnergyPlan& plan,
                            int y, int first, int last, const LinkRow& to) {
  const size_t row = canvas.at(0, y);
  const auto width = static_cast<size_t>(canvas.width);
  const int inner = std::min(last, canvas.width - 1);  // has a neighbour to the right
  const auto along = [&](int begin, int end, size_t step, bool diagonal, int32_t* links)
      __attribute__((always_inline)) {
    link_along<kLanes>(canvas, frame, plan, row, begin, end, step, diagonal, first, links);
  };
  for (int32_t* links : {to.right, to.down, to.down_right, to.down_left}) {
    if (links) std::fill_n(links, last - first, 0);
  }
  along(first, inner, 1, false, to.right);
  if (y + 1 == canvas.height) return;
  along(first, last, width, false, to.down);
  if (!canvas.down_right) return;
  along(first, inner, width + 1, true, to.down_right);
  along(std::max(first, 1), last, width - 1, true, to.down_left);
}

template <int kLanes>
REGIONS_INLINE void weigh_by(const Canvas canvas, const ConstFrame& mask, const FramePlan frame,
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
              const size_t i = row + static_cast<size_t>(x);
              Int match = -2;
              const Int own = model_evidence(canvas, frame.model, i, match);
              note_match(canvas, i, match);
              const bool inside = x >= kReach && x + lanes + kReach <= canvas.width;
              if (inside || lanes == 1) {
                put(terminal + x, judged(own, canvas, frame, plan, x, y));
                return;
              }
              put(terminal + x, own);
              for (int k = x; k < x + lanes; ++k) {
                terminal[k] = judged(terminal[k], canvas, frame, plan, k, y);
              }
            });
      },
      [&](int first, int last) { std::fill(terminal + first, terminal + last, -kSure); });
}

template <int kLanes>
REGIONS_INLINE void teach_by(const Canvas canvas, const FramePlan frame, const uint8_t* foreground,
                             int y) {
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
          const size_t i = canvas.at(x, y);
          if (teach_noted<Int>(canvas, frame.model, is_foreground, i)) return;
          teach_model<Int>(canvas, frame.model, is_foreground, i);
        });
  };
  if (frame.model.starts) {
    teach_run(0, canvas.width);
  } else {
    split_row(canvas, y, teach_run, [](int, int) {});
  }
}

// The passes with so many lanes, compiled for the machines that have them.
#define REGIONS_ROW_PASSES(kLanes, ...)                                                    \
  struct Passes##kLanes {                                                                  \
    __VA_ARGS__ static void weigh(const Canvas& canvas, const ConstFrame& mask,            \
                                  const FramePlan& frame, const EnergyPlan& plan, int y) { \
      weigh_by<kLanes>(canvas, mask, frame, plan, y);                                      \
    }                                                                                      \
    /* Cuts ask for few pixels at a time. */                                               \
    __VA_ARGS__ static void link(const Canvas& canvas, const FramePlan& frame,             \
                                 const EnergyPlan& plan, int y, int first, int last,       \
                                 const LinkRow& to) {                                      \
      link_by<std::min(kLanes, 8)>(canvas, frame, plan, y, first, last, to);               \
    }                                                                                      \
    __VA_ARGS__ static void teach(const Canvas& canvas, const FramePlan& frame,            \
                                  const uint8_t* foreground, int y) {                      \
      teach_by<kLanes>(canvas, frame, foreground, y);                                      \
    }                                                                                      \
    static constexpr RowPasses all = {kLanes, weigh, link, teach};                         \
  }

REGIONS_ROW_PASSES(4);
#if REGIONS_WIDE_LANES
REGIONS_ROW_PASSES(8, __attribute__((target("arch=x86-64-v3"))));
REGIONS_ROW_PASSES(16, __attribute__((target("arch=x86-64-v4"))));
constexpr RowPasses kPasses[] = {Passes4::all, Passes8::all, Passes16::all};
size_t usable() {
  return __builtin_cpu_supports("x86-64-v4") ? 3 : __builtin_cpu_supports("x86-64-v3") ? 2 : 1;
}
#else
constexpr RowPasses kPasses[] = {Passes4::all};
size_t usable() { return 1; }
#endif

}  // namespace

std::span<const RowPasses> row_passes() { return {kPasses, usable()}; }

}  // namespace regions::graphcut
