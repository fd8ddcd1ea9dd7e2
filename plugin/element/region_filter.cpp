// The GObject class of the elements: handles states, caps and metas. FilterStream processes the
// frames.
#include "plugin/element/region_filter.hpp"

#include <gst/video/video.h>

#include <utility>

#include "plugin/memory/gst_object.hpp"
#include "plugin/stream/filter_stream.hpp"
#include "plugin/stream/negotiation.hpp"

namespace regions {
namespace {

struct RegionFilter {
  GstBaseTransform parent;
  FilterStream* stream;
};
struct RegionFilterClass {
  GstBaseTransformClass parent;
  const ElementSpec* spec;
};

GstBaseTransformClass* parent_class = nullptr;

// The key under which the GType of each element stores its ElementSpec.
GQuark spec_key() { return g_quark_from_static_string("regions-element-spec"); }

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  set_element_property(stream_of(object), object, id, value);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  get_element_property(stream_of(object), id, value);
}

// ---- states

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  FilterStream& stream = stream_of(element);
  try {
    if (change == GST_STATE_CHANGE_NULL_TO_READY) stream.open();
    if (change == GST_STATE_CHANGE_READY_TO_PAUSED) stream.algorithm().check_parameters();
  } catch (const std::exception& error) {
    stream.post_error(error);
    return GST_STATE_CHANGE_FAILURE;
  }
  // The streaming thread may wait for a free slot or buffer while it holds the pad's stream lock,
  // which the state change needs. prepare_stop() ends such waits. Until the pad is inactive, new
  // caps or the end of a flush may create another pipeline; its waits end at once too.
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) stream.prepare_stop();
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED) stream.allow_waiting();
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(parent_class)->change_state(element, change);
  if (change == GST_STATE_CHANGE_READY_TO_NULL) stream.close();
  return result;
}

gboolean stop(GstBaseTransform* base) {
  stream_of(base).stop();
  return TRUE;
}

void set_context(GstElement* element, GstContext* context) {
  FilterStream& stream = stream_of(element);
  stream.cuda().accept_context(element, context, stream.settings().cuda_device_id);
  GST_ELEMENT_CLASS(parent_class)->set_context(element, context);
}

// ---- caps

