// Minimum cuts of volumes. The oracle solves pictures, and each picture is compared with the
// volumes of one slice, one row and one column. Python's tests compare volumes and one-way
// capacities with other libraries.
#include "cpu/maxflow/volume_cut.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/error_message.hpp"
#include "tests/maxflow/graphs.hpp"
#include "tests/maxflow/oracle.hpp"

namespace regions::maxflow {
namespace {

// Copies the weights of a picture to a volume with an additional axis of one element.
class PictureVolume {
 public:
  PictureVolume(OwnedGraph& owned, Neighbours neighbours, size_t thin_axis) {
    const Size size = owned.size();
    constexpr int kOffsets[][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};  // y, x
    const size_t arrays = neighbours == Neighbours::four ? 3 : 5;
    for (size_t i = 0; i < arrays; ++i) {
      const Image<int32_t> image = owned.array(static_cast<int>(i));
      for (int y = 0; y < size.height; ++y) {
        weights_[i].insert(weights_[i].end(), image.row(y), image.row(y) + size.width);
      }
    }
    graph_.shape = {size.height, size.width};
    graph_.shape.insert(graph_.shape.begin() + static_cast<ptrdiff_t>(thin_axis), 1);
    graph_.terminal = weights_[0].data();
    for (size_t i = 1; i < arrays; ++i) {
      const LinkCapacities capacities{weights_[i].data(), false};
      std::vector<int> offset(kOffsets[i - 1], kOffsets[i - 1] + 2);
      offset.insert(offset.begin() + static_cast<ptrdiff_t>(thin_axis), 0);
      graph_.links.push_back({offset, capacities, capacities});
    }
  }
  VolumeGraph& graph() { return graph_; }

 private:
  std::vector<int32_t> weights_[5];
  VolumeGraph graph_;
};

TEST(VolumeCut, PicturesAsVolumes_MaskAndFlowEqualReference) {
  constexpr int32_t kMax[] = {2, 300, 200000000, std::numeric_limits<int32_t>::max()};
  Dice dice(3);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Size size{dice.roll(1, 20), dice.roll(1, 20)};
    OwnedGraph owned =
        random_graph(size, kMax[seed % 4], static_cast<int>(seed % 8), seed % 3 == 0, seed);
    for (const Neighbours neighbours : {Neighbours::four, Neighbours::eight}) {
      const OracleCut oracle = oracle_cut(owned.graph(neighbours));
      PictureVolume volume(owned, neighbours, seed % 3);
      std::vector<uint8_t> mask(size.area(), 7);
      EXPECT_EQ(cut_volume(volume.graph(), mask.data()), oracle.flow);
      for (uint8_t& value : mask) value = value ? GridCut::kForeground : GridCut::kBackground;
      EXPECT_EQ(mask, oracle.foreground);
    }
  }
}

TEST(VolumeCut, UnsuitableGraph_ErrorNamesTheProblem) {
  OwnedGraph owned = corridor({5, 4});
  uint8_t mask[20];
  const auto error_of = [&](auto change) {
    PictureVolume volume(owned, Neighbours::four, 0);
    change(volume.graph());
    return error_message_of([&] { cut_volume(volume.graph(), mask); });
  };
  const int32_t negative = -1;
  EXPECT_NE(error_of([&](VolumeGraph& graph) {
              graph.links[0].backward = {&negative, true};
            }).find("a capacity between elements is negative"),
            std::string::npos);
  EXPECT_NE(error_of([](VolumeGraph& graph) {
              graph.links[0].offset = {0, 0, 2};
            }).find("an offset must have one number per axis"),
            std::string::npos);
  EXPECT_NE(error_of([](VolumeGraph& graph) { graph.shape[0] = 0; }).find("has no elements"),
            std::string::npos);
  EXPECT_NE(error_of([](VolumeGraph& graph) {
              graph.shape = {1 << 20, 1 << 20, 1};
            }).find("too many elements for an exact cut"),
            std::string::npos);
}

}  // namespace
}  // namespace regions::maxflow
