// The passes over the pixels of one row of cells. They assign each pixel to a cluster, add it to
// the cluster's sums, or write its cluster code.
//
// The rows of a cell are divided into patches of kPatchRows rows. A strip is a vector of pixels
// that moves down the rows of one patch.
//
// The passes are templates. The parameter `Strip` computes the distance to a cluster (for SLIC in
// assign.cpp, for SLICO in slico.cpp). `kLanes` is the number of lanes of a vector, and
// `LaneContent` says whether a lane holds a pixel or a cell.
#pragma once

#include <algorithm>
#include <concepts>

#include "cpu/slicsuperpixel/pixel_vectors.hpp"
#include "cpu/slicsuperpixel/superpixel_clusters.hpp"

namespace regions {

// A row of cells, and the cluster centres of the previous row, of the same row and of the next row.
struct CellRow {
  const CellInput& input;
  const SlicGrid grid;
  const int row;
  const CellCenterRow centers[3];

  CellRow(const CellInput& cells, int cell_row)
      : input(cells),
        grid(cells.grid),
        row(cell_row),
        centers{cells.memory.center_row(cells.center_set, cell_row - 1, grid),
                cells.memory.center_row(cells.center_set, cell_row, grid),
                cells.memory.center_row(cells.center_set, cell_row + 1, grid)} {}
  // top() returns the first image row of the cells, rows() the number of their image rows inside
  // the picture.
  int top() const { return row * grid.height; }
  int rows() const { return std::min(grid.height, grid.size.height - top()); }
};

// Candidate number `candidate` (0..8) of kLanes consecutive cells, with one cell per lane. The
// members have the meaning of the members of Candidate. make_candidate(center, dx, dy) returns the
// Candidate for a cluster that has pixels; (dx, dy) is the offset of the cluster's cell in pixels.
template <int kLanes>
struct CandidateVectors {
  using Ints = typename Vectors<kLanes>::Ints;
  Ints base, column, down, row, color[3];
  Ints alive;                   // -1 in lanes whose cluster has pixels, else 0
  Ints stored[3], stored_base;  // colour and `base`, copied from CellCenterRow

  template <std::invocable<const Center&, int, int> Make>
  REGIONS_INLINE CandidateVectors(const CellRow& cells, int first_column, int candidate,
                                  Make make_candidate) {
    const SlicGrid& grid = cells.grid;
    const int dx = candidate % 3 - 1, dy = candidate / 3 - 1;
    const CellCenterRow& from = cells.centers[candidate / 3];
    int part[5][kLanes], bases[kLanes], parts[7][kLanes];
    for (int p = 0; p < 5; ++p) {
      for (int i = 0; i < kLanes; ++i) part[p][i] = from.part[p][first_column + dx + i];
    }
    std::memcpy(bases, from.base + first_column + dx, sizeof bases);
    for (int i = 0; i < kLanes; ++i) {
      // The stored values of a cluster without pixels are arbitrary. They are replaced by zeros,
      // because they could overflow the score.
      const int mask = bases[i] == CellCenterRow::kEmpty ? 0 : -1;
      const Center center = {{part[0][i] & mask, part[1][i] & mask, part[2][i] & mask},
                             bases[i] & mask,
                             part[3][i] & mask,
                             part[4][i] & mask,
                             true};
      const Candidate computed = make_candidate(center, dx * grid.width, dy * grid.height);
      parts[0][i] = computed.base;
      parts[1][i] = computed.column;
      parts[2][i] = computed.row;
      parts[3][i] = computed.down;
      for (int c = 0; c < 3; ++c) parts[4 + c][i] = computed.color[c];
    }
    stored_base = from_array(bases);
    alive = stored_base != CellCenterRow::kEmpty;
    base = alive ? from_array(parts[0]) : Ints{} + no_candidate(true, candidate).base;
    column = from_array(parts[1]) & alive;
    row = from_array(parts[2]) & alive;
    down = from_array(parts[3]) & alive;
    for (int c = 0; c < 3; ++c) {
      color[c] = from_array(parts[4 + c]) & alive;
      stored[c] = from_array(part[c]) & alive;
    }
  }

