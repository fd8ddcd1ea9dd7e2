// Runs are found by comparing labels; the rounds of joining walk along the runs of small pieces.
#include "cpu/slicsuperpixel/runs.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace regions {
namespace {

constexpr size_t kLeastRuns = 1024;  // fewer are not worth a thread
constexpr size_t kShares = 32;

uint32_t root_of(uint32_t* parent, uint32_t label) {
  while (parent[label] != label) label = parent[label] = parent[parent[label]];
  return label;
}

// Makes each piece's parent its root; a root comes before its pieces.
void flatten(const PieceGraph& graph, uint32_t pieces) {
  for (uint32_t p = 1; p <= pieces; ++p) graph.parent[p] = graph.parent[graph.parent[p]];
}

// Looks at all neighbours of a small piece's run; parents are flat.
void choose(const PieceGraph& graph, const Run& run, const SlicScale& scale) {
  const ConstLabelMap& labels = graph.labels;
  const uint32_t self = graph.parent[run.label];
  const PieceColor color = graph.color[self];
  uint64_t best = kNoChoice;
  uint32_t last = run.label;
  const auto look = [&](uint32_t label) {
    if (label == last) return;  // neighbours mostly repeat
    last = label;
    const uint32_t other = graph.parent[label];
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
  // Runs of a piece may be in several threads' hands; the least is the least in any order.
  const std::atomic_ref<uint64_t> choice(graph.choice[self]);
  uint64_t before = choice.load(std::memory_order_relaxed);
  while (best < before && !choice.compare_exchange_weak(before, best, std::memory_order_relaxed)) {
  }
}

// The same of small runs begin..end-1. The labels round them are in no cache.
void choose(const PieceGraph& graph, size_t begin, size_t end, const SlicScale& scale) {
  constexpr size_t kAhead = 8;
  for (size_t i = begin; i < end; ++i) {
    if (i + 2 * kAhead < end) __builtin_prefetch(graph.small[i + 2 * kAhead]);
    if (i + kAhead < end) {
      const Run& run = *graph.small[i + kAhead];
      for (const int y : {run.y - 1, static_cast<int>(run.y), run.y + 1}) {
        __builtin_prefetch(graph.labels.row(std::clamp(y, 0, graph.labels.height - 1)) + run.x);
      }
    }
    choose(graph, *graph.small[i], scale);
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

// Runs of pieces before joining, in raster order: counts[strip] of them at runs[strip].
struct RunLists {
  const Run* const* runs;
  const size_t* counts;
  int strips;
};

template <std::invocable<const Run&> Visit>
void for_each_run(const RunLists& lists, Visit visit) {
  for (int s = 0; s < lists.strips; ++s) {
    for (const Run& run : std::span(lists.runs[s], lists.counts[s])) visit(run);
  }
}

// Lists the runs of pieces with fewer pixels. Returns how many.
size_t list_small(const PieceGraph& graph, const RunLists& lists, uint32_t least) {
  size_t small = 0;
  for_each_run(lists, [&](const Run& run) {
    if (graph.piece[graph.parent[run.label]].area < least) graph.small[small++] = &run;
  });
  return small;
}

// Lets pieces choose whose runs are the `small` listed ones. Returns how many there are.
uint32_t make_choices(const PieceGraph& graph, uint32_t pieces, size_t small,
                      const SlicScale& scale, const Workers& workers) {
  uint32_t choosers = 0;
  flatten(graph, pieces);
  for (size_t i = 0; i < small; ++i) {
    const uint32_t root = graph.parent[graph.small[i]->label];
    if (graph.choice[root] == 0) graph.chooser[choosers++] = root;
    graph.choice[root] = kNoChoice;
  }
  const size_t shares = std::clamp<size_t>(small / kLeastRuns, 1, kShares);
  workers.parallel_for(static_cast<int>(shares), [&](int s) {
    const auto share = static_cast<size_t>(s);
    choose(graph, small * share / shares, small * (share + 1) / shares, scale);
  });
  return choosers;
}

// Marks the pieces that stay by a rule with a wanted number, and forgets their choices. Parents are
// flat.
void mark_staying(const PieceGraph& graph, const RunLists& lists, const StayRule& rule) {
  // Labels appear in order, and the first pixel of a piece is that of its root.
  const auto for_each_piece = [&](auto visit) {
    uint32_t seen = 0;
    for_each_run(lists, [&](const Run& run) {
      if (run.label <= seen) return;
      seen = run.label;
      if (graph.parent[seen] != seen) return;
      const uint64_t choice = graph.choice[seen] != 0 ? graph.choice[seen] : kNoChoice;
      visit(seen, rule.rank_of(graph.piece[seen].area, choice, run.x, run.y));
    });
  };
  uint32_t of_rank[StayRule::kRanks] = {};
  for_each_piece([&](uint32_t, uint32_t rank) { ++of_rank[rank]; });
  uint32_t rank = StayRule::kRanks, count = 0;
  while (rank > 0 && count < rule.wanted) count += of_rank[--rank];
  for (uint32_t r = StayRule::first_of_step(rank); r < rank; ++r) count += of_rank[r];
  const uint32_t bound = rule.bound(rank, count);
  for_each_piece([&](uint32_t piece, uint32_t of) {
    if (of < bound) return;
    graph.piece[piece].area |= Piece::kStays;
    if (graph.choice[piece] != 0) graph.choice[piece] = kNoChoice;
  });
}

// Joins what has chosen; takes the runs of pieces from the list that are small no more. Returns how
// many are left, none if nothing has joined.
size_t follow_choices(const PieceGraph& graph, uint32_t choosers, size_t small, uint32_t least) {
  bool changes = false;
  for (uint32_t i = 0; i < choosers; ++i) {
    const uint64_t choice = std::exchange(graph.choice[graph.chooser[i]], 0);
    if (choice == kNoChoice) continue;  // it stays, or fills the picture
    unite(graph, graph.chooser[i], static_cast<uint32_t>(choice));
    changes = true;
  }
  if (!changes) return 0;
  const auto is_large = [&](const Run* run) {
    return graph.piece[root_of(graph.parent, run->label)].area >= least;
  };
  return static_cast<size_t>(std::remove_if(graph.small, graph.small + small, is_large) -
                             graph.small);
}

// The rounds in which pieces with fewer pixels join; `small` runs of them are listed. All choices
// of a round are made by the means of before.
void join_small(const PieceGraph& graph, uint32_t pieces, size_t small, uint32_t least,
                const SlicScale& scale, const Workers& workers) {
  while (small > 0) {
    const uint32_t choosers = make_choices(graph, pieces, small, scale, workers);
    small = follow_choices(graph, choosers, small, least);
  }
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
                     int strips, const StayRule& rule, const SlicScale& scale,
                     const Workers& workers) {
  const RunLists lists = {runs, counts, strips};
  // Labels appear in order, so a new one is always the next.
  uint32_t pieces = 0;
  for_each_run(lists, [&](const Run& run) {
    if (run.label > pieces) graph.piece[++pieces] = {};
    Piece& piece = graph.piece[run.label];
    piece.area += run.length;
    for (int c = 0; c < 3; ++c) piece.color[c] += run.color[c];
  });
  for (uint32_t p = 1; p <= pieces; ++p) {
    graph.parent[p] = p;
    graph.choice[p] = 0;
    graph.color[p] = color_of(graph.piece[p]);
  }
  join_small(graph, pieces, list_small(graph, lists, rule.least), rule.least, scale, workers);
  if (rule.wanted > 0) {
    flatten(graph, pieces);
    size_t small = list_small(graph, lists, rule.certain);
    const uint32_t choosers = make_choices(graph, pieces, small, scale, workers);
    mark_staying(graph, lists, rule);
    small = follow_choices(graph, choosers, small, Piece::kStays);
    join_small(graph, pieces, small, Piece::kStays, scale, workers);
  }

  uint32_t left = 0;
  for (uint32_t p = 1; p <= pieces; ++p) {
    const uint32_t root = root_of(graph.parent, p);
    graph.dense[p] = root == p ? ++left : graph.dense[root];
  }
  return left;
}

}  // namespace regions
