// Kernels of the first passes of a frame: reset of the model, survey of the frame, and evidence of
// colours. In the survey, most thread blocks convert the frame to the model's colours. The other
// blocks (the survey blocks) gather statistics of the scene in shared memory. The survey block that
// ends last computes the frame's plan.
#include "core/graphcutbg/label_history.hpp"
#include "gpu/graphcutbg/graphcutbg.hpp"
#include "gpu/graphcutbg/pixel_kernels.hpp"
#include "gpu/primitives/integer_math.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::graphcutbg {
namespace {

// Shape of the survey kernel. Its grid consists of survey blocks and conversion blocks, all
// resident at the same time. Each survey block adds its statistics to global sums, which favours
// few survey blocks. With too few survey blocks, each block takes too long for its rows.
struct SurveyBlock {
  static constexpr unsigned threads = 512;
  static constexpr unsigned blocks = 3;  // resident blocks per multiprocessor

  // Maximum number of blocks of the grid.
  static unsigned max_grid_blocks() { return multiprocessors() * blocks; }
};
// The numbers of survey blocks were tuned for an H200, whose 132 multiprocessors run 396 blocks. On
// other devices, the survey blocks are the same share of all blocks.
constexpr unsigned kTunedBlocks = 396;

__global__ void reset_kernel(ModelArrays arrays, const uint32_t* background, SceneState* state) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i == 0) {
    state->scene = Scene();
    state->watch = SceneWatch();
    state->survey = Survey();
    state->surveyed_blocks = state->updated_blocks = 0;
    if (background) state->scene.age = kKnownAge;
  }
  const size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  auto* colors = reinterpret_cast<uint32_t*>(arrays.colors);
  for (size_t k = i; k < sizeof(ColorHistograms) / sizeof(uint32_t); k += threads) colors[k] = 0;
  for (size_t k = i; k < arrays.cells.count(); k += threads) {
    for (int half = 0; half < 2; ++half) arrays.sparks[half][k] = arrays.excused[half][k] = 0;
    arrays.sparkle[k] = arrays.calm[k] = 0;
  }
  if (background && i < arrays.plane()) start_model_from(arrays, background, i);
}

// Gathers the statistics of the rows that a thread block surveys.
class Surveyor {
 public:
  __device__ Surveyor(const ModelArrays& arrays, const ConstFrame& in, Survey& survey)
      : arrays_(arrays), in_(in), survey_(survey) {}

