// Kernels that copy small buffers with one thread per 8 bytes, and kernels of the picture
// operations of core/resampling.hpp with one thread per output sample or pixel.
#include "gpu/runtime/copy_kernels.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions {
namespace {

__global__ void copy_words_kernel(const uint64_t* from, uint64_t* to, size_t words) {
  pdl_trigger_and_wait();
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < words) to[i] = from[i];
}

constexpr unsigned kBlockWidth = 32, kBlockHeight = 8;  // shape of a thread block, threads

dim3 grid_over(int width, int height) {
  return {blocks_for(static_cast<size_t>(width), kBlockWidth),
          blocks_for(static_cast<size_t>(height), kBlockHeight)};
}

struct SamplePosition {
  int x, y;
};
__device__ SamplePosition thread_position() {
  return {static_cast<int>(blockIdx.x * kBlockWidth + threadIdx.x),
          static_cast<int>(blockIdx.y * kBlockHeight + threadIdx.y)};
}

template <int bytes>
__global__ void shrink_kernel(ConstFrame from, Frame to, int c, int width, int height) {
  const auto [i, j] = thread_position();
  if (i >= width || j >= height) return;
  const Component& component_layout = to.layout.component[c];
  const int mean = mean_of<bytes>(
      from, c, pixels_of_cell(i, width, samples(from.width, component_layout.x_shift)),
      pixels_of_cell(j, height, samples(from.height, component_layout.y_shift)));
  put_value<bytes>(to.at(c, i << component_layout.x_shift, j << component_layout.y_shift),
                   to.layout, mean);
}

template <int bytes>
__global__ void transfer_changes_kernel(ConstFrame before, ConstFrame after, Frame to, bool is_tint,
                                        int c, int width, int height) {
  const auto [i, j] = thread_position();
  if (i >= width || j >= height) return;
  const Layout& layout = to.layout;
  const Component& component_layout = layout.component[c];
  const int x = cell_of(i, samples(before.width, component_layout.x_shift), width)
                << component_layout.x_shift;
  const int y = cell_of(j, samples(before.height, component_layout.y_shift), height)
                << component_layout.y_shift;
  const int old_value = value_in<bytes>(before.at(c, x, y), layout);
  const int new_value = value_in<bytes>(after.at(c, x, y), layout);
  if (old_value == new_value) return;
  std::byte* sample = to.at(c, i << component_layout.x_shift, j << component_layout.y_shift);
  put_value<bytes>(
      sample, layout,
      changed_sample(value_in<bytes>(sample, layout), old_value, new_value, is_tint, layout));
}

template <int bytes>
__global__ void pick_kernel(ConstFrame from, Frame to, PixelMapping picking) {
  const auto [x, y] = thread_position();
  if (x >= to.width || y >= to.height) return;
  pick_pixel<bytes>(from, picking.x.at(x, from.width), picking.y.at(y, from.height), to, x, y);
}

// Calls run(component, width, height) for each colour component of the frame. The width and height
// of the component are in samples.
template <class Run>
void for_each_component(const Frame& frame, Run run) {
  for (int c = 0; c < components(frame.layout); ++c) {
    const Component& component_layout = frame.layout.component[c];
    run(c, samples(frame.width, component_layout.x_shift),
        samples(frame.height, component_layout.y_shift));
  }
}

}  // namespace

void copy_small(const void* from, void* to, size_t bytes, cudaStream_t stream) {
  constexpr unsigned kThreads = 256;
  const size_t words = bytes / sizeof(uint64_t);
  launch_pdl(copy_words_kernel, blocks_for(words, kThreads), kThreads, 0, stream,
             static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to), words);
}

void shrink(const ConstFrame& from, const Frame& to, cudaStream_t stream) {
  const auto kernel = from.layout.sample_bytes == 1 ? shrink_kernel<1> : shrink_kernel<2>;
  for_each_component(to, [&](int c, int width, int height) {
    launch(kernel, grid_over(width, height), dim3(kBlockWidth, kBlockHeight), 0, stream, from, to,
           c, width, height);
  });
}

void transfer_changes(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                      bool is_tint, cudaStream_t stream) {
  const auto kernel =
      to.layout.sample_bytes == 1 ? transfer_changes_kernel<1> : transfer_changes_kernel<2>;
  for_each_component(to, [&](int c, int width, int height) {
    launch(kernel, grid_over(width, height), dim3(kBlockWidth, kBlockHeight), 0, stream, before,
           after, to, is_tint, c, width, height);
  });
}

void pick(const ConstFrame& from, const Frame& to, const PixelMapping& picking,
          cudaStream_t stream) {
  with_pixel_bytes(to.layout, [&]<int bytes>() {
    launch(pick_kernel<bytes>, grid_over(to.width, to.height), dim3(kBlockWidth, kBlockHeight), 0,
           stream, from, to, picking);
  });
}

}  // namespace regions
