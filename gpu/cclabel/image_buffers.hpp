// ImageBuffers owns the device buffers that labelling one in-flight image needs.
#pragma once

#include <memory>
#include <vector>

#include "core/cclabel/cclabel.hpp"
#include "core/workspace.hpp"
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/image_tiles.hpp"
#include "gpu/runtime/graph_cache.hpp"

namespace regions::cclabel {

class ImageBuffers {
 public:
  // Returns the image's tiles for a criterion. Both tile shapes (BinaryTile and LinkedTile) use the
  // same buffers.
  ImageTiles tiles(Criterion criterion) const;
  // Returns the areas of regions. See RegionAreas for `limit`.
  RegionAreas areas(uint32_t limit = 0) const;
  LargestSelection* selection() const { return selection_; }
  uint32_t* filled_bits() const { return filled_bits_; }
  Region* records() const { return records_; }
  TrackState* states() const { return states_; }
  // Second stream, on which regions are measured while labels are written. Null if all passes run
  // on one stream.
  SideStream* side_stream() const { return side_stream_.get(); }
  // CUDA graphs of the passes, for frames that do not depend on previous frames (no tracking).
  GraphCache& graph_cache() const { return *graph_cache_; }
  // Label map for drawing overlays, if the task does not request a label map.
  LabelMap labels() const;
  Ink ink() const { return ink_in(ink_.data(), size_); }

 private:
  friend void allocate(std::vector<ImageBuffers>& buffers, Workspace& memory,
                       const std::shared_ptr<Backend>& backend, const Setup& setup);
  void reserve(Workspace& memory, const std::shared_ptr<Backend>& backend, const Setup& setup);

  Size size_;
  ImageTiles tiles_ = {};     // the buffers; tiles() adds the sizes
  uint32_t* area_ = nullptr;  // [height][stride] areas of regions, by id of the first pixel
  // [height][stride / 32] one bit per pixel: foreground with filled holes.
  uint32_t* filled_bits_ = nullptr;
  uint32_t* labels_ = nullptr;    // [height][width] label map, only for overlays
  Region* records_ = nullptr;     // [max_regions]
  TrackState* states_ = nullptr;  // [max_regions] states of tracks, only if regions are tracked
  LargestSelection* selection_ = nullptr;
  Block ink_;
  std::unique_ptr<SideStream> side_stream_;
  std::unique_ptr<GraphCache> graph_cache_;
};

// Allocates the buffers of all in-flight frames. They are large enough for all parameter values
// that can be set during playback. `memory` becomes the owner of the device memory.
void allocate(std::vector<ImageBuffers>& buffers, Workspace& memory,
              const std::shared_ptr<Backend>& backend, const Setup& setup);

}  // namespace regions::cclabel
