// The plain solver: push-relabel with the passes of Intel's C for Media tutorial on graph cuts.
// They process the whole picture one after another: mark busy tiles, relabel, push in waves
// along columns, rows and diagonals, and at intervals compute exact heights by breadth-first
// search. Heights have 32 bits, flows 32, excess 64, which no frame exceeds. It is the
// reference for the faster solvers, and takes over from them if 16 bits are not enough.
#pragma once

#include "gpu/maxflow/grid_barrier.hpp"
#include "gpu/maxflow/solvers.hpp"

namespace regions::maxflow {

class PlainPushRelabel {
 public:
  static constexpr int kSide = 32;    // pixels: side of a busy tile, and length of a wave
  static constexpr int kRounds = 32;  // rounds of pushes between two global relabels, at least
  static constexpr unsigned kInfiniteHeight = ~0u;

  // All threads of the block must construct it together.
  __device__ PlainPushRelabel(const Problem& problem, const PlainArrays& arrays,
                              GridBarrier::SharedWords* words)
      : problem_(problem),
        arrays_(arrays),
        size_(problem.size()),
        barrier_(&problem.progress->plain, words),
        iterations_(problem.progress->iterations),
        stopped_(problem.max_iterations > 0 && iterations_ >= problem.max_iterations) {
    problem.record_start_time();  // unless another solver has started the frame
  }

  __device__ void run() {
    load();
    for (;;) {
      const int depth = relabel();
      const bool active = start_pushes();
      if (!active || stopped_) return finish(active);
      const int rounds = max(kRounds, depth);
      for (int i = 0; i < rounds && !stopped_; ++i) {
        for (int k = 0; k < links(); ++k) {
          push_lines(k);
          barrier_.sync_or(0);
        }
        ++iterations_;
        const bool is_late = blockIdx.x == 0 && problem_.is_out_of_time();
        stopped_ = barrier_.sync_or(is_late) || iterations_ == problem_.max_iterations;
        if (!relabel_active()) break;
      }
    }
  }

 private:
  __device__ int links() const { return static_cast<int>(problem_.graph.neighbours) / 2; }
  __device__ size_t at(int x, int y) const { return static_cast<size_t>(y) * size_.width + x; }
  __device__ bool inside(int x, int y) const { return problem_.graph.terminal.contains(x, y); }
  __device__ int32_t* flow(int k, int x, int y) const {
    return problem_.link_flow + static_cast<size_t>(k) * size_.area() + at(x, y);
  }
  // Residual capacity from (x, y) in direction d.
  __device__ long long residual(int d, int x, int y) const {
    const int k = d / 2;
    if (d % 2) {
      x += step_x(d);
      y += step_y(d);
    }
    const long long c = capacity(problem_.graph, k, x, y);
    if (c == 0) return 0;
    const long long f = __ldcg(flow(k, x, y));
    return d % 2 ? c + f : c - f;
  }

  template <class Visit>
  __device__ void visit_pixels(Visit visit) const {
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size_.area();
         i += step) {
      visit(static_cast<int>(i % size_.width), static_cast<int>(i / size_.width));
    }
  }

