// The parameter table of regionoverlay.
#include "tests/core/table_test.hpp"

#include "core/regionoverlay/regionoverlay.hpp"

namespace regions {

INSTANTIATE_TYPED_TEST_SUITE_P(RegionOverlay, Tables, RegionOverlayParams);

}  // namespace regions
