// The contract of an algorithm: a parameter struct P, and one class a backend that implements it.
#pragma once

#include <memory>

#include "core/backend.hpp"
#include "core/region.hpp"

namespace regions {

// What stays fixed between two configure() calls.
struct Setup {
  Layout in;  // of the frames that come
  Size size;  // of frames and outputs, 1..65535 each way
  Colorimetry color;
  Layout out;  // of the output picture, if `has_output`
  bool has_output = false;
  Layout mask;  // of the attached mask, if `has_mask`: gray8, gray16 or labels32
  bool has_mask = false;
  int slots = 1;                // frames in flight, or, with `depth`, volumes
  int depth = 1;                // frames of a volume
  bool slides = false;          // frames come one by one, each ends a volume of the last `depth`
  int layers = 1;               // pictures that come out of each frame, see Stack
  bool has_background = false;  // background has regions too
  uint32_t max_regions = 4096;  // records wanted for a frame
  bool tracks = false;          // regions are followed from frame to frame
  bool has_borders = false;     // borders are wanted, see RegionTable
  uint32_t max_runs = 0;        // runs wanted for a frame or volume
  int priority = 0;             // of the queues that frames come on, see Backend::make_queue
};

// One frame's work. All views but `table` lie in the backend's memory and stay until the queue's
// wait() returns.
struct Job {
  int slot = 0;  // 0..slots-1; a slot is not reused before its frame is done
  // Frames of a volume: 1..Setup::depth. `in` and all outputs are stacks of so many, see Stack.
  int slices = 1;
  ConstFrame in;
  ConstFrame mask;  // attached upstream; empty if none
  // The mask is one of the whole picture made smaller (core/resampling.hpp): its pixel i along
  // either axis stands for first_of(i) .. first_of(i + 1) - 1. For cclabel on the CPU alone.
  bool mask_is_small = false;
  Frame out;                  // where the output picture goes, may be `in` itself; empty if none
  LabelMap labels;            // where dense labels go; empty if not asked for
  Image<uint8_t> foreground;  // where an algorithm's own mask goes, 0..255; empty if not asked for
  RegionTable table;          // pinned host memory; regions == nullptr if not asked for
  // Regions that came with the frame, for algorithms that read them: host memory that is kept until
  // the job is done.
  const Region* attached = nullptr;
  uint32_t attached_count = 0;
};

template <class P>
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  // Before configure(), where that depends on parameters; without it the defaults hold.
  virtual void prepare(const P& /*params*/) {}
  // The only place that allocates. Throws InputError for what it cannot do, MemoryError.
  virtual void configure(const Setup& setup) = 0;
  // Puts one frame's work on the queue. Neither allocates nor waits. P is copied.
  virtual void enqueue(const Job& job, const P& params, Queue& queue) = 0;
  // Forgets what was learnt from earlier frames: the next one is the first of a stream.
  virtual void reset() {}
  // Likewise, but the next frame is another scene of the same stream, as after configure(): ids of
  // tracks go on, so that none means two things.
  virtual void begin_scene() { reset(); }
};

// Each backend specialises this for each P. The backend must be of kind K.
template <class P, BackendKind K>
std::unique_ptr<Algorithm<P>> make_algorithm(std::shared_ptr<Backend> backend);

}  // namespace regions
