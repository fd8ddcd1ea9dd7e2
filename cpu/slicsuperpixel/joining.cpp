// The rounds of joining walk along the contacts of pieces that choose.
#include "cpu/slicsuperpixel/joining.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace regions {
namespace {

constexpr size_t kMinContacts = 4096;  // fewer are not worth other threads

class Joining {
 public:
  // Every piece for itself.
  Joining(const PieceGraph& graph, std::span<const PieceStrip> strips, const SlicScale& scale,
          const Workers& workers)
      : graph_(graph), strips_(strips), scale_(scale), workers_(workers) {
    for_each_run(strips, [&](const Run& run) {
      // Labels appear in order, so a new one is always the next.
      if (run.label > pieces_) {
        graph.piece[++pieces_] = {};
        graph.first[pieces_] = {run.x, run.y};
      }
      Piece& piece = graph.piece[run.label];
      piece.area += run.length;
      for (int c = 0; c < 3; ++c) piece.color[c] += run.color[c];
    });
    for_each_label([&](uint32_t p) {
      graph.parent[p] = p;
      graph.choice[p] = 0;
      graph.color[p] = color_of(graph.piece[p]);
    });
  }

  // Pieces with fewer pixels join.
  void join_small(uint32_t least) {
    find_choosers(least);
    join_choosers(least);
  }
  // What does not stay joins what does.
  void join_others(const StayRule& rule) {
    find_choosers(rule.certain);
    choose();
    mark_staying(rule);
    if (follow_choices(Piece::kStays)) join_choosers(Piece::kStays);
  }
  // Numbers the pieces that are left; returns how many.
  uint32_t number() const {
    uint32_t left = 0;
    for_each_label([&](uint32_t p) {
      const uint32_t root = root_of(p);
      graph_.dense[p] = root == p ? ++left : graph_.dense[root];
    });
    return left;
  }

 private:
  template <class Visit>
  void for_each_label(Visit visit) const {
    for (uint32_t p = 1; p <= pieces_; ++p) visit(p);
  }
  uint32_t root_of(uint32_t label) const {
    uint32_t* const parent = graph_.parent;
    while (parent[label] != label) label = parent[label] = parent[parent[label]];
    return label;
  }
  bool is_root(uint32_t label) const { return graph_.parent[label] == label; }

  void add_chooser(uint32_t root) {
    graph_.chooser[choosers_++] = root;
    graph_.choice[root] = kNoChoice;
  }
  void find_choosers(uint32_t least) {
    choosers_ = 0;
    for_each_label([&](uint32_t p) {
      if (is_root(p) && graph_.piece[p].area < least) add_chooser(p);
    });
    for (size_t s = 0; s < strips_.size(); ++s) left_[s] = strips_[s].contacts;
  }
  // The rounds. All choices of a round are made by the means of before.
  void join_choosers(uint32_t least) {
    while (choosers_ > 0) {
      choose();
      if (!follow_choices(least)) return;
    }
  }

  void choose();
  template <bool kAlone>
  std::span<Contact> choose_along(std::span<Contact> contacts) const;
  void mark_staying(const StayRule& rule) const;
  bool follow_choices(uint32_t least);
  void unite(uint32_t a, uint32_t b) const;

