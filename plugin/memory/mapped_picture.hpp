// Maps a GstBuffer as a Frame, according to its caps and metas.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include "core/frame.hpp"
#include "core/workers.hpp"

namespace regions {

// The media type of label maps in caps.
inline constexpr const char* kLabelCaps = "video/x-region-labels";

// The picture format that fixed caps describe.
struct PictureCaps {
  GstVideoInfo info;  // not set for the format labels32
  Layout layout;
  Size size;
  Colorimetry color;
  bool cuda = false;  // the caps have the feature memory:CUDAMemory
  size_t bytes = 0;   // size of a buffer whose rows have GStreamer's default pitches
};
// Parses fixed caps. If a value is not supported, throws InputError, which names the value.
PictureCaps parse_caps(const GstCaps* caps);

// Whether both caps describe pictures of the same size, memory layout and colours. Frame rates and
// pixel aspect ratios may differ.
bool have_same_pictures(const PictureCaps& a, const PictureCaps& b);

// Whether the buffer has at least as many bytes as its caps require.
bool holds_picture(GstBuffer* buffer, const PictureCaps& caps);

// The visible picture of a mapped buffer: the rectangle of its GstVideoCropMeta if the buffer has
// one, else the whole picture. The destructor unmaps the buffer, which must exist until then.
class MappedPicture {
 public:
  MappedPicture() = default;
  // Maps on the device if `caps.cuda` is set, else on the host. Throws InputError if the buffer is
  // too small, if its metas contradict its caps, or if it cannot be mapped.
  MappedPicture(GstBuffer* buffer, const PictureCaps& caps, GstMapFlags flags);
  MappedPicture(const MappedPicture&) = delete;
  MappedPicture& operator=(const MappedPicture&) = delete;
  ~MappedPicture() { unmap(); }

  void map(GstBuffer* buffer, const PictureCaps& caps, GstMapFlags flags);
  void unmap();
  const Frame& frame() const { return frame_; }

 private:
  void map_labels(GstBuffer* buffer, const PictureCaps& caps, GstMapFlags flags);

  GstVideoFrame video_ = {};  // the mapping of a video format
  GstMapInfo bytes_ = {};     // the mapping of a label map
  GstBuffer* buffer_ = nullptr;
  bool is_label_map_ = false;
  bool is_mapped_ = false;
  Frame frame_;
};

// Sets every sample to 0.
void fill_with_zeros(const Frame& picture);

// Copies rows between host frames of the same layout and size, on several threads.
void copy_rows(const ConstFrame& from, const Frame& to, const Workers& workers);

}  // namespace regions
