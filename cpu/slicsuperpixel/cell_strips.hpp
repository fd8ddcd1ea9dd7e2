// The passes over a row of small cells, a cell a lane.
#pragma once

#include "cpu/slicsuperpixel/cells.hpp"
#include "cpu/slicsuperpixel/strips.hpp"

namespace regions {

// Sums of the pixels of cells side by side, by place, packed into three numbers a lane. The sums
// over three cells fit: at most 192 pixels of 255.
template <int kLanes>
struct CellSums {
  using Numbers = typename Vectors<kLanes>::Numbers;
  using Words = typename Vectors<kLanes>::Unsigned;
  static constexpr int kWords = 3;  // two components; the third and the count; column and row
  static_assert(3 * kMaxSmallCell * kMaxSmallCell * 255 < 1 << 16);
  Words word[kWords][kCandidates] = {};

  REGIONS_INLINE void add(const Numbers& places, const Numbers (&pixel)[3], int u, int v) {
    Words added[kWords];
    added[0] = reinterpret_cast<Words>((pixel[0] + kColorBias) | (pixel[1] + kColorBias) << 16);
    added[1] = reinterpret_cast<Words>(pixel[2] + (kColorBias + (1 << 16)));
    added[2] = same(static_cast<uint32_t>(u | v << 16));
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const Numbers chosen = places == place;
      for (int w = 0; w < kWords; ++w) {
        word[w][place] = chosen ? word[w][place] + added[w] : word[w][place];
      }
    }
  }

 private:
  // Of Words{} + number g++ 12 makes an instruction a lane.
  REGIONS_INLINE static Words same(uint32_t number) {
    uint32_t lanes[kLanes];
    for (int i = 0; i < kLanes; ++i) lanes[i] = number;
    Words words;
    std::memcpy(&words, lanes, sizeof words);
    return words;
  }
};

// The CellSums of a block of cells, given to clusters when all is stored: a cluster gets those of
// three cells a row, and vectors that overlap the last stored are slow to load.
template <int kLanes, bool kAdapts>
class CellBlock {
  using Words = typename Vectors<kLanes>::Unsigned;
  using Floats = typename Vectors<kLanes>::Scores;
  using Sums = CellSums<kLanes>;

 public:
  static constexpr int kCells = 128;

  void clear() { std::memset(this, 0, sizeof *this); }
  REGIONS_INLINE void put(int cell, const Sums& sums) {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      for (int w = 0; w < Sums::kWords; ++w) {
        std::memcpy(&word_[place][w][kPad + cell], &sums.word[w][place], sizeof(Words));
      }
    }
  }
  REGIONS_INLINE void put_reach(int cell, int place, const Floats& reach) {
    std::memcpy(&reach_[place][kPad + cell], &reach, sizeof reach);
  }
  // To the clusters from one before cell `begin` to one behind the last of `count`.
  REGIONS_INLINE void give(int begin, int count, const SlicGrid& grid,
                           const CellSumRow (&to)[3]) const {
    const auto width = static_cast<uint32_t>(grid.width);
    const auto height = static_cast<uint32_t>(grid.height);
    for (uint32_t dy = 0; dy < 3; ++dy) {
      const auto left = 3 * dy, middle = left + 1, right = left + 2;
      for (int i = -1; i <= count; i += kLanes) {
        const auto all = [&](int w) __attribute__((always_inline)) {
          return at(left, w, i + 1) + at(middle, w, i) + at(right, w, i - 1);
        };
        const Words first = all(0), second = all(1), third = all(2);
        // From the cell's own corner to that of the cluster's reach.
        const Words beside = 2 * (at(left, 1, i + 1) >> 16) + (at(middle, 1, i) >> 16);
        const Words counted = second >> 16;
        const Words sum[] = {first & 0xffff,
                             first >> 16,
                             second & 0xffff,
                             (third & 0xffff) + beside * width,
                             (third >> 16) + counted * ((2 - dy) * height),
                             counted};
        for (int p = 0; p < 6; ++p) {
          uint32_t* const part = to[dy].part[p] + begin + i;
          const Words more = load<Words>(part) + sum[p];
          std::memcpy(part, &more, sizeof more);
        }
        if constexpr (kAdapts) {
          const auto larger = [](const Floats& a, const Floats& b) __attribute__((always_inline)) {
            return a > b ? a : b;
          };
          const Floats far = larger(load<Floats>(&reach_[left][kPad + i + 1]),
                                    larger(load<Floats>(&reach_[middle][kPad + i]),
                                           load<Floats>(&reach_[right][kPad + i - 1])));
          const auto reach = reinterpret_cast<Words>(
              __builtin_convertvector(far, typename Vectors<kLanes>::Numbers));
          uint32_t* const part = to[dy].part[6] + begin + i;
          const Words before = load<Words>(part);
          const Words most = reach > before ? reach : before;
          std::memcpy(part, &most, sizeof most);
        }
      }
    }
  }

 private:
  static constexpr int kPad = kCellMargin + 2;  // zero on both sides
  static constexpr int kPitch = kCells + 2 * kPad;

  template <class Vector, class T>
  REGIONS_INLINE static Vector load(const T* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
  }
  REGIONS_INLINE Words at(uint32_t place, int w, int cell) const {
    return load<Words>(&word_[place][w][kPad + cell]);
  }
  uint32_t word_[kCandidates][Sums::kWords][kPitch];
  float reach_[kAdapts ? kCandidates : 1][kPitch];
};

