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

// Another thread may hold a lock of the allocator of AddressSanitizer during fork().
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1  // as g++ defines it
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define NEEDS_ALLOCATOR_AFTER_FORK() \
  GTEST_SKIP() << "AddressSanitizer does not support fork() while other threads allocate memory"
#else
#define NEEDS_ALLOCATOR_AFTER_FORK() static_cast<void>(0)
#endif

// Writes the line counts of this process. Exists only in programs that tools/coverage builds.
extern "C" [[gnu::weak]] void __gcov_dump();  // NOLINT(bugprone-reserved-identifier)

// Ends a child of fork() without the destructors of its parent.
[[noreturn]] inline void end_child(bool passed) {
  if (__gcov_dump) __gcov_dump();
  _exit(passed ? 0 : 1);
}
