// Which caps go in and out of an element.
#include "plugin/stream/negotiation.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "plugin/memory/cuda_memory.hpp"
#include "plugin/memory/frame_map.hpp"

namespace regions {
namespace {

constexpr const char* kPictures =
    "{ NV12, I420, P010_10LE, YUY2, UYVY, RGBA, BGRA, RGBx, BGRx, RGB, BGR, GRAY8, GRAY16_LE }";
constexpr const char* kSize =
    "width=(int)[1,65535], height=(int)[1,65535], framerate=(fraction)[0/1,2147483647/1]";

GstCaps* raw(const std::string& formats) {
  return gst_caps_from_string(("video/x-raw, format=(string)" + formats + ", " + kSize).c_str());
}

// What the caps may be of the side that has the picture as it came in.
GstCaps* picture_caps(bool cuda) {
  GstCaps* caps = raw(kPictures);
  if (cuda && built_with_cuda_memory()) {
    gst_caps_append(
        caps, gst_caps_from_string((std::string("video/x-raw(") + kCudaFeature +
                                    "), format=(string)" + cuda_memory_formats() + ", " + kSize)
                                       .c_str()));
  }
  return caps;
}

// What the caps may be of the side that has the replaced picture.
GstCaps* replaced_caps(Output picture) {
  std::string names;
  bool is_labels = false;
  for (const PixelFormat format : formats_of(picture)) {
    if (format == PixelFormat::labels32) {
      is_labels = true;
    } else {
      names += (names.empty() ? "" : ", ") + std::string(name_of(format));
    }
  }
  GstCaps* caps = raw("{ " + names + " }");
  if (is_labels) {
    gst_caps_append(caps,
                    gst_caps_from_string(
                        (std::string(kLabelCaps) + ", format=(string)U32_LE, " + kSize).c_str()));
  }
  return caps;
}

// What says how pixels are stored and what their values mean.
bool describes_pixels(const char* field, bool keep_colorimetry) {
  if (g_str_equal(field, "colorimetry")) return !keep_colorimetry;
  constexpr const char* kOfPixels[] = {"format", "drm-format", "chroma-site",
                                       "mastering-display-info", "content-light-level"};
  return std::any_of(std::begin(kOfPixels), std::end(kOfPixels),
                     [&](const char* name) { return g_str_equal(field, name); });
}

// Every structure of `kinds` with all that every structure of `caps` says besides pixels.
// Colorimetry goes from pictures to what replaces them, because elements that join both want it
// equal.
GstCaps* reshaped(const GstCaps* caps, const GstCaps* kinds, bool keep_colorimetry) {
  GstCaps* result = gst_caps_new_empty();
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    const GstStructure* from = gst_caps_get_structure(caps, i);
    for (guint k = 0; k < gst_caps_get_size(kinds); ++k) {
      GstStructure* to = gst_structure_copy(gst_caps_get_structure(kinds, k));
      for (guint f = 0; f < static_cast<guint>(gst_structure_n_fields(from)); ++f) {
        const char* field = gst_structure_nth_field_name(from, f);
        if (describes_pixels(field, keep_colorimetry)) continue;
        gst_structure_set_value(to, field, gst_structure_get_value(from, field));
      }
      GstCapsFeatures* features = gst_caps_features_copy(gst_caps_get_features(kinds, k));
      result = gst_caps_merge_structure_full(result, to, features);
    }
  }
  return result;
}

// Heights of pictures become those of so many, one below another, which the field `layers` counts.
void stack_heights(GstCaps* caps, int layers) {
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    GstStructure* s = gst_caps_get_structure(caps, i);
    gst_structure_set(s, "layers", G_TYPE_INT, layers, nullptr);
    const GValue* height = gst_structure_get_value(s, "height");
    gint pixels = 0;
    if (gst_structure_get_int(s, "height", &pixels)) {
      const gint64 all = gint64{pixels} * layers;
      gst_structure_set(s, "height", G_TYPE_INT, static_cast<gint>(std::min<gint64>(all, G_MAXINT)),
                        nullptr);
    } else if (height && GST_VALUE_HOLDS_INT_RANGE(height)) {
      const gint64 low = gint64{gst_value_get_int_range_min(height)} * layers;
      const gint64 high = gint64{gst_value_get_int_range_max(height)} * layers;
      gst_structure_set(s, "height", GST_TYPE_INT_RANGE,
                        static_cast<gint>(std::min<gint64>(low, G_MAXINT - 1)),
                        static_cast<gint>(std::min<gint64>(high, G_MAXINT)), nullptr);
    }
  }
}

// The way back: heights that are no whole number of layers have none.
GstCaps* single_heights(const GstCaps* caps, int layers) {
  GstCaps* result = gst_caps_copy(caps);
  for (guint i = gst_caps_get_size(result); i-- > 0;) {
    GstStructure* s = gst_caps_get_structure(result, i);
    gst_structure_remove_field(s, "layers");
    gint pixels = 0;
    if (gst_structure_get_int(s, "height", &pixels)) {
      if (pixels % layers != 0) {
        gst_caps_remove_structure(result, i);
        continue;
      }
      gst_structure_set(s, "height", G_TYPE_INT, pixels / layers, nullptr);
    } else {
      gst_structure_set(s, "height", GST_TYPE_INT_RANGE, 1, 65535, nullptr);
    }
  }
  return result;
}

// The structures that are not in CUDA memory.
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

GstCaps* transform_caps(GstPadDirection direction, const GstCaps* caps, Output picture, bool cuda,
                        int layers) {
  if (picture <= Output::drawn_on) {
    return cuda ? gst_caps_copy(caps) : without_cuda(caps);
  }
  GstCaps* pictures = picture_caps(cuda);
  GstCaps* replaced = replaced_caps(picture);
  GstCaps* result = nullptr;
  if (direction == GST_PAD_SINK) {
    // Colours are RGB: their colorimetry is their own.
    const bool rgb = picture == Output::colors || picture == Output::cutout;
    result = reshaped(caps, replaced, !rgb);
    if (layers > 1) stack_heights(result, layers);
  } else {
    GstCaps* possible = gst_caps_intersect(const_cast<GstCaps*>(caps), replaced);
    if (layers > 1) {
      GstCaps* single = single_heights(possible, layers);
      gst_caps_unref(possible);
      possible = single;
    }
    result = reshaped(possible, pictures, false);
    gst_caps_unref(possible);
  }
  gst_caps_unref(pictures);
  gst_caps_unref(replaced);
  return result;
}

}  // namespace regions
