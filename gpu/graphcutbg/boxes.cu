// source=boxes: kernels that find the owners of pixels, fit the mixtures of each box to its
// samples, compute the weights of the cuts, and write the results. A thread block fits the mixtures
// of one box.
#include "core/graphcutbg/boxes.hpp"
#include "gpu/graphcutbg/graphcutbg.hpp"
#include "gpu/graphcutbg/pixel_kernels.hpp"
#include "gpu/primitives/integer_math.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::graphcutbg {
namespace {

// Threads of a block that works on one box.
constexpr int kFitThreads = 512;
constexpr int kFitWarps = kFitThreads / 32;
static_assert(kBoxSamples % kFitThreads == 0, "all lanes of a warp have a sample");

// Writes the number of the box of each pixel. A block first finds the boxes that intersect it.
__global__ void owners_kernel(const __grid_constant__ BoxArrays arrays) {
  constexpr unsigned kWords = kMaxBoxes / 32;
  static_assert(PixelBlock::threads == kMaxBoxes, "each thread tests one box");
  __shared__ uint32_t candidates[kWords];  // one bit per box
  pdl_trigger();
  const unsigned thread = threadIdx.y * PixelBlock::width + threadIdx.x;
  const auto left = static_cast<int>(blockIdx.x * PixelBlock::width);
  const auto top = static_cast<int>(blockIdx.y * PixelBlock::height);
  bool intersects = false;
  if (thread < arrays.count) {
    const ObjectBox& box = arrays.boxes[thread];
    intersects = box.left < left + static_cast<int>(PixelBlock::width) && box.right >= left &&
                 box.top < top + static_cast<int>(PixelBlock::height) && box.bottom >= top;
  }
  const uint32_t bits = __ballot_sync(kAllLanes, intersects);
  if (thread % 32 == 0) candidates[thread / 32] = bits;
  __syncthreads();  // all candidates are known
  const auto [x, y] = thread_position();
  if (x >= arrays.width || y >= arrays.height) return;
  uint16_t owner = 0;
  for (unsigned word = 0; word < kWords; ++word) {
    for (uint32_t rest = candidates[word]; rest; rest &= rest - 1) {
      const auto bit = static_cast<unsigned>(__ffs(static_cast<int>(rest)) - 1);
      owner = owner_with(arrays, owner, word * 32 + bit + 1, x, y);
    }
  }
  arrays.owner[arrays.at(x, y)] = arrays.is_excluded(x, y) ? 0 : owner;
}

// The work of a thread block on the samples of its box. All threads call each function.
class BlockFit {
 public:
  // Shared memory.
  struct Memory {
    BoxModel model;
    SampleSums sums[kMixtures][kMixtureParts];
    SampleSums class_sums[kMixtures];
    ColorSplit splits[kMixtures];
    ContrastSums pixels, samples;
    CostSum costs;
    uint32_t surroundings;
  };

  __device__ BlockFit(const BoxArrays& arrays, Memory& memory)
      : arrays_(arrays), memory_(memory), box_(blockIdx.x) {}

  __device__ void read_samples(int32_t contrast_scale) {
    clear(memory_.pixels);
    clear(memory_.samples);
    clear(memory_.surroundings);
    __syncthreads();  // the sums are zero
    ContrastSums pixels, samples;
    uint32_t surroundings = 0;
    for_each_entry([&](int column, int row, uint32_t& sample) {
      sample = read_sample(arrays_, box_, column, row, pixels, AddPrivately());
      surroundings += BoxSample::is_outside(sample);
    });
    add_of_warp(surroundings, memory_.surroundings);
    add_of_warp(pixels.pairs, memory_.pixels.pairs);
    add_of_warp(pixels.squares, memory_.pixels.squares);
    __syncthreads();  // all samples are written, and the surroundings are counted
    const bool lacks_surroundings = memory_.surroundings < kMinSurroundings;
    for_each_entry([&](int column, int row, uint32_t& sample) {
      compare_sample(arrays_, box_, column, row, samples, AddPrivately());
      if (lacks_surroundings && (sample & BoxSample::kOwned)) {
        atomicOr(&sample, BoxSample::kUsed);  // other threads read the colour
      }
    });
    add_of_warp(samples.pairs, memory_.samples.pairs);
    add_of_warp(samples.squares, memory_.samples.squares);
    __syncthreads();  // all sums are complete
    if (threadIdx.x != 0) return;
    memory_.model.contrasts = memory_.pixels.scale(contrast_scale);
    memory_.model.sample_contrasts = memory_.samples.scale(contrast_scale);
  }

