// The first phase: the frame's colours as the model sees them, by most blocks; beside them some
// survey the scene, each in shared memory, and the last of those works out the frame's plan.
#include "gpu/graphcutbg/phases.hpp"
#include "gpu/primitives/integer_math.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::graphcut {
namespace {

// Some blocks survey, the others read; all are there at once on an H200. Each surveyor adds to the
// sums of all, so that few are better, but for the time that a row takes each.
struct LookBlock {
  static constexpr unsigned threads = 512;
  static constexpr unsigned blocks = 3;  // of a multiprocessor
  static constexpr unsigned all = 132 * blocks;
};

__global__ void start_kernel(Canvas canvas, const uint32_t* picture, DeviceScene* scene) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i == 0) {
    scene->scene = Scene();
    scene->survey = Survey();
    scene->looked = scene->taught = 0;
    if (picture) scene->scene.age = kKnownAge;
  }
  const size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  auto* colors = reinterpret_cast<uint32_t*>(canvas.colors);
  for (size_t k = i; k < sizeof(Colors) / sizeof(uint32_t); k += threads) colors[k] = 0;
  if (picture && i < canvas.plane()) start_from(canvas, picture, i);
}

// A block's survey of its rows.
class Surveyor {
 public:
  __device__ Surveyor(const Canvas& canvas, const ConstFrame& in, Survey& survey)
      : canvas_(canvas), in_(in), survey_(survey) {}

  __device__ void survey_row(const Scene& scene, int y) {
    const auto tally = [&](int half, int bin) { atomicAdd(&survey_.change[half][bin], 1u); };
    const auto color = [&](int x, int y2) { return stored_color_at(in_, x, y2); };
    for (int x = static_cast<int>(threadIdx.x) * Survey::kStep; x < canvas_.width;
         x += static_cast<int>(blockDim.x) * Survey::kStep) {
      survey_pixel(canvas_, scene, x, y, sums_, tally, color);
    }
  }
  // Adds to the sums of all blocks. Of integers: the order of adding does not matter.
  __device__ void add_to(Survey& all) {
    gather(sums_.contrast2, survey_.sums.contrast2);
    gather(sums_.pairs, survey_.sums.pairs);
    for (int half = 0; half < Survey::kHalves; ++half) {
      gather(sums_.count[half], survey_.sums.count[half]);
      gather(sums_.luma[half], survey_.sums.luma[half]);
    }
    __syncthreads();  // the block's survey is whole
    for (int half = 0; half < Survey::kHalves; ++half) {
      for (unsigned bin = threadIdx.x; bin < Survey::kBins; bin += blockDim.x) {
        const uint32_t count = survey_.change[half][bin];
        if (count) atomicAdd(&all.change[half][bin], count);
      }
    }
    if (threadIdx.x != 0) return;
    AtomicAdd()(&all.sums.contrast2, survey_.sums.contrast2);
    atomicAdd(&all.sums.pairs, survey_.sums.pairs);
    for (int half = 0; half < Survey::kHalves; ++half) {
      atomicAdd(&all.sums.count[half], survey_.sums.count[half]);
      atomicAdd(&all.sums.luma[half], survey_.sums.luma[half]);
    }
  }

 private:
  template <class T>
  __device__ static void gather(T mine, T& sum) {
    for (int step = 16; step > 0; step /= 2) mine += __shfl_xor_sync(kAllLanes, mine, step);
    if (threadIdx.x % 32 == 0 && mine) AtomicAdd()(&sum, mine);
  }

  const Canvas& canvas_;
  const ConstFrame& in_;
  Survey& survey_;   // the block's
  SurveySums sums_;  // the thread's
};

