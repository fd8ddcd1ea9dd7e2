// Access to the mask or label map that is attached to a frame.
#pragma once

#include "core/backend.hpp"
#include "core/work_area.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions {

// Throws InputError if no mask or label map is attached.
void expect_mask(const AttachedRegions& attached);

// Keeps an attached map mapped, and a reference to its buffer, until unmap().
class AttachedMask {
 public:
  AttachedMask() = default;
  AttachedMask(const AttachedMask&) = delete;
  AttachedMask& operator=(const AttachedMask&) = delete;
  ~AttachedMask() { unmap(); }

  // The attached map: in the backend's memory if it is there already, else mapped on the host.
  // Valid until unmap(). `attached.labels` must not be null. Throws InputError if the map cannot be
  // mapped or is smaller than the metadata states.
  ConstFrame map(const AttachedRegions& attached, const Backend& backend);
  // The attached map at the size of its working picture, in host memory. Empty if the map is not a
  // small map (see block_memory.hpp). Also empty if an element with the work area `area` cannot use
  // it: `area` must have the same working picture or be the whole picture.
  ConstFrame map_small(const AttachedRegions& attached, const WorkArea& area);
  bool is_small() const { return is_small_; }  // map_small() returned a map
  void unmap();

 private:
  bool is_small_ = false;
  GstBuffer* buffer_ = nullptr;
  GstMapInfo map_ = {};
};

}  // namespace regions
