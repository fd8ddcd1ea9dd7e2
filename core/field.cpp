// Checks, parses and formats the values of fields.
#include "core/field.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "core/error.hpp"

namespace regions {
namespace {

std::string number_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

void expect_within(const Field& field, double value) {
  // This condition is also false for NaN.
  expects(value >= field.min && value <= field.max,
          std::string(field.name) + " is " + number_text(value) + "; it must be in " +
              number_text(field.min) + ".." + number_text(field.max));
}

void expect_choice(const Field& field, int64_t value) {
  std::string names;
  int64_t all = 0;
  for (const Choice& choice : field.choices) {
    if (field.kind == Kind::choice && choice.value == value) return;
    all |= choice.value;
    names += (names.empty() ? "" : ", ") + std::string(choice.name);
  }
  expects(
      field.kind == Kind::flags && value >= 0 && (value & ~all) == 0,
      std::string(field.name) + " is " + std::to_string(value) + "; it must be one of: " + names);
}

[[noreturn]] void refuse(const Field& field, std::string_view text) {
  throw InputError(std::string(field.name) + " cannot be '" + std::string(text) + "'");
}

template <class T>
T parse_number(const Field& field, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse(field, text);
  return value;
}

int64_t parse_color(const Field& field, std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (!hexadecimal) return parse_number<int64_t>(field, text);
  uint32_t code = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), code, 16);
  if (error != std::errc() || end != text.data() + text.size()) refuse(field, text);
  return code;
}

int64_t parse_choice(const Field& field, std::string_view text) {
  for (const Choice& choice : field.choices) {
    if (text == choice.name) return choice.value;
  }
  refuse(field, text);
}

// Calls visit(part) for the parts of "a<separator>b<separator>c".
template <class Visit>
void split(std::string_view text, char separator, Visit visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

void assign(const Field& field, void* params, const Value& value) {
  expects(value.index() == field.get(params).index(),
          std::string(field.name) + ": the value has the wrong type");
  switch (field.kind) {
    case Kind::integer:
    case Kind::color:
      expect_within(field, static_cast<double>(std::get<int64_t>(value)));
      break;
    case Kind::real:
      expect_within(field, std::get<double>(value));
      break;
    case Kind::list:
      for (const double v : std::get<std::vector<double>>(value)) expect_within(field, v);
      break;
    case Kind::choice:
    case Kind::flags:
      expect_choice(field, std::get<int64_t>(value));
      break;
    case Kind::flag:
    case Kind::text:
      break;
  }
  field.set(params, value);
}

void assign_text(const Field& field, void* params, std::string_view text) {
  switch (field.kind) {
    case Kind::flag:
      if (text != "true" && text != "false") refuse(field, text);
      return assign(field, params, text == "true");
    case Kind::integer:
      return assign(field, params, parse_number<int64_t>(field, text));
    case Kind::color:
      return assign(field, params, parse_color(field, text));
    case Kind::real:
      return assign(field, params, parse_number<double>(field, text));
    case Kind::choice:
      return assign(field, params, parse_choice(field, text));
    case Kind::flags: {
      int64_t bits = 0;
      split(text, '+', [&](std::string_view part) { bits |= parse_choice(field, part); });
      return assign(field, params, bits);
    }
    case Kind::text:
      return assign(field, params, std::string(text));
    case Kind::list: {
      if (text.size() < 2 || text.front() != '<' || text.back() != '>') refuse(field, text);
      std::vector<double> values;
      split(text.substr(1, text.size() - 2), ',', [&](std::string_view part) {
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        values.push_back(parse_number<double>(field, part));
      });
      return assign(field, params, values);
    }
  }
}

std::string to_text(const Field& field, const Value& value) {
  switch (field.kind) {
    case Kind::flag:
      return std::get<bool>(value) ? "true" : "false";
    case Kind::integer:
      return std::to_string(std::get<int64_t>(value));
    case Kind::real:
      return number_text(std::get<double>(value));
    case Kind::color: {
      char text[16];
      std::snprintf(text, sizeof text, "0x%08x", static_cast<unsigned>(std::get<int64_t>(value)));
      return text;
    }
    case Kind::text:
      return std::get<std::string>(value);
    case Kind::choice:
      for (const Choice& choice : field.choices) {
        if (choice.value == std::get<int64_t>(value)) return choice.name;
      }
      return std::to_string(std::get<int64_t>(value));
    case Kind::flags: {
      std::string text;
      for (const Choice& choice : field.choices) {
        if (std::get<int64_t>(value) & choice.value)
          text += (text.empty() ? "" : "+") + std::string(choice.name);
      }
      return text;
    }
    case Kind::list: {
      std::string text;
      for (const double v : std::get<std::vector<double>>(value))
        text += (text.empty() ? "<" : ",") + number_text(v);
      return text.empty() ? "<>" : text + ">";
    }
  }
  return {};
}

const Field& find(std::span<const Field> fields, std::string_view name) {
  std::string known;
  for (const Field& field : fields) {
    if (name == field.name) return field;
    known += (known.empty() ? "" : ", ") + std::string(field.name);
  }
  throw InputError("unknown parameter '" + std::string(name) + "'; the parameters are: " + known);
}

}  // namespace regions
