// One row of benchmark output: a JSON object for programs, or plain text for people.
#pragma once

#include <concepts>
#include <string>

#include "bench/programs/clock.hpp"
#include "core/frame.hpp"

namespace regions {

class Row {
 public:
  Row(const char* what, bool json) : json_(json) { add("what", what); }

  Row& add(const char* key, const std::string& text);
  Row& add(const char* key, const char* text) { return add(key, std::string(text)); }
  Row& add(const char* key, bool value) { return add_json(key, value ? "true" : "false"); }
  Row& add(const char* key, double value, int digits);
  template <std::integral Integer>
  Row& add(const char* key, Integer value) {
    return add_json(key, std::to_string(value));
  }
  Row& add(Size size) { return add("width", size.width).add("height", size.height); }
  Row& add(const Timing& time);  // microseconds
  // Adds a value that is already JSON.
  Row& add_json(const char* key, const std::string& value);
  // Adds text to a plain row. JSON rows ignore it.
  Row& remark(const std::string& text);

  void print() const;

 private:
  bool json_;
  std::string line_;
};

}  // namespace regions