// What rank_of() gives, by a warp.
__device__ Rank warp_rank(const uint32_t* bins, uint32_t count) {
  constexpr int kEach = Survey::kBins / 32;
  const auto lane = static_cast<int>(threadIdx.x % 32);
  uint32_t mine = 0;
  for (int i = 0; i < kEach; ++i) mine += bins[lane * kEach + i];
  const uint32_t up_to = warp_inclusive_sum(mine);
  const unsigned beyond = __ballot_sync(kAllLanes, up_to > count / 2);
  const int owner = beyond ? __ffs(static_cast<int>(beyond)) - 1 : 31;
  Rank rank{lane * kEach, up_to - mine};
  for (int i = 1; i < kEach && rank.below + bins[rank.bin] <= count / 2; ++i) {
    rank.below += bins[rank.bin++];
  }
  return {__shfl_sync(kAllLanes, rank.bin, owner), __shfl_sync(kAllLanes, rank.below, owner)};
}

// The whole block calls it, when all blocks have added. Leaves the survey empty for the next frame.
__device__ void settle_scene(DeviceScene& shared_scene, Scene scene, const ScenePlan& plan,
                             uint32_t pixels, Survey& survey, DeviceReport* report) {
  __shared__ Medians medians;
  constexpr unsigned kWords = sizeof(Survey) / sizeof(uint32_t);
  auto* all = reinterpret_cast<uint32_t*>(&shared_scene.survey);
  for (unsigned i = threadIdx.x; i < kWords; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(&survey)[i] = __ldcg(all + i);
    all[i] = 0;
  }
  __syncthreads();  // the survey is copied
  const unsigned warp = threadIdx.x / 32;
  if (warp < Survey::kHalves) {
    const uint32_t* bins = survey.change[warp];
    const uint32_t count = survey.sums.count[warp];
    const Rank rank = warp_rank(bins, count);
    if (threadIdx.x % 32 == 0) medians.half[warp] = median_of(bins, count, rank);
  }
  __syncthreads();  // the medians are there
  if (threadIdx.x != 0) return;
  survey.pixels = pixels;
  shared_scene.looked = 0;
  shared_scene.frame = settle(scene, survey, medians, plan);
  shared_scene.scene = scene;
  *report = {0, 0, scene.restarted};
}

constexpr auto kReaders = static_cast<int>(LookBlock::threads);  // of a block

// Frames of any format, row by row.
struct AnyReader {
  static constexpr unsigned surveyors = 136;

  __device__ static void read(const Canvas& canvas, const ConstFrame& in, int block, int blocks) {
    for (int y = block; y < canvas.height; y += blocks) read_row(canvas, in, y);
  }

 private:
  __device__ static void read_row(const Canvas& canvas, const ConstFrame& in, int y) {
    for (auto x = static_cast<int>(threadIdx.x); x < canvas.width; x += 4 * kReaders) {
      // The last pixel where there is none: a branch would keep the next one's bytes waiting.
      const auto stored = [&](int k) {
        return stored_color_at(in, min(x + k * kReaders, canvas.width - 1), y);
      };
      const auto write = [&](int k, const Color& color) {
        if (x + k * kReaders >= canvas.width) return;
        write_words(canvas.now + canvas.at(x + k * kReaders, y), color.packed());
      };
      const auto a = stored(0), b = stored(1), c = stored(2), d = stored(3);
      write(0, a);
      write(1, b);
      write(2, c);
      write(3, d);
    }
  }
};

// NV12 in whole words: a thread has blocks of 4x2 pixels, which are three words.
struct Nv12Reader {
  static constexpr unsigned surveyors = 270;

  static bool can_read(const ConstFrame& in) {
    const auto is_whole = [](const std::byte* plane, ptrdiff_t pitch) {
      return (reinterpret_cast<uintptr_t>(plane) | static_cast<uintptr_t>(pitch)) % 4 == 0;
    };
    return in.layout.format == PixelFormat::nv12 && in.width % 4 == 0 &&
           is_whole(in.plane[0], in.pitch[0]) && is_whole(in.plane[1], in.pitch[1]);
  }
  __device__ static void read(const Canvas& canvas, const ConstFrame& in, int block, int blocks) {
    constexpr int kAtOnce = 4;
    const int columns = canvas.width / 4, rows = (canvas.height + 1) / 2, count = columns * rows;
    const int all = blocks * kReaders;
    for (int i = block * kReaders + static_cast<int>(threadIdx.x); i < count; i += kAtOnce * all) {
      Words words[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
        words[k] = words_at(in, columns, min(i + k * all, count - 1));
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (i + k * all < count) write(canvas, in.color.full_range, words[k]);
      }
    }
  }

