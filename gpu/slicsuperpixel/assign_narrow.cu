// The iterations of SLIC for cells up to 16 pixels wide and 32 pixels high. Unlike in assign.cu, a
// warp processes two neighbouring cells, each lane processes one column of a cell, and tensor cores
// sum the counters of the lanes.
//
// A counter has fields of 16 or 8 bits that contain small integers. If the bits of an integer from
// 0 to 2047 are read as a half-precision float, the value is exactly the integer times 2^-24. The
// products of these floats with ones and with column numbers are therefore exact when they are
// summed in single precision.
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/assign.hpp"

namespace regions::slicsuperpixel {
namespace {

// Candidate 8 is handled separately from candidates 0..7.
constexpr int kLastCandidate = kCandidates - 1;
// Number of pixels that a lane counts before its counters are summed and cleared. The sum of 8
// values of at most 255 is below 2048, as the method described above requires.
constexpr int kCountedAtOnce = 8;

// The sums over those pixels of one lane that chose one candidate. `even` contains the sums of
// colour components 0 and 2. `odd` contains the sum of component 1 (lowest 16 bits), the sum of row
// numbers (8 bits), and the number of pixels (8 bits). The struct is aligned, so that a single
// instruction can load or store a counter.
struct alignas(8) LaneCounter {
  uint32_t even, odd;
};

// The counters of one warp. The two half warps count the pixels of two different cells.
struct alignas(16) WarpCounters {
  // [candidate][position of the lane]. In the second half warp, the positions of neighbouring pairs
  // of lanes are swapped. The same pair of lanes in the two half warps then uses different banks of
  // shared memory.
  LaneCounter counter[kCandidates + 1][32];

  static __device__ int position_of(int lane) { return lane ^ (lane >> 3 & 2); }
  __device__ void clear(int lane) {
    auto* const to = reinterpret_cast<uint4*>(counter);
    static_assert(sizeof(counter) % (32 * sizeof(uint4)) == 0);
#pragma unroll
    for (unsigned i = 0; i < sizeof(counter) / (32 * sizeof(uint4)); ++i) {
      to[32 * i + static_cast<unsigned>(lane)] = {};
    }
  }
};

// Access to one lane's counters by their addresses in shared memory. The compiler generates two
// instructions for such an access; for an access by array index it generates four.
class LaneCounters {
 public:
  __device__ LaneCounters(WarpCounters& counters, int lane)
      : first_(static_cast<uint32_t>(
            __cvta_generic_to_shared(&counters.counter[0][WarpCounters::position_of(lane)]))) {}
  // Adds a pixel to the counter of a candidate, whose number is the lowest four bits of `score`.
  __device__ void add(int score, uint32_t color) const {
    uint32_t candidate;
    asm("and.b32 %0, %1, 15;" : "=r"(candidate) : "r"(score));
    const uint32_t at = first_ + candidate * kStride;
    LaneCounter sum;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(sum.even), "=r"(sum.odd)
                 : "r"(at)
                 : "memory");
    sum.even += color & 0x00ff00ffu;
    sum.odd += __byte_perm(color, 0, 0x4341) + (1u << 24);  // component 1 | row << 16 | 1 << 24
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(at), "r"(sum.even), "r"(sum.odd)
                 : "memory");
  }

 private:
  static constexpr uint32_t kStride = sizeof(WarpCounters::counter[0]);
  uint32_t first_;
};

// Matrix multiplication sum += a b on tensor cores. Matrix a has 16 x 8 and matrix b has 8 x 8
// half-precision elements. Each lane passes a few elements of each matrix: two elements of row
// lane / 4 of a in `upper`, and two elements of row lane / 4 + 8 of a in `lower`. `sum` holds two
// elements of each of these two rows of the sum.
__device__ inline void multiply(float (&sum)[4], uint32_t upper, uint32_t lower, uint32_t b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(upper), "r"(lower), "r"(b));
}
// Matrix multiplication sum += a b on tensor cores. Matrix a has 16 x 16 and matrix b has 16 x 8
// half-precision elements.
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

