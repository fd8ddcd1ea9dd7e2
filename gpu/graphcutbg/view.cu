// From the cut's mask to what the output shows.
#include "gpu/graphcutbg/phases.hpp"
#include "gpu/graphcutbg/pixels.hpp"

namespace regions::graphcut {
namespace {

__global__ void count_kernel(Image<const uint8_t> mask, int radius, Image<uint8_t> counts) {
  const auto [x, y] = place_of_thread();
  if (counts.contains(x, y)) counts(x, y) = count_across(mask, radius, x, y);
}

__global__ void soften_kernel(Image<const uint8_t> counts, int radius, Image<uint8_t> alpha) {
  const auto [x, y] = place_of_thread();
  if (alpha.contains(x, y)) alpha(x, y) = soften(counts, radius, x, y);
}

__global__ void sum_kernel(Cells cells, ConstFrame in, Image<const uint8_t> mask) {
  const auto [i, j] = place_of_thread();
  if (i < cells.columns && j < cells.rows) sum_cell(cells, in, mask, i, j);
}

__global__ void smooth_kernel(Cells cells, int component, Image<uint16_t> smooth) {
  const auto [i, j] = place_of_thread();
  if (!smooth.contains(i, j)) return;
  smooth(i, j) = static_cast<uint16_t>(smooth_cell(cells, component, i, j));
}

__global__ void paint_kernel(Painting painting) {
  const auto [x, y] = place_of_thread();
  if (painting.alpha.contains(x, y)) paint_pixel(painting, x, y);
}

__global__ void cut_out_kernel(ConstFrame in, RgbDecoder decoder, Image<const uint8_t> alpha,
                               Frame out) {
  const auto [x, y] = place_of_thread();
  if (alpha.contains(x, y)) cut_out(in, decoder, alpha, out, x, y);
}

}  // namespace

void soften_mask(const Image<const uint8_t>& mask, int radius, const Image<uint8_t>& counts,
                 const Image<uint8_t>& alpha, cudaStream_t stream) {
  const dim3 grid = pixel_grid(mask.width, mask.height);
  launch(count_kernel, grid, pixel_block(), 0, stream, mask, radius, counts);
  launch(soften_kernel, grid, pixel_block(), 0, stream, counts, radius, alpha);
}

void blur_cells(const Cells& cells, const ConstFrame& in, const Image<const uint8_t>& mask,
                const Image<uint16_t> (&smooth)[3], cudaStream_t stream) {
  const dim3 grid = pixel_grid(cells.columns, cells.rows);
  launch(sum_kernel, grid, pixel_block(), 0, stream, cells, in, mask);
  for (int c = 0; c < in.layout.channels; ++c) {
    launch(smooth_kernel, grid, pixel_block(), 0, stream, cells, c, smooth[c]);
  }
}

void paint_all(const Painting& painting, cudaStream_t stream) {
  launch(paint_kernel, pixel_grid(painting.picture.width, painting.picture.height), pixel_block(),
         0, stream, painting);
}

void cut_out_all(const ConstFrame& in, const RgbDecoder& decoder, const Image<const uint8_t>& alpha,
                 const Frame& out, cudaStream_t stream) {
  launch(cut_out_kernel, pixel_grid(in.width, in.height), pixel_block(), 0, stream, in, decoder,
         alpha, out);
}

}  // namespace regions::graphcut
