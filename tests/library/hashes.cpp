// Prints a hash of everything that each algorithm writes on the CPU, for each pixel format and for
// other values of each property. `tools/on arm64` compares the lines of two machines.
#include <cstdio>

#include "tests/library/frame_settings.hpp"

namespace regions::test {
namespace {

constexpr int kFrames = 6;  // models and tracks depend on earlier frames

// FNV-1a.
uint64_t hash_of(uint64_t hash, const Bytes& bytes) {
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 1099511628211u;
  return hash;
}

void print_hash(const Settings& settings, const FrameSettings& kind, const std::string& name,
                const std::string& property = {}, const std::string& value = {}) {
  const Filter filter = opened(settings);
  RegionsStatus status = REGIONS_OK;
  if (!property.empty()) status = regions_set(filter.get(), property.c_str(), value.c_str());
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < kFrames && status == REGIONS_OK; ++i) {
    FrameSettings frame = kind;
    frame.shift = i * 10;
    FrameOutputs outputs = outputs_of(filter.get(), settings.algorithm, frame);
    status = outputs.status;
    hash = hash_of(hash, outputs.bytes);
  }
  std::printf("%s %s: ", settings.algorithm.c_str(), name.c_str());
  if (status == REGIONS_OK) {
    std::printf("%016llx\n", static_cast<unsigned long long>(hash));
  } else {
    std::printf("%s\n", regions_error());
  }
}

// Values of a property as text. Lists and texts have no values that are valid for all of them.
std::vector<std::string> values_of(const Field& field) {
  std::vector<std::string> values;
  switch (field.kind) {
    case Kind::choice:
    case Kind::flags:
      for (const Choice& choice : field.choices) values.emplace_back(choice.name);
      break;
    case Kind::flag:
      values = {"false", "true"};
      break;
    case Kind::integer:
      values = {std::to_string(static_cast<int64_t>(field.min + 3))};
      break;
    case Kind::real:
      values = {std::to_string(field.min + 0.3 * (field.max - field.min))};
      break;
    case Kind::color:
      values = {"0x60ff8040"};
      break;
    case Kind::text:
    case Kind::list:
      break;
  }
  return values;
}

void print_hashes(const KnownAlgorithm& algorithm, const Settings& settings) {
  FrameSettings kind;
  kind.width = 203;
  kind.height = 67;
  kind.borders = settings.has_borders;
  kind.runs = settings.has_runs ? 3000 : 0;
  for (int i = 0; i < kPixelFormats; ++i) {
    kind.in = kind.out = static_cast<PixelFormat>(i);
    print_hash(settings, kind, "format=" + std::string(name_of(kind.in)));
  }
  kind.in = kind.out = PixelFormat::nv12;
  for (const Field& field : algorithm.fields) {
    for (const std::string& value : values_of(field)) {
      print_hash(settings, kind, field.name + ("=" + value), field.name, value);
    }
  }
}

}  // namespace
}  // namespace regions::test

int main() {
  using namespace regions::test;
  for (const Settings& settings : kSettings) {
    for (const regions::KnownAlgorithm& algorithm : regions::kAlgorithms) {
      if (algorithm.name == settings.algorithm) print_hashes(algorithm, settings);
    }
  }
}
