// Tests of children of fork(): what sanitizers cannot do there is skipped with its reason.
#pragma once

#include <gtest/gtest.h>

#if defined(__SANITIZE_THREAD__)
#define NEEDS_THREADS_AFTER_FORK() \
  GTEST_SKIP() << "ThreadSanitizer does not support new threads after fork()"
#else
#define NEEDS_THREADS_AFTER_FORK() static_cast<void>(0)
#endif
