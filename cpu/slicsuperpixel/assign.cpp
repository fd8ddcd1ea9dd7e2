// Sixteen pixels at a time: scores are small integers in floats, so multiplications and additions
// are exact in any order, fused or not, and the compiler may use whatever the machine has.
#include "cpu/slicsuperpixel/assign.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/cclabel/bits.hpp"

// Everything that takes or gives a vector is inlined, so no calling convention is concerned.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace regions {
namespace {

constexpr int kLanes = 16;
constexpr int kNobody = 15;  // place of a pixel beyond the picture

using Scores = float __attribute__((vector_size(64)));
using Numbers = int32_t __attribute__((vector_size(64)));
using Places = uint8_t __attribute__((vector_size(16)));
using Bytes = int8_t __attribute__((vector_size(16)));

constexpr Numbers kLane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

REGIONS_INLINE Numbers load(const int8_t* from) {
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(bytes, Numbers);
}

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

// Sixteen columns of one patch.
class Strip {
 public:
  REGIONS_INLINE Strip(const Neighbourhood& around, int u, int patch) : around_(around) {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const int first =
          around.base[place] + kPatchRows * patch * around.down[place] + around.column[place] * u;
      const Numbers start = ((first + around.column[place] * kLane) & ~15) | place;
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

REGIONS_INLINE uint32_t sum_of(const Numbers& lanes) {
  using Eight = int32_t __attribute__((vector_size(32)));
  using Four = int32_t __attribute__((vector_size(16)));
  const Eight eight = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  const Four four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                    __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  const Four two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1);
  return static_cast<uint32_t>(two[0]) + static_cast<uint32_t>(two[1]);
}

// Sums of at most kPatchRows rows of a strip, packed into two numbers a lane.
struct StripSums {
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
    const uint32_t counted = sum_of(n);
    if (counted == 0) return;
    // From the cell's own corner to that of the cluster's reach.
    const int left = u + (2 - place % 3) * grid.width, above = top + (2 - place / 3) * grid.height;
    const uint32_t both = sum_of(first_second[place]);
    sums.color[0] += both & 0xffff;  // 256 pixels of 255 are below 2^16
    sums.color[1] += both >> 16;
    const Numbers third_row = (rest[place] & ((1 << kCount) - 1)) | rest[place] >> kRow << 16;
    const uint32_t others = sum_of(third_row);
    sums.color[2] += others & 0xffff;
    sums.x += sum_of(n * kLane) + counted * static_cast<uint32_t>(left);
    sums.y += (others >> 16) + counted * static_cast<uint32_t>(above);
    sums.count += counted;
  }
};

// Calls visit(strip, u, patch, first_row, end_row) for the strips of a cell.
template <class Visit>
REGIONS_INLINE void for_each_strip(const Neighbourhood& around, const SlicGrid& grid, int column,
                                   int row, Visit visit) {
  const int width = std::min(grid.width, grid.size.width - column * grid.width);
  const int height = std::min(grid.height, grid.size.height - row * grid.height);
  for (int top = 0; top < height; top += kPatchRows) {
    for (int u = 0; u < width; u += kLanes) {
      const Strip strip(around, u, top / kPatchRows);
      visit(strip, u, top, std::min(kPatchRows, height - top), std::min(kLanes, width - u));
    }
  }
}

REGIONS_INLINE void read_pixels(const ColorPlanes& colors, int x, int y, Numbers (&pixel)[3]) {
  for (int c = 0; c < 3; ++c) pixel[c] = load(colors.plane[c].row(y) + x);
}

}  // namespace

REGIONS_CLONES
void sum_clusters(const AssignInput& input, int row, RowChoice choice, ClusterSums* const* sums) {
  const SlicGrid& grid = input.grid;
  for (int column = 0; column < grid.columns; ++column) {
    const Neighbourhood around(input, column, row);
    for_each_strip(
        around, grid, column, row,
        [&](const Strip& strip, int u, int top, int rows,
            int columns) __attribute__((always_inline)) {
          StripSums strip_sums;
          const Numbers beyond = kLane >= columns;
          for (int v = choice.phase; v < rows; v += choice.step) {
            Numbers pixel[3];
            read_pixels(input.colors, column * grid.width + u, row * grid.height + top + v, pixel);
            strip_sums.add(strip.places(v, pixel) | (beyond & kNobody), pixel, v);
          }
          for (int place = 0; place < kCandidates; ++place) {
            strip_sums.give(place, u, top, grid, sums[place / 3][column + place % 3 - 1]);
          }
        });
  }
}

REGIONS_CLONES
void write_codes(const AssignInput& input, int row, Image<uint8_t> codes) {
  const SlicGrid& grid = input.grid;
  for (int column = 0; column < grid.columns; ++column) {
    const Neighbourhood around(input, column, row);
    uint8_t code[16] = {};
    for (int place = 0; place < kCandidates; ++place) {
      code[place] = cluster_code(column + place % 3 - 1, row + place / 3 - 1);
    }
    Places code_of;
    std::memcpy(&code_of, code, sizeof code_of);
    for_each_strip(
        around, grid, column, row,
        [&](const Strip& strip, int u, int top, int rows, int columns)
            __attribute__((always_inline)) {
              for (int v = 0; v < rows; ++v) {
                Numbers pixel[3];
                const int y = row * grid.height + top + v, x = column * grid.width + u;
                read_pixels(input.colors, x, y, pixel);
                const Places places = __builtin_convertvector(strip.places(v, pixel), Places);
#ifdef __clang__
                Places found;
                for (int i = 0; i < kLanes; ++i) found[i] = code_of[places[i]];
#else
                const Places found = __builtin_shuffle(code_of, places);
#endif
                std::memcpy(codes.row(y) + x, &found, static_cast<size_t>(columns));
              }
            });
  }
}

}  // namespace regions
