// The passes over the pixels of a row of cells, strip by strip, for any measure of distance
// (Strip).
#pragma once

#include <algorithm>
#include <concepts>

#include "cpu/slicsuperpixel/assign.hpp"
#include "cpu/slicsuperpixel/candidates.hpp"

namespace regions {

inline constexpr int kNoCandidate = 15;  // place of a pixel beyond the picture

// Sums of at most kRows rows of a strip, packed into two numbers a lane.
template <int kLanes>
struct StripSums {
  using Numbers = typename Vectors<kLanes>::Numbers;
  static constexpr int kRows = 16;
  static constexpr int kCount = 12;  // 16 pixels of 255 are below 1 << 12
  static constexpr int kRow = 17;    // 16 pixels are below 1 << (17 - 12)

  Numbers first_second[kCandidates];  // 16 bits each
  Numbers rest[kCandidates];          // third component, count, row

  REGIONS_INLINE StripSums() {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) first_second[place] = rest[place] = Numbers{};
  }
  // `v` counts rows from the first, of patches one after another: below 64, with every fourth row.
  REGIONS_INLINE void add(const Numbers& places, const Numbers (&pixel)[3], int v) {
    const Numbers two = (pixel[0] + kColorBias) | (pixel[1] + kColorBias) << 16;
    const Numbers others = pixel[2] + (kColorBias + (1 << kCount) + (v << kRow));
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const Numbers chosen = places == place;
      first_second[place] = chosen ? first_second[place] + two : first_second[place];
      rest[place] = chosen ? rest[place] + others : rest[place];
    }
  }
  // `u` is the strip's first column in the cell, `top` the first row.
  REGIONS_INLINE void give(int place, int u, int top, const SlicGrid& grid,
                           PackedSums& sums) const {
    const Numbers n = rest[place] >> kCount & ((1 << (kRow - kCount)) - 1);
    const Numbers third_row = (rest[place] & ((1 << kCount) - 1)) | rest[place] >> kRow << 16;
    const auto four =
        Vectors<kLanes>::sums_of(first_second[place], third_row, n, n * Vectors<kLanes>::lane());
    const auto all = [&](int i) { return static_cast<uint32_t>(four[i]); };
    // From the cell's own corner to that of the cluster's reach.
    const int left = u + (2 - place % 3) * grid.width, above = top + (2 - place / 3) * grid.height;
    sums.part[0] += all(0) & 0xffff;  // at most 256 pixels of 255: below 2^16
    sums.part[1] += all(0) >> 16;
    sums.part[2] += all(1) & 0xffff;
    sums.part[3] += all(3) + all(2) * static_cast<uint32_t>(left);
    sums.part[4] += (all(1) >> 16) + all(2) * static_cast<uint32_t>(above);
    sums.part[5] += all(2);
  }
};

template <int kLanes>
REGIONS_INLINE void read_pixels(const ColorPlanes& colors, int x, int y,
                                typename Vectors<kLanes>::Numbers (&pixel)[3]) {
  for (int c = 0; c < 3; ++c) {
    pixel[c] = Vectors<kLanes>::load(colors.plane[c].row(y) + x);
  }
}

// Pixels side by side, and the measure they choose by: places() are the candidates that a row's
// pixels are nearest to, for the rows of a RowChoice one after another. A strip may keep other
// results too: note() follows each row, give() the last.
template <class S>
concept ChoosingStrip =
    std::constructible_from<S, const typename S::Around&, int, int, RowChoice> &&
    requires(S strip, const typename Vectors<S::kLanes>::Numbers& places,
             const typename Vectors<S::kLanes>::Numbers (&pixel)[3], const RowSums& sums) {
  { S::kAdapts } -> std::convertible_to<bool>;
  strip.places(0, pixel);
  strip.note(places);
  strip.give(0, sums, 0);
};

