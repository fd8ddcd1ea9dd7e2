// Writes events, and the states of zones and lines, as structures and tables of numbers.
#include "plugin/events/event_structures.hpp"

#include <string>

#include "core/events/event_fields.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions::events {
namespace {

// Rows of the tables. They have no gaps, so NumPy reads them with the columns below.
struct ZoneRow {
  uint64_t count, entered, left;
  double foreground;
};
struct LineRow {
  uint64_t to_left, to_right;
};
struct VisitRow {
  uint32_t zone, id;
  uint64_t track;
  int64_t dwell;
};
constexpr const char* kZoneColumns = "count:<u8 entered:<u8 left:<u8 foreground:<f8";
constexpr const char* kLineColumns = "to-left:<u8 to-right:<u8";
constexpr const char* kVisitColumns = "zone:<u4 id:<u4 track:<u8 dwell:<i8";
static_assert(sizeof(ZoneRow) == 32 && sizeof(LineRow) == 16 && sizeof(VisitRow) == 24);

template <class Row>
void add_table(GstStructure* structure, const char* name, const std::vector<Row>& rows,
               const char* columns) {
  const gsize bytes = rows.size() * sizeof(Row);
  GstBuffer* table = gst_buffer_new_allocate(nullptr, bytes, nullptr);
  gst_buffer_fill(table, 0, rows.data(), bytes);
  gst_structure_set(structure, name, GST_TYPE_BUFFER, table,
                    (std::string(name) + "-columns").c_str(), G_TYPE_STRING, columns, nullptr);
  gst_buffer_unref(table);
}

// The ids of rules, one per line. Ids contain no control characters.
template <class P>
std::string ids_of(const std::vector<P>& rules) {
  std::string ids;
  for (const P& rule : rules) ids += (ids.empty() ? "" : "\n") + rule.id;
  return ids;
}

// Sets a field of an event.
void set_field(GstStructure* event, const char* name, const char* value) {
  gst_structure_set(event, name, G_TYPE_STRING, value, nullptr);
}
void set_field(GstStructure* event, const char* name, Duration value) {
  gst_structure_set(event, name, G_TYPE_UINT64, static_cast<guint64>(value.ns), nullptr);
}
void set_field(GstStructure* event, const char* name, uint64_t value) {
  gst_structure_set(event, name, G_TYPE_UINT64, guint64{value}, nullptr);
}
void set_field(GstStructure* event, const char* name, uint32_t value) {
  gst_structure_set(event, name, G_TYPE_UINT, guint{value}, nullptr);
}
void set_field(GstStructure* event, const char* name, int value) {
  gst_structure_set(event, name, G_TYPE_INT, value, nullptr);
}
void set_field(GstStructure* event, const char* name, double value) {
  gst_structure_set(event, name, G_TYPE_DOUBLE, value, nullptr);
}
void set_field(GstStructure* event, const char* name, bool value) {
  gst_structure_set(event, name, G_TYPE_BOOLEAN, gboolean{value}, nullptr);
}

void add_zones(GstStructure* structure, const EventDetector& detector) {
  std::vector<ZoneRow> zones;
  for (const ZoneState& zone : detector.zones())
    zones.push_back({static_cast<uint64_t>(zone.count), zone.entered, zone.left, zone.foreground});
  add_table(structure, "zones", zones, kZoneColumns);
  std::vector<VisitRow> visits;
  for (const Presence& visit : detector.presences())
    visits.push_back({static_cast<uint32_t>(visit.zone), visit.object, visit.track, visit.dwell});
  add_table(structure, "visits", visits, kVisitColumns);
  gst_structure_set(structure, "zone-ids", G_TYPE_STRING, ids_of(detector.rules().zones).c_str(),
                    nullptr);
}

void add_lines(GstStructure* structure, const EventDetector& detector) {
  std::vector<LineRow> lines;
  for (const LineState& line : detector.lines()) lines.push_back({line.to_left, line.to_right});
  add_table(structure, "lines", lines, kLineColumns);
  gst_structure_set(structure, "line-ids", G_TYPE_STRING, ids_of(detector.rules().lines).c_str(),
                    nullptr);
}

}  // namespace

StructurePtr structure_of(const Event& event, const Rules& rules, std::optional<uint64_t> utc) {
  StructurePtr structure(gst_structure_new_empty(kEventName));
  for_each_field(event, rules,
                 [&](const char* name, auto value) { set_field(structure.get(), name, value); });
  if (utc) gst_structure_set(structure.get(), "utc", G_TYPE_UINT64, guint64{*utc}, nullptr);
  return structure;
}

void add_events(GstStructure* metadata, const EventDetector& detector,
                std::vector<StructurePtr> events) {
  if (!detector.zones().empty()) add_zones(metadata, detector);
  if (!detector.lines().empty()) add_lines(metadata, detector);
  GValue array = G_VALUE_INIT;
  gst_value_array_init(&array, static_cast<guint>(events.size()));
  for (StructurePtr& event : events) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&item, event.release());
    gst_value_array_append_and_take_value(&array, &item);
  }
  gst_structure_take_value(metadata, "events", &array);
}

GstStructure* attach_empty_metadata(GstBuffer* buffer, Size picture) {
  GstStructure* metadata =
      gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, kRegionMeta));
  GValue regions = G_VALUE_INIT;
  gst_value_array_init(&regions, 0);
  gst_structure_set(metadata, "algorithm", G_TYPE_STRING, "regionevents", "width", G_TYPE_INT,
                    picture.width, "height", G_TYPE_INT, picture.height, "regions-total",
                    G_TYPE_UINT, 0U, nullptr);
  gst_structure_take_value(metadata, "regions", &regions);
  return metadata;
}

}  // namespace regions::events