  // Starts both mixtures. If the last frame has a box with the same track, and its mixtures fit,
  // the box continues with them. Otherwise each mixture starts with parts of similar colours.
  __device__ void start() {
    const ObjectBox& place = arrays_.boxes[box_];
    if (place.is_tracked()) {
      const BoxModel& before = arrays_.models_before[place.before];
      copy_words(before.parts, memory_.model.parts);
      sum_costs();
      if (memory_.model.is_complete() && before.fits(memory_.costs)) return;
      __syncthreads();  // all threads have read the mixtures
    }
    split();
    for (int k = 0; k < kFits; ++k) refit();
  }

  __device__ void split() {
    clear(memory_.class_sums);
    __syncthreads();  // the sums are zero
    add_samples([&](uint32_t sample) { return BoxSample::mixture_of(sample); }, memory_.class_sums);
    __syncthreads();  // the sums are complete
    if (threadIdx.x < kMixtures) {
      memory_.splits[threadIdx.x] = ColorSplit::of(memory_.class_sums[threadIdx.x]);
    }
    __syncthreads();  // the splits are known
    fit([&](int mixture, const Color& color) { return memory_.splits[mixture].part_of(color); });
  }

  __device__ void refit() {
    fit([&](int mixture, const Color& color) { return memory_.model.part_of(mixture, color); });
  }

  __device__ void read_mask() {
    for_each_entry([&](int column, int row, uint32_t& sample) {
      const size_t i = BoxArrays::sample_at(box_, column, row);
      sample = BoxSample::after_cut(sample, arrays_.sample_mask[i] != 0);
    });
    __syncthreads();  // all samples are written
  }

  __device__ void compute_terminals() {
    for_each_entry([&](int column, int row, const uint32_t& sample) {
      const bool is_owned = sample & BoxSample::kOwned;
      arrays_.sample_terminal[BoxArrays::sample_at(box_, column, row)] =
          is_owned ? memory_.model.evidence(Color::load(&sample)) : kOutsideBoxes;
    });
  }
  // compute_sample_links() reads the model in global memory.
  __device__ void compute_links(const EnergyPlan& plan) {
    for_each_entry([&](int column, int row, const uint32_t&) {
      compute_sample_links(arrays_, plan, box_, column, row);
    });
  }

  // Ends the work on the samples.
  __device__ void finish() {
    if (arrays_.boxes[box_].track == 0) return;
    sum_costs();
    if (threadIdx.x == 0) memory_.model.mean_cost = memory_.costs.mean();
    __syncthreads();  // the model is complete
  }

  __device__ void load_model() {
    copy_words(arrays_.models[box_], memory_.model);
    __syncthreads();  // the model is complete
  }
  __device__ void store_model() {
    copy_words(memory_.model, arrays_.models[box_]);
    __syncthreads();  // all threads see the model in global memory
  }

 private:
  // Adds to a sum of the calling thread.
  struct AddPrivately {
    __device__ void operator()(uint32_t* sum, uint32_t number) const { *sum += number; }
  };

  // Sums up least_cost() of the samples. Afterwards, all threads see the sum and the model.
  __device__ void sum_costs() {
    clear(memory_.costs);
    __syncthreads();  // the sum is zero, and the model is complete
    CostSum costs;
    for_each_entry([&](int, int, const uint32_t& sample) {
      if (!BoxSample::is_described(sample)) return;
      ++costs.count;
      costs.sum += static_cast<uint32_t>(memory_.model.least_cost(Color::load(&sample)));
    });
    add_of_warp(costs.count, memory_.costs.count);
    add_of_warp(costs.sum, memory_.costs.sum);
    __syncthreads();  // the sum is complete
  }

