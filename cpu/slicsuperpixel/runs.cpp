// Runs are found by comparing labels; the rounds of joining walk along the runs of small pieces.
#include "cpu/slicsuperpixel/runs.hpp"

#include <algorithm>
#include <utility>

namespace regions {
namespace {

uint32_t root_of(uint32_t* parent, uint32_t label) {
  while (parent[label] != label) label = parent[label] = parent[parent[label]];
  return label;
}

// Looks at all neighbours of a small piece's run.
void choose(const PieceGraph& graph, const Run& run, const SlicScale& scale) {
  const ConstLabelMap& labels = graph.labels;
  const uint32_t self = root_of(graph.parent, run.label);
  const PieceColor color = graph.color[self];
  uint64_t& best = graph.choice[self];
  uint32_t last = run.label;
  const auto look = [&](uint32_t label) {
    if (label == last) return;  // neighbours mostly repeat
    last = label;
    const uint32_t other = root_of(graph.parent, label);
    if (other == self) return;
    best = std::min(best, choice_of(piece_distance(color, graph.color[other], scale), other));
  };
  const int end = run.x + static_cast<int>(run.length);
  if (run.x > 0) look(labels(run.x - 1, run.y));
  if (end < labels.width) look(labels(end, run.y));
  for (const int y : {run.y - 1, run.y + 1}) {
    if (y < 0 || y >= labels.height) continue;
    const uint32_t* row = labels.row(y);
    for (int x = run.x; x < end; ++x) look(row[x]);
  }
}

void unite(const PieceGraph& graph, uint32_t a, uint32_t b) {
  a = root_of(graph.parent, a);
  b = root_of(graph.parent, b);
  if (a == b) return;
  const uint32_t root = std::min(a, b), lost = std::max(a, b);
  graph.parent[lost] = root;
  Piece& piece = graph.piece[root];
  piece.area += graph.piece[lost].area;
  for (int c = 0; c < 3; ++c) piece.color[c] += graph.piece[lost].color[c];
  graph.color[root] = color_of(piece);
}

}  // namespace

size_t find_runs(ConstLabelMap labels, const ColorPlanes& colors, int y, Run* runs) {
  const uint32_t* row = labels.row(y);
  const int8_t* color[3];
  for (int c = 0; c < 3; ++c) color[c] = colors.plane[c].row(y);
  size_t count = 0;
  for (int begin = 0; begin < labels.width;) {
    const uint32_t label = row[begin];
    int x = begin;
    int sum[3] = {};
    do {
      for (int c = 0; c < 3; ++c) sum[c] += color[c][x];
      ++x;
    } while (x < labels.width && row[x] == label);
    Run& run = runs[count++];
    run.label = label;
    run.x = static_cast<uint16_t>(begin);
    run.y = static_cast<uint16_t>(y);
    run.length = static_cast<uint32_t>(x - begin);
    for (int c = 0; c < 3; ++c) {
      run.color[c] = static_cast<uint32_t>(sum[c]) + run.length * static_cast<uint32_t>(kColorBias);
    }
    begin = x;
  }
  return count;
}

void sum_colors(const ColorPlanes& colors, std::span<Run> runs) {
  for (Run& run : runs) {
    for (int c = 0; c < 3; ++c) {
      const int8_t* const from = colors.plane[c].row(run.y) + run.x;
      int sum = 0;
      for (uint32_t i = 0; i < run.length; ++i) sum += from[i];
      run.color[c] = static_cast<uint32_t>(sum) + run.length * static_cast<uint32_t>(kColorBias);
    }
  }
}

uint32_t join_pieces(const PieceGraph& graph, const Run* const* runs, const size_t* counts,
                     int strips, uint32_t least, const SlicScale& scale) {
  // Labels appear in order, so a new one is always the next.
  uint32_t pieces = 0;
  for (int s = 0; s < strips; ++s) {
    for (const Run *run = runs[s], *end = run + counts[s]; run != end; ++run) {
      if (run->label > pieces) graph.piece[++pieces] = {};
      Piece& piece = graph.piece[run->label];
      piece.area += run->length;
      for (int c = 0; c < 3; ++c) piece.color[c] += run->color[c];
    }
  }
  for (uint32_t p = 1; p <= pieces; ++p) {
    graph.parent[p] = p;
    graph.choice[p] = 0;
    graph.color[p] = color_of(graph.piece[p]);
  }

  size_t small = 0;
  for (int s = 0; s < strips; ++s) {
    for (const Run *run = runs[s], *end = run + counts[s]; run != end; ++run) {
      if (graph.piece[run->label].area < least) graph.small[small++] = run;
    }
  }
  while (small > 0) {
    uint32_t choosers = 0;
    for (size_t i = 0; i < small; ++i) {
      const uint32_t root = root_of(graph.parent, graph.small[i]->label);
      if (graph.choice[root] == 0) graph.chooser[choosers++] = root;
      graph.choice[root] = kNoChoice;
    }
    for (size_t i = 0; i < small; ++i) choose(graph, *graph.small[i], scale);
    // All choices were made by the means of before.
    bool changes = false;
    for (uint32_t i = 0; i < choosers; ++i) {
      const uint64_t choice = std::exchange(graph.choice[graph.chooser[i]], 0);
      if (choice == kNoChoice) continue;  // it fills the picture
      unite(graph, graph.chooser[i], static_cast<uint32_t>(choice));
      changes = true;
    }
    if (!changes) break;
    const auto is_large = [&](const Run* run) {
      return graph.piece[root_of(graph.parent, run->label)].area >= least;
    };
    small = static_cast<size_t>(std::remove_if(graph.small, graph.small + small, is_large) -
                                graph.small);
  }

  uint32_t left = 0;
  for (uint32_t p = 1; p <= pieces; ++p) {
    const uint32_t root = root_of(graph.parent, p);
    graph.dense[p] = root == p ? ++left : graph.dense[root];
  }
  return left;
}

}  // namespace regions
