// Enforces the connectivity of superpixels on the CPU. Finds the runs of fragments and their
// contacts (pairs of touching fragments), then merges small fragments into neighbours in several
// rounds. A fragment that chooses a neighbour in a round is a "chooser".
//
// Labels are compared one image row at a time, and only pixels whose label differs from a
// neighbour's label are visited. A round visits only the contacts of fragments that still choose a
// neighbour.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "cpu/pixel_rows.hpp"
#include "cpu/simd.hpp"
#include "cpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {
namespace {

// Sets flags[x] to 1 if a[x] and b[x] differ, else to 0.
REGIONS_CLONES void flag_differences(const uint32_t* a, const uint32_t* b, int count,
                                     uint8_t* flags) {
  for (int x = 0; x < count; ++x) flags[x] = a[x] != b[x];
}

// Bits for the pixels of an image row: whether a pixel's label differs from the label of its left
// neighbour, and whether it differs from the label of its upper neighbour.
class RowEdges {
 public:
  RowEdges(int width, std::byte* scratch)
      : width_(width),
        words_(words_for(width)),
        differs_from_left_(reinterpret_cast<Word*>(scratch)),
        above_differs_from_left_(differs_from_left_ + words_),
        differs_from_above_(above_differs_from_left_ + words_),
        flags_(reinterpret_cast<uint8_t*>(differs_from_above_ + words_)) {}
  static size_t bytes(int width) {
    return 3 * sizeof(Word) * static_cast<size_t>(words_for(width)) + static_cast<size_t>(width);
  }

  // Compares each pixel of the next row with its left neighbour. The first pixel of the row has no
  // left neighbour and counts as different.
  void compare_with_left(const uint32_t* row) {
    std::swap(differs_from_left_, above_differs_from_left_);
    flags_[0] = 1;
    flag_differences(row + 1, row, width_ - 1, flags_ + 1);
    pack(differs_from_left_);
  }
  void compare_with_above(const uint32_t* row, const uint32_t* above) {
    flag_differences(row, above, width_, flags_);
    pack(differs_from_above_);
  }

  // Calls visit(x) for the first pixel of each run of the row.
  template <class Visit>
  void for_each_start(Visit visit) const {
    for (int w = 0; w < words_; ++w) for_each_bit(w, differs_from_left_[w], visit);
  }
  // Calls visit_left(x) for pixels whose left neighbour has another label, and visit_above(x) for
  // pixels whose upper neighbour has another label. Skips a pixel and its left neighbour if the two
  // pixels above them have the same labels, and a pixel and its upper neighbour if the two pixels
  // to the left of them have the same labels.
  template <class VisitLeft, class VisitAbove>
  void for_each_contact(VisitLeft visit_left, VisitAbove visit_above) const {
    for (int w = 0; w < words_; ++w) {
      for_each_bit(w,
                   differs_from_left_[w] &
                       (differs_from_above_[w] | left_neighbour_bits(differs_from_above_, w)) &
                       ~Word{w == 0},
                   visit_left);
      for_each_bit(w,
                   differs_from_above_[w] & (differs_from_left_[w] | above_differs_from_left_[w]),
                   visit_above);
    }
  }

 private:
  void pack(Word* bits) const {
    pack_at_least(reinterpret_cast<const std::byte*>(flags_), 1, width_, 1, bits);
  }
  template <class Visit>
  static void for_each_bit(int w, Word bits, Visit visit) {
    for (; bits; bits &= bits - 1) visit(w * kWordBits + lowest_bit(bits));
  }

