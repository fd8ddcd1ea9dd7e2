// Elements follow their frames to the device: on two fake devices, see devices.hpp.
#include <gst/base/gstbasetransform.h>

#include <algorithm>

#include "tests/plugin/fake_gpu/producer.hpp"
#include "tests/plugin/log.hpp"

namespace regions::test {
namespace {

TEST(Followed, FramesThatChangeDevicesAllComeOutInOrder) {
  NEEDS_LIBRARY();
  const Producer producers[] = {Producer(0), Producer(1)};
  for (const char* line :
       {"cclabel output=none frames-in-flight=3", "cclabel output=overlay frames-in-flight=3",
        "cclabel output=mask frames-in-flight=3",
        "cclabel output=none frames-in-flight=2 depth=2 connectivity=26"}) {
    Harness h(line);
    int notified = 0;
    g_signal_connect(h.element(), "notify::active-device",
                     G_CALLBACK(+[](GObject*, GParamSpec*, int* count) { ++*count; }), &notified);
    h.caps(kCudaCaps);
    const int devices[] = {1, 1, 1, 0, 0, 1, 1, 1};
    for (int i = 0; i < 8; ++i) {
      ASSERT_EQ(gst_harness_push(h.get(), producers[devices[i]].frame(i, squares(i + 1))),
                GST_FLOW_OK)
          << line << ": " << h.error_text();
      EXPECT_EQ(device_of(h.element()), "cuda:" + std::to_string(devices[i]) + " fake") << line;
    }
    h.eos();
    const bool is_volume = std::string(line).find("depth") != std::string::npos;
    for (int i = 0; i < 8; ++i) {
      if (is_volume) {
        EXPECT_TRUE(h.pull()) << line << ": " << i;
      } else {
        expect_frame(h, i, static_cast<guint>(i) + 1);
      }
    }
    EXPECT_EQ(notified, 3) << line;
    EXPECT_FALSE(h.has_error()) << line;
  }
}

TEST(Followed, ElementsOpenOnTheDeviceThatOneUpstreamTellsOf) {
  for (const char* line : {"graphcutbg output=none cuda-device-id=1 ! slicsuperpixel output=none ! "
                           "cclabel output=none",
                           "( graphcutbg output=none cuda-device-id=1 ) ! cclabel output=none"}) {
    Harness h(line);
    GstElement* element = gst_harness_find_element(h.get(), "cclabel");
    EXPECT_EQ(device_of(element), "cuda:1 fake") << line;
    gst_object_unref(element);
  }
}

TEST(Followed, MovesAreToldOf) {
  const Log log(GST_LEVEL_DEBUG);
  Harness h("cclabel output=none");
  EXPECT_TRUE(log.has("runs on cuda:0 fake"));
  if (library_is("empty")) return;
  const Producer second(1);
  h.caps(kCudaCaps);
  ASSERT_EQ(gst_harness_push(h.get(), second.frame(0, squares(1))), GST_FLOW_OK);
  for (const char* line : {"restarts: frames are on another device",
                           "moves to the device of the frames", "runs on cuda:1 fake"}) {
    EXPECT_TRUE(log.has(line)) << line << "\nnot in\n" << testing::PrintToString(log.all());
  }
}

// References to the pool from buffers that are still in use.
int references_of_output_pool(Harness& h) {
  GstBufferPool* pool = gst_base_transform_get_buffer_pool(GST_BASE_TRANSFORM(h.element()));
  const int count = pool ? GST_OBJECT_REFCOUNT_VALUE(pool) : 0;
  gst_clear_object(&pool);
  return count;
}

TEST(Followed, DeviceThatCannotBeFollowed_DropsItsFrameWithoutALeak) {
  NEEDS_LIBRARY();
  const Producer producers[] = {Producer(0), Producer(1)};
  for (const char* line :
       {"cclabel output=none", "cclabel output=overlay", "cclabel output=mask"}) {
    Harness h(line);
    h.caps(kCudaCaps);
    ASSERT_EQ(gst_harness_push(h.get(), producers[0].frame(0, squares(1))), GST_FLOW_OK);
    ASSERT_TRUE(h.pull());
    const int references = references_of_output_pool(h);
    GstBuffer* frame = producers[1].frame(1, squares(2));
    const BufferPtr parent(gst_buffer_new());
    gst_buffer_add_parent_buffer_meta(frame, parent.get());
    fake::free_memory() = fake::kContextBytes / 2;
    EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_ERROR) << line;
    fake::free_memory() = fake::kAllMemory;
    EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(parent.get()), 1) << line << ": the frame is leaked";
    EXPECT_EQ(references_of_output_pool(h), references) << line;
    const std::string text = h.error_text();
    EXPECT_NE(text.find("cuda:1"), std::string::npos) << text;
  }
}

