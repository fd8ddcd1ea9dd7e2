// Buffers in memory of exactly their size, with any metadata.
#include <algorithm>
#include <cmath>

#include "plugin/metadata/standard_metas.hpp"
#include "tests/fuzz/stage.hpp"

namespace regions::fuzz {
namespace {

constexpr const char* kFormats[] = {"NV12", "I420",  "P010_10LE", "YUY2", "UYVY",
                                    "RGBA", "BGRA",  "RGBx",      "BGRx", "RGB",
                                    "BGR",  "GRAY8", "GRAY16_LE"};

// One or two memories of `bytes` in total.
GstBuffer* buffer_of(gsize bytes, gsize row, Input& in) {
  GstBuffer* buffer = gst_buffer_new();
  const gsize first = bytes > 1 && in.one_in(16) ? bytes / 2 : bytes;
  for (gsize done = 0, part = first; done < bytes; done += part, part = bytes - first) {
    auto* data = static_cast<uint8_t*>(g_malloc(part));
    fill({data, part}, row, in);
    const auto flags = in.one_in(32) ? GST_MEMORY_FLAG_READONLY : GstMemoryFlags{};
    gst_buffer_append_memory(buffer,
                             gst_memory_new_wrapped(flags, data, part, 0, part, data, g_free));
  }
  return buffer;
}

// The planes may be outside the buffer.
void add_video_meta(GstBuffer* buffer, const GstVideoInfo& info, Input& in) {
  gsize offset[GST_VIDEO_MAX_PLANES] = {};
  gint stride[GST_VIDEO_MAX_PLANES] = {};
  const guint planes = GST_VIDEO_INFO_N_PLANES(&info);
  for (guint p = 0; p < planes; ++p) {
    offset[p] = info.offset[p];
    stride[p] = info.stride[p];
    if (in.one_in(8)) offset[p] += static_cast<gsize>(in.integer());
    if (in.one_in(8)) stride[p] = in.integer();
    if (in.one_in(16) && stride[p] > 0 && info.height > 0) {  // upside down
      offset[p] += static_cast<gsize>(stride[p]) *
                   static_cast<gsize>(GST_VIDEO_INFO_COMP_HEIGHT(&info, p) - 1);
      stride[p] = -stride[p];
    }
  }
  const auto side = [&](gint length) {
    return static_cast<guint>(in.one_in(16) ? in.integer() : length);
  };
  const GstVideoFormat format = in.one_in(16) ? gst_video_format_from_string(kFormats[in.below(13)])
                                              : GST_VIDEO_INFO_FORMAT(&info);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, format, side(info.width),
                                 side(info.height), planes, offset, stride);
}

enum class Type : uint8_t { integer, whole, large, real, flag, text, bytes, list };

struct Entry {
  const char* name;
  Type type;
};
constexpr Entry kRegionEntries[] = {
    {"id", Type::whole},        {"x", Type::integer},       {"y", Type::integer},
    {"width", Type::integer},   {"height", Type::integer},  {"track", Type::whole},
    {"area", Type::large},      {"cx", Type::real},         {"cy", Type::real},
    {"first-x", Type::integer}, {"first-y", Type::integer}, {"first-seen", Type::large},
    {"red", Type::real},        {"lab-l", Type::real},      {"cov-xx", Type::real},
    {"cov-xy", Type::real},     {"cov-yy", Type::real},     {"z", Type::integer},
    {"layer", Type::whole}};

struct Making {
  Size size;  // of the picture
  Input& in;
};

void set_text(GstStructure* s, const char* name, Input& in) {
  constexpr const char* kTexts[] = {"U32_LE", "GRAY8", "GRAY16_LE", "NV12", "", "cclabel"};
  gst_structure_set(s, name, G_TYPE_STRING, in.one_in(16) ? nullptr : kTexts[in.below(6)], nullptr);
}

// Labels of the picture's size or another, some as part of a larger memory.
GstBuffer* labels_of(const Making& m, gsize bytes) {
  Input& in = m.in;
  if (in.one_in(8)) bytes = in.word(2);
  const gsize offset = in.one_in(16) ? in.byte() % 8 : 0;
  auto* data = static_cast<uint8_t*>(g_malloc(bytes + offset + 1));
  data = static_cast<uint8_t*>(g_realloc(data, std::max<gsize>(bytes + offset, 1)));
  fill({data, bytes + offset}, static_cast<gsize>(m.size.width), in);
  const bool small = in.one_in(2);  // labels, not noise
  for (gsize i = 0; small && i < bytes + offset; ++i) data[i] = i % 4 == 0 ? data[i] & 31 : 0;
  GstMemory* memory = gst_memory_new_wrapped(
      GstMemoryFlags{}, data, std::max<gsize>(bytes + offset, 1), offset, bytes, data, g_free);
  GstBuffer* buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, memory);
  return buffer;
}