template <int kLanes>
REGIONS_INLINE void read_cells(const CellRow& cells, int column, int u, int v,
                               typename Vectors<kLanes>::Numbers (&pixel)[3]) {
  const int8_t* const from = cells.input.memory.pixels(column, cells.row, u, v, cells.grid);
  for (int c = 0; c < 3; ++c) pixel[c] = Vectors<kLanes>::load(from + c * kCellBatch);
}

// Calls visit(strip, u, cells) for each column u of the cells from `column` on; `cells` of those
// have it.
template <class Strip, class Visit>
REGIONS_INLINE void for_each_column(const CellRow& row, int column, Visit visit) {
  const SlicGrid& grid = row.grid;
  const typename Strip::Candidates candidates(row, column);
  for (int u = 0; u < grid.width; ++u) {
    const int cells = (grid.size.width - u + grid.width - 1) / grid.width - column;
    Strip strip({candidates}, u, 0, RowChoice{});
    visit(strip, u, cells);
  }
}

template <ChoosingStrip Strip>
REGIONS_INLINE void sum_cells_by(const CellInput& input, int row, const CellSumRow (&to)[3]) {
  constexpr int kLanes = Strip::kLanes;
  using Vector = Vectors<kLanes>;
  using Numbers = typename Vector::Numbers;
  using Floats = typename Vector::Scores;
  const CellRow cells_of(input, row);
  const SlicGrid& grid = cells_of.grid;
  CellBlock<kLanes, Strip::kAdapts> block;
  for (int begin = 0; begin < grid.columns; begin += block.kCells) {
    const int count = std::min(grid.columns - begin, block.kCells);
    if (begin == 0 || count < block.kCells) block.clear();
    for (int cell = 0; cell < count; cell += kLanes) {
      CellSums<kLanes> sums;
      Floats reach[kCandidates] = {};
      for_each_column<Strip>(
          cells_of,
          begin + cell, [&](Strip & strip, int u, int cells) __attribute__((always_inline)) {
            const Numbers beyond = Vector::lane() >= cells;
            for (int v = 0; v < cells_of.rows(); ++v) {
              Numbers pixel[3];
              read_cells<kLanes>(cells_of, begin + cell, u, v, pixel);
              const Numbers places = strip.places(v, pixel) | (beyond & kNoCandidate);
              sums.add(places, pixel, u, v);
              strip.note(places);
            }
            if constexpr (Strip::kAdapts) {
              for (int place = 0; place < kCandidates; ++place) {
                const Floats& far = strip.reach(place);
                reach[place] = far > reach[place] ? far : reach[place];
              }
            }
          });
      block.put(cell, sums);
      if constexpr (Strip::kAdapts) {
        for (int place = 0; place < kCandidates; ++place) {
          block.put_reach(cell, place, reach[place]);
        }
      }
    }
    block.give(begin, count, grid, to);
  }
}

template <ChoosingStrip Strip>
REGIONS_INLINE void code_cells_by(const CellInput& input, int row, Image<uint8_t> codes) {
  constexpr int kLanes = Strip::kLanes;
  using Numbers = typename Vectors<kLanes>::Numbers;
  const CellRow cells_of(input, row);
  const SlicGrid& grid = cells_of.grid;
  for (int column = 0; column < grid.columns; column += kLanes) {
    const Numbers columns = Vectors<kLanes>::lane() + column;
    for_each_column<Strip>(
        cells_of, column, [&](Strip & strip, int u, int cells) __attribute__((always_inline)) {
          for (int v = 0; v < cells_of.rows(); ++v) {
            Numbers pixel[3];
            read_cells<kLanes>(cells_of, column, u, v, pixel);
            const auto bytes = codes_of<kLanes>(strip.places(v, pixel), columns, row);
            uint8_t* to = codes.row(cells_of.top() + v) + column * grid.width + u;
            for (int i = 0; i < std::min(cells, kLanes); ++i, to += grid.width) {
              *to = static_cast<uint8_t>(bytes[i]);
            }
          }
        });
  }
}

}  // namespace regions
