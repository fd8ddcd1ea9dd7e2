// Reading bench/algorithms' command line; parameters of the algorithm come from its Field table.
#include "bench/options.hpp"

#include <charconv>
#include <functional>
#include <regex>

#include "bench/program.hpp"

namespace regions {
namespace {

template <class Number>
Number number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  expects(error == std::errc() && end == text.data() + text.size() && value >= 0,
          "not a number: '" + std::string(text) + "'");
  return value;
}

Size size_of(const std::string& text) {
  const size_t cross = text.find('x');
  expects(cross != std::string::npos, "a size is WIDTHxHEIGHT, not '" + text + "'");
  return {number_of<int>(text.substr(0, cross)), number_of<int>(text.substr(cross + 1))};
}

// "1", "2" or "all".
int threads_of(const std::string& text) { return text == "all" ? 0 : number_of<int>(text); }

bool table_of(const std::string& text) {
  expects(text == "labels" || text == "table", "a task is labels or table, not '" + text + "'");
  return text == "table";
}

// A value of the parameter `name`, as its table reads it.
template <class Choice>
Choice choice_of(const char* name, const std::string& text) {
  CcLabelParams params;
  const Field& field = find(fields_of(params), name);
  assign_text(field, &params, text);
  return static_cast<Choice>(std::get<int64_t>(field.get(&params)));
}

template <class Parse>
auto list_of(const std::string& text, Parse parse_one) {
  std::vector<decltype(parse_one(text))> list;
  for (const std::string& part : split(text)) list.push_back(parse_one(part));
  expects(!list.empty(), "an empty list");
  return list;
}

void set_parameter(CcLabelParams& params, const std::string& text) {
  const size_t equals = text.find('=');
  expects(equals != std::string::npos, "--set wants NAME=VALUE, not '" + text + "'");
  assign_text(find(fields_of(params), text.substr(0, equals)), &params, text.substr(equals + 1));
}

struct Option {
  const char* name;
  const char* value;  // what it wants, in words; null if nothing
  const char* blurb;
  std::function<void(Options&, const std::string&)> read;
};

const std::vector<Option>& table() {
  static const std::vector<Option> options = {
      {"--backend", "LIST", "cpu, cuda (default: those that work here)",
       [](Options& o, const std::string& v) { o.backends = split(v); }},
      {"--threads", "LIST", "CPU threads (default: 1,2,all)",
       [](Options& o, const std::string& v) { o.threads = list_of(v, threads_of); }},
      {"--content", "LIST", "pictures by name (default: the 21 contents)",
       [](Options& o, const std::string& v) { o.content = split(v); }},
      {"--size", "LIST", "WIDTHxHEIGHT (default: 512x512 to 4096x4096)",
       [](Options& o, const std::string& v) { o.sizes = list_of(v, size_of); }},
      {"--connectivity", "LIST", "4, 8 (default: both)",
       [](Options& o, const std::string& v) {
         o.connectivity = list_of(
             v, [](const std::string& t) { return choice_of<Connectivity>("connectivity", t); });
       }},
      {"--criterion", "LIST", "default: binary,difference",
       [](Options& o, const std::string& v) {
         o.criteria =
             list_of(v, [](const std::string& t) { return choice_of<Criterion>("criterion", t); });
       }},
      {"--task", "LIST", "labels, table (default: both)",
       [](Options& o, const std::string& v) { o.tables = list_of(v, table_of); }},
      {"--format", "NAME", "pixel format of `binary` as in caps (default: GRAY8)",
       [](Options& o, const std::string& v) { o.format = format_named(v); }},
      {"--filter", "REGEX", "only cases whose name matches",
       [](Options& o, const std::string& v) { o.filter = v; }},
      {"--set", "NAME=VALUE", "a parameter of cclabel; may be repeated",
       [](Options& o, const std::string& v) { set_parameter(o.params, v); }},
      {"--runs", "N", "timings behind a median (default: 30)",
       [](Options& o, const std::string& v) { o.effort.least_runs = number_of<int>(v); }},
      {"--seconds", "S", "most seconds on one CPU case (default: 1)",
       [](Options& o, const std::string& v) { o.effort.seconds = number_of<double>(v); }},
      {"--check", "N", "no timing: compares N runs of each frame with the CPU's answer",
       [](Options& o, const std::string& v) { o.repeats = number_of<int>(v); }},
      {"--json", nullptr, "one JSON object a line",
       [](Options& o, const std::string&) { o.json = true; }},
      {"--list", nullptr, "names the cases and stops",
       [](Options& o, const std::string&) { o.list = true; }},
      {"--help", nullptr, "this text", [](Options& o, const std::string&) { o.help = true; }}};
  return options;
}

std::vector<std::string> contents_for(const Options& options, Criterion criterion) {
  if (!options.content.empty()) return options.content;
  const auto names = criterion == Criterion::binary ? contents() : tone_contents();
  return {names.begin(), names.end()};
}

}  // namespace

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const Option* found = nullptr;
    for (const Option& option : table()) {
      if (word == option.name) found = &option;
    }
    expects(found != nullptr, "unknown option '" + word + "'");
    expects(!found->value || i + 1 < count, word + " wants " + (found->value ? found->value : ""));
    found->read(options, found->value ? words[++i] : "");
  }
  expects(options.effort.least_runs > 0, "--runs wants at least 1");
  return options;
}

std::string usage() {
  std::string text = "usage: algorithms [OPTION…]\nTimes cclabel on generated pictures.\n";
  for (const Option& option : table()) {
    std::string left = std::string("  ") + option.name + (option.value ? " " : "") +
                       (option.value ? option.value : "");
    left.resize(std::max<size_t>(left.size() + 1, 24), ' ');
    text += left + option.blurb + "\n";
  }
  return text;
}

std::vector<Case> cases_of(const Options& options) {
  const std::regex filter(options.filter);
  std::vector<Case> cases;
  for (const Criterion criterion : options.criteria) {
    for (const Size size : options.sizes) {
      for (const std::string& content : contents_for(options, criterion)) {
        for (const Connectivity connectivity : options.connectivity) {
          for (const bool with_table : options.tables) {
            Case task{
                .content = content, .size = size, .params = options.params, .table = with_table};
            task.format = criterion == Criterion::binary ? options.format : PixelFormat::rgb;
            task.params.criterion = criterion;
            task.params.connectivity = connectivity;
            task.params.output = CcOutput::none;
            if (std::regex_search(task.name(), filter)) cases.push_back(std::move(task));
          }
        }
      }
    }
  }
  return cases;
}

}  // namespace regions
