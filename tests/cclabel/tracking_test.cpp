// Tracking: ids stay with objects whose motion is known, and the backends agree bit for bit.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "cpu/cclabel/cclabel.hpp"
#include "cpu/cclabel/region_tracker.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/cclabel/scenes.hpp"
#include "tests/cclabel/tracking_scene.hpp"

namespace regions {
namespace {

using Scene = std::vector<std::vector<Disc>>;  // [frame][disc]

constexpr Size kSize = {320, 180};

CcLabelParams tracked(int64_t memory = 30) {
  CcLabelParams params;
  params.threshold = 0.2;
  params.output = CcOutput::none;
  params.track = true;
  params.track_memory = memory;
  return params;
}

Scene crowd_scene(Size size, int discs, int frames, uint32_t seed) {
  Scene scene = {crowd(size, discs, seed)};
  while (static_cast<int>(scene.size()) < frames) scene.push_back(moved(size, scene.back()));
  return scene;
}

// Discs that move through each other and turn back at the edges.
Scene colliding_scene(Size size, int discs, int frames, uint32_t seed) {
  Scene scene;
  std::vector<Disc> now = crowd(size, discs, seed);
  for (int t = 0; t < frames; ++t) {
    scene.push_back(now);
    for (Disc& disc : now) {
      disc.x += disc.vx;
      disc.y += disc.vy;
      if (disc.x < 0 || disc.x > size.width) disc.vx = -disc.vx;
      if (disc.y < 0 || disc.y > size.height) disc.vy = -disc.vy;
    }
  }
  return scene;
}

std::vector<Picture> painted(const Scene& scene, Size size = kSize) {
  std::vector<Picture> pictures;
  for (const auto& discs : scene) pictures.push_back(paint_discs(size, discs));
  return pictures;
}

// The track of the region whose centre is the centre of the disc; 0 without such a region.
uint32_t track_of(const StreamFrame& frame, const Disc& disc) {
  for (const Region& region : frame.labelling.regions) {
    if (std::abs(region.centroid_x() - disc.x) < 1.5 &&
        std::abs(region.centroid_y() - disc.y) < 1.5) {
      return region.track;
    }
  }
  return 0;
}

class Tracking : public BackendTest {
 protected:
  CcLabelStream stream(const std::shared_ptr<Backend>& backend, const ConstFrame& frame,
                       const CcLabelParams& params, const StreamOptions& options) const {
    return {backend, frame.layout, frame.size(), params, options};
  }
  // Tracks the regions of all frames, and compares them with the regions of the CPU with one thread
  // and one frame in flight.
  std::vector<StreamFrame> track(const std::vector<Picture>& pictures, const CcLabelParams& params,
                                 StreamOptions options = {.slots = 2}) {
    const std::vector<ConstFrame> frames = frames_of(pictures);
    std::vector<StreamFrame> found =
        stream(backend_, frames[0], params, options).run(frames, params);
    options.slots = 1;
    const auto expected =
        stream(make_cpu_backend(1), frames[0], params, options).run(frames, params);
    EXPECT_EQ(difference(found, expected, frames[0].width), "") << to_text(params);
    return found;
  }
  std::vector<StreamFrame> track(const Scene& scene, const CcLabelParams& params) {
    return track(painted(scene), params);
  }
};
TEST_ON_BACKENDS(Tracking);

// Two discs that pass each other. One hides the other for some frames.
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
  int pieces = 0;
  int switches = 0;
};

Score score(const Scene& scene, const std::vector<StreamFrame>& frames) {
  Score score;
  for (size_t disc = 0; disc < scene[0].size(); ++disc) {
    uint32_t last = 0;
    for (size_t t = 0; t < scene.size(); ++t) {
      const uint32_t track = track_of(frames[t], scene[t][disc]);
      ++score.object_frames;
      // A disc that appears next to another disc is a piece of it until they move apart.
      score.pieces += track == 0;
      score.switches += last != 0 && track != last;
      last = track;
    }
  }
  return score;
}

TEST_P(Tracking, MovingRegionsThatNeverTouch_ChangeTrackAtMostOncePer5000Positions) {
  Score all;
  for (uint32_t seed = 0; seed < 5; ++seed) {
    const Scene scene = crowd_scene(kSize, 25, 100, seed);
    const Score one = score(scene, track(scene, tracked()));
    all.object_frames += one.object_frames;
    all.pieces += one.pieces;
    all.switches += one.switches;
  }
  EXPECT_GE(all.object_frames, 10000);
  EXPECT_LE(all.switches, all.object_frames / 5000);
  EXPECT_LE(all.pieces, all.object_frames / 500);
  RecordProperty("switches", all.switches);
}

// Each disc moves to the previous position of its neighbour. Only the motion distinguishes them.
TEST_P(Tracking, EquallySpacedDiscsMoveByTheirSpacing_KeepTheirTracks) {
  Scene scene;
  for (int t = 0; t < 40; ++t) {
    std::vector<Disc> queue;
    // A slow start, from which the tracker learns the speeds.
    const double way = t < 10 ? 0.1 * t * t : 10 + 2.0 * (t - 10) + 0.2 * (t - 10) * (t - 10);
    for (int i = 0; i < 8; ++i) queue.push_back({.x = 20.0 + 24 * i + way, .y = 90, .radius = 9});
    for (Disc& disc : queue) {
      if (disc.x < 300) continue;
      disc.x = -100;  // gone
    }
    scene.push_back(queue);
  }
  const auto frames = track(scene, tracked());
  for (size_t disc = 0; disc < 8; ++disc) {
    const uint32_t first = track_of(frames[0], scene[0][disc]);
    for (size_t t = 1; t < scene.size() && scene[t][disc].x > 0; ++t) {
      EXPECT_EQ(track_of(frames[t], scene[t][disc]), first) << "disc " << disc << " frame " << t;
    }
  }
}

TEST_P(Tracking, TwoDiscsCross_KeepTheirTracksAndCountOneMergeAndOneSplit) {
  const Scene scene = crossing();
  const auto frames = track(scene, tracked());
  for (size_t disc = 0; disc < 2; ++disc) {
    EXPECT_EQ(track_of(frames.front(), scene.front()[disc]),
              track_of(frames.back(), scene.back()[disc]))
        << "disc " << disc;
  }
  uint32_t merges = 0, splits = 0, births = 0, deaths = 0;
  for (const StreamFrame& frame : frames) {
    merges += frame.events.merges;
    splits += frame.events.splits;
    births += frame.events.births;
    deaths += frame.events.deaths;
  }
  EXPECT_EQ(births, 2u);
  EXPECT_EQ(merges, 1u);
  EXPECT_EQ(splits, 1u);
  EXPECT_EQ(deaths, 0u);
  EXPECT_EQ(frames.back().events.last_id, 2u);
}

// True if the boxes share at least half of their union.
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

std::vector<Region> with_track(const StreamFrame& frame, uint32_t track) {
  std::vector<Region> found;
  for (const auto& records : {frame.labelling.regions, frame.occluded}) {
    for (const Region& record : records) {
      if (record.track == track) found.push_back(record);
    }
  }
  return found;
}

// Each track has its id and its box in every frame, even if both tracks share one region.
TEST_P(Tracking, SharedRegion_HasARecordForEachTrack) {
  const Scene scene = crossing();
  const auto frames = track(scene, tracked());
  int shared = 0, right = 0;
  for (size_t t = 0; t < scene.size(); ++t) {
    shared += frames[t].occluded.empty() ? 0 : 1;
    ASSERT_EQ(frames[t].occluded.size(), frames[t].events.occluded);
    for (size_t disc = 0; disc < 2; ++disc) {
      const auto found = with_track(frames[t], track_of(frames[0], scene[0][disc]));
      ASSERT_EQ(found.size(), 1u) << "disc " << disc << " frame " << t;
      right += agrees(found[0], scene[t][disc]);
      EXPECT_EQ(found[0].id, frames[t].occluded.empty() ? found[0].id : 1u);
    }
  }
  EXPECT_GE(shared, 5);
  EXPECT_GE(right, 2 * 60 - 2);
}

// If a region is not larger than one of its tracks, the other tracks keep their records for some
// frames, because they may be hidden. Then the region has the box of that track again.
TEST_P(Tracking, SharedRegion_OneOfTwoDiscsDisappears_HasNoOccludedRecordAfterFourFrames) {
  Scene scene;
  const Disc stays = {.x = 160, .y = 90, .radius = 20, .green = 60, .blue = 60};
  constexpr int kGone = 32;
  for (int t = 0; t < kGone + 20; ++t) {
    scene.push_back({stays});
    if (t < kGone)
      scene.back().push_back({.x = 40.0 + 3 * t, .y = 90, .radius = 16, .red = 60, .green = 60});
  }
  const auto frames = track(scene, tracked());
  EXPECT_EQ(frames[kGone - 1].occluded.size(), 1u);
  for (size_t t = kGone; t < scene.size(); ++t) {
    ASSERT_EQ(frames[t].labelling.regions.size(), 1u);
    EXPECT_EQ(frames[t].occluded.size(), frames[t].events.occluded);
    if (t < kGone + 4) continue;
    EXPECT_EQ(frames[t].occluded.size(), 0u) << "frame " << t;
    EXPECT_EQ(frames[t].labelling.regions[0].track, track_of(frames[0], stays));
    EXPECT_EQ(frames[t].labelling.regions[0].width(), 41) << "frame " << t;
    EXPECT_EQ(frames[t].events.lost, 1u) << "the track is still remembered";
  }
}

// An object that enters the picture in two pieces is one object once it is much larger than the
// pieces.
TEST_P(Tracking, RegionAbsorbedByAGrowingRegion_HasNoOccludedRecord) {
  Scene scene;
  for (int t = 0; t < 30; ++t) {
    const double radius = 6 + std::max(0, t - 5) * 2;
    scene.push_back({{.x = 150, .y = 90, .radius = radius, .green = 60, .blue = 60}});
    scene.back().push_back({.x = 165, .y = 90, .radius = 6, .green = 60, .blue = 60});
  }
  const auto frames = track(scene, tracked());
  EXPECT_EQ(frames[5].labelling.regions.size(), 2u);
  for (size_t t = 20; t < scene.size(); ++t) {
    ASSERT_EQ(frames[t].labelling.regions.size(), 1u);
    EXPECT_EQ(frames[t].occluded.size(), 0u) << "frame " << t;
    EXPECT_EQ(frames[t].labelling.regions[0].height(), 13 + 4 * (static_cast<int>(t) - 5));
  }
}

// A rectangle of one colour in a scene.
struct Block {
  int x = 0, y = 0, width = 0, height = 0;
  uint8_t green = 255;
};

Picture paint_blocks(const std::vector<Block>& blocks) {
  Picture picture{kSize, PixelFormat::rgb, std::vector<uint8_t>(kSize.area() * 3)};
  for (const Block& block : blocks) {
    for (int y = std::max(0, block.y); y < std::min(kSize.height, block.y + block.height); ++y) {
      for (int x = std::max(0, block.x); x < std::min(kSize.width, block.x + block.width); ++x) {
        const auto at = static_cast<size_t>((y * kSize.width + x) * 3);
        picture.pixels[at] = picture.pixels[at + 2] = 200;
        picture.pixels[at + 1] = block.green;
      }
    }
  }
  return picture;
}

// A person whose waist looks like the background while `is_bare` returns true.
std::vector<Picture> walker_with_waist(int frames, bool (*is_bare)(int frame)) {
  std::vector<Picture> pictures;
  for (int t = 0; t < frames; ++t) {
    const int x = 20 + 3 * t;
    std::vector<Block> body = {{x, 60, 20, 30}, {x + 1, 90, 18, 8}, {x, 98, 20, 32}};
    if (is_bare(t)) body.erase(body.begin() + 1);
    pictures.push_back(paint_blocks(body));
  }
  return pictures;
}

// An object in pieces has one track and one record with its whole box. If it appears in pieces,
// they have two tracks in the first frames, because their motion must be known.
TEST_P(Tracking, ObjectIsSeenInPieces_HasOneTrackAndTheBoxOfAllPieces) {
  bool (*const cases[])(int) = {[](int) { return true; }, [](int t) { return t < 20; },
                                [](int t) { return t >= 15 && t < 40; },
                                [](int t) { return t % 8 > 5; }};
  for (size_t k = 0; k < std::size(cases); ++k) {
    const auto frames = track(walker_with_waist(60, cases[k]), tracked());
    for (size_t t = 0; t < frames.size(); ++t) {
      SCOPED_TRACE("case " + std::to_string(k) + ", frame " + std::to_string(t));
      const bool is_bare = cases[k](static_cast<int>(t)), appears_bare = cases[k](0);
      const std::vector<Region>& regions = frames[t].labelling.regions;
      ASSERT_EQ(regions.size(), is_bare ? 2u : 1u);
      EXPECT_EQ(frames[t].occluded.size(), 0u);
      EXPECT_EQ(frames[t].events.last_id, appears_bare ? 2u : 1u);
      if (appears_bare && t < 8) continue;
      for (size_t i = 0; i < regions.size(); ++i) {
        // The larger one of two regions that appear in the same frame has the track of the object.
        EXPECT_EQ(regions[i].track + frames[t].states[i].part_of, appears_bare ? 2u : 1u);
        if (regions[i].track == 0) continue;
        EXPECT_EQ(regions[i].left, 20 + 3 * static_cast<int>(t));
        EXPECT_EQ(regions[i].top, 60);
        EXPECT_EQ(regions[i].width(), 20);
        EXPECT_EQ(regions[i].height(), 70);
      }
    }
  }
}

// The lower of two pieces of an object stops.
TEST_P(Tracking, PieceMovesAway_GetsATrackOfItsOwn) {
  std::vector<Picture> pictures;
  for (int t = 0; t < 60; ++t) {
    std::vector<Block> body = {
        {20 + 3 * t, 60, 20, 30}, {20 + 3 * std::min(t, 20), 94, 20, 30}, {20 + 3 * t, 90, 20, 4}};
    if (t >= 10) body.pop_back();
    pictures.push_back(paint_blocks(body));
  }
  const auto frames = track(pictures, tracked());
  for (size_t t = 10; t < frames.size(); ++t) {
    const std::vector<Region>& regions = frames[t].labelling.regions;
    ASSERT_EQ(regions.size(), 2u);
    EXPECT_EQ(regions[0].track, 1u) << t;
    if (t > 20 && t <= 25) continue;
    EXPECT_EQ(regions[1].track, t <= 20 ? 0u : 2u) << t;
    EXPECT_EQ(frames[t].states[1].part_of, t <= 20 ? 1u : 0u) << t;
    EXPECT_EQ(regions[0].height(), t <= 20 ? 64 : 30) << t;
  }
}

TEST_P(Tracking, MainRegionOfAnObjectDisappears_PieceContinuesItsTrack) {
  std::vector<Picture> pictures;
  for (int t = 0; t < 40; ++t) {
    const int x = 20 + 3 * t;
    std::vector<Block> body = {{x, 60, 20, 36}, {x, 100, 20, 30}};
    if (t < 10) body.push_back({x, 96, 20, 4});
    if (t > 20) body.erase(body.begin());
    pictures.push_back(paint_blocks(body));
  }
  const auto frames = track(pictures, tracked());
  ASSERT_EQ(frames[20].labelling.regions.size(), 2u);
  EXPECT_EQ(frames[20].states[1].part_of, 1u);
  for (size_t t = 21; t < frames.size(); ++t) {
    ASSERT_EQ(frames[t].labelling.regions.size(), 1u);
    EXPECT_EQ(frames[t].labelling.regions[0].track, 1u) << t;
    EXPECT_EQ(frames[t].events.last_id, 1u) << t;
  }
}

// The lower piece touches another object, whose track that region gets. The upper piece remains.
TEST_P(Tracking, MainRegionOfAnObjectTouchesAnotherObject_PieceContinuesItsTrack) {
  std::vector<Picture> pictures;
  for (int t = 0; t < 55; ++t) {
    const int x = 20 + 3 * t, gap = t < 50 ? 4 : 0;
    std::vector<Block> body = {{x, 60, 20, 30}, {x, 94, 20, 36}, {x + 20 + gap, 100, 60 - gap, 40}};
    if (t < 10) body.push_back({x, 90, 20, 4});
    pictures.push_back(paint_blocks(body));
  }
  const auto frames = track(pictures, tracked());
  for (size_t t = 10; t < frames.size(); ++t) {
    const std::vector<Region>& regions = frames[t].labelling.regions;
    ASSERT_EQ(regions.size(), t < 50 ? 3u : 2u);
    EXPECT_EQ(regions[0].track, t < 50 ? 0u : 1u) << t;
    EXPECT_EQ(regions[1].track, t < 50 ? 1u : 2u) << t;
    EXPECT_EQ(frames[t].events.last_id, 2u) << t;
  }
}

// The pixels of a piece show the track of its object.
TEST_P(Tracking, LabelValuesTrack_PieceHasTheTrackOfItsObject) {
  const std::vector<Picture> pictures = walker_with_waist(40, [](int t) { return t >= 20; });
  for (const auto& [output, format] : {std::pair(CcOutput::labels, PixelFormat::gray8),
                                       std::pair(CcOutput::colors, PixelFormat::rgb)}) {
    CcLabelParams params = tracked();
    params.output = output;
    params.label_values = LabelValues::track;
    const auto frames = track(pictures, params, {.slots = 2, .out = format});
    for (size_t t = 0; t < frames.size(); ++t) {
      const auto value = [&](int y) {
        const int x = 30 + 3 * static_cast<int>(t);
        const int bytes = output == CcOutput::labels ? 1 : 3;
        return frames[t].out[static_cast<size_t>((y * kSize.width + x) * bytes)];
      };
      const int expected = output == CcOutput::labels ? 1 : track_color(1).red;
      EXPECT_EQ(value(70), expected) << t;
      EXPECT_EQ(value(120), expected) << t;
    }
  }
}

// Regions side by side are objects: pieces of a person are above each other.
TEST_P(Tracking, TwoRegionsMoveSideBySide_HaveTwoTracks) {
  std::vector<Picture> pictures;
  for (int t = 0; t < 40; ++t)
    pictures.push_back(paint_blocks({{20 + 3 * t, 60, 20, 60}, {44 + 3 * t, 62, 20, 60}}));
  for (const StreamFrame& frame : track(pictures, tracked())) {
    ASSERT_EQ(frame.labelling.regions.size(), 2u);
    EXPECT_EQ(frame.labelling.regions[0].track, 1u);
    EXPECT_EQ(frame.labelling.regions[1].track, 2u);
  }
}

// Two tracks that were apart for 12 frames and share a region for five times as long are one
// object.
TEST_P(Tracking, RegionIsSharedForMuchLongerThanItsTracksWereApart_HasOneTrack) {
  std::vector<Picture> pictures;
  for (int t = 0; t < 90; ++t) {
    const int x = 20 + 2 * t;
    std::vector<Block> car = {{x, 60, 30, 30}, {x + 30, 64, 6, 20}, {x + 36, 60, 28, 30}};
    if (t < 12) car.erase(car.begin() + 1);
    pictures.push_back(paint_blocks(car));
  }
  const auto frames = track(pictures, tracked());
  EXPECT_EQ(frames[11].labelling.regions.size(), 2u);
  EXPECT_EQ(frames[14].occluded.size(), 1u);
  for (size_t t = 80; t < frames.size(); ++t) {
    ASSERT_EQ(frames[t].labelling.regions.size(), 1u);
    EXPECT_EQ(frames[t].occluded.size(), 0u) << t;
    EXPECT_EQ(frames[t].labelling.regions[0].track, 1u) << t;
    EXPECT_EQ(frames[t].labelling.regions[0].width(), 64) << t;
  }
}

// A disc walks, stands for 20 frames while it sways by a pixel, and walks on.
TEST_P(Tracking, RegionRests_StateCountsTheFrames) {
  Scene scene;
  for (int t = 0; t < 50; ++t) {
    const int moved = std::min(t, 10) + std::max(0, t - 30);
    scene.push_back(
        {{.x = 40.0 + 4 * moved + (t > 10 && t < 30 ? t % 2 : 0), .y = 80, .radius = 12}});
  }
  const auto frames = track(scene, tracked());
  for (size_t t = 1; t < frames.size(); ++t) {
    ASSERT_EQ(frames[t].states.size(), 1u);
    const uint32_t still = frames[t].states[0].still;
    EXPECT_NEAR(still, t > 11 && t <= 30 ? static_cast<double>(t) - 10 : 0, 1) << t;
  }
}

// The records of occluded tracks are inside the picture, belong to regions of the frame, and
// require free places in the table.
TEST_P(Tracking, CollidingDiscs_RecordsFitTheCapacityAndTracksAreUnique) {
  for (const uint32_t capacity : {12u, 4096u}) {
    size_t occluded = 0;
    const auto pictures = painted(colliding_scene(kSize, 25, 60, 8));
    for (const StreamFrame& frame :
         track(pictures, tracked(), {.slots = 2, .capacity = capacity})) {
      const std::vector<Region>& regions = frame.labelling.regions;
      occluded += frame.occluded.size();
      EXPECT_LE(regions.size() + frame.occluded.size(), capacity);
      EXPECT_LE(frame.occluded.size(), frame.events.occluded);
      EXPECT_LE(frame.events.occluded, frame.events.lost);
      for (const auto& records : {regions, frame.occluded}) {
        for (const Region& record : records) {
          EXPECT_EQ(with_track(frame, record.track).size(), 1u);
          EXPECT_TRUE(0 <= record.left && record.left <= record.right &&
                      record.right < kSize.width);
          EXPECT_TRUE(0 <= record.top && record.top <= record.bottom &&
                      record.bottom < kSize.height);
          EXPECT_TRUE(1 <= record.id && record.id <= regions.size());
        }
      }
    }
    EXPECT_EQ(occluded > 20, capacity > 12) << occluded;
  }
}

// The visible part of a disc that passes behind a post shrinks, disappears and grows again. Its
// centre seems to move slower than the disc, and its area is smaller.
TEST_P(Tracking, DiscHiddenByAPost_KeepsItsTrack) {
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
    const auto frames = track(pictures, tracked());
    const auto frame_at = [&](double x) { return static_cast<size_t>((x - 30) / speed); };
    EXPECT_EQ(frames[frame_at(200)].labelling.regions.size(), 1u);
    EXPECT_EQ(track_of(frames[frame_at(200)], discs[frame_at(200)]), 1u) << "speed " << speed;
  }
}

