// The class Zones: rules of zones and lines for the tables of a video.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/events/event_fields.hpp"
#include "core/events/pixel_counts.hpp"
#include "python/arrays.hpp"
#include "python/module.hpp"

namespace regions::python {
namespace {

using events::EventDetector;

using Ids = HostArray<const uint64_t, nb::ndim<1>, nb::c_contig>;
using Places = HostArray<const double, nb::ndim<2>, nb::c_contig>;

double seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

// Sets a field of an event.
void set_field(nb::dict& event, const char* name, events::Duration value) {
  event[name] = seconds(value.ns);
}
template <class T>
void set_field(nb::dict& event, const char* name, T value) {
  event[name] = value;
}

class Zones {
 public:
  explicit Zones(const std::string& rules) : rules_(events::parse_rules(rules)) {}

  // Takes other rules from the next table on.
  void set_rules(const std::string& text) {
    events::Rules rules = events::parse_rules(text);
    locked([&] {
      if (is_adapted_) give(rules, picture_);
      rules_ = std::move(rules);
    });
  }

  // Returns the size for which the rules were drawn, and whether they are fractions.
  nb::tuple drawn_size() {
    const auto [size, fractions] = locked([&] { return std::pair(rules_.size, rules_.fractions); });
    return nb::make_tuple(size.width, size.height, fractions);
  }

  // Evaluates a table and returns its events. `width` and `height` are the picture's size, or 0
  // if they are unknown. `boxes` has the left, top, right and bottom edge of each object, and
  // `centers` its centroid. `ids` are at most the number of pixels of `labels`. Objects without a
  // track have track 0. `change` is the name of a SceneChange.
  nb::list update(int64_t time, int width, int height, const Places& boxes, const Places& centers,
                  const Ids& ids, const std::optional<Ids>& tracks,
                  const std::optional<ConstLabels>& labels, const std::string& change) {
    const size_t count = boxes.shape(0);
    expects(boxes.shape(1) == 4 && centers.shape(1) == 2 && centers.shape(0) == count &&
                ids.shape(0) == count && (!tracks || tracks->shape(0) == count),
            "boxes, centers, ids and tracks must have one row per object");
    expects(width >= 0 && height >= 0 && width <= kMaxSide && height <= kMaxSide,
            "the picture has an unsupported size");
    const SceneChange scene_change = scene_change_of(change);
    expects(name_of(scene_change) == change,
            "scene_change is '" + change + "', which is not a change of the scene");
    std::optional<ConstLabelMap> map;
    if (labels) {
      const Voxels voxels{AnyArray(*labels)};
      expects(labels->ndim() == 2 && voxels.slice == Size{width, height},
              "labels must have the size of the picture");
      map = ConstLabelMap{reinterpret_cast<const uint32_t*>(labels->data()), width, height,
                          voxels.pitch};
    }
    std::vector<events::Event> found;
    events::Rules rules;  // of the events
    locked([&] {
      adapt({width, height});
      set_objects(boxes, centers, ids, tracks);
      counts_.clear();
      if (map) this->count(*map);
      detector_.update({time, objects_, tracks.has_value(), counts_.shares(), counts_.foreground(),
                        scene_change});
      found.assign(detector_.events().begin(), detector_.events().end());
      if (!found.empty()) rules = detector_.rules();
    });
    nb::list list;
    for (const events::Event& event : found) {
      nb::dict fields;
      events::for_each_field(event, rules,
                             [&](const char* name, auto value) { set_field(fields, name, value); });
      list.append(fields);
    }
    return list;
  }

  // Returns the name of a rule that requires a label map, and of a rule that requires centroids, or
  // empty texts.
  nb::tuple required() {
    std::string pixels, centroids;
    locked([&] {
      for (const events::Zone& zone : rules_.zones) {
        if (zone.reads_pixels()) pixels = "zone '" + zone.id + "'";
        if (zone.anchor == events::Anchor::centroid) centroids = "zone '" + zone.id + "'";
      }
      for (const events::Line& line : rules_.lines) {
        if (line.anchor == events::Anchor::centroid) centroids = "line '" + line.id + "'";
      }
    });
    return nb::make_tuple(pixels, centroids);
  }

