// The GPU's superpixels for bench/superpixels.
#include "bench/superpixels.hpp"

namespace regions {

std::unique_ptr<Algorithm<SlicParams>> make_cuda_slic(std::shared_ptr<Backend> backend) {
  return make_algorithm<SlicParams, BackendKind::cuda>(std::move(backend));
}

}  // namespace regions
