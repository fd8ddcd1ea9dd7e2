// Structures that describe regions.
#include "plugin/region_structure.hpp"

#include <algorithm>
#include <iterator>

#include "core/error.hpp"
#include "plugin/structure_maker.hpp"

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
using Fields = Maker::Fields;

void put(GValue* value, double number) { g_value_set_double(value, number); }

const Maker& region_maker(const Findings& findings) {
  using K = const Known&;
  constexpr GType kReal = G_TYPE_DOUBLE;
  static const Fields plain = {
      {"id", G_TYPE_UINT, [](GValue* v, K k) { g_value_set_uint(v, k.region.id); }},
      {"track", G_TYPE_UINT, [](GValue* v, K k) { g_value_set_uint(v, k.region.track); }},
      {"x", G_TYPE_INT, [](GValue* v, K k) { g_value_set_int(v, k.region.left); }},
      {"y", G_TYPE_INT, [](GValue* v, K k) { g_value_set_int(v, k.region.top); }},
      {"width", G_TYPE_INT, [](GValue* v, K k) { g_value_set_int(v, k.region.width()); }},
      {"height", G_TYPE_INT, [](GValue* v, K k) { g_value_set_int(v, k.region.height()); }},
      {"area", G_TYPE_UINT64, [](GValue* v, K k) { g_value_set_uint64(v, k.region.area); }},
      {"cx", kReal, [](GValue* v, K k) { put(v, k.region.centroid_x()); }},
      {"cy", kReal, [](GValue* v, K k) { put(v, k.region.centroid_y()); }},
      {"first-x", G_TYPE_INT, [](GValue* v, K k) { g_value_set_int(v, k.region.first_x); }},
      {"first-y", G_TYPE_INT, [](GValue* v, K k) { g_value_set_int(v, k.region.first_y); }},
      {"red", kReal, [](GValue* v, K k) { put(v, k.mean.red); }},
      {"green", kReal, [](GValue* v, K k) { put(v, k.mean.green); }},
      {"blue", kReal, [](GValue* v, K k) { put(v, k.mean.blue); }}};
  static const Fields of_volumes = {
      {"z", G_TYPE_INT, [](GValue* v, K k) { g_value_set_int(v, k.region.front); }},
      {"depth", G_TYPE_INT, [](GValue* v, K k) { g_value_set_int(v, k.region.depth()); }},
      {"cz", kReal, [](GValue* v, K k) { put(v, k.region.centroid_z()); }},
      {"first-z", G_TYPE_INT, [](GValue* v, K k) { g_value_set_int(v, k.region.first_z); }},
      {"layer", G_TYPE_UINT, [](GValue* v, K k) { g_value_set_uint(v, k.region.layer); }}};
  static const Fields of_lab = {{"lab-l", kReal, [](GValue* v, K k) { put(v, k.lab.l); }},
                                {"lab-a", kReal, [](GValue* v, K k) { put(v, k.lab.a); }},
                                {"lab-b", kReal, [](GValue* v, K k) { put(v, k.lab.b); }}};
  static const Fields of_spread = {{"cov-xx", kReal, [](GValue* v, K k) { put(v, k.spread.xx); }},
                                   {"cov-xy", kReal, [](GValue* v, K k) { put(v, k.spread.xy); }},
                                   {"cov-yy", kReal, [](GValue* v, K k) { put(v, k.spread.yy); }}};
  static const Fields of_tracks = {
      {"first-seen", G_TYPE_UINT64, [](GValue* v, K k) { g_value_set_uint64(v, k.first_seen); }}};
  static const Fields* const optional[] = {&of_volumes, &of_tracks, &of_lab, &of_spread};
  static const std::vector<Maker> makers = [] {  // [bits of the optional groups]
    std::vector<Maker> all;
    for (size_t bits = 0; bits < size_t{1} << std::size(optional); ++bits) {
      std::vector<Fields> groups = {plain};
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

Known known_of(const Findings& findings, size_t i) {
  const Region& region = findings.regions[i];
  Known known = {region, mean_color(region, findings.layout, findings.color), 0, {}, {}};
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
  const auto shares = static_cast<int>((structures.size() + kShare - 1) / kShare);
  const auto do_share = [&](int turn) {
    if (turn == 0) return meanwhile();
    const size_t first = static_cast<size_t>(turn - 1) * kShare;
    for (size_t i = first; i < std::min(first + kShare, structures.size()); ++i) {
      maker.write(structures[i], known_of(findings, i), table + i * maker.row_bytes());
    }
  };
  if (shares > 1) return workers.parallel_for(1 + shares, do_share);
  for (int turn = 0; turn <= shares; ++turn) do_share(turn);  // sooner done than a thread woken
}

static_assert(sizeof(Border) == 3 * sizeof(uint32_t) && sizeof(PixelRun) == 4 * sizeof(uint32_t));

void add_bytes(GstStructure* structure, const char* name, std::span<const std::byte> bytes) {
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, bytes.size(), nullptr);
  expects(buffer, std::string("no memory for the metadata's ") + name);
  gst_buffer_fill(buffer, 0, bytes.data(), bytes.size());
  gst_structure_set(structure, name, GST_TYPE_BUFFER, buffer, nullptr);
  gst_buffer_unref(buffer);
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
