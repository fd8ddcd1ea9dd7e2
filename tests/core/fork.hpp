// Tests of children of fork(): how a child ends, and what sanitizers cannot do there, which is
// skipped with its reason.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define NEEDS_THREADS_AFTER_FORK() \
  GTEST_SKIP() << "ThreadSanitizer does not support new threads after fork()"
#else
#define NEEDS_THREADS_AFTER_FORK() static_cast<void>(0)
#endif

// Writes the line counts of this process. Exists only in programs that tools/coverage builds.
extern "C" [[gnu::weak]] void __gcov_dump();  // NOLINT(bugprone-reserved-identifier)

// Ends a child of fork() without the destructors of its parent.
[[noreturn]] inline void end_child(bool passed) {
  if (__gcov_dump) __gcov_dump();
  _exit(passed ? 0 : 1);
}
