// What must hold of any labelling, whatever the oracle says: mirrored and transposed pictures have
// the same regions, regions by edges lie within regions by corners, a second run changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cpu/backend.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

constexpr Size kSize{501, 333};
constexpr const char* kSubjects[] = {"rand_g1_d40", "rand_g1_d60", "rand_g4_d50", "maze",
                                     "spiral",      "smooth",      "clouds",      "blobs"};

CcLabelParams params_for(std::string_view content, Connectivity connectivity) {
  CcLabelParams params;
  params.connectivity = connectivity;
  if (content == "clouds" || content == "blobs") params.criterion = Criterion::difference;
  params.tolerance = 0.01;
  return params;
}

enum class Turn { mirror, flip, transpose };

Picture turned(const Picture& from, Turn turn) {
  Picture to = from;
  if (turn == Turn::transpose) std::swap(to.size.width, to.size.height);
  const size_t bytes = from.format == PixelFormat::rgb ? 3 : 1;
  const auto index = [bytes](const Picture& p, int x, int y) {
    return (static_cast<size_t>(y) * static_cast<size_t>(p.size.width) + static_cast<size_t>(x)) *
           bytes;
  };
  for (int y = 0; y < from.size.height; ++y) {
    for (int x = 0; x < from.size.width; ++x) {
      const int nx = turn == Turn::mirror      ? from.size.width - 1 - x
                     : turn == Turn::transpose ? y
                                               : x;
      const int ny = turn == Turn::flip        ? from.size.height - 1 - y
                     : turn == Turn::transpose ? x
                                               : y;
      std::copy_n(&from.pixels[index(from, x, y)], bytes, &to.pixels[index(to, nx, ny)]);
    }
  }
  return to;
}

// The labels' partition of `a` maps one to one on that of `b`, pixel by pixel.
bool same_partition(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  std::map<uint32_t, uint32_t> to, back;
  for (size_t i = 0; i < a.size(); ++i) {
    if (to.emplace(a[i], b[i]).first->second != b[i]) return false;
    if (back.emplace(b[i], a[i]).first->second != a[i]) return false;
  }
  return true;
}

TEST(CcLabelProperties, TurnedPicturesHaveTheSameRegions) {
  for (const std::string_view content : kSubjects) {
    const Picture picture = make_picture(content, kSize);
    for (const Connectivity connectivity : {Connectivity::four, Connectivity::eight}) {
      const CcLabelParams params = params_for(content, connectivity);
      const RunResult straight = run_on_cpu(2, picture.frame(), {}, params);
      for (const Turn turn : {Turn::mirror, Turn::flip, Turn::transpose}) {
        const Picture other = turned(picture, turn);
        const RunResult found = run_on_cpu(2, other.frame(), {}, params);
        std::vector<uint32_t> back(found.labelling.labels.size());
        size_t at = 0;
        for (int y = 0; y < kSize.height; ++y) {
          for (int x = 0; x < kSize.width; ++x, ++at) {
            const int nx = turn == Turn::mirror      ? kSize.width - 1 - x
                           : turn == Turn::transpose ? y
                                                     : x;
            const int ny = turn == Turn::flip        ? kSize.height - 1 - y
                           : turn == Turn::transpose ? x
                                                     : y;
            back[at] = found.labelling
                           .labels[static_cast<size_t>(ny) * static_cast<size_t>(other.size.width) +
                                   static_cast<size_t>(nx)];
          }
        }
        EXPECT_EQ(found.total, straight.total) << content;
        EXPECT_TRUE(same_partition(back, straight.labelling.labels))
            << content << " turn " << static_cast<int>(turn);
      }
    }
  }
}

TEST(CcLabelProperties, RegionsByEdgesLieWithinRegionsByCorners) {
  for (const std::string_view content : kSubjects) {
    const Picture picture = make_picture(content, kSize);
    const auto four = run_on_cpu(2, picture.frame(), {}, params_for(content, Connectivity::four));
    const auto eight = run_on_cpu(2, picture.frame(), {}, params_for(content, Connectivity::eight));
    std::map<uint32_t, uint32_t> outer;
    for (size_t i = 0; i < four.labelling.labels.size(); ++i) {
      const uint32_t inside = four.labelling.labels[i], outside = eight.labelling.labels[i];
      ASSERT_EQ(outer.emplace(inside, outside).first->second, outside) << content;
    }
    EXPECT_GE(four.total, eight.total);
  }
}

TEST(CcLabelProperties, LabelsRiseInRasterOrderAndAreasSumUp) {
  for (const std::string_view content : kSubjects) {
    const Picture picture = make_picture(content, kSize);
    const auto result = run_on_cpu(3, picture.frame(), {}, params_for(content, Connectivity::four));
    uint32_t most = 0;
    uint64_t foreground = 0, area = 0;
    for (const uint32_t label : result.labelling.labels) {
      ASSERT_LE(label, most + 1);
      most = std::max(most, label);
      foreground += label != 0;
    }
    EXPECT_EQ(most, result.total);
    for (const Region& region : result.labelling.regions) area += region.area;
    EXPECT_EQ(area, foreground);
  }
}

// One algorithm object, other frames in between, parameters changing while playing.
TEST(CcLabelProperties, FramesDoNotTouchEachOther) {
  auto backend = make_cpu_backend(2);
  auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend);
  const Layout gray = layout_of(PixelFormat::gray8);
  algorithm->configure({.in = gray, .size = kSize, .slots = 3, .max_regions = 100});
  std::vector<std::unique_ptr<Queue>> queues;
  for (int s = 0; s < 3; ++s) queues.push_back(backend->make_queue());
  for (int round = 0; round < 5; ++round) {
    std::vector<Picture> pictures;
    std::vector<GuardedFrame> outputs;
    std::vector<CcLabelParams> params(3);
    uint32_t total[3] = {};
    for (int s = 0; s < 3; ++s) {
      pictures.push_back(make_picture(contents()[static_cast<size_t>(round * 3 + s)], kSize));
      outputs.emplace_back(PixelFormat::labels32, kSize);
      params[s].criterion = static_cast<Criterion>((round + s) % 3);
      params[s].fill_holes = round % 2 * 9;
    }
    for (int s = 0; s < 3; ++s) {
      FrameTask task{.slot = s, .in = pictures[s].frame(), .labels = outputs[s].labels()};
      task.table.total = &total[s];
      algorithm->enqueue(task, params[s], *queues[s]);
      queues[s]->record();
    }
    for (int s = 0; s < 3; ++s) {
      queues[s]->wait();
      const Labelling expected = label_slowly(pictures[s].frame(), {}, params[s]);
      EXPECT_EQ(total[s], expected.regions.size());
      const uint32_t* first = outputs[s].labels().data;
      EXPECT_TRUE(std::equal(expected.labels.begin(), expected.labels.end(), first));
    }
  }
}

}  // namespace
}  // namespace regions
