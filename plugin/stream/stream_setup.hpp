// StreamSetup: the values that all frames of a stream share. The caps and the settings determine
// them.
#pragma once

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "core/work_area.hpp"
#include "plugin/memory/mapped_picture.hpp"
#include "plugin/metadata/region_structure.hpp"
#include "plugin/stream/element_algorithm.hpp"

namespace regions {

class CudaContext;

// Queues that are created before the first frames, when the element opens. If many streams start at
// once, they would otherwise all create their queues when the caps arrive, and the driver would
// serialize these calls.
class PreparedQueues {
 public:
  // Replaces the prepared queues by `count` queues of a GPU. Prepares no queues for a null backend
  // or for the CPU, because creating a CPU queue is fast.
  void prepare(const std::shared_ptr<Backend>& backend, int count, int priority);
  // Returns a prepared queue, or a new one if none has this backend and priority.
  std::unique_ptr<Queue> take(const std::shared_ptr<Backend>& backend, int priority);

 private:
  std::shared_ptr<Backend> backend_;
  int priority_ = 0;
  std::vector<std::unique_ptr<Queue>> queues_;
};

// The values that all frames of a stream share.
struct StreamSetup {
  std::shared_ptr<Backend> backend;
  ElementAlgorithm* algorithm = nullptr;
  PictureCaps in;
  PictureCaps out;  // equal to `in` unless the picture is replaced
  Output output = Output::untouched;
  WorkArea work_area;  // the processed part of the picture
  int slices = 1;      // number of frames per volume
  int priority = 0;    // see Backend::make_queue
  int layers = 1;      // number of pictures per output frame, one below another
  GstBufferPool* label_map_pool = nullptr;  // borrowed; null if no label map or mask is attached
  bool removes_attached_labels = false;     // removes label maps that upstream elements attached
  const CudaContext* cuda = nullptr;        // borrowed
  // CPU threads that copy frames and write their metadata. More than two threads gain little (H200
  // host, 1080p).
  Workers workers{static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 2U))};
  std::shared_ptr<StructurePool> structures;
  std::shared_ptr<PreparedQueues> queues;

  // Whether the element attaches `regions` metadata to each frame.
  bool attaches_metadata() const { return algorithm->makes_regions() || algorithm->makes_mask(); }
  PixelFormat label_map_format() const {
    return algorithm->makes_mask() ? PixelFormat::gray8 : PixelFormat::labels32;
  }
  size_t label_map_bytes() const;  // size of the label map or mask of one frame
  // Whether label maps and masks keep the size of the working picture until a reader maps them. On
  // a GPU they are enlarged at once, because other elements read them there.
  bool keeps_small_label_maps() const {
    return !work_area.is_identity() && backend->memory() == Memory::host;
  }
  bool replaces_picture() const { return output > Output::drawn_on; }
  // Whether input pictures are copied from system memory to the GPU.
  bool uploads() const { return backend->memory() == Memory::device && !in.cuda; }
  // Whether output pictures are copied from the GPU to system memory.
  bool downloads() const;

  // Whether frames may be pushed with a fence while their work is still running, if the next
  // element accepts fences. This is possible only if the host needs no results except the metadata,
  // which the next element replaces.
  bool can_push_early() const;
  // Whether the element accepts frames with a fence if their work runs on the backend `other`.
  bool accepts_fences_from(const std::shared_ptr<Backend>& other) const;

  // Throws SettingsError if the area cannot be combined with volumes or layers.
  void expect_work_area(const WorkArea& area) const;
};

// Returns the part of the algorithm's setup that StreamSetup determines. plan() (in core) completes
// it with the values that the algorithm's parameters determine.
Setup setup_of(const StreamSetup& stream, const RegionDetails& details, bool reads_mask, int slots);

}  // namespace regions
