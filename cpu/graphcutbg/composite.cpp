// Composites the output picture of a frame: decides which pixels are hidden, softens the edges of
// the mask, averages colours and mixes the picture with its replacement.
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

// Grows the pixels of `mask` that are 255 by `radius` pixels in each direction, also diagonally.
void grow_mask(const Image<uint8_t>& mask, int radius, const Image<uint8_t>& scratch,
               const Workers& workers) {
  const int width = mask.width, height = mask.height;
  const auto add = [](uint8_t* to, const uint8_t* from, int count) {
    for (int x = 0; x < count; ++x) to[x] |= from[x];
  };
  for_each_row(workers, height, [&](int y) {
    std::memcpy(scratch.row(y), mask.row(y), static_cast<size_t>(width));
    for (int v = std::max(0, y - radius); v <= std::min(height - 1, y + radius); ++v) {
      add(scratch.row(y), mask.row(v), width);
    }
  });
  for_each_row(workers, height, [&](int y) {
    std::memcpy(mask.row(y), scratch.row(y), static_cast<size_t>(width));
    for (int d = 1; d <= std::min(radius, width - 1); ++d) {
      add(mask.row(y), scratch.row(y) + d, width - d);
      add(mask.row(y) + d, scratch.row(y), width - d);
    }
  });
}

// Returns the opacity of the foreground: the mask or the hidden pixels, averaged over a square
// around each pixel if plan.feather is not 0. Hidden pixels grow first by as much as the average
// reaches, so that they stay opaque.
Image<const uint8_t> foreground_opacity(const CompositePlan& plan, FrameWorkspace& workspace,
                                        Size size, const Workers& workers) {
  const Image<uint8_t> mask = picture_of(plan.hides() ? workspace.hidden : workspace.mask, size);
  if (plan.hides() && plan.grow + plan.feather > 0) {
    grow_mask(mask, plan.grow + plan.feather, picture_of(workspace.counts, size), workers);
  }
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

// Computes the mean colour of each cell. For a blur, smooths it over neighbouring cells. Stores the
// colours in the workspace and refers to them in composition.means.
void average(const ConstFrame& in, Composition& composition, FrameWorkspace& workspace,
             const Workers& workers) {
  const CompositePlan& plan = composition.plan;
  const ColorCells cells =
      color_cells_of(plan, in.size(), workspace.cell_sums.data(), workspace.cell_weights.data());
  const Image<const uint8_t> alpha =
      plan.hides() ? composition.alpha : picture_of(workspace.mask, in.size());
  for_each_row(workers, cells.rows, [&](int j) {
    for (int i = 0; i < cells.columns; ++i) sum_cell(cells, in, alpha, i, j);
  });
  for (int c = 0; c < in.layout.channels; ++c) {
    const Image<uint16_t> means{workspace.means[c].data(), cells.columns, cells.rows,
                                static_cast<ptrdiff_t>(sizeof(uint16_t)) * cells.columns};
    for_each_row(workers, cells.rows, [&](int j) {
      for (int i = 0; i < cells.columns; ++i) {
        means(i, j) = static_cast<uint16_t>(plan.blurs() ? smooth_cell(cells, c, i, j)
                                                         : mean_of_cell(cells, c, i, j));
      }
    });
    composition.means[c] = means;
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

void hide_foreground(const CompositePlan& plan, ModelState& model, FrameWorkspace& workspace,
                     const Workers& workers) {
  const Size size = model.size;
  const bool hides_all = plan.hides_all(model.frame, model.watch.change);
  const Image<const uint8_t> mask = picture_of(workspace.mask, size);
  const Image<uint8_t> hidden = picture_of(workspace.hidden, size);
  const Image<uint8_t> held = picture_of(model.held, size);
  for_each_row(workers, size.height, [&](int y) {
    for (int x = 0; x < size.width; ++x) {
      const bool is_foreground = hides_all || mask(x, y) != 0;
      hidden(x, y) = is_hidden(held(x, y), is_foreground, plan.hold) ? 255 : 0;
    }
  });
}

void composite_output(const FrameTask& task, const CompositePlan& plan,
                      const Replacements& replacements, FrameWorkspace& workspace,
                      const Workers& workers) {
  const Size size = task.in.size();
  if (!task.foreground.empty()) {
    const Image<const uint8_t> mask = picture_of(workspace.mask, size);
    for (int y = 0; y < size.height; ++y) {
      std::memcpy(task.foreground.row(y), mask.row(y), static_cast<size_t>(size.width));
    }
  }
  if (task.out.empty() || plan.output == GraphCutOutput::none) return;
  const Image<const uint8_t> alpha = foreground_opacity(plan, workspace, size, workers);
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
  Composition composition{plan, task.out, alpha, replacements.image, replacements.background, {}};
  if (plan.averages()) average(task.in, composition, workspace, workers);
  copy_rows(task.in, task.out);
  // Two rows may share chroma samples, so one thread processes both.
  for_each_row(workers, (size.height + 1) / 2, [&](int pair) {
    for (int y = 2 * pair; y < std::min(size.height, 2 * pair + 2); ++y) {
      for (int x = 0; x < size.width; ++x) composite_pixel(composition, x, y);
    }
  });
}

}  // namespace regions::graphcutbg
