// slicsuperpixel on CUDA, or a DeviceError in a build without it.
#pragma once

#include "core/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {

std::unique_ptr<Algorithm<SlicParams>> make_cuda_slic(std::shared_ptr<Backend> backend);

}  // namespace regions
