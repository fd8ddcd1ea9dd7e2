// The `regions` metadata: our public contract with applications and between our elements.
//
// clang-format off: a table
// A GstCustomMeta named "regions" with the structure
//   regions, algorithm=(string)cclabel, width=(int), height=(int)  size the coordinates refer to
//            regions-total=(uint)     regions found; the array may hold fewer
//            regions=(GstValueArray of structures)
//              region, id=(uint) label in this frame, 1..n      track=(uint) id that stays
//                      x, y, width, height=(int) box in pixels  area=(guint64) pixels
//                      cx, cy=(double) centroid in pixels       first-x, first-y=(int) pixel
//                      red, green, blue=(double) mean colour, 0..255
//                      where regions are tracked also:
//                      first-seen=(guint64) timestamp of the track's first frame, ns
//                      of superpixels also:
//                      lab-l, lab-a, lab-b=(double) mean of CIELAB (D65), 0..100 and -128..127
//                      cov-xx, cov-xy, cov-yy=(double) covariance of places in pixels, on request
//                      of volumes and lists of thresholds also:
//                      z, depth=(int) box in slices   cz=(double)   first-z=(int)
//                      layer=(uint) index of the threshold
//            slice, slices=(int) this frame's place in its volume; its regions are those whose
//                                   boxes it crosses, regions-total and area are the volume's
//            layers=(int) thresholds; pictures and label map are so many, one below another
//            labels=(GstBuffer), labels-format=(string)U32_LE
//                                   the label map, rows without padding; GRAY8: a mask, 0
//                                   background to 255 foreground
//            labels-width, labels-height=(int)
//                                   of the label map, where the picture was scaled since
//            adjacency=(GstBuffer)  on request: the pairs of recorded superpixels that touch, three
//                                   U32_LE each: the lower id, the other, sides of pixels they
//                                   share; in order of ids
//            runs=(GstBuffer)       on request (attach-runs): the pixels of the recorded regions as
//                                   runs of a row, four U32_LE each: id, x and y of the first
//                                   pixel, width; by id, then by y, then by x. In C:
//                                     guint32 (*run)[4] = (void *) map.data;
//                                   in Python: struct.iter_unpack("<4I", data). Of a volume: this
//                                   frame's pixels; the region's `layer` is theirs
//            runs-truncated=(gboolean) there were more than max-runs: those later in raster order
//                                   are missing
//            and what else an element says of the frame, see its page in docs/elements.md
//
// Beside it stand GStreamer's own metadata for the largest 256 regions, see standard_metas.hpp.
// docs/metadata.md tells what becomes of the metadata in elements that scale, crop, turn or encode.
// clang-format on
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <span>
#include <vector>

#include "core/region.hpp"
#include "core/workers.hpp"
#include "plugin/engine.hpp"
#include "plugin/structure_pool.hpp"

namespace regions {

constexpr const char* kRegionMeta = "regions";  // its name

// To be called once, before the first buffer (in plugin_init).
void register_region_meta();

// What an element found in one frame.
struct Findings {
  const char* algorithm = "";
  Size size;
  uint32_t total = 0;
  std::span<const Region> regions;
  Details details;                           // wanted, of what follows
  std::span<const Moments> moments;          // one a region, or none
  std::span<const GstClockTime> first_seen;  // of each region's track, or none
  std::span<const Border> borders;
  std::span<const PixelRun> runs;
  bool runs_truncated = false;
  int slice = 0;   // this frame's in its volume
  int slices = 0;  // of the volume; 0: no volume
  int layers = 1;  // thresholds
  bool is_stacked() const { return slices > 0 || layers > 1; }
  Layout layout;  // of the picture the colour sums come from
  Colorimetry color;
  GstBuffer* labels = nullptr;  // borrowed; null if not attached
  PixelFormat labels_format = PixelFormat::labels32;
  std::vector<Fact> facts;
};

// Puts the findings on the buffer, in place of what another element left there. Returns the
// structure, which belongs to the buffer.
const GstStructure* attach(GstBuffer* buffer, const Findings& findings, const Workers& workers,
                           StructurePool& structures);

// Whether a label map or mask came with it.
bool has_labels(GstBuffer* buffer);

// Takes the label map or mask off, and leaves the regions.
void release_labels(GstBuffer* buffer);

// Writes the standard metas anew, from the regions in the metadata. Throws InputError if it is
// malformed.
void renew_standard_metas(GstBuffer* buffer);

// What came with a buffer, scaled to `size`.
struct Attached {
  std::vector<Region> regions;
  std::vector<GstClockTime> first_seen;  // of each region's track; empty where nothing is tracked
  GstBuffer* labels = nullptr;           // owned by the meta
  PixelFormat labels_format = PixelFormat::labels32;
  Size labels_size;
};
// False if there is no such metadata. Throws InputError if it is malformed.
bool read(GstBuffer* buffer, Size size, Attached& attached);

}  // namespace regions
