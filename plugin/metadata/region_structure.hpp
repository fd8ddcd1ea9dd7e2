// GstStructures and tables that describe regions: their fields, and a pool that reuses them.
//
// Copying and freeing structures took most of the host's time per region. Therefore frames reuse
// the structures of earlier frames. Computing the rows of a table takes most of the time of a frame
// with thousands of regions. Therefore they are computed when a reader first maps the table.
#pragma once

#include <gst/gst.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "core/region.hpp"
#include "core/workers.hpp"
#include "plugin/memory/gst_object.hpp"

namespace regions {

struct Fact;
struct RegionResults;

// The name of the structures, and the object type of regions in GStreamer's standard metadata.
constexpr const char* kRegionName = "region";

// Frees the parameters of a GstVideoRegionOfInterestMeta, which are a list of GstStructures.
struct FreeParameters {
  void operator()(GList* list) const;
};
// Owns the parameters of a GstVideoRegionOfInterestMeta.
using ParametersPtr = std::unique_ptr<GList, FreeParameters>;

// The pooled structures of one frame.
struct PooledStructures {
  std::vector<StructurePtr> regions;      // structures of the regions; elements may be null
  std::vector<ParametersPtr> parameters;  // unused parameters of regions of interest
  BufferPtr rows;  // the regions as the field `table` of the metadata; null without regions
  // The regions as downstream elements of this plugin read them. Valid as long as `rows`.
  std::span<const Region> table;
};

// Keeps the structures and tables of freed buffers for later frames.
class StructurePool : public std::enable_shared_from_this<StructurePool> {
 public:
  StructurePool();
  ~StructurePool();

  // Attaches structures for at least `regions` regions to the buffer. When the buffer is freed or
  // gets other structures, the structures return to this pool if it still exists. If regions of
  // interest are attached to the buffer later, their parameters return to the pool too.
  PooledStructures& attach_to(GstBuffer* buffer, size_t regions);

  // A buffer that is read-only for everyone except the caller of acquire_table().
  struct PooledTable {
    BufferPtr buffer;
    std::span<std::byte> bytes;  // the content of the buffer, to be filled by the caller
  };
  // Returns a buffer of `bytes` bytes. Its content is undefined, because it may reuse the memory of
  // an earlier buffer.
  PooledTable acquire_table(size_t bytes);

  // A read-only buffer with a row per region.
  struct PooledRows {
    BufferPtr buffer;
    std::span<const Region> regions;  // copies, valid as long as the buffer
  };
  // Copies the results. They must contain at least one region. The rows are computed when a reader
  // first maps the buffer, because most frames have no such reader.
  PooledRows acquire_rows(const RegionResults& results);

  // Returns the structures that a pool has attached to the buffer, or null.
  static const PooledStructures* structures_of(GstBuffer* buffer);

 private:
  struct ReturnMeta;
  struct Structures : PooledStructures {
    std::weak_ptr<StructurePool> pool;
    ReturnMeta* return_meta = nullptr;  // a meta of the buffer to which these structures belong
  };
  struct Table {
    std::weak_ptr<StructurePool> pool;
    std::vector<std::byte> bytes;
  };
  struct Rows;
  struct RowsMemory;
  struct RowsAllocator;
  static const GstMetaInfo* return_meta_info();
  static void collect_parameters(ReturnMeta* meta);
  static void return_structures(gpointer structures);
  static Structures* find(GstBuffer* buffer);
  template <class T>
  static void put_back(std::unique_ptr<T> item,
                       std::vector<std::unique_ptr<T>> StructurePool::*idle);
  template <class T>
  std::unique_ptr<T> take(std::vector<std::unique_ptr<T>>& idle);

  std::mutex mutex_;                               // guards the members below
  std::vector<std::unique_ptr<Structures>> idle_;  // structures of buffers that were freed
  std::vector<std::unique_ptr<Table>> idle_tables_;
  std::vector<std::unique_ptr<Rows>> idle_rows_;
};

// The format of the table of regions: its columns as StructureWriter::columns() returns them, and
// the size of a row.
struct TableFormat {
  const std::string& columns;
  size_t row_bytes;
};
TableFormat table_format(const RegionResults& results);

// Writes the structures of the regions, or nothing if `structures` is empty, on several threads.
// Meanwhile one of the threads calls `other_work` once.
void write_structures(const RegionResults& results, const Workers& workers,
                      std::span<StructurePtr> structures, const std::function<void()>& other_work);

// Adds a field with the fact's name: gboolean, gint64, gdouble, string or GstValueArray of gdouble.
void add_fact(GstStructure* structure, const Fact& fact);

// A field of a structure: its name, and a function that returns its value from a `Source`. The
// result type of the function determines the type of the field. Strings must be interned by GLib.
template <class Value>
struct StructureField {
  const char* name;
  Value value;

