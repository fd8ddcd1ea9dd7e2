// As many pixels at a time as fit a vector of the machine: scores are small integers in floats, so
// multiplications and additions are exact in any order, fused or not, and the compiler may use
// whatever the machine has.
#include "cpu/slicsuperpixel/assign.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/cclabel/bits.hpp"
#include "cpu/vectors.hpp"

namespace regions {
namespace {

constexpr int kNobody = 15;  // place of a pixel beyond the picture

// Vectors of so many pixels.
template <int kLanes>
struct Vectors : VectorTypes<kLanes> {
  using Numbers = typename VectorTypes<kLanes>::Signed;
  using Scores = typename VectorTypes<kLanes>::Floats;
  using Bytes = typename VectorTypes<kLanes>::Bytes;

  REGIONS_INLINE static Numbers lane() {
    Numbers lane;
    for (int i = 0; i < kLanes; ++i) lane[i] = i;
    return lane;
  }
  REGIONS_INLINE static Numbers load(const int8_t* from) {
    Bytes bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    return __builtin_convertvector(bytes, Numbers);
  }
  REGIONS_INLINE static uint32_t sum_of(const Numbers& lanes) {
    if constexpr (kLanes == 4) {
      const Numbers two = lanes + __builtin_shufflevector(lanes, lanes, 2, 3, 0, 1);
      return static_cast<uint32_t>(two[0]) + static_cast<uint32_t>(two[1]);
    } else if constexpr (kLanes == 8) {
      return Vectors<4>::sum_of(__builtin_shufflevector(lanes, lanes, 0, 1, 2, 3) +
                                __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7));
    } else {
      return Vectors<8>::sum_of(
          __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7) +
          __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15));
    }
  }
};

// The candidates of a cell, each part side by side.
struct Neighbourhood {
  int base[kCandidates];
  int down[kCandidates];
  int column[kCandidates];
  float row[kCandidates];  // as scores
  float color[3][kCandidates];

  REGIONS_INLINE Neighbourhood(const AssignInput& input, int x, int y) {
    const SlicGrid& grid = input.grid;
    for (int place = 0; place < kCandidates; ++place) {
      const int cx = x + place % 3 - 1, cy = y + place / 3 - 1;
      const bool inside = cx >= 0 && cy >= 0 && cx < grid.columns && cy < grid.rows;
      const ptrdiff_t index = inside ? static_cast<ptrdiff_t>(cy) * grid.columns + cx : 0;
      const Candidate candidate =
          candidate_of(input.centers[index], inside, place, grid, input.scale);
      base[place] = candidate.base;
      down[place] = candidate.down;
      column[place] = candidate.column;
      row[place] = static_cast<float>(16 * candidate.row);
      for (int c = 0; c < 3; ++c) {
        color[c][place] = static_cast<float>(16 * candidate.color[c]);
      }
    }
  }
};

// Columns of one patch side by side.
template <int kLanes>
class Strip {
  using Scores = typename Vectors<kLanes>::Scores;
  using Numbers = typename Vectors<kLanes>::Numbers;

 public:
  REGIONS_INLINE Strip(const Neighbourhood& around, int u, int patch) : around_(around) {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const int first =
          around.base[place] + kPatchRows * patch * around.down[place] + around.column[place] * u;
      const Numbers start =
          ((first + around.column[place] * Vectors<kLanes>::lane()) & ~15) | place;
      start_[place] = __builtin_convertvector(start, Scores);
    }
  }
  // Places of the pixels in row v.
  REGIONS_INLINE Numbers places(int v, const Numbers (&pixel)[3]) const {
    Scores color[3];
    for (int c = 0; c < 3; ++c) color[c] = __builtin_convertvector(pixel[c], Scores);
    const Scores rows = Scores{} + static_cast<float>(v);
    Scores best = score(0, rows, color);
#pragma GCC unroll 8
    for (int place = 1; place < kCandidates; ++place) {
      const Scores other = score(place, rows, color);
      best = other < best ? other : best;
    }
    return __builtin_convertvector(best, Numbers) & 15;
  }

 private:
  REGIONS_INLINE Scores score(int place, const Scores& v, const Scores (&color)[3]) const {
    Scores sum = start_[place] + v * around_.row[place];
    for (int c = 0; c < 3; ++c) sum += around_.color[c][place] * color[c];
    return sum;
  }
  const Neighbourhood& around_;
  Scores start_[kCandidates];
};

