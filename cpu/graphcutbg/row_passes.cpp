// The passes over the pixels of a row. They process several pixels at a time in SIMD registers, and
// the rest of the row pixel by pixel.
#include <algorithm>

#include "cpu/graphcutbg/graphcutbg.hpp"
#include "cpu/graphcutbg/simd_lanes.hpp"

namespace regions::graphcutbg {
namespace {

// Calls use_included(first, last) for each run of pixels of row y that are not excluded, and
// use_excluded(first, last) for each run of excluded pixels. A run has the pixels first..last - 1.
template <std::invocable<int, int> UseIncluded, std::invocable<int, int> UseExcluded>
REGIONS_INLINE void split_row(const ModelArrays& arrays, int y, UseIncluded use_included,
                              UseExcluded use_excluded) {
  const uint8_t* excluded = arrays.excluded ? arrays.excluded + arrays.at(0, y) : nullptr;
  for (int x = 0; x < arrays.width;) {
    int end = arrays.width;
    if (excluded)
      end = static_cast<int>(
          std::find_if(excluded + x, excluded + arrays.width, [](uint8_t e) { return e != 0; }) -
          excluded);
    if (end > x) use_included(x, end);
    x = end;
    if (excluded)
      end = static_cast<int>(std::find(excluded + x, excluded + arrays.width, 0) - excluded);
    if (end > x) use_excluded(x, end);
    x = end;
  }
}

// Calls use_vector(x) for each kLanes pixels from first to last - 1, then use_pixel(x) for each of
// the remaining pixels.
template <int kLanes, std::invocable<int> UseVector, std::invocable<int> UsePixel>
REGIONS_INLINE void for_each_vector(int first, int last, UseVector use_vector, UsePixel use_pixel) {
  int x = first;
  for (; x + kLanes <= last; x += kLanes) use_vector(x);
  for (; x < last; ++x) use_pixel(x);
}

REGIONS_INLINE void store(int32_t* to, int32_t value) { *to = value; }
template <int kLanes>
REGIONS_INLINE void store(int32_t* to, Lanes<kLanes> value) {
  write_words(reinterpret_cast<uint32_t*>(to), value);
}

// Computes the capacities of the links from pixels begin..end - 1 to the pixels with an index
// greater by `step`. `row` is the index of the row's first pixel. Writes the capacity of pixel x to
// to[x - first]: first writes the index of an entry of the lambda table, then replaces the index by
// the entry.
template <int kLanes>
REGIONS_INLINE void compute_links_in_direction(const ModelArrays& arrays, const FramePlan& frame,
                                               const EnergyPlan& plan, size_t row, int begin,
                                               int end, size_t step, bool diagonal, int first,
                                               int32_t* to) {
  const auto link = [&]<class Int>(int x) __attribute__((always_inline)) {
    const size_t i = row + static_cast<size_t>(x);
    store(to + (x - first), link_step(EdgeSample<Int>::at(arrays, frame, i),
                                      EdgeSample<Int>::at(arrays, frame, i + step), frame, plan));
  };
  int x = begin;
  for (; x + kLanes <= end; x += kLanes) link.template operator()<Lanes<kLanes>>(x);
  if (x < end && end - begin >= kLanes) {
    // Computes the links of the last kLanes pixels; some of them have been computed already.
    link.template operator()<Lanes<kLanes>>(end - kLanes);
  } else {
    for (; x < end; ++x) link.template operator()<int32_t>(x);
  }
  for (x = begin; x < end; ++x) to[x - first] = plan.link_for(to[x - first], diagonal);
}

template <int kLanes>
REGIONS_INLINE void compute_links_with(const ModelArrays arrays, const FramePlan frame,
                                       const EnergyPlan& plan, int y, int first, int last,
                                       const LinkRow& to) {
  const size_t row = arrays.at(0, y);
  const auto width = static_cast<size_t>(arrays.width);
  const int inner =
      std::min(last, arrays.width - 1);  // pixels before `inner` have a right neighbour
  const auto compute = [&](int begin, int end, size_t step, bool diagonal, int32_t* links)
      __attribute__((always_inline)) {
    compute_links_in_direction<kLanes>(arrays, frame, plan, row, begin, end, step, diagonal, first,
                                       links);
  };
  for (int32_t* links : {to.right, to.down, to.down_right, to.down_left}) {
    if (links) std::fill_n(links, last - first, 0);
  }
  compute(first, inner, 1, false, to.right);
  if (y + 1 == arrays.height) return;
  compute(first, last, width, false, to.down);
  if (!arrays.down_right) return;
  compute(first, inner, width + 1, true, to.down_right);
  compute(std::max(first, 1), last, width - 1, true, to.down_left);
}

// Calls add_outlines() for the pixels of row y that have an outline.
template <int kLanes>
REGIONS_INLINE void add_outlines_of_row(const ModelArrays& arrays, const FramePlan& frame, int y) {
  const size_t below = y + 1 < arrays.height ? static_cast<size_t>(arrays.width) : 0;
  int x = 0;
  for (; x + kLanes < arrays.width; x += kLanes) {
    const uint32_t* words = arrays.background + arrays.at(x, y);
    Lanes<kLanes> here, right, down;
    read_words(words, here);
    read_words(words + 1, right);
    read_words(words + below, down);
    if (!any((((here ^ right) | (here ^ down)) & (1 << 24)) != 0)) continue;
    for (int k = x; k < x + kLanes; ++k) add_outlines(arrays, frame, k, y, add_atomically);
  }
  for (; x < arrays.width; ++x) add_outlines(arrays, frame, x, y, add_atomically);
}

// The passes for one pixel. They are compiled once for all instruction sets and not inlined,
// because vectors process most pixels.
[[gnu::noinline]] void compute_terminal(const ModelArrays& arrays, const ConstFrame& mask,
                                        const FramePlan& frame, const EnergyPlan& plan, int x,
                                        int y) {
  arrays.terminal[arrays.at(x, y)] = terminal_at(arrays, mask, frame, plan, x, y, add_atomically);
}

[[gnu::noinline]] void refine_terminal(const ModelArrays& arrays, const FramePlan& frame,
                                       const EnergyPlan& plan, int x, int y) {
  int32_t& terminal = arrays.terminal[arrays.at(x, y)];
  terminal = refine_evidence(terminal, arrays, frame, plan, x, y, add_atomically);
}

template <int kLanes, std::invocable<int> UsePixel, std::invocable<int> RefinePixel>
REGIONS_INLINE void compute_terminals_with(const ModelArrays arrays, const ConstFrame& mask,
                                           const FramePlan frame, const EnergyPlan& plan, int y,
                                           UsePixel use_pixel, RefinePixel refine_pixel) {
  const size_t row = arrays.at(0, y);
  int32_t* terminal = arrays.terminal + row;
  const bool has_mask = plan.uses_mask && !mask.empty();
  if (measures_outline(frame, plan)) add_outlines_of_row<kLanes>(arrays, frame, y);
  split_row(
      arrays, y,
      [&](int first, int last) __attribute__((always_inline)) {
        if (has_mask) {
          for (int x = first; x < last; ++x) {
            terminal[x] = terminal_at(arrays, mask, frame, plan, x, y, add_atomically);
          }
          return;
        }
        for_each_vector<kLanes>(
            first, last,
            [&](int x) __attribute__((always_inline)) {
              const size_t i = row + static_cast<size_t>(x);
              Lanes<kLanes> match = -2;
              const auto evidence = model_evidence(arrays, frame, i, match);
              store_match(arrays, frame, i, match);
              // Near the ends of the row, some lanes have neighbours outside the picture. There,
              // the evidence is refined pixel by pixel.
              if (x >= kMaxDistance && x + kLanes + kMaxDistance <= arrays.width) {
                store(terminal + x,
                      refine_evidence(evidence, arrays, frame, plan, x, y, add_atomically));
                return;
              }
              store(terminal + x, evidence);
              for (int k = x; k < x + kLanes; ++k) refine_pixel(k);
            },
            use_pixel);
      },
      [&](int first, int last) { std::fill(terminal + first, terminal + last, -kCertainWeight); });
}

// Calls count_spark() for the pixels from (x, y) on that may be sparks.
template <class Int>
REGIONS_INLINE void count_sparks(const ModelArrays& arrays, const FramePlan& frame,
                                 const LaneBool<Int>& is_foreground, const uint8_t* foreground,
                                 int x, int y) {
  Int word;
  read_words(arrays.current + arrays.at(x, y), word);
  const auto history = BasicLabelHistory<Int>::of_current(word);
  if (!any((history.is_limited() | history.was_brief()) & (!is_foreground))) return;
  constexpr int kLanes = static_cast<int>(sizeof(Int) / sizeof(int32_t));
  for (int k = 0; k < kLanes; ++k)
    count_spark(arrays, frame, foreground[x + k] != 0, x + k, y, add_atomically);
}

// The rates of foreground_rate_at() in a row. Neighbouring pixels share a cell, so each cell is
// evaluated once.
class ForegroundRates {
 public:
  REGIONS_INLINE ForegroundRates(const ModelArrays& arrays, const FramePlan& frame, int y)
      : arrays_(arrays), frame_(frame), y_(y) {}

