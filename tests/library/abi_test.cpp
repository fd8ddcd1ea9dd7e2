// Programs keep the structures of the regions.h that they were compiled with: where each member
// lies, and what each name stands for, as numbers.
#include "tests/library/library_case.hpp"

namespace regions::test {
namespace {

struct Member {
  const char* name;
  size_t offset, bytes;
};
#define MEMBER(type, name) \
  { #type "." #name, offsetof(type, name), sizeof(type::name) }

TEST(LibraryAbi, MembersStayWhereTheyAre) {
  const std::pair<Member, Member> table[] = {
      {MEMBER(RegionsPicture, format), {"", 0, 8}},
      {MEMBER(RegionsPicture, width), {"", 8, 4}},
      {MEMBER(RegionsPicture, height), {"", 12, 4}},
      {MEMBER(RegionsPicture, plane), {"", 16, 24}},
      {MEMBER(RegionsPicture, pitch), {"", 40, 24}},
      {MEMBER(RegionsPicture, memory), {"", 64, 4}},
      {MEMBER(RegionsPicture, color), {"", 68, 4}},
      {MEMBER(RegionsRegion, id), {"", 0, 4}},
      {MEMBER(RegionsRegion, track), {"", 4, 4}},
      {MEMBER(RegionsRegion, first_x), {"", 8, 4}},
      {MEMBER(RegionsRegion, first_y), {"", 12, 4}},
      {MEMBER(RegionsRegion, left), {"", 16, 4}},
      {MEMBER(RegionsRegion, top), {"", 20, 4}},
      {MEMBER(RegionsRegion, right), {"", 24, 4}},
      {MEMBER(RegionsRegion, bottom), {"", 28, 4}},
      {MEMBER(RegionsRegion, first_z), {"", 32, 4}},
      {MEMBER(RegionsRegion, front), {"", 36, 4}},
      {MEMBER(RegionsRegion, back), {"", 40, 4}},
      {MEMBER(RegionsRegion, layer), {"", 44, 4}},
      {MEMBER(RegionsRegion, area), {"", 48, 8}},
      {MEMBER(RegionsRegion, sum_x), {"", 56, 8}},
      {MEMBER(RegionsRegion, sum_y), {"", 64, 8}},
      {MEMBER(RegionsRegion, sum_z), {"", 72, 8}},
      {MEMBER(RegionsRegion, sum_value), {"", 80, 24}},
      {MEMBER(RegionsMoments, sum_lab), {"", 0, 24}},
      {MEMBER(RegionsMoments, sum_xx), {"", 24, 8}},
      {MEMBER(RegionsMoments, sum_xy), {"", 32, 8}},
      {MEMBER(RegionsMoments, sum_yy), {"", 40, 8}},
      {MEMBER(RegionsBorder, first), {"", 0, 4}},
      {MEMBER(RegionsBorder, second), {"", 4, 4}},
      {MEMBER(RegionsBorder, length), {"", 8, 4}},
      {MEMBER(RegionsRun, id), {"", 0, 4}},
      {MEMBER(RegionsRun, x), {"", 4, 4}},
      {MEMBER(RegionsRun, y), {"", 8, 4}},
      {MEMBER(RegionsRun, width), {"", 12, 4}},
      {MEMBER(RegionsFrame, size), {"", 0, 8}},
      {MEMBER(RegionsFrame, in), {"", 8, 72}},
      {MEMBER(RegionsFrame, out), {"", 80, 72}},
      {MEMBER(RegionsFrame, labels), {"", 152, 72}},
      {MEMBER(RegionsFrame, foreground), {"", 224, 72}},
      {MEMBER(RegionsFrame, mask), {"", 296, 72}},
      {MEMBER(RegionsFrame, regions), {"", 368, 8}},
      {MEMBER(RegionsFrame, capacity), {"", 376, 4}},
      {MEMBER(RegionsFrame, count), {"", 380, 4}},
      {MEMBER(RegionsFrame, total), {"", 384, 4}},
      {MEMBER(RegionsFrame, attached), {"", 392, 8}},
      {MEMBER(RegionsFrame, attached_count), {"", 400, 4}},
      {MEMBER(RegionsFrame, moments), {"", 408, 8}},
      {MEMBER(RegionsFrame, borders), {"", 416, 8}},
      {MEMBER(RegionsFrame, border_count), {"", 424, 4}},
      {MEMBER(RegionsFrame, runs), {"", 432, 8}},
      {MEMBER(RegionsFrame, run_capacity), {"", 440, 4}},
      {MEMBER(RegionsFrame, run_count), {"", 444, 4}},
      {MEMBER(RegionsFrame, runs_truncated), {"", 448, 4}},
  };
  for (const auto& [found, expected] : table) {
    EXPECT_EQ(found.offset, expected.offset) << found.name;
    EXPECT_EQ(found.bytes, expected.bytes) << found.name;
  }
  EXPECT_EQ(sizeof(RegionsPicture), 72u);
  EXPECT_EQ(sizeof(RegionsRegion), 104u);
  EXPECT_EQ(sizeof(RegionsMoments), 48u);
  EXPECT_EQ(sizeof(RegionsBorder), 12u);
  EXPECT_EQ(sizeof(RegionsRun), 16u);
  EXPECT_EQ(sizeof(RegionsFrame), 456u);
}

TEST(LibraryAbi, NamesStandForTheirNumbers) {
  const std::pair<int, int> table[] = {
      {REGIONS_OK, 0},
      {REGIONS_ERROR_INPUT, 1},
      {REGIONS_ERROR_MEMORY, 2},
      {REGIONS_ERROR_DEVICE, 3},
      {REGIONS_ERROR_OTHER, 4},
      {REGIONS_MEMORY_HOST, 0},
      {REGIONS_MEMORY_CUDA, 1},
      {REGIONS_COLOR_DEFAULT, 0},
      {REGIONS_COLOR_BT601, 1},
      {REGIONS_COLOR_BT709, 2},
      {REGIONS_COLOR_BT2020, 3},
      {REGIONS_COLOR_BT601_FULL, 4},
      {REGIONS_COLOR_BT709_FULL, 5},
      {REGIONS_COLOR_BT2020_FULL, 6},
  };
  for (const auto& [found, expected] : table) EXPECT_EQ(found, expected);
}

TEST(LibraryAbi, AFrameBeginsWithItsSizeAndNothingElse) {
  const RegionsFrame frame = REGIONS_FRAME_INIT;
  RegionsFrame zero;
  std::memset(&zero, 0, sizeof zero);
  zero.size = sizeof zero;
  EXPECT_EQ(std::memcmp(&frame, &zero, sizeof frame), 0);
}

}  // namespace
}  // namespace regions::test
