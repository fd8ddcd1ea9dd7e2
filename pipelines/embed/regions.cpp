// A C++ application that reads the regions and the label map of every frame, and changes a property
// while the pipeline is playing. Smart pointers release the GStreamer objects.
//
//   c++ -std=c++20 regions.cpp $(pkg-config --cflags --libs gstreamer-1.0 gstreamer-app-1.0)
//   pipelines/with-plugin ./a.out FILE
//
// Prints one line per frame. After frame 10, the threshold is raised to 0.8: only pixels with at
// least 80 % of full brightness belong to regions.
#include <gst/app/gstappsink.h>
#include <gst/gst.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int kChangeAt = 10;
constexpr double kNewThreshold = 0.8;

template <auto release>
struct Release {
  void operator()(auto* lent) const { release(lent); }
};
using Element = std::unique_ptr<GstElement, Release<gst_object_unref>>;
using Bus = std::unique_ptr<GstBus, Release<gst_object_unref>>;
using Sample = std::unique_ptr<GstSample, Release<gst_sample_unref>>;
using Message = std::unique_ptr<GstMessage, Release<gst_message_unref>>;
using Error = std::unique_ptr<GError, Release<g_error_free>>;

struct Region {
  guint label = 0;
  guint64 area = 0;
};

std::vector<Region> regions_of(const GstStructure* found) {
  const GValue* array = gst_structure_get_value(found, "regions");
  std::vector<Region> regions(gst_value_array_get_size(array));
  for (guint i = 0; i < regions.size(); ++i) {
    const GstStructure* item = gst_value_get_structure(gst_value_array_get_value(array, i));
    gst_structure_get(item, "id", G_TYPE_UINT, &regions[i].label, "area", G_TYPE_UINT64,
                      &regions[i].area, nullptr);
  }
  return regions;
}

// The label of every pixel, row by row. labels() is valid during the lifetime of this object. A
// label map in CPU memory is not copied; a label map on a GPU is downloaded.
class LabelMap {
 public:
  explicit LabelMap(const GstStructure* found)
      : buffer_(
            static_cast<GstBuffer*>(g_value_get_boxed(gst_structure_get_value(found, "labels")))) {
    if (!gst_buffer_map(buffer_, &map_, GST_MAP_READ))
      throw std::runtime_error("cannot map the label map for reading");
  }
  LabelMap(const LabelMap&) = delete;
  ~LabelMap() { gst_buffer_unmap(buffer_, &map_); }
  std::span<const uint32_t> labels() const {
    return {reinterpret_cast<const uint32_t*>(map_.data), map_.size / sizeof(uint32_t)};
  }

 private:
  GstBuffer* buffer_;  // belongs to the metadata
  GstMapInfo map_;
};

void print_frame(int number, GstBuffer* buffer) {
  GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, "regions");
  if (!meta)
    throw std::runtime_error("frame " + std::to_string(number) + " has no `regions` metadata");
  const GstStructure* found = gst_custom_meta_get_structure(meta);
  const std::vector<Region> regions = regions_of(found);
  Region largest;
  for (const Region& region : regions)
    if (region.area > largest.area) largest = region;
  const LabelMap map(found);
  std::cout << "frame " << number << ": " << regions.size() << " regions, the largest is region "
            << largest.label << " with " << largest.area << " pixels ("
            << (largest.label ? std::ranges::count(map.labels(), largest.label) : 0)
            << " in the label map)\n";
}

void label(const char* path) {
  GError* problem = nullptr;
  const Element pipeline(gst_parse_launch(
      "filesrc name=file ! decodebin ! videoconvert ! cclabel name=labeller output=none"
      " ! appsink name=frames sync=false max-buffers=2",
      &problem));
  if (const Error error(problem); error) throw std::runtime_error(error->message);
  const auto named = [&](const char* name) {
    return Element(gst_bin_get_by_name(GST_BIN(pipeline.get()), name));
  };
  const Element labeller = named("labeller"), frames = named("frames");
  g_object_set(named("file").get(), "location", path, nullptr);
  // Stops the pipeline before its destruction, also after an exception.
  const std::unique_ptr<GstElement,
                        decltype([](GstElement* p) { gst_element_set_state(p, GST_STATE_NULL); })>
      playing(pipeline.get());
  gst_element_set_state(playing.get(), GST_STATE_PLAYING);

  const Bus bus(gst_element_get_bus(pipeline.get()));
  GstAppSink* sink = GST_APP_SINK(frames.get());
  int number = 0;
  do {
    // Pull with a timeout: after an error, no more frames arrive.
    if (const Message message{gst_bus_pop_filtered(bus.get(), GST_MESSAGE_ERROR)}) {
      gst_message_parse_error(message.get(), &problem, nullptr);
      throw std::runtime_error(Error(problem)->message);
    }
    const Sample sample{gst_app_sink_try_pull_sample(sink, GST_SECOND / 10)};
    if (!sample) continue;
    print_frame(number, gst_sample_get_buffer(sample.get()));
    if (++number == kChangeAt) g_object_set(labeller.get(), "threshold", kNewThreshold, nullptr);
  } while (!gst_app_sink_is_eos(sink));
}

}  // namespace

int main(int argc, char* argv[]) {
  gst_init(&argc, &argv);
  if (argc != 2) {
    std::cerr << "usage: regions FILE\n";
    return 2;
  }
  try {
    label(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << "regions: " << error.what() << '\n';
    return 1;
  }
}
