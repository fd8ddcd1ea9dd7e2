// The parameter table of every algorithm.
#include "tests/core/table_test.hpp"

#include "tests/algorithms.hpp"

namespace regions {

#define X(name) INSTANTIATE_TYPED_TEST_SUITE_P(name, Tables, name::Params);
REGIONS_ALGORITHMS
#undef X

}  // namespace regions
