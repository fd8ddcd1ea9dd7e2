// Whole pictures of core/resampling.hpp, in host memory.
#pragma once

#include "core/resampling.hpp"
#include "core/workers.hpp"

namespace regions {

void shrink(const ConstFrame& from, const Frame& to, const Workers& workers);
void carry_over(const ConstFrame& before, const ConstFrame& after, const Frame& to, bool is_tint,
                const Workers& workers);
void pick(const ConstFrame& from, const Frame& to, const PixelPicking& picking,
          const Workers& workers);

}  // namespace regions
