// How much memory frames of each algorithm take on the CPU, and that it all goes back.
#include <gtest/gtest.h>

#include <algorithm>

#include "cpu/backend.hpp"
#include "tests/algorithms.hpp"
#include "tests/pictures/watched_memory.hpp"

namespace regions {
namespace {

// Of the backend's blocks after configure().
template <class P>
size_t bytes_of(const regions::Setup& setup, const P& params = {}) {
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
  return taken;
}

struct Taken {
  const char* name;
  size_t bytes;
};

std::vector<Taken> taken_by_pictures_of(Size size) {
  const regions::Setup plain{.in = layout_of(PixelFormat::nv12), .size = size};
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
  GraphCutBgParams eight;
  eight.neighbours = Neighbours::eight;
  return {{"cclabel", bytes_of<CcLabelParams>(plain)},
          {"cclabel that draws", bytes_of<CcLabelParams>(drawn)},
          {"cclabel, 3 slots", bytes_of<CcLabelParams>(many)},
          {"cclabel with runs", bytes_of<CcLabelParams>(runs)},
          {"cclabel that tracks", bytes_of<CcLabelParams>(tracked)},
          {"cclabel of volumes", bytes_of<CcLabelParams>(volume)},
          {"cclabel of background too", bytes_of<CcLabelParams>(all)},
          {"windows", bytes_of<CcLabelParams>(window)},
          {"windows that draw", bytes_of<CcLabelParams>(drawn_window)},
          {"windows of masks", bytes_of<CcLabelParams>(masked_window)},
          {"slicsuperpixel", bytes_of<SlicParams>(plain)},
          {"slicsuperpixel, 3 slots", bytes_of<SlicParams>(many)},
          {"slicsuperpixel with borders", bytes_of<SlicParams>(borders)},
          {"regionoverlay", bytes_of<RegionOverlayParams>(drawn)},
          {"graphcutbg", bytes_of<GraphCutBgParams>(plain)},
          {"graphcutbg, 8 neighbours", bytes_of<GraphCutBgParams>(plain, eight)}};
}

// A change is one that users see: labels of 640x480 pixels alone are 1.2 MB.
TEST(CpuMemory, OfEachAlgorithm) {
  const std::pair<Size, std::vector<size_t>> wanted[] = {
      {{640, 480},
       {12363392, 15148672, 37090176, 13768580, 15264384, 45878144, 12363392, 67400832, 68957184,
        75080832, 55405300, 166215900, 55601908, 1556352, 40476672, 60715008}},
      {{641, 478},
       {12370816, 15208832, 37112448, 13772932, 15391616, 45832832, 12370816, 67539024, 69151184,
        75148624, 55439076, 166317228, 55635684, 1612160, 39813120, 59719680}}};
  for (const auto& [size, bytes] : wanted) {
    const std::vector<Taken> taken = taken_by_pictures_of(size);
    ASSERT_EQ(taken.size(), bytes.size());
    for (const KnownAlgorithm& known : kAlgorithms) {
      EXPECT_TRUE(std::ranges::count(taken, std::string(known.name), &Taken::name))
          << "no frame of " << known.name << " is measured";
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_EQ(taken[i].bytes, bytes[i]) << taken[i].name << ", " << size.width << " pixels wide";
    }
  }
}

}  // namespace
}  // namespace regions