 private:
  struct Words {
    int x, y;  // of the first pixel
    uint32_t luma[2], chroma;
  };
  __device__ static Words words_at(const ConstFrame& in, int columns, int index) {
    const auto word = [&](int plane, int row, int x) {
      const std::byte* from = in.plane[plane] + row * in.pitch[plane] + x;
      return *reinterpret_cast<const uint32_t*>(from);
    };
    const int row = index / columns, x = (index - row * columns) * 4, y = row * 2;
    return {x, y, {word(0, y, x), word(0, min(y + 1, in.height - 1), x)}, word(1, row, x)};
  }
  __device__ static void write(const Canvas& canvas, bool full_range, const Words& words) {
    for (int k = 0; k < 2 && words.y + k < canvas.height; ++k) {
      const uint32_t luma = full_range ? words.luma[k] : __vsubus4(words.luma[k], 0x10101010u);
      const auto color = [&](unsigned bytes) {
        return __byte_perm(luma, words.chroma, bytes) & 0xFFFFFFu;
      };
      *reinterpret_cast<uint4*>(canvas.now + canvas.at(words.x, words.y + k)) =
          make_uint4(color(0x0540), color(0x0541), color(0x0762), color(0x0763));
    }
  }
};

template <class Reader>
__global__ void __launch_bounds__(LookBlock::threads, LookBlock::blocks)
    look_kernel(const __grid_constant__ Canvas canvas, const __grid_constant__ ConstFrame in,
                const __grid_constant__ ScenePlan plan, int surveyors, DeviceScene* shared_scene,
                DeviceReport* report) {
  constexpr unsigned kWords = sizeof(Survey) / sizeof(uint32_t);
  __shared__ alignas(Survey) uint32_t words[kWords];
  __shared__ bool is_last;
  pdl_trigger();
  const auto block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  if (block >= surveyors) {
    return Reader::read(canvas, in, block - surveyors, blocks - surveyors);
  }
  for (unsigned i = threadIdx.x; i < kWords; i += blockDim.x) words[i] = 0;
  __syncthreads();  // the survey is empty
  auto& survey = reinterpret_cast<Survey&>(words);
  const Scene scene = shared_scene->scene;
  Surveyor surveyor(canvas, in, survey);
  for (int y = block * Survey::kStep; y < canvas.height; y += surveyors * Survey::kStep) {
    surveyor.survey_row(scene, y);
  }
  surveyor.add_to(shared_scene->survey);
  __threadfence();  // what the thread added is seen before its block is counted
  __syncthreads();  // all threads of the block have added
  if (threadIdx.x == 0) {
    is_last = atomicAdd(&shared_scene->looked, 1u) == static_cast<unsigned>(surveyors) - 1;
  }
  __syncthreads();  // all threads know whether the block is the last one
  if (!is_last) return;
  __threadfence();  // what all blocks added is seen
  settle_scene(*shared_scene, scene, plan, static_cast<uint32_t>(canvas.plane()), survey, report);
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
  const auto look = [&]<class Reader>(Reader) {
    const unsigned rows = blocks_for(static_cast<size_t>(canvas.height), Survey::kStep);
    const unsigned surveyors = std::min(rows, Reader::surveyors);
    const unsigned readers =
        std::min(static_cast<unsigned>(canvas.height), LookBlock::all - Reader::surveyors);
    launch(look_kernel<Reader>, surveyors + readers, LookBlock::threads, 0, stream, canvas, in,
           plan, surveyors, scene, report);
  };
  if (Nv12Reader::can_read(in)) return look(Nv12Reader());
  look(AnyReader());
}

}  // namespace regions::graphcut
