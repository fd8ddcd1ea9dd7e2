// Tracking on the CPU: runs the steps of core/tracking in one thread.
#include "cpu/cclabel/region_tracker.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

#include "core/tracking/tracking_step.hpp"

namespace regions {
namespace {

// The parallel primitives that TrackStep uses, executed by one thread. One thread suffices, because
// a tracking step takes much less time than the labelling of the frame.
struct SingleThread {
  template <class F>
  void for_each(uint32_t count, F f) const {
    for (uint32_t i = 0; i < count; ++i) f(i);
  }
  template <class IsActive, class F>
  void for_each_pair(uint32_t rows, uint32_t columns, IsActive is_active, F f) const {
    for (uint32_t row = 0; row < rows; ++row) {
      if (!is_active(row)) continue;
      for (uint32_t column = 0; column < columns; ++column) f(row, column);
    }
  }
  template <class F>
  void once(F f) const {
    f();
  }
  template <class F>
  uint32_t count(uint32_t count, F f) const {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += f(i);
    return sum;
  }
  // Calls store(i, rank) for each i with is_selected(i). `rank` is the number of smaller selected
  // i. Returns the number of selected i.
  template <class IsSelected, class Store>
  uint32_t compact(uint32_t count, IsSelected is_selected, Store store) const {
    uint32_t rank = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (is_selected(i)) store(i, rank++);
    }
    return rank;
  }
  // Like compact(), for two selections at once. Returns the number of selected i of each selection.
  template <class IsFirst, class StoreFirst, class IsSecond, class StoreSecond>
  TwoCounts compact_two(uint32_t count, IsFirst is_first, StoreFirst store_first,
                        IsSecond is_second, StoreSecond store_second) const {
    TwoCounts rank;
    for (uint32_t i = 0; i < count; ++i) {
      if (is_first(i)) store_first(i, rank.first++);
      if (is_second(i)) store_second(i, rank.second++);
    }
    return rank;
  }
  static void raise(uint64_t* maximum, uint64_t value) { *maximum = std::max(*maximum, value); }
  static void lower(uint64_t* minimum, uint64_t value) { *minimum = std::min(*minimum, value); }
  static void add(uint32_t* sum, uint32_t amount) { *sum += amount; }
};

// Header of stored tracks. After it follow the visible tracks, the lost tracks, and the labels of
// the last frame row by row.
struct StoredTracks {
  static constexpr uint32_t kMagic = 0x4B525447;  // "GTRK"
  static constexpr uint32_t kVersion = 1;
  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  int32_t width = 0, height = 0;
  uint32_t track_bytes = sizeof(Track);
  uint32_t visible = 0, lost = 0;  // number of tracks
  uint32_t last_id = 0;

  size_t bytes() const {
    return sizeof *this + (size_t{visible} + lost) * sizeof(Track) +
           Size{width, height}.area() * sizeof(uint16_t);
  }
};
static_assert(std::has_unique_object_representations_v<Track>,
              "Track must have no padding, because it is stored as bytes");

// Returns the header and checks it. `memory` is the memory into which the tracks will be restored.
StoredTracks checked_header(std::span<const std::byte> state, const TrackMemory& memory) {
  StoredTracks header;
  expects(state.size() >= sizeof header, "the stored tracks are truncated");
  std::memcpy(&header, state.data(), sizeof header);
  expects(header.magic == StoredTracks::kMagic, "these are not stored tracks");
  expects(header.version == StoredTracks::kVersion && header.track_bytes == sizeof(Track),
          "the stored tracks have version " + std::to_string(header.version) + " with " +
              std::to_string(header.track_bytes) + " bytes per track; expected version " +
              std::to_string(StoredTracks::kVersion) + " with " + std::to_string(sizeof(Track)));
  const Size size = memory.labels.size();
  expects(header.width == size.width && header.height == size.height,
          "the stored tracks are for " + std::to_string(header.width) + "x" +
              std::to_string(header.height) + " pixels; the frames have " +
              std::to_string(size.width) + "x" + std::to_string(size.height));
  const uint32_t most = std::max(header.visible, header.lost);
  expects(most <= memory.capacity, std::to_string(most) +
                                       " stored tracks exceed the maximum number of regions, " +
                                       std::to_string(memory.capacity));
  expects(state.size() == header.bytes(), state.size() < header.bytes()
                                              ? "the stored tracks are truncated"
                                              : "the stored tracks have extra bytes at their end");
  return header;
}

// Returns the ids of tracks in increasing order, without tracks that have no id.
std::vector<uint32_t> ids_of(std::span<const Track> tracks) {
  std::vector<uint32_t> ids;
  for (const Track& track : tracks) {
    if (track.id != 0) ids.push_back(track.id);
  }
  std::ranges::sort(ids);
  return ids;
}

}  // namespace

TrackChanges Tracker::changes() const {
  const TrackCounts &before = *memory_.counts_before, &now = *memory_.counts;
  const std::span visible_before(memory_.visible[before.front], before.visible),
      lost_before(memory_.lost[before.front], before.lost),
      visible_now(memory_.visible[now.front], now.visible);
  const std::vector<uint32_t> visible = ids_of(visible_now);
  TrackChanges changes{.lost = ids_of({memory_.lost[now.front], now.lost})};
  std::ranges::copy_if(visible, std::back_inserter(changes.born),
                       [&](uint32_t id) { return id > before.last_id; });
  std::vector<uint32_t> known, remembered;
  std::ranges::merge(ids_of(visible_before), ids_of(lost_before), std::back_inserter(known));
  std::ranges::merge(visible, changes.lost, std::back_inserter(remembered));
  std::ranges::set_difference(known, remembered, std::back_inserter(changes.ended));
  for (uint32_t i = 0; i < before.visible; ++i) {
    const uint32_t id = visible_before[i].id, destination = memory_.destination[i];
    if (id == 0 || destination == 0) continue;
    const Track& other = visible_now[destination - 1];
    changes.merged.push_back({id, other.whole != 0 ? other.part_of : other.id});
  }
  std::ranges::sort(changes.merged, {}, &TrackChanges::Merge::id);
  return changes;
}

