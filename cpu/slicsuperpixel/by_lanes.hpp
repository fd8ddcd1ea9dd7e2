// One pass, compiled for each width of vectors; the machine's own is chosen when it first runs.
#pragma once

#include "cpu/slicsuperpixel/cell_strips.hpp"

namespace regions {

template <template <int, Lanes> class Strip>
struct ByLanes {
  using Codes = Image<uint8_t>;

  static void sum(const AssignInput& in, int row, RowChoice choice, Codes places,
                  const RowSums& to) {
    static const auto run = for_machine(sum_by_16, sum_by_8, sum_by_4);
    run(in, row, choice, places, to);
  }
  static void move(const AssignInput& in, int row, RowChoice choice, Codes places,
                   const RowSums& to) {
    static const auto run = for_machine(move_by_16, move_by_8, move_by_4);
    run(in, row, choice, places, to);
  }
  static void code(const AssignInput& in, int row, Codes codes) {
    static const auto run = for_machine(code_by_16, code_by_8, code_by_4);
    run(in, row, codes);
  }
  static void sum_cells(const CellInput& in, int row, const CellSumRow (&to)[3]) {
    static const auto run = for_machine(sum_cells_by_16, sum_cells_by_8, sum_cells_by_4);
    run(in, row, to);
  }
  static void code_cells(const CellInput& in, int row, Codes codes) {
    static const auto run = for_machine(code_cells_by_16, code_cells_by_8, code_cells_by_4);
    run(in, row, codes);
  }

 private:
  template <int kLanes>
  using Pixels = Strip<kLanes, Lanes::pixels>;
  template <int kLanes>
  using Cells = Strip<kLanes, Lanes::cells>;

  REGIONS_BY_16 static void sum_by_16(const AssignInput& in, int row, RowChoice choice,
                                      Codes places, const RowSums& to) {
    sum_by<Pixels<16>>(in, row, choice, places, to);
  }
  REGIONS_BY_8 static void sum_by_8(const AssignInput& in, int row, RowChoice choice, Codes places,
                                    const RowSums& to) {
    sum_by<Pixels<8>>(in, row, choice, places, to);
  }
  static void sum_by_4(const AssignInput& in, int row, RowChoice choice, Codes places,
                       const RowSums& to) {
    sum_by<Pixels<4>>(in, row, choice, places, to);
  }
  REGIONS_BY_16 static void move_by_16(const AssignInput& in, int row, RowChoice choice,
                                       Codes places, const RowSums& to) {
    move_by<Pixels<16>>(in, row, choice, places, to);
  }
  REGIONS_BY_8 static void move_by_8(const AssignInput& in, int row, RowChoice choice, Codes places,
                                     const RowSums& to) {
    move_by<Pixels<8>>(in, row, choice, places, to);
  }
  static void move_by_4(const AssignInput& in, int row, RowChoice choice, Codes places,
                        const RowSums& to) {
    move_by<Pixels<4>>(in, row, choice, places, to);
  }
  REGIONS_BY_16 static void code_by_16(const AssignInput& in, int row, Codes codes) {
    code_by<Pixels<16>>(in, row, codes);
  }
  REGIONS_BY_8 static void code_by_8(const AssignInput& in, int row, Codes codes) {
    code_by<Pixels<8>>(in, row, codes);
  }
  static void code_by_4(const AssignInput& in, int row, Codes codes) {
    code_by<Pixels<4>>(in, row, codes);
  }

  REGIONS_BY_16 static void sum_cells_by_16(const CellInput& in, int row,
                                            const CellSumRow (&to)[3]) {
    sum_cells_by<Cells<16>>(in, row, to);
  }
  REGIONS_BY_8 static void sum_cells_by_8(const CellInput& in, int row, const CellSumRow (&to)[3]) {
    sum_cells_by<Cells<8>>(in, row, to);
  }
  static void sum_cells_by_4(const CellInput& in, int row, const CellSumRow (&to)[3]) {
    sum_cells_by<Cells<4>>(in, row, to);
  }
  REGIONS_BY_16 static void code_cells_by_16(const CellInput& in, int row, Codes codes) {
    code_cells_by<Cells<16>>(in, row, codes);
  }
  REGIONS_BY_8 static void code_cells_by_8(const CellInput& in, int row, Codes codes) {
    code_cells_by<Cells<8>>(in, row, codes);
  }
  static void code_cells_by_4(const CellInput& in, int row, Codes codes) {
    code_cells_by<Cells<4>>(in, row, codes);
  }
};

}  // namespace regions
