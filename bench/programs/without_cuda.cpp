// The benchmarks' GPU side in a build without CUDA: there is none.
#include "bench/cuda.hpp"

namespace regions {
namespace {
[[noreturn]] void refuse() { throw DeviceError("this build has no CUDA"); }
}  // namespace

bool have_cuda() { return false; }
std::shared_ptr<Backend> make_cuda() { refuse(); }
std::unique_ptr<Algorithm<CcLabelParams>> make_cuda_cclabel(std::shared_ptr<Backend>) { refuse(); }
CudaTimes time_on_cuda(Queue&, int, const FrameWork&, int) { refuse(); }
CopyTimes time_copies(Backend&, Queue&, size_t, int) { refuse(); }
void enqueue_floor(Image<const uint8_t>, Image<uint32_t>, Queue&) { refuse(); }

}  // namespace regions