TEST(Followed, AChainFollowsAndStaysAfterNewCaps) {
  NEEDS_LIBRARY();
  const Producer second(1);
  Harness h(
      "graphcutbg output=none attach-labels=always ! cclabel source=mask output=none "
      "! regionoverlay");
  h.caps(kCudaCaps);
  for (int i = 0; i < 6; ++i) {
    if (i == 3) h.caps(std::string(kCudaCaps) + ",pixel-aspect-ratio=2/1");
    ASSERT_EQ(gst_harness_push(h.get(), second.frame(i, squares(i % 3 * 2))), GST_FLOW_OK)
        << h.error_text();
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out) << h.error_text();
    for (const char* name : {"graphcutbg", "cclabel", "regionoverlay"}) {
      GstElement* element = gst_harness_find_element(h.get(), name);
      EXPECT_EQ(device_of(element), "cuda:1 fake") << name << ", frame " << i;
      gst_object_unref(element);
    }
  }
}

TEST(Followed, WhatWasLearntBeginsAnewOnAnotherDeviceOnly) {
  NEEDS_LIBRARY();
  const Producer producers[] = {Producer(0), Producer(1)};
  Harness h("graphcutbg output=mask");
  h.caps(kCudaCaps);
  const auto foreground = [&](int device, int index, int count) {
    if (gst_harness_push(h.get(), producers[device].frame(index, squares(count))) != GST_FLOW_OK) {
      ADD_FAILURE() << h.error_text();
      return false;
    }
    const BufferPtr out = h.pull();
    const auto mask = out ? bytes_of(out.get()) : std::vector<uint8_t>{};
    EXPECT_FALSE(mask.empty()) << h.error_text();
    return std::any_of(mask.begin(), mask.end(), [](uint8_t value) { return value != 0; });
  };
  EXPECT_FALSE(foreground(0, 0, 0));
  EXPECT_FALSE(foreground(0, 1, 0));
  EXPECT_TRUE(foreground(0, 2, 12));   // these have appeared
  EXPECT_FALSE(foreground(1, 3, 12));  // the first of a new model
  EXPECT_TRUE(foreground(1, 4, 24));
}

TEST(Followed, ADeviceThatIsAskedForStays) {
  NEEDS_LIBRARY();
  const Producer second(1);
  Harness h("cclabel output=none cuda-device-id=0");
  h.caps(kCudaCaps);
  EXPECT_EQ(gst_harness_push(h.get(), second.frame(0, squares(1))), GST_FLOW_ERROR);
  const std::string text = h.error_text();
  EXPECT_NE(text.find("cuda:1"), std::string::npos) << text;
  EXPECT_NE(text.find("cuda-device-id"), std::string::npos) << text;
  EXPECT_EQ(device_of(h.element()), "cuda:0 fake");
}

// Answers CONTEXT queries as a decoder does.
gboolean answer(GstPad* pad, GstObject* parent, GstQuery* query) {
  auto* context = static_cast<GstObject*>(g_object_get_data(G_OBJECT(pad), "context"));
  if (context && GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT) {
    return cuda_library()->answer_query(nullptr, query, context);
  }
  return gst_pad_query_default(pad, parent, query);
}

TEST(Followed, TheContextUpstreamIsFollowedBeforeAnyFrame) {
  NEEDS_LIBRARY();
  const Producer second(1);
  Harness h("cclabel output=none");
  EXPECT_EQ(device_of(h.element()), "cuda:0 fake");
  gst_pad_set_query_function(h.get()->srcpad, answer);
  g_object_set_data(G_OBJECT(h.get()->srcpad), "context", second.context());
  h.video("RGBA", kWidth, kHeight);
  EXPECT_EQ(device_of(h.element()), "cuda:0 fake") << "frames in system memory go anywhere";
  h.caps(kCudaCaps);
  EXPECT_EQ(device_of(h.element()), "cuda:1 fake");
}

TEST(Followed, ElementsAreCountedWhereTheyAre) {
  NEEDS_LIBRARY();
  const Producer second(1);
  Harness first("cclabel output=none");
  ASSERT_EQ(device_of(first.element()), "cuda:0 fake");
  first.caps(kCudaCaps);
  ASSERT_EQ(gst_harness_push(first.get(), second.frame(0, squares(1))), GST_FLOW_OK);
  const Harness next("cclabel output=none");
  EXPECT_EQ(device_of(next.element()), "cuda:0 fake") << "nothing is there any more";
}

// Each frame has its own mask, whatever its memory contained before.
TEST(Followed, AMaskFromAnotherDeviceIsBroughtOver) {
  const auto line = [](const char* second) {
    return std::string("graphcutbg cuda-device-id=0 output=none frames-in-flight=1 ! ") +
           "cclabel cuda-device-id=" + second + " source=mask output=none frames-in-flight=1";
  };
  Harness h(line("1")), same(line("0"));
  h.video("RGBA", kWidth, kHeight);
  same.video("RGBA", kWidth, kHeight);
  guint most = 0;
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(h.push(squares(i * 3), i), GST_FLOW_OK) << h.error_text();
    ASSERT_EQ(same.push(squares(i * 3), i), GST_FLOW_OK);
    const BufferPtr out = h.pull(), expected = same.pull();
    ASSERT_TRUE(out && expected) << h.error_text();
    EXPECT_EQ(total_of(out.get()), total_of(expected.get())) << "frame " << i;
    most = std::max(most, total_of(out.get()));
  }
  EXPECT_GT(most, 3u);
}

}  // namespace
}  // namespace regions::test
