// Attaches the `regions` metadata to buffers, and reads it from buffers.
#include "plugin/metadata/region_meta.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "core/error.hpp"
#include "plugin/metadata/standard_metas.hpp"

namespace regions {
namespace {

// A region in the array `regions`: get() reads a field, and returns false if it is missing.
struct StructureRow {
  const GstStructure* structure;

  bool get(const char* name, guint& value) const {
    return gst_structure_get_uint(structure, name, &value);
  }
  bool get(const char* name, gint& value) const {
    return gst_structure_get_int(structure, name, &value);
  }
  bool get(const char* name, guint64& value) const {
    return gst_structure_get_uint64(structure, name, &value);
  }
  bool get(const char* name, gdouble& value) const {
    return gst_structure_get_double(structure, name, &value);
  }
};

// The field `table` of the metadata, mapped for reading.
class RowTable {
 public:
  struct Column {
    std::string name;
    GType type;
    size_t offset;  // bytes from the start of the row

    size_t bytes() const { return type == G_TYPE_UINT || type == G_TYPE_INT ? 4 : 8; }
  };
  // A row: get() reads a value, and returns false if the table has no such column.
  struct Row {
    const RowTable& table;
    const guint8* bytes;

    template <class T>
    bool get(std::string_view name, T& value) const {
      for (const Column& column : table.columns_) {
        if (column.name != name || column.type != g_type_of<T>()) continue;
        std::memcpy(&value, bytes + column.offset, sizeof value);
        return true;
      }
      return false;
    }
  };

  // Throws InputError if the table or its columns are malformed.
  RowTable(GstBuffer* rows, const gchar* columns) : rows_(rows) {
    expects(columns, "regions metadata has a table without 'table-columns'");
    std::istringstream words(columns);
    for (std::string word; words >> word;) {
      const size_t colon = word.find(':');
      const std::string type = colon == std::string::npos ? "" : word.substr(colon + 1);
      const GType g_type = type == "<u4"   ? G_TYPE_UINT
                           : type == "<i4" ? G_TYPE_INT
                           : type == "<u8" ? G_TYPE_UINT64
                           : type == "<f8" ? G_TYPE_DOUBLE
                                           : G_TYPE_INVALID;
      expects(g_type != G_TYPE_INVALID,
              "regions metadata has a table with the unknown column '" + word + "'");
      columns_.push_back({word.substr(0, colon), g_type, row_bytes_});
      row_bytes_ += columns_.back().bytes();
    }
    const gsize bytes = gst_buffer_get_size(rows);
    expects(row_bytes_ > 0 && bytes % row_bytes_ == 0,
            "regions metadata has a table of " + std::to_string(bytes) +
                " bytes, but its columns make rows of " + std::to_string(row_bytes_) + " bytes");
    expects(gst_buffer_map(rows, &map_, GST_MAP_READ), "the table of regions cannot be mapped");
  }
  RowTable(const RowTable&) = delete;
  RowTable& operator=(const RowTable&) = delete;
  ~RowTable() { gst_buffer_unmap(rows_, &map_); }

  const std::vector<Column>& columns() const { return columns_; }
  size_t size() const { return map_.size / row_bytes_; }
  Row row(size_t i) const { return {*this, map_.data + i * row_bytes_}; }

