// The mask or label map that came with a frame, as a picture while it is held.
#pragma once

#include "core/backend.hpp"
#include "core/work_area.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions {

// Throws InputError if there is none.
void expect_mask(const Attached& attached);

class AttachedMask {
 public:
  AttachedMask() = default;
  AttachedMask(const AttachedMask&) = delete;
  AttachedMask& operator=(const AttachedMask&) = delete;
  ~AttachedMask() { drop(); }

  // The attached map where it lies, if the backend can work on it there; else mapped on the host.
  // Valid until drop(). `attached.labels` is not null. Throws InputError if it is unreadable or too
  // small.
  ConstFrame hold(const Attached& attached, const Backend& backend);
  // The same map at the size of its working picture, in host memory, if it lies there so and says
  // as much to an element of this working picture, or of the whole one; else empty.
  ConstFrame hold_small(const Attached& attached, const WorkArea& own);
  bool is_small() const { return is_small_; }
  void drop();

 private:
  bool is_small_ = false;
  GstBuffer* buffer_ = nullptr;
  GstMapInfo map_ = {};
};

}  // namespace regions