TEST_P(Tracking, RegionMissing_KeepsItsTrackForTrackMemoryFramesThenGetsANewTrack) {
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
    const auto frames = track(scene, params);
    const uint32_t before = track_of(frames[11], scene[11][0]);
    const uint32_t after = track_of(frames[29], scene[29][0]);
    EXPECT_EQ(frames[12].events.lost, 1u);
    EXPECT_EQ(frames[12].events.deaths, 0u);
    if (gap <= 5) {
      EXPECT_EQ(after, before) << "gap of " << gap;
    } else {
      EXPECT_NE(after, before);
      EXPECT_EQ(frames[17].events.deaths, 1u);
      EXPECT_EQ(frames[18].events.births, 1u);
    }
    EXPECT_EQ(track_of(frames[0], scene[0][1]), track_of(frames[29], scene[29][1]));
  }
}

TEST_P(Tracking, TrackMemoryIsZero_LostTrackDiesAtOnce) {
  Scene scene(4, {{.x = 60, .y = 60, .radius = 8}});
  scene[1][0].x = -100;
  CcLabelParams params = tracked();
  params.track_memory = 0;
  const auto frames = track(scene, params);
  EXPECT_EQ(frames[1].events.deaths, 1u);
  EXPECT_EQ(frames[1].events.lost, 0u);
  EXPECT_EQ(track_of(frames[2], scene[2][0]), 2u);
  EXPECT_EQ(frames[2].events.births, 1u);
  EXPECT_EQ(frames[3].events.births, 0u);
}