void set(GstStructure* s, const Entry& entry, const Making& m) {
  Input& in = m.in;
  const Type type = in.one_in(24) ? static_cast<Type>(in.below(7)) : entry.type;
  const bool is_invalid = in.one_in(8);
  const int number = is_invalid ? in.integer() : in.below(80);
  switch (type) {
    case Type::integer:
      return gst_structure_set(s, entry.name, G_TYPE_INT, number, nullptr);
    case Type::whole:
      return gst_structure_set(s, entry.name, G_TYPE_UINT, static_cast<guint>(number), nullptr);
    case Type::large:
      return gst_structure_set(s, entry.name, G_TYPE_UINT64,
                               is_invalid ? in.word(8) : static_cast<guint64>(number), nullptr);
    case Type::real: {
      constexpr double kInvalid[] = {1e300, -1e300, 1e-300, -0.0};
      return gst_structure_set(s, entry.name, G_TYPE_DOUBLE,
                               is_invalid ? kInvalid[in.below(4)] : in.fraction() * 100, nullptr);
    }
    case Type::flag:
      return gst_structure_set(s, entry.name, G_TYPE_BOOLEAN, in.one_in(2), nullptr);
    case Type::text:
      return set_text(s, entry.name, in);
    default: {
      GstBuffer* bytes = labels_of(m, m.size.area() * sizeof(uint32_t));
      gst_structure_set(s, entry.name, GST_TYPE_BUFFER, bytes, nullptr);
      gst_buffer_unref(bytes);
    }
  }
}

void set_regions(GstStructure* s, const Making& m) {
  GValue array = G_VALUE_INIT;
  gst_value_array_init(&array, 0);
  const bool are_numbers = m.in.one_in(48);
  for (int n = m.in.below(12); n > 0; --n) {
    GValue item = G_VALUE_INIT;
    if (are_numbers) {
      g_value_init(&item, G_TYPE_INT);
    } else {
      GstStructure* region = gst_structure_new_empty("region");
      const int needed = 5;  // of the entries; the others may be there
      int at = 0;
      for (const Entry& entry : kRegionEntries) {
        if (at++ < needed ? !m.in.one_in(64) : m.in.one_in(4)) set(region, entry, m);
      }
      g_value_init(&item, GST_TYPE_STRUCTURE);
      g_value_take_boxed(&item, region);
    }
    gst_value_array_append_and_take_value(&array, &item);
  }
  gst_structure_take_value(s, "regions", &array);
}