  int width_, words_;
  Word* differs_from_left_;
  Word* above_differs_from_left_;
  Word* differs_from_above_;
  uint8_t* flags_;
};

// Returns the sum of (component + 128) over `count` pixels. May read up to 15 bytes after the last
// pixel.
#ifdef __SSE2__
uint32_t sum_of(const int8_t* color, uint32_t count) {
  // The 16 bytes that start at entry 16 - n are a mask for the first n pixels.
  alignas(16) static constexpr uint8_t kMask[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                    255, 255, 255, 255, 255, 255, 255, 255};
  const auto load = [](const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  __m128i sums = _mm_setzero_si128();
  for (uint32_t i = 0; i < count; i += 16) {
    const __m128i mask = load(kMask + 16 - std::min(16u, count - i));
    const __m128i bytes =
        _mm_xor_si128(load(color + i), _mm_set1_epi8(static_cast<char>(kColorBias)));
    sums = _mm_add_epi32(sums, _mm_sad_epu8(_mm_and_si128(bytes, mask), _mm_setzero_si128()));
  }
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_add_epi32(sums, _mm_srli_si128(sums, 8))));
}
#else
uint32_t sum_of(const int8_t* color, uint32_t count) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum += static_cast<uint32_t>(color[i] + kColorBias);
  return sum;
}
#endif

constexpr size_t kMinContacts = 4096;  // with fewer contacts, one thread is faster than several

// Merges fragments in rounds by the rules of core/slicsuperpixel/fragments.hpp.
class FragmentMerger {
 public:
  // Sums the areas and colours of the fragments. At first each fragment is a root.
  FragmentMerger(const FragmentGraph& graph, std::span<const FragmentBand> bands,
                 const SlicScale& scale, const Workers& workers)
      : graph_(graph), bands_(bands), scale_(scale), workers_(workers) {
    for_each_run(bands, [&](const FragmentRun& run) {
      // Labels first occur in ascending order: a new label is the previous new label plus 1.
      if (run.label > fragment_count_) {
        graph.fragment[++fragment_count_] = {};
        graph.first_pixel[fragment_count_] = {run.x, run.y};
      }
      Fragment& fragment = graph.fragment[run.label];
      fragment.area += run.length;
      for (int c = 0; c < 3; ++c) fragment.color[c] += run.color[c];
    });
    for_each_label([&](uint32_t label) {
      graph.parent[label] = label;
      graph.choice[label] = 0;
      graph.color[label] = color_of(graph.fragment[label]);
    });
  }

  // Merges all fragments of fewer than `min_size` pixels into neighbours.
  void merge_small(uint32_t min_size) {
    find_choosers(min_size);
    merge_choosers(min_size);
  }
  // Retains the requested number of fragments and merges all other fragments into them.
  void merge_unretained(const RetentionRule& rule) {
    find_choosers(rule.certain);
    choose();
    mark_retained(rule);
    if (follow_choices(Fragment::kRetained)) merge_choosers(Fragment::kRetained);
  }
  // Numbers the remaining fragments and returns their number.
  uint32_t number_superpixels() const {
    uint32_t count = 0;
    for_each_label([&](uint32_t label) {
      const uint32_t root = root_of(label);
      graph_.superpixel_of[label] = root == label ? ++count : graph_.superpixel_of[root];
    });
    return count;
  }

 private:
  template <class Visit>
  void for_each_label(Visit visit) const {
    for (uint32_t label = 1; label <= fragment_count_; ++label) visit(label);
  }
  uint32_t root_of(uint32_t label) const {
    uint32_t* const parent = graph_.parent;
    while (parent[label] != label) label = parent[label] = parent[parent[label]];
    return label;
  }
  bool is_root(uint32_t label) const { return graph_.parent[label] == label; }

  void add_chooser(uint32_t root) {
    graph_.chooser[chooser_count_++] = root;
    graph_.choice[root] = kNoChoice;
  }
  void find_choosers(uint32_t min_size) {
    chooser_count_ = 0;
    for_each_label([&](uint32_t label) {
      if (is_root(label) && graph_.fragment[label].area < min_size) add_chooser(label);
    });
    for (size_t band = 0; band < bands_.size(); ++band)
      active_contacts_[band] = bands_[band].contacts;
  }
  // Runs rounds until no fragment chooses a neighbour. All choices of a round use the mean colours
  // that the fragments had before the round.
  void merge_choosers(uint32_t min_size) {
    while (chooser_count_ > 0) {
      choose();
      if (!follow_choices(min_size)) return;
    }
  }

  void choose();
  template <bool kSingleThread>
  std::span<FragmentContact> choose_among(std::span<FragmentContact> contacts) const;
  void mark_retained(const RetentionRule& rule) const;
  bool follow_choices(uint32_t min_size);
  void unite(uint32_t a, uint32_t b) const;

