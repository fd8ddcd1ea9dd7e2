// Decodes picture files with one fixed GStreamer decoder per format. decodebin, which chooses the
// decoder itself, is not used, because it would also follow playlists to network addresses.
#include <gst/gst.h>
#include <gst/video/video.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "plugin/files/property_files.hpp"

namespace regions {
namespace {

constexpr size_t kMaxFileBytes = size_t{256} << 20;  // maximum size of a picture file
constexpr int kMaxSide = 16384;                      // maximum width and height (pixels)

// Deleters for GStreamer objects.
struct Unref {
  void operator()(GstElement* pipeline) const {
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
  }
  void operator()(GstBus* bus) const { gst_object_unref(bus); }
  void operator()(GstMessage* message) const { gst_message_unref(message); }
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
};
using Pipeline = std::unique_ptr<GstElement, Unref>;

struct PictureKind {
  const char* caps;
  const char* decoder;
  const char* package;  // Debian package that contains the decoder
};

// Recognises the format of a file by its first bytes. Returns null for an unknown format.
const PictureKind* kind_of(std::string_view bytes) {
  static constexpr PictureKind kPng = {"image/png", "pngdec", "gstreamer1.0-plugins-good"};
  static constexpr PictureKind kJpeg = {"image/jpeg", "jpegdec", "gstreamer1.0-plugins-good"};
  static constexpr PictureKind kWebp = {"image/webp", "webpdec", "gstreamer1.0-plugins-bad"};
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return &kPng;
  if (bytes.starts_with("\xff\xd8\xff")) return &kJpeg;
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP")) return &kWebp;
  return nullptr;
}

// Whether the file begins like a PNM file, with "P1" to "P6" and white space.
bool is_anymap(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
         g_ascii_isspace(bytes[2]);
}

MissingFile missing_picture(const std::string& path) {
  return MissingFile("there is no picture '" + path + "'");
}

void expects_readable(bool is_readable, const std::string& message) {
  if (!is_readable) throw UnreadableFile(message);
}

std::vector<std::byte> read_picture_file(const std::string& path) {
  const std::string too_large =
      "the picture '" + path + "' is larger than " + std::to_string(kMaxFileBytes >> 20) + " MiB";
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  expects_readable(error || size <= kMaxFileBytes, too_large);  // before the file is read
  auto bytes = read_file(path, kMaxFileBytes + 1);
  if (!bytes) throw missing_picture(path);
  expects_readable(bytes->size() <= kMaxFileBytes, too_large);
  return std::move(*bytes);
}

// Returns the first elements of a pipeline that decodes the bytes of a file, in gst-launch syntax.
std::string decoder_description(const PictureKind& kind, const std::string& path) {
  GstElementFactory* factory = gst_element_factory_find(kind.decoder);
  expects(factory != nullptr, "cannot decode the picture '" + path + "': the element " +
                                  kind.decoder + " is missing, of " + kind.package);
  gst_object_unref(factory);
  const std::string side_range = "(int)[1," + std::to_string(kMaxSide) + "]";
  // With a TIME segment, decoders treat each buffer as one complete picture. With a BYTES segment,
  // jpegdec searches for the end of the picture. That search never ends in a file that contains two
  // start markers but no end marker.
  return std::string("appsrc name=file format=time caps=") + kind.caps + " ! " + kind.decoder +
         " ! video/x-raw,width=" + side_range + ",height=" + side_range + " ! videoconvert";
}

// Makes a pipeline that begins with the elements in `source`, scales pictures to `target_size`
// unless that is empty, converts them to RGB and ends in a sink. `source` has gst-launch syntax and
// begins with an appsrc named `file`.
Pipeline make_pipeline(const std::string& source, Size target_size) {
  std::string description = source + " ! videoscale add-borders=false ! video/x-raw,format=RGB";
  if (target_size.area() > 0) {
    description += ",width=" + std::to_string(target_size.width) +
                   ",height=" + std::to_string(target_size.height) + ",pixel-aspect-ratio=1/1";
  }
  GError* error = nullptr;
  Pipeline pipeline(gst_parse_launch((description + " ! fakesink name=sink").c_str(), &error));
  const std::string problem = error ? error->message : "";
  g_clear_error(&error);
  expects(pipeline && problem.empty(), "cannot decode pictures: " + problem);
  return pipeline;
}

// Passes the bytes of the file to the pipeline without a copy. `bytes` must outlive the pipeline.
void push_bytes(GstElement* pipeline, const std::vector<std::byte>& bytes) {
  GstBuffer* buffer =
      gst_buffer_new_wrapped_full(GST_MEMORY_FLAG_READONLY, const_cast<std::byte*>(bytes.data()),
                                  bytes.size(), 0, bytes.size(), nullptr, nullptr);
  GstElement* appsrc = gst_bin_get_by_name(GST_BIN(pipeline), "file");
  GstFlowReturn flow = GST_FLOW_OK;
  g_signal_emit_by_name(appsrc, "push-buffer", buffer, &flow);
  g_signal_emit_by_name(appsrc, "end-of-stream", &flow);
  gst_buffer_unref(buffer);
  gst_object_unref(appsrc);
}

std::string failure_reason(GstMessage* message) {
  if (!message) return "nothing came within 30 seconds";
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_APPLICATION) return "interrupted";
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  const std::string text = error->message;
  g_error_free(error);
  return text + " (pictures have up to " + std::to_string(kMaxSide) + " pixels each way)";
}

// Runs the pipeline until its sink has the first picture. Gives up after 30 seconds or if `stop` is
// requested.
std::unique_ptr<GstSample, Unref> decode_first_sample(GstElement* pipeline, const std::string& path,
                                                      std::stop_token stop) {
  const std::unique_ptr<GstBus, Unref> bus(gst_element_get_bus(pipeline));
  const std::stop_callback wake_bus(std::move(stop), [&] {
    gst_bus_post(bus.get(), gst_message_new_application(nullptr, gst_structure_new_empty("stop")));
  });
  gst_element_set_state(pipeline, GST_STATE_PAUSED);  // the sink then accepts one picture
  const std::unique_ptr<GstMessage, Unref> message(gst_bus_timed_pop_filtered(
      bus.get(), 30 * GST_SECOND,
      static_cast<GstMessageType>(GST_MESSAGE_ASYNC_DONE | GST_MESSAGE_ERROR | GST_MESSAGE_EOS |
                                  GST_MESSAGE_APPLICATION)));
  const GstMessageType type = message ? GST_MESSAGE_TYPE(message.get()) : GST_MESSAGE_ERROR;
  if (type == GST_MESSAGE_ERROR || type == GST_MESSAGE_APPLICATION) {
    throw UnreadableFile("cannot read the picture '" + path +
                         "': " + failure_reason(message.get()));
  }
  GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  GstSample* sample = nullptr;
  g_object_get(sink, "last-sample", &sample, nullptr);
  gst_object_unref(sink);
  expects_readable(sample && gst_sample_get_buffer(sample),
                   "the file holds no picture: '" + path + "'");
  return std::unique_ptr<GstSample, Unref>(sample);
}

// Copies the decoded RGB picture of a sample, without padding between rows.
PictureFile picture_of(GstSample* sample, const std::string& path) {
  GstVideoInfo info;
  GstVideoFrame frame;
  expects(gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) &&
              gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ),
          "the picture in '" + path + "' cannot be read");
  PictureFile picture;
  picture.size = {GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info)};
  const size_t row_bytes = static_cast<size_t>(picture.size.width) * 3;
  picture.pixels.resize(row_bytes * static_cast<size_t>(picture.size.height));
  for (int y = 0; y < picture.size.height; ++y) {
    std::memcpy(picture.pixels.data() + static_cast<size_t>(y) * row_bytes,
                static_cast<const std::byte*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0)) +
                    static_cast<ptrdiff_t>(y) * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0),
                row_bytes);
  }
  gst_video_frame_unmap(&frame);
  return picture;
}