// Adds a box at any position: a region of interest or, with GStreamer's analytics library, a
// detection with a track.
void add_object(GstBuffer* buffer, const GstVideoInfo& info, Input& in) {
  const auto side = [&](int length) {
    return in.one_in(4) ? in.integer() : in.below(std::clamp(length, 1, 255));
  };
  const int x = side(info.width), y = side(info.height);
  const int width = side(info.width), height = side(info.height);
  const char* const label = in.one_in(2) ? "region" : "face";
  const double confidence = in.one_in(16) ? NAN : in.fraction();
  const AnalyticsLibrary* library = in.one_in(2) ? AnalyticsLibrary::find() : nullptr;
  if (!library) {
    auto* roi = gst_buffer_add_video_region_of_interest_meta(
        buffer, label, static_cast<guint>(x), static_cast<guint>(y), static_cast<guint>(width),
        static_cast<guint>(height));
    if (in.one_in(2)) {
      gst_video_region_of_interest_meta_add_param(
          roi, gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, confidence, nullptr));
    }
    return;
  }
  RelationMeta* meta = library->get(buffer);
  const RelationSpace space = {16, 2000};
  if (!meta) meta = library->add(buffer, &space);
  AnalyticsEntry detection, track;
  library->add_detection(meta, g_quark_from_string(label), x, y, width, height,
                         static_cast<gfloat>(confidence), &detection);
  if (!in.one_in(2)) return;
  library->add_tracking(meta, in.below(4), 0, &track);
  library->set_relation(meta, AnalyticsLibrary::kRelateTo, detection.id, track.id);
}

}  // namespace

GstCaps* caps_in(Input& in, GstVideoInfo& info) {
  const Size size = in.one_in(64) ? Size{in.integer(), in.integer()} : picture_size(in);
  const char* format = in.one_in(48) ? "Y444" : kFormats[in.below(13)];
  GstCaps* caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, format, "width",
                                      G_TYPE_INT, size.width, "height", G_TYPE_INT, size.height,
                                      "framerate", GST_TYPE_FRACTION, in.below(31), 1, nullptr);
  constexpr const char* kColors[] = {"bt601", "bt709", "bt2020", "sRGB", "1:4:0:0", "0:0:0:0"};
  if (in.one_in(3)) {
    gst_caps_set_simple(caps, "colorimetry", G_TYPE_STRING, kColors[in.below(6)], nullptr);
  }
  constexpr const char* kModes[] = {"progressive", "interleaved", "mixed", "fields", "alternate"};
  if (in.one_in(16)) {
    gst_caps_set_simple(caps, "interlace-mode", G_TYPE_STRING, kModes[in.below(5)], nullptr);
  }
  if (!gst_video_info_from_caps(&info, caps)) {
    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_GRAY8, 16, 16);
  }
  // A frame of huge caps is a small buffer.
  if (GST_VIDEO_INFO_SIZE(&info) > 1 << 22) info.size = 4096;
  return caps;
}

GstBuffer* frame_in(Input& in, const GstVideoInfo& info) {
  gsize bytes = GST_VIDEO_INFO_SIZE(&info);
  const bool odd = in.one_in(24);
  if (odd) bytes = in.one_in(2) ? bytes + in.byte() : bytes - std::min<gsize>(in.byte(), bytes);
  const auto row = static_cast<gsize>(GST_VIDEO_INFO_PLANE_STRIDE(&info, 0));
  GstBuffer* buffer = buffer_of(bytes, row, in);
  if (in.one_in(4)) add_video_meta(buffer, info, in);
  for (int n = in.one_in(8) ? 1 + in.below(6) : 0; n > 0; --n) add_object(buffer, info, in);
  if (in.one_in(8)) {
    auto* crop = gst_buffer_add_video_crop_meta(buffer);
    crop->x = static_cast<guint>(in.integer());
    crop->width = static_cast<guint>(in.integer());
  }
  if (in.one_in(2)) add_regions(buffer, info, in);
  if (in.one_in(8)) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
  if (in.one_in(8)) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
  if (in.one_in(16)) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_CORRUPTED);
  return buffer;
}