// Returns the integer n that the value n * 2^-24 represents.
__device__ inline uint32_t integer_of(float sum) {
  return __float_as_uint(sum + 0.5f) - __float_as_uint(0.5f);
}

// The two words that a lane adds to the sums of a cluster. In each group of four lanes, the first
// three lanes add one LaneShare each; the fourth lane adds nothing.
struct LaneShare {
  uint32_t color;              // sum of colour component 0, 2 or 1 (first, second or third lane)
  uint32_t position_or_count;  // sum of rows, sum of columns, or number of pixels
};

// A lane's role in the matrix products. A matrix row contains the counters of one candidate in one
// half warp. Four lanes hold the elements of the row, and each of them gets a share of the result.
struct LaneRole {
  int half;       // the half warp whose counters the lane handles, 0 or 1
  int candidate;  // the lane's first candidate, 0..3; candidate + 4 is its second candidate
  int share;      // position of the lane in its group of four lanes, 0..3

  REGIONS_HD constexpr explicit LaneRole(int lane)
      : half(lane >> 2 & 1), candidate(lane >> 3), share(lane & 3) {}
  // The position, in the half warp, of the lane whose counter of the last candidate this lane
  // reads. It is also the column of that other lane's pixels in the cell.
  REGIONS_HD constexpr int column() const { return 4 * share + candidate; }
};

// A lane's elements of matrix b in the calls of multiply(). They determine which sums are in
// columns 0..7 of the product. The comments list these columns; "-" is an unused column.
struct alignas(16) Factors {
  uint32_t components;           // component 0 or 1, -, component 2, -, component 0 or 1, -, -, -
  uint32_t rows;                 // -, sum of rows, -, -, -, -, -, -
  uint32_t counts, next_counts;  // count, -, count, sum of columns, -, count, -, -
};

// Constants for summing in blocks of shape `Shape`, computed at compile time. Kernels first copy
// them to shared memory, because reads from global memory would delay each warp at the end of its
// work.
template <class Shape>
struct SumPlan {
  Factors factors[32];
  // Entries [0] and [1] are for the lane's two candidates, entry [2] is for the last candidate.
  // `color` and `position_or_count` are the indices of the words to which the lane adds the
  // LaneShare members of the same names, in the array that BlockSums::of_cell() returns.
  // `window_cells` is the number of cells between the corner of the candidate's search window and
  // the corner of the strip's cell: vertically for sums of rows, horizontally for sums of columns.
  int color[3][32], position_or_count[3][32], window_cells[3][32];

  constexpr SumPlan() : factors(), color(), position_or_count(), window_cells() {
    for (int lane = 0; lane < 32; ++lane) {
      const LaneRole role(lane);
      const int result_column = lane / 4;
      const auto columns = [&](int first) {
        const auto column = static_cast<uint32_t>(first);
        return result_column == 3 ? both(half(column), half(column + 1))
               : result_column == 0 || result_column == 2 || result_column == 5
                   ? both(kHalfOne, kHalfOne)
                   : 0;
      };
      factors[lane] = {result_column == 0 || result_column == 4 ? kHalfOne
                       : result_column == 2                     ? both(0, kHalfOne)
                                                                : 0,
                       result_column == 1 ? both(kHalfOne, kHalfOne) : 0, columns(4 * role.share),
                       columns(4 * role.share + 2)};
      const int candidates[3] = {role.candidate, role.candidate + 4, kLastCandidate};
      for (int i = 0; i < 3; ++i) {
        const int across = candidates[i] % 3, below = candidates[i] / 3;
        const int first = (below * Shape::halo_x + across) * kSumWords;
        color[i][lane] = first + (role.share == 0 ? 0 : role.share == 1 ? 2 : 1);
        position_or_count[i][lane] = first + (role.share == 0 ? 4 : role.share == 1 ? 3 : 5);
        window_cells[i][lane] = role.share == 0 ? 2 - below : role.share == 1 ? 2 - across : 0;
      }
    }
  }

