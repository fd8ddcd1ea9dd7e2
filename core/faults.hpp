// Fault injection for tests: makes rare failures frequent. The environment variable REGIONS_FAULTS
// selects them, see inject_faults(). Only builds with tests contain it; in other builds the
// functions do nothing.
#pragma once

#include <atomic>
#include <cstdint>

namespace regions {

// Failed memory allocation; refused submission to a queue; failure of work while it executes (CPU
// only, because a GPU context does not survive that).
enum class Fault : uint8_t { allocation, launch, work };

// Selects the faults. "allocation=7,launch=40": from now on every 7th allocation and every 40th
// launch fails. "gone=100": every step from the 100th on fails, as if the device had been removed.
// "idle=1": kernel launches are silently skipped and their results are missing, which shows the
// cost of a frame without its kernels. "apart=1": each allocation goes directly to the system, so
// that memory checkers see its bounds. Null or empty: no faults. Repeating the current text changes
// nothing and does not restart the counts. Throws InputError for any other text.
void inject_faults(const char* text);
void inject_faults_from_environment();

namespace faults {
inline std::atomic<bool> enabled = false;
inline std::atomic<bool> skip_launches = false;
inline std::atomic<bool> separate_allocations = false;
void count(Fault kind);
}  // namespace faults

// Throws MemoryError or DeviceError ("injected failure …") if the plan selects this call.
inline void fail_if_injected(Fault kind) {
  if (faults::enabled.load(std::memory_order_relaxed)) [[unlikely]] {
    faults::count(kind);
  }
}

}  // namespace regions