 private:
  REGIONS_INLINE static Ints from_array(const int (&values)[kLanes]) {
    Ints numbers;
    std::memcpy(&numbers, values, sizeof numbers);
    return numbers;
  }
};

// The content of a vector's lanes: neighbouring pixels of one cell (`pixels`), or the same pixel
// (u, v) of neighbouring cells (`cells`).
enum class LaneContent : uint8_t { pixels, cells };

// Gives a strip access to the candidates of kLanes cells. If lanes hold pixels, select() returns
// the value of cell `cell`. If lanes hold cells, select() returns the vector with the values of all
// cells.
template <LaneContent content, class Candidates>
struct CandidateView {
  const Candidates& all;
  int cell = 0;

  template <class Part>
  REGIONS_INLINE auto select(const Part& part) const {
    if constexpr (content == LaneContent::pixels) {
      return part[cell];
    } else {
      return part;
    }
  }
  // Returns the scores of a candidate in the first row of patch `patch`, without the terms for the
  // pixels' colours. If lanes hold pixels, the scores are for column `u` and the following columns.
  // If lanes hold cells, they are for column `u` of each cell; small cells have only one patch.
  REGIONS_INLINE auto start_scores(int candidate, int u, int patch) const {
    using Vector = Vectors<Candidates::kLanes>;
    typename Vector::Ints first = {};
    if constexpr (content == LaneContent::pixels) {
      const int column = select(all.column[candidate]);
      first += select(all.base[candidate]) + kPatchRows * patch * select(all.down[candidate]) +
               column * u;
      first += column * Vector::lane_numbers();
    } else {
      first = all.base[candidate] + all.column[candidate] * u;
    }
    return (first & ~15) | candidate;
  }
};

inline constexpr int kNoCandidate = 15;  // candidate number in lanes whose pixel is not in the cell

// The sums of the pixels that chose each candidate, for at most kRows rows of a strip. Two integers
// per lane and candidate hold all sums in bit fields.
template <int kLanes>
struct StripSums {
  using Ints = typename Vectors<kLanes>::Ints;
  static constexpr int kRows = 16;
  // Bit fields of third_count_rows. kCountShift is the lowest bit of the number of pixels. The bits
  // below hold the sum of component 2, which is less than 1 << 12 for 16 pixels of at most 255.
  static constexpr int kCountShift = 12;
  // The lowest bit of the sum of row numbers. The number of pixels, at most 16, fits in bits 12 to
  // 16.
  static constexpr int kRowShift = 17;

  Ints first_second[kCandidates];      // sums of components 0 and 1, 16 bits each
  Ints third_count_rows[kCandidates];  // sum of component 2, number of pixels, sum of rows

  REGIONS_INLINE StripSums() {
#pragma GCC unroll 9
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      first_second[candidate] = third_count_rows[candidate] = Ints{};
    }
  }
  // Adds one pixel per lane to the sums of its candidate. `v` is the image row, counted from the
  // first row of the first patch. It is below 64, because at most four patches share one set of
  // sums.
  REGIONS_INLINE void add(const Ints& candidates, const Ints (&pixel)[3], int v) {
    const Ints first_two = (pixel[0] + kColorBias) | (pixel[1] + kColorBias) << 16;
    const Ints others = pixel[2] + (kColorBias + (1 << kCountShift) + (v << kRowShift));
#pragma GCC unroll 9
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      const Ints chosen = candidates == candidate;
      first_second[candidate] =
          chosen ? first_second[candidate] + first_two : first_second[candidate];
      third_count_rows[candidate] =
          chosen ? third_count_rows[candidate] + others : third_count_rows[candidate];
    }
  }
  // Adds the sums of one candidate to the sums of its cluster. The strip starts at column `u` and
  // row `top` of the cell.
  REGIONS_INLINE void add_to(int candidate, int u, int top, const SlicGrid& grid,
                             PackedSums& sums) const {
    const Ints n =
        third_count_rows[candidate] >> kCountShift & ((1 << (kRowShift - kCountShift)) - 1);
    const Ints third_row = (third_count_rows[candidate] & ((1 << kCountShift) - 1)) |
                           third_count_rows[candidate] >> kRowShift << 16;
    const auto lane_sums = Vectors<kLanes>::sum_lanes_of_four(first_second[candidate], third_row, n,
                                                              n * Vectors<kLanes>::lane_numbers());
    const auto all = [&](int i) { return static_cast<uint32_t>(lane_sums[i]); };
    // Positions in cluster sums are relative to the upper left corner of the cluster's search
    // window, which is one cell to the left of and one cell above the cluster's own cell.
    const int left = u + (2 - candidate % 3) * grid.width;
    const int above = top + (2 - candidate / 3) * grid.height;
    sums.part[0] += all(0) & 0xffff;  // at most 256 pixels of at most 255: below 2^16
    sums.part[1] += all(0) >> 16;
    sums.part[2] += all(1) & 0xffff;
    sums.part[3] += all(3) + all(2) * static_cast<uint32_t>(left);
    sums.part[4] += (all(1) >> 16) + all(2) * static_cast<uint32_t>(above);
    sums.part[5] += all(2);
  }
};

