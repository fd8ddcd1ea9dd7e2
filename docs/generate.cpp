// Writes the reference of the elements: docs/elements.md, which lists them, and a page for each in
// docs/elements.
//
//   build/docs/generate docs          writes the pages
//   build/docs/generate docs --check  compares them instead, and names the first line that differs
//
// Each page comes from a template in docs/elements (NAME.md.in), which has the text that is written
// by hand. A line of the template that is one of these words is replaced:
//
//   @elements@     a section for each element: its description, its picture and a link to its page
//   @description@  the element's description
//   @pads@         its pads, and the caps of their templates
//   @properties@   its properties, from its Field table
//
// It also writes docs/events.md and docs/rules.schema.json from the tables of core/events.
#include <gst/gst.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "core/events/detector.hpp"
#include "plugin/elements/regionevents.hpp"
#include "plugin/memory/cuda_memory.hpp"
#include "plugin/stream/element_algorithm.hpp"
#include "plugin/stream/element_settings.hpp"

namespace regions {
// As in plugin.cpp: meson.build has the list.
#define X(name) const ElementSpec& name##_element();
REGIONS_ALGORITHMS
#undef X
namespace {

namespace fs = std::filesystem;

const char* const kAllElements =
    "all-elements";  // the page of the properties that every element has
using Pages = std::map<std::string, std::string>;  // [path below docs] its text

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  expects(file.good(), "cannot read " + path.string() + "; each element needs a template there");
  return {std::istreambuf_iterator<char>(file), {}};
}

// ---- properties

std::string number(double value) {
  char text[32];
  const bool whole = value == std::floor(value);
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%g", value);
  return text;
}

// In the order of Kind.
constexpr const char* kTypes[] = {"boolean", "integer",          "double", "enumeration",
                                  "flags",   "unsigned integer", "string", "array of doubles"};

// A blurb has the unit in parentheses at the end of a sentence.
std::string unit_of(const std::string& blurb) {
  for (size_t open = 0; (open = blurb.find('(', open)) != blurb.npos; ++open) {
    const size_t close = blurb.find(')', open);
    if (close == blurb.npos) break;
    const std::string rest = blurb.substr(close + 1);
    if (rest.empty() || rest == "." || rest.starts_with(". ")) {
      return blurb.substr(open + 1, close - open - 1);
    }
  }
  return "";
}

const char* flags_of(Change change) {
  switch (change) {
    case Change::live:
      return "writable, changeable while playing, controllable";
    case Change::renegotiated:
      return "writable, changeable while playing (new caps)";
    case Change::stopped:
      return "writable in the states NULL and READY";
  }
  return "";
}

void print_values(std::ostream& page, const Field& field) {
  if (!field.choices.empty()) {
    page << (field.kind == Kind::flags ? "- Values, joined by `+`:\n" : "- Values:\n");
    for (const Choice& choice : field.choices) {
      page << "  - `" << choice.name << "`: " << choice.blurb << "\n";
    }
  }
  if (field.kind == Kind::color) page << "- Range: 0x00000000 … 0xffffffff\n";
  if (field.kind == Kind::integer || field.kind == Kind::real || field.kind == Kind::list) {
    page << "- Range: " << number(field.min) << " … " << number(field.max) << "\n";
    if (const std::string unit = unit_of(field.blurb); !unit.empty()) {
      page << "- Unit: " << unit << "\n";
    }
  }
}

// `value_of` gives a field's default.
template <class ValueOf>
std::string properties(std::span<const Field> fields, ValueOf value_of) {
  std::ostringstream page;
  for (const Field& field : fields) {
    const std::string blurb = field.blurb, value = to_text(field, value_of(field));
    page << (page.tellp() > 0 ? "\n" : "") << "### " << field.name << "\n\n"
         << blurb << (blurb.ends_with(".") ? "" : ".")
         << "\n\n- Type: " << kTypes[static_cast<size_t>(field.kind)]
         << "\n- Default: " << (value.empty() ? "empty" : "`" + value + "`") << "\n";
    print_values(page, field);
    page << "- Flags: " << flags_of(field.change) << "\n";
  }
  return page.str();
}

// ---- pads

std::string without_braces(std::string formats) {
  for (const char* brace : {"{ ", " }"}) {
    if (const size_t at = formats.find(brace); at != formats.npos) formats.erase(at, 2);
  }
  return formats;
}

// The names of a list of strings, or the one string.
std::string strings_of(const GValue* value) {
  if (G_VALUE_HOLDS_STRING(value)) return g_value_get_string(value);
  std::string text;
  for (guint i = 0; i < gst_value_list_get_size(value); ++i) {
    text += (text.empty() ? "" : ", ") + strings_of(gst_value_list_get_value(value, i));
  }
  return text;
}

std::string range_of(const GstStructure* structure, const char* field) {
  const GValue* range = gst_structure_get_value(structure, field);
  return std::string(field) + " " + std::to_string(gst_value_get_int_range_min(range)) + " … " +
         std::to_string(gst_value_get_int_range_max(range));
}

// Builds without CUDA have this line too: these caps are known without a device.
std::string cuda_caps(const std::string& size) {
  return std::string("- `video/x-raw(") + kCudaFeature +
         ")`, if the plugin was built with CUDA: " + without_braces(cuda_memory_formats()) + "; " +
         size + "\n";
}

std::string pads(const std::string& element) {
  std::ostringstream page;
  GstElementFactory* factory = gst_element_factory_find(element.c_str());
  expects(factory != nullptr, "GStreamer does not know " + element);
  for (const GList* l = gst_element_factory_get_static_pad_templates(factory); l; l = l->next) {
    auto* pad = static_cast<GstStaticPadTemplate*>(l->data);
    page << (page.tellp() > 0 ? "\n" : "") << "`" << pad->name_template << "` ("
         << (pad->direction == GST_PAD_SINK ? "input" : "output") << ", always there):\n\n";
    GstCaps* caps = gst_static_pad_template_get_caps(pad);
    std::string size;
    for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
      if (gst_caps_features_contains(gst_caps_get_features(caps, i), kCudaFeature)) continue;
      const GstStructure* structure = gst_caps_get_structure(caps, i);
      size =
          range_of(structure, "width") + ", " + range_of(structure, "height") + ", any framerate";
      page << "- `" << gst_structure_get_name(structure)
           << "`: " << strings_of(gst_structure_get_value(structure, "format")) << "; " << size
           << "\n";
    }
    page << cuda_caps(size);
    gst_caps_unref(caps);
  }
  gst_object_unref(factory);
  return page.str();
}

