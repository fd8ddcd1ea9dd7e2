// Writes events, and the states of zones and lines, as structures and tables of numbers.
#include "plugin/events/event_structures.hpp"

#include <string>

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
  const bool is_crossing = event.type == EventType::crossing;
  const std::string& id = is_crossing ? rules.lines[event.rule].id : rules.zones[event.rule].id;
  StructurePtr structure(gst_structure_new(
      kEventName, "event", G_TYPE_STRING, name_of(event.type), is_crossing ? "line" : "zone",
      G_TYPE_STRING, id.c_str(), "time", G_TYPE_UINT64, static_cast<guint64>(event.time), nullptr));
  const auto set = [&](auto... fields) { gst_structure_set(structure.get(), fields..., nullptr); };
  if (utc) set("utc", G_TYPE_UINT64, guint64{*utc});
  if (event.track != 0) {
    set("track", G_TYPE_UINT64, guint64{event.track}, "id", G_TYPE_UINT, guint{event.object}, "x",
        G_TYPE_DOUBLE, event.position.x, "y", G_TYPE_DOUBLE, event.position.y);
  }
  if (event.type == EventType::leave || event.type == EventType::removed)
    set("lost", G_TYPE_BOOLEAN, gboolean{event.is_lost});
  if (event.dwell >= 0) set("dwell", G_TYPE_UINT64, static_cast<guint64>(event.dwell));
  if (event.count >= 0) set("count", G_TYPE_INT, event.count);
  if (event.type == EventType::direction) set("angle", G_TYPE_DOUBLE, event.value);
  if (event.type == EventType::motion || event.type == EventType::motion_end)
    set("share", G_TYPE_DOUBLE, event.value);
  if (is_crossing) set("side", G_TYPE_STRING, event.side == Side::left ? "left" : "right");
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
