// Which runs of the row above a run touches: by arithmetic for `binary`, by link bits for `equal`
// and `difference`.
#pragma once

#include <concepts>

#include "gpu/cclabel/pictures/link_rows.hpp"
#include "gpu/cclabel/pictures/runs.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Which runs touch, whatever the criterion: above() is called for all runs, by whole warps that
// have a lane for each and `exists` where there is one; then join_further(), by all threads.
template <class C>
concept RunContacts = requires(const C& contacts, uint32_t* parent, int run) {
  typename C::Tile;
  typename C::Bits;
  { contacts.above(run, true) } -> std::convertible_to<int>;
  contacts.join_further(parent);
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
  __device__ int above(int r, bool /*exists*/) const {
    const int first = runs_.first(r), row = first / T::width;
    if (row == 0) return r;
    const int left = max(first % T::width - kReach, 0);
    const int right = min(runs_.last(r) % T::width + kReach, T::width - 1);
    const int from = runs_.started(left, row - 1) - runs_.is_foreground(left, row - 1);
    return from < runs_.started(right, row - 1) ? from : r;
  }

  // All contacts beyond those of above() are of two runs side by side that one below touches, and
  // each run has at most one, so that every lane has equal work.
  __device__ void join_further(uint32_t* parent) const {
    runs_.for_each([&](int r, bool exists) {
      unite(parent, static_cast<uint32_t>(r), static_cast<uint32_t>(r + 1),
            exists && touches_next_below(r));
    });
  }

 private:
  // Whether one run below touches r and r + 1: then it covers the gap between them (with 4
  // neighbours also the pixel at either side).
  __device__ bool touches_next_below(int r) const {
    const int last = runs_.last(r), row = last / T::width;
    if (r + 1 >= runs_.count || row == T::rows - 1) return false;
    const int next = runs_.first(r + 1);
    const int from = last % T::width + kReach, to = next % T::width - kReach;
    return next / T::width == row && runs_.is_foreground(from, row + 1) &&
           runs_.is_foreground(to, row + 1) &&
           runs_.started(from, row + 1) == runs_.started(to, row + 1);
  }

  static constexpr int kReach = connectivity == Connectivity::eight ? 1 : 0;
  TileRuns<T>& runs_;
};

// Contacts of linked pixels, from one bit a pixel and direction.
template <class T, Connectivity connectivity, class Links>
class LinkedContacts {
 public:
  using Tile = T;
  static constexpr int kMostPairs = 1024;
  struct Bits {  // pixels linked to the one above, above left, above right
    alignas(8) uint32_t up[T::all_words];
    alignas(8) uint32_t up_left[T::all_words];
    alignas(8) uint32_t up_right[T::all_words];
    int further;                // contacts beyond the first of each run
    uint32_t pair[kMostPairs];  // of runs in them, r | above << 16, if they are no more
  };

  __device__ LinkedContacts(TileRuns<T>& runs, Bits& bits) : runs_(runs), bits_(bits) {}

  // Fills all bits. Ends with a barrier.
  __device__ void read(const Links& links, int x, int y) {
    if (threadIdx.x == 0) bits_.further = 0;
    switch (links.stored(x + T::width <= links.width())) {
      case Stored::in_words:
        read_rows(LinkRows<Links, Stored::in_words, T::words>(links, x, y), links, x, y);
        break;
      case Stored::packed:
        read_rows(LinkRows<Links, Stored::packed, T::words>(links, x, y), links, x, y);
        break;
      default:
        read_rows(LinkRows<Links, Stored::apart, T::words>(links, x, y), links, x, y);
    }
    __syncthreads();  // all bits are complete
  }

  // The first run above that run `r` touches, or `r`; lists the others.
  __device__ int above(int r, bool exists) const {
    Walk walk(*this, r, exists);
    const int first = walk.next();
    while (true) {
      const int run = walk.next();
      const uint32_t found = __ballot_sync(kAllLanes, run >= 0);
      if (found == 0) return first < 0 ? r : first;
      list(found, static_cast<uint32_t>(r) | static_cast<uint32_t>(run) << 16);
    }
  }

  __device__ void join_further(uint32_t* parent) const {
    const int lane = static_cast<int>(threadIdx.x % 32), count = bits_.further;
    if (count > kMostPairs) {
      return runs_.for_each([&](int r, bool exists) { join_all(parent, r, exists); });
    }
    for (int i = static_cast<int>(threadIdx.x) - lane; i < count; i += T::threads) {
      const bool exists = i + lane < count;
      const uint32_t pair = exists ? bits_.pair[i + lane] : 0;
      unite(parent, pair & 0xffffu, pair >> 16, exists);
    }
  }