// ---- rules of events

// A table of the keys of a zone or a line.
template <class P>
std::string keys_of() {
  const P defaults;
  std::ostringstream table;
  table << "| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const Field& field : fields_of(defaults)) {
    table << "| `" << field.name << "` | ";
    if (field.kind == Kind::flag) {
      table << "boolean";
    } else if (field.kind == Kind::choice) {
      for (const Choice& choice : field.choices)
        table << (&choice == field.choices.data() ? "`" : ", `") << choice.name << "`";
    } else {
      table << number(field.min) << " … " << number(field.max);
    }
    table << " | `" << to_text(field, field.get(&defaults)) << "` | " << field.blurb;
    for (const Choice& choice : field.choices)
      table << " `" << choice.name << "`: " << choice.blurb << ".";
    table << " |\n";
  }
  return table.str();
}

std::string table_of(const char* title, std::span<const Choice> choices) {
  std::string table = std::string("| ") + title + " | meaning |\n|---|---|\n";
  for (const Choice& choice : choices)
    table += std::string("| `") + choice.name + "` | " + choice.blurb + " |\n";
  return table;
}

// The JSON Schema of the keys of a zone or a line.
template <class P>
std::string key_schemas() {
  const P defaults;
  std::ostringstream schema;
  for (const Field& field : fields_of(defaults)) {
    schema << ",\n        \"" << field.name << "\": {";
    if (field.kind == Kind::flag) {
      schema << "\"type\": \"boolean\"";
    } else if (field.kind == Kind::choice) {
      schema << "\"enum\": [";
      for (const Choice& choice : field.choices)
        schema << (&choice == field.choices.data() ? "\"" : ", \"") << choice.name << "\"";
      schema << "]";
    } else {
      schema << "\"type\": \"" << (field.kind == Kind::integer ? "integer" : "number")
             << "\", \"minimum\": " << number(field.min) << ", \"maximum\": " << number(field.max);
    }
    const std::string value = to_text(field, field.get(&defaults));
    const std::string quote = field.kind == Kind::choice ? "\"" : "";
    schema << ", \"default\": " << quote << value << quote << ", \"description\": \"" << field.blurb
           << "\"}";
  }
  return schema.str();
}

// Replaces each word once.
std::string rules_schema(const fs::path& docs) {
  std::string text = text_of(docs / "rules.schema.json.in");
  for (const auto& [word, keys] :
       {std::pair<std::string, std::string>{"@zone-keys@", key_schemas<events::Zone>()},
        {"@line-keys@", key_schemas<events::Line>()}}) {
    const size_t at = text.find(word);
    expects(at != text.npos, "docs/rules.schema.json.in: missing " + word);
    text.replace(at, word.size(), keys);
  }
  return text;
}

// ---- pages

std::string description_of(const ElementSpec& spec) { return std::string(spec.description) + "."; }

// The template with its words replaced; all of them, and each once.
std::string filled(const fs::path& path, std::map<std::string, std::string> words) {
  std::istringstream lines(text_of(path));
  std::string page = "<!-- Written by docs/generate.cpp from " + path.filename().string() +
                     " and the elements' tables: edit those. -->\n";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("@")) {
      const auto word = words.find(line);
      expects(word != words.end(), path.string() + ": " + line + " is unknown or there twice");
      line = word->second;
      if (line.ends_with("\n")) line.pop_back();
      words.erase(word);
    }
    page += line + "\n";
  }
  for (const auto& [word, text] : words) {
    throw InputError(path.string() + ": missing line " + word);
  }
  return page;
}