  const FragmentGraph& graph_;
  const std::span<const FragmentBand> bands_;
  const SlicScale& scale_;
  const Workers& workers_;
  uint32_t fragment_count_ = 0;
  uint32_t chooser_count_ = 0;
  // For each band, the contacts that the next round must visit.
  std::span<FragmentContact> active_contacts_[FragmentBand::kMaxBands];
};

// Finds the best neighbour of each fragment that chooses a neighbour in this round.
void FragmentMerger::choose() {
  // Visiting labels in ascending order links each fragment directly to its root, because a parent
  // has a smaller label than its children.
  for_each_label(
      [&](uint32_t label) { graph_.parent[label] = graph_.parent[graph_.parent[label]]; });
  size_t all = 0;
  for (size_t band = 0; band < bands_.size(); ++band) all += active_contacts_[band].size();
  if (workers_.threads() == 1 || all < kMinContacts) {
    for (size_t band = 0; band < bands_.size(); ++band) {
      active_contacts_[band] = choose_among<true>(active_contacts_[band]);
    }
  } else {
    workers_.parallel_for(static_cast<int>(bands_.size()), [&](int band) {
      active_contacts_[band] = choose_among<false>(active_contacts_[band]);
    });
  }
}

// For each contact, updates the choices of its two fragments: each is a possible choice of the
// other. Moves the contacts of choosers to the front of the list and returns these contacts.
// kSingleThread is true if no other thread changes choices at the same time.
template <bool kSingleThread>
std::span<FragmentContact> FragmentMerger::choose_among(std::span<FragmentContact> contacts) const {
  const FragmentGraph graph = graph_;
  const SlicScale scale = scale_;
  const auto choice_at = [&](uint32_t fragment) {
    return std::atomic_ref(graph.choice[fragment]).load(std::memory_order_relaxed);
  };
  size_t count = 0;
  // Compacts the list without a branch, because the CPU could not predict the branch.
  for (FragmentContact& contact : contacts) {
    const FragmentContact roots = {graph.parent[contact.a], graph.parent[contact.b]};
    contact = contacts[count];
    contacts[count] = roots;
    count += static_cast<size_t>((roots.a != roots.b) &
                                 ((choice_at(roots.a) | choice_at(roots.b)) != 0));
  }
  const auto lower_choice = [&](uint32_t fragment, uint64_t choice) {
    uint64_t before = choice_at(fragment);  // 0 if the fragment does not choose a neighbour
    const std::atomic_ref to(graph.choice[fragment]);
    if constexpr (kSingleThread) {
      to.store(std::min(before, choice), std::memory_order_relaxed);
    } else {
      while (choice < before &&
             !to.compare_exchange_weak(before, choice, std::memory_order_relaxed)) {
      }
    }
  };
  for (const auto [a, b] : contacts.first(count)) {
    const uint32_t distance = fragment_distance(graph.color[a], graph.color[b], scale);
    lower_choice(a, choice_of(distance, b));
    lower_choice(b, choice_of(distance, a));
  }
  return contacts.first(count);
}

// Marks the fragments that are retained and deletes their choices. Each parent must be a root.
void FragmentMerger::mark_retained(const RetentionRule& rule) const {
  const auto for_each_root = [&](auto visit) {
    for_each_label([&](uint32_t label) {
      if (!is_root(label)) return;
      const uint64_t choice = graph_.choice[label] != 0 ? graph_.choice[label] : kNoChoice;
      const FragmentGraph::Pixel& first = graph_.first_pixel[label];
      visit(label, rule.rank_of(graph_.fragment[label].area, choice, first.x, first.y));
    });
  };
  uint32_t rank_histogram[RetentionRule::kRanks] = {};
  for_each_root([&](uint32_t, uint32_t rank) { ++rank_histogram[rank]; });
  uint32_t rank = RetentionRule::kRanks, count = 0;
  while (rank > 0 && count < rule.superpixels) count += rank_histogram[--rank];
  for (uint32_t r = RetentionRule::first_of_step(rank); r < rank; ++r) count += rank_histogram[r];
  const uint32_t bound = rule.bound(rank, count);
  for_each_root([&](uint32_t fragment, uint32_t fragment_rank) {
    if (fragment_rank < bound) return;
    graph_.fragment[fragment].area |= Fragment::kRetained;
    if (graph_.choice[fragment] != 0) graph_.choice[fragment] = kNoChoice;
  });
}