std::vector<std::byte> Tracker::state() {
  std::memset(block_.data(), 0, std::exchange(bytes_to_clear_, 0));
  set_row_spans({memory_.labels.height, memory_.labels.height});  // completes the labels
  const TrackCounts& counts = *memory_.counts;
  StoredTracks header;
  header.width = memory_.labels.width;
  header.height = memory_.labels.height;
  header.visible = counts.visible;
  header.lost = counts.lost;
  header.last_id = counts.last_id;
  std::vector<std::byte> bytes(header.bytes());
  std::byte* next = bytes.data();
  const auto add = [&](const void* data, size_t size) {
    std::memcpy(next, data, size);
    next += size;
  };
  add(&header, sizeof header);
  add(memory_.visible[counts.front], counts.visible * sizeof(Track));
  add(memory_.lost[counts.front], counts.lost * sizeof(Track));
  for (int y = 0; y < header.height; ++y) {
    add(memory_.labels.row(y), static_cast<size_t>(header.width) * sizeof(uint16_t));
  }
  return bytes;
}

void Tracker::restore(std::span<const std::byte> state) {
  const StoredTracks header = checked_header(state, memory_);
  const std::byte* const tracks = state.data() + sizeof header;
  const std::byte* const labels = tracks + (size_t{header.visible} + header.lost) * sizeof(Track);
  const auto track_at = [&](size_t i) {
    Track track;
    std::memcpy(&track, tracks + i * sizeof track, sizeof track);
    return track;
  };
  // Labels, hosts and wholes are indices, so they must not exceed the number of tracks.
  for (size_t i = 0; i < size_t{header.visible} + header.lost; ++i) {
    const Track track = track_at(i);
    expects(std::max<uint32_t>(track.host, track.whole) <= header.visible,
            "the stored tracks are damaged");
  }
  for (size_t i = 0; i < memory_.labels.size().area(); ++i) {
    uint16_t label;
    std::memcpy(&label, labels + i * sizeof label, sizeof label);
    expects(label <= header.visible, "the stored tracks are damaged");
  }
  std::memset(block_.data(), 0, reset_bytes(IdNumbering::restarted));
  bytes_to_clear_ = 0;
  *memory_.counts = {0, header.visible, header.lost, header.last_id};
  for (size_t i = 0; i < header.visible; ++i) memory_.visible[0][i] = track_at(i);
  for (size_t i = 0; i < header.lost; ++i) memory_.lost[0][i] = track_at(header.visible + i);
  spans_ = {memory_.labels.height, memory_.labels.height};
  const BitImage labelled = labelled_pixels();
  for (int y = 0; y < memory_.labels.height; ++y) {
    const auto width = static_cast<size_t>(memory_.labels.width);
    uint16_t* const row = memory_.labels.row(y);
    std::memcpy(row, labels + static_cast<size_t>(y) * width * sizeof *row, width * sizeof *row);
    Word* const words = labelled.row(y);
    std::fill_n(words, labelled.words, Word{0});
    for (size_t x = 0; x < width; ++x) {
      words[x / kWordBits] |= Word{row[x] != 0} << x % kWordBits;
    }
  }
}

void Tracker::allocate(Backend& backend, const Setup& setup) {
  const bool continues_ids =
      memory_.counts && bytes_to_clear_ <= reset_bytes(IdNumbering::continued);
  const uint32_t last_id = continues_ids ? memory_.counts->last_id : 0;
  reports_.assign(static_cast<size_t>(setup.slots), {});
  block_ = backend.allocate(tracking_bytes(setup.size, setup.max_regions));
  memory_ = tracking_in(block_.data(), setup.size, setup.max_regions);
  memory_.counts->last_id = last_id;
  labelled_pixels_.assign(
      static_cast<size_t>(setup.size.height) * static_cast<size_t>(words_for(setup.size.width)), 0);
  spans_ = {setup.size.height, setup.size.height};
  bytes_to_clear_ = reset_bytes(IdNumbering::continued);
}

bool Tracker::set_row_spans(const RowSpans& spans) {
  const RowSpans before = std::exchange(spans_, spans);
  if (before == spans) return true;
  // Copies the first row of each span to the span's other rows, which earlier frames did not write.
  for (int span = 0; span < before.spans; ++span) {
    const int first = before.begin(span);
    for (int y = first + 1; y < before.end(span); ++y) {
      std::copy_n(memory_.labels.row(first), memory_.labels.width, memory_.labels.row(y));
      std::copy_n(labelled_pixels().row(first), labelled_pixels().words, labelled_pixels().row(y));
    }
  }
  return false;
}

void Tracker::forget(IdNumbering ids) {
  bytes_to_clear_ = std::max(bytes_to_clear_, reset_bytes(ids));
}

void Tracker::begin(const Ticket& ticket) {
  next_to_begin_ = ticket.number + 1;
  std::memset(block_.data(), 0, ticket.bytes_to_clear);
}

void Tracker::assign_tracks(const TrackRules& rules, const RegionTable& table, TrackState* states,
                            uint32_t count, int slot) {
  const SingleThread team;
  const TrackCounts before = *memory_.counts;
  const TrackStep step(team, memory_, rules, table.regions, count, before);
  step.collect_pairs();
  step.match();
  step.finish(table, states, &reports_[static_cast<size_t>(slot)]);
}

}  // namespace regions