  // Copies the constants. All threads of the block must call this function, and a barrier must
  // follow.
  __device__ void copy(const SumPlan& from) {
    constexpr int kChunks = sizeof(SumPlan) / sizeof(uint4);
    static_assert(sizeof(SumPlan) % sizeof(uint4) == 0);
    for_each_in_block<Shape, kChunks>([&](int i) {
      reinterpret_cast<uint4*>(this)[i] = reinterpret_cast<const uint4*>(&from)[i];
    });
  }

 private:
  static constexpr uint32_t kHalfOne = 0x3c00;  // the bits of 1.0 as a half-precision float
  static constexpr uint32_t both(uint32_t low, uint32_t high) { return low | high << 16; }
  // Returns the bits of an integer 0..15 as a half-precision float.
  static constexpr uint32_t half(uint32_t value) {
    uint32_t power = 1, exponent = 15;
    while (2 * power <= value) power *= 2, ++exponent;
    return value == 0 ? 0 : exponent << 10 | (value - power) * (1024 / power);
  }
};
template <class Shape>
__device__ const SumPlan<Shape> kSumPlan;

// Selects one byte from each of the counter words `one` and `other` of two lanes, and extends both
// bytes to 16 bits with zeros. For the zeros, `choice` makes the instruction prmt replicate the
// highest bit of byte 1 of the word, which is always 0. __byte_perm() does not guarantee this mode.
__device__ inline uint32_t select_bytes(uint32_t choice, uint32_t one, uint32_t other) {
  uint32_t bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(one), "r"(other), "r"(choice));
  return bytes;
}

// The sums over a half warp for two candidates: LaneRole::candidate and LaneRole::candidate + 4.
struct HalfWarpSums {
  float components[2][4] = {};
  float position_or_count[4] = {};

  __device__ void add(const WarpCounters& counters, const LaneRole& role, const Factors& factors) {
    uint4 pair[2][2];  // [candidate][k], the counters of two lanes in each element
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int at = 8 * role.half + 2 * role.share + (k ^ role.half);
        pair[i][k] = reinterpret_cast<const uint4*>(counters.counter[role.candidate + 4 * i])[at];
        multiply(components[i], pair[i][k], factors.components, factors.components);
      }
    }
    const auto both = [&](uint32_t choice) {
      const auto of = [&](int i, int k) {
        return select_bytes(choice, pair[i][k].y, pair[i][k].w);
      };
      return uint4{of(0, 0), of(1, 0), of(0, 1), of(1, 1)};
    };
    multiply(position_or_count, both(0xd692), factors.rows, factors.rows);
    multiply(position_or_count, both(0xd793), factors.counts, factors.next_counts);
  }
  __device__ LaneShare share(const LaneRole& role, int i, int window_offset) const {
    return {integer_of(role.share == 2 ? components[i][2] : components[i][0]),
            integer_of(position_or_count[2 * i + 1]) +
                integer_of(position_or_count[2 * i]) * static_cast<uint32_t>(window_offset)};
  }
};

// The sums over a half warp for the last candidate. Each lane reads one counter and gets the sums
// of four counters.
struct LastSums {
  LaneCounter counter;

  __device__ LastSums(const WarpCounters& counters, const LaneRole& role)
      : counter(counters.counter[kLastCandidate]
                                [WarpCounters::position_of(16 * role.half + role.column())]) {}
  __device__ LaneShare share(const LaneRole& role, const Factors& factors,
                             int window_offset) const {
    float components[4] = {}, position_or_count[4] = {};
    multiply(components, counter.even, counter.odd, factors.components);
    multiply(position_or_count, select_bytes(0x9992, counter.odd, 0),
             select_bytes(0x9993, counter.odd, 0), factors.counts);
    return {integer_of(role.share == 2 ? components[2] : components[0]),
            integer_of(role.share == 0 ? position_or_count[0] : position_or_count[3]) +
                integer_of(position_or_count[2]) * static_cast<uint32_t>(window_offset)};
  }
};