// Disc 0 is always visible, disc 1 from frame 5 on except in frame 6. The other two discs are
// visible for one and for two frames.
TEST_P(Tracking, TrackBirthIs3_RegionsGetTracksInTheirThirdConsecutiveFrame) {
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
  const auto frames = track(scene, params);
  for (size_t t = 0; t < frames.size(); ++t) {
    EXPECT_EQ(track_of(frames[t], scene[t][0]), t >= 2 ? 1u : 0u) << t;
    EXPECT_EQ(track_of(frames[t], scene[t][1]), t >= 9 ? 2u : 0u) << t;
    EXPECT_EQ(frames[t].events.births, t == 2 || t == 9 ? 1u : 0u) << t;
    EXPECT_EQ(frames[t].events.last_id, t < 2 ? 0u : t < 9 ? 1u : 2u) << t;
    EXPECT_EQ(frames[t].events.deaths + frames[t].events.lost + frames[t].events.merges, 0u) << t;
    for (const Region& region : frames[t].labelling.regions) EXPECT_LE(region.track, 2u);
  }
}

// Discs that are always visible have the same tracks, but later.
TEST_P(Tracking, TrackBirthIs4_TracksEqualThoseOfTrackBirth1ButBeginLater) {
  const Scene scene = crowd_scene(kSize, 25, 40, 11);
  const auto at_once = track(scene, tracked());
  CcLabelParams params = tracked();
  params.track_birth = 4;
  const auto later = track(scene, params);
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

// The frames as they are after others that used the ids up to `last_id`.
std::vector<StreamFrame> renumbered(uint32_t last_id, std::vector<StreamFrame> frames) {
  for (StreamFrame& frame : frames) {
    frame.events.last_id += last_id;
    for (Region& r : frame.labelling.regions) r.track += last_id;
  }
  return frames;
}

TEST_P(Tracking, ResetOrBeginScene_EndsAllTracksAndOnlyResetRestartsNumbers) {
  const std::vector<Picture> pictures = painted(crowd_scene(kSize, 10, 6, 7));
  const std::vector<ConstFrame> frames = frames_of(pictures);
  CcLabelStream one = stream(backend_, frames[0], tracked(), {.slots = 2});
  const auto first = one.run(frames, tracked());
  const auto expect_ids_after = [&](uint32_t last_id) {
    EXPECT_EQ(difference(one.run(frames, tracked()), renumbered(last_id, first), kSize.width), "");
  };
  const uint32_t last = first.back().events.last_id;
  EXPECT_NE(difference(one.run(frames, tracked()), first, kSize.width), "") << "tracks continue";
  one.reset();
  expect_ids_after(0);
  one.begin_scene();
  expect_ids_after(last);
  // A frame without tracking between two frames makes the second frame a first one.
  CcLabelParams untracked = tracked();
  untracked.track = false;
  one.run({frames[0]}, untracked);
  expect_ids_after(2 * last);
  one.begin_scene();
  one.reset();
  one.begin_scene();
  expect_ids_after(0);
}

TEST_P(Tracking, ManyCollidingRegions_TracksEqualThoseOfOneCpuThread) {
  track(painted(crowd_scene({321, 179}, 25, 60, 2), {321, 179}), tracked(4), {.slots = 4});
  track(painted(colliding_scene({320, 180}, 40, 60, 3)), tracked(4), {.wants_labels = false});
  const Size large = {1000, 700};
  track(painted(colliding_scene(large, 400, 30, 4), large), tracked(4), {.slots = 3});
  CcLabelParams params = tracked(4);
  params.criterion = Criterion::equal;  // each pixel belongs to a region
  track(colliding_scene(kSize, 30, 30, 5), params);
  params = tracked(4);
  params.track_birth = 3;
  track(painted(colliding_scene(kSize, 40, 40, 8)), params, {.slots = 3});
}

// Few records, more pairs of regions than the hash table holds, more lost tracks than fit.
TEST_P(Tracking, NoisePicturesWithFewOrManyRecords_TracksEqualThoseOfOneCpuThread) {
  for (const uint32_t capacity : {1u, 40u, 4096u, 65535u}) {
    std::vector<Picture> pictures;
    for (int t = 0; t < 12; ++t) {
      const auto add = [&](const std::string& content) {
        pictures.push_back(make_picture(content, {400, 300}));
      };
      add("rand_g" + std::to_string(1 + t % 5) + "_d" + std::to_string(10 + 7 * t));
      if (t % 4 == 3) add("empty");
      if (t % 4 == 1) add("stripes_h");
      if (t % 4 == 1) add("stripes_v");
    }
    track(pictures, tracked(4), {.slots = 2, .capacity = capacity});
  }
  for (const Size size : {Size{1, 1}, {1, 70}, {70, 1}, {127, 65}, {129, 63}}) {
    std::vector<Picture> pictures;
    for (int t = 0; t < 6; ++t) {
      pictures.push_back(make_picture("rand_g" + std::to_string(1 + t % 3) + "_d60", size));
    }
    track(pictures, tracked(4));
  }
}

// The stored labels of the previous frame do not depend on the criterion of the next frame, which
// decides how CUDA divides it into tiles.
TEST_P(Tracking, CriterionChangesBetweenFrames_TracksEqualThoseOfOneCpuThread) {
  const auto pictures = painted(colliding_scene({300, 200}, 30, 24, 7), {300, 200});
  CcLabelStream found = stream(backend_, pictures[0].frame(), tracked(4), {});
  CcLabelStream expected = stream(make_cpu_backend(1), pictures[0].frame(), tracked(4), {});
  ptrdiff_t followed = 0;
  for (size_t t = 0; t < pictures.size(); ++t) {
    CcLabelParams params = tracked(4);
    params.criterion = t % 3 == 0 ? Criterion::equal : Criterion::binary;
    const auto frame = found.run({pictures[t].frame()}, params);
    EXPECT_EQ(difference(frame, expected.run({pictures[t].frame()}, params), 300), "") << t;
    followed += std::ranges::count_if(frame[0].labelling.regions, [&](const Region& region) {
      return t > 0 && region.track < region.id;
    });
  }
  EXPECT_GT(followed, 0) << "no track was followed, so nothing was compared";
}

// Each region has a track once it is born, no track has two regions, and the counts add up.
TEST_P(Tracking, NoisePictures_NoTwoRegionsOfAFrameShareATrack) {
  for (const uint32_t capacity : {40u, 4096u}) {
    for (const int birth : {1, 2}) {
      std::vector<Picture> pictures;
      for (int t = 0; t < 12; ++t) {
        const int grain = 1 + t % 5;
        pictures.push_back(make_picture("rand_g" + std::to_string(grain) + "_d40", {200, 120}));
      }
      CcLabelParams params = tracked(2);
      params.track_birth = birth;
      uint64_t alive = 0;
      for (const StreamFrame& frame : track(pictures, params, {.slots = 2, .capacity = capacity})) {
        std::map<uint32_t, int> uses;
        uint32_t fresh = 0;
        for (const Region& region : frame.labelling.regions) {
          // A region without a track is not yet born, or it is a piece of an object.
          const uint32_t part_of = frame.states[region.id - 1].part_of;
          EXPECT_EQ(frame.states.size(), frame.labelling.regions.size() + frame.occluded.size());
          EXPECT_LE(part_of, frame.events.last_id);
          if (region.track == 0) {
            EXPECT_TRUE(part_of != 0 || birth > 1);
            continue;
          }
          EXPECT_EQ(part_of, 0u);
          EXPECT_EQ(++uses[region.track], 1) << region.track;
          EXPECT_GT(region.track, 0u);
          EXPECT_LE(region.track, frame.events.last_id);
          fresh += region.track > alive;
        }
        alive = frame.events.last_id;
        EXPECT_GE(fresh, frame.events.births);
        EXPECT_LE(fresh, frame.events.births + frame.events.splits);
        EXPECT_LE(frame.events.lost, capacity);
      }
    }
  }
}

// From the second frame on, a new disc comes first in raster order: label 1, track 2.
TEST_P(Tracking, LabelValuesTrack_OutputLabelsHasTrackNumbersAndOutputColorsTheirColors) {
  const Size size = {64, 32};
  std::vector<Picture> pictures;
  const Disc first = {.x = 40, .y = 20, .radius = 5}, second = {.x = 10, .y = 8, .radius = 4};
  for (int t = 0; t < 3; ++t) {
    pictures.push_back(paint_discs(size, t > 0 ? std::vector{first, second} : std::vector{first}));
  }
  for (const auto& [output, format] : {std::pair(CcOutput::labels, PixelFormat::gray8),
                                       std::pair(CcOutput::colors, PixelFormat::rgb),
                                       std::pair(CcOutput::overlay, PixelFormat::rgb)}) {
    CcLabelParams params = tracked();
    params.output = output;
    params.label_values = LabelValues::track;
    const auto frames = track(pictures, params, {.slots = 2, .capacity = 100, .out = format});
    track(painted(colliding_scene({150, 90}, 12, 6, 6), {150, 90}), params, {.out = format});
    if (output == CcOutput::overlay) continue;
    for (size_t t = 0; t < frames.size(); ++t) {
      const auto value = [&](int x, int y) {
        return frames[t]
            .out[static_cast<size_t>(y * size.width + x) * (output == CcOutput::labels ? 1 : 3)];
      };
      const auto expected = [&](uint32_t track) {
        return output == CcOutput::labels ? static_cast<int>(track) : track_color(track).red;
      };
      EXPECT_EQ(value(40, 20), expected(1)) << t;
      EXPECT_EQ(value(10, 8), t > 0 ? expected(2) : 0) << t;
      EXPECT_EQ(value(0, 0), 0);
    }
  }
}

// The first component of a picture, at a lower resolution.
GuardedFrame small_mask(const ConstFrame& picture, Size few) {
  GuardedFrame mask(PixelFormat::gray8, few);
  for (int y = 0; y < few.height; ++y) {
    for (int x = 0; x < few.width; ++x) {
      const int value =
          picture.sample(0, x * picture.width / few.width, y * picture.height / few.height);
      mask.frame().set_sample(0, x, y, value);
    }
  }
  return mask;
}

// The size of the mask changes from frame to frame; sometimes it is the size of the picture.
TEST(TrackingMask, LowResolutionMask_TracksEqualThoseOfTheEnlargedMask) {
  const Scene scene = crowd_scene(kSize, 25, 60, 3);
  const std::vector<Picture> pictures = painted(scene);
  const Size sizes[] = {{80, 45}, {80, 45}, {96, 54}, kSize, {31, 17}};
  std::vector<GuardedFrame> small, whole;
  for (size_t t = 0; t < scene.size(); ++t) {
    const Size few = sizes[t < 20 ? 0 : hash(static_cast<uint32_t>(t), 7) % std::size(sizes)];
    small.push_back(small_mask(pictures[t].frame(), few));
    whole.push_back(enlarged(small.back().frame(), kSize));
  }
  std::vector<ConstFrame> small_masks, whole_masks;
  for (size_t t = 0; t < scene.size(); ++t) {
    small_masks.push_back(std::as_const(small[t]).frame());
    whole_masks.push_back(std::as_const(whole[t]).frame());
  }
  CcLabelParams params = tracked();
  params.source = Source::mask;
  for (const int threads : {1, 2}) {
    const auto with_masks = [&](const std::vector<ConstFrame>& masks) {
      CcLabelStream stream(make_cpu_backend(threads), layout_of(PixelFormat::rgb), kSize, params,
                           {.slots = 2, .masks = masks});
      return stream.run(frames_of(pictures), params);
    };
    EXPECT_EQ(difference(with_masks(small_masks), with_masks(whole_masks), kSize.width), "")
        << threads << " threads";
  }
}

// The tracker stores equal rows once. It expands them when the rows of a frame differ.
TEST(TrackerRows, RowSpans_SetToOneSpanPerRow_EachRowGetsTheLabelsOfItsFormerSpan) {
  constexpr Size kFew = {70, 23};
  constexpr RowSpans kAlike = {7, kFew.height}, kWhole = {kFew.height, kFew.height};
  const auto backend = make_cpu_backend(1);
  Tracker tracker;
  tracker.allocate(*backend, {.size = kFew, .max_regions = 16, .tracks = true});
  tracker.begin(tracker.take_ticket());
  EXPECT_FALSE(tracker.set_row_spans(kAlike));
  const auto label = [](int span, int x) { return static_cast<uint16_t>(span * x % 5); };
  for (int span = 0; span < kAlike.spans; ++span) {
    for (int x = 0; x < kFew.width; ++x) {
      tracker.memory().labels(x, kAlike.begin(span)) = label(span, x);
      if (label(span, x) == 0) continue;
      tracker.labelled_pixels().row(kAlike.begin(span))[x / kWordBits] |= Word{1} << x % kWordBits;
    }
  }
  EXPECT_TRUE(tracker.set_row_spans(kAlike));
  EXPECT_FALSE(tracker.set_row_spans(kWhole));
  for (int y = 0; y < kFew.height; ++y) {
    const int span = kAlike.span_of(y);
    for (int x = 0; x < kFew.width; ++x) {
      ASSERT_EQ(tracker.memory().labels(x, y), label(span, x)) << x << ", " << y;
      const Word bit = tracker.labelled_pixels().row(y)[x / kWordBits] >> x % kWordBits & 1;
      ASSERT_EQ(bit != 0, label(span, x) != 0) << x << ", " << y;
    }
  }
  EXPECT_TRUE(tracker.set_row_spans(kWhole));
}

// count_shared_in_row() against plain loops over the pixels.
TEST(SharedPixels, CountSharedInRow_RandomLabels_CountsEachPairAndStoresTheLabels) {
  constexpr uint32_t kSlots = 1 << 12, kCount = 40;
  for (const int width : {1, 63, 64, 65, 200}) {
    const int rows = 1 + width % 3;
    const auto words = static_cast<size_t>(words_for(width));
    std::vector<uint16_t> labels(static_cast<size_t>(width)), expected(labels);
    std::vector<Word> known(words);
    for (uint32_t frame = 0; frame < 60; ++frame) {
      std::vector<Word> pixels(words), starts(words);
      std::vector<uint32_t> label;
      std::map<std::pair<uint32_t, uint32_t>, uint32_t> pairs;
      for (int x = 0; x < width; ++x) {
        // Long runs, short runs, and frames without runs.
        const auto piece = static_cast<uint32_t>(x) / (1 + frame % 9);
        const bool inside = frame % 7 != 3 && hash(piece, frame) % 3 == 0;
        const bool before = x > 0 && (pixels[static_cast<size_t>(x - 1) / 64] >> (x - 1) % 64 & 1);
        if (inside) pixels[static_cast<size_t>(x) / 64] |= Word{1} << x % 64;
        if (inside && !before) {
          starts[static_cast<size_t>(x) / 64] |= Word{1} << x % 64;
          label.push_back(hash(piece, frame, 3) % (kCount + 4));  // also 0 and labels beyond kCount
        }
        const auto here =
            static_cast<uint32_t>(inside && label.back() <= kCount ? label.back() : 0);
        uint16_t& last = expected[static_cast<size_t>(x)];
        if (here != 0 && last != 0) ++pairs[{last, here}];
        last = static_cast<uint16_t>(here);
      }
      std::vector<uint32_t> key(kSlots), count(kSlots), used(kSlots);
      uint32_t used_count = 0;
      const PairTable table = {kSlots, kSlots, key.data(), count.data(), used.data(), &used_count};
      count_shared_in_row(pixels.data(), starts.data(), label.data(), width, kCount, rows, table,
                          labels.data(), known.data());
      EXPECT_EQ(labels, expected) << width << " pixels, frame " << frame;
      ASSERT_EQ(used_count, pairs.size()) << width << " pixels, frame " << frame;
      for (uint32_t i = 0; i < used_count; ++i) {
        const uint32_t pair = key[used[i]];
        const uint32_t in_a_row = pairs[{pair >> 16, pair & 0xffff}];
        EXPECT_EQ(count[used[i]], in_a_row * static_cast<uint32_t>(rows));
      }
    }
  }
}

}  // namespace
}  // namespace regions
