// Changes that a running stream follows: the frames' device, the part of the picture, the output,
// and the downstream element.
#include <utility>

#include "plugin/element/region_filter.hpp"
#include "plugin/memory/debug.hpp"
#include "plugin/memory/object_ptr.hpp"
#include "plugin/stream/filter_stream.hpp"
#include "plugin/stream/negotiation.hpp"

namespace regions {

// Another rectangle or scale is another scene for the algorithm, with the same caps. If sizes stay
// equal, all memory is kept. Frames of another device are another stream.
bool FilterStream::follow(GstBuffer* input) {
  FilterSettings wanted = settings();
  const bool chooses = setup_.in.cuda && wanted.cuda_device_id < 0;
  const CudaContextRef elsewhere = chooses ? cuda_.elsewhere(input) : nullptr;
  WorkArea area = setup_.work_area;
  if (static_cast<WorkAreaParams>(wanted) != area_) {
    try {
      area = work_area_of(wanted, setup_.in.layout, setup_.in.size);
      setup_.expect_work_area(area);
    } catch (const std::exception& error) {
      area = setup_.work_area;
      static_cast<WorkAreaParams&>(wanted) = area_;
      keep_area(error);
    }
  }
  if (!elsewhere && static_cast<WorkAreaParams>(wanted) == area_) return true;
  const GstFlowReturn flow = drain();
  if (flow != GST_FLOW_OK) return true;  // submit() returns the flow
  try {
    const SlotSetup before = setup_;
    if (!elsewhere && area.area == before.work_area.area && area.work == before.work_area.work) {
      GST_DEBUG_OBJECT(element_, "a new scene begins: the rectangle moved");
      const Backend::Entry entry(*before.backend);
      engine_->move(area);
      ring()->move(area);
      setup_.work_area = area;
      area_ = wanted;
    } else {
      GST_DEBUG_OBJECT(
          element_, "restarts: %s",
          elsewhere ? "frames are on another device" : "another size of the rectangle");
      end();
      if (elsewhere) move_to(elsewhere);
      start(before.in, before.out);
    }
    return true;
  } catch (const std::exception& error) {
    report(error);
    return false;
  }
}

void FilterStream::keep_area(const std::exception& error) {
  {
    const std::lock_guard lock(mutex_);
    static_cast<WorkAreaParams&>(settings_) = area_;
  }
  for (const Field& field : work_area_fields<WorkAreaParams>()) {
    g_object_notify(G_OBJECT(element_), field.name);
  }
  refuse("the rectangle", error);
}

namespace {

bool has_probes(GstPad* pad) {
  GST_OBJECT_LOCK(pad);
  const bool has = pad->num_probes > 0;
  GST_OBJECT_UNLOCK(pad);
  return has;
}

using CapsOwner = std::unique_ptr<GstCaps, decltype(&gst_caps_unref)>;

// The caps that GstBaseTransform will choose. Throws InputError if downstream accepts none.
CapsOwner caps_that_downstream_takes(GstPad* source, GstCaps* possible) {
  GstCaps* taken = gst_pad_peer_query_caps(source, possible);
  if (taken) taken = gst_caps_fixate(gst_caps_truncate(taken));
  CapsOwner caps(taken ? taken : gst_caps_new_empty(), gst_caps_unref);
  expects(gst_caps_is_fixed(caps.get()) && gst_pad_peer_query_accept_caps(source, caps.get()),
          "downstream does not accept the new pictures");
  return caps;
}

}  // namespace

bool FilterStream::takes_over_from(const std::shared_ptr<Backend>& other) const {
  const auto frames = ring();
  return frames && frames->takes_over_from(other);
}

// Pad probes must see complete frames.
bool FilterStream::hands_over() const {
  if (settings().post_messages) return false;
  GstPad* const pad = GST_BASE_TRANSFORM_SRC_PAD(element_);
  const ObjectPtr<GstPad> next(gst_pad_get_peer(pad));
  if (!next || has_probes(pad) || has_probes(next.get())) return false;
  const ObjectPtr<GstElement> behind(gst_pad_get_parent_element(next.get()));
  return behind && is_ours(behind.get()) && stream_of(behind.get()).takes_over_from(setup_.backend);
}

bool FilterStream::follow_output() {
  if (!ring() || !engine_->waits() || drain() != GST_FLOW_OK) return true;
  const SlotSetup before = setup_;
  const WorkAreaParams area = area_;
  std::vector<std::byte> learnt;
  const auto recall = [&] {
    if (area_ != area) return;  // another scene
    const Backend::Entry entry(*before.backend);
    engine_->recall(learnt);
  };
  const CapsOwner in(gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(element_)),
                     gst_caps_unref);
  engine_->adopt();
  try {
    const CapsOwner possible(transform_caps(GST_PAD_SINK, in.get(), engine_->picture_in_use(),
                                            uses_cuda(), engine_->layers_in_use()),
                             gst_caps_unref);
    const CapsOwner out =
        caps_that_downstream_takes(GST_BASE_TRANSFORM_SRC_PAD(element_), possible.get());
    const PictureCaps pictures = parse(out.get());
    GST_DEBUG_OBJECT(element_, "goes on with caps out %" GST_PTR_FORMAT,
                     static_cast<gconstpointer>(out.get()));
    {
      const Backend::Entry entry(*before.backend);
      learnt = engine_->learnt();
    }
    end();
    start(before.in, pictures);
    recall();
    gst_base_transform_reconfigure_src(element_);
  } catch (const std::exception& error) {
    engine_->go_back();
    try {
      if (!ring()) {
        start(before.in, before.out);
        recall();
      }
    } catch (const std::exception& worse) {
      report(worse);
      return false;
    }
    for (const Field& field : engine_->fields()) {
      if (field.change == Change::renegotiated) g_object_notify(G_OBJECT(element_), field.name);
    }
    refuse("the output", error);
  }
  return true;
}

}  // namespace regions