// Stores the first `count` bytes, at most a vector's.
template <int kLanes>
REGIONS_INLINE void put_bytes(const typename Vectors<kLanes>::Bytes& bytes, int count,
                              uint8_t* to) {
  if (count >= kLanes) {
    std::memcpy(to, &bytes, kLanes);
  } else {
    for (int i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(bytes[i]);
  }
}

// Calls visit(around, column) for each cell of a row.
template <class Strip, class Visit>
REGIONS_INLINE void for_each_cell(const CellRow& cells, Visit visit) {
  for (int begin = 0; begin < cells.grid.columns; begin += Strip::kLanes) {
    const typename Strip::Candidates candidates(cells, begin);
    const int count = std::min(Strip::kLanes, cells.grid.columns - begin);
    for (int i = 0; i < count; ++i) visit(typename Strip::Around{candidates, i}, begin + i);
  }
}

template <ChoosingStrip Strip>
REGIONS_INLINE void sum_by(const AssignInput& input, int row, RowChoice choice,
                           Image<uint8_t> places_of, const RowSums& row_sums) {
  constexpr int kLanes = Strip::kLanes;
  using Numbers = typename Vectors<kLanes>::Numbers;
  const CellRow cells(input.cells, row);
  const SlicGrid& grid = cells.grid;
  const int height = cells.rows();
  for_each_cell<Strip>(
      cells, [&](const typename Strip::Around& around, int column) __attribute__((always_inline)) {
        const int width = std::min(grid.width, grid.size.width - column * grid.width);
        for (int u = 0; u < width; u += kLanes) {
          const Numbers beyond = Vectors<kLanes>::lane() >= width - u;
          for (int top = 0; top < height;) {
            // Patches of which few rows take part share sums.
            StripSums<kLanes> strip_sums;
            const int first = top;
            for (int held = 0; top < height && held + choice.rows(kPatchRows) <= strip_sums.kRows;
                 top += kPatchRows) {
              const int rows = std::min(kPatchRows, height - top);
              if (choice.phase >= rows) continue;
              Strip strip(around, u, top / kPatchRows, choice);
              for (int v = choice.phase; v < rows; v += choice.step) {
                Numbers pixel[3];
                const int x = column * grid.width + u, y = row * grid.height + top + v;
                read_pixels<kLanes>(input.colors, x, y, pixel);
                const Numbers places = strip.places(v, pixel) | (beyond & kNoCandidate);
                if constexpr (!Strip::kAdapts) {
                  put_bytes<kLanes>(Vectors<kLanes>::bytes_of(places), width - u,
                                    places_of.row(y) + x);
                }
                strip_sums.add(places, pixel, top - first + v);
                strip.note(places);
              }
              held += choice.rows(rows);
              for (int place = 0; place < kCandidates; ++place) {
                strip.give(place, row_sums, column + place % 3 - 1);
              }
            }
            for (int place = 0; place < kCandidates; ++place) {
              strip_sums.give(place, u, first, grid,
                              row_sums.sums[place / 3][column + place % 3 - 1]);
            }
          }
        }
      });
}

// The places that pixels of a strip, side by side in at most kPatchRows rows, chose now, and which
// of them differ from those before.
template <int kLanes>
struct StripPlaces {
  static constexpr int kWord = std::min(kLanes, 8);  // bytes looked at together
  uint8_t place[kPatchRows][kLanes];
  uint64_t changed[kPatchRows * kLanes / 64] = {};  // a bit a pixel

  // `row`-th of the rows, of which the first `count` pixels are of the cell.
  REGIONS_INLINE void put(int row, const typename Vectors<kLanes>::Bytes& now, int count,
                          const uint8_t* old) {
    std::memcpy(place[row], &now, kLanes);
    uint32_t bits = 0;
    for (int first = 0; first < kLanes; first += kWord) {
      uint64_t differs = 0, before = 0;
      std::memcpy(&differs, place[row] + first, kWord);
      std::memcpy(&before, old + first, kWord);
      differs ^= before;
      differs |= differs >> 2;  // places have four bits
      differs |= differs >> 1;
      // The lowest bits of all bytes, side by side.
      const uint64_t lowest = (differs & 0x0101010101010101) * 0x0102040810204080 >> 56;
      bits |= static_cast<uint32_t>(lowest) << first;
    }
    if (count < kLanes) bits &= (1u << count) - 1;
    changed[row * kLanes / 64] |= static_cast<uint64_t>(bits) << row * kLanes % 64;
  }
  // Calls visit(row, lane) for all that differ.
  template <class Visit>
  REGIONS_INLINE void for_each_change(Visit visit) const {
    for (int w = 0; w < kPatchRows * kLanes / 64; ++w) {
      for (uint64_t left = changed[w]; left; left &= left - 1) {
        const int pixel = w * 64 + __builtin_ctzll(left);
        visit(pixel / kLanes, pixel % kLanes);
      }
    }
  }
};

template <ChoosingStrip Strip>
REGIONS_INLINE void move_by(const AssignInput& input, int row, RowChoice choice,
                            Image<uint8_t> places_of, const RowSums& row_sums) {
  constexpr int kLanes = Strip::kLanes;
  using Sums = VectorTypes<8>::Unsigned;
  const CellRow cells(input.cells, row);
  const SlicGrid& grid = cells.grid;
  const int height = cells.rows();
  Sums corner[kNoCandidate + 1] = {};  // from the cell's own to that of a cluster's reach
  for (int place = 0; place < kCandidates; ++place) {
    corner[place][3] = static_cast<uint32_t>((2 - place % 3) * grid.width);
    corner[place][4] = static_cast<uint32_t>((2 - place / 3) * grid.height);
  }
  for_each_cell<Strip>(
      cells, [&](const typename Strip::Around& around, int column) __attribute__((always_inline)) {
        const int width = std::min(grid.width, grid.size.width - column * grid.width);
        for (int u = 0; u < width; u += kLanes) {
          const int x = column * grid.width + u;
          for (int top = 0; top < height; top += kPatchRows) {
            Strip strip(around, u, top / kPatchRows, choice);
            StripPlaces<kLanes> places;
            const int end = std::min(top + kPatchRows, height), first = top + choice.phase;
            for (int v = first, r = 0; v < end; v += choice.step, ++r) {
              typename Vectors<kLanes>::Numbers pixel[3];
              read_pixels<kLanes>(input.colors, x, cells.top() + v, pixel);
              places.put(r, Vectors<kLanes>::bytes_of(strip.places(v - top, pixel)), width - u,
                         places_of.row(cells.top() + v) + x);
            }
            places.for_each_change([&](int r, int lane) __attribute__((always_inline)) {
              const int v = first + r * choice.step, y = cells.top() + v;
              const auto value = [&](int c) __attribute__((always_inline)) {
                return static_cast<uint32_t>(input.colors.plane[c](x + lane, y) + kColorBias);
              };
              const Sums pixel = {value(0),
                                  value(1),
                                  value(2),
                                  static_cast<uint32_t>(u + lane),
                                  static_cast<uint32_t>(v),
                                  1,
                                  0,
                                  0};
              const auto change = [&](int place, const Sums& by) __attribute__((always_inline)) {
                uint32_t* const part = row_sums.sums[place / 3][column + place % 3 - 1].part;
                Sums sums;
                std::memcpy(&sums, part, sizeof sums);
                sums += by;
                std::memcpy(part, &sums, sizeof sums);
              };
              uint8_t& place = places_of(x + lane, y);
              change(place, Sums{} - (pixel + corner[place]));
              place = places.place[r][lane];
              change(place, pixel + corner[place]);
            });
          }
        }
      });
}

// cluster_code() of the clusters at these places round cell (column, row), or a cell a lane.
template <int kLanes, class Column>
REGIONS_INLINE typename Vectors<kLanes>::Bytes codes_of(
    const typename Vectors<kLanes>::Numbers& places, const Column& column, int row) {
  const auto down = places * 11 >> 5;  // a third, of 0..8
  const auto across = places - 3 * down;
  const auto codes = ((across + (column - 1)) & 3) | ((down + (row - 1)) & 3) << 2;
  return Vectors<kLanes>::bytes_of(codes);
}

template <ChoosingStrip Strip>
REGIONS_INLINE void code_by(const AssignInput& input, int row, Image<uint8_t> codes) {
  constexpr int kLanes = Strip::kLanes;
  using Numbers = typename Vectors<kLanes>::Numbers;
  const CellRow cells(input.cells, row);
  const SlicGrid& grid = cells.grid;
  const int height = cells.rows();
  for_each_cell<Strip>(
      cells, [&](const typename Strip::Around& around, int column) __attribute__((always_inline)) {
        const int width = std::min(grid.width, grid.size.width - column * grid.width);
        for (int u = 0; u < width; u += kLanes) {
          for (int v = 0; v < height;) {
            Strip strip(around, u, v / kPatchRows, RowChoice{});
            for (const int end = std::min(v + kPatchRows, height); v < end; ++v) {
              Numbers pixel[3];
              const int y = row * grid.height + v, x = column * grid.width + u;
              read_pixels<kLanes>(input.colors, x, y, pixel);
              put_bytes<kLanes>(codes_of<kLanes>(strip.places(v % kPatchRows, pixel), column, row),
                                width - u, codes.row(y) + x);
            }
          }
        }
      });
}

}  // namespace regions
