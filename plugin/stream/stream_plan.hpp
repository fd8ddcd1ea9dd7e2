// StreamPlan: everything that is fixed for the frames of a stream, as one immutable value. The
// caps, the backend, the settings and the algorithm's active parameters determine it.
#pragma once

#include <memory>

#include "core/work_area.hpp"
#include "plugin/memory/mapped_picture.hpp"
#include "plugin/stream/element_algorithm.hpp"
#include "plugin/stream/element_settings.hpp"

namespace regions {

// The stream and its frames share a plan. A change makes a new plan, which later frames use.
struct StreamPlan {
  std::shared_ptr<Backend> backend;
  FilterSettings settings;  // the settings when the stream started, and the rectangle in use
  PictureCaps in;
  PictureCaps out;  // equal to `in` unless the picture is replaced
  Output output = Output::untouched;
  WorkArea work_area;  // the part of the picture that settings.rectangle() selects
  Setup setup;         // the algorithm's setup, for pictures of the size work_area.work
  bool makes_regions = false;
  bool makes_mask = false;

  // Whether the streaming thread does all work of a frame, and no other thread is needed.
  bool is_inline() const {
    return backend->kind() == BackendKind::cpu && settings.works_in_streaming_thread();
  }
  // Number of frames per volume; 1 for single frames and for a sliding window.
  int slices() const { return setup.slides ? 1 : setup.depth; }
  // Whether the element attaches `regions` metadata to each frame.
  bool attaches_metadata() const { return makes_regions || makes_mask; }
  // Whether a label map or mask is part of this metadata.
  bool attaches_label_map() const;
  // Whether label maps that upstream elements attached are removed.
  bool removes_label_maps() const { return settings.attach_labels == AttachLabels::never; }
  PixelFormat label_map_format() const {
    return makes_mask ? PixelFormat::gray8 : PixelFormat::labels32;
  }
  size_t label_map_bytes() const;  // size of the label map or mask of one frame
  // Whether label maps and masks keep the size of the working picture until a reader maps them. On
  // a GPU they are enlarged at once, because other elements read them there.
  bool keeps_small_label_maps() const {
    return !work_area.is_identity() && backend->memory() == Memory::host;
  }

  bool draws_in_place() const { return output == Output::drawn_on; }
  bool replaces_picture() const { return output > Output::drawn_on; }
  // Whether input pictures are copied from system memory to the GPU.
  bool uploads() const { return backend->memory() == Memory::device && !in.cuda; }
  // Whether output pictures are copied from the GPU to system memory. Replaced pictures are always
  // pushed in system memory, even if the input is in CUDA memory.
  bool downloads() const {
    return backend->memory() == Memory::device &&
           (replaces_picture() || (!in.cuda && draws_in_place()));
  }

  // Whether frames may be pushed with a fence while their work is still running, if the next
  // element accepts fences. This is possible only if the host needs no results of the work. The
  // frame's metadata is then incomplete, but the next element replaces it.
  bool can_push_early() const;
  // Whether the element accepts frames with a fence if their work runs on the backend `other`.
  bool accepts_fences_from(const std::shared_ptr<Backend>& other) const;
};

using SharedPlan = std::shared_ptr<const StreamPlan>;

// Makes the plan for pictures of these caps. `slots` is the maximum number of frames in flight.
// Throws SettingsError if the rectangle is outside the picture or cannot be combined with volumes
// or layers.
SharedPlan make_stream_plan(ElementAlgorithm& algorithm, std::shared_ptr<Backend> backend,
                            const FilterSettings& settings, const PictureCaps& in,
                            const PictureCaps& out, int slots);

// Returns a copy of the plan with another rectangle. Throws like make_stream_plan().
SharedPlan with_rectangle(const StreamPlan& plan, const WorkAreaParams& rectangle);
// Returns a copy of the plan for caps with the same pictures, for example with another frame rate.
SharedPlan with_caps(const StreamPlan& plan, const PictureCaps& in, const PictureCaps& out);

}  // namespace regions