  template <class Int>
  REGIONS_INLINE Int at(int x) {
    constexpr int kLanes = static_cast<int>(sizeof(Int) / sizeof(int32_t));
    uint32_t rates[kLanes];
    for (int k = 0; k < kLanes; ++k) rates[k] = static_cast<uint32_t>(one(x + k));
    Int lanes;
    read_words(rates, lanes);
    return lanes;
  }

 private:
  REGIONS_INLINE int32_t one(int x) {
    const auto word = static_cast<int32_t>(arrays_.current[arrays_.at(x, y_)]);
    if (!LabelHistory::of_current(word).is_still()) return frame_.alpha_slow;
    const int column = x >> arrays_.cells.shift;
    if (column != column_) {
      column_ = column;
      rate_ = foreground_rate_at(arrays_, frame_, x, y_);
    }
    return rate_;
  }

  const ModelArrays& arrays_;
  const FramePlan& frame_;
  int y_;
  int column_ = -1;  // the cell of `rate_`
  int32_t rate_ = 0;
};

[[gnu::noinline]] void update_pixel(const ModelArrays& arrays, const FramePlan& frame,
                                    bool is_foreground, int x, int y) {
  const size_t i = arrays.at(x, y);
  count_spark(arrays, frame, is_foreground, x, y, add_atomically);
  if (!frame.learns) return remember_labels<int32_t>(arrays, is_foreground, i);
  const int32_t rate = is_foreground ? foreground_rate_at(arrays, frame, x, y) : frame.alpha_slow;
  if (update_matched_modes<int32_t>(arrays, frame, is_foreground, rate, i)) return;
  update_all_modes<int32_t>(arrays, frame, is_foreground, rate, i);
}

template <int kLanes, std::invocable<int> UsePixel>
REGIONS_INLINE void update_model_with(const ModelArrays arrays, const FramePlan frame,
                                      const uint8_t* foreground, int y, UsePixel use_pixel) {
  ForegroundRates rates(arrays, frame, y);
  // A frame that starts a model is rare. Without it, the code for vectors has fewer cases.
  if (frame.starts) {
    for (int x = 0; x < arrays.width; ++x) use_pixel(x);
    return;
  }
  split_row(
      arrays, y,
      [&](int first, int last) __attribute__((always_inline)) {
        for_each_vector<kLanes>(
            first, last,
            [&](int x) __attribute__((always_inline)) {
              using Int = Lanes<kLanes>;
              const LaneBool<Int> is_foreground = Int::nonzero(foreground + x);
              const size_t i = arrays.at(x, y);
              count_sparks<Int>(arrays, frame, is_foreground, foreground, x, y);
              if (!frame.learns) return remember_labels<Int>(arrays, is_foreground, i);
              const Int rate = any(is_foreground) ? rates.at<Int>(x) : Int(frame.alpha_slow);
              if (update_matched_modes<Int>(arrays, frame, is_foreground, rate, i)) return;
              update_all_modes<Int>(arrays, frame, is_foreground, rate, i);
            },
            use_pixel);
      },
      [](int, int) {});
}

// The plan of a frame with a constant for `has_chroma`, so that the compiler makes separate code
// for grey pictures.
template <bool kHasChroma>
REGIONS_INLINE FramePlan specialised(FramePlan frame) {
  frame.has_chroma = kHasChroma;
  return frame;
}

// Defines the passes with kLanes lanes. The second argument is the attribute that selects
// their instruction set. Links are computed with at most 8 lanes, because a cut requests the links
// of few pixels at a time.
#define REGIONS_ROW_PASSES(kLanes, ...)                                                            \
  struct Passes##kLanes {                                                                          \
    __VA_ARGS__ static void compute_terminals(const ModelArrays& arrays, const ConstFrame& mask,   \
                                              const FramePlan& frame, const EnergyPlan& plan,      \
                                              int y) {                                             \
      const auto use_pixel = [&](int x) { compute_terminal(arrays, mask, frame, plan, x, y); };    \
      const auto refine_pixel = [&](int x) { refine_terminal(arrays, frame, plan, x, y); };        \
      if (frame.has_chroma) {                                                                      \
        compute_terminals_with<kLanes>(arrays, mask, specialised<true>(frame), plan, y, use_pixel, \
                                       refine_pixel);                                              \
      } else {                                                                                     \
        compute_terminals_with<kLanes>(arrays, mask, specialised<false>(frame), plan, y,           \
                                       use_pixel, refine_pixel);                                   \
      }                                                                                            \
    }                                                                                              \
    __VA_ARGS__ static void compute_links(const ModelArrays& arrays, const FramePlan& frame,       \
                                          const EnergyPlan& plan, int y, int first, int last,      \
                                          const LinkRow& to) {                                     \
      compute_links_with<std::min(kLanes, 8)>(arrays, frame, plan, y, first, last, to);            \
    }                                                                                              \
    __VA_ARGS__ static void update_model(const ModelArrays& arrays, const FramePlan& frame,        \
                                         const uint8_t* foreground, int y) {                       \
      const auto use_pixel = [&](int x) {                                                          \
        update_pixel(arrays, frame, foreground[x] != 0, x, y);                                     \
      };                                                                                           \
      if (frame.has_chroma) {                                                                      \
        update_model_with<kLanes>(arrays, specialised<true>(frame), foreground, y, use_pixel);     \
      } else {                                                                                     \
        update_model_with<kLanes>(arrays, specialised<false>(frame), foreground, y, use_pixel);    \
      }                                                                                            \
    }                                                                                              \
    static constexpr RowPasses all = {kLanes, compute_terminals, compute_links, update_model};     \
  }

REGIONS_ROW_PASSES(4);
#if REGIONS_WIDE_LANES
REGIONS_ROW_PASSES(8, __attribute__((target("arch=x86-64-v3"))));
REGIONS_ROW_PASSES(16, __attribute__((target("arch=x86-64-v4"))));
constexpr RowPasses kPasses[] = {Passes4::all, Passes8::all, Passes16::all};
size_t supported_count() {
  return __builtin_cpu_supports("x86-64-v4") ? 3 : __builtin_cpu_supports("x86-64-v3") ? 2 : 1;
}
#else
constexpr RowPasses kPasses[] = {Passes4::all};
size_t supported_count() { return 1; }
#endif

}  // namespace

std::span<const RowPasses> row_passes() { return {kPasses, supported_count()}; }

}  // namespace regions::graphcutbg
