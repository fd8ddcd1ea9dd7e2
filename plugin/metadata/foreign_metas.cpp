// Reads what other elements attached: segmentations, object detections and regions of interest.
#include <gst/video/video.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "plugin/metadata/standard_metas.hpp"

namespace regions {
namespace {

using Library = AnalyticsLibrary;

// Whether the picture is narrower than the pictures of its buffer pool, but has their stride.
// yolosegv8tensordec of GStreamer 1.28 makes such pictures and writes their rows without padding.
bool has_stride_of_pool(const GstBuffer* buffer, const GstVideoMeta& meta) {
  if (!buffer->pool) return false;
  GstStructure* config = gst_buffer_pool_get_config(buffer->pool);
  GstCaps* caps = nullptr;
  guint bytes = 0, min_buffers = 0, max_buffers = 0;
  GstVideoInfo info;
  const bool is_video =
      gst_buffer_pool_config_get_params(config, &caps, &bytes, &min_buffers, &max_buffers) &&
      caps && gst_video_info_from_caps(&info, caps);
  gst_structure_free(config);
  return is_video && static_cast<guint>(info.width) > meta.width &&
         info.stride[0] == meta.stride[0];
}

// A segmentation whose buffer is mapped.
class SegmentationMap {
 public:
  // Throws InputError if the segmentation contradicts its buffer.
  SegmentationMap(const Library& library, const AnalyticsEntry& entry) {
    buffer_.reset(library.segmentation_map(&entry, &left_, &top_, &width_, &height_));
    expects(buffer_ != nullptr, "no picture is attached");
    const GstVideoMeta* meta = gst_buffer_get_video_meta(buffer_.get());
    expects(meta != nullptr, "its picture lacks a GstVideoMeta");
    const bool is_wide = meta->format == GST_VIDEO_FORMAT_GRAY16_LE;
    expects(is_wide || meta->format == GST_VIDEO_FORMAT_GRAY8,
            "its picture has the format " + std::string(gst_video_format_to_string(meta->format)) +
                "; expected GRAY8 or GRAY16_LE");
    constexpr guint kMaxSide = 65535;
    expects(meta->width >= 1 && meta->height >= 1 && meta->width <= kMaxSide &&
                meta->height <= kMaxSide,
            "its picture has " + std::to_string(meta->width) + "x" + std::to_string(meta->height) +
                " pixels; expected sides from 1 to 65535");
    expects(width_ >= 1 && height_ >= 1 && width_ <= kMaxSide && height_ <= kMaxSide,
            "it covers " + std::to_string(width_) + "x" + std::to_string(height_) +
                " pixels of the frame; expected sides from 1 to 65535");
    bytes_ = is_wide ? 2 : 1;
    size_ = {static_cast<int>(meta->width), static_cast<int>(meta->height)};
    pitch_ = static_cast<size_t>(std::max(meta->stride[0], 0));
    const size_t row = static_cast<size_t>(meta->width) * bytes_;
    const size_t rows = pitch_ * static_cast<size_t>(meta->height - 1);
    const size_t held = gst_buffer_get_size(buffer_.get());
    expects(meta->stride[0] > 0 && pitch_ >= row && meta->offset[0] <= held &&
                rows + row <= held - meta->offset[0],
            "its picture has " + std::to_string(held) + " bytes, but a stride of " +
                std::to_string(meta->stride[0]) + " bytes for " + std::to_string(meta->width) +
                "x" + std::to_string(meta->height) + " pixels");
    if (has_stride_of_pool(buffer_.get(), *meta)) pitch_ = row;
    expects(gst_buffer_map(buffer_.get(), &map_, GST_MAP_READ), "its picture cannot be mapped");
    first_ = map_.data + meta->offset[0];
  }
  SegmentationMap(const SegmentationMap&) = delete;
  SegmentationMap& operator=(const SegmentationMap&) = delete;
  ~SegmentationMap() {
    if (map_.memory) gst_buffer_unmap(buffer_.get(), &map_);
  }