  __device__ void survey_row(const Scene& scene, int y) {
    const auto count_bin = [&](int half, int bin) { atomicAdd(&survey_.change[half][bin], 1u); };
    const auto color = [&](int x, int pixel_y) { return stored_color_at(in_, x, pixel_y); };
    Profiles& profiles = survey_.profiles;
    uint32_t row_frame = 0, row_background = 0;  // sums of luma over this thread's pixels
    for (int x = static_cast<int>(threadIdx.x) * grid_.step; x < arrays_.width;
         x += static_cast<int>(blockDim.x) * grid_.step) {
      const auto add_luma = [&](uint32_t frame, uint32_t background) {
        const int bin = grid_.bin_of(0, x);
        atomicAdd(&profiles.frame[0][bin], frame);
        atomicAdd(&profiles.background[0][bin], background);
        row_frame += frame;
        row_background += background;
      };
      const auto add_to_zone = [&](const Color& frame, const Color& frame_right,
                                   const Color& background, const Color& background_right) {
        survey_.zones[grid_.zone_of(x, y)].add_pixel(frame, frame_right, background,
                                                     background_right, AtomicAdd());
      };
      survey_pixel(arrays_, scene, x, y, sums_, count_bin, add_luma, add_to_zone, color);
    }
    const int row_bin = grid_.bin_of(1, y);
    add_warp_sum(row_frame, profiles.frame[1][row_bin]);
    add_warp_sum(row_background, profiles.background[1][row_bin]);
  }
  // Adds the block's statistics to the sums of all blocks, `all`. The numbers are integers, so the
  // order of the additions does not matter.
  __device__ void add_to_global(Survey& all) {
    add_warp_sum(sums_.squared_contrast, survey_.sums.squared_contrast);
    add_warp_sum(sums_.pairs, survey_.sums.pairs);
    add_warp_sum(sums_.pixels, survey_.sums.pixels);
    add_warp_sum(sums_.squared_chroma, survey_.sums.squared_chroma);
    add_warp_sum(sums_.digest, survey_.sums.digest);
    for (int c = 0; c < 2; ++c) add_warp_sum(sums_.chroma[c], survey_.sums.chroma[c]);
    for (int half = 0; half < Survey::kHalves; ++half) {
      add_warp_sum(sums_.count[half], survey_.sums.count[half]);
      add_warp_sum(sums_.luma[half], survey_.sums.luma[half]);
    }
    __syncthreads();  // all threads have added to survey_
    for (int half = 0; half < Survey::kHalves; ++half) {
      for (unsigned bin = threadIdx.x; bin < Survey::kBins; bin += blockDim.x) {
        const uint32_t count = survey_.change[half][bin];
        if (count) atomicAdd(&all.change[half][bin], count);
      }
    }
    const auto add_words = [](const auto& sums, auto& to) {
      const auto* words = reinterpret_cast<const uint32_t*>(&sums);
      for (unsigned i = threadIdx.x; i < sizeof sums / sizeof(uint32_t); i += blockDim.x) {
        if (words[i]) atomicAdd(reinterpret_cast<uint32_t*>(&to) + i, words[i]);
      }
    };
    add_words(survey_.profiles, all.profiles);
    add_words(survey_.zones, all.zones);
    if (threadIdx.x != 0) return;
    AtomicAdd()(&all.sums.squared_contrast, survey_.sums.squared_contrast);
    atomicAdd(&all.sums.pairs, survey_.sums.pairs);
    atomicAdd(&all.sums.pixels, survey_.sums.pixels);
    AtomicAdd()(&all.sums.squared_chroma, survey_.sums.squared_chroma);
    AtomicAdd()(&all.sums.digest, survey_.sums.digest);
    for (int c = 0; c < 2; ++c) atomicAdd(&all.sums.chroma[c], survey_.sums.chroma[c]);
    for (int half = 0; half < Survey::kHalves; ++half) {
      atomicAdd(&all.sums.count[half], survey_.sums.count[half]);
      atomicAdd(&all.sums.luma[half], survey_.sums.luma[half]);
    }
  }

 private:
  template <class T>
  __device__ static void add_warp_sum(T lane_sum, T& sum) {
    for (int step = 16; step > 0; step /= 2) lane_sum += __shfl_xor_sync(kAllLanes, lane_sum, step);
    if (threadIdx.x % 32 == 0 && lane_sum) AtomicAdd()(&sum, lane_sum);
  }

  const ModelArrays& arrays_;
  const SurveyGrid grid_ = SurveyGrid::of(arrays_.width, arrays_.height);
  const ConstFrame& in_;
  Survey& survey_;   // statistics of the block, in shared memory
  SurveySums sums_;  // sums over the pixels of this thread
};

// Version of rank_of() for all lanes of a warp. Returns the histogram bin that contains the median,
// and the number of pixels in lower bins.
__device__ Rank warp_rank(const uint32_t* bins, uint32_t count) {
  constexpr int kBinsPerLane = Survey::kBins / 32;
  const auto lane = static_cast<int>(threadIdx.x % 32);
  uint32_t lane_sum = 0;
  for (int i = 0; i < kBinsPerLane; ++i) lane_sum += bins[lane * kBinsPerLane + i];
  const uint32_t inclusive = warp_inclusive_sum(lane_sum);
  const unsigned reaches_median = __ballot_sync(kAllLanes, inclusive > count / 2);
  const int owner = reaches_median ? __ffs(static_cast<int>(reaches_median)) - 1 : 31;
  Rank rank{lane * kBinsPerLane, inclusive - lane_sum};
  for (int i = 1; i < kBinsPerLane && rank.below + bins[rank.bin] <= count / 2; ++i) {
    rank.below += bins[rank.bin++];
  }
  return {__shfl_sync(kAllLanes, rank.bin, owner), __shfl_sync(kAllLanes, rank.below, owner)};
}

