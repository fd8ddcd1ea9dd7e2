// The kernels that make the output picture from the cut's mask: they decide which pixels are
// hidden, soften the mask's edges, average colours, and write a composite or a cutout.
#include "gpu/graphcutbg/graphcutbg.hpp"
#include "gpu/graphcutbg/pixel_kernels.hpp"

namespace regions::graphcutbg {
namespace {

__global__ void hiding_kernel(CompositePlan plan, const SceneState* state,
                              Image<const uint8_t> mask, Image<uint8_t> held,
                              Image<uint8_t> hidden) {
  const auto [x, y] = thread_position();
  if (!hidden.contains(x, y)) return;
  const bool is_foreground = plan.hides_all(state->frame, state->watch.change) || mask(x, y) != 0;
  hidden(x, y) = is_hidden(held(x, y), is_foreground, plan.hold) ? 255 : 0;
}

__global__ void column_growth_kernel(Image<const uint8_t> mask, int radius, Image<uint8_t> grown) {
  const auto [x, y] = thread_position();
  if (!grown.contains(x, y)) return;
  uint8_t value = 0;
  const int end = min(y + radius, mask.height - 1);
  for (int v = max(y - radius, 0); v <= end; ++v) value |= mask(x, v);
  grown(x, y) = value;
}

__global__ void row_growth_kernel(Image<const uint8_t> mask, int radius, Image<uint8_t> grown) {
  const auto [x, y] = thread_position();
  if (!grown.contains(x, y)) return;
  uint8_t value = 0;
  const int end = min(x + radius, mask.width - 1);
  for (int u = max(x - radius, 0); u <= end; ++u) value |= mask(u, y);
  grown(x, y) = value;
}

__global__ void mask_count_kernel(Image<const uint8_t> mask, int feather, Image<uint8_t> counts) {
  const auto [x, y] = thread_position();
  if (counts.contains(x, y)) counts(x, y) = count_across(mask, feather, x, y);
}

__global__ void mask_softening_kernel(Image<const uint8_t> counts, int feather,
                                      Image<uint8_t> alpha) {
  const auto [x, y] = thread_position();
  if (alpha.contains(x, y)) alpha(x, y) = soften(counts, feather, x, y);
}

__global__ void cell_sum_kernel(ColorCells cells, ConstFrame in, Image<const uint8_t> alpha) {
  const auto [i, j] = thread_position();
  if (i < cells.columns && j < cells.rows) sum_cell(cells, in, alpha, i, j);
}

__global__ void cell_mean_kernel(ColorCells cells, bool is_smoothed, int component,
                                 Image<uint16_t> means) {
  const auto [i, j] = thread_position();
  if (!means.contains(i, j)) return;
  means(i, j) = static_cast<uint16_t>(is_smoothed ? smooth_cell(cells, component, i, j)
                                                  : mean_of_cell(cells, component, i, j));
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

void enqueue_hiding(const CompositePlan& plan, const SceneState* state,
                    const Image<const uint8_t>& mask, const Image<uint8_t>& held,
                    const Image<uint8_t>& hidden, cudaStream_t stream) {
  launch(hiding_kernel, pixel_grid(mask.width, mask.height), pixel_block(), 0, stream, plan, state,
         mask, held, hidden);
}

void enqueue_mask_growth(const Image<uint8_t>& mask, int radius, const Image<uint8_t>& scratch,
                         cudaStream_t stream) {
  const dim3 grid = pixel_grid(mask.width, mask.height);
  launch(column_growth_kernel, grid, pixel_block(), 0, stream, mask, radius, scratch);
  launch(row_growth_kernel, grid, pixel_block(), 0, stream, scratch, radius, mask);
}

void enqueue_mask_softening(const Image<const uint8_t>& mask, int feather,
                            const Image<uint8_t>& counts, const Image<uint8_t>& alpha,
                            cudaStream_t stream) {
  const dim3 grid = pixel_grid(mask.width, mask.height);
  launch(mask_count_kernel, grid, pixel_block(), 0, stream, mask, feather, counts);
  launch(mask_softening_kernel, grid, pixel_block(), 0, stream, counts, feather, alpha);
}

void enqueue_cell_means(const ColorCells& cells, bool is_smoothed, const ConstFrame& in,
                        const Image<const uint8_t>& alpha, const Image<uint16_t> (&means)[3],
                        cudaStream_t stream) {
  const dim3 grid = pixel_grid(cells.columns, cells.rows);
  launch(cell_sum_kernel, grid, pixel_block(), 0, stream, cells, in, alpha);
  for (int c = 0; c < in.layout.channels; ++c) {
    launch(cell_mean_kernel, grid, pixel_block(), 0, stream, cells, is_smoothed, c, means[c]);
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
