// `sliding`: a window of the last frames that moves with each of them. What both backends share:
// where frames lie, the labelling of the window as a volume, and what is refused.
//
// The window is labelled with the newest frame as its first slice, so that raster order numbers
// that frame's regions first: they are 1..n in raster order of their first pixels in it, as
// without a window. Regions of frame t are the components of the window that ends at t, as far as
// they lie in frame t. Two windows share all frames but one each; the pixels that their regions
// share there are what tracks are decided by.
#pragma once

#include <memory>

#include "core/cclabel/cclabel.hpp"

namespace regions {

// Where the frames of a window lie, newest first and one behind another, in room for twice as many:
// only when the window has come to its beginning is it moved to its end.
class WindowPlaces {
 public:
  explicit WindowPlaces(int depth = 1) : depth_(depth), newest_(2 * depth) {}

  struct Step {
    int place = 0;   // of the frame that comes
    int slices = 1;  // of the window, that frame included
    int moved = 0;   // so many places have to be moved first: from 0 on to `moved_to`
    int moved_to = 0;
  };
  Step next();

 private:
  int depth_;
  int newest_;
  int slices_ = 0;
};

// The labels of a window, a stack of slices, the newest frame's first, and those of the window
// before: their slice z + 1 is that one's slice z. There are `shared` such slices.
struct WindowLabels {
  LabelMap now;
  ConstLabelMap before;
  int shared = 0;
  Size picture;

  LabelMap newest() const { return rows_of(now, 0, picture.height); }
  // Pixels that both have, one after another.
  size_t shared_pixels() const { return static_cast<size_t>(shared) * picture.area(); }
  const uint32_t* now_shared() const { return now.data + picture.area(); }
  const uint32_t* before_shared() const { return before.data; }
};

// A labeller of frames and volumes that can do windows too.
class Sliding : public CcLabel {
 public:
  Sliding(std::shared_ptr<Backend> backend, std::unique_ptr<CcLabel> volumes)
      : backend_(std::move(backend)), volumes_(std::move(volumes)) {}

  void prepare(const CcLabelParams& params) override { volumes_->prepare(params); }
  void configure(const Setup& setup) override;
  void enqueue(const Job& job, const CcLabelParams& params, Queue& queue) override;
  void reset() override;
  void begin_scene() override;
  TrackReport track_report(int slot) const override {
    return setup_.slides ? report(slot) : volumes_->track_report(slot);
  }
  uint32_t passes(int slot) const override { return setup_.slides ? 0 : volumes_->passes(slot); }

 protected:
  // The part of the above that backends have of their own.
  virtual void allocate(const Setup& setup) = 0;
  virtual void slide(const Job& job, const CcLabelParams& params, Queue& queue) = 0;
  virtual void forget(Ids ids) = 0;
  virtual TrackReport report(int slot) const = 0;

  // Puts on the queue what takes the frame into the window and labels that. Frames come in order,
  // one at a time.
  WindowLabels label_window(const Job& job, const CcLabelParams& params, Queue& queue);
  Backend& backend() const { return *backend_; }
  const Setup& setup() const { return setup_; }

 private:
  // `count` frames of what is labelled, from a place on, as a stack.
  Frame places(int first, int count) const;

  const std::shared_ptr<Backend> backend_;
  const std::unique_ptr<CcLabel> volumes_;
  Setup setup_;
  WindowPlaces window_;
  Layout labelled_;  // of the window's frames, which are pictures or masks
  bool is_mask_ = false;
  Block frames_;     // 2 depth of them
  Block labels_[2];  // of windows, by turns
  int turn_ = 0;
};

}  // namespace regions
