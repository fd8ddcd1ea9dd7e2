// Reads the objects of a frame for the rules of events: from the `regions` metadata, or from object
// detections and tracks in GStreamer's analytics metadata.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

#include "core/events/pixel_counts.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions::events {

class FrameReader {
 public:
  // Reads the objects of a frame. `video_size` is the size in the caps; empty if unknown. Returns
  // false if the frame's objects are unknown: it has no region metadata although earlier frames had
  // some, or it has detections without a known picture size. Throws InputError if the metadata is
  // malformed.
  bool read(GstBuffer* buffer, Size video_size);
  // The size of the picture that the objects' coordinates refer to.
  Size size() const { return size_; }

  // The structure of the frame's region metadata; null if the frame lacks it.
  GstStructure* metadata() const { return metadata_; }

  // Counts the pixels that the rules require. `rules` are in pixels of size(). Returns an empty
  // text, or the reason why a zone cannot be evaluated.
  std::string count_pixels(const Rules& rules);

  // The objects for EventDetector, valid until the next call of read().
  FrameObjects frame_at(int64_t time) const;

  // Forgets which metadata earlier frames had.
  void begin_stream();
  // Must be called if the rules changed.
  void forget_rules() { counts_.forget_rules(); }

 private:
  void read_region_objects();
  void read_detections(GstBuffer* buffer);
  void count_labels(const Rules& rules);

  GstStructure* metadata_ = nullptr;  // belongs to the buffer of the last read()
  Size size_;
  bool had_regions_ = false;  // an earlier frame had region metadata with regions
  bool is_tracked_ = false;   // the last frame with objects had tracks
  AttachedRegions attached_;
  std::vector<Object> objects_;
  PixelCounts counts_;
};

}  // namespace regions::events