  // Sums are integers, so the order of the atomic additions does not matter.
  __device__ static void add_of_warp(uint32_t value, uint32_t& sum) {
    const uint32_t all = warp_sum(value);
    if (is_first_lane() && all) atomicAdd(&sum, all);
  }
  template <class T>
  __device__ static void clear(T& words) {
    auto* word = reinterpret_cast<uint32_t*>(&words);
    for (unsigned i = threadIdx.x; i < sizeof(T) / sizeof(uint32_t); i += kFitThreads) word[i] = 0;
  }
  template <class T>
  __device__ static void copy_words(const T& from, T& to) {
    static_assert(sizeof(T) % sizeof(uint32_t) == 0);
    for (unsigned i = threadIdx.x; i < sizeof(T) / sizeof(uint32_t); i += kFitThreads) {
      reinterpret_cast<uint32_t*>(&to)[i] = reinterpret_cast<const uint32_t*>(&from)[i];
    }
  }
  template <class Visit>
  __device__ void for_each_entry(Visit visit) {
    for (auto i = static_cast<int>(threadIdx.x); i < static_cast<int>(kBoxSamples);
         i += kFitThreads) {
      const int column = i % kSampleSide, row = i / kSampleSide;
      visit(column, row, arrays_.samples[BoxArrays::sample_at(box_, column, row)]);
    }
  }
  // Adds each used sample to the entry index_of(sample) of `sums`. The lanes of a warp first add
  // their colours together.
  template <class IndexOf>
  __device__ void add_samples(IndexOf index_of, SampleSums* sums) {
    for_each_entry([&](int, int, const uint32_t& sample) {
      const bool is_used = sample & BoxSample::kUsed;
      const uint32_t key = is_used ? static_cast<uint32_t>(index_of(sample)) + 1 : 0;
      const Color color = Color::load(&sample);
      for_each_key(key, [&](uint32_t common, bool has_key) {
        SampleSums of_lane;
        if (has_key) of_lane.add_color(color, AddPrivately());
        const auto* words = reinterpret_cast<const uint32_t*>(&of_lane);
        auto* to = reinterpret_cast<uint32_t*>(&sums[common - 1]);
#pragma unroll
        for (unsigned i = 0; i < sizeof(SampleSums) / sizeof(uint32_t); ++i) {
          add_of_warp(words[i], to[i]);
        }
      });
    });
  }
  template <class PartOf>
  __device__ void fit(PartOf part_of) {
    clear(memory_.sums);
    __syncthreads();  // the sums are zero
    add_samples(
        [&](uint32_t sample) {
          const int mixture = BoxSample::mixture_of(sample);
          return mixture * kMixtureParts + part_of(mixture, Color::load(&sample));
        },
        memory_.sums[0]);
    __syncthreads();  // the sums are complete, and all threads have read the model
    if (threadIdx.x < kMixtures * kMixtureParts) {
      const unsigned m = threadIdx.x / kMixtureParts, k = threadIdx.x % kMixtureParts;
      uint32_t total = 0;
      for (const SampleSums& part : memory_.sums[m]) total += part.count;
      memory_.model.parts[m][k] = ColorGaussian::fitted(memory_.sums[m][k], total);
    }
    __syncthreads();  // the model is complete
  }

