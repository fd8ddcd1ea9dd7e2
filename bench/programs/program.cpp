// Parses the command lines of benchmark programs.
#include "bench/programs/program.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "core/faults.hpp"

namespace regions {
namespace {

struct HelpRequested {
  std::string text;
};

template <class Number>
Number number_of(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  expects(error == std::errc() && end == text.data() + text.size() && value > 0,
          "invalid number '" + text + "'; expected a number above 0");
  return value;
}

}  // namespace

int run_program(const char* name, int (*run)(int, char**), int argc, char** argv) {
  try {
    inject_faults_from_environment();
    return run(argc, argv);
  } catch (const HelpRequested& help) {
    std::printf("usage: %s %s", name, help.text.c_str());
    return 0;
  } catch (const InputError& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

void read(const std::string& text, int& value) { value = number_of<int>(text); }
void read(const std::string& text, double& value) { value = number_of<double>(text); }
void read(const std::string& text, PixelFormat& value) { value = format_named(text); }
void read(const std::string& text, Size& value) {
  const size_t separator = text.find('x');
  expects(separator != std::string::npos, "invalid size '" + text + "'; expected WIDTHxHEIGHT");
  value = {number_of<int>(text.substr(0, separator)), number_of<int>(text.substr(separator + 1))};
}

void set_parameter(std::span<const Field> fields, void* params, const std::string& text) {
  const size_t equals = text.find('=');
  expects(equals != std::string::npos, "invalid --set '" + text + "'; expected NAME=VALUE");
  assign_text(find(fields, text.substr(0, equals)), params, text.substr(equals + 1));
}

std::vector<std::string> parse(int argc, char** argv, const char* usage,
                               const std::vector<Option>& options) {
  std::vector<std::string> positional;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help") {
      std::string text = std::string(usage) + "\n";
      for (const Option& option : options) {
        std::string column = std::string("  ") + option.name;
        if (option.value) column += std::string(" ") + option.value;
        column.resize(std::max<size_t>(column.size() + 1, 24), ' ');
        text += column + option.blurb + "\n";
      }
      throw HelpRequested{text};
    }
    if (!word.starts_with("-")) {
      positional.push_back(word);
      continue;
    }
    const auto found = std::find_if(options.begin(), options.end(),
                                    [&](const Option& option) { return word == option.name; });
    expects(found != options.end(), "unknown option '" + word + "' (see --help)");
    expects(!found->value || i + 1 < argc,
            word + " needs a value: " + (found->value ? found->value : ""));
    found->read(found->value ? argv[++i] : "");
  }
  return positional;
}

}  // namespace regions
