// Frames in CUDA memory with a GstVideoCropMeta: elements read and draw inside its rectangle.
#include "tests/plugin/cropped_picture.hpp"
#include "tests/plugin/fake_gpu/producer.hpp"

namespace regions::test {
namespace {

const Rectangle kRectangle = {13, 7, 45, 37};
constexpr const char* kCroppedCaps =
    "video/x-raw(memory:CUDAMemory),format=RGBA,width=45,height=37,framerate=25/1";

TEST(CroppedMemory, OnADevice_ShowsTheSameAsACroppedCopy) {
  NEEDS_LIBRARY();
  const GstVideoInfo info = info_of("RGBA", kWidth, kHeight);
  for (const char* line :
       {"cclabel output=none attach-labels=always", "cclabel output=overlay", "cclabel output=mask",
        "cclabel output=none depth=2 connectivity=6", "graphcutbg output=overlay",
        "graphcutbg output=cutout", "slicsuperpixel output=mean",
        "cclabel output=none ! regionoverlay style=boxes"}) {
    const Producer producer(0);
    Harness cropped(line), copied(line);
    cropped.caps(kCroppedCaps);
    copied.video("RGBA", 45, 37);
    for (int i = 0; i < 4; ++i) {
      GstBuffer* frame = producer.frame(i, noise(info, i));
      show_only(frame, info, kRectangle);
      ASSERT_EQ(gst_harness_push(cropped.get(), frame), GST_FLOW_OK)
          << line << ": " << cropped.error_text();
      ASSERT_EQ(copied.push(cut_out(noise(info, i), info, kRectangle), i), GST_FLOW_OK) << line;
    }
    cropped.eos();
    copied.eos();
    for (int i = 0; i < 4; ++i) {
      const BufferPtr out = cropped.pull(), expected = copied.pull();
      ASSERT_TRUE(out && expected) << line;
      EXPECT_EQ(text_of_regions(out.get()), text_of_regions(expected.get())) << line;
      EXPECT_EQ(visible(cropped, out.get()), visible(copied, expected.get())) << line;
    }
  }
}

}  // namespace
}  // namespace regions::test
