// What one frame in flight needs on the GPU.
#pragma once

#include "core/drawing.hpp"
#include "gpu/cclabel/slot.hpp"
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/workspace.hpp"

namespace regions::slic {

class Slot {
 public:
  // Allocates for whatever the parameters may ask of pictures like these.
  void allocate(const std::shared_ptr<Backend>& backend, const Setup& setup);

  // The workspace as the phases see it, for cells like these.
  Clusters clusters(const SlicGrid& grid, const SlicParams& params) const;
  Pieces pieces(const cclabel::Tiles& tiles) const;
  Image<uint8_t> codes() const;
  Records records(uint32_t capacity) const { return {records_, capacity, total_}; }
  LabelMap labels() const { return map_of(labels_); }  // where nobody else wants them
  const cclabel::Slot& labeller() const { return labeller_; }
  Ink ink() const { return ink_in(ink_.data(), size_); }

 private:
  LabelMap map_of(uint32_t* labels) const;

  Size size_;
  Workspace memory_;
  cclabel::Slot labeller_;
  uint32_t* colors_ = nullptr;
  ClusterSums* sums_[3] = {};
  unsigned long long* moved_ = nullptr;
  uint8_t* codes_ = nullptr;
  uint32_t* pieces_labels_ = nullptr;
  uint32_t* labels_ = nullptr;
  Piece* piece_ = nullptr;
  uint32_t* parent_ = nullptr;
  unsigned long long* choice_ = nullptr;
  uint32_t* dense_ = nullptr;
  uint2* edges_ = nullptr;
  uint32_t* edge_count_ = nullptr;
  maxflow::Progress::Meeting* meeting_ = nullptr;
  int join_blocks_ = 0;
  uint32_t* chunk_roots_ = nullptr;
  uint32_t* total_ = nullptr;
  Region* records_ = nullptr;
  Block ink_;
};

}  // namespace regions::slic
