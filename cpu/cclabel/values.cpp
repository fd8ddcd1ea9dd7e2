// A label's colour, mask, track or number, by what the parameters ask for.
#include "cpu/cclabel/values.hpp"

#include <algorithm>

#include "core/drawing/paint.hpp"

namespace regions {
namespace {

// A packed pixel of a label's colour; the fourth byte, alpha or unused, is 255.
uint32_t packed_color(uint32_t label, const Layout& layout) {
  const Rgb color = track_color(label);
  const uint32_t channel[4] = {color.red, color.green, color.blue, 255};
  uint32_t pixel = 0;
  for (int c = 0; c < 4; ++c) pixel |= channel[c] << (8 * layout.component[c].offset);
  return label == 0 ? 0 : pixel;
}

}  // namespace

const uint32_t* values_of(const uint32_t* label, uint32_t runs, uint32_t* scratch, const Job& job,
                          const CcLabelParams& params, const Tracks& tracks) {
  const auto converted = [&](auto of) {
    std::transform(label, label + runs, scratch, of);
    return scratch;
  };
  const auto track_of = [&](uint32_t id, uint32_t limit) {
    return track_value(tracks.regions, tracks.count, id, limit, params.overflow);
  };
  if (params.output == CcOutput::none) return label;
  if (params.output == CcOutput::mask) {
    return converted([](uint32_t id) { return id ? UINT32_MAX : 0; });
  }
  if (params.output == CcOutput::colors) {
    return converted([&](uint32_t id) {
      return packed_color(params.track ? track_of(id, UINT32_MAX) : id, job.out.layout);
    });
  }
  if (params.track && params.label_values == LabelValues::track) {
    return converted([&](uint32_t id) { return track_of(id, label_limit(job.out.layout)); });
  }
  const uint32_t limit = limit_of(job, params);
  if (limit == UINT32_MAX) return label;
  return converted([&](uint32_t id) { return std::min(id, limit); });
}

}  // namespace regions
