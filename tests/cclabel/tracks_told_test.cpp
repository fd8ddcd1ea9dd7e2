// When tracks are born and forgotten, and what is told and shown of them.
#include <map>

#include "tests/cclabel/tracked_discs.hpp"

namespace regions {
namespace {

// One from the start, one from frame 5 on that is hidden in frame 6, specks of one and of two
// frames.
TEST(Tracking, ATrackIsBornAfterSoManyFramesOnEnd) {
  Scene scene;
  for (int t = 0; t < 14; ++t) {
    const auto shown = [&](bool is_shown, Disc disc) {
      if (!is_shown) disc.x = -100;
      return disc;
    };
    scene.push_back({{.x = 40.0 + 2 * t, .y = 40, .radius = 9},
                     shown(t >= 5 && t != 6, {.x = 200.0 - 2 * t, .y = 120, .radius = 9}),
                     shown(t == 3, {.x = 280, .y = 30, .radius = 5}),
                     shown(t == 9 || t == 10, {.x = 280, .y = 80, .radius = 5})});
  }
  CcLabelParams params = tracked();
  params.track_birth = 3;
  const auto frames = run(scene, params);
  for (size_t t = 0; t < frames.size(); ++t) {
    EXPECT_EQ(track_of(frames[t], scene[t][0]), t >= 2 ? 1u : 0u) << t;
    EXPECT_EQ(track_of(frames[t], scene[t][1]), t >= 9 ? 2u : 0u) << t;
    EXPECT_EQ(frames[t].report.births, t == 2 || t == 9 ? 1u : 0u) << t;
    EXPECT_EQ(frames[t].report.last_id, t < 2 ? 0u : t < 9 ? 1u : 2u) << t;
    EXPECT_EQ(frames[t].report.deaths + frames[t].report.lost + frames[t].report.merges, 0u) << t;
    for (const Region& region : frames[t].regions) EXPECT_LE(region.track, 2u);
  }
}

// What is never out of sight has the same tracks, only later.
TEST(Tracking, BirthsComeLaterAndChangeNothingElse) {
  const Scene scene = crowd_scene(kSize, 25, 40, 11);
  const auto at_once = run(scene, tracked());
  CcLabelParams params = tracked();
  params.track_birth = 4;
  const auto later = run(scene, params);
  std::map<uint32_t, uint32_t> names;
  for (size_t t = 0; t < scene.size(); ++t) {
    for (const Disc& disc : scene[t]) {
      const uint32_t first = track_of(at_once[t], disc), second = track_of(later[t], disc);
      if (t < 3) {
        EXPECT_EQ(second, 0u);
      } else if (second != 0) {
        EXPECT_EQ(names.try_emplace(first, second).first->second, second) << t;
      }
    }
  }
  EXPECT_GE(names.size(), 25u);
}

TEST(Tracking, ResetForgets) {
  const std::vector<Picture> pictures = painted(crowd_scene(kSize, 10, 6, 7));
  const std::vector<ConstFrame> frames = frames_of(pictures);
  TrackedRun run = on_cpu(PixelFormat::rgb, kSize, 2);
  const auto first = run.run(frames, tracked());
  const auto second = run.run(frames, tracked());
  run.reset();
  const auto third = run.run(frames, tracked());
  EXPECT_TRUE(first == third);
  EXPECT_FALSE(first == second);
}

// As found behind others that gave the ids up to `last_id`.
std::vector<TrackedFrame> behind(uint32_t last_id, std::vector<TrackedFrame> frames) {
  for (TrackedFrame& frame : frames) {
    frame.report.last_id += last_id;
    for (Region& r : frame.regions) r.track += last_id;
  }
  return frames;
}

TEST(Tracking, AnotherSceneForgetsAndIdsGoOn) {
  const std::vector<Picture> pictures = painted(crowd_scene(kSize, 10, 6, 7));
  const std::vector<ConstFrame> frames = frames_of(pictures);
  TrackedRun run = on_cpu(PixelFormat::rgb, kSize, 2);
  const auto first = run.run(frames, tracked());
  const uint32_t last = first.back().report.last_id;
  run.begin_scene();
  EXPECT_TRUE(run.run(frames, tracked()) == behind(last, first));
  // A frame without tracking between two makes the second one a first one.
  CcLabelParams untracked = tracked();
  untracked.track = false;
  run.run({frames[0]}, untracked);
  EXPECT_TRUE(run.run(frames, tracked()) == behind(2 * last, first));
  run.begin_scene();
  run.reset();
  run.begin_scene();
  EXPECT_TRUE(run.run(frames, tracked()) == first);
}

TEST(Tracking, FramesInFlightAndThreadsChangeNothing) {
  const Scene scene = crowd_scene(kSize, 25, 40, 3);
  const auto alone = run(scene, tracked(), 1, 1);
  for (const int slots : {2, 4}) {
    EXPECT_TRUE(run(scene, tracked(), slots, 3) == alone) << slots << " in flight";
  }
}

// Whatever comes, every region has a track once it is born, none twice, and the counts add up.
void expect_books_kept(uint32_t capacity, int birth) {
  std::vector<Picture> pictures;
  for (int t = 0; t < 12; ++t) {
    const int grain = 1 + t % 5;
    pictures.push_back(make_picture("rand_g" + std::to_string(grain) + "_d40", {200, 120}));
  }
  TrackedRun run = on_cpu(PixelFormat::gray8, {200, 120}, 2, 2, capacity);
  CcLabelParams params = tracked();
  params.track_memory = 2;
  params.track_birth = birth;
  uint64_t alive = 0;
  for (const TrackedFrame& frame : run.run(frames_of(pictures), params)) {
    std::map<uint32_t, int> uses;
    uint32_t fresh = 0;
    for (const Region& region : frame.regions) {
      if (region.track == 0 && birth > 1) continue;
      EXPECT_EQ(++uses[region.track], 1) << region.track;
      EXPECT_GT(region.track, 0u);
      EXPECT_LE(region.track, frame.report.last_id);
      fresh += region.track > alive;
    }
    alive = frame.report.last_id;
    EXPECT_GE(fresh, frame.report.births);
    EXPECT_LE(fresh, frame.report.births + frame.report.splits);
    EXPECT_LE(frame.report.lost, capacity);
  }
}

TEST(Tracking, NoiseKeepsTheBooks) {
  for (const uint32_t capacity : {40u, 4096u}) {
    for (const int birth : {1, 2}) expect_books_kept(capacity, birth);
  }
}

TEST(Tracking, LabelsAndColoursShowTracks) {
  const Size size = {64, 32};
  auto backend = make_cpu_backend(2);
  const auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend);
  for (const CcOutput output : {CcOutput::labels, CcOutput::colors}) {
    const PixelFormat format = output == CcOutput::labels ? PixelFormat::gray8 : PixelFormat::rgb;
    algorithm->reset();  // else ids go on
    algorithm->configure({.in = layout_of(PixelFormat::rgb),
                          .size = size,
                          .out = layout_of(format),
                          .has_output = true,
                          .tracks = true});
    CcLabelParams params = tracked();
    params.output = output;
    params.label_values = LabelValues::track;
    const auto queue = backend->make_queue();
    std::vector<std::byte> out(size.area() * 3);
    for (int t = 0; t < 3; ++t) {
      // From the second frame on, a new disc comes first in raster order: label 1, track 2.
      std::vector<Disc> discs = {{.x = 40, .y = 20, .radius = 5}};
      if (t > 0) discs.push_back({.x = 10, .y = 8, .radius = 4});
      const Picture picture = paint_discs(size, discs);
      FrameTask task{.in = picture.frame()};
      task.out.layout = layout_of(format);
      task.out.width = size.width;
      task.out.height = size.height;
      task.out.plane[0] = out.data();
      task.out.pitch[0] = output == CcOutput::labels ? 64 : 192;
      algorithm->enqueue(task, params, *queue);
      queue->record();
      queue->wait();
      const auto value = [&](int x, int y) { return task.out.sample(0, x, y); };
      const auto expected = [&](uint32_t track) {
        return output == CcOutput::labels ? static_cast<int>(track) : track_color(track).red;
      };
      EXPECT_EQ(value(40, 20), expected(1)) << t;
      EXPECT_EQ(value(10, 8), t > 0 ? expected(2) : 0) << t;
      EXPECT_EQ(value(0, 0), 0);
    }
  }
}

}  // namespace
}  // namespace regions
