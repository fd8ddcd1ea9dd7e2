// Reads regions, detections, label maps and runs of a frame.
#include "plugin/events/frame_reader.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "plugin/memory/gst_object.hpp"
#include "plugin/metadata/standard_metas.hpp"

namespace regions::events {
namespace {

// Keeps a buffer mapped for reading.
class MappedBytes {
 public:
  explicit MappedBytes(GstBuffer* buffer) : buffer_(buffer) {
    expects(gst_buffer_map(buffer, &map_, GST_MAP_READ), "attached pixels cannot be mapped");
  }
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;
  ~MappedBytes() { gst_buffer_unmap(buffer_, &map_); }
  const guint8* data() const { return map_.data; }
  size_t size() const { return map_.size; }

 private:
  GstBuffer* buffer_;
  GstMapInfo map_ = {};
};

GstBuffer* buffer_field(const GstStructure* structure, const char* name) {
  const GValue* value = gst_structure_get_value(structure, name);
  return value && G_VALUE_HOLDS(value, GST_TYPE_BUFFER) ? gst_value_get_buffer(value) : nullptr;
}

// Elements that attach only a mask find no objects. These may come from a detector.
bool has_objects(const GstStructure* structure) {
  return g_strcmp0(gst_structure_get_string(structure, "algorithm"), "graphcutbg") != 0 ||
         gst_structure_has_field(structure, kBoxesField);
}

}  // namespace

void FrameReader::begin_stream() { had_regions_ = is_tracked_ = false; }

bool FrameReader::read(GstBuffer* buffer, Size video_size) {
  objects_.clear();
  counts_.clear();
  attached_.labels = nullptr;
  GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kRegionMeta);
  metadata_ = meta ? gst_custom_meta_get_structure(meta) : nullptr;
  if (metadata_) {
    gint width = 0, height = 0;
    const bool has_size = gst_structure_get_int(metadata_, "width", &width) &&
                          gst_structure_get_int(metadata_, "height", &height);
    expects(has_size && width > 0 && height > 0, "regions metadata has no size");
    size_ = {width, height};
    read_regions(buffer, size_, attached_);
    if (has_objects(metadata_)) {
      read_region_objects();
      return true;
    }
  } else {
    if (had_regions_ || video_size.area() == 0) return false;
    size_ = video_size;
  }
  read_detections(buffer);
  return true;
}

void FrameReader::read_region_objects() {
  had_regions_ = true;
  if (!attached_.regions.empty()) is_tracked_ = attached_.is_tracked;
  constexpr double kPixelCentre = 0.5;
  objects_.reserve(attached_.regions.size());
  for (const Region& r : attached_.regions) {
    Object& object = objects_.emplace_back();
    object.track = is_tracked_ ? r.track : 0;
    object.id = r.id;
    object.box = {static_cast<double>(r.left), static_cast<double>(r.top), r.right + 1.0,
                  r.bottom + 1.0};
    object.centroid = {r.centroid_x() + kPixelCentre, r.centroid_y() + kPixelCentre};
    object.area = r.area;
  }
}

void FrameReader::read_detections(GstBuffer* buffer) {
  for (const DetectedObject& detection : regions::read_detections(buffer)) {
    is_tracked_ |= detection.is_tracked;
    if (detection.is_lost) continue;
    const double width = detection.right - detection.left;
    const double height = detection.bottom - detection.top;
    Object& object = objects_.emplace_back();
    object.track = detection.track;
    object.id = static_cast<uint32_t>(objects_.size());
    object.box = {detection.left, detection.top, detection.left + std::max(width, 1.0),
                  detection.top + std::max(height, 1.0)};
    object.centroid = {detection.left + width / 2, detection.top + height / 2};
    object.area =
        static_cast<uint64_t>(std::max(width, 1.0)) * static_cast<uint64_t>(std::max(height, 1.0));
  }
}

std::string FrameReader::count_pixels(const Rules& rules) {
  const bool needs_objects = std::ranges::any_of(
      rules.zones, [](const Zone& zone) { return zone.anchor == Anchor::area; });
  const auto reader =
      std::ranges::find_if(rules.zones, [](const Zone& zone) { return zone.reads_pixels(); });
  if (reader == rules.zones.end()) return {};
  const GstStructure* const structure = metadata_;
  const bool has_layers = structure && gst_structure_has_field(structure, "layers");
  const bool is_mask = attached_.labels && attached_.labels_format == PixelFormat::gray8;
  gboolean is_truncated = FALSE;
  if (structure) gst_structure_get_boolean(structure, "runs-truncated", &is_truncated);
  GstBuffer* const runs = structure ? buffer_field(structure, "runs") : nullptr;
  if (runs && !has_layers && !is_truncated && !is_mask) {
    const MappedBytes bytes(runs);
    counts_.count_runs(
        rules, size_,
        {reinterpret_cast<const PixelRun*>(bytes.data()), bytes.size() / sizeof(PixelRun)},
        objects_);
    return {};
  }
  if (attached_.labels && !has_layers && !(is_mask && needs_objects)) {
    count_labels(rules);
    return {};
  }
  if (is_mask &&
      std::ranges::any_of(rules.zones, [](const Zone& zone) { return zone.motion_share > 0; })) {
    count_labels(rules);
  }
  if (structure && objects_.empty() && !is_mask && has_objects(structure)) {
    // Nothing is foreground. An element without regions need not attach pixels.
    counts_.count_nothing(rules);
    return {};
  }
  return "zone '" + reader->id +
         "' requires the pixels of the objects: use cclabel with attach-runs=true or "
         "attach-labels=always (for motion-share, also a mask of graphcutbg), and with one "
         "threshold" +
         (is_truncated ? "; there were more than max-runs runs" : "");
}

void FrameReader::count_labels(const Rules& rules) {
  const Size size = attached_.labels_size;
  const bool is_mask = attached_.labels_format == PixelFormat::gray8;
  const size_t sample_bytes = is_mask ? 1 : sizeof(uint32_t);
  expects(is_mask || attached_.labels_format == PixelFormat::labels32,
          "the attached label map has an unknown format");
  const MappedBytes bytes(attached_.labels);
  expects(bytes.size() >= size.area() * sample_bytes,
          "the attached label map is smaller than the metadata states");
  const ptrdiff_t pitch = static_cast<ptrdiff_t>(sample_bytes) * size.width;
  if (is_mask) {
    counts_.count_mask(rules, {bytes.data(), size.width, size.height, pitch});
    return;
  }
  // The map may be smaller than the picture that the areas of regions refer to.
  const double scale = static_cast<double>(size.area()) / static_cast<double>(size_.area());
  std::vector<double> pixels;
  for (const Object& object : objects_) pixels.push_back(static_cast<double>(object.area) * scale);
  counts_.count_labels(
      rules, {reinterpret_cast<const uint32_t*>(bytes.data()), size.width, size.height, pitch},
      objects_, pixels);
}

FrameObjects FrameReader::frame_at(int64_t time) const {
  FrameObjects frame;
  frame.time = time;
  frame.objects = objects_;
  frame.is_tracked = is_tracked_;
  frame.shares = counts_.shares();
  frame.foreground = counts_.foreground();
  const gchar* change =
      metadata_ ? gst_structure_get_string(metadata_, kSceneChangeField) : nullptr;
  if (change) frame.scene_change = scene_change_of(change);
  return frame;
}

}  // namespace regions::events
