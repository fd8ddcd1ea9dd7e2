// Formats the output rows of benchmark programs.
#include "bench/programs/row.hpp"

#include <cstdio>

namespace regions {

Row& Row::add_json(const char* key, const std::string& value) {
  const char* separator = line_.empty() ? "" : json_ ? ", " : "  ";
  line_ += separator + (json_ ? "\"" + std::string(key) + "\": " : std::string(key) + " ") + value;
  return *this;
}

Row& Row::add(const char* key, const std::string& text) {
  if (!json_) return remark(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return add_json(key, quoted + "\"");
}

Row& Row::add(const char* key, double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return add_json(key, text);
}

Row& Row::add(const Timing& time) {
  return add("us", time.median, 3).add("fastest_us", time.fastest, 3).add("runs", time.runs);
}

Row& Row::remark(const std::string& text) {
  if (!json_ && !text.empty()) line_ += (line_.empty() ? "" : "  ") + text;
  return *this;
}

void Row::print() const {
  std::printf(json_ ? "{%s}\n" : "%s\n", line_.c_str());
  std::fflush(stdout);
}

}  // namespace regions