 private:
  // Of the lanes in `found`, each one's pair of runs.
  __device__ void list(uint32_t found, uint32_t pair) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    int at = lane == 0 ? atomicAdd(&bits_.further, __popc(found)) : 0;
    at = __shfl_sync(kAllLanes, at, 0) + __popc(found & below(lane));
    if ((found >> lane & 1) && at < kMostPairs) bits_.pair[at] = pair;
  }
  // Joins r to all runs above that it touches, one of each lane at a time.
  __device__ void join_all(uint32_t* parent, int r, bool exists) const {
    Walk walk(*this, r, exists);
    while (__any_sync(kAllLanes, walk.touched != 0)) {
      const int run = walk.next();
      unite(parent, static_cast<uint32_t>(r), static_cast<uint32_t>(run), run >= 0);
    }
  }

  __device__ static uint64_t row_of(const uint32_t* words, int row) {
    static_assert(T::words == 2);
    const uint2 both = reinterpret_cast<const uint2*>(words)[row];
    return static_cast<uint64_t>(both.y) << 32 | both.x;
  }
  // Walks over the runs above that a run touches, from left to right.
  struct Walk {
    uint64_t touched;  // pixels of the row above, still to come
    uint64_t starts;   // of runs there
    int before;        // runs of the tile that start before that row

    __device__ Walk(const LinkedContacts& contacts, int r, bool exists) {
      const int first = contacts.runs_.first(r), last = contacts.runs_.last(r);
      const int row = first / T::width;
      const uint64_t own =
          ~uint64_t{0} << first % T::width & ~uint64_t{0} >> (~last & (T::width - 1));
      const auto linked = [&](const uint32_t* bits) { return row_of(bits, row) & own; };
      const Bits& bits = contacts.bits_;
      touched = linked(bits.up) | linked(bits.up_left) >> 1 | linked(bits.up_right) << 1;
      if (!exists) touched = 0;
      const int above = max(row - 1, 0);  // the first row's pixels touch none
      starts = row_of(contacts.runs_.starts, above);
      before = contacts.runs_.rank[above * T::words];
    }
    // The next run, or -1.
    __device__ int next() {
      if (touched == 0) return -1;
      const uint64_t pixel = touched & (0 - touched), up_to = pixel | (pixel - 1);
      const uint64_t later = starts & ~up_to;  // the next run begins there
      touched &= ~((later & (0 - later)) - 1);
      return before + __popcll(starts & up_to) - 1;
    }
  };

  // Of the 32 pixels of a word, which are linked to their neighbours.
  struct Votes {
    uint32_t left = 0, up = 0, up_left = 0;
    uint32_t left_up = 0;  // whether the neighbour at the left is to the one above
  };

  // A warp has some rows of the tile and keeps them in registers: a pixel is loaded once, and all
  // loads are on their way before the first is waited for. All lanes vote, whether or not their
  // pixels and neighbours exist; then a lane has a word, and leaves the links of those that do.
  template <class Rows>
  __device__ void read_rows(const Rows& rows, const Links& links, int x, int y) {
    constexpr int kRows = T::rows / (T::threads / 32), kWords = kRows * T::words;  // of a warp
    static_assert(kWords <= 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int first = static_cast<int>(threadIdx.x / 32) * kRows;
    uint32_t loaded[kRows + 1][T::words];  // from the row above on
#pragma unroll
    for (int k = 0; k <= kRows; ++k) rows.load(first + k - 1, loaded[k]);
    Row above(rows, loaded[0]);
    Votes own;
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const Row now(rows, loaded[k + 1]);
#pragma unroll
      for (int w = 0; w < T::words; ++w) {
        const auto vote = [&](uint32_t one, uint32_t other) {
          return __ballot_sync(kAllLanes, links(one, other));
        };
        Votes votes{vote(now.here[w], now.left[w]), vote(now.here[w], above.here[w])};
        if constexpr (connectivity == Connectivity::eight) {
          votes.up_left = vote(now.here[w], above.left[w]);
          votes.left_up = vote(now.left[w], above.here[w]);
        }
        if (lane == k * T::words + w) own = votes;
      }
      above = now;
    }
    const uint32_t next_left_up = __shfl_down_sync(kAllLanes, own.left_up, 1);
    if (lane < kWords) keep(own, next_left_up, first * T::words + lane, links, x, y);
  }

  // Of the word's pixels, the links to those that exist.
  __device__ void keep(const Votes& votes, uint32_t next_left_up, int word, const Links& links,
                       int x, int y) {
    const int row = word / T::words, w = word % T::words;
    const int width = y + row < links.height() ? min(links.width() - x, T::width) : 0;
    const auto inside = [&](int at) {
      const int rest = width - at * 32;
      return rest <= 0 ? 0 : rest >= 32 ? 0xffffffffu : below(rest);
    };
    const uint32_t here = inside(w), up = row > 0 ? here : 0;
    const uint32_t left = w > 0 ? here : here & ~1u;
    const uint32_t right = here >> 1 | inside(w + 1) << 31;
    runs_.foreground[word] = here;
    runs_.starts[word] = here & ~(votes.left & left);
    bits_.up[word] = votes.up & up;
    bits_.up_left[word] = votes.up_left & up & left;
    bits_.up_right[word] = (votes.left_up >> 1 | next_left_up << 31) & up & right;
  }

  // A row of the tile: a lane has the pixel of its place in each word, and the one at its left.
  struct Row {
    uint32_t left[T::words], here[T::words];

    template <class Rows>
    __device__ Row(const Rows& rows, const uint32_t (&loaded)[T::words]) {
      const int lane = static_cast<int>(threadIdx.x % 32);
      uint32_t before[T::words];  // turned round within the word
#pragma unroll
      for (int w = 0; w < T::words; ++w) {
        here[w] = rows.color(loaded[w]);
        before[w] = __shfl_sync(kAllLanes, here[w], (lane + 31) % 32);
        left[w] = lane == 0 && w > 0 ? before[w > 0 ? w - 1 : 0] : before[w];
      }
    }
  };

  TileRuns<T>& runs_;
  Bits& bits_;
};

}  // namespace regions::cclabel

#endif