template <int kLanes>
REGIONS_INLINE void load_pixels(const ColorPlanes& colors, int x, int y,
                                typename Vectors<kLanes>::Ints (&pixel)[3]) {
  for (int c = 0; c < 3; ++c) {
    pixel[c] = Vectors<kLanes>::load(colors.plane[c].row(y) + x);
  }
}

// The interface of a strip. choose() returns the nearest candidate for the pixel of each lane. It
// is called once per used row (see RowSubset), from top to bottom. SLICO also computes the largest
// colour distances: record_distances() must be called after each row, and merge_distances() once
// per candidate at the end.
template <class S>
concept ChoosingStrip = std::constructible_from<S, const typename S::View&, int, int, RowSubset> &&
    requires(S strip, const typename Vectors<S::kLanes>::Ints& candidates,
             const typename Vectors<S::kLanes>::Ints (&pixel)[3], const RowSums& sums) {
  { S::kIsSlico } -> std::convertible_to<bool>;
  strip.choose(0, pixel);
  strip.record_distances(candidates);
  strip.merge_distances(0, sums, 0);
};

// Stores the first `count` bytes of a vector, or all bytes if the vector has fewer.
template <int kLanes>
REGIONS_INLINE void store_bytes(const typename Vectors<kLanes>::Bytes& bytes, int count,
                                uint8_t* to) {
  if (count >= kLanes) {
    std::memcpy(to, &bytes, kLanes);
  } else {
    for (int i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(bytes[i]);
  }
}

// Calls visit(view, column) for each cell of a row of cells. `view` gives access to the candidates
// of the cell.
template <class Strip, class Visit>
REGIONS_INLINE void for_each_cell(const CellRow& cells, Visit visit) {
  for (int begin = 0; begin < cells.grid.columns; begin += Strip::kLanes) {
    const typename Strip::Candidates candidates(cells, begin);
    const int count = std::min(Strip::kLanes, cells.grid.columns - begin);
    for (int i = 0; i < count; ++i) visit(typename Strip::View{candidates, i}, begin + i);
  }
}

// Implements assign_and_sum() for one row of cells.
template <ChoosingStrip Strip>
REGIONS_INLINE void sum_row(const AssignInput& input, int row, RowSubset row_subset,
                            Image<uint8_t> chosen, const RowSums& row_sums) {
  constexpr int kLanes = Strip::kLanes;
  using Ints = typename Vectors<kLanes>::Ints;
  const CellRow cells(input.cells, row);
  const SlicGrid& grid = cells.grid;
  const int height = cells.rows();
  for_each_cell<Strip>(
      cells, [&](const typename Strip::View& view, int column) __attribute__((always_inline)) {
        const int width = std::min(grid.width, grid.size.width - column * grid.width);
        for (int u = 0; u < width; u += kLanes) {
          const Ints outside = Vectors<kLanes>::lane_numbers() >= width - u;
          for (int top = 0; top < height;) {
            // If only few rows of a patch are used, several patches share one set of sums.
            StripSums<kLanes> strip_sums;
            const int first = top;
            for (int summed_rows = 0;
                 top < height && summed_rows + row_subset.rows(kPatchRows) <= strip_sums.kRows;
                 top += kPatchRows) {
              const int rows = std::min(kPatchRows, height - top);
              if (row_subset.phase >= rows) continue;
              Strip strip(view, u, top / kPatchRows, row_subset);
              for (int v = row_subset.phase; v < rows; v += row_subset.row_step) {
                Ints pixel[3];
                const int x = column * grid.width + u, y = row * grid.height + top + v;
                load_pixels<kLanes>(input.colors, x, y, pixel);
                const Ints candidates = strip.choose(v, pixel) | (outside & kNoCandidate);
                if constexpr (!Strip::kIsSlico) {
                  store_bytes<kLanes>(Vectors<kLanes>::low_bytes(candidates), width - u,
                                      chosen.row(y) + x);
                }
                strip_sums.add(candidates, pixel, top - first + v);
                strip.record_distances(candidates);
              }
              summed_rows += row_subset.rows(rows);
              for (int candidate = 0; candidate < kCandidates; ++candidate) {
                strip.merge_distances(candidate, row_sums, column + candidate % 3 - 1);
              }
            }
            for (int candidate = 0; candidate < kCandidates; ++candidate) {
              strip_sums.add_to(candidate, u, first, grid,
                                row_sums.sums[candidate / 3][column + candidate % 3 - 1]);
            }
          }
        }
      });
}

// The candidates that the pixels of a strip chose in up to kPatchRows rows. Each pixel also has a
// bit that is set if the choice differs from the pixel's choice in the previous pass.
template <int kLanes>
struct StripChoices {
  // Number of bytes that are compared at once.
  static constexpr int kBytesAtOnce = std::min(kLanes, 8);
  uint8_t candidate[kPatchRows][kLanes];
  uint64_t changed[kPatchRows * kLanes / 64] = {};  // one bit per pixel, row by row

  // Stores the choices `now` of row number `row`. Only the first `count` pixels belong to the cell.
  // `old` contains the choices of the previous pass.
  REGIONS_INLINE void store(int row, const typename Vectors<kLanes>::Bytes& now, int count,
                            const uint8_t* old) {
    std::memcpy(candidate[row], &now, kLanes);
    uint32_t bits = 0;
    for (int first = 0; first < kLanes; first += kBytesAtOnce) {
      uint64_t differs = 0, before = 0;
      std::memcpy(&differs, candidate[row] + first, kBytesAtOnce);
      std::memcpy(&before, old + first, kBytesAtOnce);
      differs ^= before;
      differs |= differs >> 2;  // combines the four bits of a candidate number in the lowest bit
      differs |= differs >> 1;
      // The multiplication collects the lowest bits of the eight bytes in one byte.
      const uint64_t lowest = (differs & 0x0101010101010101) * 0x0102040810204080 >> 56;
      bits |= static_cast<uint32_t>(lowest) << first;
    }
    if (count < kLanes) bits &= (1u << count) - 1;
    changed[row * kLanes / 64] |= static_cast<uint64_t>(bits) << row * kLanes % 64;
  }
  // Calls visit(row, lane) for each pixel whose choice has changed.
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

// Implements reassign_pixels() for one row of cells.
template <ChoosingStrip Strip>
REGIONS_INLINE void reassign_row(const AssignInput& input, int row, RowSubset row_subset,
                                 Image<uint8_t> chosen, const RowSums& row_sums) {
  constexpr int kLanes = Strip::kLanes;
  using Sums = VectorTypes<8>::Unsigned;
  const CellRow cells(input.cells, row);
  const SlicGrid& grid = cells.grid;
  const int height = cells.rows();
  // Positions in the sums of a candidate are relative to the upper left corner of its search
  // window. window_offset contains, for each candidate, the offset from that corner to the upper
  // left corner of the current cell: x in entry 3, y in entry 4.
  Sums window_offset[kNoCandidate + 1] = {};
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    window_offset[candidate][3] = static_cast<uint32_t>((2 - candidate % 3) * grid.width);
    window_offset[candidate][4] = static_cast<uint32_t>((2 - candidate / 3) * grid.height);
  }
  for_each_cell<Strip>(
      cells, [&](const typename Strip::View& view, int column) __attribute__((always_inline)) {
        const int width = std::min(grid.width, grid.size.width - column * grid.width);
        for (int u = 0; u < width; u += kLanes) {
          const int x = column * grid.width + u;
          for (int top = 0; top < height; top += kPatchRows) {
            Strip strip(view, u, top / kPatchRows, row_subset);
            StripChoices<kLanes> choices;
            const int end = std::min(top + kPatchRows, height), first = top + row_subset.phase;
            for (int v = first, r = 0; v < end; v += row_subset.row_step, ++r) {
              typename Vectors<kLanes>::Ints pixel[3];
              load_pixels<kLanes>(input.colors, x, cells.top() + v, pixel);
              choices.store(r, Vectors<kLanes>::low_bytes(strip.choose(v - top, pixel)), width - u,
                            chosen.row(cells.top() + v) + x);
            }
            choices.for_each_change([&](int r, int lane) __attribute__((always_inline)) {
              const int v = first + r * row_subset.row_step, y = cells.top() + v;
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
              const auto change = [&](int candidate, const Sums& amount)
                  __attribute__((always_inline)) {
                uint32_t* const part =
                    row_sums.sums[candidate / 3][column + candidate % 3 - 1].part;
                Sums sums;
                std::memcpy(&sums, part, sizeof sums);
                sums += amount;
                std::memcpy(part, &sums, sizeof sums);
              };
              uint8_t& candidate = chosen(x + lane, y);
              change(candidate, Sums{} - (pixel + window_offset[candidate]));
              candidate = choices.candidate[r][lane];
              change(candidate, pixel + window_offset[candidate]);
            });
          }
        }
      });
}

// Returns the cluster_code() of the clusters that the lanes chose, given their candidate numbers
// for cell (column, row). If lanes hold cells, `column` is a vector.
template <int kLanes, class Column>
REGIONS_INLINE typename Vectors<kLanes>::Bytes codes_of(
    const typename Vectors<kLanes>::Ints& candidates, const Column& column, int row) {
  const auto down = candidates * 11 >> 5;  // candidate / 3, exact for 0..8
  const auto across = candidates - 3 * down;
  const auto codes = ((across + (column - 1)) & 3) | ((down + (row - 1)) & 3) << 2;
  return Vectors<kLanes>::low_bytes(codes);
}

// Implements write_cluster_codes() for one row of cells.
template <ChoosingStrip Strip>
REGIONS_INLINE void write_row_codes(const AssignInput& input, int row, Image<uint8_t> codes) {
  constexpr int kLanes = Strip::kLanes;
  using Ints = typename Vectors<kLanes>::Ints;
  const CellRow cells(input.cells, row);
  const SlicGrid& grid = cells.grid;
  const int height = cells.rows();
  for_each_cell<Strip>(
      cells, [&](const typename Strip::View& view, int column) __attribute__((always_inline)) {
        const int width = std::min(grid.width, grid.size.width - column * grid.width);
        for (int u = 0; u < width; u += kLanes) {
          for (int v = 0; v < height;) {
            Strip strip(view, u, v / kPatchRows, RowSubset{});
            for (const int end = std::min(v + kPatchRows, height); v < end; ++v) {
              Ints pixel[3];
              const int y = row * grid.height + v, x = column * grid.width + u;
              load_pixels<kLanes>(input.colors, x, y, pixel);
              store_bytes<kLanes>(
                  codes_of<kLanes>(strip.choose(v % kPatchRows, pixel), column, row), width - u,
                  codes.row(y) + x);
            }
          }
        }
      });
}

// The sums of the pixels that chose each candidate, for kLanes cells with one cell per lane. Three
// words per lane and candidate hold six sums of 16 bits. The sums of three cells can be added
// without overflow, because three cells have at most 192 pixels of at most 255.
template <int kLanes>
struct CellSums {
  using Ints = typename Vectors<kLanes>::Ints;
  using Words = typename Vectors<kLanes>::Unsigned;
  // Word 0 contains the sums of components 0 and 1. Word 1 contains the sum of component 2 and the
  // number of pixels. Word 2 contains the sums of columns and rows. The first sum is in the low
  // bits.
  static constexpr int kWords = 3;
  static_assert(3 * kMaxSmallCell * kMaxSmallCell * 255 < 1 << 16);
  Words word[kWords][kCandidates] = {};

  REGIONS_INLINE void add(const Ints& candidates, const Ints (&pixel)[3], int u, int v) {
    Words added[kWords];
    added[0] = reinterpret_cast<Words>((pixel[0] + kColorBias) | (pixel[1] + kColorBias) << 16);
    added[1] = reinterpret_cast<Words>(pixel[2] + (kColorBias + (1 << 16)));
    added[2] = broadcast(static_cast<uint32_t>(u | v << 16));
#pragma GCC unroll 9
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      const Ints chosen = candidates == candidate;
      for (int w = 0; w < kWords; ++w) {
        word[w][candidate] = chosen ? word[w][candidate] + added[w] : word[w][candidate];
      }
    }
  }

 private:
  // Returns a vector with `number` in every lane. The expression `Words{} + number` would be
  // slower, because g++ 12 generates one instruction per lane for it.
  REGIONS_INLINE static Words broadcast(uint32_t number) {
    uint32_t lanes[kLanes];
    for (int i = 0; i < kLanes; ++i) lanes[i] = number;
    Words words;
    std::memcpy(&words, lanes, sizeof words);
    return words;
  }
};