  StructureField(const char* field_name, Value function) : name(field_name), value(function) {}
};

// Consecutive fields, and a function that writes their values to a row without gaps. The function
// returns the end of the written bytes.
template <class Source>
struct FieldGroup {
  struct Column {
    const char* name;
    GType type;
  };
  std::vector<Column> columns;
  std::byte* (*write)(const Source& source, std::byte* row);
};

template <class T>
GType g_type_of() {
  if constexpr (std::is_same_v<T, uint32_t>) return G_TYPE_UINT;
  if constexpr (std::is_same_v<T, int32_t>) return G_TYPE_INT;
  if constexpr (std::is_same_v<T, uint64_t>) return G_TYPE_UINT64;
  if constexpr (std::is_same_v<T, double>) return G_TYPE_DOUBLE;
  if constexpr (std::is_same_v<T, const char*>) return G_TYPE_STRING;
}

// Makes a group of the given fields. The lambdas of the fields must not have captures.
template <class Source, class... Values>
FieldGroup<Source> field_group(StructureField<Values>... fields) {
  return {{{fields.name, g_type_of<std::invoke_result_t<Values, const Source&>>()}...},
          [](const Source& source, std::byte* row) {
            const auto append = [&row](auto value) {
              std::memcpy(row, &value, sizeof value);
              row += sizeof value;
            };
            (append(Values{}(source)), ...);
            return row;
          }};
}

// Writes GstStructures that all have the same fields. Setting fields by name would be slow, because
// each name is looked up in each of thousands of structures per frame. Instead, the writer
// overwrites the values of an existing structure, or of a copy of an example structure, in order.
// It first writes the values to a row without gaps. Consecutive rows form a table.
template <class Source>
class StructureWriter {
 public:
  using Groups = std::vector<FieldGroup<Source>>;

  static constexpr size_t kMaxRowBytes = 256;

  StructureWriter(const char* name, const Groups& groups)
      : example_structure_(gst_structure_new_empty(name)) {
    for (const FieldGroup<Source>& group : groups) {
      row_writers_.push_back(group.write);
      for (const auto& [field, type] : group.columns) {
        GValue value = G_VALUE_INIT;
        g_value_init(&value, type);
        gst_structure_take_value(example_structure_.get(), field, &value);
        fields_.push_back({g_quark_from_static_string(field), type, bytes_of(type)});
        row_bytes_ += bytes_of(type);
        columns_ += (columns_.empty() ? "" : " ") + std::string(field) + ":" +
                    std::string(numpy_type(type));
      }
    }
    expects(row_bytes_ <= kMaxRowBytes, std::string("a row of ") + name + " is too long");
  }

  // The names and NumPy types of the fields, such as "id:<u4 cx:<f8".
  const std::string& columns() const { return columns_; }
  size_t row_bytes() const { return row_bytes_; }

  // Stores the values in `row`, which has at least row_bytes() bytes.
  void write_row(const Source& source, std::byte* row) const {
    for (const auto& row_writer : row_writers_) row = row_writer(source, row);
  }
  // Overwrites the structure with the values from `source`. Replaces it if it is null or has other
  // fields.
  void write(StructurePtr& structure, const Source& source) const {
    std::byte row[kMaxRowBytes];
    write_row(source, row);
    if (structure && fill(structure.get(), row)) return;
    structure.reset(gst_structure_copy(example_structure_.get()));
    fill(structure.get(), row);
  }

 private:
  struct FieldType {
    GQuark name;
    GType type;
    size_t bytes;
  };

  static constexpr size_t bytes_of(GType type) {
    return type == G_TYPE_INT || type == G_TYPE_UINT ? 4 : 8;
  }
  static constexpr std::string_view numpy_type(GType type) {
    return type == G_TYPE_INT      ? "<i4"
           : type == G_TYPE_UINT   ? "<u4"
           : type == G_TYPE_UINT64 ? "<u8"
                                   : "<f8";
  }
  // Sets a value from the bytes of a row. Numbers are copied as bytes, because the g_value_set
  // functions take three times as long.
  static void set(GValue* value, const FieldType& field, const std::byte* bytes) {
    if (field.bytes == 4) {
      std::memcpy(&value->data[0], bytes, 4);
    } else if (field.type != G_TYPE_STRING) {
      std::memcpy(&value->data[0], bytes, 8);
    } else {
      const char* text = nullptr;
      std::memcpy(&text, bytes, sizeof text);
      g_value_set_interned_string(value, text);
    }
  }

  // Overwrites the values of the structure. Returns false if its name or fields differ from the
  // example. This happens if the structure describes another kind of region or another element has
  // changed it.
  bool fill(GstStructure* structure, const std::byte* row) const {
    if (gst_structure_get_name_id(structure) !=
            gst_structure_get_name_id(example_structure_.get()) ||
        static_cast<size_t>(gst_structure_n_fields(structure)) != fields_.size()) {
      return false;
    }
    struct Cursor {
      const FieldType* field;
      const std::byte* row;
    } cursor = {fields_.data(), row};
    return gst_structure_map_in_place(
        structure,
        [](GQuark name, GValue* value, gpointer data) -> gboolean {
          auto& next = *static_cast<Cursor*>(data);
          const FieldType& field = *next.field++;
          if (name != field.name || G_VALUE_TYPE(value) != field.type) return FALSE;
          set(value, field, next.row);
          next.row += field.bytes;
          return TRUE;
        },
        &cursor);
  }

  std::vector<decltype(FieldGroup<Source>::write)> row_writers_;
  std::vector<FieldType> fields_;
  StructurePtr example_structure_;
  std::string columns_;
  size_t row_bytes_ = 0;
};

}  // namespace regions
