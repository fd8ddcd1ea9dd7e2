// Implements AttachedMask, which maps the mask or label map that is attached to a frame.
#include "core/error.hpp"
#include "plugin/memory/block_memory.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions {

void expect_mask(const AttachedRegions& attached) {
  expects(attached.labels != nullptr,
          "a frame came without a mask or label map; put an element that attaches one upstream");
}

ConstFrame AttachedMask::map(const AttachedRegions& attached, const Backend& backend) {
  unmap();
  const Layout& layout = layout_of(attached.labels_format);
  const size_t row_bytes = static_cast<size_t>(attached.labels_size.width) * layout.sample_bytes;
  const size_t bytes = row_bytes * static_cast<size_t>(attached.labels_size.height);
  expects(
      layout.planes == 1 && layout.channels == 1 && gst_buffer_get_size(attached.labels) >= bytes,
      "the attached label map must have one channel and hold the size that the metadata names");
  buffer_ = gst_buffer_ref(attached.labels);
  const DeviceData device = device_data(buffer_);
  const void* data = device.data;
  const bool is_on_device = data && device.backend->shares_memory(backend);
  if (!is_on_device) {
    expects(gst_buffer_map(buffer_, &map_, GST_MAP_READ),
            "the attached label map cannot be mapped");
    data = map_.data;
  }
  ConstFrame mask;
  mask.plane[0] = static_cast<const std::byte*>(data);
  mask.pitch[0] = static_cast<ptrdiff_t>(row_bytes);
  mask.width = attached.labels_size.width;
  mask.height = attached.labels_size.height;
  mask.layout = layout;
  mask.memory = is_on_device ? backend.memory() : Memory::host;
  expects_aligned(mask, "the attached label map");
  return mask;
}

ConstFrame AttachedMask::map_small(const AttachedRegions& attached, const WorkArea& area) {
  unmap();
  const SmallMap small = small_map(attached.labels);
  if (small.map.empty() || !small.area.covers_picture() || small.area.picture != area.picture)
    return {};
  const bool is_usable =
      area.is_identity() || (area.covers_picture() && area.work == small.area.work);
  if (!is_usable) return {};
  buffer_ = gst_buffer_ref(attached.labels);
  is_small_ = true;
  return small.map;
}

void AttachedMask::unmap() {
  is_small_ = false;
  if (map_.memory) gst_buffer_unmap(buffer_, &map_);
  map_ = {};
  gst_clear_buffer(&buffer_);
}

}  // namespace regions
