// PictureMapping: where an element that scales, crops, frames or turns pictures puts their pixels,
// as far as GStreamer tells metadata.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "core/frame.hpp"

namespace regions {

// Of edges of pixels along one axis of the result: an edge e of the source lies at scale * e +
// shift there, and what it shows of the source lies between `low` and `high`. A negative scale
// mirrors.
struct AxisMapping {
  double scale = 1;
  double shift = 0;
  int low = 0;
  int high = 0;
};

struct PictureMapping {
  bool transposed = false;  // x of the result comes from y of the source
  AxisMapping x, y;
  Size from, to;

  bool mirrors() const { return x.scale < 0 || y.scale < 0; }
  // The whole picture became the whole of the result, as it stands.
  bool only_scales() const;
};

// The mapping of a GstMeta transform, for coordinates of a picture of size `from`; a frame may hold
// `layers` such pictures, one below another. None if it is unknown where the pixels went.
std::optional<PictureMapping> mapping_of(GQuark type, gpointer data, Size from, int layers);

}  // namespace regions
