// Which runs of the row above a run touches: by arithmetic for `binary`, by link bits for `equal`
// and `difference`. Both give the same two questions, so the union-find knows no criterion.
#pragma once

#include "gpu/cclabel/runs.hpp"
#include "gpu/cclabel/subject.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Contacts of foreground pixels. With 8 neighbours a run reaches one pixel beyond its ends.
template <class T, Connectivity connectivity, class Reader>
class ForegroundContacts {
 public:
  using Tile = T;
  struct Bits {};  // nothing beyond foreground and starts

  __device__ ForegroundContacts(TileRuns<T>& runs, Bits&) : runs_(runs) {}

  // Fills foreground and starts. Ends with a barrier.
  __device__ void read(const Reader& reader, int x, int y) {
    reader.template read<T>(runs_.foreground, x, y);
    __syncthreads();  // foreground is complete
    for (int w = static_cast<int>(threadIdx.x); w < T::all_words; w += T::threads) {
      const uint32_t bits = runs_.foreground[w];
      const uint32_t carry = w % T::words ? runs_.foreground[w - 1] >> 31 : 0;
      runs_.starts[w] = bits & ~(bits << 1 | carry);
    }
    __syncthreads();  // starts are complete
  }

  // The first run above that run `r` touches, or `r`.
  __device__ int above(int r) const {
    const int first = runs_.first[r], row = first / T::width;
    if (row == 0) return r;
    const int left = max(first % T::width - kReach, 0);
    const int right = min(runs_.last[r] % T::width + kReach, T::width - 1);
    const int from = runs_.started(left, row - 1) - runs_.is_foreground(left, row - 1);
    return from < runs_.started(right, row - 1) ? from : r;
  }

  // Calls unite(r, r + 1) where one run below touches both: then it covers the gap between them
  // (with 4 neighbours also the pixel at either side). All contacts beyond those of above() are of
  // this kind, and each run has at most one, so that every lane has equal work.
  template <class Unite>
  __device__ void join(int r, Unite unite) const {
    const int last = runs_.last[r], row = last / T::width;
    if (r + 1 >= runs_.count || row == T::rows - 1) return;
    const int next = runs_.first[r + 1];
    if (next / T::width != row) return;
    const int from = last % T::width + kReach, to = next % T::width - kReach;
    if (!runs_.is_foreground(from, row + 1) || !runs_.is_foreground(to, row + 1)) return;
    if (runs_.started(from, row + 1) == runs_.started(to, row + 1)) unite(r, r + 1);
  }

 private:
  static constexpr int kReach = connectivity == Connectivity::eight ? 1 : 0;
  TileRuns<T>& runs_;
};

// Contacts of linked pixels, from one bit a pixel and direction.
template <class T, Connectivity connectivity>
class LinkedContacts {
 public:
  using Tile = T;
  struct Bits {  // pixels linked to the one above, above left, above right
    uint32_t up[T::all_words];
    uint32_t up_left[T::all_words];
    uint32_t up_right[T::all_words];
  };

  __device__ LinkedContacts(TileRuns<T>& runs, Bits& bits) : runs_(runs), bits_(bits) {}

  __device__ void read(const Linked& linked, int x, int y) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int w = static_cast<int>(threadIdx.x / 32); w < T::all_words; w += T::threads / 32) {
      const int in_tile = w % T::words * 32 + lane, row = w / T::words;
      const int px = x + in_tile, py = y + row;
      const bool inside = px < linked.frame.width && py < linked.frame.height;
      const auto is_linked = [&](int dx, int dy) {
        const bool both = inside && in_tile + dx >= 0 && in_tile + dx < T::width && row + dy >= 0 &&
                          px + dx < linked.frame.width;
        return __ballot_sync(0xffffffffu, both && linked(px, py, px + dx, py + dy));
      };
      const uint32_t foreground = __ballot_sync(0xffffffffu, inside);
      const uint32_t starts = foreground & ~is_linked(-1, 0);
      const uint32_t up = is_linked(0, -1);
      uint32_t up_left = 0, up_right = 0;
      if constexpr (connectivity == Connectivity::eight) {
        up_left = is_linked(-1, -1);
        up_right = is_linked(1, -1);
      }
      if (lane == 0) {
        runs_.foreground[w] = foreground;
        runs_.starts[w] = starts;
        bits_.up[w] = up;
        bits_.up_left[w] = up_left;
        bits_.up_right[w] = up_right;
      }
    }
    __syncthreads();  // all bits are complete
  }

  __device__ int above(int r) const {
    int found = r;
    for_each_above(r, [&](int run) {
      found = run;
      return false;
    });
    return found;
  }

  template <class Unite>
  __device__ void join(int r, Unite unite) const {
    bool is_first = true;  // which above() has linked
    for_each_above(r, [&](int run) {
      if (!is_first) unite(r, run);
      is_first = false;
      return true;
    });
  }

 private:
  // Calls visit(run) for the runs above that run `r` touches, in order, while it returns true.
  template <class Visit>
  __device__ void for_each_above(int r, Visit visit) const {
    const int first = runs_.first[r], last = runs_.last[r];
    if (first < T::width) return;
    int seen = -1;
    for (int w = first / 32; w <= last / 32; ++w) {
      uint32_t own = 0xffffffffu;  // the run's pixels in this word
      if (w == first / 32) own &= ~below(first % 32);
      if (w == last / 32) own &= up_to(last % 32);
      const uint32_t left = bits_.up_left[w] & own, right = bits_.up_right[w] & own;
      const int a = w - T::words;  // the word above
      const auto touch = [&](int run) {
        const bool is_new = run != seen;
        seen = run;
        return !is_new || visit(run);
      };
      if ((left & 1) && !touch(runs_.rank[a] - 1)) return;
      uint32_t touched = (bits_.up[w] & own) | left >> 1 | right << 1;
      while (touched) {
        const int b = __ffs(touched) - 1;
        if (!touch(runs_.rank[a] + __popc(runs_.starts[a] & up_to(b)) - 1)) return;
        const uint32_t later = runs_.starts[a] & ~up_to(b);  // the next run begins there
        touched = later ? touched & ~((later & (0u - later)) - 1) : 0;
      }
      if ((right >> 31) && !touch(runs_.rank[a + 1] + (runs_.starts[a + 1] & 1) - 1)) return;
    }
  }

  TileRuns<T>& runs_;
  Bits& bits_;
};

}  // namespace regions::cclabel

#endif
