// The parameter table of slicsuperpixel.
#include "tests/core/table_test.hpp"

#include "core/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {

INSTANTIATE_TYPED_TEST_SUITE_P(SlicSuperpixel, Tables, SlicParams);

}  // namespace regions
