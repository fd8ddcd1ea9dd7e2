// The GObject properties of fields: each field of a parameter table is one property of an element.
#pragma once

#include <gst/gst.h>

#include "core/field.hpp"

namespace regions {

// Returns the GObject property of a field. `value` is its default value. `owner` ("cclabel") is
// part of the names of enumeration types.
GParamSpec* make_spec(const char* owner, const Field& field, const Value& value);
// Converts the value of a GObject property to the value of its field.
Value from_gvalue(const Field& field, const GValue* value);
// Converts the value of a field to the value of its GObject property.
void to_gvalue(const Field& field, const Value& value, GValue* out);

}  // namespace regions
