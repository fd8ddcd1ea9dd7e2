// Attaches the `regions` metadata to buffers, and reads it from buffers.
#include "plugin/metadata/region_meta.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "plugin/metadata/standard_metas.hpp"

namespace regions {
namespace {

// Returns an int field of the metadata. Throws InputError if it is missing.
int int_of(const GstStructure* structure, const char* name) {
  gint value = 0;
  expects(gst_structure_get_int(structure, name, &value),
          std::string("regions metadata lacks the number '") + name + "'");
  return value;
}

// Scales a coordinate from a picture side of `from` pixels to a side of `to` pixels. Clamps
// coordinates far outside of any picture, so that their sums and differences do not overflow.
int scale_coordinate(int64_t value, int from, int to) {
  constexpr int64_t kMaxCoordinate = 1 << 20;
  return static_cast<int>(std::clamp(value * to / from, -kMaxCoordinate, kMaxCoordinate));
}

// A region's box in the coordinates of the metadata.
struct Box {
  int64_t x, y, width, height;
};

void set_box(Region& region, const Box& box, Size from, Size to) {
  region.left = scale_coordinate(box.x, from.width, to.width);
  region.top = scale_coordinate(box.y, from.height, to.height);
  region.right = scale_coordinate(box.x + box.width, from.width, to.width) - 1;
  region.bottom = scale_coordinate(box.y + box.height, from.height, to.height) - 1;
  region.right = std::max(region.right, region.left);
  region.bottom = std::max(region.bottom, region.top);
}

// Returns the sum of coordinates whose mean over `area` pixels is `mean`, rounded.
uint64_t sum_of(double mean, uint64_t area) {
  constexpr double kMaxSum = 1e18;
  const double sum = mean * static_cast<double>(area);
  return sum > 0 && sum < kMaxSum ? static_cast<uint64_t>(std::llround(sum)) : 0;
}

Region region_of(const GstStructure* structure, Size from, Size to) {
  Region region;
  guint id = 0, track = 0;
  expects(gst_structure_get_uint(structure, "id", &id), "a region in the metadata lacks 'id'");
  region.id = id;
  region.track = gst_structure_get_uint(structure, "track", &track) ? track : id;
  set_box(region,
          {int_of(structure, "x"), int_of(structure, "y"), int_of(structure, "width"),
           int_of(structure, "height")},
          from, to);
  guint64 area = 0;
  if (gst_structure_get_uint64(structure, "area", &area)) region.area = area;
  gdouble x = 0, y = 0;
  if (gst_structure_get_double(structure, "cx", &x) &&
      gst_structure_get_double(structure, "cy", &y)) {
    region.sum_x = sum_of(x, region.area);
    region.sum_y = sum_of(y, region.area);
  }
  return region;
}

// Reads the regions from an array of structures, and scales their boxes from one picture size to
// another.
void read_structures(const GValue* array, Size from, Size to, AttachedRegions& attached) {
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

// Whether the array still refers to the pooled structures. If it does, the pooled table has the
// same values as the structures, because a structure inside of a GValue can be replaced but not
// changed.
bool has_pooled_structures(const GValue* array, const PooledStructures& pooled) {
  const guint count = gst_value_array_get_size(array);
  if (count != pooled.table.size()) return false;
  for (guint i = 0; i < count; ++i) {
    const GValue* item = gst_value_array_get_value(array, i);
    if (!GST_VALUE_HOLDS_STRUCTURE(item)) return false;
    if (gst_value_get_structure(item) != pooled.regions[i].get()) return false;
  }
  return true;
}

// Reads the regions from the table of pooled structures, which is faster than reading the
// structures.
void read_table(const PooledStructures& pooled, Size from, Size to, AttachedRegions& attached) {
  attached.regions = pooled.table;
  for (Region& region : attached.regions) {
    set_box(region, {region.left, region.top, region.width(), region.height()}, from, to);
  }
}

// Returns an array that refers to the structures, which must outlive it. If GStreamer copies the
// array, it also copies the structures.
GValue array_of(std::span<const StructurePtr> structures) {
  GValue array = G_VALUE_INIT, first_item = G_VALUE_INIT;
  gst_value_array_init(&array, static_cast<guint>(structures.size()));
  g_value_init(&first_item, GST_TYPE_STRUCTURE);
  if (!structures.empty()) g_value_set_static_boxed(&first_item, structures.front().get());
  for (const StructurePtr& structure : structures) {
    GValue item = first_item;  // copies the type and flags
    item.data[0].v_pointer = structure.get();
    gst_value_array_append_and_take_value(&array, &item);
  }
  return array;
}

// Borders and runs are attached as bytes. Creating one structure for each would take longer than
// finding them.
static_assert(sizeof(Border) == 3 * sizeof(uint32_t) && sizeof(PixelRun) == 4 * sizeof(uint32_t));

void add_bytes(GstStructure* structure, const char* name, std::span<const std::byte> bytes,
               StructurePool& pool) {
  const auto [buffer, memory] = pool.acquire_table(bytes.size());
  std::copy(bytes.begin(), bytes.end(), memory.begin());
  gst_structure_set(structure, name, GST_TYPE_BUFFER, buffer.get(), nullptr);
}

}  // namespace

// The meta has the same tags as regions of interest, so that other elements copy both metas in the
// same cases.
void register_region_meta() {
  AnalyticsLibrary::find();  // loads the library before the first frame
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_ORIENTATION_STR,
                                GST_META_TAG_VIDEO_SIZE_STR, nullptr};
  if (!gst_meta_get_info(kRegionMeta)) {
    gst_meta_register_custom(kRegionMeta, tags, transform_region_meta, nullptr, nullptr);
  }
}

const GstStructure* attach_regions(GstBuffer* buffer, const FrameResults& results,
                                   const Workers& workers, StructurePool& pool) {
  std::string scene_change = results.scene_change;
  if (GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kRegionMeta)) {
    const gchar* text =
        gst_structure_get_string(gst_custom_meta_get_structure(meta), kSceneChangeField);
    if (text && scene_change.empty()) scene_change = text;
    gst_buffer_remove_meta(buffer, &meta->meta);
  }
  remove_standard_metas(buffer);
  PooledStructures& pooled = pool.attach_to(buffer, results.regions.size());
  const std::span<StructurePtr> structures(pooled.regions.data(), results.regions.size());
  pooled.table.assign(results.regions.begin(), results.regions.end());
  const TableFormat format = table_format(results);
  const auto [table, rows] = pool.acquire_table(format.row_bytes * structures.size());
  write_structures(results, workers, structures, rows.data(), [&] {
    LargestRegions largest = largest_regions(results.size, results.regions, results.first_seen);
    if (results.layers == 1) largest.labels = results.labels;
    largest.labels_format = results.labels_format;
    largest.labels_size = results.size;
    attach_standard_metas(buffer, largest, pooled.parameters);
  });
  // This meta is added after the standard metas, because it must be transformed after them.
  GstStructure* structure =
      gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, kRegionMeta));
  gst_structure_set(structure, "algorithm", G_TYPE_STRING, results.algorithm, "width", G_TYPE_INT,
                    results.size.width, "height", G_TYPE_INT, results.size.height, "regions-total",
                    G_TYPE_UINT, results.total, nullptr);
  GValue array = array_of(structures);
  gst_structure_take_value(structure, "regions", &array);
  if (!rows.empty()) {
    gst_structure_set(structure, "table", GST_TYPE_BUFFER, table.get(), "table-columns",
                      G_TYPE_STRING, format.columns.c_str(), nullptr);
  }
  if (results.slices > 0) {
    gst_structure_set(structure, "slice", G_TYPE_INT, results.slice, "slices", G_TYPE_INT,
                      results.slices, nullptr);
  }
  if (results.layers > 1)
    gst_structure_set(structure, "layers", G_TYPE_INT, results.layers, nullptr);
  if (results.details.borders)
    add_bytes(structure, "adjacency", std::as_bytes(results.borders), pool);
  if (results.details.runs > 0) {
    add_bytes(structure, "runs", std::as_bytes(results.runs), pool);
    gst_structure_set(structure, "runs-truncated", G_TYPE_BOOLEAN, results.runs_truncated, nullptr);
  }
  if (!scene_change.empty()) add_fact(structure, {kSceneChangeField, scene_change});
  for (const Fact& fact : results.facts) add_fact(structure, fact);
  if (results.labels) {
    gst_structure_set(structure, "labels", GST_TYPE_BUFFER, results.labels, "labels-format",
                      G_TYPE_STRING, name_of(results.labels_format).data(), nullptr);
  }
  return structure;
}

