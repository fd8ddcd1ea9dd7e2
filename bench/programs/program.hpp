// What main() of every benchmark does: words become numbers, errors a line and an exit status.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace regions {

// The exit status of run(count, words): its own; 2 for words it does not understand or files it
// cannot take, 1 for what failed later.
inline int run_program(const char* name, int (*run)(int, char**), int count, char** words) {
  try {
    return run(count, words);
  } catch (const InputError& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

// Throws InputError for anything but a number above 0.
inline int whole_number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  expects(error == std::errc() && end == text.data() + text.size() && value > 0,
          "not a whole number above 0: '" + text + "'");
  return value;
}

// The parts of a list with commas.
inline std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

inline std::vector<int> whole_numbers(const std::string& text) {
  std::vector<int> numbers;
  for (const std::string& part : split(text)) numbers.push_back(whole_number(part));
  return numbers;
}

}  // namespace regions
