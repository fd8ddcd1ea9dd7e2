// The algorithm of Edmonds and Karp.
#include "tests/maxflow/oracle.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace regions {
namespace {

// Calls link(x, y, other x, other y, capacity) for each pair of neighbours.
void each_link(const GridGraph& g, const std::function<void(int, int, int, int, int64_t)>& link) {
  for (int y = 0; y < g.terminal.height; ++y) {
    for (int x = 0; x < g.terminal.width; ++x) {
      const bool right = x + 1 < g.terminal.width, down = y + 1 < g.terminal.height;
      if (right) link(x, y, x + 1, y, g.right(x, y));
      if (down) link(x, y, x, y + 1, g.down(x, y));
      if (g.neighbours == Neighbours::four || !down) continue;
      if (right) link(x, y, x + 1, y + 1, g.down_right(x, y));
      if (x > 0) link(x, y, x - 1, y + 1, g.down_left(x, y));
    }
  }
}

struct Arc {
  size_t to, back;  // target node; index of the opposite arc in the target's list
  int64_t left;
};

}  // namespace

OracleCut oracle_cut(const GridGraph& g) {
  const size_t pixels = g.terminal.size().area(), source = pixels, sink = pixels + 1;
  std::vector<std::vector<Arc>> arcs(pixels + 2);
  const auto connect = [&](size_t a, size_t b, int64_t there, int64_t back) {
    arcs[a].push_back({b, arcs[b].size(), there});
    arcs[b].push_back({a, arcs[a].size() - 1, back});
  };
  const auto node = [&](int x, int y) {
    return static_cast<size_t>(y) * static_cast<size_t>(g.terminal.width) + static_cast<size_t>(x);
  };
  for (int y = 0; y < g.terminal.height; ++y) {
    for (int x = 0; x < g.terminal.width; ++x) {
      const int64_t t = g.terminal(x, y);
      if (t > 0) connect(source, node(x, y), t, 0);
      if (t < 0) connect(node(x, y), sink, -t, 0);
    }
  }
  each_link(g,
            [&](int x, int y, int u, int v, int64_t c) { connect(node(x, y), node(u, v), c, c); });

  OracleCut cut;
  for (;;) {
    std::vector<std::pair<size_t, size_t>> from(pixels + 2, {pixels + 2, 0});  // node, its arc
    std::queue<size_t> open({source});
    while (!open.empty() && from[sink].first > sink) {
      const size_t a = open.front();
      open.pop();
      for (size_t i = 0; i < arcs[a].size(); ++i) {
        const Arc& arc = arcs[a][i];
        if (arc.left == 0 || from[arc.to].first <= sink || arc.to == source) continue;
        from[arc.to] = {a, i};
        open.push(arc.to);
      }
    }
    if (from[sink].first > sink) break;
    int64_t most = std::numeric_limits<int64_t>::max();
    for (size_t b = sink; b != source; b = from[b].first) {
      most = std::min(most, arcs[from[b].first][from[b].second].left);
    }
    for (size_t b = sink; b != source; b = from[b].first) {
      Arc& arc = arcs[from[b].first][from[b].second];
      arc.left -= most;
      arcs[b][arc.back].left += most;
    }
    cut.flow += most;
  }

  cut.foreground.assign(pixels, GridCut::kForeground);
  std::queue<size_t> open({sink});
  while (!open.empty()) {
    const size_t b = open.front();
    open.pop();
    for (const Arc& arc : arcs[b]) {
      if (arc.to >= pixels || arcs[arc.to][arc.back].left == 0) continue;
      if (cut.foreground[arc.to] == GridCut::kBackground) continue;
      cut.foreground[arc.to] = GridCut::kBackground;
      open.push(arc.to);
    }
  }
  return cut;
}

int64_t cut_value(const GridGraph& g, Image<const uint8_t> foreground) {
  int64_t value = 0;
  for (int y = 0; y < g.terminal.height; ++y) {
    for (int x = 0; x < g.terminal.width; ++x) {
      const int64_t t = g.terminal(x, y);
      value += foreground(x, y) != 0 ? std::max<int64_t>(-t, 0) : std::max<int64_t>(t, 0);
    }
  }
  each_link(g, [&](int x, int y, int u, int v, int64_t c) {
    if ((foreground(x, y) != 0) != (foreground(u, v) != 0)) value += c;
  });
  return value;
}

}  // namespace regions