bool has_labels(GstBuffer* buffer) {
  GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kRegionMeta);
  return meta && gst_structure_has_field(gst_custom_meta_get_structure(meta), "labels");
}

void remove_labels(GstBuffer* buffer) {
  GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kRegionMeta);
  if (!meta) return;
  gst_structure_remove_fields(gst_custom_meta_get_structure(meta), "labels", "labels-format",
                              "labels-width", "labels-height", nullptr);
  remove_segmentation(buffer);
}

void replace_standard_metas(GstBuffer* buffer) {
  const GstStructure* structure =
      gst_custom_meta_get_structure(gst_buffer_get_custom_meta(buffer, kRegionMeta));
  const Size size = {int_of(structure, "width"), int_of(structure, "height")};
  AttachedRegions attached;
  read_regions(buffer, size, attached);
  remove_standard_metas(buffer);
  LargestRegions largest = largest_regions(size, attached.regions, attached.first_seen);
  if (!gst_structure_has_field(structure, "layers")) largest.labels = attached.labels;
  largest.labels_format = attached.labels_format;
  largest.labels_size = attached.labels_size;
  std::vector<ParametersPtr> no_spare_parameters;
  attach_standard_metas(buffer, largest, no_spare_parameters);
}

const GValue* region_array(const GstStructure* structure) {
  const GValue* array = gst_structure_get_value(structure, "regions");
  expects(array && GST_VALUE_HOLDS_ARRAY(array), "regions metadata lacks the array 'regions'");
  return array;
}

bool read_regions(GstBuffer* buffer, Size size, AttachedRegions& attached) {
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
  const PooledStructures* pooled = StructurePool::structures_of(buffer);
  if (pooled && has_pooled_structures(array, *pooled)) {
    read_table(*pooled, from, size, attached);
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
