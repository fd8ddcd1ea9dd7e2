// Time that passes when a test says so, for the elements too.
#pragma once

#include <glib.h>

namespace regions::test {

// From now on it is so much later. Any thread may say so.
void let_pass(gint64 us);

}  // namespace regions::test
