// Builds the benchmark cases of cclabel from the command line. Parameter values are parsed with the
// Field table of cclabel.
#include "bench/programs/cases.hpp"

#include <cstring>
#include <regex>

namespace regions {
namespace {

template <class T>
auto list_into(std::vector<T>& list, T (*parse_one)(const std::string&)) {
  return [&list, parse_one](const std::string& text) {
    std::vector<std::string> parts;
    read(text, parts);
    list.clear();
    for (const std::string& part : parts) list.push_back(parse_one(part));
  };
}

// Parses "1", "2" or "all"; returns 0 for "all".
int thread_count(const std::string& text) {
  int count = 0;
  if (text != "all") read(text, count);
  return count;
}

bool is_table_task(const std::string& text) {
  expects(text == "labels" || text == "table",
          "invalid task '" + text + "'; expected labels or table");
  return text == "table";
}

// Parses a value of the parameter `name` with its Field table.
int64_t parse_choice(const char* name, const std::string& text) {
  CcLabelParams params;
  const Field& field = find(fields_of(params), name);
  assign_text(field, &params, text);
  return std::get<int64_t>(field.get(&params));
}

std::vector<std::string> contents_for(const Options& options, Criterion criterion) {
  if (!options.content.empty()) return options.content;
  const auto names = criterion == Criterion::binary ? contents() : tone_contents();
  return {names.begin(), names.end()};
}

}  // namespace

std::string Case::value_name(std::string_view parameter) const {
  const Field& field = find(fields_of(params), parameter);
  const int64_t value = std::get<int64_t>(field.get(&params));
  for (const Choice& choice : field.choices) {
    if (choice.value == value) return choice.name;
  }
  throw InputError(std::string(parameter) + " has no named value");
}

std::string Case::name() const {
  return value_name("criterion") + "-" + value_name("connectivity") +
         (table ? "-table/" : "-labels/") + content + "/" + std::to_string(size.width) + "x" +
         std::to_string(size.height);
}

size_t Case::min_bytes() const {
  const Layout& layout = layout_of(format);
  size_t bytes = size.area() * sizeof(uint32_t);
  for (int p = 0; p < layout.planes; ++p) {
    bytes += row_bytes(layout, p, size) * static_cast<size_t>(row_count(layout, p, size));
  }
  return bytes;
}

int Case::frames_beyond_l2() const {
  if (size.area() <= size_t{1024} * 768) return 8;
  return size.area() <= size_t{1920} * 1080 ? 12 : 4;
}

Row Case::row(const char* what, const std::string& implementation, const std::string& backend,
              int threads, uint32_t regions, bool correct, bool json) const {
  Row row(what, json);
  row.add("by", implementation).add("backend", backend).add("threads", threads);
  row.add("criterion", value_name("criterion"));
  row.add("connectivity", static_cast<int>(params.connectivity));
  row.add("task", table ? "table" : "labels").add("format", std::string(name_of(format)));
  row.add("content", content).add(size).add("bytes", min_bytes()).add("regions", regions);
  return row.add("correct", correct);
}

CcLabelTestStand make_test_stand(const Case& test_case, const std::shared_ptr<Backend>& backend,
                                 std::span<const Picture> pictures, int frames) {
  Setup setup{.in = layout_of(test_case.format), .size = test_case.size};
  plan(test_case.params, setup);
  if (backend->kind() == BackendKind::cuda) setup.slots = frames;
  CcLabelTestStand test_stand(backend, setup, test_case.params, frames,
                              {.records = test_case.table});
  for (int frame = 0; frame < frames; ++frame) {
    test_stand.set_input(frame, pictures[static_cast<size_t>(frame) % pictures.size()].frame());
  }
  test_stand.overwrite_outputs();
  return test_stand;
}

std::vector<Picture> mirrored(const Picture& picture) {
  const auto width = static_cast<size_t>(picture.size.width);
  const auto height = static_cast<size_t>(picture.size.height);
  const size_t pixel = picture.pixels.size() / picture.size.area();
  std::vector<Picture> variants(4, picture);
  for (size_t v = 1; v < variants.size(); ++v) {
    for (size_t y = 0; y < height; ++y) {
      const uint8_t* from = &picture.pixels[(v & 2 ? height - 1 - y : y) * width * pixel];
      uint8_t* to = &variants[v].pixels[y * width * pixel];
      if (!(v & 1)) {
        std::memcpy(to, from, width * pixel);
        continue;
      }
      for (size_t x = 0; x < width; ++x) {
        std::memcpy(to + x * pixel, from + (width - 1 - x) * pixel, pixel);
      }
    }
  }
  return variants;
}

Options options_of(int argc, char** argv) {
  Options options;
  const auto connectivity = [](const std::string& text) {
    return static_cast<Connectivity>(parse_choice("connectivity", text));
  };
  const auto criterion = [](const std::string& text) {
    return static_cast<Criterion>(parse_choice("criterion", text));
  };
  const std::vector<std::string> positional = parse(
      argc, argv, "[OPTION…]\nTimes the labelling of generated pictures.",
      {{"--backend", "LIST", "cpu, cuda (default: all that work here)", into(options.backends)},
       {"--threads", "LIST", "CPU threads (default: 1,2,all)",
        list_into(options.threads, thread_count)},
       {"--content", "LIST", "names of pictures (default: the 21 contents)", into(options.content)},
       {"--size", "LIST", "WIDTHxHEIGHT (default: 512x512 to 4096x4096)", into(options.sizes)},
       {"--connectivity", "LIST", "4, 8 (default: both)",
        list_into<Connectivity>(options.connectivity, connectivity)},
       {"--criterion", "LIST", "default: binary,difference",
        list_into<Criterion>(options.criteria, criterion)},
       {"--task", "LIST", "labels, table (default: both)",
        list_into(options.table_choices, is_table_task)},
       {"--format", "NAME", "pixel format of `binary`, as in caps (default: GRAY8)",
        into(options.format)},
       {"--filter", "REGEX", "run only cases whose name matches", into(options.filter)},
       {"--set", "NAME=VALUE", "parameter of cclabel; may be repeated", setting(options.params)},
       {"--runs", "N", "timings per median (default: 30)", into(options.effort.max_timings)},
       {"--seconds", "S", "time limit of one CPU case (default: 1)", into(options.effort.seconds)},
       {"--check", "N", "compare N runs of each frame with the CPU's answer, without timing",
        into(options.repeats)},
       {"--json", nullptr, "print one JSON object per line", into(options.json)},
       {"--list", nullptr, "print the names of the cases and exit", into(options.list)}});
  expects(positional.empty(), "unexpected argument '" + (positional.empty() ? "" : positional[0]) +
                                  "'; expected options (see --help)");
  return options;
}

std::vector<Case> cases_of(const Options& options) {
  const std::regex filter(options.filter);
  std::vector<Case> cases;
  for (const Criterion criterion : options.criteria) {
    for (const Size size : options.sizes) {
      for (const std::string& content : contents_for(options, criterion)) {
        for (const Connectivity connectivity : options.connectivity) {
          for (const bool with_table : options.table_choices) {
            Case test_case{
                .content = content, .size = size, .params = options.params, .table = with_table};
            test_case.format = criterion == Criterion::binary ? options.format : PixelFormat::rgb;
            test_case.params.criterion = criterion;
            test_case.params.connectivity = connectivity;
            test_case.params.output = CcOutput::none;
            if (std::regex_search(test_case.name(), filter)) cases.push_back(std::move(test_case));
          }
        }
      }
    }
  }
  return cases;
}

std::vector<int> threads_of(const Options& options, int cores) {
  std::vector<int> counts;
  for (const int wanted : options.threads) {
    const int threads = wanted == 0 ? cores : wanted;
    if (threads <= cores && (counts.empty() || counts.back() != threads)) counts.push_back(threads);
  }
  return counts;
}

}  // namespace regions
