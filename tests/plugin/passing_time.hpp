// Time that passes when a test says so, for the elements too.
#pragma once

#include <glib.h>

namespace regions::test {

// Until the test ends it is so much later. Any thread may say so. Not for pipelines with a clock.
void let_pass(gint64 us);

}  // namespace regions::test
