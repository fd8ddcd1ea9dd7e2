// The main() of every benchmark program: a table describes the options, and errors become a message
// and an exit status.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/field.hpp"
#include "core/frame.hpp"

namespace regions {

// Returns the exit status of run(argc, argv); 0 after --help, 2 for invalid arguments or files,
// and 1 for later failures.
int run_program(const char* name, int (*run)(int, char**), int argc, char** argv);

// Throw InputError unless the text is a number above 0, a size, or a list of them.
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
// Stores the text in the value.
template <class T>
std::function<void(const std::string&)> into(T& value) {
  return [&value](const std::string& text) { read(text, value); };
}
// NAME=VALUE sets a parameter through its Field table.
void set_parameter(std::span<const Field> fields, void* params, const std::string& text);
template <class P>
std::function<void(const std::string&)> setting(P& params) {
  return [&params](const std::string& text) { set_parameter(fields_of(params), &params, text); };
}

// Reads the options among the words and returns the other words. --help prints `usage`, which
// describes those words and the program, and the table.
std::vector<std::string> parse(int argc, char** argv, const char* usage,
                               const std::vector<Option>& options);

}  // namespace regions