  // The resolution that a mask of the whole picture needs for this segmentation.
  Size resolution_for(Size picture) const {
    const auto side = [](int pixels, int samples, guint covered) {
      const int64_t all = static_cast<int64_t>(pixels) * samples;
      return static_cast<int>(std::clamp<int64_t>((all + covered / 2) / covered, 1, pixels));
    };
    return {side(picture.width, size_.width, width_), side(picture.height, size_.height, height_)};
  }

  // Marks the chosen pixels in a mask of the whole picture.
  void add_to(uint8_t* mask, Size mask_size, Size picture, std::span<const uint32_t> chosen) const {
    std::vector<int> columns;  // [mask column] column of the segmentation, or -1
    for (int x = 0; x < mask_size.width; ++x) {
      columns.push_back(sample_at(x, mask_size.width, picture.width, left_, width_, size_.width));
    }
    for (int y = 0; y < mask_size.height; ++y) {
      const int row = sample_at(y, mask_size.height, picture.height, top_, height_, size_.height);
      if (row < 0) continue;
      uint8_t* to = mask + static_cast<size_t>(y) * static_cast<size_t>(mask_size.width);
      for (size_t x = 0; x < columns.size(); ++x) {
        if (columns[x] >= 0 && is_chosen(value_at(columns[x], row), chosen)) to[x] = 255;
      }
    }
  }

 private:
  // Returns the sample of the segmentation at the centre of mask pixel `i`, or -1. `length` mask
  // pixels are `whole` pixels of the picture. The `samples` samples cover `covered` pixels from
  // `first` on.
  static int sample_at(int i, int length, int whole, int first, guint covered, int samples) {
    const double centre = (i + 0.5) * whole / length - first;
    const double sample = std::floor(centre * samples / covered);
    return sample >= 0 && sample < samples ? static_cast<int>(sample) : -1;
  }
  uint32_t value_at(int x, int y) const {
    const uint8_t* p = first_ + static_cast<size_t>(y) * pitch_ + static_cast<size_t>(x) * bytes_;
    return bytes_ == 1 ? p[0] : static_cast<uint32_t>(p[0] | p[1] << 8);
  }
  static bool is_chosen(uint32_t value, std::span<const uint32_t> chosen) {
    return chosen.empty() ? value != 0 : std::ranges::find(chosen, value) != chosen.end();
  }

