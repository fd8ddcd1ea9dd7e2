// The GStreamer source element (a GstPushSrc) of the pipeline benchmark. It pushes prepared frames.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "bench/programs/stage.hpp"

namespace {

using regions::FrameOrigin;
using regions::FrameSupply;

constexpr std::chrono::seconds kPushTimeout{5};  // maximum time until the pipeline takes a frame

// C++ members of the element. They are allocated separately, because GObject does not call
// constructors.
struct State {
  FrameSupply supply;
  GstVideoInfo info = {};
  GstBufferPool* own_pool = nullptr;
  bool offered_pool = false;
  int created = 0;  // number of frames created so far

  std::mutex mutex;  // guards all following members
  std::condition_variable changed;
  bool holding = false;
  bool stopping = false;
  int allowed = 0;        // number of frames that may be pushed while `holding`
  int released = 0;       // number of frames that were pushed while `holding`
  int64_t pushed_at = 0;  // monotonic time of the last push, microseconds
};

struct FrameSource {
  GstPushSrc parent;
  State* state;
};
struct FrameSourceClass {
  GstPushSrcClass parent_class;
};

G_DEFINE_TYPE(FrameSource, frame_source, GST_TYPE_PUSH_SRC)

State& state_of(void* source) { return *static_cast<FrameSource*>(source)->state; }

// Returns the key under which pool memory is marked if it already contains the picture.
GQuark painted_mark() { return g_quark_from_static_string("regions-bench-painted"); }

void paint(State& state, GstBuffer* buffer) {
  GstMiniObject* memory = GST_MINI_OBJECT_CAST(gst_buffer_peek_memory(buffer, 0));
  if (!state.supply.refill && gst_mini_object_get_qdata(memory, painted_mark())) return;
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &state.info, buffer, GST_MAP_WRITE)) return;
  const regions::ConstFrame& from = state.supply.picture;
  for (int p = 0; p < from.layout.planes; ++p) {
    const size_t bytes = regions::row_bytes(from.layout, p, from.size());
    auto* to = static_cast<std::byte*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, p));
    for (int y = 0; y < regions::row_count(from.layout, p, from.size()); ++y) {
      std::memcpy(to + y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p),
                  from.plane[p] + y * from.pitch[p], bytes);
    }
  }
  gst_video_frame_unmap(&frame);
  gst_mini_object_set_qdata(memory, painted_mark(), &state, nullptr);
}

GstFlowReturn take_buffer(FrameSource* source, GstBuffer** buffer) {
  State& state = state_of(source);
  const FrameSupply& supply = state.supply;
  if (supply.origin == FrameOrigin::ready_made) {
    *buffer = gst_buffer_copy(supply.ready[state.created % supply.ready_count]);
    return GST_FLOW_OK;
  }
  GstFlowReturn flow = GST_FLOW_ERROR;
  if (supply.origin == FrameOrigin::own_pool) {
    flow = gst_buffer_pool_acquire_buffer(state.own_pool, buffer, nullptr);
  } else if (GstBufferPool* pool = gst_base_src_get_buffer_pool(GST_BASE_SRC(source))) {
    flow = gst_buffer_pool_acquire_buffer(pool, buffer, nullptr);
    gst_object_unref(pool);
  } else {
    GST_ELEMENT_ERROR(source, RESOURCE, NOT_FOUND,
                      ("The next element does not propose a buffer pool"), (nullptr));
  }
  if (flow == GST_FLOW_OK) paint(state, *buffer);
  return flow;
}

GstFlowReturn create(GstPushSrc* base, GstBuffer** buffer) {
  auto* source = reinterpret_cast<FrameSource*>(base);
  State& state = state_of(source);
  {
    std::unique_lock lock(state.mutex);
    state.changed.wait(lock, [&] { return !state.holding || state.allowed > 0 || state.stopping; });
    if (state.stopping) return GST_FLOW_FLUSHING;
    if (state.holding) --state.allowed;
  }
  if (state.created == state.supply.frames) return GST_FLOW_EOS;
  const GstFlowReturn flow = take_buffer(source, buffer);
  if (flow != GST_FLOW_OK) return flow;
  constexpr GstClockTime kDuration = GST_SECOND / 1000;
  GST_BUFFER_PTS(*buffer) = static_cast<GstClockTime>(state.created) * kDuration;
  GST_BUFFER_DURATION(*buffer) = kDuration;
  ++state.created;
  const std::lock_guard lock(state.mutex);
  ++state.released;
  state.pushed_at = g_get_monotonic_time();
  state.changed.notify_all();
  return GST_FLOW_OK;
}

