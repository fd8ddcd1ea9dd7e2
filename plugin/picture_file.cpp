// Picture files as frames, decoded by a pipeline of GStreamer's own elements.
#include "plugin/picture_file.hpp"

#include <gst/gst.h>

#include <cstring>
#include <memory>

#include "core/error.hpp"
#include "plugin/frame_map.hpp"

namespace regions {
namespace {

struct Drop {
  void operator()(GstElement* pipeline) const {
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
  }
  void operator()(GstMessage* message) const { gst_message_unref(message); }
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
};

std::string reason_of(GstMessage* message) {
  if (!message) return "nothing came within 30 seconds";
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  const std::string text = error->message;
  g_error_free(error);
  return text;
}

// The sink's first picture.
std::unique_ptr<GstSample, Drop> first_sample(GstElement* pipeline, const std::string& path) {
  gst_element_set_state(pipeline, GST_STATE_PAUSED);  // the sink takes one picture, no more
  GstBus* bus = gst_element_get_bus(pipeline);
  const std::unique_ptr<GstMessage, Drop> message(gst_bus_timed_pop_filtered(
      bus, 30 * GST_SECOND,
      static_cast<GstMessageType>(GST_MESSAGE_ASYNC_DONE | GST_MESSAGE_ERROR | GST_MESSAGE_EOS)));
  gst_object_unref(bus);
  expects(message && GST_MESSAGE_TYPE(message.get()) != GST_MESSAGE_ERROR,
          "cannot read the picture '" + path + "': " + reason_of(message.get()));
  GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  GstSample* sample = nullptr;
  g_object_get(sink, "last-sample", &sample, nullptr);
  gst_object_unref(sink);
  expects(sample && gst_sample_get_buffer(sample), "there is no picture in '" + path + "'");
  return std::unique_ptr<GstSample, Drop>(sample);
}

}  // namespace

ConstFrame PictureFile::frame() const {
  ConstFrame frame;
  frame.plane[0] = pixels.data();
  frame.pitch[0] = static_cast<ptrdiff_t>(size.width) * 3;
  frame.width = size.width;
  frame.height = size.height;
  frame.layout = layout_of(PixelFormat::rgb);
  return frame;
}

PictureFile load_picture(const std::string& path, Size fit) {
  std::string line =
      "filesrc name=file ! decodebin ! videoconvert ! videoscale ! video/x-raw,format=RGB";
  if (fit.area() > 0) {
    line += ",width=" + std::to_string(fit.width) + ",height=" + std::to_string(fit.height) +
            ",pixel-aspect-ratio=1/1";
  }
  GError* error = nullptr;
  const std::unique_ptr<GstElement, Drop> pipeline(
      gst_parse_launch((line + " ! fakesink name=sink").c_str(), &error));
  const std::string problem = error ? error->message : "";
  g_clear_error(&error);
  expects(pipeline && problem.empty(), "cannot decode pictures: " + problem);
  GstElement* file = gst_bin_get_by_name(GST_BIN(pipeline.get()), "file");
  g_object_set(file, "location", path.c_str(), nullptr);
  gst_object_unref(file);

  const auto sample = first_sample(pipeline.get(), path);
  const PictureCaps caps = parse(gst_sample_get_caps(sample.get()));
  const MappedPicture mapped(gst_sample_get_buffer(sample.get()), caps, GST_MAP_READ);
  PictureFile picture;
  picture.size = caps.size;
  const size_t row = static_cast<size_t>(caps.size.width) * 3;
  picture.pixels.resize(row * static_cast<size_t>(caps.size.height));
  for (int y = 0; y < caps.size.height; ++y) {
    std::memcpy(picture.pixels.data() + static_cast<size_t>(y) * row,
                mapped.frame().plane[0] + y * mapped.frame().pitch[0], row);
  }
  return picture;
}

}  // namespace regions
