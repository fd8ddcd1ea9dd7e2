// What turns a tile of the volume into words of bits.
#pragma once

#include "gpu/cclabel/base/subject.hpp"
#include "gpu/cclabel/volumes/volume.hpp"
#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// Readers call put(i, word) for row i of the block's tile, with 0 outside the volume.

// One byte a voxel, rows 16-byte aligned: two threads read the 32 voxels of a row, side by side.
struct ByteReader {
  Image<const uint8_t> image;

  explicit ByteReader(const Subject& subject)
      : image(subject.frame.plane_as<const uint8_t>(0, subject.frame.width, subject.frame.height)) {
  }
  static bool can_read(const Subject& subject) {
    const Layout& layout = subject.frame.layout;
    const auto address = reinterpret_cast<uintptr_t>(subject.frame.plane[0]);
    return subject.measure == cclabel::Measure::value && layout.model != ColorModel::rgb &&
           layout.sample_bytes == 1 && layout.component[0].step == 1 &&
           (address | static_cast<uintptr_t>(subject.frame.pitch[0])) % 16 == 0;
  }
  template <class T, class Put>
  __device__ void read(Put put, const Volume& v, const TilePlace& place, int level) const {
    constexpr int kRows = T::threads / 2, kTurns = T::words / kRows;
    static_assert(T::words % kRows == 0 && (kTurns == 1 || kTurns % 2 == 0),
                  "two threads a row, and no row is left");
    const int half = static_cast<int>(threadIdx.x % 2), x = place.w * 32 + half * 16;
    uint32_t bits[kTurns];
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
      const int i = k * kRows + static_cast<int>(threadIdx.x / 2);
      const int y = place.y + i % T::rows, z = place.z + i / T::rows;
      const bool exists = y < v.stack.slice.height && z < v.stack.slices && level <= 255;
      bits[k] = exists ? half_word(x, z * v.stack.slice.height + y, level) : 0;
    }
    if constexpr (kTurns == 1) {
      const uint32_t other = __shfl_down_sync(kAllLanes, bits[0], 1);
      if (half == 0) put(static_cast<int>(threadIdx.x / 2), bits[0] | other << 16);
    } else {
      // Each puts every second of their rows.
#pragma unroll
      for (int k = 0; k < kTurns; k += 2) {
        const uint32_t given = half ? bits[k] : bits[k + 1];
        const uint32_t got = __shfl_xor_sync(kAllLanes, given, 1);
        const uint32_t word = half ? got | bits[k + 1] << 16 : bits[k] | got << 16;
        put((k + half) * kRows + static_cast<int>(threadIdx.x / 2), word);
      }
    }
  }

 private:
  // The 16 voxels from `x` on, as far as they are inside.
  __device__ uint32_t half_word(int x, int row, int level) const {
    const uint8_t* pixels = image.row(row) + x;
    const int rest = image.width - x;
    uint32_t bits = 0;
    if (rest < 16) {
      for (int k = 0; k < rest; ++k) bits |= static_cast<uint32_t>(pixels[k] >= level) << k;
      return bits;
    }
    const uint4 quads = *reinterpret_cast<const uint4*>(pixels);
    const uint32_t values[4] = {quads.x, quads.y, quads.z, quads.w};
    const uint32_t levels = static_cast<uint32_t>(level) * 0x01010101u;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const uint32_t ones = __vcmpgeu4(values[k], levels) & 0x01010101u;
      bits |= (ones * 0x01020408u >> 24 & 15u) << 4 * k;
    }
    return bits;
  }
};

// Any format: a warp reads a word, a lane its voxel.
struct VoxelReader {
  Subject subject;

  explicit VoxelReader(const Subject& s) : subject(s) {}

  template <class T, class Put>
  __device__ void read(Put put, const Volume& v, const TilePlace& place, int level) const {
    const int lane = static_cast<int>(threadIdx.x % 32), x = place.w * 32 + lane;
    for (int i = static_cast<int>(threadIdx.x / 32); i < T::words; i += T::threads / 32) {
      const int y = place.y + i % T::rows, z = place.z + i / T::rows;
      const bool exists = x < v.stack.slice.width && y < v.stack.slice.height && z < v.stack.slices;
      const bool is_set = exists && value_of(subject, x, z * v.stack.slice.height + y) >= level;
      const uint32_t word = __ballot_sync(kAllLanes, is_set);
      if (lane == 0) put(i, word);
    }
  }
};

}  // namespace regions::volumes

#endif
