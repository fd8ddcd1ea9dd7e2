// Headers that most tests include, parsed once per program. Each test still includes its headers,
// because tests/fuzz/run builds without precompiled headers.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>
