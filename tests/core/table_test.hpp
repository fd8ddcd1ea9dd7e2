// What every parameter table must be; table_test.cpp instantiates it for the algorithms.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "core/field.hpp"

namespace regions {

// Text of a field's value survives being read into fresh parameters.
template <class P>
void expect_round_trip(std::span<const Field> fields, const P& params) {
  P copy;
  for (const Field& field : fields) {
    const std::string text = to_text(field, field.get(&params));
    assign_text(field, &copy, text);
    EXPECT_EQ(field.get(&copy), field.get(&params)) << field.name << "=" << text;
  }
}

// The rows of an element's table in docs/elements.md, a cell's text each.
inline std::vector<std::vector<std::string>> documented_rows(const std::string& element) {
  std::vector<std::vector<std::string>> rows;
  const char* docs = std::getenv("REGIONS_DOCS");
  EXPECT_NE(docs, nullptr) << "REGIONS_DOCS names no folder of documents";
  if (!docs) return rows;
  std::ifstream document(std::string(docs) + "/elements.md");
  bool is_inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("## ")) is_inside = line == "## " + element;
    if (!is_inside || !line.starts_with("| `")) continue;
    std::vector<std::string>& cells = rows.emplace_back();
    for (size_t begin = 2, end = 0; (end = line.find(" |", begin)) != line.npos; begin = end + 3) {
      cells.push_back(line.substr(begin, end - begin));
    }
  }
  return rows;
}

// What the document should say of a field's values.
inline std::string documented_values(const Field& field) {
  std::ostringstream text;
  text.precision(10);
  for (const Choice& choice : field.choices) {
    text << (text.tellp() > 0 ? "<br>" : "") << "`" << choice.name << "`: " << choice.blurb;
  }
  if (field.kind == Kind::flags) text << "<br>any of them, joined by `+`";
  if (field.kind == Kind::flag) text << "`true`, `false`";
  if (field.kind == Kind::text) text << "text";
  if (field.kind == Kind::color) text << "0x00000000 … 0xffffffff";
  if (text.tellp() == 0) text << field.min << " … " << field.max;
  return text.str();
}

template <class P>
class Tables : public testing::Test {};
TYPED_TEST_SUITE_P(Tables);

TYPED_TEST_P(Tables, NamesBlurbsAndDefaultsAreSound) {
  const TypeParam params;
  std::set<std::string> names;
  for (const Field& field : fields_of(params)) {
    const std::string name = field.name, blurb = field.blurb;
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string::npos) << name;
    EXPECT_FALSE(blurb.empty()) << name;
    const bool counts = field.kind == Kind::integer || field.kind == Kind::color;
    if (counts || field.kind == Kind::real) {
      EXPECT_NE(blurb.find('('), std::string::npos) << name << ": the blurb names no unit";
      EXPECT_LT(field.min, field.max) << name;
    }
    EXPECT_EQ(field.kind == Kind::choice || field.kind == Kind::flags, !field.choices.empty());
    TypeParam copy;
    EXPECT_NO_THROW(assign(field, &copy, field.get(&params))) << name << ": default refused";
  }
  expect_round_trip(fields_of(params), params);
}

TYPED_TEST_P(Tables, LimitsAndChoicesAreTaken) {
  const TypeParam defaults{};
  for (const Field& field : fields_of(defaults)) {
    TypeParam params;
    std::set<int64_t> values;
    for (const Choice& choice : field.choices) {
      EXPECT_TRUE(values.insert(choice.value).second) << field.name << "=" << choice.name;
      assign_text(field, &params, choice.name);
      EXPECT_EQ(std::get<int64_t>(field.get(&params)), choice.value) << field.name;
    }
    for (const double limit : {field.min, field.max}) {
      if (field.kind == Kind::real) assign(field, &params, limit);
      if (field.kind == Kind::integer || field.kind == Kind::color) {
        assign(field, &params, static_cast<int64_t>(limit));
        EXPECT_EQ(static_cast<double>(std::get<int64_t>(field.get(&params))), limit) << field.name;
      }
    }
  }
}

// The suite is named as the element.
TYPED_TEST_P(Tables, AreAsDocumented) {
  std::string element = testing::UnitTest::GetInstance()->current_test_suite()->name();
  element.resize(element.find('/'));
  const TypeParam defaults{};
  const std::span<const Field> fields = fields_of(defaults);
  const auto rows = documented_rows(element);
  ASSERT_EQ(rows.size(), fields.size()) << element;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Field& field = fields[i];
    ASSERT_EQ(rows[i].size(), 5u) << field.name;
    EXPECT_EQ(rows[i][0], "`" + std::string(field.name) + "`");
    EXPECT_EQ(rows[i][1], "`" + to_text(field, field.get(&defaults)) + "`") << field.name;
    EXPECT_EQ(rows[i][2], documented_values(field)) << field.name;
    EXPECT_EQ(rows[i][3], field.blurb);
    EXPECT_EQ(rows[i][4], field.live()                           ? "yes"
                          : field.change == Change::renegotiated ? "yes, with new caps"
                                                                 : "no")
        << field.name;
  }
}

REGISTER_TYPED_TEST_SUITE_P(Tables, NamesBlurbsAndDefaultsAreSound, LimitsAndChoicesAreTaken,
                            AreAsDocumented);

}  // namespace regions
