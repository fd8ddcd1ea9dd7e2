// Contacts for `equal` and `difference`: by bits of links.
#pragma once

#include "gpu/cclabel/pictures/link_rows.hpp"
#include "gpu/cclabel/pictures/runs.hpp"
#include "gpu/primitives/union_find.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Contacts of linked pixels, from one bit a pixel and direction.
template <class T, Connectivity connectivity, class Links>
class LinkedContacts {
 public:
  using Tile = T;
  static constexpr int least_together = 4;
  static constexpr int kMaxPairs = 1024;
  struct Shared {  // pixels linked to the one above, above left, above right
    alignas(8) uint32_t up[T::all_words];
    alignas(8) uint32_t up_left[T::all_words];
    alignas(8) uint32_t up_right[T::all_words];
    int further;               // contacts beyond the first of each run
    uint32_t pair[kMaxPairs];  // of runs in them, r | above << 16, if they are no more
  };

  __device__ LinkedContacts(TileRuns<T>& runs, Shared& bits) : runs_(runs), bits_(bits) {}

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

  __device__ uint32_t marked() const { return 0; }

  // Lists the contacts beyond the first of each run.
  __device__ void hang(uint32_t* parent, const MarkedStarts&) const {
    runs_.for_each([&](int r, bool exists) {
      Walk walk(*this, r, exists);
      const int first = walk.next();
      if (exists) parent[r] = static_cast<uint32_t>(first < 0 ? r : first);
      while (true) {
        const int run = walk.next();
        const uint32_t found = __ballot_sync(kAllLanes, run >= 0);
        if (found == 0) return;
        list(found, static_cast<uint32_t>(r) | static_cast<uint32_t>(run) << 16);
      }
    });
  }

  __device__ void join_further(uint32_t* parent) const {
    const int count = bits_.further;
    if (count > kMaxPairs) {
      return runs_.for_each([&](int r, bool exists) { join_all(parent, r, exists); });
    }
    for_each_lane<T::threads>(count, [&](int i, bool exists) {
      const uint32_t pair = bits_.pair[i];
      unite(parent, pair & 0xffffu, pair >> 16, exists);
    });
  }

 private:
  // Of the lanes in `found`, each one's pair of runs.
  __device__ void list(uint32_t found, uint32_t pair) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    int at = lane == 0 ? atomicAdd(&bits_.further, __popc(found)) : 0;
    at = __shfl_sync(kAllLanes, at, 0) + __popc(found & below(lane));
    if ((found >> lane & 1) && at < kMaxPairs) bits_.pair[at] = pair;
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
      const Shared& bits = contacts.bits_;
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
  Shared& bits_;
};

}  // namespace regions::cclabel

#endif
