// Conversion of caps and buffers to layouts and frames.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include "core/packed.hpp"
#include "core/workers.hpp"

namespace regions {

inline constexpr const char* kLabelCaps = "video/x-region-labels";

// The contents of fixed caps.
struct PictureCaps {
  GstVideoInfo info;  // not for labels32
  Layout layout;
  Size size;
  Colorimetry color;
  bool cuda = false;  // memory:CUDAMemory
  size_t bytes = 0;   // of a buffer without padding
};
// Throws InputError, which names the unsupported value.
PictureCaps parse(const GstCaps* caps);

// Whether pictures of both caps have one memory layout and mean the same colours; frame rates and
// pixel aspect ratios may differ.
bool same_pictures(const PictureCaps& a, const PictureCaps& b);
// Whether the buffer has as many bytes as its caps promise.
bool holds_picture(GstBuffer* buffer, const PictureCaps& caps);

// A buffer's visible picture while it is mapped: inside its GstVideoCropMeta, if it has one. Unmaps
// in the destructor; the buffer must live until then.
class MappedPicture {
 public:
  MappedPicture() = default;
  // Maps on the host, or on the device for `caps.cuda`. Throws InputError if the buffer is too
  // small, if its metas contradict its caps, or if it cannot be mapped.
  MappedPicture(GstBuffer* buffer, const PictureCaps& caps, GstMapFlags flags);
  MappedPicture(const MappedPicture&) = delete;
  MappedPicture& operator=(const MappedPicture&) = delete;
  ~MappedPicture() { unmap(); }

  void map(GstBuffer* buffer, const PictureCaps& caps, GstMapFlags flags);
  void unmap();
  const Frame& frame() const { return view_; }
  bool mapped() const { return mapped_; }

 private:
  GstVideoFrame video_ = {};
  GstMapInfo bytes_ = {};
  GstBuffer* buffer_ = nullptr;
  bool plain_ = false;  // bytes_ rather than video_ is mapped
  bool mapped_ = false;
  Frame view_;
};

// Makes every sample 0.
void blank(const Frame& picture);
// Copies rows between host frames of one layout and size, on several threads.
void copy_rows(const ConstFrame& from, const Frame& to, const Workers& workers);

}  // namespace regions
