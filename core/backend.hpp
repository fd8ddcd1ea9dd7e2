// The backend interface: Backend executes algorithms on the CPU or on one GPU, Queue executes work
// in order on a backend, Block owns memory. Algorithms and the plugin use only these types.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/frame.hpp"
#include "core/resampling.hpp"

namespace regions {

enum class BackendKind : uint8_t { cpu, cuda };

// A block of memory with an owner. The destructor frees the memory and may run on any thread.
class Block {
 public:
  using Free = void (*)(void* owner, void* data);
  Block() = default;
  // The destructor calls free(owner, data), and then releases `keep`, which can keep the owner
  // alive.
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
  void* owner_ = nullptr;       // first argument of free_
  std::shared_ptr<void> keep_;  // released after the memory has been freed
};

// Executes work in the order of submission. Only wait() blocks. Must be used by one thread at a
// time.
class Queue {
 public:
  virtual ~Queue() = default;
  // Copies pixels between host and device or within either. Formats and sizes must be equal. Host
  // memory should be pinned, otherwise the copy may block. Both frames must stay valid until wait()
  // returns.
  virtual void copy(const ConstFrame& from, const Frame& to) = 0;
  // Copies bytes, with the same requirements as copy().
  virtual void copy_bytes(const void* from, void* to, size_t bytes) = 0;
  // Marks the start of a frame's work.
  virtual void start() = 0;
  // Marks the end of a frame's work.
  virtual void record() = 0;
  // True if all work before the last record() is done. Never blocks.
  virtual bool done() const = 0;
  // Blocks until all work before the last record() is done. Rethrows exceptions of the work, or
  // throws DeviceError.
  virtual void wait() = 0;
  // Nanoseconds between start() and the following record(), valid after wait() has returned. A
  // backend that cannot cheaply time every frame returns the time of a recent frame.
  virtual int64_t elapsed() const = 0;
  // The backend's stream: a cudaStream_t, or null on the CPU.
  virtual void* native() const { return nullptr; }
  // Returns the stream that the queue itself created, even if move_to() has selected another
  // stream.
  virtual void* owned_stream() const { return native(); }
  // Submits all later work to the given stream. The later work starts after the work before the
  // last record() has finished. The stream must belong to the same device and context. While the
  // given stream is being captured into a CUDA graph, the work becomes part of the graph and cannot
  // be waited for.
  virtual void move_to(void* /*native*/) {}
  // Later work of this queue waits for all work that was submitted to the given stream so far
  // (cudaStreamWaitEvent). The stream must belong to the same device and context.
  virtual void follow(void* /*native*/) {}
  // The reverse of follow(): later work of the given stream waits for the work of this queue before
  // the last record().
  virtual void lead(void* /*native*/) {}

  // Shrinks a picture: each pixel of `to` becomes the mean of the pixels of `from` that it covers.
  // The two pictures are in the backend's memory and have the same format; `to` has at most the
  // size of `from`. See core/resampling.hpp.
  virtual void shrink(const ConstFrame& from, const Frame& to) = 0;
  // Compares the small pictures `before` and `after`, and makes the same changes to the larger
  // picture `to`. `is_tint` is explained at changed_sample() in core/resampling.hpp.
  virtual void transfer_changes(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                                bool is_tint) = 0;
  // Sets each pixel of `to` to the pixel of `from` that `picking` selects. Both frames have one
  // plane and the same format.
  virtual void pick(const ConstFrame& from, const Frame& to, const PixelMapping& picking) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendKind kind() const = 0;
  // A description for users, such as "cpu: 2 threads" or "cuda:0 NVIDIA H200".
  virtual std::string description() const = 0;
  // The index of the device among all devices of this kind.
  virtual int device() const { return 0; }
  // True if each of the two backends can use memory that the other backend allocated.
  bool shares_memory(const Backend& other) const {
    return memory() == other.memory() && device() == other.device();
  }
  // The kind of memory in which algorithms of this backend read and write pictures.
  virtual Memory memory() const = 0;
  // `priority` is 0 (lowest) to 5 (highest). Devices without priorities ignore it.
  virtual std::unique_ptr<Queue> make_queue(int priority = 0) = 0;
  // Allocates memory for algorithms of this backend. It is not necessarily zeroed. Throws a
  // MemoryError that contains the size.
  virtual Block allocate(size_t bytes) = 0;
  // Allocates host memory that can be copied to and from the device at full speed.
  virtual Block allocate_pinned(size_t bytes) = 0;
  // Reserves pinned memory in advance if allocation is slow on this backend. Allocations are fast
  // while the caller holds the returned pointer. Returns null if the backend gains nothing from it.
  virtual std::shared_ptr<void> reserve_pinned(size_t /*bytes*/) { return nullptr; }

  // While an Entry exists, this thread may use the backend (on a GPU, its context is current). An
  // Entry is required for every call to the backend, its queues and its algorithms, and for the
  // destruction of every Block.
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

// Makes a CPU backend. Loops of its algorithms use `threads` threads; 0 uses all hardware threads.
std::shared_ptr<Backend> make_cpu_backend(int threads = 0);
// Makes a queue of the CPU backend without a thread: submitted work is executed at once on the
// caller's thread.
std::unique_ptr<Queue> make_immediate_queue(Backend& cpu);

}  // namespace regions
