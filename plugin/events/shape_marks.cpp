// Writes and reads the tables `shapes` and `numbers` of the metadata, and its caption.
#include "plugin/events/shape_marks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <span>

#include "plugin/metadata/region_meta.hpp"

namespace regions::events {
namespace {

constexpr const char* kShapeColumns = "x1:<f8 y1:<f8 x2:<f8 y2:<f8 color:<u4 thickness:<i4";
constexpr const char* kNumberColumns = "x:<f8 y:<f8 number:<u4 color:<u4";
static_assert(sizeof(LineMark) == 40 && sizeof(NumberMark) == 24);

template <class Row>
BufferPtr table_of(const std::vector<Row>& rows) {
  const gsize bytes = rows.size() * sizeof(Row);
  GstBuffer* table = gst_buffer_new_allocate(nullptr, bytes, nullptr);
  gst_buffer_fill(table, 0, rows.data(), bytes);
  return BufferPtr(table);
}

// Returns the rows of a table; no rows if it is missing or malformed.
template <class Row>
std::vector<Row> rows_of(const GstStructure* metadata, const char* name) {
  const GValue* value = gst_structure_get_value(metadata, name);
  if (!value || !G_VALUE_HOLDS(value, GST_TYPE_BUFFER)) return {};
  GstBuffer* table = gst_value_get_buffer(value);
  // More marks than a picture can show only cost time.
  constexpr size_t kMaxRows = 1 << 16;
  std::vector<Row> rows(std::min(table ? gst_buffer_get_size(table) / sizeof(Row) : 0, kMaxRows));
  if (!rows.empty()) gst_buffer_extract(table, 0, rows.data(), rows.size() * sizeof(Row));
  return rows;
}

uint32_t code_of(Rgb color) {
  return static_cast<uint32_t>(color.red) << 16 | static_cast<uint32_t>(color.green) << 8 |
         color.blue;
}

void append_path(const std::vector<Point>& points, bool is_closed, const Rule& rule,
                 std::vector<LineMark>& lines) {
  const size_t count = points.size() - (is_closed ? 0 : 1);
  for (size_t i = 0; i < count; ++i) {
    const Point a = points[i], b = points[(i + 1) % points.size()];
    lines.push_back({a.x, a.y, b.x, b.y, code_of(rule.color), rule.thickness});
  }
}

std::vector<Point> circle_of(const Zone& zone) {
  constexpr int kCorners = 64;
  std::vector<Point> points;
  for (int i = 0; i < kCorners; ++i) {
    const double angle = i * 2 * std::numbers::pi / kCorners;
    points.push_back({zone.center.x + zone.radius * std::cos(angle),
                      zone.center.y + zone.radius * std::sin(angle)});
  }
  return points;
}

// The distance of a number from its line or corner: more than half the height of its plate, see
// glyphs_for().
double margin_of(Size picture) { return std::max(12.0, picture.height / 28.0); }

NumberMark number_of(const Zone& zone, Size picture) {
  // Next to the first corner, on the way to the middle.
  const Box bounds = zone.area().bounds();
  const Point middle = {(bounds.left + bounds.right) / 2, (bounds.top + bounds.bottom) / 2};
  const Point corner =
      zone.rings.empty() ? Point{zone.center.x, bounds.top} : zone.rings.front().front();
  const Point way = middle - corner;
  const double step = margin_of(picture) / std::max(std::hypot(way.x, way.y), 1.0);
  return {corner.x + way.x * step, corner.y + way.y * step, 0, code_of(zone.color)};
}

// The point in the middle of a line's length, and the direction to its right side.
struct Middle {
  Point point, right;
};
Middle middle_of(const std::vector<Point>& points) {
  double length = 0;
  for (size_t i = 0; i + 1 < points.size(); ++i)
    length += std::hypot(points[i + 1].x - points[i].x, points[i + 1].y - points[i].y);
  double left = length / 2;
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const Point step = points[i + 1] - points[i];
    const double part = std::hypot(step.x, step.y);
    if (left > part && i + 2 < points.size()) {
      left -= part;
      continue;
    }
    return {{points[i].x + step.x * left / part, points[i].y + step.y * left / part},
            {-step.y / part, step.x / part}};
  }
  return {};
}

void append_numbers(const Line& line, Size picture, std::vector<NumberMark>& numbers) {
  const auto [point, right] = middle_of(line.points);
  for (const double distance : {margin_of(picture), -margin_of(picture)}) {
    numbers.push_back(
        {point.x + right.x * distance, point.y + right.y * distance, 0, code_of(line.color)});
  }
}

}  // namespace

