// Copies that run as kernels: copies of small buffers, and the picture operations of
// core/resampling.hpp in device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "core/resampling.hpp"

namespace regions {

// Copies a small buffer between pinned host memory and device memory, in either direction. Both
// addresses and `bytes` must be multiples of 8. A kernel is faster here than cudaMemcpyAsync():
// drawing a single frame takes 45 µs instead of 50 µs (H200, 2026-11-26).
void copy_small(const void* from, void* to, size_t bytes, cudaStream_t stream);

// These functions implement the operations of the same names of class Queue, which documents them.
// All pictures are in device memory.
void shrink(const ConstFrame& from, const Frame& to, cudaStream_t stream);
void transfer_changes(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                      bool is_tint, cudaStream_t stream);
void pick(const ConstFrame& from, const Frame& to, const PixelMapping& picking,
          cudaStream_t stream);

}  // namespace regions