GstCaps* on_transform_caps(GstBaseTransform* base, GstPadDirection direction, GstCaps* caps,
                           GstCaps* filter) {
  FilterStream& stream = stream_of(base);
  ElementAlgorithm& algorithm = stream.algorithm();
  GstCaps* result = transform_caps(direction, caps, algorithm.pending_output(),
                                   stream.accepts_cuda_memory(), algorithm.pending_layers());
  if (filter) {
    GstCaps* filtered = gst_caps_intersect_full(filter, result, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref(std::exchange(result, filtered));
  }
  return result;
}

gboolean set_caps(GstBaseTransform* base, GstCaps* in, GstCaps* out) {
  FilterStream& stream = stream_of(base);
  stream.drain();
  try {
    stream.configure(in, out);
  } catch (const std::exception& error) {
    stream.post_caps_error(error);
    return FALSE;
  }
  return TRUE;
}

gboolean get_unit_size(GstBaseTransform*, GstCaps* caps, gsize* size) {
  try {
    *size = parse_caps(caps).bytes;
    return TRUE;
  } catch (const std::exception& error) {
    GST_WARNING("%s", error.what());
    return FALSE;
  }
}

// The size of an output buffer follows from its caps alone, whatever padding the input has.
gboolean transform_size(GstBaseTransform* base, GstPadDirection, GstCaps*, gsize, GstCaps* other,
                        gsize* size) {
  return get_unit_size(base, other, size);
}

// ---- metadata

// Returns whether a meta of the input is copied to the output. A replaced picture has the size of
// the input, so most metas stay valid. The exceptions are metas that describe the replaced memory,
// the crop rectangle of the input, and overlays, which a downstream element would draw over the
// labels.
gboolean transform_meta(GstBaseTransform* base, GstBuffer*, GstMeta* meta, GstBuffer*) {
  if (stream_of(base).output() <= Output::drawn_on) return TRUE;
  const GType meta_api = meta->info->api;
  return meta_api != GST_VIDEO_CROP_META_API_TYPE &&
         meta_api != GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE &&
         !gst_meta_api_type_has_tag(meta_api, g_quark_from_static_string(GST_META_TAG_MEMORY_STR));
}

// ---- class

void finalize(GObject* object) {
  delete static_cast<RegionFilter*>(static_cast<gpointer>(object))->stream;
  G_OBJECT_CLASS(parent_class)->finalize(object);
}

void add_template(GstElementClass* klass, const char* name, GstPadDirection direction,
                  GstCaps* caps) {
  gst_element_class_add_pad_template(klass,
                                     gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
}

void class_init(gpointer klass, gpointer data) {
  const auto& spec = *static_cast<const ElementSpec*>(data);
  static_cast<RegionFilterClass*>(klass)->spec = &spec;
  parent_class = static_cast<GstBaseTransformClass*>(g_type_class_peek_parent(klass));
  debug_category();  // creates the category, so that --gst-debug-help lists it

  auto* object = G_OBJECT_CLASS(klass);
  object->finalize = finalize;
  object->set_property = set_property;
  object->get_property = get_property;
  install_properties(object, spec);

  auto* element = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element, spec.long_name, spec.klass, spec.description,
                                        "gst-regions maintainers");
  add_template(element, "sink", GST_PAD_SINK, sink_template_caps());
  add_template(element, "src", GST_PAD_SRC, source_template_caps());
  element->change_state = change_state;
  element->set_context = set_context;

  auto* base = GST_BASE_TRANSFORM_CLASS(klass);
  base->stop = stop;
  base->transform_caps = on_transform_caps;
  base->set_caps = set_caps;
  base->get_unit_size = get_unit_size;
  base->transform_size = transform_size;
  install_allocation_functions(base);
  base->transform_meta = transform_meta;
  install_frame_functions(base);
}

// Returns the stream of an element of this plugin, or null for an element of another plugin.
FilterStream* find_stream(GstElement* element) {
  const bool is_registered = g_type_get_qdata(G_OBJECT_TYPE(element), spec_key()) != nullptr;
  return is_registered ? &stream_of(element) : nullptr;
}

void instance_init(GTypeInstance* instance, gpointer klass) {
  auto* base = GST_BASE_TRANSFORM(instance);
  static_cast<RegionFilter*>(static_cast<gpointer>(instance))->stream =
      new FilterStream(base, *static_cast<RegionFilterClass*>(klass)->spec, find_stream);
  gst_base_transform_set_qos_enabled(base, TRUE);
}

}  // namespace

FilterStream& stream_of(gpointer element) { return *static_cast<RegionFilter*>(element)->stream; }

GstBaseTransformClass* base_transform_class() {
  return GST_BASE_TRANSFORM_CLASS(g_type_class_peek(GST_TYPE_BASE_TRANSFORM));
}

gboolean register_element(GstPlugin* plugin, const ElementSpec& spec) {
  const GTypeInfo info = {
      sizeof(RegionFilterClass), nullptr, nullptr,       class_init, nullptr, &spec,
      sizeof(RegionFilter),      0,       instance_init, nullptr};
  // The type name also determines the default names of elements: "cclabel0".
  std::string type_name = std::string("Gst") + spec.name;
  type_name[3] = g_ascii_toupper(type_name[3]);
  const GType type = g_type_register_static(GST_TYPE_BASE_TRANSFORM, type_name.c_str(), &info,
                                            static_cast<GTypeFlags>(0));
  g_type_set_qdata(type, spec_key(), const_cast<ElementSpec*>(&spec));
  return gst_element_register(plugin, spec.name, GST_RANK_NONE, type);
}

}  // namespace regions
