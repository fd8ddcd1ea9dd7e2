// Reads the properties from the pages in docs/elements.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace regions {

// The lines of a property on its page; empty if the page has no such line.
struct DocumentedProperty {
  std::string name, blurb, type, value, values, range, flags;
};

// The properties on a page ("cclabel", "all-elements"), in the order of the page. REGIONS_DOCS is
// the path of the folder docs.
inline std::vector<DocumentedProperty> documented_properties(const std::string& page) {
  std::vector<DocumentedProperty> all;
  const char* docs = std::getenv("REGIONS_DOCS");
  EXPECT_NE(docs, nullptr) << "REGIONS_DOCS is not set";
  std::ifstream file(std::string(docs ? docs : "docs") + "/elements/" + page + ".md");
  EXPECT_TRUE(file.good()) << "docs/elements/" << page << ".md cannot be read";
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    const auto rest = [&](const char* begin, std::string& text) {
      if (line.starts_with(begin)) text = line.substr(std::string(begin).size());
    };
    if (line.starts_with("## ")) is_inside = line == "## Properties";
    if (!is_inside) continue;
    if (line.starts_with("### ")) all.emplace_back().name = line.substr(4);
    if (all.empty() || line.empty()) continue;
    DocumentedProperty& now = all.back();
    if (now.blurb.empty() && !line.starts_with("### ")) now.blurb = line;
    rest("- Type: ", now.type);
    rest("- Default: ", now.value);
    rest("- Range: ", now.range);
    rest("- Flags: ", now.flags);
    if (line.starts_with("- Values")) now.values = line + "\n";
    if (line.starts_with("  - ")) now.values += line + "\n";
  }
  return all;
}

}  // namespace regions
