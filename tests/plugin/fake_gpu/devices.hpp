// Two devices that are none: for tests of what elements do with devices on machines without any.
// Their memory is host memory that knows its device, their streams are flags.
#pragma once

#include <atomic>
#include <cstddef>

namespace regions::fake {

inline constexpr int kDevices = 2;

void* context_of(int device);  // stands for a CUcontext

// Which device a range of memory belongs to; -1: to none.
void own(const void* data, size_t bytes, int device);
void disown(const void* data);
int device_of(const void* data);

// With which priority the last queue was made, and the last algorithm set up.
struct Priorities {
  std::atomic<int> queue{-1}, algorithm{-1};
};
Priorities& priorities();

// Bytes of pinned memory that are kept for what will be allocated.
std::atomic<size_t>& pinned_room();

// How often queues were told to wait for another one.
std::atomic<int>& leads();

// Stands for a cudaStream_t: `busy` between begin() and end().
class Stream {
 public:
  void begin();
  void end();
  void wait();  // for end()
  // How often queues have followed this stream, and hosts have waited for it.
  std::atomic<int> followed{0}, synced{0};

 private:
  bool busy_ = false;
};

}  // namespace regions::fake
