// Entries of relation metas.
#include "plugin/metadata/analytics_meta.hpp"

#include <algorithm>
#include <numeric>

#include "plugin/metadata/analytics_library.hpp"
#include "plugin/metadata/index_map.hpp"
#include "plugin/metadata/region_structure.hpp"

namespace regions {
namespace {

using Library = AnalyticsLibrary;
constexpr size_t kMaxIndices = 255;  // that a byte tells apart, beside background

GQuark object_type() { return g_quark_from_static_string(kRegionName); }

void add_segmentation(const Library& library, RelationMeta* meta, const Summary& summary,
                      std::span<const guint> detections) {
  const bool is_mask = summary.labels_format == PixelFormat::gray8;
  const size_t count = is_mask ? 1 : std::min(summary.regions.size(), kMaxIndices);
  std::vector<uint8_t> index_of_label;
  for (size_t i = 0; i < count && !is_mask; ++i) {
    const uint32_t id = summary.regions[i].id;
    if (index_of_label.size() <= id) index_of_label.resize(id + size_t{1});
    index_of_label[id] = static_cast<uint8_t>(i + 1);
  }
  std::vector<guint> values(count + 1);
  std::iota(values.begin(), values.end(), 0U);
  enum { semantic, instance };
  AnalyticsEntry entry;
  GstBuffer* map = make_index_map(summary.labels, summary.labels_format, summary.labels_size,
                                  std::move(index_of_label));
  if (!library.add_segmentation(meta, map, is_mask ? semantic : instance, values.size(),
                                values.data(), 0, 0, static_cast<guint>(summary.size.width),
                                static_cast<guint>(summary.size.height), &entry)) {
    return;
  }
  for (size_t i = 0; i < count && !is_mask; ++i) {
    library.set_relation(meta, Library::kContain, entry.id, detections[i]);
  }
}

std::vector<AnalyticsEntry> entries_of(const Library& library, RelationMeta* meta) {
  std::vector<AnalyticsEntry> entries;
  gpointer state = nullptr;
  AnalyticsEntry entry;
  while (library.iterate(meta, &state, nullptr, &entry)) entries.push_back(entry);
  return entries;
}

bool is_our_segmentation(const Library& library, const AnalyticsEntry& entry) {
  if (!library.segmentation_type || library.type_of(&entry) != library.segmentation_type()) {
    return false;
  }
  GstBuffer* map = library.segmentation_map(&entry, nullptr, nullptr, nullptr, nullptr);
  const bool ours = map && is_index_map(map);
  gst_clear_buffer(&map);
  return ours;
}

bool is_our_detection(const Library& library, const AnalyticsEntry& entry) {
  return library.type_of(&entry) == library.detection_type() &&
         library.detection_object(&entry) == object_type();
}

// [id] whether the entry stays. Tracking entries go with the detection they belong to.
std::vector<bool> others(const Library& library, std::span<const AnalyticsEntry> entries,
                         bool keep_detections) {
  std::vector<bool> stay(entries.size(), true);
  for (const AnalyticsEntry& entry : entries) {
    if (!library.type_of(&entry) || is_our_segmentation(library, entry)) stay[entry.id] = false;
    if (keep_detections || !stay[entry.id] || !is_our_detection(library, entry)) continue;
    stay[entry.id] = false;
    gpointer state = nullptr;
    AnalyticsEntry track;
    while (library.related(entry.meta, entry.id, Library::kRelateTo, library.tracking_type(),
                           &state, &track)) {
      stay[track.id] = false;
    }
  }
  return stay;
}

void copy_entries(const Library& library, std::span<const AnalyticsEntry> entries, GstBuffer* from,
                  GstBuffer* to) {
  const RelationSpace space = {entries.size(), 64 * entries.size()};
  RelationMeta* meta = library.add(to, &space);
  std::vector<guint> copies;
  for (const AnalyticsEntry& entry : entries) {
    const AnalyticsType* type = library.type_of(&entry);
    const gsize size = library.size_of(&entry);
    AnalyticsEntry copy;
    gpointer data = library.add_entry(meta, type, size, &copy);
    std::copy_n(static_cast<const std::byte*>(library.data_of(entry.meta, entry.id)), size,
                static_cast<std::byte*>(data));
    GstMetaTransformCopy whole = {FALSE, 0, static_cast<gsize>(-1)};
    if (type->transform) type->transform(to, &copy, from, _gst_meta_transform_copy, &whole);
    copies.push_back(copy.id);
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    for (size_t k = 0; k < entries.size(); ++k) {
      const int relation = library.relation(entries[i].meta, entries[i].id, entries[k].id);
      if (relation != Library::kNone) library.set_relation(meta, relation, copies[i], copies[k]);
    }
  }
}

// Relation metas give up no entry: one with the others' takes its place.
void remove_ours(GstBuffer* buffer, bool keep_detections) {
  const Library* library = Library::find();
  RelationMeta* meta = library ? library->get(buffer) : nullptr;
  if (!meta) return;
  std::vector<AnalyticsEntry> entries = entries_of(*library, meta);
  const std::vector<bool> stay = others(*library, entries, keep_detections);
  if (std::find(stay.begin(), stay.end(), false) == stay.end()) return;
  std::erase_if(entries, [&](const AnalyticsEntry& entry) { return !stay[entry.id]; });
  GstBuffer* aside = gst_buffer_new();
  if (!entries.empty()) copy_entries(*library, entries, buffer, aside);
  gst_buffer_remove_meta(buffer, reinterpret_cast<GstMeta*>(meta));
  gst_buffer_copy_into(buffer, aside, GST_BUFFER_COPY_META, 0, static_cast<gsize>(-1));
  gst_buffer_unref(aside);
}

}  // namespace

void attach_analytics(GstBuffer* buffer, const Summary& summary) {
  const Library* library = Library::find();
  const bool segments = library && library->segmentation_type && summary.labels;
  if (!library || (summary.regions.empty() && !segments)) return;
  RelationMeta* meta = library->get(buffer);
  if (!meta) {
    constexpr gsize kBytes = 80;  // an entry's, about
    // No more than there will be: the library clears so many relations squared.
    const gsize most = summary.regions.size() + summary.first_seen.size() + (segments ? 1 : 0);
    const RelationSpace space = {most, most * kBytes};
    meta = library->add(buffer, &space);
  }
  std::vector<guint> detections;
  for (size_t i = 0; i < summary.regions.size(); ++i) {
    const Region& r = summary.regions[i];
    AnalyticsEntry detection, track;
    if (!library->add_detection(meta, object_type(), r.left, r.top, r.width(), r.height(), 1.0F,
                                &detection)) {
      return;
    }
    detections.push_back(detection.id);
    if (summary.first_seen.empty() || r.track == 0 ||
        !library->add_tracking(meta, r.track, summary.first_seen[i], &track)) {
      continue;
    }
    library->update_last_seen(&track, GST_BUFFER_PTS(buffer));
    library->set_relation(meta, Library::kRelateTo, detection.id, track.id);
  }
  if (segments) add_segmentation(*library, meta, summary, detections);
}

void remove_analytics(GstBuffer* buffer) { remove_ours(buffer, false); }

void remove_segmentation(GstBuffer* buffer) { remove_ours(buffer, true); }

}  // namespace regions
