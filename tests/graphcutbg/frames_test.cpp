// From frame to frame: what is reported, forgotten, kept and taken away; failed frames.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/faults.hpp"
#include "tests/core/complaint.hpp"
#include "tests/graphcutbg/scene.hpp"

namespace regions {
namespace {

class GraphCutFrames : public testing::Test {
 protected:
  ~GraphCutFrames() override { inject_faults(nullptr); }
  static GraphCutBgParams masks() {
    GraphCutBgParams params;
    params.output = GraphCutOutput::mask;
    return params;
  }
  static std::vector<std::vector<uint8_t>> shoot(Camera& camera, int first, int end) {
    std::vector<std::vector<uint8_t>> shots;
    for (int i = first; i < end; ++i) shots.push_back(camera.shoot(i).mask);
    return shots;
  }
  static void fail(Camera& camera) {
    inject_faults("work=1");
    EXPECT_THROW(camera.shoot(3), DeviceError);
    inject_faults(nullptr);
  }
};

TEST_F(GraphCutFrames, ReportsTellOfTheMaskAndTheCut) {
  for (const Neighbours neighbours : {Neighbours::four, Neighbours::eight}) {
    for (const bool verifies : {false, true}) {
      const Clip clip;
      GraphCutBgParams params = masks();
      params.neighbours = neighbours;
      params.verify = verifies;
      Camera camera(clip, params);
      for (int i = 0; i < 12; ++i) {
        const GraphCutResult before = camera.algorithm().result(0);
        const Shot shot = camera.shoot(i);
        EXPECT_EQ(before.pixels, i == 0 ? 0u : 64u * 48);
        const auto foreground = shot.mask.size() - static_cast<size_t>(std::count(
                                                       shot.mask.begin(), shot.mask.end(), 0));
        EXPECT_EQ(shot.report.foreground, foreground) << i;
        EXPECT_EQ(shot.report.pixels, 64u * 48);
        EXPECT_TRUE(shot.report.cut.exact);
        EXPECT_EQ(shot.report.cut.gap, 0);
        EXPECT_EQ(shot.report.cut_value, verifies ? shot.report.cut.flow : -1) << i;
        EXPECT_FALSE(shot.report.restarted);
        EXPECT_EQ(i == 0, foreground == 0) << i;
      }
    }
  }
}

// Of a mask that is in doubt everywhere but at one pixel, links alone decide how far that reaches.
TEST_F(GraphCutFrames, EightNeighboursHaveDiagonalLinks) {
  const Clip clip{.size = {5, 5}};
  GuardedFrame mask(PixelFormat::gray8, clip.size);
  for (int i = 0; i < 25; ++i) mask.frame().set_sample(0, i % 5, i / 5, i == 12 ? 255 : 120);
  int64_t flow[2];
  for (const bool eight : {false, true}) {
    GraphCutBgParams params = masks();
    params.source = GraphCutSource::mask;
    params.neighbours = eight ? Neighbours::eight : Neighbours::four;
    params.sigma = 255;
    params.lambda = 0.1;
    Camera camera(clip, params);
    const Shot shot = camera.shoot(clip.frame(0).frame(), std::as_const(mask).frame());
    EXPECT_EQ(shot.report.foreground, 1u);
    flow[eight] = shot.report.cut.flow;
  }
  // 6 units of 1/64 nat, and 181 / 256 of that on each of the four diagonals.
  EXPECT_EQ(flow[0], 4 * 6);
  EXPECT_EQ(flow[1], 4 * 6 + 4 * 4);
}

TEST_F(GraphCutFrames, AFailedFrameIsAsIfItHadNotCome) {
  const Clip clip;
  Camera camera(clip, masks()), other(clip, masks());
  const auto first = shoot(camera, 0, 8);
  EXPECT_EQ(shoot(other, 0, 5), std::vector(first.begin(), first.begin() + 5));
  fail(other);
  EXPECT_EQ(shoot(other, 5, 8), std::vector(first.begin() + 5, first.end()));
  // The reset that a failed frame was to bring is not lost.
  other.algorithm().reset();
  fail(other);
  EXPECT_TRUE(other.algorithm().state().empty());
  EXPECT_EQ(shoot(other, 0, 8), first);
}

TEST_F(GraphCutFrames, AStateIsThereFromTheFirstFrameToAReset) {
  const Clip clip;
  Camera camera(clip, masks());
  EXPECT_TRUE(camera.algorithm().state().empty());
  const auto begun = shoot(camera, 0, 6);
  const std::vector<std::byte> state = camera.algorithm().state();
  EXPECT_FALSE(state.empty());
  const auto rest = shoot(camera, 6, 12);
  camera.algorithm().reset();
  EXPECT_TRUE(camera.algorithm().state().empty());
  camera.algorithm().restore(state);
  EXPECT_EQ(camera.algorithm().state(), state);
  EXPECT_EQ(shoot(camera, 6, 12), rest);
  // What cannot be restored changes nothing.
  camera.algorithm().restore(state);
  std::vector<std::byte> damaged = state;
  damaged.pop_back();
  EXPECT_THROW(camera.algorithm().restore(damaged), InputError);
  EXPECT_EQ(shoot(camera, 6, 12), rest);
}

TEST_F(GraphCutFrames, PicturesStayUntilTheyAreTakenAway) {
  const Clip clip;
  GuardedFrame all(PixelFormat::gray8, clip.size);
  for (int y = 0; y < clip.size.height; ++y) {
    for (int x = 0; x < clip.size.width; ++x) all.frame().set_sample(0, x, y, 255);
  }
  Camera plain(clip, masks());
  const auto found = shoot(plain, 0, 8);

  Camera excluded(clip, masks());
  excluded.algorithm().set_picture(GraphCutPicture::exclusion, std::as_const(all).frame());
  const std::vector<std::vector<uint8_t>> nothing(8, std::vector<uint8_t>(64 * 48));
  EXPECT_EQ(shoot(excluded, 0, 8), nothing);
  excluded.algorithm().reset();
  EXPECT_EQ(shoot(excluded, 0, 8), nothing) << "pictures outlive a reset";
  excluded.algorithm().set_picture(GraphCutPicture::exclusion, {});
  excluded.algorithm().reset();
  EXPECT_EQ(shoot(excluded, 0, 8), found);

  Clip still = clip;
  still.empty = true;
  Camera known(clip, masks());
  known.algorithm().set_picture(GraphCutPicture::background, still.frame(0).frame());
  const auto from_picture = shoot(known, 1, 4);
  EXPECT_GT(std::count(from_picture[0].begin(), from_picture[0].end(), 255), 100);
  known.algorithm().reset();
  EXPECT_EQ(shoot(known, 1, 4), from_picture) << "pictures outlive a reset";
  known.algorithm().set_picture(GraphCutPicture::background, {});
  EXPECT_EQ(shoot(known, 0, 8), found);

  GraphCutBgParams params;
  params.output = GraphCutOutput::replace;
  params.replace_with = Replacement::image;
  Camera replaced(clip, params);
  const auto answer = [&] { return complaint([&] { replaced.shoot(0); }); };
  const std::string none = "replace-with=image requires replace-image";
  EXPECT_EQ(answer(), none);
  replaced.algorithm().set_picture(GraphCutPicture::replacement, std::as_const(all).frame());
  EXPECT_EQ(answer(), "");
  replaced.algorithm().set_picture(GraphCutPicture::replacement, {});
  EXPECT_EQ(answer(), none);
  for (const auto which :
       {GraphCutPicture::replacement, GraphCutPicture::exclusion, GraphCutPicture::background}) {
    replaced.algorithm().set_picture(which, std::as_const(all).frame());
  }
  replaced.algorithm().configure(
      {.in = layout_of(clip.format), .size = clip.size, .has_output = true});
  EXPECT_EQ(answer(), none) << "pictures do not outlive configure()";
  replaced.params = masks();
  EXPECT_EQ(shoot(replaced, 0, 8), found) << "nor do models";
}

}  // namespace
}  // namespace regions
