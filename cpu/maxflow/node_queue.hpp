// A queue of nodes for searches in breadth-first order.
#pragma once

#include <cstdint>

namespace regions::maxflow {

// A first-in-first-out queue in memory given to it; never holds more than it has places for, since
// a node is in it at most once.
class NodeQueue {
 public:
  void use(int32_t* places, int32_t count) {
    places_ = places;
    capacity_ = count;
    head_ = size_ = 0;
  }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  int32_t front() const { return places_[head_]; }
  void push(int32_t node) {
    int32_t at = head_ + size_++;
    if (at >= capacity_) at -= capacity_;
    places_[at] = node;
  }
  int32_t pop() {
    const int32_t node = places_[head_];
    if (++head_ == capacity_) head_ = 0;
    --size_;
    return node;
  }

 private:
  int32_t* places_ = nullptr;
  int32_t capacity_ = 0;
  int32_t head_ = 0;
  int32_t size_ = 0;
};

}  // namespace regions::maxflow
