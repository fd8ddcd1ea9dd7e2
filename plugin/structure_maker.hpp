// StructureMaker: fills GstStructures that all have the same fields.
#pragma once

#include <gst/gst.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/structure_pool.hpp"

namespace regions {

// Building and freeing thousands of structures a frame looks up every field's name again. So each
// structure is one of an earlier frame's, or a copy of one example, and its values are set in
// order. `Known` is what a structure is written from. The same values may be written as a row of a
// table too, one after another without gaps.
template <class Known>
class StructureMaker {
 public:
  // A field's name and type, and how its value is written.
  struct Field {
    const char* name;
    GType type;
    void (*write)(GValue* value, const Known& known);
  };
  using Fields = std::vector<Field>;

  StructureMaker(const char* name, const std::vector<Fields>& groups)
      : example_(gst_structure_new_empty(name)) {
    for (const Fields& group : groups) {
      for (const Field& field : group) {
        GValue value = G_VALUE_INIT;
        g_value_init(&value, field.type);
        gst_structure_take_value(example_.get(), field.name, &value);
        places_.push_back({g_quark_from_static_string(field.name), field.type, field.write});
        row_bytes_ += bytes_of(field.type);
        columns_ += (columns_.empty() ? "" : " ") + std::string(field.name) + ":" +
                    std::string(numpy_of(field.type));
      }
    }
  }

  // Names of the fields and their types as NumPy spells them: "id:<u4 cx:<f8".
  const std::string& columns() const { return columns_; }
  size_t row_bytes() const { return row_bytes_; }

  // The row is left out where `row` is null.
  void write(StructurePtr& structure, const Known& known, std::byte* row = nullptr) const {
    if (structure && fill(structure.get(), known, row)) return;
    structure.reset(gst_structure_copy(example_.get()));
    fill(structure.get(), known, row);
  }

 private:
  struct Place {
    GQuark name;
    GType type;
    void (*write)(GValue* value, const Known& known);
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

  // False if name or fields are not the example's: another kind of region, or another element
  // changed the structure.
  bool fill(GstStructure* structure, const Known& known, std::byte* row) const {
    if (gst_structure_get_name_id(structure) != gst_structure_get_name_id(example_.get()) ||
        static_cast<size_t>(gst_structure_n_fields(structure)) != places_.size()) {
      return false;
    }
    struct Pass {
      const Place* next;
      const Known& known;
      std::byte* row;
    } pass = {places_.data(), known, row};
    return gst_structure_map_in_place(
        structure,
        [](GQuark name, GValue* value, gpointer data) -> gboolean {
          auto& p = *static_cast<Pass*>(data);
          const Place& place = *p.next++;
          if (name != place.name || G_VALUE_TYPE(value) != place.type) return FALSE;
          place.write(value, p.known);
          if (!p.row) return TRUE;
          std::memcpy(p.row, &value->data[0], bytes_of(place.type));  // a union of all types
          p.row += bytes_of(place.type);
          return TRUE;
        },
        &pass);
  }

  std::vector<Place> places_;
  StructurePtr example_;
  std::string columns_;
  size_t row_bytes_ = 0;
};

}  // namespace regions
