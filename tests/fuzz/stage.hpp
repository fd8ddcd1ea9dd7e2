// Elements in a row between a pad that sends and a pad that takes, both as strange as the input
// says.
#pragma once

#include <gst/video/video.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "tests/fuzz/input.hpp"

namespace regions::fuzz {

class Stage {
 public:
  Stage();
  ~Stage();
  Stage(const Stage&) = delete;

  void add(const char* name);  // behind those that are there
  GstElement* element(size_t at) const { return elements_[at]; }
  // Links all, with a downstream as change_downstream() makes it.
  void connect(Input& in);
  // Which caps are taken from here on, which pools proposed, what is done with frames.
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
  std::mutex mutex_;          // guards what frames' own thread reads of downstream
  GstCaps* takes_ = nullptr;  // null: any
  guint pool_ = 0;            // buffers in the pool that is proposed; 0: none is
  bool knows_video_meta_ = true;
  std::atomic<GstFlowReturn> flow_ = GST_FLOW_OK;
  std::atomic<bool> failed_ =
      false;  // downstream has returned something else, or an error was posted
};

}  // namespace regions::fuzz
