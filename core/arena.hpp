// Arena: takes many small blocks of memory from a few large chunks, because each allocation by the
// system is slow.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "core/backend.hpp"
#include "core/faults.hpp"

namespace regions {

// Blocks that are requested within one second share chunks. A chunk is freed when its last block is
// released. Until then, no part of a chunk is reused, because pending work may still write to a
// released block. Therefore one long-lived stream can keep the memory of all streams that started
// at the same time. Because chunk sizes grow, it can keep up to twice the memory that these streams
// requested.
class Arena {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kAlignment = 256;  // alignment of blocks, bytes
  // Blocks that are requested within this time share chunks.
  static constexpr Clock::duration kSharingTime = std::chrono::seconds(1);

  // A chunk has at least `min_bytes` and at most `max_bytes`. Its size grows with the number of
  // bytes that were allocated within the current second. A block of `max_bytes` or more is
  // allocated without a chunk.
  Arena(size_t min_bytes, size_t max_bytes) : min_bytes_(min_bytes), max_bytes_(max_bytes) {}

  // Returns a block of `bytes`. If no chunk has enough space, calls request(n), which must return a
  // Block of n bytes. Exceptions of the last request() reach the caller. May be called by several
  // threads; only one of them is inside request() at a time.
  template <class Request>
  Block allocate(size_t bytes, const Request& request, Clock::time_point now = Clock::now()) {
    if (bytes == 0 || bytes >= max_bytes_ || faults::separate_allocations) return request(bytes);
    const size_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const std::lock_guard lock(mutex_);
    if (now - window_start_ > kSharingTime) {
      window_start_ = now;
      allocated_ = 0;
      current_.reset();
    }
    std::shared_ptr<Chunk> chunk = reserved_chunk_with(padded);
    if (!chunk) chunk = current_.lock();
    if (!chunk || chunk->free_bytes() < padded) {
      const std::shared_ptr<Chunk> previous = std::move(chunk);
      try {
        chunk = std::make_shared<Chunk>(
            request(std::clamp(allocated_, std::max(padded, min_bytes_), max_bytes_)));
      } catch (const MemoryError&) {
        return request(bytes);  // a smaller request may still succeed
      }
      if (!previous || chunk->free_bytes() - padded > previous->free_bytes()) current_ = chunk;
    }
    allocated_ += padded;
    void* const data = chunk->memory.as<std::byte>() + chunk->used;
    chunk->used += padded;
    return {data, bytes, [](void*, void*) {}, nullptr, std::move(chunk)};
  }

  // Requests a chunk of `bytes` in advance, for blocks that any caller allocates later. The chunk
  // lives as long as the returned pointer or any block in it. Returns null if the memory is not
  // available.
  template <class Request>
  std::shared_ptr<void> reserve(size_t bytes, const Request& request) {
    if (faults::separate_allocations) return nullptr;
    const std::lock_guard lock(mutex_);
    try {
      auto chunk = std::make_shared<Chunk>(request(bytes));
      reserved_.push_back(chunk);
      return chunk;
    } catch (const MemoryError&) {
      return nullptr;
    }
  }

 private:
  struct Chunk {
    explicit Chunk(Block block) : memory(std::move(block)) {}
    size_t free_bytes() const { return memory.bytes() - used; }
    Block memory;
    size_t used = 0;  // bytes that have been given to blocks
  };

  // Returns a reserved chunk with at least this many free bytes, or null.
  std::shared_ptr<Chunk> reserved_chunk_with(size_t bytes) {
    std::erase_if(reserved_, [](const std::weak_ptr<Chunk>& chunk) { return chunk.expired(); });
    for (const std::weak_ptr<Chunk>& candidate : reserved_) {
      std::shared_ptr<Chunk> chunk = candidate.lock();
      if (chunk && chunk->free_bytes() >= bytes) return chunk;
    }
    return nullptr;
  }

  const size_t min_bytes_, max_bytes_;
  std::mutex mutex_;  // guards the members below
  std::vector<std::weak_ptr<Chunk>> reserved_;
  std::weak_ptr<Chunk> current_;    // the chunk with the most free space
  Clock::time_point window_start_;  // when the current period of kSharingTime began
  size_t allocated_ = 0;            // bytes allocated since window_start_
};

}  // namespace regions
