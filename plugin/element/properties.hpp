// Field tables as GObject properties.
#pragma once

#include <gst/gst.h>

#include <span>

#include "core/field.hpp"

namespace regions {

// Installs one property a field, with ids first_id, first_id + 1, … and defaults from `defaults`
// (the parameter struct). `owner` ("cclabel") goes into the names of enumeration types.
void install_properties(GObjectClass* klass, const char* owner, std::span<const Field> fields,
                        const Value* defaults, guint first_id);

// Between a field's value and its property's.
Value from_gvalue(const Field& field, const GValue* value);
void to_gvalue(const Field& field, const Value& value, GValue* out);

}  // namespace regions
