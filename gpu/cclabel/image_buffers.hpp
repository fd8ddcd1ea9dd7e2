// Device buffers for one in-flight frame of images.
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
  // The image's tiles for a criterion. Both tile shapes use the same buffers.
  ImageTiles tiles(Criterion criterion) const;
  // For the meaning of `limit`, see RegionAreas.
  RegionAreas areas(uint32_t limit = 0) const;
  LargestSelection* selection() const { return selection_; }
  uint32_t* filled() const { return filled_; }
  Region* records() const { return records_; }
  // Second stream for measuring while labels are written. Null if the passes run one after another
  // on a single stream.
  SideStream* side() const { return side_.get(); }
  // CUDA graphs of frames that do not depend on other frames.
  GraphCache& replay() const { return *replay_; }
  // Label map for drawing, if the job does not request labels.
  LabelMap labels() const;
  Ink ink() const { return ink_in(ink_.data(), size_); }

 private:
  friend void allocate(std::vector<ImageBuffers>& buffers, Workspace& memory,
                       const std::shared_ptr<Backend>& backend, const Setup& setup);
  void reserve(Workspace& memory, const std::shared_ptr<Backend>& backend, const Setup& setup);

  Size size_;
  ImageTiles tiles_ = {};       // buffers only; tiles() adds the geometry
  uint32_t* area_ = nullptr;    // [height][stride] by id of a region's first pixel
  uint32_t* filled_ = nullptr;  // [height][stride / 32] bits: foreground with filled holes
  uint32_t* labels_ = nullptr;  // [height][width]
  Region* records_ = nullptr;   // [max_regions]
  LargestSelection* selection_ = nullptr;
  Block ink_;
  std::unique_ptr<SideStream> side_;
  std::unique_ptr<GraphCache> replay_;
};

// Allocates the buffers of all in-flight frames, sufficient for all parameters that may be set
// during playback. `memory` becomes the owner of the device memory.
void allocate(std::vector<ImageBuffers>& buffers, Workspace& memory,
              const std::shared_ptr<Backend>& backend, const Setup& setup);

}  // namespace regions::cclabel
