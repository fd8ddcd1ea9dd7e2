// Field tables: every parameter by text and back, limits, refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"
#include "tests/core/table_test.hpp"

namespace regions {
namespace {

// Every kind of field, as no algorithm has yet.
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

TEST(Fields, EveryKindSurvivesText) {
  Sample sample;
  expect_round_trip(sample_fields(), sample);
  sample = {false, -5, 1.0 / 3, Sample::Fruit::pear, 6, {7}, "", {}};
  expect_round_trip(sample_fields(), sample);
  sample.list = {0, 1e-9, 9};
  expect_round_trip(sample_fields(), sample);
}

TEST(Fields, TextsAreAsTyped) {
  const Sample sample;
  const auto fields = sample_fields();
  const char* expected[] = {"true",     "3",          "0.25",   "apple",
                            "one+four", "0xff00b140", "a text", "<1,2.5>"};
  for (size_t k = 0; k < fields.size(); ++k) {
    EXPECT_EQ(to_text(fields[k], fields[k].get(&sample)), expected[k]) << fields[k].name;
  }
}

TEST(Fields, RefusesWhatIsOutsideAndKeepsTheOldValue) {
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

TEST(Fields, MessagesNameFieldAndValue) {
  Sample sample;
  try {
    assign(find(sample_fields(), "number"), &sample, int64_t{12});
    FAIL() << "12 was taken";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "number is 12, must be in -5..10");
  }
  try {
    find(sample_fields(), "nummer");
    FAIL() << "nummer was found";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("'nummer'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("number, real"), std::string::npos);
  }
}

TEST(Fields, RefusesValuesOfAnotherType) {
  Sample sample;
  EXPECT_THROW(assign(find(sample_fields(), "number"), &sample, 3.0), InputError);
  EXPECT_THROW(assign(find(sample_fields(), "real"), &sample, int64_t{0}), InputError);
  EXPECT_THROW(assign(find(sample_fields(), "real"), &sample, std::nan("")), InputError);
}

}  // namespace
}  // namespace regions
