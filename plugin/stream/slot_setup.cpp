// From a stream's caps and pictures to an algorithm's Setup.
#include "plugin/stream/slot_setup.hpp"

namespace regions {

Setup setup_of(const SlotSetup& stream, const Details& details, bool reads_mask, int slots) {
  Setup setup;
  setup.in = stream.in.layout;
  setup.size = stream.work_area.work;
  setup.color = stream.in.color;
  setup.has_output = stream.picture != Output::untouched;
  setup.out = stream.out.layout;
  setup.has_mask = reads_mask;
  setup.mask = layout_of(PixelFormat::labels32);
  setup.slots = slots;
  setup.has_borders = details.borders;
  setup.max_runs = details.runs;
  setup.priority = stream.priority;
  return setup;
}

}  // namespace regions
