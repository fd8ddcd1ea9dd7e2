// The mask or label map that came with a frame, as a picture while it is held.
#pragma once

#include "core/backend.hpp"
#include "plugin/region_meta.hpp"

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
  void drop();

 private:
  GstBuffer* buffer_ = nullptr;
  GstMapInfo map_ = {};
};

}  // namespace regions
