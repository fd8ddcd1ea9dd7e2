// Fuzz target: texts for every field of every algorithm. What is taken is within the field's limits
// and comes back from its own text.
#include <cmath>
#include <set>

#include "plugin/stream/element_settings.hpp"
#include "tests/algorithms.hpp"
#include "tests/fuzz/input.hpp"

namespace regions::fuzz {
namespace {

void expect_within_limits(const Field& field, const Value& value) {
  const auto inside = [&](double v) { return v >= field.min && v <= field.max; };
  switch (field.kind) {
    case Kind::integer:
    case Kind::color:
      return require(inside(static_cast<double>(std::get<int64_t>(value))), "beyond its limits");
    case Kind::real:
      return require(inside(std::get<double>(value)), "beyond its limits");
    case Kind::list:
      for (const double v : std::get<std::vector<double>>(value)) require(inside(v), "beyond");
      return;
    case Kind::choice: {
      std::set<int64_t> known;
      for (const Choice& choice : field.choices) known.insert(choice.value);
      return require(known.contains(std::get<int64_t>(value)), "no choice of the field");
    }
    default:
      return;
  }
}

Value any_value(Input& in) {
  switch (in.below(5)) {
    case 0:
      return in.one_in(2);
    case 1:
      return static_cast<int64_t>(in.one_in(2) ? in.integer() : static_cast<int64_t>(in.word(8)));
    case 2: {
      constexpr double kStrange[] = {NAN, INFINITY, -INFINITY, -0.0, 1e308, 5e-324};
      return in.one_in(2) ? in.fraction() : kStrange[in.below(6)];
    }
    case 3:
      return in.text(40);
    default: {
      std::vector<double> numbers(static_cast<size_t>(in.below(200)));
      for (double& n : numbers) n = in.one_in(16) ? NAN : in.fraction();
      return numbers;
    }
  }
}

template <class P>
void run(Input& in) {
  P params, other;
  const std::span<const Field> fields = fields_of(params);
  while (!in.empty()) {
    const Field& field = in.one_of(fields);
    const Value before = field.get(&params);
    try {
      switch (in.below(4)) {
        case 0:
          assign(field, &params, any_value(in));
          break;
        case 1:
          assign_text(field, &params, in.text(60));
          break;
        default:
          assign_text(field, &params, value_text(field, in));
      }
    } catch (const InputError&) {
      require(field.get(&params) == before, "a value that was refused has changed the parameter");
      continue;
    }
    const Value value = field.get(&params);
    expect_within_limits(field, value);
    const std::string text = to_text(field, value);
    assign_text(field, &other, text);
    require(field.get(&other) == value, "a value's text is another value");
    require(to_text(field, field.get(&other)) == text, "a value's text has another text");
  }
}

}  // namespace
}  // namespace regions::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace regions;
  fuzz::Input in(data, size);
  constexpr void (*kRuns[])(fuzz::Input&) = {fuzz::run<FilterSettings>,
#define X(name) fuzz::run<name::Params>,
                                             REGIONS_ALGORITHMS
#undef X
  };
  in.one_of(kRuns)(in);
  return 0;
}
