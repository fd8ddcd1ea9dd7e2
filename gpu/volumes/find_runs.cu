// Foreground bits of every layer, and the runs of every band. The picture is read once.
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = BandBlock::threads;

// One byte a voxel, rows 16-byte aligned: a thread turns 32 voxels into a word.
__global__ __launch_bounds__(kThreads) void threshold_bytes_kernel(Image<const uint8_t> image,
                                                                   Levels levels, Volume v) {
  const uint32_t words = static_cast<uint32_t>(v.words);
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  const int rows = v.stack.volume_rows();
  if (i >= static_cast<uint32_t>(rows) * words) return;
  const int row = static_cast<int>(i / words), w = static_cast<int>(i % words);
  const uint8_t* pixels = image.row(row) + w * 32;
  uint32_t values[8] = {};
  if (image.width - w * 32 >= 32) {
    const uint4 low = *reinterpret_cast<const uint4*>(pixels);
    const uint4 high = *reinterpret_cast<const uint4*>(pixels + 16);
    values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
    values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
  } else {
    for (int k = 0; k < image.width - w * 32; ++k) {
      values[k / 4] |= static_cast<uint32_t>(pixels[k]) << k % 4 * 8;
    }
  }
  const uint32_t within = inside(v, w);
  for (int layer = 0; layer < v.stack.layers; ++layer) {
    const auto level = static_cast<uint32_t>(levels.level[layer]);
    uint32_t bits = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const uint32_t ones = __vcmpgeu4(values[k], level * 0x01010101u) & 0x01010101u;
      bits |= (ones * 0x01020408u >> 24 & 15u) << 4 * k;
    }
    if (level > 255) bits = 0;
    const size_t at = (static_cast<size_t>(layer) * rows + row) * words + w;
    v.bits[at] = bits & within;
    v.firsts[at] = 0;
  }
}

__device__ int value_of(const Subject& subject, int x, int row) {
  const ConstFrame& frame = subject.frame;
  switch (subject.measure) {
    case cclabel::Measure::alpha:
      return frame.sample(3, x, row);
    case cclabel::Measure::nonzero:
      if (frame.layout.sample_bytes == 4) {
        return *reinterpret_cast<const uint32_t*>(frame.at(0, x, row)) != 0;
      }
      return frame.sample(0, x, row);
    default:
      return value_at(frame, x, row);
  }
}

// Any format: a warp reads a word, a lane its voxel.
__global__ __launch_bounds__(kThreads) void threshold_voxels_kernel(Subject subject, Levels levels,
                                                                    Volume v) {
  const uint32_t words = static_cast<uint32_t>(v.words);
  const uint32_t i = (blockIdx.x * kThreads + threadIdx.x) / 32;
  const int rows = v.stack.volume_rows();
  if (i >= static_cast<uint32_t>(rows) * words) return;
  const int row = static_cast<int>(i / words), w = static_cast<int>(i % words);
  const int lane = static_cast<int>(threadIdx.x % 32), x = w * 32 + lane;
  const int value = x < v.stack.slice.width ? value_of(subject, x, row) : -1;
  for (int layer = 0; layer < v.stack.layers; ++layer) {
    const uint32_t bits = __ballot_sync(0xffffffffu, value >= levels.level[layer]);
    if (lane != 0) continue;
    const size_t at = (static_cast<size_t>(layer) * rows + row) * words + w;
    v.bits[at] = bits;
    v.firsts[at] = 0;
  }
}

// A thread makes a band's word.
__global__ __launch_bounds__(kThreads) void make_bands_kernel(Volume v) {
  const Share<1> all(v);
  if (!all.exists) return;
  const BandPlace& place = all.place;
  uint32_t bits = 0;
  for (int dz = 0; dz < v.band_slices; ++dz) {
    for (int dy = 0; dy < v.band_rows; ++dy) {
      bits |= bits_at(v, place, place.w, place.y + dy, place.z + dz);
    }
  }
  v.band[place.word] = bits;
}

bool reads_bytes(const Subject& subject) {
  const Layout& layout = subject.frame.layout;
  const auto address = reinterpret_cast<uintptr_t>(subject.frame.plane[0]);
  return subject.measure == cclabel::Measure::value && layout.model != ColorModel::rgb &&
         layout.sample_bytes == 1 && layout.component[0].step == 1 &&
         (address | static_cast<uintptr_t>(subject.frame.pitch[0])) % 16 == 0;
}

}  // namespace

void find_runs(const Subject& subject, const Levels& levels, const Volume& volume,
               cudaStream_t stream) {
  const size_t words = static_cast<size_t>(volume.stack.volume_rows()) * volume.words;
  if (reads_bytes(subject)) {
    const auto image =
        subject.frame.plane_as<const uint8_t>(0, subject.frame.width, subject.frame.height);
    launch(threshold_bytes_kernel, blocks_for(words, kThreads), kThreads, 0, stream, image, levels,
           volume);
  } else {
    launch(threshold_voxels_kernel, blocks_for(words * 32, kThreads), kThreads, 0, stream, subject,
           levels, volume);
  }
  launch(make_bands_kernel, band_grid(volume, 1, kThreads), kThreads, 0, stream, volume);
}

}  // namespace regions::volumes