  // Splits the picture into lines of kSide pixels in direction d that together visit every
  // pixel once. Calls visit(x, y) with the first pixel of each line, which may be outside of
  // the picture for diagonals.
  template <class Visit>
  __device__ void visit_lines(int d, Visit visit) const {
    const int dx = step_x(d), dy = step_y(d);
    const int along = dy ? size_.height : size_.width, across = dy ? size_.width : size_.height;
    const int diagonal_margin = dx && dy ? kSide - 1 : 0;
    const size_t width = static_cast<size_t>(across) + diagonal_margin;
    const size_t count = width * ((along + kSide - 1) / kSide);
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += step) {
      const int a = static_cast<int>(i / width) * kSide, b = static_cast<int>(i % width);
      const int start = (dy ? dy : dx) > 0 ? a : along - 1 - a;
      if (dy) {
        visit(dx > 0 ? b - diagonal_margin : b, start);
      } else {
        visit(start, b);
      }
    }
  }

  // Computes the excess that remains with the flows in link_flow, or without flow.
  __device__ void load() {
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < problem_.tiles;
         i += static_cast<int>(gridDim.x * blockDim.x)) {
      problem_.has_no_flow[i] = 0;
    }
    const bool warm = problem_.warm || problem_.progress->continues;
    visit_pixels([&](int x, int y) {
      long long excess = problem_.graph.terminal(x, y);
      for (int d = 0; d < 2 * links(); ++d) {
        const int k = d / 2;
        const bool is_owner = d % 2 == 0;
        const int owner_x = is_owner ? x : x + step_x(d), owner_y = is_owner ? y : y + step_y(d);
        const int32_t c = capacity(problem_.graph, k, owner_x, owner_y);
        const int32_t f = warm && c ? max(-c, min(c, __ldcg(flow(k, owner_x, owner_y)))) : 0;
        excess -= is_owner ? f : -static_cast<long long>(f);
        // The neighbour clamps its copy in the same way, so it may read before or after
        // this write.
        if (is_owner) __stcg(flow(k, x, y), f);
      }
      arrays_.excess[at(x, y)] = excess;
    });
    barrier_.sync_or(0);
  }

  // Computes exact heights. Returns the number of sweeps.
  __device__ int relabel() {
    visit_pixels([&](int x, int y) {
      __stcg(&arrays_.height[at(x, y)],
             __ldcg(&arrays_.excess[at(x, y)]) < 0 ? 0 : kInfiniteHeight);
    });
    barrier_.sync_or(0);
    int sweeps = 0;
    bool changed;
    do {
      changed = false;
      for (int d = 0; d < 2 * links(); ++d) changed |= relax_lines(d);
      ++sweeps;
    } while (barrier_.sync_or(changed));
    return sweeps;
  }

  __device__ bool relax_lines(int d) const {
    bool changed = false;
    visit_lines(d, [&](int x, int y) {
      unsigned previous = kInfiniteHeight;
      // One step more than the line's length: into the first pixel of the next line.
      for (int i = 0; i <= kSide; ++i, x += step_x(d), y += step_y(d)) {
        if (!inside(x, y)) {
          previous = kInfiniteHeight;
          continue;
        }
        unsigned* height = &arrays_.height[at(x, y)];
        unsigned now = __ldcg(height);
        if (previous != kInfiniteHeight && previous + 1 < now && residual(opposite(d), x, y) > 0) {
          now = previous + 1;
          atomicMin(height, now);  // the minimum wins, in any order
          changed = true;
        }
        previous = now;
      }
    });
    return changed;
  }

  __device__ bool active_at(int x, int y) const {
    return __ldcg(&arrays_.excess[at(x, y)]) > 0 &&
           __ldcg(&arrays_.height[at(x, y)]) != kInfiniteHeight;
  }

  __device__ bool start_pushes() {
    bool active = false;
    visit_pixels([&](int x, int y) { active |= active_at(x, y); });
    const bool any = barrier_.sync_or(active);
    if (any) relabel_active();
    return any;
  }

  // Marks busy tiles and relabels their active pixels. Neighbours may be relabelled at the
  // same time: an old height is too low, never wrong. Returns whether there is an active
  // pixel.
  __device__ bool relabel_active() {
    const int columns = (size_.width + kSide - 1) / kSide;
    const int rows = (size_.height + kSide - 1) / kSide;
    bool any = false;
    for (int tile = blockIdx.x; tile < columns * rows; tile += gridDim.x) {
      bool active = false;
      const auto visit = [&](auto&& pixel) {
        for (int i = threadIdx.x; i < kSide * kSide; i += blockDim.x) {
          const int x = tile % columns * kSide + i % kSide, y = tile / columns * kSide + i / kSide;
          if (inside(x, y) && active_at(x, y)) pixel(x, y);
        }
      };
      visit([&](int, int) { active = true; });
      const bool busy = __syncthreads_or(active);
      if (threadIdx.x == 0) __stcg(&arrays_.busy[tile], uint8_t{busy});
      any |= busy;
      if (busy) visit([&](int x, int y) { relabel_pixel(x, y); });
    }
    return barrier_.sync_or(any);
  }

  __device__ void relabel_pixel(int x, int y) const {
    unsigned lowest = kInfiniteHeight;
    for (int d = 0; d < 2 * links(); ++d) {
      if (residual(d, x, y) == 0) continue;
      lowest = min(lowest, __ldcg(&arrays_.height[at(x + step_x(d), y + step_y(d))]));
    }
    __stcg(&arrays_.height[at(x, y)], lowest == kInfiniteHeight ? kInfiniteHeight : lowest + 1);
  }

  __device__ bool busy_at(int x, int y) const {
    const int columns = (size_.width + kSide - 1) / kSide;
    return inside(x, y) && __ldcg(&arrays_.busy[y / kSide * columns + x / kSide]);
  }

  // Pushes waves along link k, forwards and backwards at each pixel. Heights do not change
  // meanwhile, so only one end of a link can push.
  __device__ void push_lines(int k) const {
    const int d = 2 * k;
    visit_lines(d, [&](int x, int y) {
      const int end_x = x + (kSide - 1) * step_x(d);
      const int first_x = min(max(x, 0), size_.width - 1);
      const int last_x = min(max(end_x, 0), size_.width - 1);
      if (!busy_at(first_x, y) && !busy_at(last_x, y)) return;
      for (int i = 0; i < kSide; ++i, x += step_x(d), y += step_y(d)) {
        if (!inside(x, y) || !active_at(x, y)) continue;
        push(d, x, y);
        push(opposite(d), x, y);
      }
    });
  }

  __device__ void push(int d, int x, int y) const {
    long long* from = &arrays_.excess[at(x, y)];
    const long long excess = __ldcg(from), capacity = residual(d, x, y);
    if (excess <= 0 || capacity <= 0) return;
    const int to_x = x + step_x(d), to_y = y + step_y(d);
    if (__ldcg(&arrays_.height[at(x, y)]) != __ldcg(&arrays_.height[at(to_x, to_y)]) + 1) return;
    const long long amount = min(excess, capacity);
    using Sum = unsigned long long;
    // Neighbouring lines add to the same pixels. Sums of integers: the order of additions
    // does not matter.
    atomicAdd(reinterpret_cast<Sum*>(from), static_cast<Sum>(-amount));
    atomicAdd(reinterpret_cast<Sum*>(&arrays_.excess[at(to_x, to_y)]), static_cast<Sum>(amount));
    int32_t* link = d % 2 ? flow(d / 2, to_x, to_y) : flow(d / 2, x, y);
    const long long along = d % 2 ? -amount : amount;
    __stcg(link, static_cast<int32_t>(__ldcg(link) + along));
  }

  __device__ void finish(bool active) {
    long long sink_flow = 0, gap = 0;
    visit_pixels([&](int x, int y) {
      const bool foreground = __ldcg(&arrays_.height[at(x, y)]) == kInfiniteHeight;
      problem_.foreground(x, y) = foreground ? GridCut::kForeground : GridCut::kBackground;
      const long long excess = __ldcg(&arrays_.excess[at(x, y)]);
      const long long terminal = problem_.graph.terminal(x, y);
      sink_flow += (terminal < 0 ? -terminal : 0) + min(excess, 0ll);
      if (!foreground) gap += max(excess, 0ll);
    });
    Progress& progress = *problem_.progress;
    atomicAdd(&progress.sink_flow,
              static_cast<unsigned long long>(sink_flow));  // the order does not matter
    atomicAdd(&progress.gap, static_cast<unsigned long long>(gap));
    barrier_.sync_or(0);
    if (blockIdx.x == 0 && threadIdx.x == 0) problem_.write_results(iterations_, !active);
  }

  const Problem& problem_;
  const PlainArrays arrays_;
  const Size size_;
  GridBarrier barrier_;
  int iterations_;
  bool stopped_;
};

}  // namespace regions::maxflow
