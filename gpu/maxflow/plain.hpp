// The plain solver of minimum cuts: push-relabel with the passes of Intel's C for Media tutorial on
// graph cuts. Each pass processes the whole picture. The passes find the tiles with active pixels
// (busy tiles), relabel pixels, push excess in waves along columns, rows and diagonals, and from
// time to time compute exact heights. Heights and flows have 32 bits and the excess has 64 bits,
// which suffices for every frame. The plain solver is the reference for the faster solvers. It also
// solves the frames for which the 16-bit numbers of the faster solvers do not suffice.
#pragma once

#include "gpu/maxflow/grid_barrier.hpp"
#include "gpu/maxflow/solvers.hpp"

namespace regions::maxflow {

// The algorithm of the plain solver. All threads of a grid execute it together.
class PlainPushRelabel {
 public:
  static constexpr int kTileSide = 32;  // side of a tile and length of a wave, pixels
  // A global relabel of n sweeps is followed by at most max(kMinRounds, n) rounds of pushes.
  static constexpr int kMinRounds = 32;
  static constexpr unsigned kInfiniteHeight = ~0u;  // height of pixels that cannot reach the sink

  // All threads of the block must construct it together.
  __device__ PlainPushRelabel(const Problem& problem, const PlainArrays& arrays,
                              GridBarrier::SharedWords* words)
      : problem_(problem),
        arrays_(arrays),
        size_(problem.size()),
        barrier_(&problem.progress->plain, words),
        iterations_(problem.progress->iterations),
        is_stopped_(problem.max_iterations > 0 && iterations_ >= problem.max_iterations) {
    problem.record_start_time();  // no effect if another solver has already started the frame
  }

  __device__ void run() {
    load_flows();
    for (;;) {
      const int relabel_sweeps = relabel();
      const bool active = start_pushes();
      if (!active || is_stopped_) return finish(active);
      const int rounds = max(kMinRounds, relabel_sweeps);
      for (int i = 0; i < rounds && !is_stopped_; ++i) {
        for (int k = 0; k < link_count(); ++k) {
          push_lines(k);
          barrier_.sync_or(0);
        }
        ++iterations_;
        const bool is_time_up = blockIdx.x == 0 && problem_.is_out_of_time();
        is_stopped_ = barrier_.sync_or(is_time_up) || iterations_ == problem_.max_iterations;
        if (!relabel_active()) break;
      }
    }
  }

 private:
  // Number of links that are stored at each pixel: half the number of its neighbours, because each
  // link is stored at one of its two pixels. See Direction in core/maxflow/maxflow.hpp.
  __device__ int link_count() const { return static_cast<int>(problem_.graph.neighbours) / 2; }
  __device__ size_t pixel_index(int x, int y) const {
    return static_cast<size_t>(y) * size_.width + x;
  }
  __device__ bool is_inside(int x, int y) const { return problem_.graph.terminal.contains(x, y); }
  // Address of the flow along link k of pixel (x, y).
  __device__ int32_t* flow(int k, int x, int y) const {
    return problem_.link_flow + static_cast<size_t>(k) * size_.area() + pixel_index(x, y);
  }
  // Returns the residual capacity of the arc that leaves pixel (x, y) in direction d.
  __device__ long long residual(int d, int x, int y) const {
    const int k = d / 2;
    if (d % 2) {
      x += step_x(d);
      y += step_y(d);
    }
    const long long link_capacity = capacity(problem_.graph, k, x, y);
    if (link_capacity == 0) return 0;
    const long long link_flow = __ldcg(flow(k, x, y));
    return d % 2 ? link_capacity + link_flow : link_capacity - link_flow;
  }

  // Distributes all pixels over the threads of the grid and calls visit(x, y) for each pixel.
  template <class Visit>
  __device__ void visit_pixels(Visit visit) const {
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size_.area();
         i += step) {
      visit(static_cast<int>(i % size_.width), static_cast<int>(i / size_.width));
    }
  }

