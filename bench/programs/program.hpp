// Command lines and error handling of the benchmark programs. A table describes the options. Errors
// become a message and an exit status.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/field.hpp"
#include "core/frame.hpp"

namespace regions {

// Calls run(argc, argv) and returns its exit status. Returns 0 after --help, 2 for invalid
// arguments or files, and 1 for other failures.
int run_program(const char* name, int (*run)(int, char**), int argc, char** argv);

// The functions read() parse a value. They throw InputError if the text is invalid. Numbers must be
// above 0. A list contains values separated by commas.
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
  expects(!values.empty(), "empty list; expected values separated by commas");
}

struct Option {
  const char* name;
  const char* value;  // name of the value in --help; null if the option has no value
  const char* blurb;
  std::function<void(const std::string&)> read;
};
// Returns a function that parses its argument and stores the result in `value`.
template <class T>
std::function<void(const std::string&)> into(T& value) {
  return [&value](const std::string& text) { read(text, value); };
}
// set_parameter() parses the text NAME=VALUE and sets the parameter NAME. setting() returns a
// function that calls set_parameter() for `params`.
void set_parameter(std::span<const Field> fields, void* params, const std::string& text);
template <class P>
std::function<void(const std::string&)> setting(P& params) {
  return [&params](const std::string& text) { set_parameter(fields_of(params), &params, text); };
}

// Parses the options on the command line and returns the other arguments. --help prints `usage`,
// which describes the program and its arguments, and then the table of options.
std::vector<std::string> parse(int argc, char** argv, const char* usage,
                               const std::vector<Option>& options);

}  // namespace regions
