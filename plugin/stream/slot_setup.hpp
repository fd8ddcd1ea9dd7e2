// What all slots of a stream have in common, fixed by the caps.
#pragma once

#include <algorithm>
#include <memory>
#include <thread>

#include "core/work_area.hpp"
#include "plugin/memory/frame_map.hpp"
#include "plugin/metadata/structure_pool.hpp"
#include "plugin/stream/engine.hpp"
#include "plugin/stream/ready_queues.hpp"

namespace regions {

class CudaContext;

struct SlotSetup {
  std::shared_ptr<Backend> backend;
  Engine* engine = nullptr;
  PictureCaps in;
  PictureCaps out;  // as `in` unless the picture is replaced
  Output picture = Output::untouched;
  WorkArea work_area;                 // the part of the picture that is worked on
  int slices = 1;                     // frames of a volume
  int priority = 0;                   // see Backend::make_queue
  int layers = 1;                     // pictures that come out of each, one below another
  GstBufferPool* map_pool = nullptr;  // borrowed; null if neither label map nor mask is attached
  bool releases_labels = false;       // label maps that came attached go no further
  const CudaContext* cuda = nullptr;  // borrowed
  // For copying and describing frames. More than two gain little (H200 host, 1080p).
  Workers workers{static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 2U))};
  std::shared_ptr<StructurePool> structures;
  std::shared_ptr<ReadyQueues> queues;

  bool describes() const { return engine->makes_regions() || engine->makes_mask(); }
  PixelFormat map_format() const {
    return engine->makes_mask() ? PixelFormat::gray8 : PixelFormat::labels32;
  }
  // Whether label maps and masks stay at the working picture's size until a reader maps them. On a
  // device they are enlarged at once, where others read them.
  bool keeps_small_maps() const {
    return !work_area.is_whole() && backend->memory() == Memory::host;
  }
  // Whether frames may leave while their work is under way, to an element of ours: nothing of them
  // comes to the host but what is said of them, which that element's findings replace.
  bool may_hand_over() const {
    return backend->kind() == BackendKind::cuda && in.cuda && picture == Output::untouched &&
           slices == 1 && engine->makes_mask();
  }
  // Whether it is such an element, of frames whose work is that backend's.
  bool takes_over_from(const std::shared_ptr<Backend>& other) const {
    return backend == other && in.cuda && slices == 1 && describes();
  }
  // Of a frame's label map or mask.
  size_t map_bytes() const {
    return in.size.area() * static_cast<size_t>(layout_of(map_format()).sample_bytes) *
           static_cast<size_t>(layers);
  }
  bool replaces() const { return picture > Output::drawn_on; }
  bool uploads() const { return backend->memory() == Memory::device && !in.cuda; }
  void expect_work_area(const WorkArea& wanted) const {
    expects_setting(wanted.is_whole() || (slices == 1 && layers == 1),
                    "process-scale and the rectangle require depth=1 and no thresholds");
  }
  // Replaced pictures leave in system memory.
  bool downloads() const {
    return backend->memory() == Memory::device &&
           (replaces() || (!in.cuda && picture == Output::drawn_on));
  }
};

// What an algorithm that tells `details`, and may read a mask, is configured with for so many
// slots; its parameters add the rest (plan() in core).
Setup setup_of(const SlotSetup& stream, const Details& details, bool reads_mask, int slots);

}  // namespace regions
