// Structures that describe regions.
#include "plugin/metadata/region_structure.hpp"

#include <algorithm>
#include <iterator>

#include "plugin/metadata/structure_maker.hpp"

namespace regions {
namespace {

// What is known of one region.
struct Known {
  const Region& region;
  MeanColor mean;
  GstClockTime first_seen;
  MeanLab lab;
  Covariance spread;
};

using Maker = StructureMaker<Known>;

const Maker& region_maker(const Findings& findings) {
  using K = const Known&;
  static const auto plain =
      fields_of<Known>(StructureField("id", [](K k) { return k.region.id; }),
                       StructureField("track", [](K k) { return k.region.track; }),
                       StructureField("x", [](K k) { return k.region.left; }),
                       StructureField("y", [](K k) { return k.region.top; }),
                       StructureField("width", [](K k) { return k.region.width(); }),
                       StructureField("height", [](K k) { return k.region.height(); }),
                       StructureField("area", [](K k) { return k.region.area; }),
                       StructureField("cx", [](K k) { return k.region.centroid_x(); }),
                       StructureField("cy", [](K k) { return k.region.centroid_y(); }),
                       StructureField("first-x", [](K k) { return k.region.first_x; }),
                       StructureField("first-y", [](K k) { return k.region.first_y; }),
                       StructureField("red", [](K k) { return k.mean.red; }),
                       StructureField("green", [](K k) { return k.mean.green; }),
                       StructureField("blue", [](K k) { return k.mean.blue; }));
  static const auto of_volumes =
      fields_of<Known>(StructureField("z", [](K k) { return k.region.front; }),
                       StructureField("depth", [](K k) { return k.region.depth(); }),
                       StructureField("cz", [](K k) { return k.region.centroid_z(); }),
                       StructureField("first-z", [](K k) { return k.region.first_z; }),
                       StructureField("layer", [](K k) { return k.region.layer; }));
  static const auto of_lab = fields_of<Known>(StructureField("lab-l", [](K k) { return k.lab.l; }),
                                              StructureField("lab-a", [](K k) { return k.lab.a; }),
                                              StructureField("lab-b", [](K k) { return k.lab.b; }));
  static const auto of_spread =
      fields_of<Known>(StructureField("cov-xx", [](K k) { return k.spread.xx; }),
                       StructureField("cov-xy", [](K k) { return k.spread.xy; }),
                       StructureField("cov-yy", [](K k) { return k.spread.yy; }));
  static const auto of_tracks =
      fields_of<Known>(StructureField("first-seen", [](K k) { return uint64_t{k.first_seen}; }));
  static const FieldGroup<Known>* const optional[] = {&of_volumes, &of_tracks, &of_lab, &of_spread};
  static const std::vector<Maker> makers = [] {  // [bits of the optional groups]
    std::vector<Maker> all;
    for (size_t bits = 0; bits < size_t{1} << std::size(optional); ++bits) {
      Maker::Groups groups = {plain};
      for (size_t i = 0; i < std::size(optional); ++i) {
        if (bits >> i & 1) groups.push_back(*optional[i]);
      }
      all.emplace_back(kRegionName, groups);
    }
    return all;
  }();
  const bool wanted[] = {findings.is_stacked(), !findings.first_seen.empty(),
                         !findings.moments.empty(),
                         !findings.moments.empty() && findings.details.covariance};
  size_t bits = 0;
  for (size_t i = 0; i < std::size(wanted); ++i) bits |= size_t{wanted[i]} << i;
  return makers[bits];
}

Known known_of(const Findings& findings, const MeanColors& means, size_t i) {
  const Region& region = findings.regions[i];
  Known known = {region, means.of(region), 0, {}, {}};
  if (!findings.first_seen.empty()) known.first_seen = findings.first_seen[i];
  if (findings.moments.empty()) return known;
  known.lab = mean_lab(region, findings.moments[i]);
  if (findings.details.covariance) known.spread = covariance(region, findings.moments[i]);
  return known;
}

}  // namespace

TableForm table_form(const Findings& findings) {
  const Maker& maker = region_maker(findings);
  return {maker.columns(), maker.row_bytes()};
}

void write_structures(const Findings& findings, const Workers& workers,
                      std::span<StructurePtr> structures, std::byte* table,
                      const std::function<void()>& meanwhile) {
  constexpr size_t kShare = 32;  // regions a thread takes at a time: about 4 us
  const Maker& maker = region_maker(findings);
  const MeanColors means(findings.layout, findings.color);
  const auto shares = static_cast<int>((structures.size() + kShare - 1) / kShare);
  const auto do_share = [&](int turn) {
    if (turn == 0) return meanwhile();
    const size_t first = static_cast<size_t>(turn - 1) * kShare;
    for (size_t i = first; i < std::min(first + kShare, structures.size()); ++i) {
      maker.write(structures[i], known_of(findings, means, i), table + i * maker.row_bytes());
    }
  };
  if (shares > 1) return workers.parallel_for(1 + shares, do_share);
  for (int turn = 0; turn <= shares; ++turn) do_share(turn);  // sooner done than a thread woken
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
