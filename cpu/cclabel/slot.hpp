// The workspace of one frame in flight.
#pragma once

#include <vector>

#include "core/cclabel/cclabel.hpp"
#include "core/drawing/paint.hpp"
#include "cpu/cclabel/contacts.hpp"
#include "cpu/cclabel/forest.hpp"
#include "cpu/pixel_runs.hpp"

namespace regions {

struct Slot {
  Forest forest;
  BitImage pixels;      // the foreground
  BitImage background;  // while holes are filled; the foreground where background has regions too
  // A strip's own:
  LinkRows rows[Forest::kMaxStrips];
  uint32_t* value[Forest::kMaxStrips];  // [width], a run's value in the output
  Region* records[Forest::kMaxStrips];  // [max_regions]
  // Where the job wants no labels, and they are drawn or listed as runs. (In place of a table that
  // the job does not want, the first strip's records serve.)
  LabelMap labels;
  RunList runs;
  std::vector<std::byte> whole_mask;  // where a small one is compared pixel by pixel
  Ink ink;
  Tracks tracks;  // of this frame's labels, once they are known

  // Allocates for pictures cut into at most `strips` strips.
  void allocate(Backend& backend, const Setup& setup, int strips);

  Region* table_of(const Job& job) const {
    return job.table.regions ? job.table.regions : records[0];
  }
  uint32_t capacity_of(const Job& job) const {
    if (job.table.regions) return job.table.capacity;
    return draws_ || tracks_ ? max_regions_ : 0;
  }
  LabelMap labels_of(const Job& job) const { return job.labels.empty() ? labels : job.labels; }

 private:
  bool draws_ = false;
  bool tracks_ = false;
  uint32_t max_regions_ = 0;
  Block memory_;
};

}  // namespace regions
