// StructureMaker: fills GstStructures that all have the same fields.
#pragma once

#include <gst/gst.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "plugin/metadata/structure_pool.hpp"

namespace regions {

// A field of a structure: its name, and a function of what is known that gives its value, whose
// type is the field's. Strings are interned ones.
template <class Value>
struct StructureField {
  const char* name;
  Value value;

  StructureField(const char* field_name, Value of) : name(field_name), value(of) {}
};

// Fields side by side, and what writes their values without gaps between them; it returns the end.
template <class Known>
struct FieldGroup {
  struct Column {
    const char* name;
    GType type;
  };
  std::vector<Column> columns;
  std::byte* (*write)(const Known& known, std::byte* row);
};

template <class T>
GType type_of() {
  if constexpr (std::is_same_v<T, uint32_t>) return G_TYPE_UINT;
  if constexpr (std::is_same_v<T, int32_t>) return G_TYPE_INT;
  if constexpr (std::is_same_v<T, uint64_t>) return G_TYPE_UINT64;
  if constexpr (std::is_same_v<T, double>) return G_TYPE_DOUBLE;
  if constexpr (std::is_same_v<T, const char*>) return G_TYPE_STRING;
}

// The functions have no captures.
template <class Known, class... Values>
FieldGroup<Known> fields_of(StructureField<Values>... fields) {
  return {{{fields.name, type_of<std::invoke_result_t<Values, const Known&>>()}...},
          [](const Known& known, std::byte* row) {
            const auto put = [&row](auto value) {
              std::memcpy(row, &value, sizeof value);
              row += sizeof value;
            };
            (put(Values{}(known)), ...);
            return row;
          }};
}

// Building and freeing thousands of structures a frame looks up every field's name again. So each
// structure is one of an earlier frame's, or a copy of one example, and its values are set in
// order. `Known` is what a structure is written from. The values are written as a row first, one
// after another without gaps, of which a table may be made.
template <class Known>
class StructureMaker {
 public:
  using Groups = std::vector<FieldGroup<Known>>;

  static constexpr size_t kMaxRowBytes = 256;

  StructureMaker(const char* name, const Groups& groups) : example_(gst_structure_new_empty(name)) {
    for (const FieldGroup<Known>& group : groups) {
      writers_.push_back(group.write);
      for (const auto& [field, type] : group.columns) {
        GValue value = G_VALUE_INIT;
        g_value_init(&value, type);
        gst_structure_take_value(example_.get(), field, &value);
        places_.push_back({g_quark_from_static_string(field), type, bytes_of(type)});
        row_bytes_ += bytes_of(type);
        columns_ +=
            (columns_.empty() ? "" : " ") + std::string(field) + ":" + std::string(numpy_of(type));
      }
    }
    expects(row_bytes_ <= kMaxRowBytes, std::string("a row of ") + name + " is too long");
  }

  // Names of the fields and their types as NumPy spells them: "id:<u4 cx:<f8".
  const std::string& columns() const { return columns_; }
  size_t row_bytes() const { return row_bytes_; }

  void write(StructurePtr& structure, const Known& known) const {
    std::byte row[kMaxRowBytes];
    write(structure, known, row);
  }
  // The row is left in `row`, which has room for row_bytes().
  void write(StructurePtr& structure, const Known& known, std::byte* row) const {
    std::byte* end = row;
    for (const auto& writer : writers_) end = writer(known, end);
    if (structure && fill(structure.get(), row)) return;
    structure.reset(gst_structure_copy(example_.get()));
    fill(structure.get(), row);
  }

 private:
  struct Place {
    GQuark name;
    GType type;
    size_t bytes;
  };

  static constexpr size_t bytes_of(GType type) {
    return type == G_TYPE_INT || type == G_TYPE_UINT ? 4 : 8;
  }
  static constexpr std::string_view numpy_of(GType type) {
    return type == G_TYPE_INT      ? "<i4"
           : type == G_TYPE_UINT   ? "<u4"
           : type == G_TYPE_UINT64 ? "<u8"
                                   : "<f8";
  }
  // Numbers are copied: setting them by their types' functions takes thrice as long.
  static void set(GValue* value, const Place& place, const std::byte* from) {
    if (place.bytes == 4) {
      std::memcpy(&value->data[0], from, 4);
    } else if (place.type != G_TYPE_STRING) {
      std::memcpy(&value->data[0], from, 8);
    } else {
      const char* text = nullptr;
      std::memcpy(&text, from, sizeof text);
      g_value_set_interned_string(value, text);
    }
  }

  // False if name or fields are not the example's: another kind of region, or another element
  // changed the structure.
  bool fill(GstStructure* structure, const std::byte* row) const {
    if (gst_structure_get_name_id(structure) != gst_structure_get_name_id(example_.get()) ||
        static_cast<size_t>(gst_structure_n_fields(structure)) != places_.size()) {
      return false;
    }
    struct Pass {
      const Place* next;
      const std::byte* row;
    } pass = {places_.data(), row};
    return gst_structure_map_in_place(
        structure,
        [](GQuark name, GValue* value, gpointer data) -> gboolean {
          auto& p = *static_cast<Pass*>(data);
          const Place& place = *p.next++;
          if (name != place.name || G_VALUE_TYPE(value) != place.type) return FALSE;
          set(value, place, p.row);
          p.row += place.bytes;
          return TRUE;
        },
        &pass);
  }

  std::vector<decltype(FieldGroup<Known>::write)> writers_;
  std::vector<Place> places_;
  StructurePtr example_;
  std::string columns_;
  size_t row_bytes_ = 0;
};

}  // namespace regions
