// Tracking on the CPU: the tracks of one stream, which its frames update one after another.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/algorithm.hpp"
#include "core/tracking/tracking.hpp"
#include "cpu/frame_sequencer.hpp"
#include "cpu/pixel_rows.hpp"
#include "cpu/simd.hpp"

namespace regions {

// The atomic operations that PairTable uses. Relaxed order suffices: the table is read only after
// the threads that fill it have joined.
struct CpuAtomics {
  static uint32_t read(const uint32_t* value) { return __atomic_load_n(value, __ATOMIC_RELAXED); }
  static uint32_t add(uint32_t* sum, uint32_t amount) {
    return __atomic_fetch_add(sum, amount, __ATOMIC_RELAXED);
  }
  static uint32_t exchange_if(uint32_t* value, uint32_t expected, uint32_t desired) {
    __atomic_compare_exchange_n(value, &expected, desired, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return expected;
  }
};

// The ids of tracks that changed in one frame, each list in increasing order. TrackEvents has their
// numbers; a region that split off another one counts as split there and as born here.
struct TrackChanges {
  // A track whose region merged into the region of another track.
  struct Merge {
    uint32_t id;
    uint32_t host;  // id of the other track; 0 if it has no id yet
  };
  std::vector<uint32_t> born;   // ids that were given in this frame
  std::vector<uint32_t> ended;  // ids that were forgotten in this frame
  std::vector<uint32_t> lost;   // ids without a region in this frame that are still remembered
  std::vector<Merge> merged;
};

class Tracker {
 public:
  // Allocates the memory for a stream and forgets all tracks. No frame may be in flight. New tracks
  // continue the earlier track ids, unless forget(IdNumbering::restarted) was called.
  void allocate(Backend& backend, const Setup& setup);

  // Forgets all tracks before the next enqueued frame. Called by the thread that enqueues frames.
  void forget(IdNumbering ids);

  // A frame's place in the order of frames. take_ticket() returns it when the frame is enqueued;
  // the frame's tasks pass it to the functions below.
  struct Ticket {
    uint64_t number = 0;
    size_t bytes_to_clear = 0;  // number of bytes at the start of block_ that begin() clears
  };
  Ticket take_ticket() { return {sequencer_.take_ticket(), std::exchange(bytes_to_clear_, 0)}; }
  // Blocks until all earlier frames have finished.
  void wait_for_turn(const Ticket& ticket) { sequencer_.wait_for_turn(ticket.number); }
  // Ends the frame's turn. Called after the frame's work, also if the work failed.
  void finish(const Ticket& ticket) {
    wait_for_turn(ticket);
    if (next_to_begin_ != ticket.number + 1)
      begin(ticket);  // the frame has failed before begin(); clears its tracks too
    sequencer_.advance();
  }

  // In a frame's turn, call begin(). Then write the frame's labels into memory().labels, and write
  // the numbers of pixels that regions share with the previous frame's regions into memory().pairs.
  // Then call assign_tracks().
  void begin(const Ticket& ticket);
  const TrackMemory& memory() const { return memory_; }
  // Sets which rows of the frame are equal: all picture rows of a span. Called before the frame's
  // labels are written. Returns true if the previous frame had the same spans: then memory().labels
  // and labelled_pixels() contain valid data only in the first row of each span, and the frame must
  // write only these rows.
  bool set_row_spans(const RowSpans& spans);
  // Returns one bit per pixel of memory().labels. The bit is set if the label is not 0.
  BitImage labelled_pixels() { return {labelled_pixels_.data(), words_for(memory_.labels.width)}; }
  // Assigns tracks to the regions 1..count and writes them to table.regions. Writes the states of
  // the regions to `states`.
  void assign_tracks(const TrackRules& rules, const RegionTable& table, TrackState* states,
                     uint32_t count, int slot);

  const TrackEvents& report(int slot) const { return reports_.at(static_cast<size_t>(slot)); }

  // Call the following functions while no frame is in flight.

  // Returns the changes in the last frame.
  TrackChanges changes() const;
  // Returns the tracks as bytes, in little endian. restore() can read them on any machine.
  std::vector<std::byte> state();
  // Continues with stored tracks. Call after allocate(). Throws InputError for another version,
  // frame size or more tracks than regions; the current tracks then stay unchanged.
  void restore(std::span<const std::byte> state);

 private:
  // Returns how many bytes at the start of block_ must be cleared to forget all tracks.
  size_t reset_bytes(IdNumbering ids) const {
    return tracking_reset_bytes(memory_.labels.size(), memory_.capacity, ids);
  }

  Block block_;
  TrackMemory memory_;
  std::vector<Word> labelled_pixels_;  // [height][words], see labelled_pixels()
  RowSpans spans_;                     // row spans of the last frame
  std::vector<TrackEvents> reports_;   // [slots], track events of each frame in flight
  FrameSequencer sequencer_;
  size_t bytes_to_clear_ = 0;   // the next ticket gets this value of Ticket::bytes_to_clear
  uint64_t next_to_begin_ = 0;  // 1 + ticket number of the last frame that called begin()
};

// Gives access to the tracks of an algorithm that labels frames on the CPU.
class TrackAccess {
 public:
  virtual Tracker& tracker() = 0;

 protected:
  ~TrackAccess() = default;
};

}  // namespace regions
