// Computes the caps of the pads, and edits the answers to allocation queries.
#include "plugin/stream/negotiation.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "plugin/memory/cuda_memory.hpp"
#include "plugin/memory/mapped_picture.hpp"

namespace regions {
namespace {

// All pixel formats and sizes of input pictures, in the syntax of caps.
constexpr const char* kPictureFormats =
    "{ NV12, I420, P010_10LE, YUY2, UYVY, RGBA, BGRA, RGBx, BGRx, RGB, BGR, GRAY8, GRAY16_LE }";
constexpr const char* kSizeFields =
    "width=(int)[1,65535], height=(int)[1,65535], framerate=(fraction)[0/1,2147483647/1]";

// Returns caps of raw video in system memory with these formats.
GstCaps* raw_caps(const std::string& formats) {
  return gst_caps_from_string(
      ("video/x-raw, format=(string)" + formats + ", " + kSizeFields).c_str());
}

// Returns all possible caps of a sink pad, or of a source pad whose picture is not replaced.
GstCaps* picture_caps(bool with_cuda) {
  GstCaps* caps = raw_caps(kPictureFormats);
  if (with_cuda && built_with_cuda_memory()) {
    gst_caps_append(caps, gst_caps_from_string((std::string("video/x-raw(") + kCudaFeature +
                                                "), format=(string)" + cuda_memory_formats() +
                                                ", " + kSizeFields)
                                                   .c_str()));
  }
  return caps;
}

// Returns all possible caps of a source pad whose picture is replaced.
GstCaps* replaced_caps(Output output) {
  std::string names;
  bool has_labels = false;
  for (const PixelFormat format : formats_of(output)) {
    if (format == PixelFormat::labels32) {
      has_labels = true;
    } else {
      names += (names.empty() ? "" : ", ") + std::string(name_of(format));
    }
  }
  GstCaps* caps = raw_caps("{ " + names + " }");
  if (has_labels) {
    gst_caps_append(
        caps, gst_caps_from_string(
                  (std::string(kLabelCaps) + ", format=(string)U32_LE, " + kSizeFields).c_str()));
  }
  return caps;
}

// Whether the caps field describes the storage or the meaning of pixel values. The colorimetry does
// so only if `keep_colorimetry` is false.
bool describes_pixels(const char* field, bool keep_colorimetry) {
  if (g_str_equal(field, "colorimetry")) return !keep_colorimetry;
  constexpr const char* kPixelFields[] = {"format", "drm-format", "chroma-site",
                                          "mastering-display-info", "content-light-level"};
  return std::any_of(std::begin(kPixelFields), std::end(kPixelFields),
                     [&](const char* name) { return g_str_equal(field, name); });
}

// Combines each structure of `formats` with the fields of each structure of `caps` that do not
// describe pixels. `keep_colorimetry` copies the colorimetry to replaced pictures as well, because
// elements that combine the input and the replaced picture require equal colorimetry.
GstCaps* with_formats(const GstCaps* caps, const GstCaps* formats, bool keep_colorimetry) {
  GstCaps* result = gst_caps_new_empty();
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    const GstStructure* from = gst_caps_get_structure(caps, i);
    for (guint k = 0; k < gst_caps_get_size(formats); ++k) {
      GstStructure* to = gst_structure_copy(gst_caps_get_structure(formats, k));
      for (guint f = 0; f < static_cast<guint>(gst_structure_n_fields(from)); ++f) {
        const char* field = gst_structure_nth_field_name(from, f);
        if (describes_pixels(field, keep_colorimetry)) continue;
        gst_structure_set_value(to, field, gst_structure_get_value(from, field));
      }
      GstCapsFeatures* features = gst_caps_features_copy(gst_caps_get_features(formats, k));
      result = gst_caps_merge_structure_full(result, to, features);
    }
  }
  return result;
}

// Multiplies the heights by `layers` and sets the field `layers`.
void multiply_heights(GstCaps* caps, int layers) {
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    GstStructure* structure = gst_caps_get_structure(caps, i);
    gst_structure_set(structure, "layers", G_TYPE_INT, layers, nullptr);
    const GValue* height = gst_structure_get_value(structure, "height");
    const auto multiplied = [&](gint pixels, gint64 max) {
      return static_cast<gint>(std::min(gint64{pixels} * layers, max));
    };
    if (height && G_VALUE_HOLDS_INT(height)) {
      gst_structure_set(structure, "height", G_TYPE_INT,
                        multiplied(g_value_get_int(height), G_MAXINT), nullptr);
    } else if (height && GST_VALUE_HOLDS_INT_RANGE(height)) {
      gst_structure_set(structure, "height", GST_TYPE_INT_RANGE,
                        multiplied(gst_value_get_int_range_min(height), G_MAXINT - 1),
                        multiplied(gst_value_get_int_range_max(height), G_MAXINT), nullptr);
    }
  }
}

