// The parameter table of graphcutbg.
#include "tests/core/table_test.hpp"

#include "core/graphcutbg/graphcutbg.hpp"

namespace regions {

INSTANTIATE_TYPED_TEST_SUITE_P(GraphCutBg, Tables, GraphCutBgParams);

}  // namespace regions
