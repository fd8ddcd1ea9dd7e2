// Backend: a place that runs algorithms (the CPU, one GPU). Queue: work in order on it. Slots,
// algorithms and the plugin see only these.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/frame.hpp"
#include "core/resampling.hpp"

namespace regions {

enum class BackendKind : uint8_t { cpu, cuda };

// Memory with an owner. Freed by its deleter, whichever thread drops it.
class Block {
 public:
  using Free = void (*)(void* owner, void* data);
  Block() = default;
  // `keep` is held until the memory has been freed.
  Block(void* data, size_t bytes, Free free, void* owner, std::shared_ptr<void> keep = {})
      : data_(data), bytes_(bytes), free_(free), owner_(owner), keep_(std::move(keep)) {}
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept {
    if (this == &other) return *this;
    release();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    free_ = other.free_;
    owner_ = other.owner_;
    keep_ = std::move(other.keep_);
    return *this;
  }
  ~Block() { release(); }

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void release() {
    if (data_) free_(owner_, data_);
    data_ = nullptr;
  }
  void* data_ = nullptr;
  size_t bytes_ = 0;
  Free free_ = nullptr;
  void* owner_ = nullptr;
  std::shared_ptr<void> keep_;
};

// Work runs in the order given; nothing here blocks but wait(). Used by one thread at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  // Copies pixels between host and device or within either; formats and sizes are equal. Host sides
  // should be pinned, else the copy may block. Both must stay until wait() returns.
  virtual void copy(const ConstFrame& from, const Frame& to) = 0;
  // The same for plain bytes.
  virtual void copy_bytes(const void* from, void* to, size_t bytes) = 0;
  // Marks where a frame's work begins.
  virtual void start() = 0;
  // Marks the end of a frame's work.
  virtual void record() = 0;
  // Whether all work before the last record() is done. Never blocks.
  virtual bool done() const = 0;
  // Blocks until then. Throws what the work threw, or DeviceError.
  virtual void wait() = 0;
  // Nanoseconds between start() and the record() behind it, once wait() returned: of that frame,
  // or of one not long before, where it costs too much to time each.
  virtual int64_t elapsed() const = 0;
  // A backend's own handle: cudaStream_t, or null on the CPU.
  virtual void* native() const { return nullptr; }
  // The handle of the stream that is the queue's own, wherever it has moved.
  virtual void* own() const { return native(); }
  // Work from here on goes onto that stream itself, behind the work before the last record(): a
  // native handle of the same device and context, of others' making. While a graph is made of what
  // is put there, it is part of the graph, and cannot be waited for.
  virtual void move_to(void* /*native*/) {}
  // Work from here on begins when what has been put on that stream is done: a native handle of the
  // same device and context, of others' making.
  virtual void follow(void* /*native*/) {}
  // The other way round: what is put on that stream from here on begins when the work before the
  // last record() is done.
  virtual void lead(void* /*native*/) {}

  // Between a picture and a smaller one, all in the backend's memory, see core/resampling.hpp.
  // Means of `from`, into a picture of the same format and at most its size.
  virtual void shrink(const ConstFrame& from, const Frame& to) = 0;
  // Changes from `before` to `after`, of one size, to a picture of at least that size.
  virtual void carry_over(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                          bool is_tint) = 0;
  // Pixels of one plane, of the same format, by nearest place.
  virtual void pick(const ConstFrame& from, const Frame& to, const PixelPicking& picking) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendKind kind() const = 0;
  // "cpu: 2 threads", "cuda:0 NVIDIA H200".
  virtual std::string description() const = 0;
  // Its number among the devices of its kind.
  virtual int device() const { return 0; }
  // Whether what either allocates can be worked on by the other.
  bool shares_memory(const Backend& other) const {
    return memory() == other.memory() && device() == other.device();
  }
  // Where its algorithms read and write pictures.
  virtual Memory memory() const = 0;
  // Work of a higher priority goes first where devices know such: 0 is the lowest, 5 the highest.
  virtual std::unique_ptr<Queue> make_queue(int priority = 0) = 0;
  // Memory its algorithms use, zero or not; throws MemoryError naming the size.
  virtual Block allocate(size_t bytes) = 0;
  // Host memory that copies at full speed.
  virtual Block allocate_pinned(size_t bytes) = 0;
  // Makes room for so much of it ahead of time, where asking takes long: what is allocated while
  // the caller keeps what this returns is there at once. Null where nothing is gained.
  virtual std::shared_ptr<void> keep_pinned_room(size_t /*bytes*/) { return nullptr; }

  // While an Entry lives, this thread may use the backend (on a GPU: its context is current).
  // Every call on the backend, its queues and algorithms, and every Block's end, needs one.
  class Entry {
   public:
    explicit Entry(Backend& backend) : backend_(backend) { backend_.enter(); }
    ~Entry() { backend_.leave(); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    Backend& backend_;
  };

 protected:
  virtual void enter() {}
  virtual void leave() {}
};

// The CPU, with `threads` for each algorithm's loops; 0 takes as many as the machine has.
std::shared_ptr<Backend> make_cpu_backend(int threads = 0);
// A queue of a CPU backend that has no thread: work is done as it is given, by the caller's.
std::unique_ptr<Queue> make_immediate_queue(Backend& cpu);

}  // namespace regions