  // Splits the picture into lines of kTileSide pixels in direction d that together contain every
  // pixel once. Calls visit(x, y) with the first pixel of each line. The first pixel of a diagonal
  // line may be outside of the picture.
  template <class Visit>
  __device__ void visit_lines(int d, Visit visit) const {
    const int dx = step_x(d), dy = step_y(d);
    const int extent_along = dy ? size_.height : size_.width,
              extent_across = dy ? size_.width : size_.height;
    const int diagonal_margin = dx && dy ? kTileSide - 1 : 0;
    const size_t width = static_cast<size_t>(extent_across) + diagonal_margin;
    const size_t count = width * ((extent_along + kTileSide - 1) / kTileSide);
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += step) {
      const int distance = static_cast<int>(i / width) * kTileSide;
      const int line = static_cast<int>(i % width);
      const int start = (dy ? dy : dx) > 0 ? distance : extent_along - 1 - distance;
      if (dy) {
        visit(dx > 0 ? line - diagonal_margin : line, start);
      } else {
        visit(start, line);
      }
    }
  }

  // Computes the excess of each pixel. The flows come from link_flow if the cut has a warm start or
  // continues the work of another solver; otherwise all flows are 0.
  __device__ void load_flows() {
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < problem_.tiles;
         i += static_cast<int>(gridDim.x * blockDim.x)) {
      problem_.has_no_flow[i] = 0;
    }
    const bool warm = problem_.warm_start || problem_.progress->must_continue;
    visit_pixels([&](int x, int y) {
      long long excess = problem_.graph.terminal(x, y);
      for (int d = 0; d < 2 * link_count(); ++d) {
        const int k = d / 2;
        const bool is_owner = d % 2 == 0;  // whether the link is stored at this pixel
        const int owner_x = is_owner ? x : x + step_x(d), owner_y = is_owner ? y : y + step_y(d);
        const int32_t link_capacity = capacity(problem_.graph, k, owner_x, owner_y);
        const int32_t link_flow =
            warm && link_capacity
                ? max(-link_capacity, min(link_capacity, __ldcg(flow(k, owner_x, owner_y))))
                : 0;
        excess -= is_owner ? link_flow : -static_cast<long long>(link_flow);
        // The neighbouring pixel clamps the flow that it reads in the same way. It may therefore
        // read this flow before or after the write.
        if (is_owner) __stcg(flow(k, x, y), link_flow);
      }
      arrays_.excess[pixel_index(x, y)] = excess;
    });
    barrier_.sync_or(0);
  }

  // Global relabel: computes exact heights of all pixels. Returns the number of sweeps.
  __device__ int relabel() {
    visit_pixels([&](int x, int y) {
      __stcg(&arrays_.height[pixel_index(x, y)],
             __ldcg(&arrays_.excess[pixel_index(x, y)]) < 0 ? 0 : kInfiniteHeight);
    });
    barrier_.sync_or(0);
    int sweeps = 0;
    bool changed;
    do {
      changed = false;
      for (int d = 0; d < 2 * link_count(); ++d) changed |= relax_lines(d);
      ++sweeps;
    } while (barrier_.sync_or(changed));
    return sweeps;
  }

  // Lowers heights along all lines in direction d. Returns whether any height changed.
  __device__ bool relax_lines(int d) const {
    bool changed = false;
    visit_lines(d, [&](int x, int y) {
      unsigned previous = kInfiniteHeight;
      // The loop also visits the first pixel of the next line, to which heights of this line
      // spread.
      for (int i = 0; i <= kTileSide; ++i, x += step_x(d), y += step_y(d)) {
        if (!is_inside(x, y)) {
          previous = kInfiniteHeight;
          continue;
        }
        unsigned* height = &arrays_.height[pixel_index(x, y)];
        unsigned lowest = __ldcg(height);
        if (previous != kInfiniteHeight && previous + 1 < lowest &&
            residual(opposite(d), x, y) > 0) {
          lowest = previous + 1;
          atomicMin(height, lowest);  // the order of threads does not affect a minimum
          changed = true;
        }
        previous = lowest;
      }
    });
    return changed;
  }

  __device__ bool is_active_at(int x, int y) const {
    return __ldcg(&arrays_.excess[pixel_index(x, y)]) > 0 &&
           __ldcg(&arrays_.height[pixel_index(x, y)]) != kInfiniteHeight;
  }

  // Relabels the active pixels, if there are any. Returns whether any pixel is active.
  __device__ bool start_pushes() {
    bool active = false;
    visit_pixels([&](int x, int y) { active |= is_active_at(x, y); });
    const bool any = barrier_.sync_or(active);
    if (any) relabel_active();
    return any;
  }

  // Marks the tiles that have active pixels as busy, and relabels these pixels. Neighbouring pixels
  // may be relabelled at the same time. Reading a neighbour's old height is harmless: it is too low
  // but still a lower bound of the distance to the sink. Returns whether any pixel is active.
  __device__ bool relabel_active() {
    const int columns = (size_.width + kTileSide - 1) / kTileSide;
    const int rows = (size_.height + kTileSide - 1) / kTileSide;
    bool any = false;
    for (int tile = blockIdx.x; tile < columns * rows; tile += gridDim.x) {
      bool active = false;
      const auto visit = [&](auto&& pixel) {
        for (int i = threadIdx.x; i < kTileSide * kTileSide; i += blockDim.x) {
          const int x = tile % columns * kTileSide + i % kTileSide,
                    y = tile / columns * kTileSide + i / kTileSide;
          if (is_inside(x, y) && is_active_at(x, y)) pixel(x, y);
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
    for (int d = 0; d < 2 * link_count(); ++d) {
      if (residual(d, x, y) == 0) continue;
      lowest = min(lowest, __ldcg(&arrays_.height[pixel_index(x + step_x(d), y + step_y(d))]));
    }
    __stcg(&arrays_.height[pixel_index(x, y)],
           lowest == kInfiniteHeight ? kInfiniteHeight : lowest + 1);
  }

  __device__ bool is_busy_at(int x, int y) const {
    const int columns = (size_.width + kTileSide - 1) / kTileSide;
    return is_inside(x, y) && __ldcg(&arrays_.busy[y / kTileSide * columns + x / kTileSide]);
  }

  // Pushes waves along all lines in the direction of link k. Each active pixel pushes forwards and
  // backwards. Heights do not change during this pass, so only one end of a link can push.
  __device__ void push_lines(int k) const {
    const int d = 2 * k;
    visit_lines(d, [&](int x, int y) {
      const int end_x = x + (kTileSide - 1) * step_x(d);
      const int first_x = min(max(x, 0), size_.width - 1);
      const int last_x = min(max(end_x, 0), size_.width - 1);
      if (!is_busy_at(first_x, y) && !is_busy_at(last_x, y)) return;
      for (int i = 0; i < kTileSide; ++i, x += step_x(d), y += step_y(d)) {
        if (!is_inside(x, y) || !is_active_at(x, y)) continue;
        push(d, x, y);
        push(opposite(d), x, y);
      }
    });
  }

  // Pushes excess from pixel (x, y) in direction d if that direction leads downhill.
  __device__ void push(int d, int x, int y) const {
    long long* from = &arrays_.excess[pixel_index(x, y)];
    const long long excess = __ldcg(from), capacity = residual(d, x, y);
    if (excess <= 0 || capacity <= 0) return;
    const int to_x = x + step_x(d), to_y = y + step_y(d);
    if (__ldcg(&arrays_.height[pixel_index(x, y)]) !=
        __ldcg(&arrays_.height[pixel_index(to_x, to_y)]) + 1)
      return;
    const long long amount = min(excess, capacity);
    using Sum = unsigned long long;
    // Several threads add to the same pixels. The numbers are integers, so the order of the
    // additions does not matter.
    atomicAdd(reinterpret_cast<Sum*>(from), static_cast<Sum>(-amount));
    atomicAdd(reinterpret_cast<Sum*>(&arrays_.excess[pixel_index(to_x, to_y)]),
              static_cast<Sum>(amount));
    int32_t* link = d % 2 ? flow(d / 2, to_x, to_y) : flow(d / 2, x, y);
    const long long link_amount = d % 2 ? -amount : amount;
    __stcg(link, static_cast<int32_t>(__ldcg(link) + link_amount));
  }

  // Writes the mask and the results of the cut. `active`: whether a limit left active pixels.
  __device__ void finish(bool active) {
    long long sink_flow = 0, gap = 0;
    visit_pixels([&](int x, int y) {
      const bool foreground = __ldcg(&arrays_.height[pixel_index(x, y)]) == kInfiniteHeight;
      problem_.foreground(x, y) = foreground ? GridCut::kForeground : GridCut::kBackground;
      const long long excess = __ldcg(&arrays_.excess[pixel_index(x, y)]);
      const long long terminal = problem_.graph.terminal(x, y);
      sink_flow += (terminal < 0 ? -terminal : 0) + min(excess, 0ll);
      if (!foreground) gap += max(excess, 0ll);
    });
    Progress& progress = *problem_.progress;
    // The numbers are integers, so the order of the additions does not matter.
    atomicAdd(&progress.sink_flow, static_cast<unsigned long long>(sink_flow));
    atomicAdd(&progress.gap, static_cast<unsigned long long>(gap));
    barrier_.sync_or(0);
    if (blockIdx.x == 0 && threadIdx.x == 0) problem_.write_results(iterations_, !active);
  }

  const Problem& problem_;
  const PlainArrays arrays_;
  const Size size_;
  GridBarrier barrier_;
  int iterations_;
  bool is_stopped_;
};

}  // namespace regions::maxflow