// The properties of all elements that have another default value in this element.
std::string own_defaults(const FilterSettings& settings) {
  const FilterSettings common;
  std::vector<Field> fields;
  for (const Field& field : fields_of(settings)) {
    if (field.get(&settings) != field.get(&common)) fields.push_back(field);
  }
  return (fields.empty() ? "" : "\n") +
         properties(fields, [&](const Field& field) { return field.get(&settings); });
}

Pages pages_from(const fs::path& docs) {
  Pages pages;
  std::string index;
  const auto add = [&](const ElementSpec& spec) {
    const std::string name = spec.name;
    const auto engine = spec.make_element_algorithm();
    index += (index.empty() ? "## " : "\n## ") + name + "\n\n" + description_of(spec) +
             "\n\n![The output of `" + name + "` for a clip](pictures/" + name +
             ".jpg)\n\n[Pads, properties, tuning and limits of " + name + "](elements/" + name +
             ".md)\n";
    pages["elements/" + name + ".md"] =
        filled(docs / "elements" / (name + ".md.in"),
               {{"@description@", description_of(spec)},
                {"@pads@", pads(name)},
                {"@properties@", properties(engine->fields(), [&](const Field& field) {
                                   return engine->get(field);
                                 }) + own_defaults(spec.settings)}});
  };
#define X(name) add(name##_element());
  REGIONS_ALGORITHMS
#undef X
  const RegionEventsParams params;
  const std::string events = std::string(kRegionEventsDescription) + ".";
  index += "\n## regionevents (metadata only)\n\n" + events +
           "\n\n![The output of `regionevents ! regionoverlay` for a clip]"
           "(pictures/regionevents.jpg)\n\n[Properties, results and limits of "
           "regionevents](elements/regionevents.md)\n";
  pages["elements/regionevents.md"] = filled(
      docs / "elements" / "regionevents.md.in",
      {{"@description@", events},
       {"@properties@",
        properties(fields_of(params), [&](const Field& field) { return field.get(&params); })}});
  const FilterSettings settings;
  const std::string all = std::string("elements/") + kAllElements + ".md";
  pages[all] = filled(docs / (all + ".in"),
                      {{"@properties@", properties(fields_of(settings), [&](const Field& field) {
                          return field.get(&settings);
                        })}});
  pages["events.md"] =
      filled(docs / "events.md.in", {{"@zone-keys@", keys_of<events::Zone>()},
                                     {"@line-keys@", keys_of<events::Line>()},
                                     {"@event-types@", table_of("event", events::kEventTypes)},
                                     {"@scene-changes@", table_of("change", kSceneChanges)}});
  pages["rules.schema.json"] = rules_schema(docs);
  pages["elements.md"] = filled(docs / "elements" / "elements.md.in", {{"@elements@", index}});
  return pages;
}

void write(const Pages& pages, const fs::path& docs) {
  for (const auto& [path, text] : pages) {
    std::ofstream file(docs / path, std::ios::binary);
    file << text;
    expects(file.good(), "cannot write " + (docs / path).string());
  }
}

// Prints the first line of a page that differs from the one in the tree; false if there is one.
bool is_same(const std::string& path, const std::string& text, const std::string& there) {
  std::istringstream wanted(text), found(there);
  std::string line, other;
  for (int count = 1;; ++count) {
    const bool more = !!std::getline(wanted, line), others = !!std::getline(found, other);
    if (!more && !others) return true;
    if (more && others && line == other) continue;
    std::cout << "docs/" << path << ":" << count << ": is out of date; run `generate docs`\n-"
              << (others ? other : "(end)") << "\n+" << (more ? line : "(end)") << "\n";
    return false;
  }
}

bool check(const Pages& pages, const fs::path& docs) {
  bool same = true;
  for (const auto& [path, text] : pages) {
    same &= is_same(path, text, fs::exists(docs / path) ? text_of(docs / path) : "");
  }
  for (const auto& entry : fs::directory_iterator(docs / "elements")) {
    const std::string path = "elements/" + entry.path().filename().string();
    if (entry.path().extension() != ".md" || pages.contains(path)) continue;
    std::cout << "docs/" << path << ":1: belongs to no element\n";
    same = false;
  }
  return same;
}

}  // namespace
}  // namespace regions

extern "C" void gst_plugin_regions_register();

int main(int argc, char** argv) {
  g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE);  // no other plugin is needed
  gst_init(nullptr, nullptr);
  gst_plugin_regions_register();
  const bool checks = argc == 3 && std::string(argv[2]) == "--check";
  if (argc != 2 && !checks) {
    std::cerr << "usage: generate DOCS [--check]\n";
    return 2;
  }
  try {
    const regions::Pages pages = regions::pages_from(argv[1]);
    if (checks) return regions::check(pages, argv[1]) ? 0 : 1;
    regions::write(pages, argv[1]);
  } catch (const std::exception& error) {
    std::cerr << "generate: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
