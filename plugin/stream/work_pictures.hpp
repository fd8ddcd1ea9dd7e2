// The pictures that a slot works on in place of the whole ones, where only a part of the picture is
// looked at or it is worked on at a fraction of its size. Any algorithm sees just a smaller
// picture.
#pragma once

#include "plugin/stream/slot_setup.hpp"

namespace regions {

class WorkPictures {
 public:
  // Allocates. Needs a Backend::Entry, as do all members and the destructor.
  WorkPictures(const SlotSetup& setup, Queue& queue);

  // Puts the way in on the queue: the job with smaller pictures in place of `whole`'s.
  Job enter(const Job& whole);
  // Puts the way out on the queue: what the work left in `small` goes to `whole`'s pictures.
  void leave(const Job& small, const Job& whole);

 private:
  Frame small_frame(const Layout& layout, const Block& block) const;
  ConstFrame small_mask(const ConstFrame& mask);

  const SlotSetup& setup_;
  const WorkArea& work_area_;  // may move
  Queue& queue_;
  Block in_, before_, out_, map_, mask_;
};

}  // namespace regions
