// Which runs of the row above a run touches: by arithmetic for `binary`, by link bits for `equal`
// and `difference`.
#pragma once

#include <concepts>

#include "gpu/cclabel/base/subject.hpp"
#include "gpu/cclabel/pictures/runs.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Which runs touch: by these two questions union-find knows all contacts, whatever the criterion.
template <class C>
concept RunContacts = requires(const C& contacts, uint32_t* parent, int run) {
  typename C::Tile;
  typename C::Bits;
  { contacts.above(run) } -> std::convertible_to<int>;
  contacts.join(parent, run, true);
};

// Contacts of foreground pixels. With 8 neighbours a run reaches one pixel beyond its ends.
template <class T, Connectivity connectivity, class Reader>
class ForegroundContacts {
 public:
  using Tile = T;
  struct Bits {};  // nothing beyond foreground and starts

  __device__ ForegroundContacts(TileRuns<T>& runs, Bits&) : runs_(runs) {}

  // Fills foreground and starts, of so many rows. Ends with a barrier.
  __device__ void read(const Reader& reader, int x, int y, int rows = T::rows) {
    reader.template read<T>(runs_.foreground, x, y, rows);
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

  // Joins r to r + 1 where one run below touches both: then it covers the gap between them (with 4
  // neighbours also the pixel at either side). All contacts beyond those of above() are of this
  // kind, and each run has at most one, so that every lane has equal work.
  __device__ void join(uint32_t* parent, int r, bool exists) const {
    const int last = runs_.last[r], row = last / T::width;
    bool wanted = false;
    if (exists && r + 1 < runs_.count && row < T::rows - 1) {
      const int next = runs_.first[r + 1];
      const int from = last % T::width + kReach, to = next % T::width - kReach;
      if (next / T::width == row && runs_.is_foreground(from, row + 1) &&
          runs_.is_foreground(to, row + 1)) {
        wanted = runs_.started(from, row + 1) == runs_.started(to, row + 1);
      }
    }
    unite(parent, static_cast<uint32_t>(r), static_cast<uint32_t>(r + 1), wanted);
  }

 private:
  static constexpr int kReach = connectivity == Connectivity::eight ? 1 : 0;
  TileRuns<T>& runs_;
};

// Contacts of linked pixels, from one bit a pixel and direction.
template <class T, Connectivity connectivity, class Links>
class LinkedContacts {
 public:
  using Tile = T;
  struct Bits {  // pixels linked to the one above, above left, above right
    uint32_t up[T::all_words];
    uint32_t up_left[T::all_words];
    uint32_t up_right[T::all_words];
  };

  __device__ LinkedContacts(TileRuns<T>& runs, Bits& bits) : runs_(runs), bits_(bits) {}

  // Fills all bits. A warp has some rows of the tile and keeps them in registers: a pixel is loaded
  // once, and all loads are on their way before the first is waited for. Ends with a barrier.
  __device__ void read(const Links& links, int x, int y) {
    constexpr int kRows = T::rows / (T::threads / 32);  // of a warp
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int first_row = static_cast<int>(threadIdx.x / 32) * kRows;
    Loaded loaded[kRows + 1];  // from the row above on
#pragma unroll
    for (int k = 0; k <= kRows; ++k) loaded[k].load(links, x, y, first_row + k - 1);
    Row above(links, loaded[0], x, y, first_row - 1);
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int row = first_row + k;
      const Row now(links, loaded[k + 1], x, y, row);
#pragma unroll
      for (int w = 0; w < T::words; ++w) {
        const auto linked = [&](uint32_t other, uint32_t where) {
          return __ballot_sync(kAllLanes, links(now.here[w], other)) & where & now.inside[w];
        };
        const uint32_t continued = linked(now.left[w], now.has_left(w));
        const uint32_t up = linked(above.here[w], above.inside[w]);
        uint32_t up_left = 0, up_right = 0;
        if constexpr (connectivity == Connectivity::eight) {
          up_left = linked(above.left[w], above.has_left(w));
          up_right = linked(above.right[w], above.has_right(w));
        }
        if (lane != 0) continue;
        const int word = row * T::words + w;
        runs_.foreground[word] = now.inside[w];
        runs_.starts[word] = now.inside[w] & ~continued;
        bits_.up[word] = up;
        bits_.up_left[word] = up_left;
        bits_.up_right[word] = up_right;
      }
      above = now;
    }
    __syncthreads();  // all bits are complete
  }

  __device__ int above(int r) const {
    Walk walk(*this, r);
    const int run = walk.next(*this);
    return run < 0 ? r : run;
  }

  // Joins r to all runs above that it touches but the first, which above() has linked: one of each
  // lane at a time.
  __device__ void join(uint32_t* parent, int r, bool exists) const {
    Walk walk(*this, r);
    int run = exists ? walk.next(*this) : -1;
    while (true) {
      if (run >= 0) run = walk.next(*this);
      if (!__any_sync(kAllLanes, run >= 0)) return;
      unite(parent, static_cast<uint32_t>(r), static_cast<uint32_t>(run >= 0 ? run : r), run >= 0);
    }
  }

