// What frames on CUDA work in: the model that all share, and a workspace a slot.
#pragma once

#include "gpu/graphcutbg/phases.hpp"
#include "gpu/runtime/workspace.hpp"

namespace regions::graphcut {

// Frames use it one after the other.
class SharedArrays {
 public:
  void reserve(Workspace& memory, Size size, Neighbours neighbours);
  Canvas canvas(const uint8_t* excluded) const;
  GridGraph graph() const;
  DeviceScene* scene() const { return scene_; }

 private:
  Size size_;
  Neighbours neighbours_ = Neighbours::eight;
  Canvas arrays_;
  DeviceScene* scene_ = nullptr;
};

class SlotArrays {
 public:
  static constexpr size_t kHostBytes = 512;  // pinned, of a slot
  // `paints`: whether the mask is made softer, and the picture blurred, for an output. `host`:
  // where reports come to.
  void reserve(Workspace& memory, Size size, bool paints, std::byte* host);
  Image<uint8_t> mask() const { return picture_of(mask_); }
  Image<uint8_t> counts() const { return picture_of(counts_); }
  Image<uint8_t> alpha() const { return picture_of(alpha_); }
  Cells cells(int side) const { return cells_of(size_, side, sums_, weights_); }
  Image<uint16_t> smooth(int component, const Cells& cells) const {
    return {smooth_[component], cells.columns, cells.rows,
            static_cast<ptrdiff_t>(sizeof(uint16_t)) * cells.columns};
  }
  DeviceReport* report() const { return report_; }
  // Pinned.
  CutReport* host_cut() const { return reinterpret_cast<CutReport*>(host_); }
  DeviceReport* host_report() const {
    return reinterpret_cast<DeviceReport*>(host_ + kReportStart);
  }
  bool verified = false;  // the last frame's cut

 private:
  static constexpr size_t kReportStart = 256;  // bytes
  static_assert(sizeof(CutReport) <= kReportStart &&
                kReportStart + sizeof(DeviceReport) <= kHostBytes);
  Image<uint8_t> picture_of(uint8_t* pixels) const {
    return {pixels, size_.width, size_.height, size_.width};
  }
  Size size_;
  uint8_t *mask_ = nullptr, *counts_ = nullptr, *alpha_ = nullptr;  // [height][width]
  uint64_t* sums_ = nullptr;                                        // see Cells
  uint32_t* weights_ = nullptr;
  uint16_t* smooth_[3] = {};
  DeviceReport* report_ = nullptr;
  std::byte* host_ = nullptr;
};

}  // namespace regions::graphcut
