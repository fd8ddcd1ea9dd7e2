// How much memory frames of each algorithm take on the CPU, and that it all goes back.
#include <gtest/gtest.h>

#include "core/cclabel.hpp"
#include "core/graphcutbg.hpp"
#include "core/regionoverlay.hpp"
#include "core/slicsuperpixel.hpp"
#include "cpu/backend.hpp"
#include "tests/pictures/watched_memory.hpp"

namespace regions {
namespace {

constexpr Size kSize = {640, 480};

// Of the backend's blocks after configure(), thousands of bytes.
template <class P>
size_t kilobytes_of(const regions::Setup& setup, const P& params = {}) {
  const auto backend = make_cpu_backend(2);
  const size_t before = watched_bytes();
  size_t taken = 0;
  {
    const auto algorithm = make_algorithm<P, BackendKind::cpu>(backend);
    algorithm->prepare(params);
    algorithm->configure(setup);
    taken = watched_bytes() - before;
    algorithm->configure(setup);
    EXPECT_EQ(watched_bytes() - before, taken) << "another configure() takes more";
  }
  EXPECT_EQ(watched_bytes(), before) << "not all was given back";
  return taken / 1000;
}

// A change is one that users see: of a 640x480 picture, whose labels alone are 1229 kB.
TEST(CpuMemory, OfEachAlgorithm) {
  const regions::Setup plain{.in = layout_of(PixelFormat::nv12), .size = kSize};
  regions::Setup drawn = plain, many = plain, runs = plain, tracked = plain, borders = plain,
                 volume = plain, window = plain, masked = plain, all = plain;
  drawn.out = drawn.in;
  drawn.has_output = true;
  many.slots = 3;
  runs.max_runs = 10000;
  tracked.tracks = true;
  borders.has_borders = true;
  volume.depth = 5;
  window.depth = 5;
  window.slides = window.tracks = true;
  masked.mask = layout_of(PixelFormat::labels32);
  masked.has_mask = true;
  all.has_background = true;
  regions::Setup drawn_window = window, masked_window = window;
  drawn_window.out = drawn_window.in;
  drawn_window.has_output = true;
  masked_window.mask = masked.mask;
  masked_window.has_mask = true;
  struct Case {
    const char* name;
    size_t taken, wanted;
  };
  GraphCutBgParams eight;
  eight.neighbours = Neighbours::eight;
  for (const auto& [name, taken, wanted] :
       {Case{"cclabel", kilobytes_of<CcLabelParams>(plain), 12364},
        {"cclabel that draws", kilobytes_of<CcLabelParams>(drawn), 15149},
        {"cclabel, 3 slots", kilobytes_of<CcLabelParams>(many), 37092},
        {"cclabel with runs", kilobytes_of<CcLabelParams>(runs), 13769},
        {"cclabel that tracks", kilobytes_of<CcLabelParams>(tracked), 14675},
        {"cclabel of volumes", kilobytes_of<CcLabelParams>(volume), 45878},
        {"cclabel of background too", kilobytes_of<CcLabelParams>(all), 12364},
        {"windows", kilobytes_of<CcLabelParams>(window), 66811},
        {"windows that draw", kilobytes_of<CcLabelParams>(drawn_window), 68368},
        {"windows of masks", kilobytes_of<CcLabelParams>(masked_window), 74491},
        {"slicsuperpixel", kilobytes_of<SlicParams>(plain), 62705},
        {"slicsuperpixel, 3 slots", kilobytes_of<SlicParams>(many), 188117},
        {"slicsuperpixel with borders", kilobytes_of<SlicParams>(borders), 62902},
        {"regionoverlay", kilobytes_of<RegionOverlayParams>(drawn), 1556},
        {"graphcutbg", kilobytes_of<GraphCutBgParams>(plain), 40476},
        {"graphcutbg, 8 neighbours", kilobytes_of<GraphCutBgParams>(plain, eight), 60715}}) {
    EXPECT_EQ(taken, wanted) << name;
  }
}

}  // namespace
}  // namespace regions
