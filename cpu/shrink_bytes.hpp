// Smaller pictures of bytes, a row at a time; see core/resampling.hpp.
#pragma once

#include "core/resampling.hpp"

namespace regions {

// Components that lie side by side: of one plane, as far apart from pixel to pixel.
bool are_together(const Component& a, const Component& b);

// Whether shrink_bytes() can hold the sums of the component's steps.
bool fits_shrink_bytes(const ConstFrame& from, const Frame& to, int component);

// Row j of component `first` of the smaller picture, and of all that are together with it.
void shrink_bytes(const ConstFrame& from, const Frame& to, int first, int j);

}  // namespace regions
