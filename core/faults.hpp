// Failures on demand: what a machine rarely does, tests have it do often. The environment variable
// REGIONS_FAULTS asks for them, see want_faults(). Only builds with tests have them: in others
// nothing below does anything.
#pragma once

#include <atomic>
#include <cstdint>

namespace regions {

// Memory that is not there; work that a queue does not take; work that fails while it runs (on the
// CPU only: a GPU does not survive that).
enum class Fault : uint8_t { allocation, launch, work };

// "allocation=7,launch=40": from now on every 7th allocation fails, and every 40th launch.
// "gone=100": from the 100th of all these steps on each fails, as if the device was taken away.
// "idle=1": a GPU's launches are left out without a word, and what they would have made is not
// there; what remains of a frame's way is what it costs besides them. "apart=1": each allocation
// is the system's own, so that tools see where it ends. Null or empty: none. The same text again
// changes nothing, counts go on. Throws InputError for another.
void want_faults(const char* text);
void want_faults_of_environment();

namespace faults {
inline std::atomic<bool> wanted = false;
inline std::atomic<bool> idle = false;
inline std::atomic<bool> apart = false;
void count(Fault kind);
}  // namespace faults

// Throws MemoryError or DeviceError, saying that it was asked for, when the turn has come.
inline void may_fail(Fault kind) {
  if (faults::wanted.load(std::memory_order_relaxed)) [[unlikely]] {
    faults::count(kind);
  }
}

}  // namespace regions
