// Composites the output of a frame: softens the mask's edge, blurs the background, mixes the
// pixels.
#include <algorithm>
#include <cstring>

#include "cpu/graphcutbg/graphcutbg.hpp"

namespace regions::graphcutbg {
namespace {

// Calls body(y) for each row. Rows are divided into more chunks than threads, because their work
// differs.
template <std::invocable<int> Body>
void for_rows(const Workers& workers, int rows, Body body) {
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

// Returns the mask averaged over a square, or the mask itself without feathering.
Image<const uint8_t> soften_mask(const CompositePlan& plan, FrameWorkspace& workspace, Size size,
                                 const Workers& workers) {
  const Image<const uint8_t> mask = picture_of(workspace.mask, size);
  if (plan.feather == 0) return mask;
  const Image<uint8_t> counts = picture_of(workspace.counts, size);
  for_rows(workers, size.height, [&](int y) {
    for (int x = 0; x < size.width; ++x) counts(x, y) = count_across(mask, plan.feather, x, y);
  });
  const Image<uint8_t> alpha = picture_of(workspace.alpha, size);
  for_rows(workers, size.height, [&](int y) {
    for (int x = 0; x < size.width; ++x) alpha(x, y) = soften(counts, plan.feather, x, y);
  });
  return alpha;
}

// Computes the averages of square cells of the background for painting.smooth.
void blur(const ConstFrame& in, Composition& painting, FrameWorkspace& workspace,
          const Workers& workers) {
  const BlurCells cells = blur_cells_of(in.size(), painting.plan.cell, workspace.cell_sums.data(),
                                        workspace.cell_weights.data());
  const Image<const uint8_t> mask = picture_of(workspace.mask, in.size());
  for_rows(workers, cells.rows, [&](int j) {
    for (int i = 0; i < cells.columns; ++i) sum_cell(cells, in, mask, i, j);
  });
  for (int c = 0; c < in.layout.channels; ++c) {
    const Image<uint16_t> smooth{workspace.smooth[c].data(), cells.columns, cells.rows,
                                 static_cast<ptrdiff_t>(sizeof(uint16_t)) * cells.columns};
    for_rows(workers, cells.rows, [&](int j) {
      for (int i = 0; i < cells.columns; ++i) {
        smooth(i, j) = static_cast<uint16_t>(smooth_cell(cells, c, i, j));
      }
    });
    painting.smooth[c] = smooth;
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

void composite_output(const FrameTask& job, const CompositePlan& plan, const uint16_t* image,
                      FrameWorkspace& workspace, const Workers& workers) {
  const Size size = job.in.size();
  if (!job.foreground.empty()) {
    const Image<const uint8_t> mask = picture_of(workspace.mask, size);
    for (int y = 0; y < size.height; ++y) {
      std::memcpy(job.foreground.row(y), mask.row(y), static_cast<size_t>(size.width));
    }
  }
  if (job.out.empty() || plan.output == GraphCutOutput::none) return;
  const Image<const uint8_t> alpha = soften_mask(plan, workspace, size, workers);
  if (plan.output == GraphCutOutput::mask) {
    const auto out = job.out.plane_as<uint8_t>(0, size.width, size.height);
    for_rows(workers, size.height, [&](int y) {
      std::memcpy(out.row(y), alpha.row(y), static_cast<size_t>(size.width));
    });
    return;
  }
  if (plan.output == GraphCutOutput::cutout) {
    const RgbDecoder decoder = decoder_of(job.in.layout, job.in.color);
    for_rows(workers, size.height, [&](int y) {
      for (int x = 0; x < size.width; ++x) cut_out(job.in, decoder, alpha, job.out, x, y);
    });
    return;
  }
  Composition painting{plan, job.out, alpha, image, {}};
  if (plan.blurs()) blur(job.in, painting, workspace, workers);
  copy_rows(job.in, job.out);
  // One thread processes both rows that share chroma samples.
  for_rows(workers, (size.height + 1) / 2, [&](int pair) {
    for (int y = 2 * pair; y < std::min(size.height, 2 * pair + 2); ++y) {
      for (int x = 0; x < size.width; ++x) composite_pixel(painting, x, y);
    }
  });
}

}  // namespace regions::graphcutbg
