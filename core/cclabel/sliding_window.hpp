// Sliding windows (`sliding=true`): each frame is labelled together with the previous frames.
// SlidingWindow contains what both backends share: frame storage, labelling of the window as a
// volume, and validation.
//
// The newest frame is the first slice of the volume. Therefore its regions get the first labels:
// 1..n in raster order of their first pixels, as without a window. The regions of frame t are the
// intersections of frame t with the components of the window that ends at t. Consecutive windows
// share all frames except one. Tracks are matched by the pixels that regions of both windows have
// in common in the shared frames.
#pragma once

#include <memory>

#include "core/cclabel/cclabel.hpp"

namespace regions {

// Computes where the frames of a window are stored. The buffer has space for twice as many frames
// as the window. The frames are consecutive, newest first. Each new frame is stored at the position
// before the previous frame. When the window reaches the start of the buffer, it is moved to the
// end.
class WindowPositions {
 public:
  explicit WindowPositions(int depth = 1) : depth_(depth), newest_(2 * depth) {}

  struct Step {
    int position = 0;  // position of the new frame in the buffer, frames
    int slices = 1;    // number of frames in the window, including the new frame
    int moved = 0;     // number of frames from position 0 on to move before the new frame is stored
    int moved_to = 0;  // new position of the first moved frame
  };
  Step next();

 private:
  int depth_;
  int newest_;      // position of the newest frame
  int slices_ = 0;  // number of frames in the window
};

// The labels of a window, newest frame first, and the labels of the previous window. Slice z + 1 of
// this window is slice z of the previous window, for z = 0 .. shared - 1.
struct WindowLabels {
  LabelMap now;          // labels of this window
  ConstLabelMap before;  // labels of the previous window
  int shared = 0;        // number of slices that both windows contain
  Size picture;          // size of one frame

  LabelMap newest() const { return rows_of(now, 0, picture.height); }
  // Number of pixels in the shared slices, which are contiguous.
  size_t shared_pixels() const { return static_cast<size_t>(shared) * picture.area(); }
  // The labels of the shared slices in this window and in the previous window.
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
  // The backend-specific parts: allocate() of configure(), slide() of enqueue(), forget() of
  // reset() and begin_scene(), and window_events() of track_events().
  virtual void allocate(const Setup& setup) = 0;
  virtual void slide(const FrameTask& task, const CcLabelParams& params, Queue& queue) = 0;
  virtual void forget(IdNumbering ids) = 0;
  virtual TrackEvents window_events(int slot) const = 0;

  // Adds the frame to the window and labels the window. Only puts this work on the queue. Must be
  // called in frame order, by one thread at a time.
  WindowLabels label_window(const FrameTask& task, const CcLabelParams& params, Queue& queue);
  Backend& backend() const { return *backend_; }
  const Setup& setup() const { return setup_; }

 private:
  // Returns a volume of `count` frames of the buffer, starting at position `first`.
  Frame frames_at(int first, int count) const;

  const std::shared_ptr<Backend> backend_;
  const std::unique_ptr<CcLabel> volumes_;  // labels single frames, volumes and whole windows
  Setup setup_;
  WindowPositions window_;
  Layout labelled_;       // layout of the window's frames, which are pictures or masks
  bool is_mask_ = false;  // true: the window consists of masks
  Block frames_;          // [2 * depth] frames
  Block labels_[2];       // label maps of the current and the previous window, used alternately
  int current_ = 0;       // index in labels_ of the map for the next window
};

}  // namespace regions
