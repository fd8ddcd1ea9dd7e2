// Rows of weights summed with the vectors of the machine.
#include "cpu/maxflow/weights.hpp"

namespace regions::maxflow {

REGIONS_CLONES void mark_roots(const int32_t* terminal, int width, uint8_t* marks) {
  std::transform(terminal, terminal + width, marks, [](int32_t t) -> uint8_t {
    return t > 0 ? kInSource : t < 0 ? kInSink : kFree;
  });
}
REGIONS_CLONES WeightSums sums_of(const WeightRow<4>& row) { return row.sums(); }
REGIONS_CLONES WeightSums sums_of(const WeightRow<8>& row) { return row.sums(); }

}  // namespace regions::maxflow
