// Workspace: one allocation of a backend, cut into typed pieces. Filled by configure() alone; what
// is in it at first is anything, and the phases must not care.
#pragma once

#include <vector>

#include "core/backend.hpp"

namespace regions {

class Workspace {
 public:
  // Plans `count` elements; allocate() stores their address in `piece`, which must live until then.
  template <class T>
  void reserve(T*& piece, size_t count) {
    pieces_.push_back({&piece, bytes_, [](void* target, std::byte* start) {
                         *static_cast<T**>(target) = reinterpret_cast<T*>(start);
                       }});
    bytes_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }

  // Throws MemoryError.
  void allocate(Backend& backend) {
    block_ = backend.allocate(bytes_);
    for (const Piece& piece : pieces_)
      piece.set(piece.target, block_.as<std::byte>() + piece.start);
    pieces_.clear();
  }

  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kAlignment = 256;  // what cudaMalloc promises
  struct Piece {
    void* target;
    size_t start;  // bytes
    void (*set)(void* target, std::byte* start);
  };
  std::vector<Piece> pieces_;
  size_t bytes_ = 0;
  Block block_;
};

}  // namespace regions
