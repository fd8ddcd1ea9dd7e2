// Parameter tables: each parameter of a parameter struct is described by one Field. Element
// properties, documentation, benchmark options and fuzzing ranges are generated from these tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "core/frame.hpp"

namespace regions {

// The value of a parameter: boolean, integer (also for choices, flags and colours), real number,
// text or list of numbers.
using Value = std::variant<bool, int64_t, double, std::string, std::vector<double>>;

struct Choice {
  int value;
  const char* name;   // as the user types it: "union-find"
  const char* blurb;  // one line of documentation
};

// Type of a parameter. `flag` is a boolean. `flags` is an integer whose bits are the values of the
// choices.
enum class Kind : uint8_t { flag, integer, real, choice, flags, color, text, list };

// When a parameter may change. live: at any time; the next frame uses the new value. renegotiated:
// at any time; caps are renegotiated before the next frame. stopped: only while the element is
// stopped.
enum class Change : uint8_t { live, renegotiated, stopped };

struct Field {
  const char* name;   // name of the property, in lower case with dashes
  const char* blurb;  // documentation, ends with the unit
  Kind kind;
  double min = 0;  // lower limit; smaller values are refused
  double max = 0;  // upper limit; for lists, the limits apply to each element
  std::span<const Choice> choices;
  Change change = Change::live;
  Value (*get)(const void* params);
  void (*set)(void* params, const Value& value);  // does not check the value; use assign()

  bool live() const { return change == Change::live; }
};

// A list of numbers with fixed capacity, so that copying a parameter struct does not allocate.
template <int capacity>
struct NumberList {
  static constexpr int kMax = capacity;
  double number[capacity] = {};
  int count = 0;

  NumberList() = default;
  NumberList(const std::vector<double>& numbers) {
    expects(numbers.size() <= capacity, "a list holds up to " + std::to_string(capacity) +
                                            " numbers, not " + std::to_string(numbers.size()));
    count = static_cast<int>(numbers.size());
    std::copy(numbers.begin(), numbers.end(), number);
  }
  operator std::vector<double>() const { return {number, number + count}; }
};

namespace field_detail {
template <class M>
struct MemberOf;
template <class P, class T>
struct MemberOf<T P::*> {
  using Type = T;
};
template <class T>
constexpr Kind kind_of() {
  if constexpr (std::is_same_v<T, bool>)
    return Kind::flag;
  else if constexpr (std::is_enum_v<T>)
    return Kind::choice;
  else if constexpr (std::is_integral_v<T>)
    return Kind::integer;
  else if constexpr (std::is_floating_point_v<T>)
    return Kind::real;
  else if constexpr (std::is_same_v<T, std::string>)
    return Kind::text;
  else if constexpr (std::is_same_v<T, Argb>)
    return Kind::color;
  else
    return Kind::list;
}
}  // namespace field_detail

struct Limits {
  double min = 0, max = 0;
};
// Makes one entry of a parameter table. The member may belong to a base class of P. An integer with
// choices is a set of flags. Example:
//
//   field<CcLabelParams, &CcLabelParams::threshold>("threshold", "… (fraction)", {0, 1})
template <class P, auto Member>
Field field(const char* name, const char* blurb, Limits limits = {},
            std::span<const Choice> choices = {}, Change change = Change::live) {
  using T = typename field_detail::MemberOf<decltype(Member)>::Type;
  constexpr Kind kind = field_detail::kind_of<T>();
  const bool flags = kind == Kind::integer && !choices.empty();
  return {name,
          blurb,
          flags ? Kind::flags : kind,
          limits.min,
          kind == Kind::color ? 0xFFFFFFFF : limits.max,
          choices,
          change,
          [](const void* params) -> Value {
            const T& member = static_cast<const P*>(params)->*Member;
            if constexpr (kind == Kind::choice || kind == Kind::integer) {
              return static_cast<int64_t>(member);
            } else if constexpr (kind == Kind::color) {
              return int64_t{member.code};
            } else if constexpr (kind == Kind::real) {
              return static_cast<double>(member);
            } else if constexpr (kind == Kind::list) {
              return std::vector<double>(member);
            } else {
              return member;
            }
          },
          [](void* params, const Value& value) {
            T& member = static_cast<P*>(params)->*Member;
            if constexpr (kind == Kind::choice || kind == Kind::integer) {
              member = static_cast<T>(std::get<int64_t>(value));
            } else if constexpr (kind == Kind::color) {
              member.code = static_cast<uint32_t>(std::get<int64_t>(value));
            } else if constexpr (kind == Kind::real) {
              member = static_cast<T>(std::get<double>(value));
            } else if constexpr (kind == Kind::list) {
              member = std::get<std::vector<double>>(value);
            } else {
              member = std::get<T>(value);
            }
          }};
}

// Checks the value and stores it in the parameter struct. Throws an InputError that names the field
// and the value if the value is invalid.
void assign(const Field& field, void* params, const Value& value);
// Like assign(), but parses the value from text, as typed on a command line ("0.5", "overlay",
// "true", "<0.1,0.2>").
void assign_text(const Field& field, void* params, std::string_view text);
// Formats a value as text that assign_text() can read.
std::string to_text(const Field& field, const Value& value);
// Returns the field with this name. Throws an InputError that lists the known names if there is
// none.
const Field& find(std::span<const Field> fields, std::string_view name);

// A property and the value that a preset gives to it.
struct PresetValue {
  const char* name;
  Value value;
};

}  // namespace regions
