// Contacts for `binary`: by the bits of a row and of those above and below.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/pictures/runs.hpp"
#include "gpu/primitives/union_find.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Runs that one below joins to the run at their left.
template <class T>
struct JoinedRuns {
  int count;
  uint16_t run[T::joined];  // if they are no more
};

// Contacts of foreground pixels. With 8 neighbours a run reaches one pixel beyond its ends.
template <class T, Connectivity connectivity, class Reader>
class ForegroundContacts {
 public:
  using Tile = T;
  using Shared = JoinedRuns<T>;
  static constexpr int least_together = T::together;  // blocks on a multiprocessor

  __device__ ForegroundContacts(TileRuns<T>& runs, Shared& joined) : runs_(runs), joined_(joined) {}

  // Fills foreground and starts, of so many rows, and finds runs that are joined. Ends with a
  // barrier.
  __device__ void read(const Reader& reader, int x, int y, int rows = T::rows) {
    reader.template read<T>(runs_.foreground, x, y, rows);
    __syncthreads();  // foreground is complete
    const int w = static_cast<int>(threadIdx.x);
    if (w < T::all_words) {
      const uint32_t bits = runs_.foreground[w];
      const uint32_t carry = w % T::words ? runs_.foreground[w - 1] >> 31 : 0;
      runs_.starts[w] = bits & ~(bits << 1 | carry);
      own_ = runs_.starts[w] & covered_before(w);
    }
    __syncthreads();  // starts are complete
  }

  __device__ uint32_t marked() const { return own_; }

  // Lists the runs that are joined.
  __device__ void hang(uint32_t* parent, const MarkedStarts& joined) const {
    if (threadIdx.x == 0) joined_.count = static_cast<int>(joined.all);
    const int w = static_cast<int>(threadIdx.x);
    int at = static_cast<int>(joined.before);
    for (uint32_t bits = own_; bits && at < T::joined; bits &= bits - 1, ++at) {
      const uint32_t before = runs_.starts[w] & (bits - 1) & ~bits;
      joined_.run[at] = static_cast<uint16_t>(runs_.rank[w] + __popc(before));
    }
    runs_.for_each([&](int r, bool exists) {
      if (exists) parent[r] = static_cast<uint32_t>(above(r));
    });
  }

  // All contacts beyond those of hang() are of two runs side by side that one below touches: it
  // covers the gap between them (with 4 neighbours also the pixel at either side).
  __device__ void join_further(uint32_t* parent) const {
    const auto join = [&](int r, bool is_joined) {
      unite(parent, static_cast<uint32_t>(r - 1), static_cast<uint32_t>(r), is_joined);
    };
    if (joined_.count <= T::joined) {
      return for_each_lane<T::threads>(joined_.count,
                                       [&](int i, bool exists) { join(joined_.run[i], exists); });
    }
    runs_.for_each([&](int r, bool exists) {
      const int first = runs_.first(r);
      join(r, exists && (covered_before(first / 32) >> first % 32 & 1));
    });
  }

 private:
  // The first run above that run `r` touches, or `r`.
  __device__ int above(int r) const {
    const int first = runs_.first(r), row = first / T::width;
    if (row == 0) return r;
    const int left = max(first % T::width - kReach, 0);
    const int right = min(runs_.last(r) % T::width + kReach, T::width - 1);
    const int from = runs_.started(left, row - 1) - runs_.is_foreground(left, row - 1);
    return from < runs_.started(right, row - 1) ? from : r;
  }

  // A word's pixels of gaps, and their sum with those of them that are not covered: it carries from
  // these to the first pixel behind the gap.
  struct Gaps {
    uint32_t pixels, sum;

    __device__ Gaps(const TileRuns<T>& runs, int w, uint32_t carry) : pixels(~runs.foreground[w]) {
      const int below = w + T::words;
      uint32_t covered = runs.foreground[below];
      if (kReach == 0) {
        covered &= covered << 1 | (w % T::words ? runs.foreground[below - 1] >> 31 : 0);
      }
      sum = pixels + (pixels & ~covered) + carry;
    }
  };
  // As bits that count for starts in the word: whether the gap before is covered.
  __device__ uint32_t covered_before(int w) const {
    if (w >= T::all_words - T::words) return 0;  // there is no row below
    const uint32_t covered = ~Gaps(runs_, w, carry_into(w)).sum;
    return kReach > 0 ? covered : covered & runs_.foreground[w + T::words];
  }
  // What a gap that goes on into the word carries there. Before a row's first run is none.
  __device__ uint32_t carry_into(int w) const {
    while (w % T::words) {
      const Gaps gaps(runs_, --w, 0);
      if (gaps.sum < gaps.pixels) return 1;
      if (gaps.sum != 0xffffffffu) return 0;  // else the gap goes on to the left
    }
    return 1;
  }

  static constexpr int kReach = connectivity == Connectivity::eight ? 1 : 0;
  TileRuns<T>& runs_;
  Shared& joined_;
  uint32_t own_ = 0;  // starts of joined runs in the thread's word
};

}  // namespace regions::cclabel

#endif