// Version of camera_shift_of() for all threads of a block: each thread rates one shift. `best`
// ([axis]) is CameraShift::kNone before the call, and the best rate after the next barrier. The
// order of the minima does not matter.
__device__ void rate_camera_shifts(const Profiles& profiles, const SurveyGrid& grid,
                                   unsigned long long* best) {
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread >= Profiles::kAxes * CameraShift::kCount) return;
  const int axis = thread / CameraShift::kCount, index = thread % CameraShift::kCount;
  const int bins = grid.bins(axis);
  const uint64_t rate =
      CameraShift::rate(profiles.frame[axis], profiles.background[axis], bins, index);
  if (rate != CameraShift::kNone) atomicMin(best + axis, static_cast<unsigned long long>(rate));
}

// Version of the loops over the profiles in measures_of() for all threads of a block: the last
// warps compare the shapes of the profiles, and the other threads compare bins with the last frame.
// `equal_bins` is zero before the call. Remembers the profiles.
__device__ void compare_profiles(SceneState& state, const Profiles& profiles,
                                 const SurveyGrid& grid, ProfileMatch* match, int* equal_bins) {
  const auto thread = static_cast<int>(threadIdx.x), last = static_cast<int>(blockDim.x) - 1;
  for (int axis = 0; axis < Profiles::kAxes; ++axis) {
    if (thread == last - 32 * axis) {
      match[axis] = ProfileMatch::of(profiles.frame[axis], profiles.background[axis],
                                     grid.bins(axis), grid.bin_pixels(axis));
    }
    if (thread >= grid.bins(axis)) continue;
    uint32_t& before = state.watch.profile[axis][thread];
    if (before == profiles.frame[axis][thread]) atomicAdd(equal_bins, 1);
    before = profiles.frame[axis][thread];
  }
}

// Completes the frame's plan from the statistics of all survey blocks, and clears the statistics
// for the next frame. All threads of the survey block that ends last call this function.
__device__ void finalize_statistics(SceneState& state, Scene scene, const FramePlan& frame,
                                    const SurveyGrid& grid, Survey& survey,
                                    FrameStatistics* statistics) {
  __shared__ SceneMeasures measures;
  __shared__ unsigned long long best_shift[Profiles::kAxes];
  if (threadIdx.x < Profiles::kAxes) best_shift[threadIdx.x] = CameraShift::kNone;
  if (threadIdx.x == 0) {
    measures.bins = grid.bins(0) + grid.bins(1);
    measures.equal_bins = 0;
  }
  constexpr unsigned kWords = sizeof(Survey) / sizeof(uint32_t);
  auto* all = reinterpret_cast<uint32_t*>(&state.survey);
  for (unsigned i = threadIdx.x; i < kWords; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(&survey)[i] = __ldcg(all + i);
    all[i] = 0;
  }
  __syncthreads();  // the survey is copied to shared memory, and the results are initialised
  compare_profiles(state, survey.profiles, grid, measures.match, &measures.equal_bins);
  rate_camera_shifts(survey.profiles, grid, best_shift);
  const unsigned warp = threadIdx.x / 32;
  if (warp < Survey::kHalves) {
    const uint32_t* bins = survey.change[warp];
    const uint32_t count = survey.sums.count[warp];
    const Rank rank = warp_rank(bins, count);
    if (threadIdx.x % 32 == 0) measures.medians.half[warp] = median_of(bins, count, rank);
  }
  __syncthreads();  // all measures are written
  if (threadIdx.x != 0) return;
  measures.camera_shift =
      max(CameraShift::size_of(best_shift[0]), CameraShift::size_of(best_shift[1]));
  state.surveyed_blocks = 0;
  state.frame = plan_frame(scene, state.watch, survey, measures, frame);
  state.scene = scene;
  *statistics = {0, 0, scene.restarted, SceneChange::none};
}

constexpr auto kThreads = static_cast<int>(SurveyBlock::threads);  // threads per block

// Converts frames of any format to the model's colours, row by row.
struct AnyReader {
  static constexpr unsigned survey_blocks = 136;  // number of survey blocks among kTunedBlocks

  __device__ static void read(const ModelArrays& arrays, const ConstFrame& in, int block,
                              int blocks) {
    for (int y = block; y < arrays.height; y += blocks) read_row(arrays, in, y);
  }

