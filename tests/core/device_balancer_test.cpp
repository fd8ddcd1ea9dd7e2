// New elements go where there are the fewest.
#include "core/device_balancer.hpp"

#include <gtest/gtest.h>

namespace regions {
namespace {

TEST(DeviceBalancer, SpreadsEvenlyInOrder) {
  DeviceBalancer placement;
  std::vector<int> places;
  for (int i = 0; i < 7; ++i) places.push_back(placement.choose(3));
  EXPECT_EQ(places, (std::vector<int>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(DeviceBalancer, FillsWhatOthersLeft) {
  DeviceBalancer placement;
  for (int i = 0; i < 6; ++i) placement.choose(3);
  placement.remove_element(1);
  placement.remove_element(1);
  EXPECT_EQ(placement.choose(3), 1);
  EXPECT_EQ(placement.choose(3), 1);
  EXPECT_EQ(placement.choose(3), 0);
}

TEST(DeviceBalancer, CountsThoseThatChose) {
  DeviceBalancer placement;
  placement.add_element(0);
  placement.add_element(0);
  placement.add_element(2);
  EXPECT_EQ(placement.choose(4), 1);
  EXPECT_EQ(placement.choose(4), 3);
  EXPECT_EQ(placement.choose(4), 1);
  EXPECT_EQ(placement.choose(1), 0) << "whatever its load, if there is no other";
}

}  // namespace
}  // namespace regions