// Finds the strips of a warp. The warp has one strip in each of two neighbouring cells, one per
// half warp, and each lane has one column of pixels. Returns false if both are outside the picture.
template <class Shape>
__device__ bool find_strip(const SlicGrid& grid, int first_cell_column, int first_cell_row,
                           Strip<Shape>& strip) {
  static_assert(Shape::lanes == 16 && Shape::cells == 2 * Shape::warps && Shape::cells_x % 2 == 0);
  const Geometry<Shape> geometry(grid);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int first = static_cast<int>(threadIdx.x / 32) * 2;
  const int left_column = first_cell_column + first % Shape::cells_x,
            row = first_cell_row + first / Shape::cells_x;
  const int left = left_column * geometry.width, y = row * geometry.height;
  const int column = left_column + lane / 16, x = column * geometry.width;
  const int end = min(geometry.height, grid.size.height - y);
  strip = {first + lane / 16,
           column,
           row,
           0,
           0,
           x + lane % 16,
           y,
           end,
           lane % 16 < min(geometry.width, grid.size.width - x),
           geometry.width == 16 && left + 32 <= grid.size.width && end >= Shape::rows};
  return left < grid.size.width && end > 0;
}

// Assigns the pixels of a strip, whose colours are in `color`, and adds them to the sums of the
// candidates that they choose. All lanes of the warp must call this function.
template <class Shape, int kStep, int kParts, int kPixels>
__device__ void sum_strip(const Candidates<Shape>& candidates, const Strip<Shape>& strip,
                          const uint32_t (&color)[kParts][kPixels], int phase,
                          const Geometry<Shape>& geometry, const SumPlan<Shape>& plan,
                          const LaneRole& role, WarpCounters& counters, BlockSums<Shape>& block) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const LaneCounters lane_counters(counters, lane);
  // The block's sums for candidate 0 of the cell whose pixels this lane adds up.
  uint32_t* const sums = block.of_cell((strip.cell & ~1) | role.half);
  const int side = role.share == 0 ? geometry.height : geometry.width;
  const auto add_to_block = [&](int i, const LaneShare& share) {
    atomicAdd(sums + plan.color[i][lane], share.color);
    atomicAdd(sums + plan.position_or_count[i][lane], share.position_or_count);
  };
  const int above = role.share == 0 ? strip.top : 0;
  const auto window_offset = [&](int i) { return plan.window_cells[i][lane] * side + above; };
  HalfWarpSums all;
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    const int first = phase + part * kPixels * kStep;
    int best[kPixels];
    choose(candidates, strip, color[part], best);
    if (!strip.whole || Shape::rows % kStep != 0) {
#pragma unroll
      for (int i = 0; i < kPixels; ++i) {
        const int row = first + i * kStep;
        if (!strip.inside || row >= strip.end || row >= Shape::rows) best[i] = kNoCandidate;
      }
    }
    if (part > 0) {
      __syncwarp();  // all lanes have read the counters
      counters.clear(lane);
      __syncwarp();  // all counters are cleared
    }
#pragma unroll
    for (int i = 0; i < kPixels; ++i) lane_counters.add(best[i], color[part][i]);
    __syncwarp();  // all lanes have added their pixels to the counters
    const Factors factors = plan.factors[lane];
    all.add(counters, role, factors);
    const LastSums last(counters, role);
    if (__any_sync(kAllLanes, last.counter.odd != 0)) {
      const int columns = role.share == 1 ? role.candidate : 0;
      const LaneShare share = last.share(role, factors, window_offset(2) + columns);
      if (role.share < 3) add_to_block(2, share);
    }
  }
  if (role.share < 3) {
#pragma unroll
    for (int i = 0; i < 2; ++i) add_to_block(i, all.share(role, i, window_offset(i)));
  }
}