// The CellSums of up to kCells consecutive cells. They are added to the clusters only after all of
// them have been stored: each cluster receives sums from three cells of a row, and loading a vector
// that overlaps a recently stored vector is slow.
template <int kLanes, bool kIsSlico>
class CellBlock {
  using Words = typename Vectors<kLanes>::Unsigned;
  using Floats = typename Vectors<kLanes>::Floats;
  using Sums = CellSums<kLanes>;

 public:
  static constexpr int kCells = 128;

  void clear() { std::memset(this, 0, sizeof *this); }
  REGIONS_INLINE void store(int cell, const Sums& sums) {
#pragma GCC unroll 9
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      for (int w = 0; w < Sums::kWords; ++w) {
        std::memcpy(&word_[candidate][w][kPadding + cell], &sums.word[w][candidate], sizeof(Words));
      }
    }
  }
  REGIONS_INLINE void store_distances(int cell, int candidate, const Floats& max_distance) {
    std::memcpy(&max_distance_[candidate][kPadding + cell], &max_distance, sizeof max_distance);
  }
  // Adds the sums of cells begin..begin+count-1 to the clusters that the cells' pixels chose. The
  // clusters include one cluster to the left and one to the right of the cells.
  REGIONS_INLINE void add_to(int begin, int count, const SlicGrid& grid,
                             const CellSumRow (&to)[3]) const {
    const auto width = static_cast<uint32_t>(grid.width);
    const auto height = static_cast<uint32_t>(grid.height);
    for (uint32_t dy = 0; dy < 3; ++dy) {
      const auto left = 3 * dy, middle = left + 1, right = left + 2;
      for (int i = -1; i <= count; i += kLanes) {
        const auto all = [&](int w) __attribute__((always_inline)) {
          return words_at(left, w, i + 1) + words_at(middle, w, i) + words_at(right, w, i - 1);
        };
        const Words first = all(0), second = all(1), third = all(2);
        // A pixel's column in the search window is its column in the cell, plus the width of the
        // cells between the window's left edge and the pixel's cell. This is the number of these
        // cells, summed over the pixels.
        const Words columns_across =
            2 * (words_at(left, 1, i + 1) >> 16) + (words_at(middle, 1, i) >> 16);
        const Words counted = second >> 16;
        const Words sum[] = {first & 0xffff,
                             first >> 16,
                             second & 0xffff,
                             (third & 0xffff) + columns_across * width,
                             (third >> 16) + counted * ((2 - dy) * height),
                             counted};
        for (int p = 0; p < 6; ++p) {
          uint32_t* const part = to[dy].part[p] + begin + i;
          const Words updated_sums = load<Words>(part) + sum[p];
          std::memcpy(part, &updated_sums, sizeof updated_sums);
        }
        if constexpr (kIsSlico) {
          const auto larger = [](const Floats& a, const Floats& b) __attribute__((always_inline)) {
            return a > b ? a : b;
          };
          const Floats distance =
              larger(load<Floats>(&max_distance_[left][kPadding + i + 1]),
                     larger(load<Floats>(&max_distance_[middle][kPadding + i]),
                            load<Floats>(&max_distance_[right][kPadding + i - 1])));
          const auto max_distance = reinterpret_cast<Words>(
              __builtin_convertvector(distance, typename Vectors<kLanes>::Ints));
          uint32_t* const part = to[dy].part[6] + begin + i;
          const Words before = load<Words>(part);
          const Words larger_distance = max_distance > before ? max_distance : before;
          std::memcpy(part, &larger_distance, sizeof larger_distance);
        }
      }
    }
  }

 private:
  // Number of zeros before the first cell and after the last cell of each array.
  static constexpr int kPadding = kCellMargin + 2;
  static constexpr int kPitch = kCells + 2 * kPadding;

  template <class Vector, class T>
  REGIONS_INLINE static Vector load(const T* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
  }
  REGIONS_INLINE Words words_at(uint32_t candidate, int w, int cell) const {
    return load<Words>(&word_[candidate][w][kPadding + cell]);
  }
  uint32_t word_[kCandidates][Sums::kWords][kPitch];
  float max_distance_[kIsSlico ? kCandidates : 1][kPitch];
};

