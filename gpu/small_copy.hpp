// Records on their way to the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace regions::drawing {

// Copies from pinned memory by a kernel: a copy of so few bytes takes longer. A frame alone is
// drawn in 45 us for 50 (H200, 2026-11-26). Both lie at multiples of 8 bytes, of which `bytes` are
// one.
void bring_records(const void* pinned, void* records, size_t bytes, cudaStream_t stream);

}  // namespace regions::drawing
