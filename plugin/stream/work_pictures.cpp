// Cutting out and shrinking pictures on their way in, enlarging results on their way out.
#include "plugin/stream/work_pictures.hpp"

#include "plugin/memory/map_frame.hpp"

namespace regions {
namespace {

template <class T>
Frame map_frame(const Image<T>& map, Memory memory) {
  const PixelFormat format = sizeof(T) == 1 ? PixelFormat::gray8 : PixelFormat::labels32;
  return map_frame(layout_of(format), map.data, map.size(), memory);
}

template <class T>
Image<T> image_in(const Block& block, Size size) {
  return {block.as<T>(), size.width, size.height, static_cast<ptrdiff_t>(sizeof(T)) * size.width};
}

}  // namespace

WorkPictures::WorkPictures(const SlotSetup& setup, Queue& queue)
    : setup_(setup), work_area_(setup.work_area), queue_(queue) {
  Backend& backend = *setup.backend;
  const size_t in_bytes = packed_bytes(setup.in.layout, work_area_.work);
  in_ = backend.allocate(in_bytes);
  if (setup.picture == Output::drawn_on && work_area_.is_scaled())
    before_ = backend.allocate(in_bytes);
  if (setup.replaces()) out_ = backend.allocate(packed_bytes(setup.out.layout, work_area_.work));
  if (setup.map_pool && !setup.keeps_small_maps())
    map_ = backend.allocate(work_area_.work.area() * sizeof(uint32_t));
}

Frame WorkPictures::small_frame(const Layout& layout, const Block& block) const {
  return packed_frame(layout, work_area_.work, setup_.in.color, setup_.backend->memory(),
                      block.data());
}

ConstFrame WorkPictures::small_mask(const ConstFrame& mask) {
  // At the first such frame only: whether masks are read may change from frame to frame.
  const size_t bytes = work_area_.work.area() * sizeof(uint32_t);
  if (mask_.bytes() < bytes) mask_ = setup_.backend->allocate(bytes);
  const Frame small = map_frame(mask.layout, mask_.data(), work_area_.work, mask.memory);
  queue_.pick(mask, small,
              {reducing(work_area_.left, work_area_.area.width, work_area_.work.width,
                        work_area_.picture.width, mask.width),
               reducing(work_area_.top, work_area_.area.height, work_area_.work.height,
                        work_area_.picture.height, mask.height)});
  return small;
}

Job WorkPictures::enter(const Job& whole) {
  Job small = whole;
  const Frame in = small_frame(setup_.in.layout, in_);
  const ConstFrame part = part_of(whole.in, work_area_);
  if (work_area_.is_scaled()) {
    queue_.shrink(part, in);
  } else {
    queue_.copy(part, in);
  }
  small.in = in;
  if (setup_.picture == Output::drawn_on) {
    small.out = in;
    if (work_area_.is_scaled()) queue_.copy(in, small_frame(setup_.in.layout, before_));
  } else if (setup_.replaces()) {
    small.out = small_frame(setup_.out.layout, out_);
  }
  if (!whole.mask.empty()) small.mask = small_mask(whole.mask);
  if (setup_.keeps_small_maps()) return small;
  if (!whole.labels.empty()) small.labels = image_in<uint32_t>(map_, work_area_.work);
  if (!whole.foreground.empty()) small.foreground = image_in<uint8_t>(map_, work_area_.work);
  return small;
}

void WorkPictures::leave(const Job& small, const Job& whole) {
  const Memory memory = setup_.backend->memory();
  if (setup_.picture == Output::drawn_on) {
    const Frame part = part_of(whole.out, work_area_);
    if (work_area_.is_scaled()) {
      queue_.carry_over(small_frame(setup_.in.layout, before_), small.out, part,
                        setup_.engine->draws_tints());
    } else {
      queue_.copy(small.out, part);
    }
  } else if (setup_.replaces()) {
    enlarge_map(queue_, small.out, whole.out, work_area_);
  }
  if (setup_.keeps_small_maps()) return;
  if (!whole.labels.empty()) {
    enlarge_map(queue_, map_frame(small.labels, memory), map_frame(whole.labels, memory),
                work_area_);
  }
  if (!whole.foreground.empty()) {
    enlarge_map(queue_, map_frame(small.foreground, memory), map_frame(whole.foreground, memory),
                work_area_);
  }
}

}  // namespace regions
