// Reads rules from JSON. Accepts this project's format and the files of DL Streamer's gvaanalytics.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "core/events/rules.hpp"

namespace regions::events {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 8;         // nested arrays and objects
constexpr size_t kMaxRules = 256;    // zones, and as many lines
constexpr size_t kMaxPoints = 4096;  // per rule
constexpr size_t kMaxIdBytes = 128;
constexpr double kMaxCoordinate = 1e6;

// Refuses deep nesting, and repeated keys, because the JSON library silently uses the last value.
class StructureCheck {
 public:
  bool operator()(Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      expects(keys_.size() < kMaxDepth, "more than " + std::to_string(kMaxDepth) + " levels");
      keys_.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      expects(keys_.back().insert(key).second, "the key '" + key + "' occurs twice");
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;  // of each open array or object
};

// Shortens a value for an error message.
std::string text_of(const Json& json) {
  constexpr size_t kMaxText = 40;
  std::string text = json.dump(-1, ' ', true);
  return text.size() <= kMaxText ? text : text.substr(0, kMaxText) + "…";
}

double number_of(const Json& json, const std::string& name) {
  expects(json.is_number(),
          [&] { return name + " is " + text_of(json) + "; it must be a number"; });
  return json.get<double>();
}

double coordinate_of(const Json& json, const std::string& name) {
  const double value = number_of(json, name);
  expects(std::abs(value) <= kMaxCoordinate,
          [&] { return name + " is " + text_of(json) + ", which is outside of any picture"; });
  return value;
}

// Reads a point, [x, y] or {"x": x, "y": y}.
Point point_of(const Json& json, const std::string& name) {
  if (json.is_array() && json.size() == 2)
    return {coordinate_of(json[0], name), coordinate_of(json[1], name)};
  expects(json.is_object() && json.size() == 2 && json.contains("x") && json.contains("y"), [&] {
    return name + R"( is )" + text_of(json) + R"(; a point is [x, y] or {"x": x, "y": y})";
  });
  return {coordinate_of(json["x"], name), coordinate_of(json["y"], name)};
}

std::vector<Point> points_of(const Json& json, const std::string& name) {
  expects(json.is_array(),
          [&] { return name + ": points are " + text_of(json) + ", not an array"; });
  expects(json.size() <= kMaxPoints, [&] {
    return name + " has " + std::to_string(json.size()) + " points; it may have up to " +
           std::to_string(kMaxPoints);
  });
  std::vector<Point> points;
  for (const Json& item : json) {
    const Point point = point_of(item, name + ", point " + std::to_string(points.size() + 1));
    if (points.empty() || !(points.back() == point)) points.push_back(point);
  }
  return points;
}

// Reads a ring. The last point may repeat the first.
std::vector<Point> ring_of(const Json& json, const std::string& name) {
  std::vector<Point> ring = points_of(json, name);
  if (ring.size() > 1 && ring.front() == ring.back()) ring.pop_back();
  return ring;
}

Rgb color_of(const Json& json, const std::string& name) {
  expects(json.is_object(), [&] {
    return name + " is " + text_of(json) + R"(; a colour is {"r": 0…255, "g": 0…255, "b": 0…255})";
  });
  Rgb color;
  for (const auto& [key, value] : json.items()) {
    const double component = number_of(value, name + " " + key);
    expects((key == "r" || key == "g" || key == "b") && component >= 0 && component <= 255,
            [&, &shown_key = key, &shown = value] {
              return name + ": " + shown_key + " is " + text_of(shown) + "; expected 0…255";
            });
    (key == "r"   ? color.red
     : key == "g" ? color.green
                  : color.blue) = static_cast<uint8_t>(component);
  }
  return color;
}

void read_field(const Field& field, void* params, const Json& json, const std::string& name) {
  const auto expect_type = [&](bool holds, const char* type) {
    expects(holds, [&] {
      return name + ": " + field.name + " is " + text_of(json) + "; it must be " + type;
    });
  };
  try {
    switch (field.kind) {
      case Kind::flag:
        expect_type(json.is_boolean(), "true or false");
        return assign(field, params, json.get<bool>());
      case Kind::integer: {
        const bool is_whole = json.is_number() && std::nearbyint(json.get<double>()) == json &&
                              std::abs(json.get<double>()) <= INT32_MAX;
        expect_type(is_whole, "a whole number");
        return assign(field, params, static_cast<int64_t>(json.get<double>()));
      }
      case Kind::real:
        expect_type(json.is_number(), "a number");
        return assign(field, params, json.get<double>());
      default: {
        std::string names;
        for (const Choice& choice : field.choices) {
          if (json == choice.name) return assign(field, params, int64_t{choice.value});
          names += (names.empty() ? "" : ", ") + std::string(choice.name);
        }
        expect_type(false, ("one of: " + names).c_str());
      }
    }
  } catch (const InputError& error) {
    const std::string message = error.what();
    throw InputError(message.starts_with(name) ? message : name + ": " + message);
  }
}

// Reads a key that zones and lines have in common, or a field of the parameter table.
template <class P>
void read_key(const std::string& key, const Json& value, P& rule, const std::string& name) {
  if (key == "id") return;
  if (key == "color") {
    rule.color = color_of(value, name + ": color");
    return;
  }
  const auto fields = fields_of(P{});
  const auto found =
      std::ranges::find_if(fields, [&](const Field& field) { return key == field.name; });
  expects(found != fields.end(), [&] {
    std::string known;
    for (const Field& field : fields) known += std::string(", ") + field.name;
    return name + ": unknown key '" + key + "'; the keys are: id, color" +
           (std::is_same_v<P, Line> ? ", points" : ", type, points, rings, center, radius") + known;
  });
  read_field(*found, &rule, value, name);
}

std::string id_of(const Json& json, const std::string& kind, size_t index) {
  const std::string name = kind + " " + std::to_string(index + 1);
  expects(json.is_object(), [&] { return name + " is " + text_of(json) + ", not an object"; });
  const auto id = json.find("id");
  expects(id != json.end() && id->is_string() && !id->get_ref<const std::string&>().empty() &&
              id->get_ref<const std::string&>().size() <= kMaxIdBytes,
          [&] {
            return name + R"( requires "id", a name of 1 to )" + std::to_string(kMaxIdBytes) +
                   " bytes";
          });
  const auto& text = id->get_ref<const std::string&>();
  const bool has_control = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; });
  expects(!has_control, [&] { return name + ": the id contains a control character"; });
  return text;
}

