// Rows of weights summed with the vectors of the machine.
#include "cpu/maxflow/weights.hpp"

namespace regions::maxflow {

REGIONS_CLONES WeightSums sums_of(const WeightRow<4>& row) { return row.sums(); }
REGIONS_CLONES WeightSums sums_of(const WeightRow<8>& row) { return row.sums(); }

}  // namespace regions::maxflow
