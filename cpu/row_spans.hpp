// RowSpans: the rows of a picture that each row of its bits stands for.
#pragma once

#include "core/resampling.hpp"

namespace regions {

// One row each, or, where the bits are those of a smaller mask, all the rows that show the same.
struct RowSpans {
  int spans = 0;  // rows of bits
  int rows = 0;   // of the picture, as many or more

  int begin(int span) const { return spans == rows ? span : first_of(span, spans, rows); }
  int end(int span) const { return begin(span + 1); }
  int height(int span) const { return end(span) - begin(span); }
  int span_of(int row) const { return spans == rows ? row : step_of(row, spans, rows); }

  bool operator==(const RowSpans&) const = default;
};

}  // namespace regions