Zone zone_of(const Json& json, size_t index) {
  Zone zone;
  zone.id = id_of(json, "zone", index);
  const std::string name = "zone '" + zone.id + "'";
  std::string type = json.contains("radius") && !json.contains("type") ? "circle" : "polygon";
  bool has_center = false, has_leave_share = false;
  size_t point_count = 0;
  for (const auto& [key, value] : json.items()) {
    if (key == "type") {
      expects(value == "polygon" || value == "circle", [&, &shown = value] {
        return name + ": type is " + text_of(shown) + R"(; it must be "polygon" or "circle")";
      });
      type = value.get<std::string>();
    } else if (key == "points") {
      zone.rings.insert(zone.rings.begin(), ring_of(value, name));
    } else if (key == "rings") {
      expects(value.is_array(), name + ": rings must be an array of arrays of points");
      for (const Json& ring : value) {
        zone.rings.push_back(ring_of(ring, name));
        point_count += zone.rings.back().size();
        expects(point_count <= kMaxPoints,
                name + " has more than " + std::to_string(kMaxPoints) + " points");
      }
    } else if (key == "center") {
      zone.center = point_of(value, name + ": center");
      has_center = true;
    } else if (key == "radius") {
      zone.radius = coordinate_of(value, name + ": radius");
    } else {
      has_leave_share |= key == "leave-share";
      read_key(key, value, zone, name);
    }
  }
  if (!has_leave_share) zone.leave_share = zone.min_share;
  expects(zone.leave_share <= zone.min_share, name + ": leave-share is larger than min-share");
  if (type == "circle") {
    expects(has_center && zone.radius > 0 && zone.rings.empty(),
            name + R"(: a circle requires "center" and "radius" above 0, and has no points)");
  } else {
    expects(!has_center && zone.radius == 0,
            name + R"(: "center" and "radius" require "type": "circle")");
    expects(!zone.rings.empty(), name + R"( requires "points" or "rings")");
    expect_simple(name, zone.rings);
  }
  return zone;
}