void add_regions(GstBuffer* buffer, const GstVideoInfo& info, Input& in) {
  constexpr int kMax = 1024;  // caps may say anything
  const Making m = {{std::clamp(info.width, 1, kMax), std::clamp(info.height, 1, kMax)}, in};
  GstStructure* s = gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, "regions"));
  const auto side = [&](int length) { return in.one_in(8) ? in.integer() : length; };
  const int width = side(info.width), height = side(info.height);
  if (!in.one_in(32)) gst_structure_set(s, "width", G_TYPE_INT, width, nullptr);
  if (!in.one_in(32)) gst_structure_set(s, "height", G_TYPE_INT, height, nullptr);
  if (!in.one_in(32)) set_regions(s, m);
  if (in.one_in(2)) {
    constexpr const char* kKinds[] = {"U32_LE", "GRAY8", "GRAY16_LE"};
    constexpr gsize kBytes[] = {4, 1, 2};
    const int kind = in.below(3);
    GstBuffer* labels = labels_of(m, m.size.area() * kBytes[kind]);
    gst_structure_set(s, "labels", GST_TYPE_BUFFER, labels, "labels-format", G_TYPE_STRING,
                      kKinds[kind], nullptr);
    gst_buffer_unref(labels);
    if (in.one_in(8)) set_text(s, "labels-format", in);
    if (in.one_in(6)) {
      const int across = side(width / 2), down = side(height / 2);
      gst_structure_set(s, "labels-width", G_TYPE_INT, across, "labels-height", G_TYPE_INT, down,
                        nullptr);
    }
  }
  constexpr Entry kOthers[] = {
      {"labels-width", Type::integer}, {"labels-height", Type::integer}, {"slice", Type::integer},
      {"slices", Type::integer},       {"layers", Type::integer},        {"runs", Type::bytes},
      {"adjacency", Type::bytes},      {"algorithm", Type::text},        {"labels", Type::bytes},
      {"regions-total", Type::whole},  {"regions", Type::whole},         {"width", Type::whole}};
  for (const Entry& entry : kOthers) {
    if (in.one_in(24)) set(s, entry, m);
  }
}

void carry_metadata(GstBuffer* from, GstBuffer* to, const GstVideoInfo& info, Input& in) {
  GstVideoInfo scaled = info;
  const Size size = picture_size(in);
  gst_video_info_set_format(&scaled, GST_VIDEO_FORMAT_GRAY8, static_cast<guint>(size.width),
                            static_cast<guint>(size.height));
  GstVideoInfo before = info;
  GstVideoMetaTransform scale = {&before, &scaled};
  struct Matrix {  // GstVideoMetaTransformMatrix of GStreamer 1.28
    const GstVideoInfo* in_info;
    GstVideoRectangle in;
    const GstVideoInfo* out_info;
    GstVideoRectangle out;
    gfloat matrix[3][3];
  } matrix = {&before,
              {0, 0, info.width, info.height},
              &scaled,
              {0, 0, size.width, size.height},
              {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const auto number = [&] {
    return static_cast<gfloat>(in.one_in(8) ? in.integer() : in.below(9) - 4);
  };
  const bool turned = in.one_in(2);
  for (int row = 0; row < 2; ++row) {
    matrix.matrix[row][row] = turned ? 0 : number();
    matrix.matrix[row][1 - row] = turned ? number() : 0;
    matrix.matrix[row][2] = number();
  }
  if (in.one_in(8)) matrix.in.x = matrix.out.y = matrix.out.w = in.integer();
  GstMetaTransformCopy copy = {in.one_in(2), in.word(1), in.one_in(2) ? in.word(1) : G_MAXSIZE};
  const struct {
    GQuark type;
    gpointer data;
  } kinds[] = {{gst_video_meta_transform_scale_get_quark(), &scale},
               {g_quark_from_static_string("gst-video-matrix"), &matrix},
               {_gst_meta_transform_copy, &copy},
               {g_quark_from_static_string("unknown"), nullptr}};
  const auto& kind = kinds[in.below(4)];
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta(from, &state)) {
    if (meta->info->api != gst_meta_get_info("regions")->api) continue;
    meta->info->transform_func(to, meta, from, kind.type, kind.data);
  }
}

}  // namespace regions::fuzz
