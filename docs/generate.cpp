// Writes docs/elements.md: every property of every element, read from the Field tables.
//
//   ninja -C build && build/docs/generate > docs/elements.md
#include <cmath>
#include <cstdio>
#include <string>

#include "plugin/engine.hpp"
#include "plugin/settings.hpp"

namespace regions {
// As in plugin.cpp: the list stands in meson.build.
#define X(name) const ElementSpec& name##_element();
REGIONS_ALGORITHMS
#undef X
namespace {

// A vertical bar would end a table's cell.
std::string escaped(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string number(double value) {
  char text[32];
  const bool whole = value == std::floor(value);
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%g", value);
  return text;
}

std::string values_of(const Field& field) {
  if (!field.choices.empty()) {
    std::string text;
    for (const Choice& choice : field.choices) {
      text += std::string(text.empty() ? "" : "<br>") + "`" + choice.name + "`: " + choice.blurb;
    }
    return field.kind == Kind::flags ? text + "<br>any of them, joined by `+`" : text;
  }
  if (field.kind == Kind::flag) return "`true`, `false`";
  if (field.kind == Kind::text) return "text";
  if (field.kind == Kind::color) return "0x00000000 … 0xffffffff";
  return number(field.min) + " … " + number(field.max);
}

const char* while_playing(Change change) {
  switch (change) {
    case Change::live:
      return "yes";
    case Change::renegotiated:
      return "yes, with new caps";
    case Change::stopped:
      return "no";
  }
  return "";
}

// `value_of` gives a field's default.
template <class ValueOf>
void print_section(const std::string& title, const std::string& text, std::span<const Field> fields,
                   ValueOf value_of) {
  std::printf("\n## %s\n\n%s\n\n", title.c_str(), text.c_str());
  std::puts("| property | default | values | meaning | while playing |\n|---|---|---|---|---|");
  for (const Field& field : fields) {
    std::printf("| `%s` | `%s` | %s | %s | %s |\n", field.name,
                to_text(field, value_of(field)).c_str(), escaped(values_of(field)).c_str(),
                escaped(field.blurb).c_str(), while_playing(field.change));
  }
}

void print_element(const ElementSpec& spec) {
  const auto engine = spec.make_engine();
  const std::string name = spec.name;
  print_section(name,
                std::string(spec.description) + ".\n\n![What `" + name +
                    "` makes of a clip](pictures/" + name + ".jpg)",
                engine->fields(), [&](const Field& field) { return engine->get(field); });
}

void print_document() {
  std::puts(
      "# Elements and their properties\n\n"
      "Written by `docs/generate.cpp` from the tables that the elements themselves use; a test "
      "fails when it is out of date. \"While playing\" tells whether a property may be set in "
      "PLAYING; the others want READY or NULL. With new caps: what follows is asked whether it "
      "takes "
      "them, and if it does not, a warning says so and the old value stays; no frame is lost, and "
      "a background model goes on. `gst-inspect-1.0 cclabel` shows the same.");
#define X(name) print_element(name##_element());
  REGIONS_ALGORITHMS
#undef X
  const FilterSettings settings;
  print_section(
      "Every element",
      "Besides these two can be read: `active-device`, the device that does the work, such as "
      "`cpu: 2 threads` or `cuda:0 NVIDIA H200`; `stats`, a structure that counts since READY "
      "`frames-in`, `frames-out`, `frames-late` (left out by QoS), `frames-dropped` (by a flush, a "
      "stop or an error), with the `latency` (ns) and the `work-time` that the device took for the "
      "frames that left, in all (ns; a GPU tells it of every sixteenth frame, and the others count "
      "as much; while several streams share a device, with what they waited for each other).\n\n"
      "With a rectangle or `process-scale` the algorithm sees a smaller picture, made of means. "
      "What "
      "it finds comes back in the whole picture's coordinates: label maps, masks and replaced "
      "pictures by nearest pixels and 0 outside the rectangle; pictures that are drawn on keep "
      "every pixel that the drawing did not change. Sides of the rectangle move outwards to whole "
      "samples of chroma. On the CPU, label maps and masks that are attached stay as small as the "
      "algorithm saw them until a reader maps them. Boxes are exact; areas and centroids are, too, "
      "where the rectangle's "
      "sides "
      "are multiples of the smaller picture's. Setting one of the five begins a new scene for the "
      "algorithm: it forgets what it learnt, a background model as well as tracks, but ids go on; "
      "a "
      "rectangle that only moves allocates nothing. Not with `depth` or `thresholds`.\n\n"
      "What was learnt of earlier frames is forgotten after a flush, where the picture's size or "
      "format changes, and where timestamps jump by more than `max-gap`; not for lost frames, nor "
      "for caps of another frame rate or pixel shape. But for flushes and READY, no id of a track "
      "is used twice.\n\n"
      "A frame that is too short for a picture, or an empty one marked as a gap, passes as it came "
      "and without regions; where the picture is replaced, a blank one leaves, marked as a gap. It "
      "ends a volume. The first that is no gap gives a warning.\n\n"
      "The latency of live pipelines is what volumes wait for, known by the caps, and the longest "
      "work that was seen, with a quarter more; what downstream keeps frames waiting for is no "
      "part "
      "of it. Frames too late for downstream (QoS, unless `qos=false`) are left out, of volumes "
      "all "
      "or none, of windows none.",
      fields_of(settings), [&](const Field& field) { return field.get(&settings); });
}

}  // namespace
}  // namespace regions

int main() { regions::print_document(); }
