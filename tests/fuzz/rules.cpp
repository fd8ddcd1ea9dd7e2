// Fuzz target: rules of events as JSON. Rules that are accepted are evaluated for random objects.
#include "core/error.hpp"
#include "core/events/pixel_counts.hpp"
#include "tests/fuzz/input.hpp"

namespace regions::fuzz {
namespace {

constexpr Size kPictures[] = {{640, 480}, {1, 1}, {65535, 3}};

events::Object any_object(Input& in, Size picture) {
  events::Object object;
  object.id = static_cast<uint32_t>(in.below(4));
  object.track = static_cast<uint64_t>(in.below(6));
  object.box.left = in.below(picture.width + 9) - 4;
  object.box.top = in.below(picture.height + 9) - 4;
  object.box.right = object.box.left + 1 + in.below(90);
  object.box.bottom = object.box.top + 1 + in.below(90);
  object.centroid = {object.box.left, object.box.bottom};
  return object;
}

// Runs of labels that may be unknown, at places that may be outside of the picture.
std::vector<PixelRun> any_runs(Input& in, Size picture) {
  std::vector<PixelRun> runs(static_cast<size_t>(in.below(4)));
  const auto any = [&](int usual) {
    return in.one_in(16) ? UINT32_MAX - static_cast<uint32_t>(in.below(4))
                         : static_cast<uint32_t>(in.below(usual));
  };
  for (PixelRun& run : runs) run = {any(5), any(picture.width), any(picture.height), any(90)};
  return runs;
}

void evaluate(const events::Rules& rules, Input& in) {
  const Size picture = in.one_of(std::span(kPictures));
  events::EventDetector detector;
  events::PixelCounts counts;
  int64_t time = 0;
  for (int frame = 0; frame < 20; ++frame) {
    if (frame % 8 == 0) {
      detector.set_rules(events::rules_for(rules, picture));
      counts.forget_rules();
    }
    std::vector<events::Object> objects(static_cast<size_t>(in.below(5)));
    for (events::Object& object : objects) object = any_object(in, picture);
    events::FrameObjects input;
    input.time = time += in.one_in(16) ? -in.below(1 << 30) : in.below(1 << 30);
    input.objects = objects;
    input.is_tracked = !in.one_in(8);
    counts.count_runs(detector.rules(), picture, any_runs(in, picture), objects);
    input.shares = counts.shares();
    input.foreground = counts.foreground();
    for (const double share : input.foreground)
      require(share == -1 || (share >= 0 && share <= 1), "an impossible share of foreground");
    detector.update(input);
    for (const events::ZoneState& zone : detector.zones()) {
      require(zone.count >= 0, "a zone with fewer than no objects");
      require(zone.left <= zone.entered, "more objects left than entered");
    }
    for (const events::Event& event : detector.events())
      require(event.time == time, "an event of another frame");
  }
}

}  // namespace
}  // namespace regions::fuzz

// The text ends at the first byte 0; the bytes after it choose the objects.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace regions;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view text = bytes.substr(0, bytes.find('\0'));
  fuzz::Input in(data + text.size(), size - text.size());
  try {
    fuzz::evaluate(events::parse_rules(text), in);
  } catch (const InputError&) {
  }
  return 0;
}
