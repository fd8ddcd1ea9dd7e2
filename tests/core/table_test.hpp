// Requirements for every parameter table; table_test.cpp instantiates it for the algorithms.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/field.hpp"
#include "tests/element_pages.hpp"

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

// A number as the pages write it.
inline std::string documented_number(double value) {
  std::ostringstream text;
  text.precision(10);
  text << value;
  return text.str();
}

// A field's choices or range as the page should list them.
inline std::string documented_choices(const Field& field) {
  if (field.choices.empty()) return "";
  std::string text = field.kind == Kind::flags ? "- Values, joined by `+`:\n" : "- Values:\n";
  for (const Choice& choice : field.choices) {
    text += std::string("  - `") + choice.name + "`: " + choice.blurb + "\n";
  }
  return text;
}
inline std::string documented_range(const Field& field) {
  if (field.kind == Kind::color) return "0x00000000 … 0xffffffff";
  if (field.kind != Kind::integer && field.kind != Kind::real && field.kind != Kind::list) {
    return "";
  }
  return documented_number(field.min) + " … " + documented_number(field.max);
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
  const auto pages = documented_properties(element);
  ASSERT_EQ(pages.size(), fields.size()) << element;
  for (size_t i = 0; i < pages.size(); ++i) {
    const Field& field = fields[i];
    SCOPED_TRACE(field.name);
    const std::string value = to_text(field, field.get(&defaults)), blurb = field.blurb;
    EXPECT_EQ(pages[i].name, field.name);
    EXPECT_EQ(pages[i].value, value.empty() ? "empty" : "`" + value + "`");
    EXPECT_EQ(pages[i].values, documented_choices(field));
    EXPECT_EQ(pages[i].range, documented_range(field));
    EXPECT_EQ(pages[i].blurb, blurb.ends_with(".") ? blurb : blurb + ".");
    EXPECT_EQ(pages[i].flags, field.live() ? "writable, changeable while playing, controllable"
                              : field.change == Change::renegotiated
                                  ? "writable, changeable while playing (new caps)"
                                  : "writable in the states NULL and READY");
  }
}

REGISTER_TYPED_TEST_SUITE_P(Tables, NamesBlurbsAndDefaultsAreSound, LimitsAndChoicesAreTaken,
                            AreAsDocumented);

}  // namespace regions
