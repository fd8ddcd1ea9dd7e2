// Two fake devices, to test how elements use devices on machines without any. Their memory is host
// memory with a known device, their streams are flags.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace regions::fake {

inline constexpr int kDevices = 2;

void* context_of(int device);  // the fake CUcontext

// Free memory of each device before any context (bytes). A context takes kContextBytes of it, each
// allocation must fit into the rest and does not reduce it.
inline constexpr size_t kAllMemory = SIZE_MAX;
inline constexpr size_t kContextBytes = size_t{300} << 20;
std::atomic<size_t>& free_memory();

// Registers the device of a range of memory. device_of() returns -1 for host memory.
void own(const void* data, size_t bytes, int device);
void disown(const void* data);
int device_of(const void* data);

// The priorities of the last queue that was made and the last algorithm that was set up.
struct Priorities {
  std::atomic<int> queue{-1}, algorithm{-1};
};
Priorities& priorities();

// Bytes of pinned memory that are reserved for later allocations.
std::atomic<size_t>& pinned_room();

// The number of calls that made a queue wait for another one.
std::atomic<int>& leads();

// A fake cudaStream_t: `busy` between begin() and end().
class Stream {
 public:
  void begin();
  void end();
  void wait();  // for end()
  // The number of queues that have followed this stream, and of waits on the host.
  std::atomic<int> followed{0}, synced{0};

 private:
  bool busy_ = false;
};

}  // namespace regions::fake
