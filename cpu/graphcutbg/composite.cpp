// Composites the output picture of a frame: softens the edges of the mask, blurs the background and
// mixes foreground and background pixels.
#include <algorithm>
#include <cstring>

#include "cpu/graphcutbg/graphcutbg.hpp"

namespace regions::graphcutbg {
namespace {

// Calls body(y) for each row. Divides the rows into more chunks than threads, because the work per
// row differs.
template <std::invocable<int> Body>
void for_each_row(const Workers& workers, int rows, Body body) {
  const int chunks = std::min(rows, 4 * workers.threads());
  workers.parallel_for(chunks, [&](int chunk) {
    const int end = static_cast<int>(static_cast<int64_t>(rows) * (chunk + 1) / chunks);
    for (int y = static_cast<int>(static_cast<int64_t>(rows) * chunk / chunks); y < end; ++y) {
      body(y);
    }
  });
}

Image<uint8_t> picture_of(std::vector<uint8_t>& pixels, Size size) {
  return {pixels.data(), size.width, size.height, size.width};
}

// Returns the mask averaged over a square around each pixel, or the mask itself if plan.feather is
// 0.
Image<const uint8_t> soften_mask(const CompositePlan& plan, FrameWorkspace& workspace, Size size,
                                 const Workers& workers) {
  const Image<const uint8_t> mask = picture_of(workspace.mask, size);
  if (plan.feather == 0) return mask;
  const Image<uint8_t> counts = picture_of(workspace.counts, size);
  for_each_row(workers, size.height, [&](int y) {
    for (int x = 0; x < size.width; ++x) counts(x, y) = count_across(mask, plan.feather, x, y);
  });
  const Image<uint8_t> alpha = picture_of(workspace.alpha, size);
  for_each_row(workers, size.height, [&](int y) {
    for (int x = 0; x < size.width; ++x) alpha(x, y) = soften(counts, plan.feather, x, y);
  });
  return alpha;
}

// Computes the blurred background: the mean colour of each blur cell, smoothed over neighbouring
// cells. Stores the colours in the workspace and refers to them in composition.smooth.
void blur(const ConstFrame& in, Composition& composition, FrameWorkspace& workspace,
          const Workers& workers) {
  const BlurCells cells = blur_cells_of(in.size(), composition.plan.blur_cell,
                                        workspace.cell_sums.data(), workspace.cell_weights.data());
  const Image<const uint8_t> mask = picture_of(workspace.mask, in.size());
  for_each_row(workers, cells.rows, [&](int j) {
    for (int i = 0; i < cells.columns; ++i) sum_cell(cells, in, mask, i, j);
  });
  for (int c = 0; c < in.layout.channels; ++c) {
    const Image<uint16_t> smooth{workspace.smooth[c].data(), cells.columns, cells.rows,
                                 static_cast<ptrdiff_t>(sizeof(uint16_t)) * cells.columns};
    for_each_row(workers, cells.rows, [&](int j) {
      for (int i = 0; i < cells.columns; ++i) {
        smooth(i, j) = static_cast<uint16_t>(smooth_cell(cells, c, i, j));
      }
    });
    composition.smooth[c] = smooth;
  }
}

void copy_rows(const ConstFrame& from, const Frame& to) {
  for (int p = 0; p < from.layout.planes; ++p) {
    if (from.plane[p] == to.plane[p]) continue;
    const size_t bytes = row_bytes(from.layout, p, from.size());
    for (int y = 0; y < row_count(from.layout, p, from.size()); ++y) {
      std::memcpy(to.plane[p] + y * to.pitch[p], from.plane[p] + y * from.pitch[p], bytes);
    }
  }
}

}  // namespace

void composite_output(const FrameTask& task, const CompositePlan& plan, const uint16_t* image,
                      FrameWorkspace& workspace, const Workers& workers) {
  const Size size = task.in.size();
  if (!task.foreground.empty()) {
    const Image<const uint8_t> mask = picture_of(workspace.mask, size);
    for (int y = 0; y < size.height; ++y) {
      std::memcpy(task.foreground.row(y), mask.row(y), static_cast<size_t>(size.width));
    }
  }
  if (task.out.empty() || plan.output == GraphCutOutput::none) return;
  const Image<const uint8_t> alpha = soften_mask(plan, workspace, size, workers);
  if (plan.output == GraphCutOutput::mask) {
    const auto out = task.out.plane_as<uint8_t>(0, size.width, size.height);
    for_each_row(workers, size.height, [&](int y) {
      std::memcpy(out.row(y), alpha.row(y), static_cast<size_t>(size.width));
    });
    return;
  }
  if (plan.output == GraphCutOutput::cutout) {
    const RgbDecoder decoder = decoder_of(task.in.layout, task.in.color);
    for_each_row(workers, size.height, [&](int y) {
      for (int x = 0; x < size.width; ++x) cut_out(task.in, decoder, alpha, task.out, x, y);
    });
    return;
  }
  Composition composition{plan, task.out, alpha, image, {}};
  if (plan.blurs()) blur(task.in, composition, workspace, workers);
  copy_rows(task.in, task.out);
  // Two rows may share chroma samples, so one thread processes both.
  for_each_row(workers, (size.height + 1) / 2, [&](int pair) {
    for (int y = 2 * pair; y < std::min(size.height, 2 * pair + 2); ++y) {
      for (int x = 0; x < size.width; ++x) composite_pixel(composition, x, y);
    }
  });
}

}  // namespace regions::graphcutbg
