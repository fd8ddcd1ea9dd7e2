// Whole pictures of core/resampling.hpp: one thread a sample or pixel of what is written.
#include "gpu/runtime/launch.hpp"
#include "gpu/runtime/resampling.hpp"

namespace regions {
namespace {

constexpr unsigned kWidth = 32, kHeight = 8;  // of a block

dim3 grid_over(int width, int height) {
  return {blocks_for(static_cast<size_t>(width), kWidth),
          blocks_for(static_cast<size_t>(height), kHeight)};
}

struct Place {
  int x, y;
};
__device__ Place place_of_thread() {
  return {static_cast<int>(blockIdx.x * kWidth + threadIdx.x),
          static_cast<int>(blockIdx.y * kHeight + threadIdx.y)};
}

template <int bytes>
__global__ void shrink_kernel(ConstFrame from, Frame to, int c, int width, int height) {
  const auto [i, j] = place_of_thread();
  if (i >= width || j >= height) return;
  const Component& k = to.layout.component[c];
  const int mean = mean_of<bytes>(from, c, steps_of(i, width, samples(from.width, k.x_shift)),
                                  steps_of(j, height, samples(from.height, k.y_shift)));
  put_value<bytes>(to.at(c, i << k.x_shift, j << k.y_shift), to.layout, mean);
}

template <int bytes>
__global__ void carry_over_kernel(ConstFrame before, ConstFrame after, Frame to, bool is_tint,
                                  int c, int width, int height) {
  const auto [i, j] = place_of_thread();
  if (i >= width || j >= height) return;
  const Layout& layout = to.layout;
  const Component& k = layout.component[c];
  const int x = step_of(i, samples(before.width, k.x_shift), width) << k.x_shift;
  const int y = step_of(j, samples(before.height, k.y_shift), height) << k.y_shift;
  const int old = value_in<bytes>(before.at(c, x, y), layout);
  const int fresh = value_in<bytes>(after.at(c, x, y), layout);
  if (old == fresh) return;
  std::byte* sample = to.at(c, i << k.x_shift, j << k.y_shift);
  put_value<bytes>(sample, layout,
                   carried(value_in<bytes>(sample, layout), old, fresh, is_tint, layout));
}

template <int bytes>
__global__ void pick_kernel(ConstFrame from, Frame to, PixelPicking picking) {
  const auto [x, y] = place_of_thread();
  if (x >= to.width || y >= to.height) return;
  pick_pixel<bytes>(from, picking.x.at(x, from.width), picking.y.at(y, from.height), to, x, y);
}

// Calls run(component, width, height) for the samples of each component.
template <class Run>
void for_components(const Frame& frame, Run run) {
  for (int c = 0; c < components(frame.layout); ++c) {
    const Component& k = frame.layout.component[c];
    run(c, samples(frame.width, k.x_shift), samples(frame.height, k.y_shift));
  }
}

}  // namespace

void shrink(const ConstFrame& from, const Frame& to, cudaStream_t stream) {
  const auto kernel = from.layout.sample_bytes == 1 ? shrink_kernel<1> : shrink_kernel<2>;
  for_components(to, [&](int c, int width, int height) {
    launch(kernel, grid_over(width, height), dim3(kWidth, kHeight), 0, stream, from, to, c, width,
           height);
  });
}

void carry_over(const ConstFrame& before, const ConstFrame& after, const Frame& to, bool is_tint,
                cudaStream_t stream) {
  const auto kernel = to.layout.sample_bytes == 1 ? carry_over_kernel<1> : carry_over_kernel<2>;
  for_components(to, [&](int c, int width, int height) {
    launch(kernel, grid_over(width, height), dim3(kWidth, kHeight), 0, stream, before, after, to,
           is_tint, c, width, height);
  });
}

void pick(const ConstFrame& from, const Frame& to, const PixelPicking& picking,
          cudaStream_t stream) {
  with_pixel_bytes(to.layout, [&]<int bytes>() {
    launch(pick_kernel<bytes>, grid_over(to.width, to.height), dim3(kWidth, kHeight), 0, stream,
           from, to, picking);
  });
}

}  // namespace regions
