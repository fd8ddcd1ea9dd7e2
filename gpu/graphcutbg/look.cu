// The first phase: the frame's colours as the model sees them, and the survey of the scene, whose
// sums blocks gather in shared memory. Then one thread works out the frame's plan.
#include "gpu/graphcutbg/phases.hpp"
#include "gpu/primitives/atomic_add.hpp"

namespace regions::graphcut {
namespace {

struct LookBlock {
  static constexpr unsigned threads = 512;
  // Two an SM of an H200: few surveys to add up. Odd, so that the rows which are surveyed do not
  // all fall to the same blocks.
  static constexpr unsigned most_blocks = 263;
};

constexpr unsigned kSurveyWords = sizeof(Survey) / sizeof(uint32_t);
constexpr unsigned kSumWords = offsetof(Survey, foreground) / sizeof(uint32_t);

__global__ void start_kernel(Canvas canvas, const uint32_t* picture, DeviceScene* scene) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i == 0) {
    scene->scene = Scene();
    scene->survey = Survey();
    if (picture) scene->scene.age = kKnownAge;
  }
  const size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  auto* colors = reinterpret_cast<uint32_t*>(canvas.colors);
  for (size_t k = i; k < sizeof(Colors) / sizeof(uint32_t); k += threads) colors[k] = 0;
  if (picture && i < canvas.plane()) start_from(canvas, picture, i);
}

__global__ void look_kernel(Canvas canvas, ConstFrame in, DeviceScene* shared_scene) {
  __shared__ alignas(8) uint32_t words[kSurveyWords];
  auto& survey = *reinterpret_cast<Survey*>(words);
  for (unsigned i = threadIdx.x; i < kSurveyWords; i += blockDim.x) words[i] = 0;
  __syncthreads();  // the survey is empty
  const Scene scene = shared_scene->scene;
  for (int y = static_cast<int>(blockIdx.x); y < canvas.height; y += static_cast<int>(gridDim.x)) {
    for (int x = static_cast<int>(threadIdx.x); x < canvas.width;
         x += static_cast<int>(blockDim.x)) {
      look(canvas, in, scene, x, y, survey, AtomicAdd());
    }
  }
  __syncthreads();  // the survey is whole
  auto* sums = reinterpret_cast<uint32_t*>(&shared_scene->survey);
  for (unsigned i = threadIdx.x; i < kSumWords; i += blockDim.x) {
    if (words[i]) atomicAdd(&sums[i], words[i]);
  }
  if (threadIdx.x == 0) AtomicAdd()(&shared_scene->survey.contrast2, survey.contrast2);
}

__global__ void settle_kernel(DeviceScene* shared_scene, ScenePlan plan, uint32_t pixels,
                              DeviceReport* report) {
  __shared__ alignas(8) uint32_t words[kSurveyWords];
  auto* sums = reinterpret_cast<uint32_t*>(&shared_scene->survey);
  for (unsigned i = threadIdx.x; i < kSurveyWords; i += blockDim.x) {
    words[i] = sums[i];
    sums[i] = 0;  // for the next frame
  }
  __syncthreads();  // the survey is copied
  if (threadIdx.x != 0) return;
  auto& survey = *reinterpret_cast<Survey*>(words);
  survey.pixels = pixels;
  shared_scene->frame = settle(shared_scene->scene, survey, plan);
  *report = {0, 0, shared_scene->scene.restarted};
}

__global__ void totals_kernel(Colors* colors) { settle_totals(*colors); }

__global__ void colors_kernel(Colors* colors) {
  settle_bin(*colors, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x));
}

}  // namespace

void settle_colors(const Canvas& canvas, cudaStream_t stream) {
  constexpr unsigned kThreads = 256;
  launch(totals_kernel, 1, 1, 0, stream, canvas.colors);
  launch(colors_kernel, Colors::kBins / kThreads, kThreads, 0, stream, canvas.colors);
}

void start_again(const Canvas& canvas, const uint32_t* picture, DeviceScene* scene,
                 cudaStream_t stream) {
  launch(start_kernel, blocks_for(canvas.plane(), LookBlock::threads), LookBlock::threads, 0,
         stream, canvas, picture, scene);
}

void look_at(const Canvas& canvas, const ConstFrame& in, const ScenePlan& plan, DeviceScene* scene,
             DeviceReport* report, cudaStream_t stream) {
  const auto wanted = static_cast<unsigned>(canvas.height);
  const unsigned blocks = wanted < LookBlock::most_blocks ? wanted : LookBlock::most_blocks;
  launch(look_kernel, blocks, LookBlock::threads, 0, stream, canvas, in, scene);
  launch(settle_kernel, 1, 256, 0, stream, scene, plan, static_cast<uint32_t>(canvas.plane()),
         report);
}

}  // namespace regions::graphcut
