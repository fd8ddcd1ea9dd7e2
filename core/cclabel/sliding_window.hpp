// Sliding windows (`sliding=true`): each frame is labelled together with the previous frames. This
// class contains what both backends share: frame storage, labelling of the window as a volume, and
// validation.
//
// The newest frame is the first slice of the volume. Raster order therefore numbers its regions
// first: 1..n in raster order of their first pixels, as without a window. The regions of frame t
// are the intersections of frame t with the components of the window that ends at t. Successive
// windows share all but one frame. Tracks are matched by the pixels that their regions have in
// common there.
#pragma once

#include <memory>

#include "core/cclabel/cclabel.hpp"

namespace regions {

// Positions of a window's frames in a buffer for twice as many frames, newest first and
// consecutive. The window grows towards the start of the buffer. Only when it arrives there is it
// moved to the end.
class WindowPositions {
 public:
  explicit WindowPositions(int depth = 1) : depth_(depth), newest_(2 * depth) {}

  struct Step {
    int position = 0;  // of the new frame
    int slices = 1;    // frames in the window, including the new one
    int moved = 0;     // number of positions to copy first, from position 0 to `moved_to`
    int moved_to = 0;
  };
  Step next();

 private:
  int depth_;
  int newest_;
  int slices_ = 0;
};

// The labels of a window, newest frame first, and the labels of the previous window. Slice z + 1 of
// the new window is slice z of the previous one, for `shared` slices.
struct WindowLabels {
  LabelMap now;
  ConstLabelMap before;
  int shared = 0;
  Size picture;

  LabelMap newest() const { return rows_of(now, 0, picture.height); }
  // Number of pixels in the shared slices, which are contiguous.
  size_t shared_pixels() const { return static_cast<size_t>(shared) * picture.area(); }
  const uint32_t* now_shared() const { return now.data + picture.area(); }
  const uint32_t* before_shared() const { return before.data; }
};

// A labeller of frames and volumes that also supports sliding windows.
class SlidingWindow : public CcLabel {
 public:
  SlidingWindow(std::shared_ptr<Backend> backend, std::unique_ptr<CcLabel> volumes)
      : backend_(std::move(backend)), volumes_(std::move(volumes)) {}

  void prepare(const CcLabelParams& params) override { volumes_->prepare(params); }
  void configure(const Setup& setup) override;
  void enqueue(const FrameTask& task, const CcLabelParams& params, Queue& queue) override;
  void reset() override;
  void begin_scene() override;
  TrackEvents track_events(int slot) const override {
    return setup_.slides ? window_events(slot) : volumes_->track_events(slot);
  }
  uint32_t passes(int slot) const override { return setup_.slides ? 0 : volumes_->passes(slot); }

 protected:
  // Backend-specific parts of the functions above.
  virtual void allocate(const Setup& setup) = 0;
  virtual void slide(const FrameTask& task, const CcLabelParams& params, Queue& queue) = 0;
  virtual void forget(IdNumbering ids) = 0;
  virtual TrackEvents window_events(int slot) const = 0;

  // Queues the work that adds the frame to the window and labels the window. Frames must arrive in
  // order, one at a time.
  WindowLabels label_window(const FrameTask& task, const CcLabelParams& params, Queue& queue);
  Backend& backend() const { return *backend_; }
  const Setup& setup() const { return setup_; }

 private:
  // The volume of `count` frames of the buffer from this position on.
  Frame frames_at(int first, int count) const;

  const std::shared_ptr<Backend> backend_;
  const std::unique_ptr<CcLabel> volumes_;
  Setup setup_;
  WindowPositions window_;
  Layout labelled_;  // layout of the window's frames, which are pictures or masks
  bool is_mask_ = false;
  Block frames_;     // [2 * depth] frames
  Block labels_[2];  // of alternating windows
  int current_ = 0;
};

}  // namespace regions