// Loads the colour of pixel (u, v) of kLanes small cells.
template <int kLanes>
REGIONS_INLINE void load_cells(const CellRow& cells, int column, int u, int v,
                               typename Vectors<kLanes>::Ints (&pixel)[3]) {
  const int8_t* const from = cells.input.memory.pixels(column, cells.row, u, v, cells.grid);
  for (int c = 0; c < 3; ++c) pixel[c] = Vectors<kLanes>::load(from + c * kCellBatch);
}

// Calls visit(strip, u, cells) for each pixel column `u` of kLanes cells. The first cell is cell
// `column`. Only the first `cells` cells contain pixel column `u`, because the picture's edge may
// cut off the last cell.
template <class Strip, class Visit>
REGIONS_INLINE void for_each_column(const CellRow& row, int column, Visit visit) {
  const SlicGrid& grid = row.grid;
  const typename Strip::Candidates candidates(row, column);
  for (int u = 0; u < grid.width; ++u) {
    const int cells = (grid.size.width - u + grid.width - 1) / grid.width - column;
    Strip strip({candidates}, u, 0, RowSubset{});
    visit(strip, u, cells);
  }
}

// Implements assign_and_sum_cells().
template <ChoosingStrip Strip>
REGIONS_INLINE void sum_cell_row(const CellInput& input, int row, const CellSumRow (&to)[3]) {
  constexpr int kLanes = Strip::kLanes;
  using Vector = Vectors<kLanes>;
  using Ints = typename Vector::Ints;
  using Floats = typename Vector::Floats;
  const CellRow row_of_cells(input, row);
  const SlicGrid& grid = row_of_cells.grid;
  CellBlock<kLanes, Strip::kIsSlico> block;
  for (int begin = 0; begin < grid.columns; begin += block.kCells) {
    const int count = std::min(grid.columns - begin, block.kCells);
    if (begin == 0 || count < block.kCells) block.clear();
    for (int cell = 0; cell < count; cell += kLanes) {
      CellSums<kLanes> sums;
      Floats max_distance[kCandidates] = {};
      for_each_column<Strip>(
          row_of_cells,
          begin + cell, [&](Strip & strip, int u, int cells) __attribute__((always_inline)) {
            const Ints outside = Vector::lane_numbers() >= cells;
            for (int v = 0; v < row_of_cells.rows(); ++v) {
              Ints pixel[3];
              load_cells<kLanes>(row_of_cells, begin + cell, u, v, pixel);
              const Ints candidates = strip.choose(v, pixel) | (outside & kNoCandidate);
              sums.add(candidates, pixel, u, v);
              strip.record_distances(candidates);
            }
            if constexpr (Strip::kIsSlico) {
              for (int candidate = 0; candidate < kCandidates; ++candidate) {
                const Floats& distance = strip.max_distance(candidate);
                max_distance[candidate] =
                    distance > max_distance[candidate] ? distance : max_distance[candidate];
              }
            }
          });
      block.store(cell, sums);
      if constexpr (Strip::kIsSlico) {
        for (int candidate = 0; candidate < kCandidates; ++candidate) {
          block.store_distances(cell, candidate, max_distance[candidate]);
        }
      }
    }
    block.add_to(begin, count, grid, to);
  }
}