// Merges each fragment with the neighbour that it chose. Merged fragments that are still small
// choose again in the next round. Returns false if no fragment was merged.
bool FragmentMerger::follow_choices(uint32_t min_size) {
  bool changes = false;
  const std::span chosen(graph_.chooser, std::exchange(chooser_count_, 0));
  for (const uint32_t fragment : chosen) {
    const uint64_t choice = std::exchange(graph_.choice[fragment], 0);
    if (choice == kNoChoice) continue;  // the fragment is retained or has no neighbours
    unite(fragment, static_cast<uint32_t>(choice));
    changes = true;
  }
  for (const uint32_t fragment : chosen) {
    const uint32_t root = root_of(fragment);
    if (graph_.fragment[root].area < min_size && graph_.choice[root] == 0) add_chooser(root);
  }
  return changes;
}

// Merges the fragments of labels a and b. The smaller root becomes the root of both.
void FragmentMerger::unite(uint32_t a, uint32_t b) const {
  a = root_of(a);
  b = root_of(b);
  if (a == b) return;
  const uint32_t root = std::min(a, b), child = std::max(a, b);
  graph_.parent[child] = root;
  Fragment& fragment = graph_.fragment[root];
  fragment.area += graph_.fragment[child].area;
  for (int c = 0; c < 3; ++c) fragment.color[c] += graph_.fragment[child].color[c];
  graph_.color[root] = color_of(fragment);
}

}  // namespace

size_t run_scratch_bytes(int width) { return RowEdges::bytes(width); }

FragmentBand find_runs(ConstLabelMap labels, const ColorPlanes& colors, int begin, int end,
                       FragmentRun* runs, FragmentContact* contacts, std::byte* scratch) {
  RowEdges edges(labels.width, scratch);
  if (begin > 0) edges.compare_with_left(labels.row(begin - 1));
  FragmentRun* run = runs;
  FragmentContact* contact = contacts;
  for (int y = begin; y < end; ++y) {
    const uint32_t* const row = labels.row(y);
    edges.compare_with_left(row);
    FragmentRun* const first = run;
    edges.for_each_start([&](int x) {
      if (run != first) run[-1].length = static_cast<uint32_t>(x - run[-1].x);
      *run++ = {.label = row[x], .x = static_cast<uint16_t>(x), .y = static_cast<uint16_t>(y)};
    });
    run[-1].length = static_cast<uint32_t>(labels.width - run[-1].x);
    sum_colors(colors, {first, run});
    if (y == 0) {
      for (const FragmentRun* after = first + 1; after < run; ++after) {
        *contact++ = {after[-1].label, after->label};
      }
      continue;
    }
    const uint32_t* const above = labels.row(y - 1);
    edges.compare_with_above(row, above);
    edges.for_each_contact(
        [&](int x) {
          *contact++ = {row[x - 1], row[x]};
        },
        [&](int x) {
          *contact++ = {above[x], row[x]};
        });
  }
  return {{runs, run}, {contacts, contact}};
}

void sum_colors(const ColorPlanes& colors, std::span<FragmentRun> runs) {
  for (FragmentRun& run : runs) {
    for (int c = 0; c < 3; ++c) {
      run.color[c] = sum_of(colors.plane[c].row(run.y) + run.x, run.length);
    }
  }
}

uint32_t enforce_connectivity(const FragmentGraph& graph, std::span<const FragmentBand> bands,
                              const RetentionRule& rule, const SlicScale& scale,
                              const Workers& workers) {
  FragmentMerger merger(graph, bands, scale, workers);
  merger.merge_small(rule.min_size);
  if (rule.superpixels > 0) merger.merge_unretained(rule);
  return merger.number_superpixels();
}

}  // namespace regions
