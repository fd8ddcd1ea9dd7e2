// Produces frames in the memory of a fake device, like an upstream element.
#pragma once

#include <algorithm>

#include "plugin/memory/cuda_memory.hpp"
#include "tests/plugin/fake_gpu/devices.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {

constexpr int kWidth = 64, kHeight = 48, kSquare = 6;
constexpr const char* kCudaCaps =
    "video/x-raw(memory:CUDAMemory),format=RGBA,width=64,height=48,framerate=25/1";

// FAKE_LIBRARY is the name of the fake libgstcuda: streams, no_streams or empty.
inline bool library_is(const char* version) {
  return g_str_equal(g_getenv("FAKE_LIBRARY"), version);
}
#define NEEDS_LIBRARY() \
  if (library_is("empty")) GTEST_SKIP() << "CUDA memory requires libgstcuda"
#define NEEDS_STREAMS() \
  if (!library_is("streams")) GTEST_SKIP() << "this libgstcuda has no streams"

// `count` white squares on black.
inline std::vector<uint8_t> squares(int count) {
  std::vector<uint8_t> bytes(size_t{kWidth} * kHeight * 4);
  for (int i = 0; i < count; ++i) {
    for (int y = 0; y < kSquare; ++y) {
      const auto at = static_cast<size_t>(((i / 8 * 8 + y) * kWidth + i % 8 * 8) * 4);
      std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(at), kSquare * 4, uint8_t{255});
    }
  }
  return bytes;
}

// The context and the pool of CUDA memory of an upstream element, with a stream if the library has
// streams.
class Producer {
 public:
  explicit Producer(int device, void* handle = nullptr) {
    start_gstreamer();
    library_ = cuda_library();
    context_ = library_->wrap(handle ? handle : fake::context_of(device), device);
    pool_ = library_->new_pool(context_);
    GstStructure* config = gst_buffer_pool_get_config(pool_);
    const CapsPtr caps(gst_caps_from_string(kCudaCaps));
    gst_buffer_pool_config_set_params(config, caps.get(), kWidth * kHeight * 4, 0, 0);
    if (library_->new_stream) {
      stream_ = library_->new_stream(context_);
      library_->set_stream(config, stream_);
    }
    gst_buffer_pool_set_config(pool_, config);
    gst_buffer_pool_set_active(pool_, TRUE);
  }
  Producer(const Producer&) = delete;
  ~Producer() {
    gst_buffer_pool_set_active(pool_, FALSE);
    gst_object_unref(pool_);
    gst_clear_mini_object(&stream_);
    gst_object_unref(context_);
  }
  GstObject* context() const { return context_; }
  fake::Stream& stream() const {
    return *static_cast<fake::Stream*>(library_->stream_handle(stream_));
  }
  // The stream works on the frame until stream().end().
  void begin_work(GstBuffer* buffer) const {
    GST_MINI_OBJECT_FLAG_SET(gst_buffer_peek_memory(buffer, 0), kNeedSync);
    stream().begin();
  }
  GstBuffer* frame(int index, const std::vector<uint8_t>& bytes) const {
    GstBuffer* buffer = nullptr;
    gst_buffer_pool_acquire_buffer(pool_, &buffer, nullptr);
    gst_buffer_fill(buffer, 0, bytes.data(), bytes.size());
    GST_BUFFER_PTS(buffer) = time_of(index);
    GST_BUFFER_DURATION(buffer) = time_of(1);
    return buffer;
  }

 private:
  const CudaLibrary* library_;
  GstObject* context_;
  GstBufferPool* pool_;
  GstMiniObject* stream_ = nullptr;
};

inline guint total_of(GstBuffer* buffer) {
  guint total = 0;
  const GstStructure* regions = regions_of(buffer);
  EXPECT_TRUE(regions && gst_structure_get_uint(regions, "regions-total", &total));
  return total;
}

inline void expect_frame(Harness& h, int index, guint regions) {
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out) << index << ": " << h.error_text();
  EXPECT_EQ(GST_BUFFER_PTS(out.get()), time_of(index));
  EXPECT_EQ(total_of(out.get()), regions) << index;
}

}  // namespace regions::test
