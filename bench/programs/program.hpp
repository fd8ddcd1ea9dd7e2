// What main() of every benchmark does: words become options by one table, errors a line and an exit
// status.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/field.hpp"
#include "core/format.hpp"

namespace regions {

// The exit status of run(count, words): its own; 0 after --help, 2 for words it does not understand
// or files it cannot take, 1 for what failed later.
int run_program(const char* name, int (*run)(int, char**), int count, char** words);

// Throw InputError for anything but numbers above 0, and sizes or lists of them.
void read(const std::string& text, int& value);
void read(const std::string& text, double& value);
void read(const std::string& text, Size& value);  // WIDTHxHEIGHT
void read(const std::string& text, PixelFormat& value);
inline void read(const std::string& text, std::string& value) { value = text; }
inline void read(const std::string& /*none*/, bool& value) { value = true; }
template <class T>
void read(const std::string& text, std::vector<T>& values) {
  values.clear();
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    read(text.substr(start, end - start), values.emplace_back());
    start = end + 1;
  }
  expects(!values.empty(), "an empty list");
}

struct Option {
  const char* name;
  const char* value;  // what it wants, in words; null if nothing
  const char* blurb;
  std::function<void(const std::string&)> read;
};
// Its text becomes the value.
template <class T>
std::function<void(const std::string&)> into(T& value) {
  return [&value](const std::string& text) { read(text, value); };
}
// NAME=VALUE sets a parameter as its table reads it.
void set_parameter(std::span<const Field> fields, void* params, const std::string& text);
template <class P>
std::function<void(const std::string&)> setting(P& params) {
  return [&params](const std::string& text) { set_parameter(fields_of(params), &params, text); };
}

// Reads the options among the words; returns the others. `usage` says what those are, and what the
// program does: with the table, the text of --help.
std::vector<std::string> parse(int count, char** words, const char* usage,
                               const std::vector<Option>& options);

}  // namespace regions
