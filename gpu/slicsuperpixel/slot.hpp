// What one frame in flight needs on the GPU.
#pragma once

#include "core/drawing/drawing.hpp"
#include "gpu/runtime/workspace.hpp"
#include "gpu/slicsuperpixel/report.hpp"

namespace regions::slic {

class Slot {
 public:
  // Allocates for whatever the parameters may ask of pictures like these.
  void allocate(const std::shared_ptr<Backend>& backend, const Setup& setup, SlicMethod method);

  // The workspace as the phases see it, for cells like these.
  Clusters clusters(const SlicGrid& grid, const SlicParams& params) const;
  // Throws InputError for cells that are too small.
  Report report(const SlicGrid& grid, const SlicParams& params) const;
  const Pieces& pieces() const { return pieces_; }
  const Tracks& tracks() const { return tracks_; }
  Image<uint8_t> codes() const;
  Records records(uint32_t capacity, bool moments) const {
    return {records_, capacity, pieces_.total, moments ? moments_ : nullptr};
  }
  Borders borders(uint32_t capacity) const;
  LabelMap labels() const { return map_of(labels_); }  // where the job wants none
  Ink ink() const { return ink_in(ink_.data(), size_); }

 private:
  LabelMap map_of(uint32_t* labels) const;
  void reserve_pieces();
  void reserve_borders(uint32_t regions);

  Size size_;
  Workspace memory_;
  uint32_t* colors_ = nullptr;
  ClusterSums* sums_[3] = {};
  uint32_t* reach_[3] = {};
  unsigned long long* moved_ = nullptr;
  uint8_t* codes_ = nullptr;
  uint32_t* labels_ = nullptr;
  Owner* owners_ = nullptr;  // these three of method=report alone
  ClusterSums* report_sums_ = nullptr;
  ReportMean* report_means_ = nullptr;
  Pieces pieces_ = {};
  Tracks tracks_;
  Region* records_ = nullptr;
  Moments* moments_ = nullptr;
  Borders borders_;
  Block ink_;
};

}  // namespace regions::slic
