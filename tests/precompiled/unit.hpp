// Headers that most tests include, parsed once for each program. A test names what it needs all the
// same: tests/fuzz/run builds without precompiled headers.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>
