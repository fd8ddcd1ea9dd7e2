// Replaces the operators for aligned memory, which only the backend and vector types use. Each
// block has a header and a guard before it, and a guard directly after its last byte.
#include "tests/pictures/watched_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr size_t kBefore = 128, kBehind = 64;  // bytes
constexpr int kDirt = 0xA5, kGuard = 0x6B;
constexpr size_t kMaxDirt = size_t{1} << 16;  // more would make large workspaces slow

std::atomic<size_t> all_bytes = 0;

void* take(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const size_t whole = (kBefore + bytes + kBehind + 63) / 64 * 64;
  auto* start = static_cast<unsigned char*>(std::aligned_alloc(64, whole));
  if (!start) return nullptr;
  all_bytes += bytes;
  std::memset(start, kGuard, kBefore);
  std::memcpy(start, &bytes, sizeof bytes);
  std::memset(start + kBefore, kDirt, std::min(bytes, kMaxDirt));
  std::memset(start + kBefore + bytes, kGuard, kBehind);
  return start + kBefore;
}

void expect_guard(const unsigned char* guard, size_t length, const char* where, size_t bytes) {
  if (std::all_of(guard, guard + length, [](int byte) { return byte == kGuard; })) return;
  std::fprintf(stderr, "something was written %s a block of %zu bytes\n", where, bytes);
  std::abort();
}

void give_back(void* block) {
  if (!block) return;
  unsigned char* const start = static_cast<unsigned char*>(block) - kBefore;
  size_t bytes = 0;
  std::memcpy(&bytes, start, sizeof bytes);
  expect_guard(start + sizeof bytes, kBefore - sizeof bytes, "before", bytes);
  expect_guard(start + kBefore + bytes, kBehind, "behind", bytes);
  all_bytes -= bytes;
  std::free(start);
}

}  // namespace

size_t regions::watched_bytes() { return all_bytes; }

void* operator new(size_t bytes, std::align_val_t) {
  void* block = take(bytes);
  if (!block) throw std::bad_alloc();
  return block;
}
void* operator new(size_t bytes, std::align_val_t, const std::nothrow_t&) noexcept {
  return take(bytes);
}
void operator delete(void* block, std::align_val_t) noexcept { give_back(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { give_back(block); }
