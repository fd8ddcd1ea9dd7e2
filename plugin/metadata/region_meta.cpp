// Writing and reading the `regions` metadata.
#include "plugin/metadata/region_meta.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "plugin/metadata/analytics_library.hpp"
#include "plugin/metadata/analytics_meta.hpp"
#include "plugin/metadata/region_structure.hpp"
#include "plugin/metadata/region_transform.hpp"
#include "plugin/metadata/standard_metas.hpp"

namespace regions {
namespace {

int int_of(const GstStructure* s, const char* name) {
  gint value = 0;
  expects(gst_structure_get_int(s, name, &value),
          std::string("regions metadata lacks the number '") + name + "'");
  return value;
}

// A coordinate of a picture `from` pixels long in one of `to` pixels. Coordinates far outside of
// any picture are clamped, so that their sums and differences do not overflow.
int scaled(int64_t value, int from, int to) {
  constexpr int64_t kFar = 1 << 20;
  return static_cast<int>(std::clamp(value * to / from, -kFar, kFar));
}

// A region's box as the metadata gives it.
struct Box {
  int64_t x, y, width, height;
};

void place(Region& region, const Box& box, Size from, Size to) {
  region.left = scaled(box.x, from.width, to.width);
  region.top = scaled(box.y, from.height, to.height);
  region.right = scaled(box.x + box.width, from.width, to.width) - 1;
  region.bottom = scaled(box.y + box.height, from.height, to.height) - 1;
  region.right = std::max(region.right, region.left);
  region.bottom = std::max(region.bottom, region.top);
}

Region region_of(const GstStructure* s, Size from, Size to) {
  Region region;
  guint id = 0, track = 0;
  expects(gst_structure_get_uint(s, "id", &id), "a region in the metadata lacks 'id'");
  region.id = id;
  region.track = gst_structure_get_uint(s, "track", &track) ? track : id;
  place(region, {int_of(s, "x"), int_of(s, "y"), int_of(s, "width"), int_of(s, "height")}, from,
        to);
  guint64 area = 0;
  if (gst_structure_get_uint64(s, "area", &area)) region.area = area;
  return region;
}

// Reads the structures of an array.
void read_structures(const GValue* array, Size from, Size to, Attached& attached) {
  const guint count = gst_value_array_get_size(array);
  attached.regions.reserve(count);
  for (guint i = 0; i < count; ++i) {
    const GValue* item = gst_value_array_get_value(array, i);
    expects(GST_VALUE_HOLDS_STRUCTURE(item), "regions metadata holds a value that is not a region");
    const GstStructure* region = gst_value_get_structure(item);
    attached.regions.push_back(region_of(region, from, to));
    guint64 first_seen = 0;
    if (gst_structure_get_uint64(region, "first-seen", &first_seen)) {
      attached.first_seen.resize(i, GST_CLOCK_TIME_NONE);
      attached.first_seen.push_back(first_seen);
    }
  }
  if (!attached.first_seen.empty()) attached.first_seen.resize(count, GST_CLOCK_TIME_NONE);
}

// Whether the array holds exactly the structures on loan, so that it agrees with the loan's table:
// a structure within a value cannot be changed, only replaced.
bool is_table(const GValue* array, const StructureLoan& loan) {
  const guint count = gst_value_array_get_size(array);
  if (count != loan.table.size()) return false;
  for (guint i = 0; i < count; ++i) {
    const GValue* item = gst_value_array_get_value(array, i);
    if (!GST_VALUE_HOLDS_STRUCTURE(item)) return false;
    if (gst_value_get_structure(item) != loan.regions[i].get()) return false;
  }
  return true;
}

void read_table(const StructureLoan& loan, Size from, Size to, Attached& attached) {
  attached.regions = loan.table;
  for (Region& region : attached.regions) {
    place(region, {region.left, region.top, region.width(), region.height()}, from, to);
  }
}

// The array refers to the structures, which must outlive it; a copy of the array copies them.
GValue array_of(std::span<const StructurePtr> structures) {
  GValue array = G_VALUE_INIT, reference = G_VALUE_INIT;
  gst_value_array_init(&array, static_cast<guint>(structures.size()));
  g_value_init(&reference, GST_TYPE_STRUCTURE);
  if (!structures.empty()) g_value_set_static_boxed(&reference, structures.front().get());
  for (const StructurePtr& structure : structures) {
    GValue item = reference;  // except for the pointer
    item.data[0].v_pointer = structure.get();
    gst_value_array_append_and_take_value(&array, &item);
  }
  return array;
}

// A structure for each of many numbers would cost more than finding them.
static_assert(sizeof(Border) == 3 * sizeof(uint32_t) && sizeof(PixelRun) == 4 * sizeof(uint32_t));

void add_bytes(GstStructure* s, const char* name, std::span<const std::byte> bytes,
               StructurePool& pool) {
  const auto [buffer, memory] = pool.lend_table(bytes.size());
  std::copy(bytes.begin(), bytes.end(), memory.begin());
  gst_structure_set(s, name, GST_TYPE_BUFFER, buffer.get(), nullptr);
}

}  // namespace

// The tags of region-of-interest metas, so that elements treat both alike.
void register_region_meta() {
  AnalyticsLibrary::find();  // opened before the first frame
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_ORIENTATION_STR,
                                GST_META_TAG_VIDEO_SIZE_STR, nullptr};
  if (!gst_meta_get_info(kRegionMeta)) {
    gst_meta_register_custom(kRegionMeta, tags, transform_region_meta, nullptr, nullptr);
  }
}

