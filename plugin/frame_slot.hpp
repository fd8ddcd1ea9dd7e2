// One frame on its way through an element: mapped, brought to the backend, worked on, brought back.
#pragma once

#include <algorithm>
#include <thread>

#include "plugin/block_memory.hpp"
#include "plugin/cuda_memory.hpp"
#include "plugin/engine.hpp"
#include "plugin/frame_map.hpp"
#include "plugin/region_meta.hpp"

namespace regions {

// What all slots of a stream have in common, fixed by the caps.
struct SlotSetup {
  std::shared_ptr<Backend> backend;
  Engine* engine = nullptr;
  PictureCaps in;
  PictureCaps out;  // as `in` unless the picture is replaced
  Picture picture = Picture::untouched;
  GstBufferPool* map_pool = nullptr;  // borrowed; null if neither label map nor mask is attached
  const CudaContext* cuda = nullptr;  // borrowed
  // For copying and describing frames. More than two gain little (H200 host, 1080p).
  Workers workers{static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 2U))};

  bool describes() const { return engine->makes_regions() || engine->makes_mask(); }
  PixelFormat map_format() const {
    return engine->makes_mask() ? PixelFormat::gray8 : PixelFormat::labels32;
  }
  bool replaces() const { return picture > Picture::drawn_on; }
  bool uploads() const { return backend->memory() == Memory::device && !in.cuda; }
  // Replaced pictures leave in system memory.
  bool downloads() const {
    return backend->memory() == Memory::device &&
           (replaces() || (!in.cuda && picture == Picture::drawn_on));
  }
};

class FrameSlot {
 public:
  // Allocates. Needs a Backend::Entry, as do all members and the destructor.
  FrameSlot(const SlotSetup& setup, int index);
  ~FrameSlot();
  FrameSlot(const FrameSlot&) = delete;
  FrameSlot& operator=(const FrameSlot&) = delete;

  // Puts the work for `input` (consumed) on the queue; `output` (consumed) is the buffer to fill
  // where the picture is replaced, else null. If it throws, the slot is free again.
  void begin(GstBuffer* input, GstBuffer* output);
  // Waits for the work and gives the finished buffer, with metadata. Throws what went wrong.
  GstBuffer* finish();
  // Waits for the work and drops it.
  void discard();

  // Known between finish() and the next begin().
  uint32_t total_regions() const { return total_; }
  const GstStructure* structure() const { return structure_; }  // belongs to the finished buffer
  const std::string& warning() const { return warning_; }       // empty if all is well
  gint64 started() const { return started_; }                   // monotonic time of begin(), µs

 private:
  void bring_in(Job& job);
  void bring_attached(Job& job);
  void take_map(Job& job);
  void take_back(const Job& job);
  GstBuffer* describe(GstBuffer* buffer);
  void release();

  const SlotSetup& setup_;
  const int index_;
  std::unique_ptr<Queue> queue_;
  Block table_;  // Region[max], then the total
  Block pinned_in_, device_in_, pinned_out_, device_out_;
  Block pinned_mask_, device_mask_;

  GstBuffer* input_ = nullptr;   // held while its memory is read; null when it is the output
  GstBuffer* output_ = nullptr;  // what leaves
  GstBuffer* map_ = nullptr;     // the label map or mask to attach
  GstBuffer* mask_ = nullptr;    // what came attached
  GstMapInfo mask_map_ = {};
  MappedPicture in_map_, out_map_;
  bool copy_rows_back_ = false;  // the result waits in pinned_out_ for finish()
  Attached attached_;
  uint32_t total_ = 0;
  const GstStructure* structure_ = nullptr;
  std::string warning_;
  gint64 started_ = 0;
};

}  // namespace regions
