// New elements go where there are the fewest.
#include "core/placement.hpp"

#include <gtest/gtest.h>

namespace regions {
namespace {

TEST(Placement, SpreadsEvenlyInOrder) {
  Placement placement;
  std::vector<int> places;
  for (int i = 0; i < 7; ++i) places.push_back(placement.place(3));
  EXPECT_EQ(places, (std::vector<int>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(Placement, FillsWhatOthersLeft) {
  Placement placement;
  for (int i = 0; i < 6; ++i) placement.place(3);
  placement.leave(1);
  placement.leave(1);
  EXPECT_EQ(placement.place(3), 1);
  EXPECT_EQ(placement.place(3), 1);
  EXPECT_EQ(placement.place(3), 0);
}

TEST(Placement, CountsThoseThatChose) {
  Placement placement;
  placement.enter(0);
  placement.enter(0);
  placement.enter(2);
  EXPECT_EQ(placement.place(4), 1);
  EXPECT_EQ(placement.place(4), 3);
  EXPECT_EQ(placement.place(4), 1);
  EXPECT_EQ(placement.place(1), 0) << "whatever its load, if there is no other";
}

}  // namespace
}  // namespace regions
