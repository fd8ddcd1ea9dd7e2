// StructureMaker: fills GstStructures that all have the same fields.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "plugin/structure_pool.hpp"

namespace regions {

// Building and freeing thousands of structures a frame looks up every field's name again. So each
// structure is one of an earlier frame's, or a copy of one example, and its values are set in
// order. `Known` is what a structure is written from.
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
      }
    }
  }

  void write(StructurePtr& structure, const Known& known) const {
    if (structure && fill(structure.get(), known)) return;
    structure.reset(gst_structure_copy(example_.get()));
    fill(structure.get(), known);
  }

 private:
  struct Place {
    GQuark name;
    GType type;
    void (*write)(GValue* value, const Known& known);
  };

  // False if name or fields are not the example's: another kind of region, or another element
  // changed the structure.
  bool fill(GstStructure* structure, const Known& known) const {
    if (gst_structure_get_name_id(structure) != gst_structure_get_name_id(example_.get()) ||
        static_cast<size_t>(gst_structure_n_fields(structure)) != places_.size()) {
      return false;
    }
    struct Pass {
      const Place* next;
      const Known& known;
    } pass = {places_.data(), known};
    return gst_structure_map_in_place(
        structure,
        [](GQuark name, GValue* value, gpointer data) -> gboolean {
          auto& p = *static_cast<Pass*>(data);
          const Place& place = *p.next++;
          if (name != place.name || G_VALUE_TYPE(value) != place.type) return FALSE;
          place.write(value, p.known);
          return TRUE;
        },
        &pass);
  }

  std::vector<Place> places_;
  StructurePtr example_;
};

}  // namespace regions
