// The workspace of a frame.
#include "gpu/slicsuperpixel/slot.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "gpu/drawing/drawing.hpp"
#include "gpu/runtime/zeros.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

constexpr size_t kMaxIterations = 100;

// Pixels from a row of colours to the next: strips of 32 that begin in the picture may be read.
size_t color_stride(int width) { return (static_cast<size_t>(width) + 32 + 31) / 32 * 32; }
// Of codes and labels.
size_t row_stride(int width) { return (static_cast<size_t>(width) + 31) / 32 * 32; }

}  // namespace

void Slot::allocate(const std::shared_ptr<Backend>& backend, const Setup& setup,
                    SlicMethod method) {
  size_ = setup.size;
  {
    const Backend::Entry entry(*backend);
    pieces_.join_blocks = join_blocks();
  }
  const size_t cells = most_cells(size_);
  const auto rows = static_cast<size_t>(size_.height);
  // So may patches, and a few rows more where iterations leave out some.
  memory_.reserve(colors_, color_stride(size_.width) * (rows + 2 * kPatchRows));
  for (ClusterSums*& sums : sums_) memory_.reserve(sums, cells);
  for (uint32_t*& reach : reach_) memory_.reserve(reach, cells);
  memory_.reserve(moved_, kMaxIterations);
  memory_.reserve(codes_, row_stride(size_.width) * rows);
  memory_.reserve(labels_, row_stride(size_.width) * rows);
  if (method == SlicMethod::report) {
    memory_.reserve(owners_, row_stride(size_.width) * rows);
    memory_.reserve(report_sums_, most_report_cells(size_) * kCandidates);
    memory_.reserve(report_means_, most_report_cells(size_));
  }
  reserve_pieces();
  memory_.reserve(tracks_.largest, cells);
  memory_.reserve(tracks_.spares, cells);
  memory_.reserve(records_, setup.max_regions);
  memory_.reserve(moments_, setup.max_regions);
  if (setup.has_borders) reserve_borders(setup.max_regions);
  memory_.allocate(*backend);
  // Each frame leaves these as it finds them.
  fill_with_zeros(*backend, pieces_.arrivals, 2 * pieces_.tiles() * sizeof(uint32_t));
  fill_with_zeros(*backend, pieces_.of_rank, StayRule::kRanks * sizeof(uint32_t));
  if (setup.has_output && setup.out.format == setup.in.format) {
    ink_ = blank_device_ink(*backend, size_);
  }
}

// In the worst case every pixel is a piece.
void Slot::reserve_pieces() {
  using T = PieceTile;
  Pieces& p = pieces_;
  p.size = size_;
  p.columns = (size_.width + T::width - 1) / T::width;
  p.rows = (size_.height + T::rows - 1) / T::rows;
  p.stride = p.columns * T::width;
  const size_t ids = p.ids();
  const size_t padded = static_cast<size_t>(p.stride) * static_cast<size_t>(size_.height);
  memory_.reserve(p.component, padded);
  memory_.reserve(p.count, p.tiles());
  for (uint32_t** edge : {&p.top, &p.bottom}) {
    memory_.reserve(*edge, static_cast<size_t>(p.rows) * static_cast<size_t>(p.stride));
  }
  for (uint32_t** edge : {&p.left, &p.right}) {
    memory_.reserve(*edge, static_cast<size_t>(p.columns) * static_cast<size_t>(size_.height));
  }
  memory_.reserve(p.arrivals, 2 * p.tiles());
  memory_.reserve(p.parent, ids);
  memory_.reserve(p.first, ids);
  memory_.reserve(p.piece, ids);
  memory_.reserve(p.of_rank, StayRule::kRanks);
  memory_.reserve(p.bound, 1);
  for (auto& choice : p.choice) memory_.reserve(choice, ids);
  memory_.reserve(p.counts, 1);
  for (int list = 0; list < kJoinLists; ++list) {
    memory_.reserve(p.edges[list], p.edge_capacity(list));
    memory_.reserve(p.small[list], p.small_capacity(list));
  }
  memory_.reserve(p.firsts, padded / 32);
  memory_.reserve(p.tile_firsts, static_cast<size_t>(size_.height) * p.firsts_pitch() / 4);
  memory_.reserve(p.row_firsts, (static_cast<size_t>(size_.height) + 3) / 4 * 4);
  memory_.reserve(p.total, 1);
}

void Slot::reserve_borders(uint32_t regions) {
  Borders& b = borders_;
  b.places = std::bit_ceil(4 * regions);
  memory_.reserve(b.key, b.places);
  memory_.reserve(b.length, b.places);
  memory_.reserve(b.degree, regions);
  memory_.reserve(b.start, regions + 1);
  memory_.reserve(b.taken, regions);
  memory_.reserve(b.unsorted, most_borders(regions));
  memory_.reserve(b.sorted, most_borders(regions));
}

Borders Slot::borders(uint32_t capacity) const {
  Borders borders = borders_;
  borders.capacity = capacity;
  return borders;
}

Clusters Slot::clusters(const SlicGrid& grid, const SlicParams& params) const {
  Clusters clusters{grid,
                    scale_of(grid, params),
                    {colors_, size_.width, size_.height,
                     static_cast<ptrdiff_t>(color_stride(size_.width) * sizeof(uint32_t))},
                    {sums_[0], sums_[1], sums_[2]}};
  if (params.tolerance > 0) {
    clusters.moved = moved_;
    clusters.limit = movement_limit(grid, params);
  }
  if (params.variant == SlicVariant::slico) std::copy_n(reach_, 3, clusters.reach);
  return clusters;
}

Report Slot::report(const SlicGrid& grid, const SlicParams& params) const {
  expects(owners_ != nullptr, "method=report must be set before caps are negotiated");
  expects(grid.width >= kMinReportCell && grid.height >= kMinReportCell,
          "method=report requires cells of at least " + std::to_string(kMinReportCell) +
              " pixels a side, not " + std::to_string(grid.width) + "x" +
              std::to_string(grid.height));
  expects(params.variant == SlicVariant::slic && !params.warm_start,
          "method=report cannot be combined with variant=slico or warm-start=true");
  // 4: lightness has two units a Lab unit, and counts fully here.
  const double factor =
      4 * params.compactness * params.compactness / (static_cast<double>(grid.width) * grid.height);
  return {grid,
          clusters(grid, params).colors,
          static_cast<float>(factor),
          static_cast<int>(params.report_step),
          {owners_, size_.width, size_.height,
           static_cast<ptrdiff_t>(row_stride(size_.width) * sizeof(Owner))},
          report_sums_,
          report_means_};
}

LabelMap Slot::map_of(uint32_t* labels) const {
  return {labels, size_.width, size_.height,
          static_cast<ptrdiff_t>(row_stride(size_.width) * sizeof(uint32_t))};
}

Image<uint8_t> Slot::codes() const {
  return {codes_, size_.width, size_.height, static_cast<ptrdiff_t>(row_stride(size_.width))};
}

}  // namespace regions::slic