 private:
  __device__ static void read_row(const ModelArrays& arrays, const ConstFrame& in, int y) {
    for (auto x = static_cast<int>(threadIdx.x); x < arrays.width; x += 4 * kThreads) {
      // Beyond the row's end, the last pixel is read. A branch would delay the next pixel's load.
      const auto stored = [&](int k) {
        return stored_color_at(in, min(x + k * kThreads, arrays.width - 1), y);
      };
      const auto write = [&](int k, const Color& color) {
        if (x + k * kThreads >= arrays.width) return;
        write_words(arrays.current + arrays.at(x + k * kThreads, y), color.packed());
      };
      const auto a = stored(0), b = stored(1), c = stored(2), d = stored(3);
      write(0, a);
      write(1, b);
      write(2, c);
      write(3, d);
    }
  }
};

// Converts NV12 frames to the model's colours, reading 32-bit words. A thread reads blocks of 4x2
// pixels: two words of luma and one word of chroma.
struct Nv12Reader {
  static constexpr unsigned survey_blocks = 270;  // number of survey blocks among kTunedBlocks

  static bool can_read(const ConstFrame& in) {
    const auto is_aligned = [](const std::byte* plane, ptrdiff_t pitch) {
      return (reinterpret_cast<uintptr_t>(plane) | static_cast<uintptr_t>(pitch)) % 4 == 0;
    };
    return in.layout.format == PixelFormat::nv12 && in.width % 4 == 0 &&
           is_aligned(in.plane[0], in.pitch[0]) && is_aligned(in.plane[1], in.pitch[1]);
  }
  __device__ static void read(const ModelArrays& arrays, const ConstFrame& in, int block,
                              int blocks) {
    constexpr int kBatchSize = 4;
    const int columns = arrays.width / 4, rows = (arrays.height + 1) / 2, count = columns * rows;
    const int all_threads = blocks * kThreads;
    for (int i = block * kThreads + static_cast<int>(threadIdx.x); i < count;
         i += kBatchSize * all_threads) {
      Words words[kBatchSize];
#pragma unroll
      for (int k = 0; k < kBatchSize; ++k)
        words[k] = words_at(in, columns, min(i + k * all_threads, count - 1));
#pragma unroll
      for (int k = 0; k < kBatchSize; ++k) {
        if (i + k * all_threads < count) write(arrays, in.color.full_range, words[k]);
      }
    }
  }

 private:
  struct Words {
    int x, y;  // position of the upper left pixel of the block
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
  __device__ static void write(const ModelArrays& arrays, bool full_range, const Words& words) {
    for (int k = 0; k < 2 && words.y + k < arrays.height; ++k) {
      const uint32_t luma = full_range ? words.luma[k] : __vsubus4(words.luma[k], 0x10101010u);
      const auto color = [&](unsigned bytes) {
        return __byte_perm(luma, words.chroma, bytes) & 0xFFFFFFu;
      };
      *reinterpret_cast<uint4*>(arrays.current + arrays.at(words.x, words.y + k)) =
          make_uint4(color(0x0540), color(0x0541), color(0x0762), color(0x0763));
    }
  }
};

template <class Reader>
__global__ void __launch_bounds__(SurveyBlock::threads, SurveyBlock::blocks)
    survey_kernel(const __grid_constant__ ModelArrays arrays, const __grid_constant__ ConstFrame in,
                  const __grid_constant__ FramePlan frame, int survey_blocks, SceneState* state,
                  FrameStatistics* statistics) {
  constexpr unsigned kWords = sizeof(Survey) / sizeof(uint32_t);
  __shared__ alignas(Survey) uint32_t survey_words[kWords];
  __shared__ bool is_last;
  pdl_trigger();
  const auto block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  if (block >= survey_blocks) {
    return Reader::read(arrays, in, block - survey_blocks, blocks - survey_blocks);
  }
  for (unsigned i = threadIdx.x; i < kWords; i += blockDim.x) survey_words[i] = 0;
  __syncthreads();  // the block's survey is zero before any thread adds to it
  auto& survey = reinterpret_cast<Survey&>(survey_words);
  const Scene scene = state->scene;
  const auto cells = static_cast<int>(arrays.cells.count());
  for (int i = block * kThreads + static_cast<int>(threadIdx.x); i < cells;
       i += survey_blocks * kThreads) {
    advance_cell(arrays, scene, i);
  }
  Surveyor surveyor(arrays, in, survey);
  const auto grid = SurveyGrid::of(arrays.width, arrays.height);
  for (int y = block * grid.step; y < arrays.height; y += survey_blocks * grid.step) {
    surveyor.survey_row(scene, y);
  }
  surveyor.add_to_global(state->survey);
  __threadfence();  // makes the thread's sums visible before its block is counted
  __syncthreads();  // all threads of the block have added their sums
  if (threadIdx.x == 0) {
    is_last = atomicAdd(&state->surveyed_blocks, 1u) == static_cast<unsigned>(survey_blocks) - 1;
  }
  __syncthreads();  // is_last is visible to all threads
  if (!is_last) return;
  __threadfence();  // makes the sums of all blocks visible to this block
  finalize_statistics(*state, scene, frame, grid, survey, statistics);
}

__global__ void masked_colors_kernel(const __grid_constant__ ModelArrays arrays,
                                     const __grid_constant__ ConstFrame mask,
                                     const __grid_constant__ EnergyPlan energy) {
  const auto [column, row] = thread_position();
  const int x = column * SurveyGrid::kMaxStep, y = row * SurveyGrid::kMaxStep;
  if (x < arrays.width && y < arrays.height)
    count_masked_color(arrays, mask, energy, x, y, AtomicAdd());
}

__global__ void color_totals_kernel(ColorHistograms* colors) { finalize_totals(*colors); }

__global__ void color_bins_kernel(ColorHistograms* colors) {
  finalize_bin(*colors, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x));
}

}  // namespace

