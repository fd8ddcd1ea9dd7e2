// Generators of graphs.
#include "tests/maxflow/graphs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

namespace regions {
namespace {

constexpr int32_t kPaddingValue = -77;  // a solver that reads the padding finds a negative capacity

// Links whose capacity decreases with the difference of the two values.
void link_by_contrast(OwnedGraph& graph, const std::vector<int>& value, int32_t strength) {
  const Size size = graph.size();
  const auto at = [&](int x, int y) {
    return value[static_cast<size_t>(std::clamp(y, 0, size.height - 1) * size.width +
                                     std::clamp(x, 0, size.width - 1))];
  };
  constexpr int kStep[5][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {-1, 1}};
  for (int i = 1; i < 5; ++i) {
    const Image<int32_t> links = graph.array(i);
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const double step = at(x, y) - at(x + kStep[i][0], y + kStep[i][1]);
        const double distance = i > 2 ? std::sqrt(2.0) : 1.0;
        links(x, y) = static_cast<int32_t>(strength * std::exp(-step * step / 200) / distance);
      }
    }
  }
}

// Values from 0 to 99 that form soft blobs.
std::vector<int> blobs(Size size, Dice& dice) {
  std::vector<int> value(size.area());
  for (int blob = 0; blob < 6; ++blob) {
    const int radius = 2 + dice.roll(0, std::max(size.width, size.height) / 5);
    const int cx = dice.roll(0, size.width - 1), cy = dice.roll(0, size.height - 1);
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const int distance = static_cast<int>(std::hypot(x - cx, y - cy));
        int& v = value[static_cast<size_t>(y * size.width + x)];
        v = std::max(v, std::clamp(99 - 60 * distance / radius, 0, 99));
      }
    }
  }
  return value;
}

}  // namespace

int32_t Dice::roll(int32_t low, int32_t high) {
  // Steele, Lea and Flood's SplitMix64.
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  const auto span = static_cast<uint64_t>(static_cast<int64_t>(high) - low + 1);
  return static_cast<int32_t>(low + static_cast<int64_t>((z ^ z >> 31) % span));
}

OwnedGraph::OwnedGraph(Size size, int padding) : size_(size), pitch_(size.width + padding) {
  for (auto& array : weights_) {
    array.assign(static_cast<size_t>(pitch_) * static_cast<size_t>(size.height), kPaddingValue);
  }
  for (int i = 0; i < 5; ++i) {
    for (int y = 0; y < size.height; ++y) std::fill_n(array(i).row(y), size.width, 0);
  }
}

Image<int32_t> OwnedGraph::array(int i) {
  return {weights_[static_cast<size_t>(i)].data(), size_.width, size_.height,
          static_cast<ptrdiff_t>(sizeof(int32_t)) * pitch_};
}

GridGraph OwnedGraph::graph(Neighbours neighbours) const {
  auto& self = const_cast<OwnedGraph&>(*this);
  return {self.array(0), self.array(1), self.array(2), self.array(3), self.array(4), neighbours};
}

OwnedGraph random_graph(Size size, int32_t most, int zeros, bool coarse, uint64_t seed) {
  OwnedGraph graph(size);
  Dice dice(seed);
  const int32_t step = coarse ? std::max(1, most / 3) : 1;
  for (int i = 0; i < 5; ++i) {
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const int32_t value = dice.roll(i == 0 ? -(most / step) : 0, most / step) * step;
        graph.array(i)(x, y) = dice.roll(0, 7) < zeros ? 0 : value;
      }
    }
  }
  return graph;
}

OwnedGraph sparse_graph(Size size, int32_t most, unsigned seed) {
  OwnedGraph graph(size);
  std::mt19937 random(seed);
  std::uniform_int_distribution<int32_t> terminal(-most, most), link(0, most / 4 + 1), die(0, 3);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      graph.array(0)(x, y) = die(random) == 0 ? terminal(random) : 0;
      for (int i = 1; i < 5; ++i) graph.array(i)(x, y) = die(random) != 0 ? link(random) : 0;
    }
  }
  return graph;
}

OwnedGraph background_difference(Size size, uint64_t seed) {
  OwnedGraph graph(size);
  Dice dice(seed);
  std::vector<int> value = blobs(size, dice);
  for (size_t i = 0; i < value.size(); ++i) {
    value[i] = std::abs(value[i] + dice.roll(-12, 12) + dice.roll(-12, 12));
    const auto x = static_cast<int>(i) % size.width, y = static_cast<int>(i) / size.width;
    graph.array(0)(x, y) = std::clamp(4 * (value[i] - 30), -400, 400);
  }
  link_by_contrast(graph, value, 60);
  return graph;
}

OwnedGraph grabcut(Size size, uint64_t seed) {
  OwnedGraph graph(size);
  Dice dice(seed);
  std::vector<int> value = blobs(size, dice);
  const std::vector<int> wrong = blobs(size, dice);
  const int border = std::max(1, std::min(size.width, size.height) / 10);
  for (size_t i = 0; i < value.size(); ++i) {
    const auto x = static_cast<int>(i) % size.width, y = static_cast<int>(i) / size.width;
    const bool outside =
        x < border || y < border || x >= size.width - border || y >= size.height - border;
    graph.array(0)(x, y) =
        outside ? -4000 : 3 * (value[i] - 35) + (wrong[i] - 50) + dice.roll(-40, 40);
    value[i] += dice.roll(-3, 3);
  }
  link_by_contrast(graph, value, 350);
  return graph;
}

OwnedGraph corridor(Size size) {
  OwnedGraph graph(size);
  int x = 0, step = 1;
  for (int y = 0;; y += 2) {
    for (; step > 0 ? x + 1 < size.width : x > 0; x += step) {
      graph.array(1)(step > 0 ? x : x - 1, y) = 50;
    }
    if (y + 2 >= size.height) {
      graph.array(0)(x, y) = -40;
      break;
    }
    graph.array(2)(x, y) = graph.array(2)(x, y + 1) = 50;
    step = -step;
  }
  if (graph.array(0)(0, 0) == 0) graph.array(0)(0, 0) = 60;
  return graph;
}

OwnedGraph island(Size size, int left, int top, int wide_from) {
  constexpr int kSide = 24;
  OwnedGraph graph(size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const bool inside = x >= left && x < left + kSide && y >= top && y < top + kSide;
      graph.array(0)(x, y) = inside ? 200 : -3;
      for (int i = 1; i < 5; ++i) graph.array(i)(x, y) = x < wide_from ? 50 : 40000;
    }
  }
  return graph;
}

OwnedGraph checkerboard(Size size) {
  OwnedGraph graph(size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      graph.array(0)(x, y) = (x + y) % 2 == 0 ? 20 : -20;
      graph.array(1)(x, y) = graph.array(2)(x, y) = 12;
      graph.array(3)(x, y) = graph.array(4)(x, y) = 23;
    }
  }
  return graph;
}

}  // namespace regions