// Implements write_cell_codes().
template <ChoosingStrip Strip>
REGIONS_INLINE void write_cell_row_codes(const CellInput& input, int row, Image<uint8_t> codes) {
  constexpr int kLanes = Strip::kLanes;
  using Ints = typename Vectors<kLanes>::Ints;
  const CellRow row_of_cells(input, row);
  const SlicGrid& grid = row_of_cells.grid;
  for (int column = 0; column < grid.columns; column += kLanes) {
    const Ints columns = Vectors<kLanes>::lane_numbers() + column;
    for_each_column<Strip>(
        row_of_cells, column, [&](Strip & strip, int u, int cells) __attribute__((always_inline)) {
          for (int v = 0; v < row_of_cells.rows(); ++v) {
            Ints pixel[3];
            load_cells<kLanes>(row_of_cells, column, u, v, pixel);
            const auto bytes = codes_of<kLanes>(strip.choose(v, pixel), columns, row);
            uint8_t* to = codes.row(row_of_cells.top() + v) + column * grid.width + u;
            for (int i = 0; i < std::min(cells, kLanes); ++i, to += grid.width) {
              *to = static_cast<uint8_t>(bytes[i]);
            }
          }
        });
  }
}

// Runs each pass with the widest vectors that this CPU supports.
template <template <int, LaneContent> class Strip>
struct PassDispatch {
  using Codes = Image<uint8_t>;