Shapes shapes_of(const Rules& rules) {
  Shapes shapes;
  std::vector<LineMark> lines;
  for (const Zone& zone : rules.zones) {
    if (zone.rings.empty()) append_path(circle_of(zone), true, zone, lines);
    for (const auto& ring : zone.rings) append_path(ring, true, zone, lines);
    shapes.numbers.push_back(number_of(zone, rules.size));
  }
  for (const Line& line : rules.lines) {
    append_path(line.points, false, line, lines);
    append_numbers(line, rules.size, shapes.numbers);
  }
  shapes.lines = table_of(lines);
  return shapes;
}

CaptionMark caption_of(const Event& event, const Rules& rules) {
  if (event.change != SceneChange::none)
    return {name_of(event.type) + std::string(" ") + name_of(event.change), 0xFFFFFFFF};
  const bool is_crossing = event.type == EventType::crossing;
  const Rule& rule = is_crossing ? static_cast<const Rule&>(rules.lines[event.rule])
                                 : static_cast<const Rule&>(rules.zones[event.rule]);
  std::string text = name_of(event.type) + (" " + rule.id);
  if (is_crossing) text += event.side == Side::left ? " left" : " right";
  if (event.count >= 0) text += " " + std::to_string(event.count);
  if (event.track != 0) text += " #" + std::to_string(event.track);
  return {text, code_of(rule.color)};
}

void add_marks(GstStructure* metadata, const Shapes& shapes, const EventDetector& detector,
               const CaptionMark& caption) {
  std::vector<NumberMark> numbers = shapes.numbers;
  auto next = numbers.begin();
  for (const ZoneState& zone : detector.zones())
    (next++)->number = static_cast<uint32_t>(zone.count);
  for (const LineState& line : detector.lines()) {
    (next++)->number = static_cast<uint32_t>(line.to_right);
    (next++)->number = static_cast<uint32_t>(line.to_left);
  }
  const BufferPtr table = table_of(numbers);
  gst_structure_set(metadata, "shapes", GST_TYPE_BUFFER, shapes.lines.get(), "shapes-columns",
                    G_TYPE_STRING, kShapeColumns, "numbers", GST_TYPE_BUFFER, table.get(),
                    "numbers-columns", G_TYPE_STRING, kNumberColumns, nullptr);
  if (!caption.text.empty()) {
    gst_structure_set(metadata, "caption", G_TYPE_STRING, caption.text.c_str(), "caption-color",
                      G_TYPE_UINT, guint{caption.color}, nullptr);
  }
}

void read_marks(GstBuffer* buffer, Size picture, const StampPlan& plan,
                std::vector<Region>& records) {
  GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kRegionMeta);
  const GstStructure* metadata = meta ? gst_custom_meta_get_structure(meta) : nullptr;
  gint width = 0, height = 0;
  if (!metadata || !gst_structure_get_int(metadata, "width", &width) ||
      !gst_structure_get_int(metadata, "height", &height) || width <= 0 || height <= 0) {
    return;
  }
  const double x = static_cast<double>(picture.width) / width;
  const double y = static_cast<double>(picture.height) / height;
  for (const LineMark& line : rows_of<LineMark>(metadata, "shapes"))
    append(LineMark{line.x1 * x, line.y1 * y, line.x2 * x, line.y2 * y, line.color, line.thickness},
           plan, records);
  for (const NumberMark& number : rows_of<NumberMark>(metadata, "numbers"))
    append(NumberMark{number.x * x, number.y * y, number.number, number.color}, plan, records);
  guint color = 0;
  const gchar* caption = gst_structure_get_string(metadata, "caption");
  if (caption && gst_structure_get_uint(metadata, "caption-color", &color))
    append(CaptionMark{caption, color}, plan, records);
}

}  // namespace regions::events