// Reads the bytes and numbers of a PNM file, as described by netpbm's pbm(5), pgm(5) and ppm(5).
// GStreamer's pnmdec is not used because it reads outside of its input if a header is damaged.
class AnymapReader {
 public:
  explicit AnymapReader(std::span<const std::byte> bytes) : unread_(bytes) {}

  int read_byte() {  // returns -1 at the end of the file
    if (unread_.empty()) return -1;
    const int byte = static_cast<int>(unread_.front());
    unread_ = unread_.subspan(1);
    return byte;
  }
  // Reads a decimal number and the character that follows it. Returns -1 if no number follows or
  // if it is larger than `max`.
  int read_number(int max) {
    int digit = read_first_digit();
    if (digit < 0) return -1;
    int value = 0;
    for (; digit >= '0' && digit <= '9'; digit = read_byte()) {
      value = value * 10 + digit - '0';
      if (value > max) return -1;
    }
    return value;
  }
  // Reads one pixel of a P1 file, in which each pixel is a digit 0 or 1, with or without white
  // space between the digits. Returns -1 if neither digit follows.
  int read_bit() {
    const int digit = read_first_digit();
    return digit == '0' || digit == '1' ? digit - '0' : -1;
  }
  size_t remaining_bytes() const { return unread_.size(); }