  // The states of all zones and lines after the last table, by their ids.
  nb::tuple states() {
    struct States {
      events::Rules rules;
      std::vector<events::ZoneState> zones;
      std::vector<events::LineState> lines;
    };
    const States states = locked([&] {
      const auto zones = detector_.zones();
      const auto lines = detector_.lines();
      return is_adapted_ ? States{detector_.rules(),
                                  {zones.begin(), zones.end()},
                                  {lines.begin(), lines.end()}}
                         : States{rules_, std::vector<events::ZoneState>(rules_.zones.size()),
                                  std::vector<events::LineState>(rules_.lines.size())};
    });
    nb::dict zones, lines;
    for (size_t i = 0; i < states.zones.size(); ++i) {
      nb::dict zone;
      zone["count"] = states.zones[i].count;
      zone["entered"] = states.zones[i].entered;
      zone["left"] = states.zones[i].left;
      if (states.zones[i].foreground >= 0) zone["foreground"] = states.zones[i].foreground;
      zones[states.rules.zones[i].id.c_str()] = zone;
    }
    for (size_t i = 0; i < states.lines.size(); ++i) {
      nb::dict line;
      line["to_left"] = states.lines[i].to_left;
      line["to_right"] = states.lines[i].to_right;
      lines[states.rules.lines[i].id.c_str()] = line;
    }
    return nb::make_tuple(zones, lines);
  }

  // The objects in the zones after the last table: id of the zone, id and track of the object, and
  // its dwell time in seconds, negative without tracks.
  nb::list visits() {
    const auto visits = locked([&] {
      std::vector<std::pair<std::string, events::Presence>> found;
      for (const events::Presence& visit : detector_.presences())
        found.emplace_back(detector_.rules().zones[visit.zone].id, visit);
      return found;
    });
    nb::list list;
    for (const auto& [zone, visit] : visits)
      list.append(nb::make_tuple(zone, visit.object, visit.track, seconds(visit.dwell)));
    return list;
  }

  // Forgets all objects and counts.
  void reset() {
    locked([&] {
      detector_ = {};
      is_adapted_ = false;
    });
  }

 private:
  // Calls f() without the interpreter's lock, and returns its result. f() may use all members.
  template <class F>
  std::invoke_result_t<F> locked(F f) {
    const Unlocked unlocked;
    const std::lock_guard lock(mutex_);
    return f();
  }

  void adapt(Size picture) {
    if (is_adapted_ && picture_ == picture) return;
    give(rules_, picture);
    picture_ = picture;
    is_adapted_ = true;
  }

  // Gives rules to the detector. If the size of the picture is unknown, points are pixels of it.
  void give(const events::Rules& rules, Size picture) {
    expects(picture.area() > 0 || !rules.fractions,
            "rules in fractions require the size of the picture: pass shape or labels");
    detector_.set_rules(picture.area() > 0 ? events::rules_for(rules, picture) : rules);
    counts_.forget_rules();
  }

  void set_objects(const Places& boxes, const Places& centers, const Ids& ids,
                   const std::optional<Ids>& tracks) {
    objects_.clear();
    for (size_t i = 0; i < boxes.shape(0); ++i) {
      events::Object& object = objects_.emplace_back();
      object.track = tracks ? tracks->data()[i] : 0;
      object.id = static_cast<uint32_t>(ids.data()[i]);
      const double* box = boxes.data() + i * 4;
      object.box = {box[0], box[1], box[2], box[3]};
      object.centroid = {centers.data()[i * 2], centers.data()[i * 2 + 1]};
    }
  }

  void count(ConstLabelMap labels) {
    uint32_t last = 0;
    for (const events::Object& object : objects_) last = std::max(last, object.id);
    std::vector<double> pixels_of(std::min<size_t>(last, static_cast<size_t>(labels.width) *
                                                             static_cast<size_t>(labels.height)) +
                                  1);
    for (int y = 0; y < labels.height; ++y) {
      for (int x = 0; x < labels.width; ++x) {
        if (labels.row(y)[x] < pixels_of.size()) ++pixels_of[labels.row(y)[x]];
      }
    }
    std::vector<double> pixels;
    for (const events::Object& object : objects_)
      pixels.push_back(object.id < pixels_of.size() ? pixels_of[object.id] : 0);
    counts_.count_labels(detector_.rules(), labels, objects_, pixels);
  }

  std::mutex mutex_;         // guards all members
  events::Rules rules_;      // in the units of the JSON text
  bool is_adapted_ = false;  // the detector has the rules in pixels of picture_
  Size picture_;             // empty if unknown
  EventDetector detector_;
  events::PixelCounts counts_;
  std::vector<events::Object> objects_;
};

}  // namespace

void bind_events(nb::module_& module) {
  nb::class_<Zones>(module, "Zones")
      .def(nb::init<const std::string&>())
      .def("set_rules", &Zones::set_rules)
      .def("drawn_size", &Zones::drawn_size)
      .def("required", &Zones::required)
      .def("states", &Zones::states)
      .def("visits", &Zones::visits)
      .def("reset", &Zones::reset)
      .def("update", &Zones::update, nb::arg("time"), nb::arg("width"), nb::arg("height"),
           nb::arg("boxes"), nb::arg("centers"), nb::arg("ids"), nb::arg("tracks").none(),
           nb::arg("labels").none(), nb::arg("scene_change"));
}

}  // namespace regions::python