Line line_of(const Json& json, size_t index) {
  Line line;
  line.id = id_of(json, "line", index);
  const std::string name = "line '" + line.id + "'";
  for (const auto& [key, value] : json.items()) {
    if (key == "points")
      line.points = points_of(value, name);
    else
      read_key(key, value, line, name);
  }
  expects(line.points.size() >= 2, name + " requires at least two different points");
  return line;
}

// Reads an array of zones or lines to the end of `rules`.
template <class P, class Read>
void read_list(const Json& json, const std::string& key, std::vector<P>& rules, const Read& read) {
  expects(json.is_array() && json.size() + rules.size() <= kMaxRules, [&] {
    return key + " must be an array of up to " + std::to_string(kMaxRules) + " objects";
  });
  for (const Json& item : json) {
    P rule = read(item, rules.size());
    expects(std::ranges::none_of(rules, [&](const P& other) { return other.id == rule.id; }),
            [&] { return "the id '" + rule.id + "' occurs twice in " + key; });
    rules.push_back(std::move(rule));
  }
}

int side_length_of(const Json& json, const std::string& key) {
  const double value = number_of(json, key);
  expects(value >= 1 && value <= 65535 && std::nearbyint(value) == value, [&] {
    return key + " is " + text_of(json) + "; it must be a whole number in 1..65535 (pixels)";
  });
  return static_cast<int>(value);
}

void read_rules(const Json& json, Rules& rules) {
  for (const auto& [key, value] : json.items()) {
    if (key == "zones") {
      read_list(value, key, rules.zones, zone_of);
    } else if (key == "lines" || key == "tripwires") {
      read_list(value, key, rules.lines, line_of);
    } else if (key == "width") {
      rules.size.width = side_length_of(value, key);
    } else if (key == "height") {
      rules.size.height = side_length_of(value, key);
    } else if (key == "units") {
      expects(value == "pixels" || value == "fractions", [&, &shown = value] {
        return "units is " + text_of(shown) + R"(; it must be "pixels" or "fractions")";
      });
      rules.fractions = value == "fractions";
    } else {
      expects(key == "$schema" || key == "comment",
              "unknown key '" + key +
                  "'; the keys are: zones, lines, tripwires, width, height, units, comment");
    }
  }
  expects((rules.size.width > 0) == (rules.size.height > 0), "width and height belong together");
  expects(!rules.fractions || rules.size.width == 0,
          "with units=fractions, the rules fit any picture; remove width and height");
}

Json json_of(std::string_view text) {
  expects(text.size() <= kMaxRuleBytes,
          "the text has more than " + std::to_string(kMaxRuleBytes) + " bytes");
  try {
    StructureCheck check;
    return Json::parse(
        text, [&](int, Json::parse_event_t event, Json& parsed) { return check(event, parsed); });
  } catch (const Json::exception& error) {
    // The library's messages begin with a code in brackets.
    const std::string message = error.what();
    const size_t end = message.find("] ");
    throw InputError("no valid JSON: " + message.substr(end == message.npos ? 0 : end + 2));
  }
}

}  // namespace

Rules parse_rules(std::string_view text) {
  try {
    const Json json = json_of(text);
    Rules rules;
    if (json.is_array()) {
      // A bare array, as in gvaanalytics' properties `zones` and `tripwires`. Two points are a
      // line.
      Json zones = Json::array(), lines = Json::array();
      for (const Json& item : json) {
        const bool is_line = item.is_object() && item.contains("points") &&
                             item["points"].is_array() && item["points"].size() == 2;
        (is_line ? lines : zones).push_back(item);
      }
      read_list(zones, "zones", rules.zones, zone_of);
      read_list(lines, "lines", rules.lines, line_of);
    } else {
      expects(json.is_object(), "expected an object with the keys zones and lines");
      read_rules(json, rules);
    }
    return rules;
  } catch (const InputError& error) {
    throw InputError(std::string("rules: ") + error.what());
  }
}

}  // namespace regions::events
