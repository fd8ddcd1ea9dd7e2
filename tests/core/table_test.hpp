// What every algorithm's parameter table must be. Each has a table_test.cpp that names its struct.
#pragma once

#include <gtest/gtest.h>

#include <set>

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
    for (const Choice& choice : field.choices) {
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

REGISTER_TYPED_TEST_SUITE_P(Tables, NamesBlurbsAndDefaultsAreSound, LimitsAndChoicesAreTaken);

}  // namespace regions
