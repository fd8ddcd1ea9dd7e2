// GStreamer in a fuzz target: buffers of any kind, and elements between two pads.
#pragma once

#include <gst/video/video.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "tests/fuzz/input.hpp"

namespace regions::fuzz {

// Call it once, before the first input. With `others`, the plugins of the system are fuzzed.
// Without, only this plugin exists, as part of the program, and critical messages of GLib are
// findings.
void start_gstreamer(bool others);

// Caps of a picture, mostly in a format that the elements support, and their video info.
GstCaps* caps_in(Input& in, GstVideoInfo& info);
// A buffer in memory of exactly its size. The caller sets timestamps.
GstBuffer* frame_in(Input& in, const GstVideoInfo& info);

// Adds valid or invalid `regions` metadata.
void add_regions(GstBuffer* buffer, const GstVideoInfo& info, Input& in);
// Copies the metadata like elements that scale, crop or copy buffers.
void carry_metadata(GstBuffer* from, GstBuffer* to, const GstVideoInfo& info, Input& in);

// Elements in a row between a pad that sends and a pad that receives, both controlled by the input.
class Stage {
 public:
  Stage();
  ~Stage();
  Stage(const Stage&) = delete;

  void add(const char* name);  // after the existing elements
  GstElement* element(size_t at) const { return elements_[at]; }
  // Links all elements, and calls change_downstream().
  void connect(Input& in);
  // Selects the accepted caps, the proposed pools and the flow return of later frames.
  void change_downstream(Input& in);
  void to_state(GstState state);

  // `shared`: upstream keeps a reference, so that the frame is not writable.
  void push(GstBuffer* frame, bool shared);
  void send(GstEvent* event);
  void send_upstream(GstEvent* event);
  void ask(GstQuery* query);

 private:
  static GstFlowReturn take(GstPad* pad, GstObject* parent, GstBuffer* frame);
  static gboolean answer(GstPad* pad, GstObject* parent, GstQuery* query);
  void propose(GstQuery* query) const;
  void look_for_errors();

  std::vector<GstElement*> elements_;
  GstPad *source_, *sink_;
  GstBus* bus_;
  std::mutex mutex_;          // guards the members that the streaming thread reads
  GstCaps* takes_ = nullptr;  // null: any
  guint pool_ = 0;            // buffers in the pool that is proposed; 0: none is
  bool knows_video_meta_ = true;
  std::atomic<GstFlowReturn> flow_ = GST_FLOW_OK;
  std::atomic<bool> failed_ =
      false;  // downstream has returned something else, or an error was posted
};

}  // namespace regions::fuzz