// Divides the heights by `layers` and removes the field `layers`. Removes structures whose height
// is not a multiple of `layers`.
GstCaps* divide_heights(const GstCaps* caps, int layers) {
  GstCaps* result = gst_caps_copy(caps);
  for (guint i = gst_caps_get_size(result); i-- > 0;) {
    GstStructure* structure = gst_caps_get_structure(result, i);
    gst_structure_remove_field(structure, "layers");
    gint pixels = 0;
    if (gst_structure_get_int(structure, "height", &pixels)) {
      if (pixels % layers != 0) {
        gst_caps_remove_structure(result, i);
        continue;
      }
      gst_structure_set(structure, "height", G_TYPE_INT, pixels / layers, nullptr);
    } else {
      gst_structure_set(structure, "height", GST_TYPE_INT_RANGE, 1, 65535, nullptr);
    }
  }
  return result;
}

// Returns the caps without the structures for CUDA memory.
GstCaps* without_cuda(const GstCaps* caps) {
  GstCaps* result = gst_caps_new_empty();
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    GstCapsFeatures* features = gst_caps_get_features(caps, i);
    if (gst_caps_features_contains(features, kCudaFeature)) continue;
    gst_caps_append_structure_full(result, gst_structure_copy(gst_caps_get_structure(caps, i)),
                                   gst_caps_features_copy(features));
  }
  return result;
}

}  // namespace

GstCaps* sink_template_caps() { return picture_caps(true); }

GstCaps* source_template_caps() {
  return gst_caps_merge(picture_caps(true), replaced_caps(Output::labels));
}

GstCaps* transform_caps(GstPadDirection direction, const GstCaps* caps, Output output,
                        bool with_cuda, int layers) {
  if (output <= Output::drawn_on) {
    return with_cuda ? gst_caps_copy(caps) : without_cuda(caps);
  }
  GstCaps* pictures = picture_caps(with_cuda);
  GstCaps* replaced = replaced_caps(output);
  GstCaps* result = nullptr;
  if (direction == GST_PAD_SINK) {
    // The outputs `colors` and `cutout` are RGB pictures with their own colorimetry.
    const bool is_rgb = output == Output::colors || output == Output::cutout;
    result = with_formats(caps, replaced, !is_rgb);
    if (layers > 1) multiply_heights(result, layers);
  } else {
    GstCaps* possible = gst_caps_intersect(const_cast<GstCaps*>(caps), replaced);
    if (layers > 1) {
      GstCaps* single_layer = divide_heights(possible, layers);
      gst_caps_unref(possible);
      possible = single_layer;
    }
    result = with_formats(possible, pictures, false);
    gst_caps_unref(possible);
  }
  gst_caps_unref(pictures);
  gst_caps_unref(replaced);
  return result;
}

// ---- allocation queries

void offer_pool(GstQuery* query, GstBufferPool* pool, size_t bytes, unsigned min_buffers) {
  const auto size = static_cast<guint>(bytes);
  // In GStreamer 1.22 the query may contain no pool.
  if (gst_query_get_n_allocation_pools(query) > 0) {
    gst_query_set_nth_allocation_pool(query, 0, pool, size, min_buffers, 0);
  } else {
    gst_query_add_allocation_pool(query, pool, size, min_buffers, 0);
  }
  if (!pool) return;
  GstAllocator* allocator = nullptr;
  GstAllocationParams params;
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_get_allocator(config, &allocator, &params);
  if (allocator && gst_query_get_n_allocation_params(query) > 0) {
    gst_query_set_nth_allocation_param(query, 0, allocator, &params);
  } else if (allocator) {
    gst_query_add_allocation_param(query, allocator, &params);
  }
  gst_structure_free(config);
  gst_object_unref(pool);
}

void add_held_buffers(GstQuery* query, unsigned held_frames, PoolShortage shortage) {
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); ++i) {
    GstBufferPool* pool = nullptr;
    guint bytes = 0, min = 0, max = 0;
    gst_query_parse_nth_allocation_pool(query, i, &pool, &bytes, &min, &max);
    min += held_frames;
    if (max > 0 && max < min) {
      if (shortage == PoolShortage::stalls) gst_clear_object(&pool);
      if (pool) {
        min = max;
      } else {
        max = 0;
      }
    }
    gst_query_set_nth_allocation_pool(query, i, pool, bytes, min, max);
    gst_clear_object(&pool);
  }
}

unsigned max_of_min_buffers(GstQuery* query) {
  guint max = 0;
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); ++i) {
    guint min = 0;
    gst_query_parse_nth_allocation_pool(query, i, nullptr, nullptr, &min, nullptr);
    max = std::max(max, min);
  }
  return max;
}

bool is_from_short_pool(GstBuffer* buffer, size_t count) {
  const GstParentBufferMeta* parent = gst_buffer_get_parent_buffer_meta(buffer);
  GstBufferPool* pool = parent && !buffer->pool ? parent->buffer->pool : buffer->pool;
  if (!pool) return false;
  GstStructure* config = gst_buffer_pool_get_config(pool);
  guint max = 0;
  gst_buffer_pool_config_get_params(config, nullptr, nullptr, nullptr, &max);
  gst_structure_free(config);
  return max > 0 && max <= count;
}

}  // namespace regions
