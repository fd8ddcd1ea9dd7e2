// Ownership of the report's method: each pixel goes to the nearest of nine superpixels, the first
// of equally near ones in raster order.
#include "gpu/slicsuperpixel/report.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = PixelBlock::threads;

// Squared distances are integers below 2^24, exact in floats too: it matters to no label which
// unit works them out. The two are added as floats, rounded twice and never fused.
template <bool kInFloats>
__device__ inline float distance_to(const ReportMean& mean, uchar4 color, int x, int y,
                                    float factor) {
  const int dx = x - mean.x, dy = y - mean.y;
  const float places = __fmul_rn(static_cast<float>(dx * dx + dy * dy), factor);
  if constexpr (kInFloats) {
    const float l = static_cast<float>(color.x) - static_cast<float>(mean.color[0]);
    const float a = static_cast<float>(color.y) - static_cast<float>(mean.color[1]);
    const float b = static_cast<float>(color.z) - static_cast<float>(mean.color[2]);
    return __fadd_rn(l * l + a * a + b * b, places);
  } else {
    const int l = color.x - mean.color[0], a = color.y - mean.color[1], b = color.z - mean.color[2];
    return __fadd_rn(static_cast<float>(l * l + a * a + b * b), places);
  }
}

struct Nearest {
  float distance = 3e38f;
  int place = 4;

  __device__ void offer(float other, int at) {
    if (other >= distance) return;
    distance = other;
    place = at;
  }
};

// Writes an owner in one store or two.
template <bool kWide>
__device__ inline void store(Owner& to, Owner owner) {
  if constexpr (kWide) {
    *reinterpret_cast<uint32_t*>(&to) = owner.column | static_cast<uint32_t>(owner.row) << 16;
  } else {
    auto* halves = reinterpret_cast<volatile uint16_t*>(&to);
    halves[0] = owner.column;
    halves[1] = owner.row;
  }
}

__device__ inline Owner owner_of(int column, int row, int place) {
  return {static_cast<uint16_t>(column + place % 3 - 1),
          static_cast<uint16_t>(row + place / 3 - 1)};
}

__global__ __launch_bounds__(kThreads) void pixels_kernel(Report report) {
  const SlicGrid& grid = report.grid;
  const int x = static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32);
  const int y = static_cast<int>(blockIdx.y * (kThreads / 32) + threadIdx.x / 32);
  if (x >= grid.size.width || y >= grid.size.height) return;
  const int column = x / grid.width, row = y / grid.height;
  const uchar4 color = color_at<false>(report.colors, x, y);
  Nearest nearest;
  for (int place = 0; place < kCandidates; ++place) {
    const int cx = column + place % 3 - 1, cy = row + place / 3 - 1;
    if (cx < 0 || cy < 0 || cx >= grid.columns || cy >= grid.rows) continue;
    const ReportMean& mean = report.means[grid.index(cx, cy)];
    if (mean.alive) nearest.offer(distance_to<false>(mean, color, x, y, report.factor), place);
  }
  store<false>(report.owners(x, y), owner_of(column, row, nearest.place));
}

// A block has kPixels * kThreads pixels of one cell.
template <bool kWide, int kPixels, bool kInFloats>
__global__ __launch_bounds__(kThreads) void cells_kernel(Report report) {
  __shared__ ReportMean means[kCandidates];
  const SlicGrid& grid = report.grid;
  const int column = static_cast<int>(blockIdx.x), row = static_cast<int>(blockIdx.y);
  if (threadIdx.x < kCandidates) {
    const int cx = column + static_cast<int>(threadIdx.x) % 3 - 1;
    const int cy = row + static_cast<int>(threadIdx.x) / 3 - 1;
    const bool inside = cx >= 0 && cy >= 0 && cx < grid.columns && cy < grid.rows;
    means[threadIdx.x] = inside ? report.means[grid.index(cx, cy)] : ReportMean{};
  }
  __syncthreads();  // all neighbours are there
  const CellPixels pixels(grid, column, row);
  const int first =
      static_cast<int>(blockIdx.z) * kPixels * kThreads + static_cast<int>(threadIdx.x);
  int x[kPixels], y[kPixels];
  uchar4 color[kPixels];
  Nearest nearest[kPixels];
#pragma unroll
  for (int k = 0; k < kPixels; ++k) {
    const int p = min(first + k * kThreads, pixels.count - 1);
    x[k] = pixels.x(p);
    y[k] = pixels.y(p);
    color[k] = color_at<kWide>(report.colors, x[k], y[k]);
  }
#pragma unroll
  for (int place = 0; place < kCandidates; ++place) {
    const ReportMean mean = means[place];
    if (!mean.alive) continue;
#pragma unroll
    for (int k = 0; k < kPixels; ++k) {
      nearest[k].offer(distance_to<kInFloats>(mean, color[k], x[k], y[k], report.factor), place);
    }
  }
#pragma unroll
  for (int k = 0; k < kPixels; ++k) {
    if (first + k * kThreads >= pixels.count) continue;
    store<kWide>(report.owners(x[k], y[k]), owner_of(column, row, nearest[k].place));
  }
}

template <bool kWide, int kPixels, bool kInFloats>
void launch_cells(const Report& report, cudaStream_t stream) {
  const SlicGrid& grid = report.grid;
  const auto pixels = static_cast<size_t>(grid.width) * static_cast<size_t>(grid.height);
  launch(cells_kernel<kWide, kPixels, kInFloats>,
         dim3(static_cast<unsigned>(grid.columns), static_cast<unsigned>(grid.rows),
              blocks_for(pixels, kPixels * kThreads)),
         kThreads, 0, stream, report);
}

}  // namespace

void choose_owners(const Report& report, cudaStream_t stream) {
  const Size size = report.grid.size;
  if (report.step < kNeighbours) {
    launch(pixels_kernel,
           dim3(blocks_for(static_cast<size_t>(size.width), 32),
                blocks_for(static_cast<size_t>(size.height), kThreads / 32)),
           kThreads, 0, stream, report);
  } else if (report.step < kWideLoads) {
    launch_cells<false, 1, false>(report, stream);
  } else if (report.step < kSeveral) {
    launch_cells<true, 1, false>(report, stream);
  } else if (report.step < kShared) {
    launch_cells<true, 8, false>(report, stream);
  } else {
    launch_cells<true, 8, true>(report, stream);
  }
}

}  // namespace regions::slic
