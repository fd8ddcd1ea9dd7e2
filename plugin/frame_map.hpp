// From caps and buffers to layouts and frames.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include "core/packed.hpp"
#include "core/workers.hpp"

namespace regions {

inline constexpr const char* kLabelCaps = "video/x-region-labels";

// What fixed caps say of the pictures.
struct PictureCaps {
  GstVideoInfo info;  // not for labels32
  Layout layout;
  Size size;
  Colorimetry color;
  bool cuda = false;  // memory:CUDAMemory
  size_t bytes = 0;   // of a buffer without padding
};
// Throws InputError naming what is not supported.
PictureCaps parse(const GstCaps* caps);

// Whether pictures of both caps have one memory layout and mean the same colours; frame rates and
// pixel aspect ratios may differ.
bool same_pictures(const PictureCaps& a, const PictureCaps& b);
// Whether the buffer has as many bytes as its caps promise.
bool holds_picture(GstBuffer* buffer, const PictureCaps& caps);

// A buffer's picture while it is mapped. Unmaps in the destructor; the buffer must live until then.
class MappedPicture {
 public:
  MappedPicture() = default;
  // Maps on the host, or, for `caps.cuda`, on the device. Throws InputError when the buffer is too
  // small or cannot be mapped so.
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