  const BoxArrays& arrays_;
  Memory& memory_;
  const uint32_t box_;
};

// The shared memory of a kernel with a BlockFit. Its types have constructors, which shared memory
// must not have.
#define REGIONS_FIT_MEMORY(name)                                          \
  __shared__ alignas(BlockFit::Memory)                                    \
      uint32_t name##_words[sizeof(BlockFit::Memory) / sizeof(uint32_t)]; \
  auto& name = reinterpret_cast<BlockFit::Memory&>(name##_words)

// Starts the mixtures, and computes the weights of the first cut of samples. Blocks beyond the last
// box clear the samples that earlier frames have left in the picture of samples.
__global__ void __launch_bounds__(kFitThreads)
    start_kernel(const __grid_constant__ BoxArrays arrays, const __grid_constant__ EnergyPlan plan,
                 int32_t contrast_scale) {
  REGIONS_FIT_MEMORY(memory);
  pdl_trigger_and_wait();
  if (blockIdx.x >= arrays.count) {
    int32_t* const terminal = arrays.sample_terminal + BoxArrays::sample_at(blockIdx.x, 0, 0);
    for (unsigned i = threadIdx.x; i < kBoxSamples; i += kFitThreads) terminal[i] = kOutsideBoxes;
    return;
  }
  BlockFit fit(arrays, memory);
  fit.read_samples(contrast_scale);
  fit.start();
  fit.store_model();
  fit.compute_links(plan);
  fit.compute_terminals();
}

// Fits the mixtures to cut number `cut` of samples, and computes the weights of the next one.
__global__ void __launch_bounds__(kFitThreads)
    refit_kernel(const __grid_constant__ BoxArrays arrays, int cut) {
  REGIONS_FIT_MEMORY(memory);
  pdl_trigger_and_wait();
  const int cuts = arrays.boxes[blockIdx.x].sample_cuts();
  if (cut >= cuts) return;
  BlockFit fit(arrays, memory);
  fit.load_model();
  fit.read_mask();
  fit.refit();
  const bool is_last = cut + 1 == cuts;
  if (is_last) fit.finish();
  fit.store_model();
  if (!is_last) fit.compute_terminals();
}

// Writes the weights of the frame's cut.
__global__ void box_weights_kernel(const __grid_constant__ BoxArrays arrays,
                                   const __grid_constant__ ModelArrays weights,
                                   const __grid_constant__ EnergyPlan energy) {
  // The lanes of a warp read different entries of lambda_table at the same time.
  __shared__ alignas(EnergyPlan) uint32_t plan_words[sizeof(EnergyPlan) / sizeof(uint32_t)];
  pdl_trigger();
  for (unsigned i = threadIdx.y * PixelBlock::width + threadIdx.x; i < std::size(plan_words);
       i += PixelBlock::threads) {
    plan_words[i] = reinterpret_cast<const uint32_t*>(&energy)[i];
  }
  pdl_wait();
  __syncthreads();  // the plan is copied
  const auto& plan = reinterpret_cast<const EnergyPlan&>(plan_words);
  const auto [x, y] = thread_position();
  if (x >= arrays.width || y >= arrays.height) return;
  const size_t i = arrays.at(x, y);
  const uint16_t owner = arrays.owner[i];
  weights.terminal[i] =
      owner != 0 ? arrays.models[owner - 1].evidence(arrays.color_at(x, y)) : kOutsideBoxes;
  weights.right[i] = pixel_link(arrays, plan, x, y, 1, 0);
  weights.down[i] = pixel_link(arrays, plan, x, y, 0, 1);
  if (!weights.down_right) return;
  weights.down_right[i] = pixel_link(arrays, plan, x, y, 1, 1);
  weights.down_left[i] = pixel_link(arrays, plan, x, y, -1, 1);
}

// Adds the pixels of a warp that belong to one object to its sums. The sums are integers, so the
// order of the atomic operations does not matter.
__device__ void add_pixels(BoxSums& sums, const ConstFrame& in, bool is_object, int x, int y) {
  const auto count = static_cast<uint32_t>(__popc(__ballot_sync(kAllLanes, is_object)));
  const auto column = static_cast<uint32_t>(x);
  const uint32_t sum_x = warp_sum(is_object ? column : 0);
  const uint32_t left = warp_min(is_object ? column : UINT32_MAX);
  const uint32_t right = warp_max(is_object ? column : 0);
  uint32_t values[3] = {};
  for (int c = 0; c < in.layout.channels; ++c) {
    values[c] = warp_sum(is_object ? static_cast<uint32_t>(in.sample(c, x, y)) : 0);
  }
  if (!is_first_lane()) return;
  const auto row = static_cast<uint32_t>(y);
  const AtomicAdd add;
  add(&sums.area, uint64_t{count});
  add(&sums.sum_x, uint64_t{sum_x});
  add(&sums.sum_y, uint64_t{count} * row);
  for (int c = 0; c < in.layout.channels; ++c) add(&sums.sum_value[c], uint64_t{values[c]});
  atomicMin(&sums.first, row << 16 | left);
  atomicMin(&sums.left, left);
  atomicMax(&sums.right, right);
  atomicMax(&sums.bottom, row);
}

// Writes the labels and the sums of each object. Without boxes, `labels` is zero.
__global__ void box_labels_kernel(const __grid_constant__ BoxArrays arrays,
                                  const __grid_constant__ ConstFrame in,
                                  const __grid_constant__ Image<const uint8_t> mask,
                                  const __grid_constant__ LabelMap labels, BoxSums* sums) {
  static_assert(PixelBlock::width == 32, "a warp is a row of the block");
  pdl_trigger_and_wait();
  const auto [x, y] = thread_position();
  const bool is_inside = x < arrays.width && y < arrays.height;
  const uint32_t label = is_inside && mask(x, y) ? arrays.owner[arrays.at(x, y)] : 0;
  if (is_inside && !labels.empty()) labels(x, y) = label;
  for_each_key(label, [&](uint32_t number, bool is_object) {
    add_pixels(sums[number - 1], in, is_object, x, y);
  });
}

// Writes the records to pinned host memory, and resets the sums. One block; thread i has box i.
__global__ void __launch_bounds__(kMaxBoxes)
    box_records_kernel(const __grid_constant__ BoxArrays arrays,
                       const __grid_constant__ RegionTable table, BoxSums* sums,
                       const FrameStatistics* statistics, FrameStatistics* host_statistics) {
  __shared__ uint32_t foreground;
  if (threadIdx.x == 0) foreground = 0;
  pdl_trigger_and_wait();
  __syncthreads();  // `foreground` is zero
  const uint32_t i = threadIdx.x;
  const BoxSums box = sums[i];
  sums[i] = BoxSums();
  const uint32_t pixels = warp_sum(static_cast<uint32_t>(box.area));
  if (is_first_lane()) atomicAdd(&foreground, pixels);
  if (table.regions && i < arrays.count && i < table.capacity) {
    table.regions[i] = box.record(i + 1, arrays.boxes[i].track);
  }
  __syncthreads();  // all pixels are counted
  if (i != 0) return;
  if (table.total) *table.total = arrays.count;
  if (!host_statistics) return;
  *host_statistics = {statistics->cut_value, foreground, 0, SceneChange::none};
}

__global__ void __launch_bounds__(kMaxBoxes) reset_box_sums_kernel(BoxSums* sums) {
  sums[threadIdx.x] = BoxSums();
}

}  // namespace

void enqueue_box_reset(const BoxArrays& arrays, BoxSums* sums, cudaStream_t stream) {
  // The solver reads links of samples that no box uses.
  const auto clear = [&](int32_t* weights) {
    if (!weights) return;
    check(cudaMemsetAsync(weights, 0, kMaxBoxes * kBoxSamples * sizeof(int32_t), stream),
          "clearing the samples of boxes");
  };
  for (int32_t* weights : {arrays.sample_right, arrays.sample_down, arrays.sample_down_right,
                           arrays.sample_down_left}) {
    clear(weights);
  }
  launch(reset_box_sums_kernel, 1, kMaxBoxes, 0, stream, sums);
}

void enqueue_box_start(const BoxArrays& arrays, const EnergyPlan& energy, int32_t contrast_scale,
                       uint32_t places, cudaStream_t stream) {
  // Programmatic launch follows only a kernel, and the work before is a copy of the boxes.
  launch(owners_kernel, pixel_grid(arrays.width, arrays.height), pixel_block(), 0, stream, arrays);
  launch_pdl(start_kernel, places, kFitThreads, 0, stream, arrays, energy, contrast_scale);
}

void enqueue_box_refit(const BoxArrays& arrays, int cut, cudaStream_t stream) {
  launch_pdl(refit_kernel, arrays.count, kFitThreads, 0, stream, arrays, cut);
}

void enqueue_box_weights(const BoxArrays& arrays, const ModelArrays& weights,
                         const EnergyPlan& energy, cudaStream_t stream) {
  launch_pdl(box_weights_kernel, pixel_grid(arrays.width, arrays.height), pixel_block(), 0, stream,
             arrays, weights, energy);
}

void enqueue_box_results(const BoxArrays& arrays, const FrameTask& task,
                         const Image<const uint8_t>& mask, BoxSums* sums,
                         const FrameStatistics* statistics, FrameStatistics* host_statistics,
                         cudaStream_t stream) {
  launch_pdl(box_labels_kernel, pixel_grid(arrays.width, arrays.height), pixel_block(), 0, stream,
             arrays, task.in, mask, task.labels, sums);
  launch_pdl(box_records_kernel, 1, kMaxBoxes, 0, stream, arrays, task.table, sums, statistics,
             host_statistics);
}

}  // namespace regions::graphcutbg
