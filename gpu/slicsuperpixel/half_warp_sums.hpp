// What a warp's lanes have counted for each candidate, summed by tensor cores. A lane's sums are
// small integers, 16 bits each; as half-precision floats such bits say the same integer times
// 2^-24 (zero to 2047: subnormal numbers and the normal ones next to them), so that products with
// ones and with columns, summed as single-precision floats, are exact.
#pragma once

#include "gpu/slicsuperpixel/block_sums.hpp"

#ifdef __CUDACC__

namespace regions::slic {

constexpr int kLast = kCandidates - 1;  // the candidate that does not fit in with eight others
constexpr int kCountedAtOnce = 8;       // pixels of a lane: 8 of 255 are below 2048

// A lane's sums for one candidate: components 0 and 2; component 1, the rows and the count.
struct alignas(8) LaneCounter {  // read and written as one
  uint32_t even, odd;
};

// Of one warp, whose halves count apart from each other.
struct alignas(16) WarpCounters {
  // [candidate][place of the lane]. In the second half neighbouring pairs of lanes have changed
  // places: so both halves' pairs of the same number are in different banks.
  LaneCounter counter[kCandidates + 1][32];

  static __device__ int place_of(int lane) { return lane ^ (lane >> 3 & 2); }
  __device__ void clear(int lane) {
    auto* const to = reinterpret_cast<uint4*>(counter);
    static_assert(sizeof(counter) % (32 * sizeof(uint4)) == 0);
#pragma unroll
    for (unsigned i = 0; i < sizeof(counter) / (32 * sizeof(uint4)); ++i) {
      to[32 * i + static_cast<unsigned>(lane)] = {};
    }
  }
};

// A lane's counters, by their address in shared memory: as an array, each would take the compiler
// four instructions to find in place of two.
class LaneCounters {
 public:
  __device__ LaneCounters(WarpCounters& counters, int lane)
      : first_(static_cast<uint32_t>(
            __cvta_generic_to_shared(&counters.counter[0][WarpCounters::place_of(lane)]))) {}
  // A pixel for the candidate in the lowest four bits of a score.
  __device__ void add(int score, uint32_t color) const {
    uint32_t place;
    asm("and.b32 %0, %1, 15;" : "=r"(place) : "r"(score));
    const uint32_t at = first_ + place * kStride;
    LaneCounter sum;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(sum.even), "=r"(sum.odd)
                 : "r"(at)
                 : "memory");
    sum.even += color & 0x00ff00ffu;
    sum.odd += __byte_perm(color, 0, 0x4341) + (1u << 24);  // bytes 1 and 3
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(at), "r"(sum.even), "r"(sum.odd)
                 : "memory");
  }

 private:
  static constexpr uint32_t kStride = sizeof(WarpCounters::counter[0]);
  uint32_t first_;
};

// sum += a b, of 16 x 8 and 8 x 8 halves. Of a, a lane has two numbers of row lane / 4 and, in the
// other word, two of the row eight below; of the sum, it has two numbers of each.
__device__ inline void multiply(float (&sum)[4], uint32_t upper, uint32_t lower, uint32_t b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(upper), "r"(lower), "r"(b));
}
// Two of these.
__device__ inline void multiply(float (&sum)[4], uint4 a, uint32_t b0, uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
#else
  multiply(sum, a.x, a.y, b0);
  multiply(sum, a.z, a.w, b1);
#endif
}

// The integer that a sum stands for.
__device__ inline uint32_t integer_of(float sum) {
  return __float_as_uint(sum + 0.5f) - __float_as_uint(0.5f);
}

// What a lane adds to a cluster: two words, if it is one of the first three of four.
struct Share {
  uint32_t color;  // of component 0, 2 or 1
  uint32_t rest;   // rows, columns or count
};

// The part that a lane takes in the products. A row of them is a candidate of a half warp; four
// lanes have its numbers, and each has a share of what comes out.
struct SumLane {
  int half, candidate, share;

  REGIONS_HD constexpr explicit SumLane(int lane)
      : half(lane >> 2 & 1), candidate(lane >> 3), share(lane & 3) {}
  // Whose counter of the last candidate it reads, in its half.
  REGIONS_HD constexpr int column() const { return 4 * share + candidate; }
};

// What a lane multiplies what it reads with, for what comes out in columns 0..7.
struct alignas(16) Factors {
  uint32_t fields;                  // component 0 or 1, -, 2, -, 0 or 1, -, -, -
  uint32_t rows;                    // -, rows, -, -, -, -, -, -
  uint32_t counts, further_counts;  // count, -, count, columns, -, count, -, -
};

// What there is to know before lanes add up, for blocks of shape T. To be copied to shared memory:
// read from where it is made, it would hold up every warp at the end of its work.
template <class T>
struct SumPlan {
  Factors factors[32];
  // Of a lane's two candidates and of the last: the words of the block's sums, from those of the
  // strip's cell, that its share goes to, and how many cells are to be added to each place.
  int color[3][32], rest[3][32], sides[3][32];