const GstStructure* attach(GstBuffer* buffer, const Findings& findings, const Workers& workers,
                           StructurePool& pool) {
  if (GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kRegionMeta)) {
    gst_buffer_remove_meta(buffer, &meta->meta);
  }
  remove_standard_metas(buffer);
  StructureLoan& loan = pool.lend(buffer, findings.regions.size());
  const std::span<StructurePtr> structures(loan.regions.data(), findings.regions.size());
  loan.table.assign(findings.regions.begin(), findings.regions.end());
  const TableForm form = table_form(findings);
  const auto [table, rows] = pool.lend_table(form.row_bytes * structures.size());
  write_structures(findings, workers, structures, rows.data(), [&] {
    Summary summary = summary_of(findings.size, findings.regions, findings.first_seen);
    if (findings.layers == 1) summary.labels = findings.labels;
    summary.labels_format = findings.labels_format;
    summary.labels_size = findings.size;
    attach_standard_metas(buffer, summary, loan.parameters);
  });
  // Added after the standard metas, so that it is transformed after them.
  GstStructure* s = gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, kRegionMeta));
  gst_structure_set(s, "algorithm", G_TYPE_STRING, findings.algorithm, "width", G_TYPE_INT,
                    findings.size.width, "height", G_TYPE_INT, findings.size.height,
                    "regions-total", G_TYPE_UINT, findings.total, nullptr);
  GValue array = array_of(structures);
  gst_structure_take_value(s, "regions", &array);
  if (!rows.empty()) {
    gst_structure_set(s, "table", GST_TYPE_BUFFER, table.get(), "table-columns", G_TYPE_STRING,
                      form.columns.c_str(), nullptr);
  }
  if (findings.slices > 0) {
    gst_structure_set(s, "slice", G_TYPE_INT, findings.slice, "slices", G_TYPE_INT, findings.slices,
                      nullptr);
  }
  if (findings.layers > 1) gst_structure_set(s, "layers", G_TYPE_INT, findings.layers, nullptr);
  if (findings.details.borders) add_bytes(s, "adjacency", std::as_bytes(findings.borders), pool);
  if (findings.details.runs > 0) {
    add_bytes(s, "runs", std::as_bytes(findings.runs), pool);
    gst_structure_set(s, "runs-truncated", G_TYPE_BOOLEAN, findings.runs_truncated, nullptr);
  }
  for (const Fact& fact : findings.facts) add_fact(s, fact);
  if (findings.labels) {
    gst_structure_set(s, "labels", GST_TYPE_BUFFER, findings.labels, "labels-format", G_TYPE_STRING,
                      name_of(findings.labels_format).data(), nullptr);
  }
  return s;
}

bool has_labels(GstBuffer* buffer) {
  GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kRegionMeta);
  return meta && gst_structure_has_field(gst_custom_meta_get_structure(meta), "labels");
}

void release_labels(GstBuffer* buffer) {
  GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kRegionMeta);
  if (!meta) return;
  gst_structure_remove_fields(gst_custom_meta_get_structure(meta), "labels", "labels-format",
                              "labels-width", "labels-height", nullptr);
  remove_segmentation(buffer);
}

void renew_standard_metas(GstBuffer* buffer) {
  const GstStructure* s =
      gst_custom_meta_get_structure(gst_buffer_get_custom_meta(buffer, kRegionMeta));
  const Size size = {int_of(s, "width"), int_of(s, "height")};
  Attached attached;
  read(buffer, size, attached);
  remove_standard_metas(buffer);
  Summary summary = summary_of(size, attached.regions, attached.first_seen);
  if (!gst_structure_has_field(s, "layers")) summary.labels = attached.labels;
  summary.labels_format = attached.labels_format;
  summary.labels_size = attached.labels_size;
  std::vector<ParametersPtr> none;
  attach_standard_metas(buffer, summary, none);
}

const GValue* region_array(const GstStructure* structure) {
  const GValue* array = gst_structure_get_value(structure, "regions");
  expects(array && GST_VALUE_HOLDS_ARRAY(array), "regions metadata lacks the array 'regions'");
  return array;
}

bool read(GstBuffer* buffer, Size size, Attached& attached) {
  attached.regions.clear();
  attached.first_seen.clear();
  attached.labels = nullptr;
  GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kRegionMeta);
  if (!meta) return false;
  const GstStructure* structure = gst_custom_meta_get_structure(meta);
  const Size from = {int_of(structure, "width"), int_of(structure, "height")};
  expects(from.width > 0 && from.height > 0, "regions metadata has no size");
  expects(from == size || !gst_buffer_get_video_crop_meta(buffer), [&] {
    return "regions metadata is for " + std::to_string(from.width) + "x" +
           std::to_string(from.height) + " pixels, but a GstVideoCropMeta shows " +
           std::to_string(size.width) + "x" + std::to_string(size.height) +
           " of them; read the regions upstream of the element that crops";
  });

  const GValue* array = region_array(structure);
  const StructureLoan* loan = StructurePool::loan_of(buffer);
  if (loan && is_table(array, *loan)) {
    read_table(*loan, from, size, attached);
  } else {
    read_structures(array, from, size, attached);
  }
  const GValue* labels = gst_structure_get_value(structure, "labels");
  if (labels && G_VALUE_HOLDS(labels, GST_TYPE_BUFFER)) {
    attached.labels = gst_value_get_buffer(labels);
    const gchar* format = gst_structure_get_string(structure, "labels-format");
    attached.labels_format = format_named(format ? format : "U32_LE");
    attached.labels_size = from;
    gst_structure_get_int(structure, "labels-width", &attached.labels_size.width);
    gst_structure_get_int(structure, "labels-height", &attached.labels_size.height);
    expects(attached.labels_size.width > 0 && attached.labels_size.height > 0,
            "the attached label map has no size");
  }
  return true;
}

}  // namespace regions