 private:
  GstBuffer* rows_;
  GstMapInfo map_ = {};
  std::vector<Column> columns_;
  size_t row_bytes_ = 0;
};

// Returns a field of the metadata or of a region. Throws InputError if it is missing.
template <class Fields>
int int_of(const Fields& fields, const char* name) {
  gint value = 0;
  expects(fields.get(name, value), std::string("regions metadata lacks the number '") + name + "'");
  return value;
}

Size size_of(const GstStructure* metadata) {
  const StructureRow fields{metadata};
  return {int_of(fields, "width"), int_of(fields, "height")};
}

// Returns the array `regions` of the metadata, or null.
const GValue* array_field(const GstStructure* structure) {
  const GValue* array = gst_structure_get_value(structure, "regions");
  return array && GST_VALUE_HOLDS_ARRAY(array) ? array : nullptr;
}

// Returns the field `table` of the metadata. Throws InputError if it is missing.
GstBuffer* table_field(const GstStructure* structure) {
  const GValue* table = gst_structure_get_value(structure, "table");
  GstBuffer* rows =
      table && G_VALUE_HOLDS(table, GST_TYPE_BUFFER) ? gst_value_get_buffer(table) : nullptr;
  expects(rows, "regions metadata lacks the array 'regions' and the buffer 'table'");
  return rows;
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

template <class Fields>
Region region_of(const Fields& fields, Size from, Size to) {
  Region region;
  guint id = 0, track = 0;
  expects(fields.get("id", id), "a region in the metadata lacks 'id'");
  region.id = id;
  region.track = fields.get("track", track) ? track : id;
  set_box(
      region,
      {int_of(fields, "x"), int_of(fields, "y"), int_of(fields, "width"), int_of(fields, "height")},
      from, to);
  guint64 area = 0;
  if (fields.get("area", area)) region.area = area;
  gdouble x = 0, y = 0;
  if (fields.get("cx", x) && fields.get("cy", y)) {
    region.sum_x = sum_of(x, region.area);
    region.sum_y = sum_of(y, region.area);
  }
  return region;
}

// Reads `count` regions, whose fields fields_of(index) returns, and scales their boxes from one
// picture size to another.
template <class FieldsOf>
void read_all(size_t count, const FieldsOf& fields_of, Size from, Size to,
              AttachedRegions& attached) {
  attached.regions.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto fields = fields_of(i);
    attached.regions.push_back(region_of(fields, from, to));
    guint64 first_seen = 0;
    if (fields.get("first-seen", first_seen)) {
      attached.first_seen.resize(i, GST_CLOCK_TIME_NONE);
      attached.first_seen.push_back(first_seen);
    }
  }
  if (!attached.first_seen.empty()) attached.first_seen.resize(count, GST_CLOCK_TIME_NONE);
}

StructureRow structure_at(const GValue* array, size_t i) {
  const GValue* item = gst_value_array_get_value(array, static_cast<guint>(i));
  expects(GST_VALUE_HOLDS_STRUCTURE(item), "regions metadata holds a value that is not a region");
  return {gst_value_get_structure(item)};
}

// Whether the array still refers to the pooled structures. If it does, the pooled table has the
// same values as the structures, because a structure inside of a GValue can be replaced but not
// changed.
bool has_pooled_structures(const GValue* array, const PooledStructures& pooled) {
  const guint count = gst_value_array_get_size(array);
  if (count != pooled.table.size() || count > pooled.regions.size()) return false;
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
  attached.regions.assign(pooled.table.begin(), pooled.table.end());
  for (Region& region : attached.regions) {
    set_box(region, {region.left, region.top, region.width(), region.height()}, from, to);
  }
}

// Reads the regions from the fastest source that has them.
void read_records(GstBuffer* buffer, const GstStructure* structure, Size from, Size to,
                  AttachedRegions& attached) {
  const PooledStructures* pooled = StructurePool::structures_of(buffer);
  const GValue* array = array_field(structure);
  GstBuffer* rows = array ? nullptr : table_field(structure);
  if (pooled && (array ? has_pooled_structures(array, *pooled) : rows == pooled->rows.get())) {
    read_table(*pooled, from, to, attached);
  } else if (array) {
    read_all(
        gst_value_array_get_size(array), [&](size_t i) { return structure_at(array, i); }, from, to,
        attached);
  } else {
    const RowTable table(rows, gst_structure_get_string(structure, "table-columns"));
    read_all(
        table.size(), [&](size_t i) { return table.row(i); }, from, to, attached);
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

// Adds the fields that some frames have.
void add_details(GstStructure* structure, const FrameResults& results, StructurePool& pool) {
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
}

// Removes the metadata of an element upstream. Returns the change of the scene that it names.
std::string remove_metadata(GstBuffer* buffer) {
  std::string scene_change;
  if (GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kRegionMeta)) {
    const gchar* text =
        gst_structure_get_string(gst_custom_meta_get_structure(meta), kSceneChangeField);
    if (text) scene_change = text;
    gst_buffer_remove_meta(buffer, &meta->meta);
  }
  remove_standard_metas(buffer);
  return scene_change;
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
  std::string scene_change = remove_metadata(buffer);
  if (!results.scene_change.empty()) scene_change = results.scene_change;
  const size_t count = results.regions.size();
  const bool has_structures = results.forms & kStructuresForm || count == 0;
  PooledStructures& pooled = pool.attach_to(buffer, has_structures ? count : 0);
  const std::span<StructurePtr> structures(pooled.regions.data(), has_structures ? count : 0);
  if (count > 0) {
    auto [rows, regions] = pool.acquire_rows(results);
    pooled.rows = std::move(rows);
    pooled.table = regions;
  }
  const StandardMetas kinds = {(results.forms & kRoisForm) != 0,
                               (results.forms & kAnalyticsForm) != 0};
  write_structures(results, workers, structures, [&] {
    if (!kinds.rois && !kinds.analytics) return;
    LargestRegions largest = largest_regions(results.size, results.regions, results.first_seen);
    if (results.layers == 1) largest.labels = results.labels;
    largest.labels_format = results.labels_format;
    largest.labels_size = results.size;
    attach_standard_metas(buffer, largest, kinds, pooled.parameters);
  });
  // This meta is added after the standard metas, because it must be transformed after them.
  GstStructure* structure =
      gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, kRegionMeta));
  gst_structure_set(structure, "algorithm", G_TYPE_STRING, results.algorithm, "width", G_TYPE_INT,
                    results.size.width, "height", G_TYPE_INT, results.size.height, "regions-total",
                    G_TYPE_UINT, results.total, nullptr);
  if (has_structures) {
    GValue array = array_of(structures);
    gst_structure_take_value(structure, "regions", &array);
  }
  if (count > 0) {
    gst_structure_set(structure, "table", GST_TYPE_BUFFER, pooled.rows.get(), "table-columns",
                      G_TYPE_STRING, table_format(results).columns.c_str(), nullptr);
  }
  add_details(structure, results, pool);
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

void replace_standard_metas(GstBuffer* buffer, StandardMetas kinds) {
  remove_standard_metas(buffer);
  if (!kinds.rois && !kinds.analytics) return;
  const GstStructure* structure =
      gst_custom_meta_get_structure(gst_buffer_get_custom_meta(buffer, kRegionMeta));
  const Size size = size_of(structure);
  AttachedRegions attached;
  read_regions(buffer, size, attached);
  LargestRegions largest = largest_regions(size, attached.regions, attached.first_seen);
  if (!gst_structure_has_field(structure, "layers")) largest.labels = attached.labels;
  largest.labels_format = attached.labels_format;
  largest.labels_size = attached.labels_size;
  std::vector<ParametersPtr> no_spare_parameters;
  attach_standard_metas(buffer, largest, kinds, no_spare_parameters);
}

RegionArray::RegionArray(const GstStructure* structure) : array_(array_field(structure)) {
  if (array_) return;
  const RowTable table(table_field(structure),
                       gst_structure_get_string(structure, "table-columns"));
  gst_value_array_init(&made_, static_cast<guint>(table.size()));
  array_ = &made_;
  for (size_t i = 0; i < table.size(); ++i) {
    StructurePtr region(gst_structure_new_empty(kRegionName));
    for (const RowTable::Column& column : table.columns()) {
      GValue value = G_VALUE_INIT;
      g_value_init(&value, column.type);
      std::memcpy(&value.data[0], table.row(i).bytes + column.offset, column.bytes());
      gst_structure_take_value(region.get(), column.name.c_str(), &value);
    }
    GValue item = G_VALUE_INIT;
    g_value_init(&item, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&item, region.release());
    gst_value_array_append_and_take_value(&made_, &item);
  }
}

RegionArray::~RegionArray() {
  if (array_ == &made_) g_value_unset(&made_);
}

bool read_regions(GstBuffer* buffer, Size size, AttachedRegions& attached) {
  attached.regions.clear();
  attached.first_seen.clear();
  attached.is_tracked = false;
  attached.labels = nullptr;
  attached.made.reset();
  GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kRegionMeta);
  if (!meta) return false;
  const GstStructure* structure = gst_custom_meta_get_structure(meta);
  const Size from = size_of(structure);
  expects(from.width > 0 && from.height > 0, "regions metadata has no size");
  expects(from == size || !gst_buffer_get_video_crop_meta(buffer), [&] {
    return "regions metadata is for " + std::to_string(from.width) + "x" +
           std::to_string(from.height) + " pixels, but a GstVideoCropMeta shows " +
           std::to_string(size.width) + "x" + std::to_string(size.height) +
           " of them; read the regions upstream of the element that crops";
  });

  read_records(buffer, structure, from, size, attached);
  const gchar* columns = gst_structure_get_string(structure, "table-columns");
  attached.is_tracked =
      columns ? std::strstr(columns, "first-seen:") != nullptr : !attached.first_seen.empty();
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
