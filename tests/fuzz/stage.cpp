// Starting GStreamer, and the pads on both sides of the elements.
#include "tests/fuzz/stage.hpp"

extern "C" const GstPluginDesc* gst_plugin_regions_get_desc();

namespace regions::fuzz {
namespace {

// GLib's own way to end a program is a signal that libFuzzer does not see.
void abort_on_critical(const gchar* domain, GLogLevelFlags level, const gchar* message, gpointer) {
  if (!(level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL))) return;
  const std::string text = message ? message : "";
  // Values of properties that GObject refuses are given on purpose. GLib's newer versions call that
  // critical.
  if (text.find("is invalid or out of range for property") != std::string::npos) return;
  fail(std::string(domain ? domain : "") + " CRITICAL " + text);
}

}  // namespace

void start_gstreamer(bool others) {
  g_setenv("GST_REGISTRY_FORK", "no", TRUE);
  g_unsetenv("GST_PLUGIN_PATH");
  g_unsetenv("GST_PLUGIN_PATH_1_0");
  if (!others) {
    g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE);
    g_setenv("GST_PLUGIN_SYSTEM_PATH", "", TRUE);
    g_setenv("GST_PLUGIN_SYSTEM_PATH_1_0", "", TRUE);
  }
  gst_init(nullptr, nullptr);
  if (others) return;
  g_log_set_default_handler(abort_on_critical, nullptr);
  const GstPluginDesc* ours = gst_plugin_regions_get_desc();
  gst_plugin_register_static(ours->major_version, ours->minor_version, ours->name,
                             ours->description, ours->plugin_init, ours->version, ours->license,
                             ours->source, ours->package, ours->origin);
}

Stage::Stage()
    : source_(gst_pad_new("source", GST_PAD_SRC)),
      sink_(gst_pad_new("sink", GST_PAD_SINK)),
      bus_(gst_bus_new()) {
  gst_object_ref_sink(source_);
  gst_object_ref_sink(sink_);
  gst_pad_set_element_private(sink_, this);
  gst_pad_set_chain_function(sink_, take);
  gst_pad_set_query_function(sink_, answer);
}

Stage::~Stage() {
  to_state(GST_STATE_NULL);
  gst_pad_set_active(source_, FALSE);
  gst_pad_set_active(sink_, FALSE);
  for (GstElement* element : elements_) {
    gst_element_set_bus(element, nullptr);
    gst_object_unref(element);
  }
  gst_object_unref(source_);
  gst_object_unref(sink_);
  gst_object_unref(bus_);
  gst_caps_replace(&takes_, nullptr);
}

void Stage::add(const char* name) {
  GstElement* element = gst_element_factory_make(name, nullptr);
  require(element != nullptr, name);
  gst_object_ref_sink(element);
  gst_element_set_bus(element, bus_);
  elements_.push_back(element);
}

void Stage::connect(Input& in) {
  GstPad* from = GST_PAD(gst_object_ref(source_));
  for (GstElement* element : elements_) {
    GstPad* to = gst_element_get_static_pad(element, "sink");
    require(gst_pad_link(from, to) == GST_PAD_LINK_OK, "pads cannot be linked");
    gst_object_unref(to);
    gst_object_unref(from);
    from = gst_element_get_static_pad(element, "src");
  }
  require(gst_pad_link(from, sink_) == GST_PAD_LINK_OK, "pads cannot be linked");
  gst_object_unref(from);
  change_downstream(in);
  gst_pad_set_active(source_, TRUE);
  gst_pad_set_active(sink_, TRUE);
}

void Stage::change_downstream(Input& in) {
  const std::lock_guard lock(mutex_);
  gst_caps_replace(&takes_, nullptr);
  constexpr const char* kCaps[] = {"video/x-raw,format=GRAY8", "video/x-raw,format={RGBA,RGB}",
                                   "video/x-region-labels", "video/x-raw,width=32,height=32",
                                   "video/x-raw(memory:CUDAMemory)"};
  if (in.one_in(4)) takes_ = gst_caps_from_string(kCaps[in.below(5)]);
  pool_ = in.one_in(2) ? static_cast<guint>(in.below(4)) : 0;
  knows_video_meta_ = !in.one_in(4);
  constexpr GstFlowReturn kFlows[] = {GST_FLOW_EOS, GST_FLOW_ERROR, GST_FLOW_FLUSHING,
                                      GST_FLOW_NOT_NEGOTIATED};
  flow_ = in.one_in(16) ? kFlows[in.below(4)] : GST_FLOW_OK;
}

