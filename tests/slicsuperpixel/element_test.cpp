// The element slicsuperpixel: outputs and metadata against the algorithm, changes of the caps, and
// error messages.
#include <cstring>

#include "tests/plugin/harness.hpp"
#include "tests/slicsuperpixel/run.hpp"

namespace regions::test {
namespace {

const SlicCase kScene = {"scene", {160, 96}, {"region-size=12"}, PixelFormat::rgba};

std::vector<uint8_t> bytes_of(const ConstFrame& frame) {
  std::vector<uint8_t> bytes;
  for (int y = 0; y < frame.height; ++y) {
    const auto* row = reinterpret_cast<const uint8_t*>(frame.plane[0] + y * frame.pitch[0]);
    bytes.insert(bytes.end(), row, row + row_bytes(frame.layout, 0, frame.size()));
  }
  return bytes;
}

std::vector<uint8_t> bytes_of(GstBuffer* buffer) {
  std::vector<uint8_t> bytes(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, bytes.data(), bytes.size());
  return bytes;
}

TEST(SlicElement, OutputLabels_PixelsEqualTheLabelsOfTheAlgorithm) {
  const GuardedFrame picture = kScene.frame();
  Harness h("slicsuperpixel device=cpu output=labels region-size=12",
            "video/x-raw,format=GRAY16_LE");
  h.video("RGBA", 160, 96);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(h.push(bytes_of(picture.frame()), i), GST_FLOW_OK) << h.error_text();
    const BufferPtr out = h.pull();
    ASSERT_NE(out, nullptr) << h.error_text();
    EXPECT_EQ(GST_BUFFER_PTS(out.get()), static_cast<GstClockTime>(i) * 40 * GST_MSECOND);
    const std::vector<uint8_t> bytes = bytes_of(out.get());
    const SlicResult expected = run_slic_on_cpu(1, picture.frame(), kScene.params());
    size_t wrong = 0;
    for (size_t p = 0; p < expected.superpixels.labels.size(); ++p) {
      uint16_t label;
      std::memcpy(&label, &bytes[2 * p], 2);
      wrong += label != expected.superpixels.labels[p];
    }
    EXPECT_EQ(wrong, 0u);
  }
}

TEST(SlicElement, OutputMean_FrameSizeChanges_PixelsEqualThoseOfTheAlgorithm) {
  Harness h("slicsuperpixel device=cpu output=mean region-size=12");
  for (const Size size : {Size{160, 96}, {64, 48}, {1, 1}, {160, 96}}) {
    SlicCase task = kScene;
    task.size = size;
    const GuardedFrame picture = task.frame();
    h.video("RGBA", size.width, size.height);
    ASSERT_EQ(h.push(bytes_of(picture.frame())), GST_FLOW_OK) << h.error_text();
    const BufferPtr out = h.pull();
    ASSERT_NE(out, nullptr) << h.error_text();
    SlicParams params = task.params();
    params.output = SlicOutput::mean;
    const SlicResult expected =
        run_slic_on_cpu(1, picture.frame(), params, {.out = PixelFormat::rgba});
    const std::vector<uint8_t> want = bytes_of(std::as_const(*expected.out).frame());
    const std::vector<uint8_t> got = bytes_of(out.get());
    size_t wrong = 0;
    for (size_t i = 0; i < got.size(); ++i) wrong += i % 4 != 3 && got[i] != want[i];
    EXPECT_EQ(wrong, 0u) << size.width;
  }
}

TEST(SlicElement, MoreSuperpixelsThanGray8Holds_PostsAnError) {
  const GuardedFrame picture = kScene.frame();
  Harness h("slicsuperpixel device=cpu output=labels region-size=4", "video/x-raw,format=GRAY8");
  h.video("RGBA", 160, 96);
  h.push(bytes_of(picture.frame()));
  EXPECT_NE(h.error_text().find("GRAY8 holds labels up to 255"), std::string::npos);
}

TEST(SlicElement, CudaOnlyMethodOnCpu_PostsAnError) {
  const GuardedFrame picture = kScene.frame();
  Harness h("slicsuperpixel device=cpu output=none method=report");
  h.video("RGBA", 160, 96);
  h.push(bytes_of(picture.frame()));
  EXPECT_NE(h.error_text().find("CUDA"), std::string::npos);
}

TEST(SlicElement, VariantChangedWhilePlaying_AppliesToTheNextFrame) {
  const GuardedFrame picture = kScene.frame();
  Harness h("slicsuperpixel device=cpu output=labels region-size=12",
            "video/x-raw,format=GRAY16_LE");
  h.video("RGBA", 160, 96);
  std::vector<std::vector<uint8_t>> seen;
  for (const char* variant : {"slic", "slico", "slic"}) {
    gst_util_set_object_arg(G_OBJECT(h.element()), "variant", variant);
    ASSERT_EQ(h.push(bytes_of(picture.frame())), GST_FLOW_OK) << h.error_text();
    const BufferPtr out = h.pull();
    ASSERT_NE(out, nullptr) << h.error_text();
    seen.push_back(bytes_of(out.get()));
  }
  EXPECT_NE(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

TEST(SlicElement, Metadata_AllRequested_ColorCovarianceAndAdjacencyEqualTheAlgorithm) {
  const GuardedFrame picture = kScene.frame();
  const Superpixels expected = run_slic_on_cpu(1, picture.frame(), kScene.params()).superpixels;
  Harness h(
      "slicsuperpixel device=cpu output=none region-size=12 attach-covariance=true "
      "attach-adjacency=true describe=structures");
  h.video("RGBA", 160, 96);
  ASSERT_EQ(h.push(bytes_of(picture.frame())), GST_FLOW_OK) << h.error_text();
  const BufferPtr out = h.pull();
  ASSERT_NE(out, nullptr) << h.error_text();
  const GstStructure* found = regions_of(out.get());
  ASSERT_EQ(region_count(found), expected.regions.size());
  const GValue* list = gst_structure_get_value(found, "regions");
  for (guint i = 0; i < expected.regions.size(); ++i) {
    const GstStructure* region = gst_value_get_structure(gst_value_array_get_value(list, i));
    const auto number = [&](const char* name) {
      double value = -1e9;
      EXPECT_TRUE(gst_structure_get_double(region, name, &value)) << name;
      return value;
    };
    const MeanLab lab = mean_lab(expected.regions[i], expected.moments[i]);
    const Covariance spread = covariance(expected.regions[i], expected.moments[i]);
    EXPECT_EQ(number("lab-l"), lab.l);
    EXPECT_EQ(number("lab-a"), lab.a);
    EXPECT_EQ(number("lab-b"), lab.b);
    EXPECT_EQ(number("cov-xx"), spread.xx);
    EXPECT_EQ(number("cov-xy"), spread.xy);
    EXPECT_EQ(number("cov-yy"), spread.yy);
  }
  GstBuffer* adjacency = gst_value_get_buffer(gst_structure_get_value(found, "adjacency"));
  const std::vector<uint8_t> bytes = bytes_of(adjacency);
  ASSERT_EQ(bytes.size(), expected.borders.size() * 3 * sizeof(uint32_t));
  EXPECT_EQ(std::memcmp(bytes.data(), expected.borders.data(), bytes.size()), 0);
}

TEST(SlicElement, Metadata_DefaultProperties_HasNeitherAdjacencyNorCovariance) {
  const GuardedFrame picture = kScene.frame();
  Harness h("slicsuperpixel device=cpu output=none");
  h.video("RGBA", 160, 96);
  ASSERT_EQ(h.push(bytes_of(picture.frame())), GST_FLOW_OK) << h.error_text();
  const BufferPtr out = h.pull();
  const GstStructure* found = regions_of(out.get());
  EXPECT_FALSE(gst_structure_has_field(found, "adjacency"));
  const std::string columns = gst_structure_get_string(found, "table-columns");
  EXPECT_PRED2(contains, columns, "lab-l:<f8");
  EXPECT_EQ(columns.find("cov-xx"), std::string::npos);
}

}  // namespace
}  // namespace regions::test