  BufferPtr buffer_;
  GstMapInfo map_ = {};
  gint left_ = 0, top_ = 0;       // position in the frame, pixels
  guint width_ = 0, height_ = 0;  // covered part of the frame, pixels
  Size size_;                     // resolution of the segmentation, samples
  size_t bytes_ = 1, pitch_ = 0;  // bytes per sample and per row
  const uint8_t* first_ = nullptr;
};

// Calls use(entry) for each segmentation of another element.
template <class Use>
void for_each_segmentation(GstBuffer* buffer, Use use) {
  const Library* library = Library::find();
  RelationMeta* meta = library && library->segmentation_type ? library->get(buffer) : nullptr;
  gpointer state = nullptr;
  AnalyticsEntry entry;
  while (meta && library->iterate(meta, &state, library->segmentation_type(), &entry)) {
    if (!library->is_own_segmentation(entry)) use(*library, entry);
  }
}

DetectedObject box_at(double x, double y, double width, double height) {
  return {.left = x, .top = y, .right = x + width, .bottom = y + height};
}

void read_track(const Library& library, const AnalyticsEntry& entry, DetectedObject& object) {
  gpointer state = nullptr;
  AnalyticsEntry track;
  guint64 id = 0;
  gboolean is_lost = FALSE;
  GstClockTime first_seen = 0, last_seen = 0;
  if (!library.related(entry.meta, entry.id, Library::kAny, library.tracking_type(), &state,
                       &track) ||
      !library.tracking_info(&track, &id, &first_seen, &last_seen, &is_lost)) {
    return;
  }
  object.track = id;
  object.is_tracked = true;
  object.is_lost = is_lost;
}

DetectedObject object_of(const GstVideoRegionOfInterestMeta& roi) {
  DetectedObject object = box_at(roi.x, roi.y, roi.w, roi.h);
  const gchar* label = g_quark_to_string(roi.roi_type);
  if (label) object.label = label;
  for (const GList* item = roi.params; item; item = item->next) {
    const auto* parameters = static_cast<const GstStructure*>(item->data);
    gst_structure_get_double(parameters, "confidence", &object.confidence);
  }
  return object;
}

// Whether one of the boxes is the same box, except for rounding. The boxes are sorted by their left
// edges.
bool has_same_box(std::span<const DetectedObject> sorted, const DetectedObject& object) {
  const auto is_near = [](double a, double b) { return std::abs(a - b) <= 1; };
  auto other = std::ranges::lower_bound(sorted, object.left - 1, {}, &DetectedObject::left);
  for (; other != sorted.end() && other->left <= object.left + 1; ++other) {
    if (is_near(other->top, object.top) && is_near(other->right, object.right) &&
        is_near(other->bottom, object.bottom)) {
      return true;
    }
  }
  return false;
}

}  // namespace

ForeignMask read_segmentations(GstBuffer* buffer, Size picture, std::span<const uint32_t> chosen) {
  ForeignMask mask;
  std::vector<std::unique_ptr<SegmentationMap>> maps;
  bool is_attached = false;
  for_each_segmentation(buffer, [&](const Library& library, const AnalyticsEntry& entry) {
    is_attached = true;
    try {
      maps.push_back(std::make_unique<SegmentationMap>(library, entry));
    } catch (const InputError& error) {
      mask.problem = std::string("a segmentation of another element is left out: ") + error.what();
    }
  });
  if (!is_attached) return mask;
  mask.size = {1, 1};
  for (const auto& map : maps) {
    const Size size = map->resolution_for(picture);
    mask.size = {std::max(mask.size.width, size.width), std::max(mask.size.height, size.height)};
  }
  std::vector<uint8_t> pixels(mask.size.area());
  for (const auto& map : maps) map->add_to(pixels.data(), mask.size, picture, chosen);
  mask.pixels.reset(gst_buffer_new_memdup(pixels.data(), pixels.size()));
  return mask;
}

bool has_segmentation(GstBuffer* buffer) {
  bool found = false;
  for_each_segmentation(buffer, [&](const Library&, const AnalyticsEntry&) { found = true; });
  return found;
}

std::vector<DetectedObject> read_detections(GstBuffer* buffer) {
  std::vector<DetectedObject> objects;
  const Library* library = Library::find();
  RelationMeta* meta = library && library->detection_box ? library->get(buffer) : nullptr;
  gpointer state = nullptr;
  AnalyticsEntry entry;
  while (meta && library->iterate(meta, &state, library->detection_type(), &entry)) {
    gint x = 0, y = 0, width = 0, height = 0;
    gfloat confidence = 0;
    // For a rotated box, since GStreamer 1.26, this is the box that encloses it.
    if (!library->detection_box(&entry, &x, &y, &width, &height, &confidence)) continue;
    DetectedObject object = box_at(x, y, width, height);
    object.confidence = confidence;
    object.is_own = library->is_own_detection(entry);
    const gchar* label = g_quark_to_string(library->detection_object(&entry));
    if (label) object.label = label;
    read_track(*library, entry, object);
    objects.push_back(object);
  }
  return objects;
}

std::vector<DetectedObject> read_objects(GstBuffer* buffer) {
  std::vector<DetectedObject> objects = read_detections(buffer);
  std::erase_if(objects, [](const DetectedObject& object) { return object.is_own; });
  std::vector<DetectedObject> sorted = objects;
  std::ranges::sort(sorted, {}, &DetectedObject::left);
  static const GQuark kOwn = g_quark_from_static_string(kRegionName);
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    const auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    if (roi->roi_type == kOwn) continue;
    const DetectedObject object = object_of(*roi);
    if (!has_same_box(sorted, object)) objects.push_back(object);
  }
  return objects;
}

Region record_of(const DetectedObject& object) {
  const auto side = [](double value) {
    constexpr double kMax = 1 << 20;
    return static_cast<int32_t>(std::clamp(std::floor(value), -kMax, kMax));
  };
  Region region;
  region.left = side(object.left);
  region.top = side(object.top);
  region.right = side(object.right) - 1;
  region.bottom = side(object.bottom) - 1;
  region.track = static_cast<uint32_t>(object.track);
  return region;
}

}  // namespace regions
