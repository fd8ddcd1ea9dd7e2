// The kernels that make the output picture from the cut's mask: they soften the mask's edges, blur
// the background, and write a composite or a cutout.
#include "gpu/graphcutbg/graphcutbg.hpp"
#include "gpu/graphcutbg/pixel_kernels.hpp"

namespace regions::graphcutbg {
namespace {

__global__ void mask_count_kernel(Image<const uint8_t> mask, int feather, Image<uint8_t> counts) {
  const auto [x, y] = thread_position();
  if (counts.contains(x, y)) counts(x, y) = count_across(mask, feather, x, y);
}

__global__ void mask_softening_kernel(Image<const uint8_t> counts, int feather,
                                      Image<uint8_t> alpha) {
  const auto [x, y] = thread_position();
  if (alpha.contains(x, y)) alpha(x, y) = soften(counts, feather, x, y);
}

__global__ void cell_sum_kernel(BlurCells cells, ConstFrame in, Image<const uint8_t> mask) {
  const auto [i, j] = thread_position();
  if (i < cells.columns && j < cells.rows) sum_cell(cells, in, mask, i, j);
}

__global__ void cell_smoothing_kernel(BlurCells cells, int component, Image<uint16_t> smooth) {
  const auto [i, j] = thread_position();
  if (!smooth.contains(i, j)) return;
  smooth(i, j) = static_cast<uint16_t>(smooth_cell(cells, component, i, j));
}

__global__ void composite_kernel(Composition composition) {
  const auto [x, y] = thread_position();
  if (composition.alpha.contains(x, y)) composite_pixel(composition, x, y);
}

__global__ void cutout_kernel(ConstFrame in, RgbDecoder decoder, Image<const uint8_t> alpha,
                              Frame out) {
  const auto [x, y] = thread_position();
  if (alpha.contains(x, y)) cut_out(in, decoder, alpha, out, x, y);
}

}  // namespace

void enqueue_mask_softening(const Image<const uint8_t>& mask, int feather,
                            const Image<uint8_t>& counts, const Image<uint8_t>& alpha,
                            cudaStream_t stream) {
  const dim3 grid = pixel_grid(mask.width, mask.height);
  launch(mask_count_kernel, grid, pixel_block(), 0, stream, mask, feather, counts);
  launch(mask_softening_kernel, grid, pixel_block(), 0, stream, counts, feather, alpha);
}

void enqueue_background_blur(const BlurCells& cells, const ConstFrame& in,
                             const Image<const uint8_t>& mask, const Image<uint16_t> (&smooth)[3],
                             cudaStream_t stream) {
  const dim3 grid = pixel_grid(cells.columns, cells.rows);
  launch(cell_sum_kernel, grid, pixel_block(), 0, stream, cells, in, mask);
  for (int c = 0; c < in.layout.channels; ++c) {
    launch(cell_smoothing_kernel, grid, pixel_block(), 0, stream, cells, c, smooth[c]);
  }
}

void enqueue_composite(const Composition& composition, cudaStream_t stream) {
  launch(composite_kernel, pixel_grid(composition.picture.width, composition.picture.height),
         pixel_block(), 0, stream, composition);
}

void enqueue_cutout(const ConstFrame& in, const RgbDecoder& decoder,
                    const Image<const uint8_t>& alpha, const Frame& out, cudaStream_t stream) {
  launch(cutout_kernel, pixel_grid(in.width, in.height), pixel_block(), 0, stream, in, decoder,
         alpha, out);
}

}  // namespace regions::graphcutbg
