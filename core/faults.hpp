// Fault injection for tests: makes rare failures frequent. The environment variable REGIONS_FAULTS
// selects the faults, see inject_faults(). In builds without tests, the functions do nothing.
#pragma once

#include <atomic>
#include <cstdint>

namespace regions {

// Kinds of faults. allocation: memory cannot be allocated. launch: a queue refuses work. work: work
// fails while it executes (CPU only, because a GPU context does not survive this).
enum class Fault : uint8_t { allocation, launch, work };

// Selects the faults. "allocation=7,launch=40": from now on, every 7th allocation and every 40th
// launch fails. "gone=100": every step from the 100th step on fails, as if the device had been
// removed. "idle=1": kernel launches are skipped and their results are missing; this shows the cost
// of a frame without its kernels. "apart=1": each allocation goes directly to the system, so that
// memory checkers know its bounds. Null or an empty text: no faults. If the text equals the current
// text, nothing changes and the counts continue. Throws InputError for an invalid text.
void inject_faults(const char* text);
void inject_faults_from_environment();

namespace faults {
inline std::atomic<bool> enabled = false;
inline std::atomic<bool> skip_launches = false;
inline std::atomic<bool> separate_allocations = false;
// Counts a step of this kind. Throws if the step is selected to fail.
void count(Fault kind);
}  // namespace faults

// Marks a step that may fail. Throws MemoryError or DeviceError ("injected failure …") if
// inject_faults() has selected this step.
inline void fail_if_injected(Fault kind) {
  if (faults::enabled.load(std::memory_order_relaxed)) [[unlikely]] {
    faults::count(kind);
  }
}

}  // namespace regions