  constexpr SumPlan() : factors(), color(), rest(), sides() {
    for (int lane = 0; lane < 32; ++lane) {
      const SumLane own(lane);
      const int number = lane / 4;
      const auto columns = [&](int first) {
        const auto column = static_cast<uint32_t>(first);
        return number == 3                                 ? both(half(column), half(column + 1))
               : number == 0 || number == 2 || number == 5 ? both(kOne, kOne)
                                                           : 0;
      };
      factors[lane] = {number == 0 || number == 4 ? kOne
                       : number == 2              ? both(0, kOne)
                                                  : 0,
                       number == 1 ? both(kOne, kOne) : 0, columns(4 * own.share),
                       columns(4 * own.share + 2)};
      const int candidates[3] = {own.candidate, own.candidate + 4, kLast};
      for (int i = 0; i < 3; ++i) {
        const int across = candidates[i] % 3, below = candidates[i] / 3;
        const int first = (below * T::halo_x + across) * kSumWords;
        color[i][lane] = first + (own.share == 0 ? 0 : own.share == 1 ? 2 : 1);
        rest[i][lane] = first + (own.share == 0 ? 4 : own.share == 1 ? 3 : 5);
        sides[i][lane] = own.share == 0 ? 2 - below : own.share == 1 ? 2 - across : 0;
      }
    }
  }

  // All threads of the block; a barrier must follow.
  __device__ void copy(const SumPlan& from) {
    constexpr int kPieces = sizeof(SumPlan) / sizeof(uint4);
    static_assert(sizeof(SumPlan) % sizeof(uint4) == 0);
    share_out<T, kPieces>([&](int i) {
      reinterpret_cast<uint4*>(this)[i] = reinterpret_cast<const uint4*>(&from)[i];
    });
  }

 private:
  static constexpr uint32_t kOne = 0x3c00;  // as a half
  static constexpr uint32_t both(uint32_t low, uint32_t high) { return low | high << 16; }
  static constexpr uint32_t half(uint32_t value) {  // of 0..15
    uint32_t top = 1, exponent = 15;
    while (2 * top <= value) top *= 2, ++exponent;
    return value == 0 ? 0 : exponent << 10 | (value - top) * (1024 / top);
  }
};
template <class T>
__device__ const SumPlan<T> kSumPlan;

// Two bytes of two lanes' counters, as halves. Byte 1's highest bit is never set: repeated, it
// stands for zeros (__byte_perm() does not promise to repeat it).
__device__ inline uint32_t take(uint32_t choice, uint32_t one, uint32_t other) {
  uint32_t bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(one), "r"(other), "r"(choice));
  return bytes;
}

// Of the candidates `candidate` and `candidate + 4` of the lane's row.
struct HalfWarpSums {
  float fields[2][4] = {};
  float rest[4] = {};

  __device__ void add(const WarpCounters& counters, const SumLane& own, const Factors& factors) {
    uint4 pair[2][2];  // of lanes
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int at = 8 * own.half + 2 * own.share + (k ^ own.half);
        pair[i][k] = reinterpret_cast<const uint4*>(counters.counter[own.candidate + 4 * i])[at];
        multiply(fields[i], pair[i][k], factors.fields, factors.fields);
      }
    }
    const auto both = [&](uint32_t choice) {
      const auto of = [&](int i, int k) { return take(choice, pair[i][k].y, pair[i][k].w); };
      return uint4{of(0, 0), of(1, 0), of(0, 1), of(1, 1)};
    };
    multiply(rest, both(0xd692), factors.rows, factors.rows);
    multiply(rest, both(0xd793), factors.counts, factors.further_counts);
  }
  __device__ Share share(const SumLane& own, int i, int reach) const {
    return {integer_of(own.share == 2 ? fields[i][2] : fields[i][0]),
            integer_of(rest[2 * i + 1]) + integer_of(rest[2 * i]) * static_cast<uint32_t>(reach)};
  }
};

// Of the last candidate: a lane reads one counter and has a sum of four.
struct LastSums {
  LaneCounter counter;

  __device__ LastSums(const WarpCounters& counters, const SumLane& own)
      : counter(counters.counter[kLast][WarpCounters::place_of(16 * own.half + own.column())]) {}
  __device__ Share share(const SumLane& own, const Factors& factors, int reach) const {
    float fields[4] = {}, rest[4] = {};
    multiply(fields, counter.even, counter.odd, factors.fields);
    multiply(rest, take(0x9992, counter.odd, 0), take(0x9993, counter.odd, 0), factors.counts);
    return {integer_of(own.share == 2 ? fields[2] : fields[0]),
            integer_of(own.share == 0 ? rest[0] : rest[3]) +
                integer_of(rest[2]) * static_cast<uint32_t>(reach)};
  }
};

}  // namespace regions::slic

#endif