  static void sum(const AssignInput& input, int row, RowSubset row_subset, Codes chosen,
                  const RowSums& to) {
    static const auto selected_version = select_for_cpu(sum_row_16, sum_row_8, sum_row_4);
    selected_version(input, row, row_subset, chosen, to);
  }
  static void reassign(const AssignInput& input, int row, RowSubset row_subset, Codes chosen,
                       const RowSums& to) {
    static const auto selected_version =
        select_for_cpu(reassign_row_16, reassign_row_8, reassign_row_4);
    selected_version(input, row, row_subset, chosen, to);
  }
  static void write_codes(const AssignInput& input, int row, Codes codes) {
    static const auto selected_version =
        select_for_cpu(write_row_codes_16, write_row_codes_8, write_row_codes_4);
    selected_version(input, row, codes);
  }
  static void sum_small_cells(const CellInput& input, int row, const CellSumRow (&to)[3]) {
    static const auto selected_version =
        select_for_cpu(sum_cell_row_16, sum_cell_row_8, sum_cell_row_4);
    selected_version(input, row, to);
  }
  static void write_small_cell_codes(const CellInput& input, int row, Codes codes) {
    static const auto selected_version =
        select_for_cpu(write_cell_row_codes_16, write_cell_row_codes_8, write_cell_row_codes_4);
    selected_version(input, row, codes);
  }