 private:
  // Walks over the runs above that a run touches, from left to right.
  struct Walk {
    int word, end;     // of the run: where the walk is, and behind its last
    int first, last;   // pixels of the run
    int seen = -1;     // the run found last
    uint32_t touched;  // pixels of the row above, in the columns of the word, still to come
    uint32_t before;   // whether the last pixel before them, or the first behind, is touched
    uint32_t behind;

    __device__ Walk(const LinkedContacts& contacts, int r)
        : first(contacts.runs_.first[r]), last(contacts.runs_.last[r]) {
      word = first / 32;
      end = first < T::width ? word : last / 32 + 1;
      touched = before = behind = 0;
      if (word < end) enter(contacts);
    }
    __device__ void enter(const LinkedContacts& contacts) {
      uint32_t own = 0xffffffffu;  // the run's pixels in this word
      if (word == first / 32) own &= ~below(first % 32);
      if (word == last / 32) own &= up_to(last % 32);
      const uint32_t left = contacts.bits_.up_left[word] & own;
      const uint32_t right = contacts.bits_.up_right[word] & own;
      touched = (contacts.bits_.up[word] & own) | left >> 1 | right << 1;
      before = left & 1;
      behind = right >> 31;
    }
    // The next run, or -1.
    __device__ int next(const LinkedContacts& contacts) {
      const TileRuns<T>& runs = contacts.runs_;
      while (word < end) {
        const int above = word - T::words;
        int run = -1;
        if (before) {
          before = 0;
          run = runs.rank[above] - 1;
        } else if (touched) {
          const int b = __ffs(static_cast<int>(touched)) - 1;
          run = runs.rank[above] + __popc(runs.starts[above] & up_to(b)) - 1;
          const uint32_t later = runs.starts[above] & ~up_to(b);  // the next run begins there
          touched = later ? touched & ~((later & (0u - later)) - 1) : 0;
        } else if (behind) {
          behind = 0;
          run = runs.rank[above + 1] + static_cast<int>(runs.starts[above + 1] & 1) - 1;
        } else {
          if (++word < end) enter(contacts);
          continue;
        }
        if (run == seen) continue;
        seen = run;
        return run;
      }
      return -1;
    }
  };

  // What a lane has loaded for the pixel of its place in each word of a row.
  struct Loaded {
    uint32_t here[T::words];

    __device__ void load(const Links& links, int x, int y, int row) {
      const int lane = static_cast<int>(threadIdx.x % 32);
      const int width = row >= 0 && y + row < links.height() ? links.width() - x : 0;
#pragma unroll
      for (int w = 0; w < T::words; ++w) {
        const int rest = width - w * 32;
        here[w] = lane < rest ? links.load(x + w * 32 + lane, y + row, rest >= 32) : 0;
      }
    }
  };

  // A row of the tile: a lane has the pixel of its place in each word, and that one's neighbours.
  // `inside` says which lie in the tile and the picture.
  struct Row {
    uint32_t left[T::words], here[T::words], right[T::words];
    uint32_t inside[T::words];

    __device__ Row(const Links& links, const Loaded& loaded, int x, int y, int row) {
      const int lane = static_cast<int>(threadIdx.x % 32);
      const int width = row >= 0 && y + row < links.height() ? links.width() - x : 0;
      uint32_t before[T::words], behind[T::words];  // turned round within the word
#pragma unroll
      for (int w = 0; w < T::words; ++w) {
        const int rest = width - w * 32;
        inside[w] = rest <= 0 ? 0 : rest >= 32 ? 0xffffffffu : below(rest);
        here[w] = links.unpack(loaded.here[w], rest >= 32);
      }
#pragma unroll
      for (int w = 0; w < T::words; ++w) {
        before[w] = __shfl_sync(kAllLanes, here[w], (lane + 31) % 32);
        behind[w] = __shfl_sync(kAllLanes, here[w], (lane + 1) % 32);
      }
#pragma unroll
      for (int w = 0; w < T::words; ++w) {
        left[w] = lane == 0 && w > 0 ? before[w > 0 ? w - 1 : 0] : before[w];
        right[w] =
            lane == 31 && w + 1 < T::words ? behind[w + 1 < T::words ? w + 1 : w] : behind[w];
      }
    }
    // Whether the pixels' neighbours are inside.
    __device__ uint32_t has_left(int w) const {
      return inside[w] << 1 | (w > 0 ? inside[w > 0 ? w - 1 : 0] >> 31 : 0);
    }
    __device__ uint32_t has_right(int w) const {
      return inside[w] >> 1 | (w + 1 < T::words ? inside[w + 1 < T::words ? w + 1 : w] << 31 : 0);
    }
  };

  TileRuns<T>& runs_;
  Bits& bits_;
};

}  // namespace regions::cclabel

#endif