void Stage::to_state(GstState state) {
  for (auto at = elements_.rbegin(); at != elements_.rend(); ++at) {
    gst_element_set_state(*at, state);
  }
  if (state > GST_STATE_READY) gst_pad_set_active(source_, TRUE);
  look_for_errors();
}

void Stage::look_for_errors() {
  while (GstMessage* message = gst_bus_pop(bus_)) {
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) failed_ = true;
    gst_message_unref(message);
  }
}

void Stage::push(GstBuffer* frame, bool shared) {
  GstBuffer* kept = shared ? gst_buffer_ref(frame) : nullptr;
  const GstFlowReturn flow = gst_pad_push(source_, frame);
  gst_clear_buffer(&kept);
  look_for_errors();
  require(flow != GST_FLOW_ERROR || failed_, "a frame was refused, but no error posted");
}

void Stage::send(GstEvent* event) {
  gst_pad_push_event(source_, event);
  look_for_errors();
}

void Stage::send_upstream(GstEvent* event) { gst_pad_push_event(sink_, event); }

void Stage::ask(GstQuery* query) {
  const int flags = gst_query_type_get_flags(GST_QUERY_TYPE(query));
  if (flags & GST_QUERY_TYPE_DOWNSTREAM) gst_pad_peer_query(source_, query);
  if (flags & GST_QUERY_TYPE_UPSTREAM) gst_pad_peer_query(sink_, query);
  gst_query_unref(query);
}

GstFlowReturn Stage::take(GstPad* pad, GstObject*, GstBuffer* frame) {
  auto& self = *static_cast<Stage*>(gst_pad_get_element_private(pad));
  GstMapInfo map;
  if (gst_buffer_map(frame, &map, GST_MAP_READ)) {  // all of it is there
    uint8_t sum = 0;
    for (gsize i = 0; i < map.size; ++i) sum ^= map.data[i];
    volatile uint8_t seen = sum;
    (void)seen;
    gst_buffer_unmap(frame, &map);
  }
  gst_buffer_unref(frame);
  const GstFlowReturn flow = self.flow_;
  if (flow != GST_FLOW_OK) self.failed_ = true;
  return flow;
}

gboolean Stage::answer(GstPad* pad, GstObject* parent, GstQuery* query) {
  auto& self = *static_cast<Stage*>(gst_pad_get_element_private(pad));
  const std::lock_guard lock(self.mutex_);
  switch (GST_QUERY_TYPE(query)) {
    case GST_QUERY_CAPS: {
      GstCaps* filter = nullptr;
      gst_query_parse_caps(query, &filter);
      GstCaps* caps = self.takes_ ? gst_caps_ref(self.takes_) : gst_caps_new_any();
      if (filter) {
        GstCaps* both = gst_caps_intersect_full(filter, caps, GST_CAPS_INTERSECT_FIRST);
        gst_caps_unref(caps);
        caps = both;
      }
      gst_query_set_caps_result(query, caps);
      gst_caps_unref(caps);
      return TRUE;
    }
    case GST_QUERY_ACCEPT_CAPS: {
      GstCaps* caps = nullptr;
      gst_query_parse_accept_caps(query, &caps);
      gst_query_set_accept_caps_result(query,
                                       !self.takes_ || gst_caps_can_intersect(caps, self.takes_));
      return TRUE;
    }
    case GST_QUERY_ALLOCATION:
      self.propose(query);
      return TRUE;
    default:
      return gst_pad_query_default(pad, parent, query);
  }
}

void Stage::propose(GstQuery* query) const {
  GstCaps* caps = nullptr;
  gboolean wants_pool = FALSE;
  gst_query_parse_allocation(query, &caps, &wants_pool);
  if (knows_video_meta_) gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  GstVideoInfo info;
  if (pool_ == 0 || !caps || !gst_video_info_from_caps(&info, caps)) return;
  if (GST_VIDEO_INFO_SIZE(&info) > 1 << 24) return;
  GstBufferPool* pool = wants_pool ? gst_video_buffer_pool_new() : nullptr;
  const auto size = static_cast<guint>(GST_VIDEO_INFO_SIZE(&info));
  if (pool) {
    GstStructure* config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, caps, size, 0, pool_);
    gst_buffer_pool_set_config(pool, config);
  }
  gst_query_add_allocation_pool(query, pool, size, 0, pool_);
  gst_clear_object(&pool);
}

}  // namespace regions::fuzz