template <class Shape, int kStep>
__global__ __launch_bounds__(Shape::threads,
                             Shape::blocks) void iterate_narrow_kernel(Clusters clusters,
                                                                       IterationSums sums,
                                                                       int phase) {
  constexpr int kRows = (Shape::rows + kStep - 1) / kStep;  // number of used rows per strip
  // The used rows of a strip are processed in parts of at most kCountedAtOnce rows.
  constexpr int kParts = (kRows + kCountedAtOnce - 1) / kCountedAtOnce;
  constexpr int kPixels = kRows / kParts;  // pixels per lane in a part
  static_assert(kPixels * kParts == kRows);
  __shared__ Candidates<Shape> candidates;
  __shared__ BlockSums<Shape> block;
  __shared__ WarpCounters warp_counters[Shape::warps];
  __shared__ SumPlan<Shape> plan;
  plan.copy(kSumPlan<Shape>);
  block.clear();
  const int lane = static_cast<int>(threadIdx.x % 32);
  warp_counters[threadIdx.x / 32].clear(lane);

  const SlicGrid& grid = clusters.grid;
  const Geometry<Shape> geometry(grid);
  const int first_cell_column = static_cast<int>(blockIdx.x) * Shape::cells_x;
  const int first_cell_row = static_cast<int>(blockIdx.y) * Shape::cells_y;
  const LaneRole role(lane);
  Strip<Shape> strip;
  const bool is_inside = find_strip(grid, first_cell_column, first_cell_row, strip);
  uint32_t color[kParts][kPixels];
  const auto read = [&] {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      read_strip<kStep>(clusters.colors, strip, phase + part * kPixels * kStep, color[part]);
    }
  };
  // Colours may be read before pdl_wait(). They were written before the kernel of seed() started,
  // because that kernel is launched without programmatic dependent launch.
  if (is_inside) read();
  pdl_trigger_and_wait();
  // All threads of the grid take the same branch.
  if (clusters.executed_iterations(sums.iteration) < sums.iteration) return;
  clear_sums<Shape>(grid, first_cell_column, first_cell_row, sums.clear);
  make_candidates(clusters, sums.from, first_cell_column, first_cell_row, candidates);
  WarpCounters& counters = warp_counters[threadIdx.x / 32];
  const auto sum = [&](const auto& colors) {
    sum_strip<Shape, kStep>(candidates, strip, colors, phase, geometry, plan, role, counters,
                            block);
  };
  if (is_inside) sum(color);
  if constexpr (Shape::side == 0) {
    // The cell may be higher than one strip, usually by one row.
    for (strip.move_down(); is_inside && strip.end > phase; strip.move_down()) {
      __syncwarp();  // all lanes have read the counters
      counters.clear(lane);
      __syncwarp();  // all counters are cleared
      if (strip.end <= phase + kStep) {
        uint32_t row[1][1];
        read_strip<kStep>(clusters.colors, strip, phase, row[0]);
        sum(row);
      } else {
        read();
        sum(color);
      }
    }
  }
  __syncthreads();  // the block's sums are complete
  block.add_to(grid, first_cell_column, first_cell_row, sums.to);
}

}  // namespace

void iterate_narrow(const Clusters& clusters, int iteration, RowSubset rows, cudaStream_t stream) {
  with_shape(clusters.grid, [&]<class Shape>(Shape) {
    if constexpr (Shape::lanes == 16) {
      with_row_step(rows, [&]<int step>() {
        launch_pdl(iterate_narrow_kernel<Shape, step>, blocks_of<Shape>(clusters.grid),
                   Shape::threads, 0, stream, clusters, IterationSums(clusters, iteration),
                   rows.phase);
      });
    }
  });
}

}  // namespace regions::slicsuperpixel
