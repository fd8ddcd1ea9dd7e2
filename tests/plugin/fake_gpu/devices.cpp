// The state of the fake devices, which all their users in a process share.
#include "tests/plugin/fake_gpu/devices.hpp"

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>

namespace regions::fake {
namespace {

struct Range {
  size_t bytes;
  int device;
};
std::mutex mutex;
std::condition_variable ended;
std::map<const char*, Range, std::greater<>> owned;  // by first address, in falling order

}  // namespace

void* context_of(int device) {
  static int contexts[kDevices];
  return &contexts[device];
}

std::atomic<size_t>& free_memory() {
  static std::atomic<size_t> bytes = kAllMemory;
  return bytes;
}

Priorities& priorities() {
  static Priorities last;
  return last;
}

std::atomic<size_t>& pinned_room() {
  static std::atomic<size_t> bytes;
  return bytes;
}

std::atomic<int>& leads() {
  static std::atomic<int> count;
  return count;
}

void own(const void* data, size_t bytes, int device) {
  const std::lock_guard lock(mutex);
  owned[static_cast<const char*>(data)] = {bytes, device};
}

void disown(const void* data) {
  const std::lock_guard lock(mutex);
  owned.erase(static_cast<const char*>(data));
}

int device_of(const void* data) {
  const std::lock_guard lock(mutex);
  const auto* address = static_cast<const char*>(data);
  const auto range = owned.lower_bound(address);
  const bool is_inside = range != owned.end() && address < range->first + range->second.bytes;
  return is_inside ? range->second.device : -1;
}

void Stream::begin() {
  const std::lock_guard lock(mutex);
  busy_ = true;
}

void Stream::end() {
  const std::lock_guard lock(mutex);
  busy_ = false;
  ended.notify_all();
}

void Stream::wait() {
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return !busy_; });
}

}  // namespace regions::fake