  const PieceGraph& graph_;
  const std::span<const PieceStrip> strips_;
  const SlicScale& scale_;
  const Workers& workers_;
  uint32_t pieces_ = 0;
  uint32_t choosers_ = 0;
  std::span<Contact> left_[PieceStrip::kMax];  // contacts of those that choose, or did before
};

// Lets the choosers look at all that they touch.
void Joining::choose() {
  // A root comes before its pieces.
  for_each_label([&](uint32_t p) { graph_.parent[p] = graph_.parent[graph_.parent[p]]; });
  size_t all = 0;
  for (size_t s = 0; s < strips_.size(); ++s) all += left_[s].size();
  if (workers_.threads() == 1 || all < kMinContacts) {
    for (size_t s = 0; s < strips_.size(); ++s) left_[s] = choose_along<true>(left_[s]);
  } else {
    workers_.parallel_for(static_cast<int>(strips_.size()),
                          [&](int s) { left_[s] = choose_along<false>(left_[s]); });
  }
}

// Moves the contacts of pieces that choose to the front, which it returns. kAlone: no other thread
// does the same.
template <bool kAlone>
std::span<Contact> Joining::choose_along(std::span<Contact> contacts) const {
  const PieceGraph graph = graph_;
  const SlicScale scale = scale_;
  const auto choice_at = [&](uint32_t piece) {
    return std::atomic_ref(graph.choice[piece]).load(std::memory_order_relaxed);
  };
  size_t count = 0;
  for (Contact& contact : contacts) {  // without a branch, as none could be foretold
    const Contact now = {graph.parent[contact.a], graph.parent[contact.b]};
    contact = contacts[count];
    contacts[count] = now;
    count += static_cast<size_t>((now.a != now.b) & ((choice_at(now.a) | choice_at(now.b)) != 0));
  }
  const auto lower = [&](uint32_t piece, uint64_t choice) {
    uint64_t before = choice_at(piece);  // zero of one that does not choose
    const std::atomic_ref to(graph.choice[piece]);
    if constexpr (kAlone) {
      to.store(std::min(before, choice), std::memory_order_relaxed);
    } else {
      while (choice < before &&
             !to.compare_exchange_weak(before, choice, std::memory_order_relaxed)) {
      }
    }
  };
  for (const auto [a, b] : contacts.first(count)) {
    const uint32_t distance = piece_distance(graph.color[a], graph.color[b], scale);
    lower(a, choice_of(distance, b));
    lower(b, choice_of(distance, a));
  }
  return contacts.first(count);
}

// Marks the pieces that stay by a rule with a wanted number, and forgets their choices. Parents are
// flat.
void Joining::mark_staying(const StayRule& rule) const {
  const auto for_each_piece = [&](auto visit) {
    for_each_label([&](uint32_t p) {
      if (!is_root(p)) return;
      const uint64_t choice = graph_.choice[p] != 0 ? graph_.choice[p] : kNoChoice;
      const PieceGraph::Pixel& first = graph_.first[p];
      visit(p, rule.rank_of(graph_.piece[p].area, choice, first.x, first.y));
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
    graph_.piece[piece].area |= Piece::kStays;
    if (graph_.choice[piece] != 0) graph_.choice[piece] = kNoChoice;
  });
}

// Joins what has chosen; what is still small chooses next. False if nothing has joined.
bool Joining::follow_choices(uint32_t least) {
  bool changes = false;
  const std::span chosen(graph_.chooser, std::exchange(choosers_, 0));
  for (const uint32_t piece : chosen) {
    const uint64_t choice = std::exchange(graph_.choice[piece], 0);
    if (choice == kNoChoice) continue;  // it stays, or fills the picture
    unite(piece, static_cast<uint32_t>(choice));
    changes = true;
  }
  for (const uint32_t piece : chosen) {
    const uint32_t root = root_of(piece);
    if (graph_.piece[root].area < least && graph_.choice[root] == 0) add_chooser(root);
  }
  return changes;
}

void Joining::unite(uint32_t a, uint32_t b) const {
  a = root_of(a);
  b = root_of(b);
  if (a == b) return;
  const uint32_t root = std::min(a, b), lost = std::max(a, b);
  graph_.parent[lost] = root;
  Piece& piece = graph_.piece[root];
  piece.area += graph_.piece[lost].area;
  for (int c = 0; c < 3; ++c) piece.color[c] += graph_.piece[lost].color[c];
  graph_.color[root] = color_of(piece);
}

}  // namespace

uint32_t join_pieces(const PieceGraph& graph, std::span<const PieceStrip> strips,
                     const StayRule& rule, const SlicScale& scale, const Workers& workers) {
  Joining joining(graph, strips, scale, workers);
  joining.join_small(rule.least);
  if (rule.wanted > 0) joining.join_others(rule);
  return joining.number();
}

}  // namespace regions
