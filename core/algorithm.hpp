// The interface of every algorithm: Setup is the configuration of a stream, FrameTask the work of
// one frame, Algorithm the class template that each backend implements, and Output the kind of
// output picture.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "core/backend.hpp"
#include "core/region.hpp"

namespace regions {

// Configuration that stays fixed between two configure() calls.
struct Setup {
  Layout in;  // layout of the input frames
  Size size;  // size of input frames and outputs; each side has 1..65535 pixels
  Colorimetry color;
  Layout out;  // layout of the output picture, if `has_output`
  bool has_output = false;
  Layout mask;  // layout of the attached mask, if `has_mask`: gray8, gray16 or labels32
  bool has_mask = false;
  int slots = 1;        // maximum number of frames (or volumes, if depth > 1) in flight
  int depth = 1;        // frames per volume or sliding window
  bool slides = false;  // sliding window: each frame completes a volume of the last `depth` frames
  int layers = 1;       // output pictures per frame, one per threshold; see VolumeLayout
  bool has_background = false;  // connected background is labelled too
  uint32_t max_regions = 4096;  // maximum number of region records per frame
  bool tracks = false;          // regions keep a track id from frame to frame
  bool has_borders = false;     // the borders between regions are requested, see RegionTable
  uint32_t max_runs = 0;        // maximum number of runs per frame or volume
  int priority = 0;  // priority of the queues that execute the frames, see Backend::make_queue

  bool operator==(const Setup& other) const;
};

// The work of one frame. All views except `table` are in the backend's memory and must stay valid
// until the queue's wait() returns.
struct FrameTask {
  int slot = 0;  // 0..slots-1; a slot is reused only after its frame is done
  // Number of frames in this volume, 1..Setup::depth. `in` and all outputs have this many slices,
  // see VolumeLayout.
  int slices = 1;
  ConstFrame in;
  ConstFrame mask;  // mask that an upstream element attached; may be empty
  // True if the mask covers the whole picture at a lower resolution: along each axis, mask pixel i
  // covers the frame's pixels first_of(i) .. first_of(i + 1) - 1 (see core/resampling.hpp). Only
  // cclabel on the CPU supports this.
  bool mask_is_small = false;
  // Pixels of this value get label 0, with criterion=equal and one value of 1 or 2 bytes per pixel.
  // Only cclabel on the CPU supports this.
  std::optional<uint32_t> excluded_value;
  Frame out;                  // output picture, may be `in` itself; empty if not requested
  LabelMap labels;            // output for the labels 1, 2, …; empty if not requested
  Image<uint8_t> foreground;  // output for the foreground mask, 0..255; empty if not requested
  // Memory for region records, in pinned host memory. Its member `regions` is null if no records
  // are requested.
  RegionTable table;
  // Regions attached to the input frame, for algorithms that read them. Host memory that stays
  // valid until the task is done.
  const Region* attached = nullptr;
  uint32_t attached_count = 0;
};

template <class P>
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  // Announces the parameters for which configure() allocates memory. Without a call, configure()
  // assumes the default parameters.
  virtual void prepare(const P& /*params*/) {}
  // The only function that allocates. Throws InputError for an unsupported setup and MemoryError if
  // memory runs out.
  virtual void configure(const Setup& setup) = 0;
  // Puts the work of one frame on the queue. Neither allocates nor waits. Copies `params`.
  virtual void enqueue(const FrameTask& task, const P& params, Queue& queue) = 0;
  // Forgets all state from earlier frames, so that the next frame is treated as the first of a
  // stream.
  virtual void reset() {}
  // Starts a new scene of the same stream: forgets all state except the numbering of tracks. Track
  // ids continue, so that no id is used twice. Also implied by configure().
  virtual void begin_scene() { reset(); }
};

// Makes the implementation of the algorithm with parameters P for a backend of kind K. Each backend
// specialises this function for each P.
template <class P, BackendKind K>
std::unique_ptr<Algorithm<P>> make_algorithm(std::shared_ptr<Backend> backend);

// Calls make.operator()<kind>(), where the constant `kind` is the backend's kind. Code that is
// compiled without REGIONS_CUDA has no backend of the kind cuda, and does not link make_algorithm()
// for it.
template <class Make>
auto with_kind_of([[maybe_unused]] const Backend& backend, const Make& make) {
#if REGIONS_CUDA
  if (backend.kind() == BackendKind::cuda) {
    return make.template operator()<BackendKind::cuda>();
  }
#endif
  return make.template operator()<BackendKind::cpu>();
}

// Makes the implementation of the algorithm for this backend.
template <class P>
std::unique_ptr<Algorithm<P>> make_algorithm_on(const std::shared_ptr<Backend>& backend) {
  return with_kind_of(*backend,
                      [&]<BackendKind kind>() { return make_algorithm<P, kind>(backend); });
}

// The kind of output picture of an algorithm. output_of(parameters) returns it.
enum class Output : uint8_t {
  untouched,  // the input picture, unchanged, with metadata
  drawn_on,   // the input picture, changed in place
  labels,     // a label picture
  mask,       // a GRAY8 mask
  colors,     // an RGB picture
  cutout      // an RGBA picture whose alpha is the mask
};

// Returns the formats that the output picture may have, in order of preference. Returns an empty
// list if the output is the input picture.
std::span<const PixelFormat> formats_of(Output output);

// Throws InputError unless the setup's output format is valid for this kind of output.
void expects_output(const Setup& setup, Output output);

}  // namespace regions
