// Lists of nodes in memory given to them. None overflows, since a node is in a list at most once.
#pragma once

#include <cstdint>

namespace regions::maxflow {

// First in, first out.
class NodeQueue {
 public:
  void use(int32_t* nodes, int32_t count) {
    nodes_ = nodes;
    capacity_ = count;
    head_ = size_ = 0;
  }
  bool empty() const { return size_ == 0; }
  int32_t size() const { return size_; }
  void push(int32_t node) {
    int32_t at = head_ + size_++;
    if (at >= capacity_) at -= capacity_;
    nodes_[at] = node;
  }
  int32_t pop() {
    const int32_t node = nodes_[head_];
    if (++head_ == capacity_) head_ = 0;
    --size_;
    return node;
  }

 private:
  int32_t* nodes_ = nullptr;
  int32_t capacity_ = 0;
  int32_t head_ = 0;
  int32_t size_ = 0;
};

// In the order of their coming; taken from the end.
class NodeList {
 public:
  void use(int32_t* nodes) {
    nodes_ = nodes;
    size_ = 0;
  }
  bool empty() const { return size_ == 0; }
  int32_t size() const { return size_; }
  int32_t operator[](int32_t i) const { return nodes_[i]; }
  int32_t back() const { return nodes_[size_ - 1]; }
  int32_t* begin() const { return nodes_; }
  int32_t* end() const { return nodes_ + size_; }
  void push(int32_t node) { nodes_[size_++] = node; }
  int32_t pop() { return nodes_[--size_]; }
  void clear() { size_ = 0; }

 private:
  int32_t* nodes_ = nullptr;
  int32_t size_ = 0;
};

}  // namespace regions::maxflow
