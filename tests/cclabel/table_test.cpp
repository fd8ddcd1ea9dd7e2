// The parameter table of cclabel.
#include "tests/core/table_test.hpp"

#include "core/cclabel/cclabel.hpp"

namespace regions {

INSTANTIATE_TYPED_TEST_SUITE_P(CcLabel, Tables, CcLabelParams);

}  // namespace regions