// Sums of at most kPatchRows rows of a strip, packed into two numbers a lane.
template <int kLanes>
struct StripSums {
  using Numbers = typename Vectors<kLanes>::Numbers;
  static constexpr int kCount = 12;  // 16 pixels of 255 are below 1 << 12
  static constexpr int kRow = 17;    // 16 pixels are below 1 << (17 - 12)

  Numbers first_second[kCandidates];  // 16 bits each
  Numbers rest[kCandidates];          // third component, count, row

  REGIONS_INLINE StripSums() {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) first_second[place] = rest[place] = Numbers{};
  }
  REGIONS_INLINE void add(const Numbers& places, const Numbers (&pixel)[3], int v) {
    const Numbers two = (pixel[0] + kColorBias) | (pixel[1] + kColorBias) << 16;
    const Numbers others = pixel[2] + (kColorBias + (1 << kCount) + (v << kRow));
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const Numbers chosen = places == place;
      first_second[place] += two & chosen;
      rest[place] += others & chosen;
    }
  }
  // `u` is the strip's first column in the cell, `top` the patch's first row.
  REGIONS_INLINE void give(int place, int u, int top, const SlicGrid& grid,
                           ClusterSums& sums) const {
    const Numbers n = rest[place] >> kCount & ((1 << (kRow - kCount)) - 1);
    const uint32_t counted = Vectors<kLanes>::sum_of(n);
    if (counted == 0) return;
    // From the cell's own corner to that of the cluster's reach.
    const int left = u + (2 - place % 3) * grid.width, above = top + (2 - place / 3) * grid.height;
    const uint32_t both = Vectors<kLanes>::sum_of(first_second[place]);
    sums.color[0] += both & 0xffff;  // at most 256 pixels of 255: below 2^16
    sums.color[1] += both >> 16;
    const Numbers third_row = (rest[place] & ((1 << kCount) - 1)) | rest[place] >> kRow << 16;
    const uint32_t others = Vectors<kLanes>::sum_of(third_row);
    sums.color[2] += others & 0xffff;
    sums.x += Vectors<kLanes>::sum_of(n * Vectors<kLanes>::lane()) +
              counted * static_cast<uint32_t>(left);
    sums.y += (others >> 16) + counted * static_cast<uint32_t>(above);
    sums.count += counted;
  }
};

// Calls visit(strip, u, patch, first_row, end_row) for the strips of a cell.
template <int kLanes, class Visit>
REGIONS_INLINE void for_each_strip(const Neighbourhood& around, const SlicGrid& grid, int column,
                                   int row, Visit visit) {
  const int width = std::min(grid.width, grid.size.width - column * grid.width);
  const int height = std::min(grid.height, grid.size.height - row * grid.height);
  for (int top = 0; top < height; top += kPatchRows) {
    for (int u = 0; u < width; u += kLanes) {
      const Strip<kLanes> strip(around, u, top / kPatchRows);
      visit(strip, u, top, std::min(kPatchRows, height - top), std::min(kLanes, width - u));
    }
  }
}

template <int kLanes>
REGIONS_INLINE void read_pixels(const ColorPlanes& colors, int x, int y,
                                typename Vectors<kLanes>::Numbers (&pixel)[3]) {
  for (int c = 0; c < 3; ++c) {
    pixel[c] = Vectors<kLanes>::load(colors.plane[c].row(y) + x);
  }
}

