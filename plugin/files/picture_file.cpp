// Picture files as frames, each kind decoded by the one element that is for it: what looks for a
// decoder by itself would also follow playlists into the network.
#include "plugin/files/picture_file.hpp"

#include <gst/gst.h>
#include <gst/video/video.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "plugin/files/portable_anymap.hpp"
#include "plugin/files/regular_file.hpp"

namespace regions {
namespace {

constexpr size_t kMaxBytes = size_t{256} << 20;
constexpr int kMaxSize = 16384;  // pixels each way

struct Drop {
  void operator()(GstElement* pipeline) const {
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
  }
  void operator()(GstBus* bus) const { gst_object_unref(bus); }
  void operator()(GstMessage* message) const { gst_message_unref(message); }
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
};
using Pipeline = std::unique_ptr<GstElement, Drop>;

struct PictureKind {
  const char* caps;
  const char* decoder;
  const char* package;  // of Debian
};

// By the bytes that files of each kind begin with.
const PictureKind* kind_of(std::string_view bytes) {
  static constexpr PictureKind kPng = {"image/png", "pngdec", "gstreamer1.0-plugins-good"};
  static constexpr PictureKind kJpeg = {"image/jpeg", "jpegdec", "gstreamer1.0-plugins-good"};
  static constexpr PictureKind kWebp = {"image/webp", "webpdec", "gstreamer1.0-plugins-bad"};
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return &kPng;
  if (bytes.starts_with("\xff\xd8\xff")) return &kJpeg;
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP")) return &kWebp;
  return nullptr;
}

bool is_anymap(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
         g_ascii_isspace(bytes[2]);
}

MissingFile missing(const std::string& path) {
  return MissingFile("there is no picture '" + path + "'");
}

void expects_readable(bool holds, const std::string& message) {
  if (!holds) throw UnreadableFile(message);
}

std::vector<std::byte> picture_bytes(const std::string& path) {
  const std::string too_large =
      "the picture '" + path + "' is larger than " + std::to_string(kMaxBytes >> 20) + " MiB";
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  expects_readable(none || size <= kMaxBytes, too_large);  // before much is read for nothing
  auto bytes = read_file(path, kMaxBytes + 1);
  if (!bytes) throw missing(path);
  expects_readable(bytes->size() <= kMaxBytes, too_large);
  return std::move(*bytes);
}

// From a file's bytes to a picture.
std::string decoding(const PictureKind& kind, const std::string& path) {
  GstElementFactory* factory = gst_element_factory_find(kind.decoder);
  expects(factory != nullptr, "cannot decode the picture '" + path + "': the element " +
                                  kind.decoder + " is missing, of " + kind.package);
  gst_object_unref(factory);
  const std::string sides = "(int)[1," + std::to_string(kMaxSize) + "]";
  // In a segment of time decoders take a buffer for a picture; in one of bytes jpegdec looks for
  // its ends, without end where two pictures seem to begin and none ends.
  return std::string("appsrc name=file format=time caps=") + kind.caps + " ! " + kind.decoder +
         " ! video/x-raw,width=" + sides + ",height=" + sides + " ! videoconvert";
}

// `source` begins with the element `file`.
Pipeline make_pipeline(const std::string& source, Size fit) {
  std::string line = source + " ! videoscale add-borders=false ! video/x-raw,format=RGB";
  if (fit.area() > 0) {
    line += ",width=" + std::to_string(fit.width) + ",height=" + std::to_string(fit.height) +
            ",pixel-aspect-ratio=1/1";
  }
  GError* error = nullptr;
  Pipeline pipeline(gst_parse_launch((line + " ! fakesink name=sink").c_str(), &error));
  const std::string problem = error ? error->message : "";
  g_clear_error(&error);
  expects(pipeline && problem.empty(), "cannot decode pictures: " + problem);
  return pipeline;
}

// `bytes` must outlive the pipeline.
void feed(GstElement* pipeline, const std::vector<std::byte>& bytes) {
  GstBuffer* buffer =
      gst_buffer_new_wrapped_full(GST_MEMORY_FLAG_READONLY, const_cast<std::byte*>(bytes.data()),
                                  bytes.size(), 0, bytes.size(), nullptr, nullptr);
  GstElement* file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
  GstFlowReturn flow = GST_FLOW_OK;
  g_signal_emit_by_name(file, "push-buffer", buffer, &flow);
  g_signal_emit_by_name(file, "end-of-stream", &flow);
  gst_buffer_unref(buffer);
  gst_object_unref(file);
}

std::string reason_of(GstMessage* message) {
  if (!message) return "nothing came within 30 seconds";
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_APPLICATION) return "interrupted";
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  const std::string text = error->message;
  g_error_free(error);
  return text + " (pictures have up to " + std::to_string(kMaxSize) + " pixels each way)";
}

// The sink's first picture.
std::unique_ptr<GstSample, Drop> first_sample(GstElement* pipeline, const std::string& path,
                                              std::stop_token stop) {
  const std::unique_ptr<GstBus, Drop> bus(gst_element_get_bus(pipeline));
  const std::stop_callback wake(std::move(stop), [&] {
    gst_bus_post(bus.get(), gst_message_new_application(nullptr, gst_structure_new_empty("stop")));
  });
  gst_element_set_state(pipeline, GST_STATE_PAUSED);  // the sink takes one picture, no more
  const std::unique_ptr<GstMessage, Drop> message(gst_bus_timed_pop_filtered(
      bus.get(), 30 * GST_SECOND,
      static_cast<GstMessageType>(GST_MESSAGE_ASYNC_DONE | GST_MESSAGE_ERROR | GST_MESSAGE_EOS |
                                  GST_MESSAGE_APPLICATION)));
  const GstMessageType type = message ? GST_MESSAGE_TYPE(message.get()) : GST_MESSAGE_ERROR;
  if (type == GST_MESSAGE_ERROR || type == GST_MESSAGE_APPLICATION) {
    throw UnreadableFile("cannot read the picture '" + path + "': " + reason_of(message.get()));
  }
  GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  GstSample* sample = nullptr;
  g_object_get(sink, "last-sample", &sample, nullptr);
  gst_object_unref(sink);
  expects_readable(sample && gst_sample_get_buffer(sample),
                   "the file holds no picture: '" + path + "'");
  return std::unique_ptr<GstSample, Drop>(sample);
}

PictureFile picture_of(GstSample* sample, const std::string& path) {
  GstVideoInfo info;
  GstVideoFrame frame;
  expects(gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) &&
              gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ),
          "the picture in '" + path + "' cannot be read");
  PictureFile picture;
  picture.size = {GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info)};
  const size_t row = static_cast<size_t>(picture.size.width) * 3;
  picture.pixels.resize(row * static_cast<size_t>(picture.size.height));
  for (int y = 0; y < picture.size.height; ++y) {
    std::memcpy(picture.pixels.data() + static_cast<size_t>(y) * row,
                static_cast<const std::byte*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0)) +
                    static_cast<ptrdiff_t>(y) * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0),
                row);
  }
  gst_video_frame_unmap(&frame);
  return picture;
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

void expect_picture(const std::string& path) {
  if (!read_file(path, 1)) throw missing(path);
}

PictureFile load_picture(const std::string& path, Size fit, std::stop_token stop) {
  std::vector<std::byte> bytes = picture_bytes(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::string source;
  if (is_anymap(text)) {
    auto map = read_anymap(bytes, kMaxSize);
    expects_readable(map.has_value(), "cannot read the picture '" + path +
                                          "': it is damaged, truncated or larger than " +
                                          std::to_string(kMaxSize) + " pixels in one direction");
    source = "appsrc name=file format=time caps=video/x-raw,format=RGB,framerate=0/1,width=" +
             std::to_string(map->size.width) + ",height=" + std::to_string(map->size.height);
    bytes = std::move(map->pixels);
  } else {
    const PictureKind* kind = kind_of(text);
    expects_readable(kind != nullptr, "'" + path + "' is not a PNG, JPEG, WebP or PNM picture");
    source = decoding(*kind, path);
  }
  const Pipeline pipeline = make_pipeline(source, fit);
  feed(pipeline.get(), bytes);
  return picture_of(first_sample(pipeline.get(), path, std::move(stop)).get(), path);
}

}  // namespace regions
