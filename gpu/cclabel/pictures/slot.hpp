// What one frame in flight needs on the GPU.
#pragma once

#include <memory>
#include <vector>

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/base/largest.hpp"
#include "gpu/cclabel/pictures/tiles.hpp"
#include "gpu/runtime/replay.hpp"
#include "gpu/runtime/side_stream.hpp"
#include "gpu/runtime/workspace.hpp"

namespace regions::cclabel {

class Slot {
 public:
  // The picture cut into the tiles of a criterion. Both cuts use the same memory.
  Tiles tiles(Criterion criterion) const;
  // With `limit`, see Areas.
  Areas areas(uint32_t limit = 0) const;
  Selection* selection() const { return selection_; }
  uint32_t* filled() const { return filled_; }
  Region* records() const { return records_; }
  // For measuring while labels are written; null where that is in a chain.
  SideStream* side() const { return side_.get(); }
  // For the phases of a frame that needs nothing of others.
  Replay& replay() const { return *replay_; }
  // For drawing when the job asks for no labels.
  LabelMap labels() const;
  Ink ink() const { return ink_in(ink_.data(), size_); }

 private:
  friend void allocate(std::vector<Slot>& slots, Workspace& memory,
                       const std::shared_ptr<Backend>& backend, const Setup& setup);
  void reserve(Workspace& memory, const std::shared_ptr<Backend>& backend, const Setup& setup);

  Size size_;
  Tiles pieces_ = {};
  uint32_t* area_ = nullptr;
  uint32_t* filled_ = nullptr;  // [height][stride / 32] foreground without small holes
  uint32_t* labels_ = nullptr;  // [height][width]
  Region* records_ = nullptr;   // [max_regions]
  Selection* selection_ = nullptr;
  Block ink_;
  std::unique_ptr<SideStream> side_;
  std::unique_ptr<Replay> replay_;
};

// For whatever the parameters may ask of pictures like these; `memory` is theirs.
void allocate(std::vector<Slot>& slots, Workspace& memory, const std::shared_ptr<Backend>& backend,
              const Setup& setup);

}  // namespace regions::cclabel