 private:
  template <int kLanes>
  using Pixels = Strip<kLanes, LaneContent::pixels>;
  template <int kLanes>
  using Cells = Strip<kLanes, LaneContent::cells>;

  REGIONS_16_LANES static void sum_row_16(const AssignInput& input, int row, RowSubset row_subset,
                                          Codes chosen, const RowSums& to) {
    sum_row<Pixels<16>>(input, row, row_subset, chosen, to);
  }
  REGIONS_8_LANES static void sum_row_8(const AssignInput& input, int row, RowSubset row_subset,
                                        Codes chosen, const RowSums& to) {
    sum_row<Pixels<8>>(input, row, row_subset, chosen, to);
  }
  static void sum_row_4(const AssignInput& input, int row, RowSubset row_subset, Codes chosen,
                        const RowSums& to) {
    sum_row<Pixels<4>>(input, row, row_subset, chosen, to);
  }
  REGIONS_16_LANES static void reassign_row_16(const AssignInput& input, int row,
                                               RowSubset row_subset, Codes chosen,
                                               const RowSums& to) {
    reassign_row<Pixels<16>>(input, row, row_subset, chosen, to);
  }
  REGIONS_8_LANES static void reassign_row_8(const AssignInput& input, int row,
                                             RowSubset row_subset, Codes chosen,
                                             const RowSums& to) {
    reassign_row<Pixels<8>>(input, row, row_subset, chosen, to);
  }
  static void reassign_row_4(const AssignInput& input, int row, RowSubset row_subset, Codes chosen,
                             const RowSums& to) {
    reassign_row<Pixels<4>>(input, row, row_subset, chosen, to);
  }
  REGIONS_16_LANES static void write_row_codes_16(const AssignInput& input, int row, Codes codes) {
    write_row_codes<Pixels<16>>(input, row, codes);
  }
  REGIONS_8_LANES static void write_row_codes_8(const AssignInput& input, int row, Codes codes) {
    write_row_codes<Pixels<8>>(input, row, codes);
  }
  static void write_row_codes_4(const AssignInput& input, int row, Codes codes) {
    write_row_codes<Pixels<4>>(input, row, codes);
  }

  REGIONS_16_LANES static void sum_cell_row_16(const CellInput& input, int row,
                                               const CellSumRow (&to)[3]) {
    sum_cell_row<Cells<16>>(input, row, to);
  }
  REGIONS_8_LANES static void sum_cell_row_8(const CellInput& input, int row,
                                             const CellSumRow (&to)[3]) {
    sum_cell_row<Cells<8>>(input, row, to);
  }
  static void sum_cell_row_4(const CellInput& input, int row, const CellSumRow (&to)[3]) {
    sum_cell_row<Cells<4>>(input, row, to);
  }
  REGIONS_16_LANES static void write_cell_row_codes_16(const CellInput& input, int row,
                                                       Codes codes) {
    write_cell_row_codes<Cells<16>>(input, row, codes);
  }
  REGIONS_8_LANES static void write_cell_row_codes_8(const CellInput& input, int row, Codes codes) {
    write_cell_row_codes<Cells<8>>(input, row, codes);
  }
  static void write_cell_row_codes_4(const CellInput& input, int row, Codes codes) {
    write_cell_row_codes<Cells<4>>(input, row, codes);
  }
};

}  // namespace regions
