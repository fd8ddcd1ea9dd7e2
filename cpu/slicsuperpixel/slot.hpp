// The workspace of one frame in flight.
#pragma once

#include <vector>

#include "core/drawing/drawing.hpp"
#include "core/workers.hpp"
#include "cpu/slicsuperpixel/cells.hpp"
#include "cpu/slicsuperpixel/joining.hpp"

namespace regions {

// Sums of the stored components over a run, for the records.
struct RunValues {
  uint32_t value[3];
};

struct SuperpixelSlot {
  ColorPlanes colors;
  PackedSums* sums;  // [phases of rows][rows][3][columns + 2]
  uint32_t* reach;   // the same of slico
  CellMemory cells;
  Image<uint8_t> codes;  // before, of large cells, pixels' places; readable a vector beyond the end
  LabelMap pieces;       // before small ones have joined
  LabelMap labels;       // where the job wants none
  Run* runs;             // [height][width]; strip s begins with its first row
  Contact* contacts;     // [height][width][kMaxContacts], where the sums were
  RunValues* values;     // [height][width]
  PieceGraph graph;
  uint64_t* largest;  // [rows][columns] piece_claim(), for tracks
  uint32_t* spares;   // [rows][columns] ids of superpixels, for tracks
  Region* records;    // [max_regions], where the job wants none
  Border* borders;    // [border_table_size(max_regions)], if configured
  std::byte* scratch[PieceStrip::kMax];
  PieceStrip strip[PieceStrip::kMax];
  Ink ink;

  void allocate(Backend& backend, const Setup& setup);
  Run* runs_from(int y) const { return runs + static_cast<size_t>(y) * width_; }
  Contact* contacts_from(int y) const {
    return contacts + kMaxContacts * static_cast<size_t>(y) * width_;
  }
  RunValues* values_from(int y) const { return values + static_cast<size_t>(y) * width_; }

 private:
  template <class T>
  T* piece(Backend& backend, size_t count) {
    memory_.push_back(backend.allocate(count * sizeof(T)));
    return memory_.back().template as<T>();
  }
  void allocate_sums(Backend& backend, Size size);
  void allocate_graph(Backend& backend, size_t pixels);

  size_t width_ = 0;
  std::vector<Block> memory_;
};

}  // namespace regions
