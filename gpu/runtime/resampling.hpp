// Whole pictures of core/resampling.hpp, in device memory.
#pragma once

#include <cuda_runtime_api.h>

#include "core/resampling.hpp"

namespace regions {

void shrink(const ConstFrame& from, const Frame& to, cudaStream_t stream);
void carry_over(const ConstFrame& before, const ConstFrame& after, const Frame& to, bool is_tint,
                cudaStream_t stream);
void pick(const ConstFrame& from, const Frame& to, const PixelPicking& picking,
          cudaStream_t stream);

}  // namespace regions