void enqueue_masked_colors(const ModelArrays& arrays, const ConstFrame& mask,
                           const EnergyPlan& energy, cudaStream_t stream) {
  const auto steps = [](int pixels) {
    return (pixels + SurveyGrid::kMaxStep - 1) / SurveyGrid::kMaxStep;
  };
  launch(masked_colors_kernel, pixel_grid(steps(arrays.width), steps(arrays.height)), pixel_block(),
         0, stream, arrays, mask, energy);
}

void enqueue_color_evidence(const ModelArrays& arrays, cudaStream_t stream) {
  constexpr unsigned kThreads = 256;
  launch(color_totals_kernel, 1, 1, 0, stream, arrays.colors);
  launch(color_bins_kernel, ColorHistograms::kBins / kThreads, kThreads, 0, stream, arrays.colors);
}

void enqueue_model_reset(const ModelArrays& arrays, const uint32_t* background, SceneState* state,
                         cudaStream_t stream) {
  launch(reset_kernel, blocks_for(arrays.plane(), SurveyBlock::threads), SurveyBlock::threads, 0,
         stream, arrays, background, state);
}

void enqueue_reading(const ModelArrays& arrays, const ConstFrame& in, FrameStatistics* statistics,
                     cudaStream_t stream) {
  check(cudaMemsetAsync(statistics, 0, sizeof(FrameStatistics), stream), "clearing statistics");
  const unsigned blocks =
      std::min(static_cast<unsigned>(arrays.height), SurveyBlock::max_grid_blocks());
  const auto read = [&]<class Reader>(Reader) {
    constexpr int kSurveyBlocks = 0;
    launch(survey_kernel<Reader>, blocks, SurveyBlock::threads, 0, stream, arrays, in, FramePlan(),
           kSurveyBlocks, nullptr, nullptr);
  };
  if (Nv12Reader::can_read(in)) return read(Nv12Reader());
  read(AnyReader());
}

void enqueue_survey(const ModelArrays& arrays, const ConstFrame& in, const FramePlan& frame,
                    SceneState* state, FrameStatistics* statistics, cudaStream_t stream) {
  const auto survey = [&]<class Reader>(Reader) {
    const auto rows = static_cast<unsigned>(SurveyGrid::of(arrays.width, arrays.height).count(1));
    const unsigned all_blocks = SurveyBlock::max_grid_blocks();
    const unsigned survey_share = std::max(Reader::survey_blocks * all_blocks / kTunedBlocks, 1u);
    const unsigned survey_blocks = std::min(rows, survey_share);
    const unsigned conversion_blocks =
        std::min(static_cast<unsigned>(arrays.height), all_blocks - survey_share);
    launch(survey_kernel<Reader>, survey_blocks + conversion_blocks, SurveyBlock::threads, 0,
           stream, arrays, in, frame, survey_blocks, state, statistics);
  };
  if (Nv12Reader::can_read(in)) return survey(Nv12Reader());
  survey(AnyReader());
}

}  // namespace regions::graphcutbg
