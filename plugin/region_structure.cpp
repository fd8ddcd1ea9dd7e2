// Structures that describe regions.
#include "plugin/region_structure.hpp"

#include <algorithm>

namespace regions {
namespace {

// What a structure says of a region, by the name it says it under. Values keep their field's type.
struct FieldOfRegion {
  const char* name;
  GType type;
  void (*write)(GValue* value, const Region& region, const MeanColor& mean);
};

// Building thousands of structures a frame field by field looks every name up again and again: each
// is a copy of one example instead, whose values are then set in order.
class StructureMaker {
 public:
  StructureMaker(const char* name, std::span<const FieldOfRegion> fields)
      : fields_(fields), example_(gst_structure_new_empty(name)) {
    for (const FieldOfRegion& field : fields) {
      GValue value = G_VALUE_INIT;
      g_value_init(&value, field.type);
      gst_structure_take_value(example_, field.name, &value);
    }
  }
  ~StructureMaker() { gst_structure_free(example_); }
  StructureMaker(const StructureMaker&) = delete;
  StructureMaker& operator=(const StructureMaker&) = delete;

  GstStructure* make(const Region& region, const MeanColor& mean) const {
    struct Pass {
      const FieldOfRegion* next;
      const Region& region;
      const MeanColor& mean;
    } pass = {fields_.data(), region, mean};
    GstStructure* structure = gst_structure_copy(example_);
    gst_structure_map_in_place(
        structure,
        [](GQuark, GValue* value, gpointer data) -> gboolean {
          auto& p = *static_cast<Pass*>(data);
          (p.next++)->write(value, p.region, p.mean);
          return TRUE;
        },
        &pass);
    return structure;
  }

 private:
  const std::span<const FieldOfRegion> fields_;
  GstStructure* const example_;
};

const StructureMaker& region_maker(bool is_stacked) {
  using R = const Region&;
  using M = const MeanColor&;
  static const FieldOfRegion fields[] = {
      {"id", G_TYPE_UINT, [](GValue* v, R r, M) { g_value_set_uint(v, r.id); }},
      {"track", G_TYPE_UINT, [](GValue* v, R r, M) { g_value_set_uint(v, r.track); }},
      {"x", G_TYPE_INT, [](GValue* v, R r, M) { g_value_set_int(v, r.left); }},
      {"y", G_TYPE_INT, [](GValue* v, R r, M) { g_value_set_int(v, r.top); }},
      {"width", G_TYPE_INT, [](GValue* v, R r, M) { g_value_set_int(v, r.width()); }},
      {"height", G_TYPE_INT, [](GValue* v, R r, M) { g_value_set_int(v, r.height()); }},
      {"area", G_TYPE_UINT64, [](GValue* v, R r, M) { g_value_set_uint64(v, r.area); }},
      {"cx", G_TYPE_DOUBLE, [](GValue* v, R r, M) { g_value_set_double(v, r.centroid_x()); }},
      {"cy", G_TYPE_DOUBLE, [](GValue* v, R r, M) { g_value_set_double(v, r.centroid_y()); }},
      {"first-x", G_TYPE_INT, [](GValue* v, R r, M) { g_value_set_int(v, r.first_x); }},
      {"first-y", G_TYPE_INT, [](GValue* v, R r, M) { g_value_set_int(v, r.first_y); }},
      {"red", G_TYPE_DOUBLE, [](GValue* v, R, M mean) { g_value_set_double(v, mean.red); }},
      {"green", G_TYPE_DOUBLE, [](GValue* v, R, M mean) { g_value_set_double(v, mean.green); }},
      {"blue", G_TYPE_DOUBLE, [](GValue* v, R, M mean) { g_value_set_double(v, mean.blue); }}};
  static const FieldOfRegion more[] = {
      {"z", G_TYPE_INT, [](GValue* v, R r, M) { g_value_set_int(v, r.front); }},
      {"depth", G_TYPE_INT, [](GValue* v, R r, M) { g_value_set_int(v, r.depth()); }},
      {"cz", G_TYPE_DOUBLE, [](GValue* v, R r, M) { g_value_set_double(v, r.centroid_z()); }},
      {"first-z", G_TYPE_INT, [](GValue* v, R r, M) { g_value_set_int(v, r.first_z); }},
      {"layer", G_TYPE_UINT, [](GValue* v, R r, M) { g_value_set_uint(v, r.layer); }}};
  static const std::vector<FieldOfRegion> all = [] {
    std::vector<FieldOfRegion> joined(std::begin(fields), std::end(fields));
    joined.insert(joined.end(), std::begin(more), std::end(more));
    return joined;
  }();
  static const StructureMaker flat(kRegionName, fields), stacked(kRegionName, all);
  return is_stacked ? stacked : flat;
}

}  // namespace

std::vector<GstStructure*> make_structures(const Findings& findings, const Workers& workers,
                                           const std::function<void()>& meanwhile) {
  constexpr size_t kShare = 8;  // regions a thread takes at a time: about 4 us
  const std::span<const Region> regions = findings.regions;
  const StructureMaker& maker = region_maker(findings.is_stacked());
  std::vector<GstStructure*> made(regions.size());
  const auto shares = static_cast<int>((regions.size() + kShare - 1) / kShare);
  workers.parallel_for(1 + shares, [&](int turn) {
    if (turn == 0) return meanwhile();
    const size_t first = static_cast<size_t>(turn - 1) * kShare;
    for (size_t i = first; i < std::min(first + kShare, regions.size()); ++i) {
      made[i] = maker.make(regions[i], mean_color(regions[i], findings.layout, findings.color));
    }
  });
  return made;
}

void add_fact(GstStructure* structure, const Fact& fact) {
  GValue value = G_VALUE_INIT;
  if (const auto* flag = std::get_if<bool>(&fact.value)) {
    g_value_init(&value, G_TYPE_BOOLEAN);
    g_value_set_boolean(&value, *flag);
  } else if (const auto* whole = std::get_if<int64_t>(&fact.value)) {
    g_value_init(&value, G_TYPE_INT64);
    g_value_set_int64(&value, *whole);
  } else if (const auto* real = std::get_if<double>(&fact.value)) {
    g_value_init(&value, G_TYPE_DOUBLE);
    g_value_set_double(&value, *real);
  } else if (const auto* text = std::get_if<std::string>(&fact.value)) {
    g_value_init(&value, G_TYPE_STRING);
    g_value_set_string(&value, text->c_str());
  } else {
    g_value_init(&value, GST_TYPE_ARRAY);
    for (const double number : std::get<std::vector<double>>(fact.value)) {
      GValue item = G_VALUE_INIT;
      g_value_init(&item, G_TYPE_DOUBLE);
      g_value_set_double(&item, number);
      gst_value_array_append_and_take_value(&value, &item);
    }
  }
  gst_structure_take_value(structure, fact.name, &value);
}

}  // namespace regions
