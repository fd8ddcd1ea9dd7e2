// Label maps and masks as frames of one plane, their rows without padding.
#pragma once

#include "core/backend.hpp"
#include "core/work_area.hpp"

namespace regions {

inline Frame map_frame(const Layout& layout, void* data, Size size, Memory memory) {
  Frame frame;
  frame.plane[0] = static_cast<std::byte*>(data);
  frame.pitch[0] = static_cast<ptrdiff_t>(layout.sample_bytes) * size.width;
  frame.width = size.width;
  frame.height = size.height;
  frame.layout = layout;
  frame.memory = memory;
  return frame;
}

// Puts on the queue: from a map, or picture, of the working picture's size to the whole one.
inline void enlarge_map(Queue& queue, const ConstFrame& small, const Frame& whole,
                        const WorkArea& area) {
  queue.pick(small, whole,
             {enlarging(area.left, area.area.width, area.work.width),
              enlarging(area.top, area.area.height, area.work.height)});
}

}  // namespace regions