 private:
  // Skips white space and comments, and returns the digit that follows. Returns -1 if another
  // character follows.
  int read_first_digit() {
    for (;;) {
      int next = read_byte();
      if (next >= '0' && next <= '9') return next;
      if (next == '#') {
        while (next >= 0 && next != '\n' && next != '\r') next = read_byte();
      } else if (next != ' ' && (next < '\t' || next > '\r')) {
        return -1;
      }
    }
  }
  std::span<const std::byte> unread_;  // the bytes that have not been read
};

struct AnymapFormat {
  int channels;
  bool is_text;    // P1 to P3: samples are decimal numbers
  bool is_bitmap;  // P1 and P4: one bit per pixel
};

// Whether the rest of the file is long enough for the picture. This is checked before memory for
// the picture is allocated. `max_value` is the sample value of full brightness.
bool has_enough_bytes(const AnymapReader& file, const AnymapFormat& format, Size size,
                      int max_value) {
  const auto columns = static_cast<size_t>(size.width), rows = static_cast<size_t>(size.height);
  if (format.is_text) return file.remaining_bytes() >= columns * rows;
  const size_t sample_bytes = max_value > 255 ? 2 : 1;
  const size_t row_bytes = format.is_bitmap
                               ? (columns + 7) / 8
                               : columns * static_cast<size_t>(format.channels) * sample_bytes;
  return file.remaining_bytes() >= row_bytes * rows;
}

// Reads one sample. Returns a negative number, or one above `max_value`, if the file is damaged.
int read_sample(AnymapReader& file, const AnymapFormat& format, int max_value) {
  if (format.is_text) return format.is_bitmap ? file.read_bit() : file.read_number(max_value);
  const int first = file.read_byte();
  return max_value > 255 ? first << 8 | file.read_byte() : first;
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
  if (!read_file(path, 1)) throw missing_picture(path);
}

PictureFile load_picture(const std::string& path, Size target_size, std::stop_token stop) {
  std::vector<std::byte> bytes = read_picture_file(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::string source_description;
  if (is_anymap(text)) {
    auto anymap = read_anymap(bytes, kMaxSide);
    expects_readable(anymap.has_value(), "cannot read the picture '" + path +
                                             "': it is damaged, truncated or larger than " +
                                             std::to_string(kMaxSide) + " pixels in one direction");
    source_description =
        "appsrc name=file format=time caps=video/x-raw,format=RGB,framerate=0/1,width=" +
        std::to_string(anymap->size.width) + ",height=" + std::to_string(anymap->size.height);
    bytes = std::move(anymap->pixels);
  } else {
    const PictureKind* kind = kind_of(text);
    expects_readable(kind != nullptr, "'" + path + "' is not a PNG, JPEG, WebP or PNM picture");
    source_description = decoder_description(*kind, path);
  }
  const Pipeline pipeline = make_pipeline(source_description, target_size);
  push_bytes(pipeline.get(), bytes);
  return picture_of(decode_first_sample(pipeline.get(), path, std::move(stop)).get(), path);
}

std::optional<Anymap> read_anymap(std::span<const std::byte> bytes, int max_side) {
  AnymapReader file(bytes);
  const int letter = file.read_byte(), digit = file.read_byte() - '0';
  if (letter != 'P' || digit < 1 || digit > 6) return {};
  const AnymapFormat format = {digit % 3 == 0 ? 3 : 1, digit <= 3, digit % 3 == 1};
  Anymap map;
  map.size = {file.read_number(max_side), 0};
  map.size.height = file.read_number(max_side);
  const int max_value = format.is_bitmap ? 1 : file.read_number(65535);
  if (map.size.width < 1 || map.size.height < 1 || max_value < 1) return {};
  if (!has_enough_bytes(file, format, map.size, max_value)) return {};
  const size_t pitch = (static_cast<size_t>(map.size.width) * 3 + 3) / 4 * 4;
  map.pixels.reserve(pitch * static_cast<size_t>(map.size.height));
  for (int y = 0; y < map.size.height; ++y) {
    int eight_pixels = 0;
    for (int x = 0; x < map.size.width; ++x) {
      for (int c = 0; c < format.channels; ++c) {
        if (format.is_bitmap && !format.is_text && x % 8 == 0) eight_pixels = file.read_byte();
        int value = format.is_bitmap && !format.is_text ? eight_pixels >> (7 - x % 8) & 1
                                                        : read_sample(file, format, max_value);
        if (value < 0 || value > max_value) return {};
        if (format.is_bitmap) value = 1 - value;  // in a bitmap, 1 is black
        const auto byte = static_cast<std::byte>((value * 255 + max_value / 2) / max_value);
        map.pixels.insert(map.pixels.end(), format.channels == 1 ? 3 : 1, byte);
      }
    }
    map.pixels.resize(pitch * static_cast<size_t>(y + 1));
  }
  return map;
}

}  // namespace regions
