// bench/superpixels in a build without CUDA: there is no GPU.
#include "bench/superpixels.hpp"

namespace regions {

std::unique_ptr<Algorithm<SlicParams>> make_cuda_slic(std::shared_ptr<Backend>) {
  throw DeviceError("this build has no CUDA");
}

}  // namespace regions
