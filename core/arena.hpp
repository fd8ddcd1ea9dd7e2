// An arena: many blocks of memory out of few pieces, where asking the system for each takes long.
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

// What streams ask for that begin within a second of each other lies in the same pieces. A piece is
// freed with the last of its blocks, and no part of it is given twice: until then work that was on
// its way when a block was dropped may still write there. So a stream that goes on may hold what
// those that began with it have asked for, up to twice, as pieces grow.
class Arena {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kAlignment = 256;  // bytes, of blocks
  static constexpr Clock::duration kTogether = std::chrono::seconds(1);

  // Pieces are of `least` bytes or more, and as large as all that was given within the second, up
  // to `most`. Larger blocks are pieces of their own.
  Arena(size_t least, size_t most) : least_(least), most_(most) {}

  // A block of `bytes`, out of what request(bytes) gives, a Block, where no piece has room. Throws
  // what request() throws. May be called by several threads, one of which asks at a time.
  template <class Request>
  Block take(size_t bytes, const Request& request, Clock::time_point now = Clock::now()) {
    if (bytes == 0 || bytes >= most_ || faults::apart) return request(bytes);
    const size_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const std::lock_guard lock(mutex_);
    if (now - began_ > kTogether) {
      began_ = now;
      given_ = 0;
      open_.reset();
    }
    std::shared_ptr<Piece> piece = kept_with(padded);
    if (!piece) piece = open_.lock();
    if (!piece || piece->left() < padded) {
      const std::shared_ptr<Piece> before = std::move(piece);
      try {
        piece =
            std::make_shared<Piece>(request(std::clamp(given_, std::max(padded, least_), most_)));
      } catch (const MemoryError&) {
        return request(bytes);  // there may be as much as that
      }
      if (!before || piece->left() - padded > before->left()) open_ = piece;
    }
    given_ += padded;
    void* const data = piece->memory.as<std::byte>() + piece->used;
    piece->used += padded;
    return {data, bytes, [](void*, void*) {}, nullptr, std::move(piece)};
  }

  // A piece of `bytes` for what any caller takes later: nothing needs requesting while it has room.
  // Stays as long as what this returns or a block in it, whichever goes last; null where there is
  // no such memory.
  template <class Request>
  std::shared_ptr<void> keep_room(size_t bytes, const Request& request) {
    if (faults::apart) return nullptr;
    const std::lock_guard lock(mutex_);
    try {
      auto piece = std::make_shared<Piece>(request(bytes));
      kept_.push_back(piece);
      return piece;
    } catch (const MemoryError&) {
      return nullptr;
    }
  }

 private:
  struct Piece {
    explicit Piece(Block block) : memory(std::move(block)) {}
    size_t left() const { return memory.bytes() - used; }
    Block memory;
    size_t used = 0;  // bytes
  };

  // A piece that was kept and has so much room, or null.
  std::shared_ptr<Piece> kept_with(size_t bytes) {
    std::erase_if(kept_, [](const std::weak_ptr<Piece>& piece) { return piece.expired(); });
    for (const std::weak_ptr<Piece>& kept : kept_) {
      std::shared_ptr<Piece> piece = kept.lock();
      if (piece && piece->left() >= bytes) return piece;
    }
    return nullptr;
  }

  const size_t least_, most_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::weak_ptr<Piece>> kept_;
  std::weak_ptr<Piece> open_;  // the one with the most room
  Clock::time_point began_;
  size_t given_ = 0;  // bytes, since then
};

}  // namespace regions