template <int kLanes>
REGIONS_INLINE void sum_by(const AssignInput& input, int row, RowChoice choice,
                           ClusterSums* const* sums) {
  using Numbers = typename Vectors<kLanes>::Numbers;
  const SlicGrid& grid = input.grid;
  for (int column = 0; column < grid.columns; ++column) {
    const Neighbourhood around(input, column, row);
    for_each_strip<kLanes>(
        around, grid, column, row,
        [&](const Strip<kLanes>& strip, int u, int top, int rows, int columns)
            __attribute__((always_inline)) {
              StripSums<kLanes> strip_sums;
              const Numbers beyond = Vectors<kLanes>::lane() >= columns;
              for (int v = choice.phase; v < rows; v += choice.step) {
                Numbers pixel[3];
                read_pixels<kLanes>(input.colors, column * grid.width + u,
                                    row * grid.height + top + v, pixel);
                strip_sums.add(strip.places(v, pixel) | (beyond & kNobody), pixel, v);
              }
              for (int place = 0; place < kCandidates; ++place) {
                strip_sums.give(place, u, top, grid, sums[place / 3][column + place % 3 - 1]);
              }
            });
  }
}

template <int kLanes>
REGIONS_INLINE void code_by(const AssignInput& input, int row, Image<uint8_t> codes) {
  using Numbers = typename Vectors<kLanes>::Numbers;
  const SlicGrid& grid = input.grid;
  for (int column = 0; column < grid.columns; ++column) {
    const Neighbourhood around(input, column, row);
    uint8_t code[16] = {};
    for (int place = 0; place < kCandidates; ++place) {
      code[place] = cluster_code(column + place % 3 - 1, row + place / 3 - 1);
    }
    for_each_strip<kLanes>(
        around, grid, column, row,
        [&](const Strip<kLanes>& strip, int u, int top, int rows, int columns)
            __attribute__((always_inline)) {
              for (int v = 0; v < rows; ++v) {
                Numbers pixel[3];
                const int y = row * grid.height + top + v, x = column * grid.width + u;
                read_pixels<kLanes>(input.colors, x, y, pixel);
                const Numbers places = strip.places(v, pixel);
                uint8_t* to = codes.row(y) + x;
                for (int i = 0; i < columns; ++i) to[i] = code[places[i]];
              }
            });
  }
}

// The widest vectors of this machine, chosen when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target("arch=x86-64-v4"))) void sum_by_16(const AssignInput& input, int row,
                                                         RowChoice choice,
                                                         ClusterSums* const* sums) {
  sum_by<16>(input, row, choice, sums);
}
__attribute__((target("arch=x86-64-v3"))) void sum_by_8(const AssignInput& input, int row,
                                                        RowChoice choice,
                                                        ClusterSums* const* sums) {
  sum_by<8>(input, row, choice, sums);
}
__attribute__((target("arch=x86-64-v4"))) void code_by_16(const AssignInput& input, int row,
                                                          Image<uint8_t> codes) {
  code_by<16>(input, row, codes);
}
__attribute__((target("arch=x86-64-v3"))) void code_by_8(const AssignInput& input, int row,
                                                         Image<uint8_t> codes) {
  code_by<8>(input, row, codes);
}
int widest() {
  if (__builtin_cpu_supports("x86-64-v4")) return 16;
  return __builtin_cpu_supports("x86-64-v3") ? 8 : 4;
}
#else
constexpr auto sum_by_16 = sum_by<4>, sum_by_8 = sum_by<4>;
constexpr auto code_by_16 = code_by<4>, code_by_8 = code_by<4>;
int widest() { return 4; }
#endif

void sum_by_4(const AssignInput& input, int row, RowChoice choice, ClusterSums* const* sums) {
  sum_by<4>(input, row, choice, sums);
}
void code_by_4(const AssignInput& input, int row, Image<uint8_t> codes) {
  code_by<4>(input, row, codes);
}

template <class Function>
Function* for_machine(Function* by_16, Function* by_8, Function* by_4) {
  const int lanes = widest();
  return lanes == 16 ? by_16 : lanes == 8 ? by_8 : by_4;
}

}  // namespace

void sum_clusters(const AssignInput& input, int row, RowChoice choice, ClusterSums* const* sums) {
  static const auto run = for_machine(sum_by_16, sum_by_8, sum_by_4);
  run(input, row, choice, sums);
}

void write_codes(const AssignInput& input, int row, Image<uint8_t> codes) {
  static const auto run = for_machine(code_by_16, code_by_8, code_by_4);
  run(input, row, codes);
}

}  // namespace regions
