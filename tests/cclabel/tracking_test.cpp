// Tracking: ids stay with things whose way is known.
#include "tests/cclabel/tracked_discs.hpp"

namespace regions {
namespace {

// Two discs that move past each other: one behind the other for some frames.
Scene crossing() {
  Scene scene;
  for (int t = 0; t < 60; ++t) {
    scene.push_back({{.x = 30.0 + 4 * t, .y = 80, .radius = 14, .green = 60, .blue = 60},
                     {.x = 280.0 - 4 * t, .y = 86, .radius = 14, .red = 60, .green = 60}});
  }
  return scene;
}

struct Score {
  int object_frames = 0;
  int switches = 0;
};

Score score(const Scene& scene, const std::vector<TrackedFrame>& frames) {
  Score score;
  for (size_t disc = 0; disc < scene[0].size(); ++disc) {
    uint32_t last = 0;
    for (size_t t = 0; t < scene.size(); ++t) {
      const uint32_t track = track_of(frames[t], scene[t][disc]);
      EXPECT_NE(track, 0u) << "disc " << disc << " has no region in frame " << t;
      ++score.object_frames;
      score.switches += last != 0 && track != last;
      last = track;
    }
  }
  return score;
}

TEST(Tracking, IdsStayWithACrowdThatDoesNotTouch) {
  Score all;
  for (uint32_t seed = 0; seed < 5; ++seed) {
    const Scene scene = crowd_scene(kSize, 25, 100, seed);
    const Score one = score(scene, run(scene, tracked()));
    all.object_frames += one.object_frames;
    all.switches += one.switches;
  }
  EXPECT_GE(all.object_frames, 10000);
  EXPECT_LE(all.switches, all.object_frames / 5000);
  RecordProperty("switches", all.switches);
}

// Things that all move by the distance to their neighbour lie where the neighbour was before: only
// motion tells.
TEST(Tracking, AQueueThatMovesByItsOwnDistance) {
  Scene scene;
  for (int t = 0; t < 40; ++t) {
    std::vector<Disc> queue;
    // From a slow start on, so that speeds are known.
    const double way = t < 10 ? 0.1 * t * t : 10 + 2.0 * (t - 10) + 0.2 * (t - 10) * (t - 10);
    for (int i = 0; i < 8; ++i) queue.push_back({.x = 20.0 + 24 * i + way, .y = 90, .radius = 9});
    for (Disc& disc : queue) {
      if (disc.x < 300) continue;
      disc.x = -100;  // gone
    }
    scene.push_back(queue);
  }
  const auto frames = run(scene, tracked());
  for (size_t disc = 0; disc < 8; ++disc) {
    const uint32_t first = track_of(frames[0], scene[0][disc]);
    for (size_t t = 1; t < scene.size() && scene[t][disc].x > 0; ++t) {
      EXPECT_EQ(track_of(frames[t], scene[t][disc]), first) << "disc " << disc << " frame " << t;
    }
  }
}

TEST(Tracking, IdsSurviveACrossing) {
  const Scene scene = crossing();
  const auto frames = run(scene, tracked());
  for (size_t disc = 0; disc < 2; ++disc) {
    EXPECT_EQ(track_of(frames.front(), scene.front()[disc]),
              track_of(frames.back(), scene.back()[disc]))
        << "disc " << disc;
  }
  uint32_t merges = 0, splits = 0, births = 0, deaths = 0;
  for (const TrackedFrame& frame : frames) {
    merges += frame.report.merges;
    splits += frame.report.splits;
    births += frame.report.births;
    deaths += frame.report.deaths;
  }
  EXPECT_EQ(births, 2u);
  EXPECT_EQ(merges, 1u);
  EXPECT_EQ(splits, 1u);
  EXPECT_EQ(deaths, 0u);
  EXPECT_EQ(frames.back().report.last_id, 2u);
}

// Half of their union at least.
bool agrees(const Region& found, const Disc& disc) {
  const auto shared = [](double low, double high, double other_low, double other_high) {
    return std::max(0.0, std::min(high, other_high) - std::max(low, other_low));
  };
  const double both =
      shared(found.left, found.right + 1, disc.x - disc.radius, disc.x + disc.radius + 1) *
      shared(found.top, found.bottom + 1, disc.y - disc.radius, disc.y + disc.radius + 1);
  const double side = 2 * disc.radius + 1;
  return both >= 0.5 * (side * side + found.width() * found.height() - both);
}

std::vector<Region> with_track(const TrackedFrame& frame, uint32_t track) {
  std::vector<Region> found;
  for (const auto& records : {frame.regions, frame.parts}) {
    for (const Region& record : records) {
      if (record.track == track) found.push_back(record);
    }
  }
  return found;
}

// Also where they are one region, each has its id and a box of its own in every frame.
TEST(Tracking, ASharedRegionHasAPartForEachTrack) {
  const Scene scene = crossing();
  const auto frames = run(scene, tracked());
  int shared = 0, right = 0;
  for (size_t t = 0; t < scene.size(); ++t) {
    shared += frames[t].parts.empty() ? 0 : 1;
    ASSERT_EQ(frames[t].parts.size(), frames[t].report.occluded);
    for (size_t disc = 0; disc < 2; ++disc) {
      const auto found = with_track(frames[t], track_of(frames[0], scene[0][disc]));
      ASSERT_EQ(found.size(), 1u) << "disc " << disc << " frame " << t;
      right += agrees(found[0], scene[t][disc]);
      EXPECT_EQ(found[0].id, frames[t].parts.empty() ? found[0].id : 1u);
    }
  }
  EXPECT_GE(shared, 5);
  EXPECT_GE(right, 2 * 60 - 2);
}

// Where a region is no larger than one of its tracks, the others are told of for some frames, as
// they may be hidden; then the region's box is that track's again.
TEST(Tracking, TracksGoneFromASharedRegionAreSoonNotToldOf) {
  Scene scene;
  const Disc stays = {.x = 160, .y = 90, .radius = 20, .green = 60, .blue = 60};
  constexpr int kGone = 32;
  for (int t = 0; t < kGone + 20; ++t) {
    scene.push_back({stays});
    if (t < kGone)
      scene.back().push_back({.x = 40.0 + 3 * t, .y = 90, .radius = 16, .red = 60, .green = 60});
  }
  const auto frames = run(scene, tracked());
  EXPECT_EQ(frames[kGone - 1].parts.size(), 1u);
  for (size_t t = kGone; t < scene.size(); ++t) {
    ASSERT_EQ(frames[t].regions.size(), 1u);
    EXPECT_EQ(frames[t].parts.size(), frames[t].report.occluded);
    if (t < kGone + 4) continue;
    EXPECT_EQ(frames[t].parts.size(), 0u) << "frame " << t;
    EXPECT_EQ(frames[t].regions[0].track, track_of(frames[0], stays));
    EXPECT_EQ(frames[t].regions[0].width(), 41) << "frame " << t;
    EXPECT_EQ(frames[t].report.lost, 1u) << "it is waited for all the same";
  }
}

// What comes into view in two pieces is one thing as soon as it is much larger than they were.
TEST(Tracking, FragmentsOfWhatGrowsAreNotToldOf) {
  Scene scene;
  for (int t = 0; t < 30; ++t) {
    const double radius = 6 + std::max(0, t - 5) * 2;
    scene.push_back({{.x = 150, .y = 90, .radius = radius, .green = 60, .blue = 60}});
    scene.back().push_back({.x = 165, .y = 90, .radius = 6, .green = 60, .blue = 60});
  }
  const auto frames = run(scene, tracked());
  EXPECT_EQ(frames[5].regions.size(), 2u);
  for (size_t t = 20; t < scene.size(); ++t) {
    ASSERT_EQ(frames[t].regions.size(), 1u);
    EXPECT_EQ(frames[t].parts.size(), 0u) << "frame " << t;
    EXPECT_EQ(frames[t].regions[0].height(), 13 + 4 * (static_cast<int>(t) - 5));
  }
}

// Parts lie in their region, whose other tracks have other ids; they need places in the table.
TEST(Tracking, PartsKeepTheBooks) {
  for (const uint32_t capacity : {12u, 4096u}) {
    std::vector<Picture> pictures;
    std::vector<Disc> discs = crowd(kSize, 25, 8);
    for (int t = 0; t < 60; ++t) {
      pictures.push_back(paint_discs(kSize, discs));
      for (Disc& disc : discs) {
        disc.x += disc.vx;
        disc.y += disc.vy;
        if (disc.x < 0 || disc.x > kSize.width) disc.vx = -disc.vx;
        if (disc.y < 0 || disc.y > kSize.height) disc.vy = -disc.vy;
      }
    }
    CcLabelParams params = tracked();
    size_t parts = 0;
    const auto frames =
        on_cpu(PixelFormat::rgb, kSize, 2, 2, capacity).run(frames_of(pictures), params);
    for (const TrackedFrame& frame : frames) {
      parts += frame.parts.size();
      EXPECT_LE(frame.regions.size() + frame.parts.size(), capacity);
      EXPECT_LE(frame.parts.size(), frame.report.occluded);
      EXPECT_LE(frame.report.occluded, frame.report.lost);
      for (const auto& records : {frame.regions, frame.parts}) {
        for (const Region& record : records) {
          EXPECT_EQ(with_track(frame, record.track).size(), 1u);
          EXPECT_TRUE(0 <= record.left && record.left <= record.right &&
                      record.right < kSize.width);
          EXPECT_TRUE(0 <= record.top && record.top <= record.bottom &&
                      record.bottom < kSize.height);
          EXPECT_TRUE(1 <= record.id && record.id <= frame.regions.size());
        }
      }
    }
    EXPECT_EQ(parts > 20, capacity > 12) << parts;
  }
}

// What goes behind a post grows smaller, then is gone, then comes out of it bit by bit: its middle
// seems slower than it is, and its size is not that of what can be seen.
TEST(Tracking, APostHidesSlowly) {
  for (const double speed : {3.0, 5.0}) {
    std::vector<Picture> pictures;
    std::vector<Disc> discs;
    for (int t = 0; t < 120; ++t) {
      discs.push_back({.x = 30 + speed * t, .y = 80, .radius = 12});
      Picture picture = paint_discs(kSize, {discs.back()});
      for (int y = 0; y < kSize.height; ++y) {
        for (int x = 140; x < 180; ++x) {
          for (int c = 0; c < 3; ++c)
            picture.pixels[static_cast<size_t>((y * kSize.width + x) * 3 + c)] = 0;
        }
      }
      pictures.push_back(std::move(picture));
    }
    const auto frames = on_cpu(PixelFormat::rgb, kSize, 1).run(frames_of(pictures), tracked());
    const auto frame_at = [&](double x) { return static_cast<size_t>((x - 30) / speed); };
    EXPECT_EQ(frames[frame_at(200)].regions.size(), 1u);
    EXPECT_EQ(track_of(frames[frame_at(200)], discs[frame_at(200)]), 1u) << "speed " << speed;
  }
}

TEST(Tracking, AGapIsBridgedAsLongAsMemoryLasts) {
  for (const int gap : {1, 5, 6}) {
    Scene scene;
    for (int t = 0; t < 30; ++t) {
      const bool hidden = t >= 12 && t < 12 + gap;
      scene.push_back(
          {{.x = 40.0 + 6 * t, .y = 60 + 1.0 * t, .radius = 8}, {.x = 160, .y = 20, .radius = 6}});
      if (hidden) scene.back()[0].x = -100;
    }
    CcLabelParams params = tracked();
    params.track_memory = 5;
    const auto frames = run(scene, params);
    const uint32_t before = track_of(frames[11], scene[11][0]);
    const uint32_t after = track_of(frames[29], scene[29][0]);
    EXPECT_EQ(frames[12].report.lost, 1u);
    EXPECT_EQ(frames[12].report.deaths, 0u);
    if (gap <= 5) {
      EXPECT_EQ(after, before) << "gap of " << gap;
    } else {
      EXPECT_NE(after, before);
      EXPECT_EQ(frames[17].report.deaths, 1u);
      EXPECT_EQ(frames[18].report.births, 1u);
    }
    EXPECT_EQ(track_of(frames[0], scene[0][1]), track_of(frames[29], scene[29][1]));
  }
}

TEST(Tracking, WithoutMemoryLostIsGone) {
  Scene scene(4, {{.x = 60, .y = 60, .radius = 8}});
  scene[1][0].x = -100;
  CcLabelParams params = tracked();
  params.track_memory = 0;
  const auto frames = run(scene, params);
  EXPECT_EQ(frames[1].report.deaths, 1u);
  EXPECT_EQ(frames[1].report.lost, 0u);
  EXPECT_EQ(track_of(frames[2], scene[2][0]), 2u);
  EXPECT_EQ(frames[2].report.births, 1u);
  EXPECT_EQ(frames[3].report.births, 0u);
}

}  // namespace
}  // namespace regions
