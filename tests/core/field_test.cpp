// Parameter tables: conversion to and from text, limits, messages, and documentation.
#include "core/field.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "core/error.hpp"
#include "tests/algorithms.hpp"
#include "tests/core/error_message.hpp"
#include "tests/element_pages.hpp"

namespace regions {
namespace {

// Converts each value to text and back.
template <class P>
void expect_round_trip(std::span<const Field> fields, const P& params) {
  P copy;
  for (const Field& field : fields) {
    const std::string text = to_text(field, field.get(&params));
    assign_text(field, &copy, text);
    EXPECT_EQ(field.get(&copy), field.get(&params)) << field.name << "=" << text;
  }
}

// Parameters with every kind of field.
struct Sample {
  enum class Fruit : uint8_t { apple, pear };
  bool flag = true;
  int number = 3;
  double real = 0.25;
  Fruit fruit = Fruit::apple;
  uint32_t bits = 5;
  Argb color = {0xFF00B140};
  std::string text = "a text";
  std::vector<double> list = {1, 2.5};
};

constexpr Choice kFruits[] = {{0, "apple", "An apple"}, {1, "pear", "A pear"}};
constexpr Choice kBits[] = {{1, "one", "1"}, {2, "two", "2"}, {4, "four", "4"}};

std::vector<Field> sample_fields() {
  return {field<Sample, &Sample::flag>("flag", "A flag"),
          field<Sample, &Sample::number>("number", "A number (count)", {-5, 10}),
          field<Sample, &Sample::real>("real", "A real (fraction)", {0, 1}),
          field<Sample, &Sample::fruit>("fruit", "A fruit", {}, kFruits, Change::stopped),
          field<Sample, &Sample::bits>("bits", "Some bits", {1, 7}, kBits),
          field<Sample, &Sample::color>("color", "A colour (0xAARRGGBB)"),
          field<Sample, &Sample::text>("text", "A text"),
          field<Sample, &Sample::list>("list", "A list (pixels)", {0, 9})};
}

TEST(ParameterFields, EveryValueType_ConvertedToTextAndBack_IsEqual) {
  Sample sample;
  expect_round_trip(sample_fields(), sample);
  sample = {false, -5, 1.0 / 3, Sample::Fruit::pear, 6, {7}, "", {}};
  expect_round_trip(sample_fields(), sample);
  sample.list = {0, 1e-9, 9};
  expect_round_trip(sample_fields(), sample);
}

TEST(ParameterFields, ToText_EveryValueType_ReturnsThePropertyText) {
  const Sample sample;
  const auto fields = sample_fields();
  const char* expected[] = {"true",     "3",          "0.25",   "apple",
                            "one+four", "0xff00b140", "a text", "<1,2.5>"};
  for (size_t k = 0; k < fields.size(); ++k) {
    EXPECT_EQ(to_text(fields[k], fields[k].get(&sample)), expected[k]) << fields[k].name;
  }
}

TEST(ParameterFields, AssignText_InvalidText_ThrowsAndKeepsTheValue) {
  struct Case {
    const char *name, *text;
  };
  const auto fields = sample_fields();
  for (const auto& [name, text] : {Case{"flag", "1"},  {"flag", ""},
                                   {"number", "11"},   {"number", "-6"},
                                   {"number", "3.5"},  {"number", "x"},
                                   {"number", ""},     {"number", "99999999999999999999"},
                                   {"real", "1.01"},   {"real", "-0.01"},
                                   {"real", "nan"},    {"real", "inf"},
                                   {"real", "0,5"},    {"fruit", "plum"},
                                   {"fruit", "1"},     {"bits", "one+three"},
                                   {"bits", "8"},      {"list", "1,2"},
                                   {"list", "<1,10>"}, {"list", "<nan>"},
                                   {"list", "<1;2>"},  {"list", "<"},
                                   {"color", "0x"},    {"color", "0x1ff00b140"},
                                   {"color", "-1"},    {"color", "4294967296"},
                                   {"color", "green"}, {"color", "0xfg"}}) {
    Sample sample;
    const Field& field = find(fields, name);
    const Value before = field.get(&sample);
    EXPECT_THROW(assign_text(field, &sample, text), InputError) << name << "=" << text;
    EXPECT_EQ(field.get(&sample), before) << name << "=" << text;
  }
}

TEST(ParameterFields, AssignText_ValidText_ChangesTheValue) {
  struct Case {
    const char *name, *text, *kept;
  };
  const auto fields = sample_fields();
  for (const auto& [name, text, kept] : {Case{"flag", "false", "false"},
                                         {"number", "10", "10"},
                                         {"number", "-5", "-5"},
                                         {"real", "1e0", "1"},
                                         {"real", "0", "0"},
                                         {"real", "0.1", "0.1"},
                                         {"fruit", "pear", "pear"},
                                         {"bits", "four+one", "one+four"},
                                         {"bits", "two", "two"},
                                         {"bits", "one+two+four", "one+two+four"},
                                         {"bits", "two+", "two"},
                                         {"bits", "", ""},
                                         {"color", "0XFFFFFFFF", "0xffffffff"},
                                         {"color", "0xa", "0x0000000a"},
                                         {"color", "4294967295", "0xffffffff"},
                                         {"color", "0", "0x00000000"},
                                         {"text", "", ""},
                                         {"text", "<1,2>", "<1,2>"},
                                         {"list", "<>", "<>"},
                                         {"list", "<9>", "<9>"},
                                         {"list", "<0,  9, 0.5>", "<0,9,0.5>"}}) {
    Sample sample;
    const Field& field = find(fields, name);
    EXPECT_NO_THROW(assign_text(field, &sample, text)) << name << "=" << text;
    EXPECT_EQ(to_text(field, field.get(&sample)), kept) << name << "=" << text;
  }
}

TEST(ParameterFields, Assign_InvalidValue_ErrorNamesTheField) {
  struct Case {
    const char *name, *text, *message;
  };
  const auto fields = sample_fields();
  for (const auto& [name, text, message] :
       {Case{"flag", "True", "flag cannot be 'True'"},
        {"number", "12", "number is 12; it must be in -5..10"},
        {"number", "-6", "number is -6; it must be in -5..10"},
        {"number", "1 ", "number cannot be '1 '"},
        {"real", "1.5", "real is 1.5; it must be in 0..1"},
        {"real", "1e400", "real cannot be '1e400'"},
        {"real", "nan", "real is nan; it must be in 0..1"},
        {"fruit", "plum", "fruit cannot be 'plum'"},
        {"bits", "one+plum", "bits cannot be 'plum'"},
        {"color", "-1", "color is -1; it must be in 0..4294967295"},
        {"color", "0xg", "color cannot be '0xg'"},
        {"color", "0x1 ", "color cannot be '0x1 '"},
        {"list", "1", "list cannot be '1'"},
        {"list", "1>", "list cannot be '1>'"},
        {"list", "<1", "list cannot be '<1'"},
        {"list", "<", "list cannot be '<'"},
        {"list", "", "list cannot be ''"},
        {"list", "<1,,2>", "list cannot be ''"},
        {"list", "<1,10>", "list is 10; it must be in 0..9"},
        {"list", "<-1,2>", "list is -1; it must be in 0..9"}}) {
    Sample sample;
    EXPECT_EQ(error_message_of([&] { assign_text(find(fields, name), &sample, text); }), message);
  }
  Sample sample;
  const auto give = [&](const char* name, const Value& value) {
    return error_message_of([&] { assign(find(fields, name), &sample, value); });
  };
  EXPECT_EQ(give("fruit", int64_t{2}), "fruit is 2; it must be one of: apple, pear");
  EXPECT_EQ(give("fruit", int64_t{-1}), "fruit is -1; it must be one of: apple, pear");
  EXPECT_EQ(give("bits", int64_t{8}), "bits is 8; it must be one of: one, two, four");
  EXPECT_EQ(give("bits", int64_t{-1}), "bits is -1; it must be one of: one, two, four");
  EXPECT_EQ(give("bits", int64_t{7}), "");
  EXPECT_EQ(give("number", 3.0), "number: the value has the wrong type");
  EXPECT_EQ(error_message_of([&] { find(fields, "nummer"); }),
            "unknown parameter 'nummer'; the parameters are: flag, number, real, fruit, bits, "
            "color, text, "
            "list");
  EXPECT_EQ(to_text(find(fields, "fruit"), int64_t{7}), "7") << "an unknown value";
}

TEST(ParameterFields, NumberList_MoreNumbersThanItHolds_Throws) {
  using List = NumberList<3>;
  const std::vector<double> full = {5, 6, 7};
  EXPECT_EQ(std::vector<double>(List(full)), full);
  EXPECT_EQ(List(full).count, 3);
  EXPECT_EQ(error_message_of([] { List(std::vector<double>(4)); }),
            "a list holds up to 3 numbers, not 4");
}

TEST(ParameterFields, Assign_ValueOfAnotherType_Throws) {
  Sample sample;
  EXPECT_THROW(assign(find(sample_fields(), "number"), &sample, 3.0), InputError);
  EXPECT_THROW(assign(find(sample_fields(), "real"), &sample, int64_t{0}), InputError);
  EXPECT_THROW(assign(find(sample_fields(), "real"), &sample, std::nan("")), InputError);
}

// A number in the style of the pages.
std::string documented_number(double value) {
  std::ostringstream text;
  text.precision(10);
  text << value;
  return text.str();
}

// The choices or the range of a field in the style of the pages.
std::string documented_choices(const Field& field) {
  if (field.choices.empty()) return "";
  std::string text = field.kind == Kind::flags ? "- Values, joined by `+`:\n" : "- Values:\n";
  for (const Choice& choice : field.choices) {
    text += std::string("  - `") + choice.name + "`: " + choice.blurb + "\n";
  }
  return text;
}
std::string documented_range(const Field& field) {
  if (field.kind == Kind::color) return "0x00000000 … 0xffffffff";
  if (field.kind != Kind::integer && field.kind != Kind::real && field.kind != Kind::list) {
    return "";
  }
  return documented_number(field.min) + " … " + documented_number(field.max);
}

struct ElementNames {
  template <class P>
  static std::string GetName(int index) {
    return kAlgorithms[index].name;
  }
};

// The parameter table of each algorithm.
template <class P>
class ParameterTable : public testing::Test {};
#define X(name) , name::Params
template <class First, class... Rest>
struct AllBut {
  using Types = testing::Types<Rest...>;
};
using AllParams = AllBut<void REGIONS_ALGORITHMS>::Types;
#undef X
TYPED_TEST_SUITE(ParameterTable, AllParams, ElementNames);

TYPED_TEST(ParameterTable, EachField_NameIsUniqueBlurbHasAUnitDefaultIsAccepted) {
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

TYPED_TEST(ParameterTable, EachField_LowestHighestAndEachNamedValue_AreAccepted) {
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

// The suite is named "ParameterTable/" and the element.
TYPED_TEST(ParameterTable, EachField_DefaultRangeAndBlurb_EqualTheDocumentedOnes) {
  std::string element = testing::UnitTest::GetInstance()->current_test_suite()->name();
  element.erase(0, element.find('/') + 1);
  const TypeParam defaults{};
  const std::span<const Field> fields = fields_of(defaults);
  auto pages = documented_properties(element);
  // A property of all elements is on this page, too, if its default value differs here.
  const auto common = documented_properties("all-elements");
  std::erase_if(pages, [&](const DocumentedProperty& property) {
    return std::ranges::find(common, property.name, &DocumentedProperty::name) != common.end();
  });
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

}  // namespace
}  // namespace regions