GstCaps* get_caps(GstBaseSrc* source, GstCaps* filter) {
  GstCaps* caps = state_of(source).supply.caps;
  return filter ? gst_caps_intersect(filter, caps) : gst_caps_ref(caps);
}

gboolean decide_allocation(GstBaseSrc* source, GstQuery* query) {
  State& state = state_of(source);
  state.offered_pool = gst_query_get_n_allocation_pools(query) > 0;
  return GST_BASE_SRC_CLASS(frame_source_parent_class)->decide_allocation(source, query);
}

gboolean start(GstBaseSrc* source) {
  State& state = state_of(source);
  if (!gst_video_info_from_caps(&state.info, state.supply.caps)) {
    return state.supply.origin == FrameOrigin::ready_made;
  }
  state.own_pool = gst_video_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(state.own_pool);
  gst_buffer_pool_config_set_params(config, state.supply.caps,
                                    static_cast<guint>(GST_VIDEO_INFO_SIZE(&state.info)), 4, 0);
  return gst_buffer_pool_set_config(state.own_pool, config) &&
         gst_buffer_pool_set_active(state.own_pool, TRUE);
}

gboolean stop(GstBaseSrc* source) {
  State& state = state_of(source);
  if (!state.own_pool) return TRUE;
  gst_buffer_pool_set_active(state.own_pool, FALSE);
  gst_clear_object(&state.own_pool);
  return TRUE;
}

gboolean set_stopping(GstBaseSrc* source, bool stopping) {
  State& state = state_of(source);
  const std::lock_guard lock(state.mutex);
  state.stopping = stopping;
  state.changed.notify_all();
  return TRUE;
}

void frame_source_init(FrameSource* source) {
  source->state = new State;
  gst_base_src_set_format(GST_BASE_SRC(source), GST_FORMAT_TIME);
}

void finalize(GObject* object) {
  delete reinterpret_cast<FrameSource*>(object)->state;
  G_OBJECT_CLASS(frame_source_parent_class)->finalize(object);
}

void frame_source_class_init(FrameSourceClass* type) {
  static GstStaticPadTemplate pad =
      GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
  gst_element_class_add_static_pad_template(GST_ELEMENT_CLASS(type), &pad);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(type), "Frame source", "Source/Video",
                                        "Pushes prepared frames for benchmarks", "gst-regions");
  G_OBJECT_CLASS(type)->finalize = finalize;
  GstBaseSrcClass* base = GST_BASE_SRC_CLASS(type);
  base->get_caps = get_caps;
  base->decide_allocation = decide_allocation;
  base->start = start;
  base->stop = stop;
  base->unlock = [](GstBaseSrc* source) { return set_stopping(source, true); };
  base->unlock_stop = [](GstBaseSrc* source) { return set_stopping(source, false); };
  GST_PUSH_SRC_CLASS(type)->create = create;
}

}  // namespace

namespace regions {

GstElement* make_frame_source(const FrameSupply& supply) {
  auto* source = static_cast<GstElement*>(g_object_new(frame_source_get_type(), nullptr));
  state_of(source).supply = supply;
  return source;
}

bool was_offered_pool(GstElement* source) { return state_of(source).offered_pool; }

void hold_frames(GstElement* source) {
  State& state = state_of(source);
  const std::lock_guard lock(state.mutex);
  state.holding = true;
}

int64_t push_one_frame(GstElement* source) {
  State& state = state_of(source);
  std::unique_lock lock(state.mutex);
  const int before = state.released;
  ++state.allowed;
  state.changed.notify_all();
  state.changed.wait_for(lock, kPushTimeout,
                         [&] { return state.released > before || state.stopping; });
  return state.released > before ? state.pushed_at : -1;
}

}  // namespace regions
