// How elements come to their CUDA context: offered by the application or by neighbours, else made
// and offered to all.
#include "tests/plugin/fake_gpu/producer.hpp"

namespace regions::test {
namespace {

// An element on its own, and what it says on its bus.
class Alone {
 public:
  explicit Alone(const std::string& line) {
    start_gstreamer();
    element_ = gst_parse_launch(line.c_str(), nullptr);
    gst_object_ref_sink(element_);
    bus_ = gst_bus_new();
    gst_element_set_bus(element_, bus_);
  }
  Alone(const Alone&) = delete;
  ~Alone() {
    gst_element_set_state(element_, GST_STATE_NULL);
    gst_element_set_bus(element_, nullptr);
    gst_object_unref(element_);
    gst_object_unref(bus_);
  }
  GstElement* get() const { return element_; }
  std::string ready() const {
    gst_element_set_state(element_, GST_STATE_READY);
    return device_of(element_);
  }
  MessagePtr message(GstMessageType type) const {
    return MessagePtr(gst_bus_pop_filtered(bus_, type));
  }
  void offer(GstObject* cuda) const {
    GstContext* context = cuda_library()->new_gst_context(cuda);
    gst_element_set_context(element_, context);
    gst_context_unref(context);
  }

 private:
  GstElement* element_ = nullptr;
  GstBus* bus_ = nullptr;
};

// The device of a context of ours; -1 if it is none.
int device_in(GstContext* context) {
  if (!context || !gst_context_has_context_type(context, kCudaContextType)) return -1;
  GstObject* cuda = nullptr;
  gst_structure_get(gst_context_get_structure(context), kCudaContextType,
                    cuda_library()->context_type(), &cuda, nullptr);
  guint device = 99;
  g_object_get(cuda, "cuda-device-id", &device, nullptr);
  gst_object_unref(cuda);
  return static_cast<int>(device);
}

TEST(Contexts, AreAskedForThenMadeAndOfferedToAll) {
  NEEDS_LIBRARY();
  const Alone alone("cclabel cuda-device-id=1");
  EXPECT_EQ(alone.ready(), "cuda:1 fake");
  const MessagePtr need = alone.message(GST_MESSAGE_NEED_CONTEXT);
  ASSERT_TRUE(need);
  const gchar* type = nullptr;
  ASSERT_TRUE(gst_message_parse_context_type(need.get(), &type));
  EXPECT_STREQ(type, kCudaContextType);
  const MessagePtr have = alone.message(GST_MESSAGE_HAVE_CONTEXT);
  ASSERT_TRUE(have);
  GstContext* context = nullptr;
  gst_message_parse_have_context(have.get(), &context);
  EXPECT_EQ(device_in(context), 1);
  gst_context_unref(context);
  context = gst_element_get_context(alone.get(), kCudaContextType);
  EXPECT_EQ(device_in(context), 1);
  if (context) gst_context_unref(context);
}

TEST(Contexts, OfTheApplicationAreTaken) {
  NEEDS_LIBRARY();
  const Producer second(1);
  const Alone alone("cclabel");
  alone.offer(second.context());
  EXPECT_EQ(alone.ready(), "cuda:1 fake");
  EXPECT_FALSE(alone.message(GST_MESSAGE_NEED_CONTEXT));
  EXPECT_FALSE(alone.message(GST_MESSAGE_HAVE_CONTEXT));
  GstQuery* query = gst_query_new_context(kCudaContextType);
  GstPad* pad = gst_element_get_static_pad(alone.get(), "src");
  ASSERT_TRUE(gst_pad_query(pad, query)) << "neighbours are told of it";
  GstContext* answer = nullptr;
  gst_query_parse_context(query, &answer);
  GstObject* cuda = nullptr;
  gst_structure_get(gst_context_get_structure(answer), kCudaContextType,
                    cuda_library()->context_type(), &cuda, nullptr);
  EXPECT_EQ(cuda, second.context());
  gst_object_unref(cuda);
  gst_query_unref(query);
  gst_object_unref(pad);
}

TEST(Contexts, OfAnotherDeviceThanIsAskedForAreNot) {
  NEEDS_LIBRARY();
  const Producer second(1);
  const Alone alone("cclabel cuda-device-id=0");
  alone.offer(second.context());
  EXPECT_EQ(alone.ready(), "cuda:0 fake");
  // A device that is asked for once one was taken.
  const Alone later("cclabel");
  later.offer(second.context());
  g_object_set(later.get(), "cuda-device-id", 0, nullptr);
  EXPECT_EQ(later.ready(), "cuda:0 fake");
}

TEST(Contexts, OfOtherKindsAreNoMatter) {
  NEEDS_LIBRARY();
  const Alone alone("cclabel cuda-device-id=0");
  GstContext* other = gst_context_new("gst.gl.GLDisplay", TRUE);
  gst_element_set_context(alone.get(), other);
  gst_context_unref(other);
  EXPECT_EQ(alone.ready(), "cuda:0 fake");
  GstQuery* query = gst_query_new_context("gst.gl.GLDisplay");
  GstPad* pad = gst_element_get_static_pad(alone.get(), "sink");
  EXPECT_FALSE(gst_pad_query(pad, query));
  gst_query_unref(query);
  gst_object_unref(pad);
}

gboolean answer(GstPad* pad, GstObject* parent, GstQuery* query) {
  auto* context = static_cast<GstObject*>(g_object_get_data(G_OBJECT(pad), "context"));
  if (GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT) {
    return cuda_library()->answer_query(nullptr, query, context);
  }
  return gst_pad_query_default(pad, parent, query);
}

TEST(Contexts, OfNeighboursAreTaken) {
  NEEDS_LIBRARY();
  const Producer second(1);
  for (const char* side : {"sink", "src"}) {
    const Alone alone("cclabel");
    GstPad* ours = gst_element_get_static_pad(alone.get(), side);
    GstPad* theirs = gst_pad_new(nullptr, GST_PAD_IS_SINK(ours) ? GST_PAD_SRC : GST_PAD_SINK);
    gst_object_ref_sink(theirs);
    g_object_set_data(G_OBJECT(theirs), "context", second.context());
    gst_pad_set_query_function(theirs, answer);
    gst_pad_set_active(theirs, TRUE);
    ASSERT_EQ(gst_pad_link_full(GST_PAD_IS_SINK(ours) ? theirs : ours,
                                GST_PAD_IS_SINK(ours) ? ours : theirs, GST_PAD_LINK_CHECK_NOTHING),
              GST_PAD_LINK_OK);
    EXPECT_EQ(alone.ready(), "cuda:1 fake") << side;
    EXPECT_FALSE(alone.message(GST_MESSAGE_NEED_CONTEXT)) << side;
    gst_element_set_state(alone.get(), GST_STATE_NULL);
    gst_object_unref(theirs);
    gst_object_unref(ours);
  }
}

// NULL gives the context back: another may be offered for the next start.
TEST(Contexts, AreChosenAnewFromNull) {
  NEEDS_LIBRARY();
  const Producer producers[] = {Producer(0), Producer(1)};
  const Alone alone("cclabel");
  for (const int device : {1, 0, 1}) {
    alone.offer(producers[device].context());
    EXPECT_EQ(alone.ready(), "cuda:" + std::to_string(device) + " fake");
    gst_element_set_state(alone.get(), GST_STATE_NULL);
    EXPECT_EQ(device_of(alone.get()), "none");
  }
}

TEST(Contexts, ADeviceThatIsNotThere) {
  const Alone any("cclabel cuda-device-id=7"), cuda("cclabel cuda-device-id=7 device=cuda");
  EXPECT_EQ(any.ready().substr(0, 5), "cpu: ");
  EXPECT_EQ(cuda.ready(), "none");
  EXPECT_EQ(GST_STATE(cuda.get()), GST_STATE_NULL);
  const MessagePtr message = cuda.message(GST_MESSAGE_ERROR);
  ASSERT_TRUE(message);
  GError* error = nullptr;
  gst_message_parse_error(message.get(), &error, nullptr);
  EXPECT_EQ(error->domain, GST_RESOURCE_ERROR);
  EXPECT_EQ(error->code, GST_RESOURCE_ERROR_FAILED);
  EXPECT_NE(std::string(error->message).find("no fake device 7"), std::string::npos);
  g_error_free(error);
}

// Elements go where the fewest are, whatever became of those before.
TEST(Contexts, ElementsSpreadOverDevices) {
  std::vector<std::unique_ptr<Alone>> elements;
  std::vector<std::string> devices;
  for (int i = 0; i < 5; ++i) {
    elements.push_back(std::make_unique<Alone>("cclabel"));
    devices.push_back(elements.back()->ready());
  }
  const std::string first = "cuda:0 fake", second = "cuda:1 fake";
  EXPECT_EQ(devices, (std::vector<std::string>{first, second, first, second, first}));
  for (int time = 0; time < 3; ++time) {  // a start that ends changes nothing
    gst_element_set_state(elements[1]->get(), GST_STATE_NULL);
    EXPECT_EQ(elements[1]->ready(), second);
  }
  elements.erase(elements.begin() + 2);
  elements.erase(elements.begin());
  const Alone next("cclabel");  // one is on the first, two on the second
  EXPECT_EQ(next.ready(), first);
  const Alone asked("cclabel cuda-device-id=0");  // counts, too
  EXPECT_EQ(asked.ready(), first);
  const Alone last("cclabel");
  EXPECT_EQ(last.ready(), second);
}

}  // namespace
}  // namespace regions::test
