// What turns a tile of the volume into words of bits.
#pragma once

#include "gpu/cclabel/subject.hpp"
#include "gpu/cclabel/warp.hpp"
#include "gpu/volumes/volume.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

using cclabel::Subject;

// What `binary` compares of a pixel.
__device__ inline int value_of(const Subject& subject, int x, int row) {
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

// Readers call put(i, word) for row i of the block's tile, with 0 outside the volume.

// One byte a voxel, rows 16-byte aligned: a thread turns the 32 voxels of a row into a word.
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
    const int i = static_cast<int>(threadIdx.x);
    if (i >= T::words) return;
    const int y = place.y + i % T::rows, z = place.z + i / T::rows;
    const bool exists = y < v.stack.slice.height && z < v.stack.slices && level <= 255;
    put(i, exists ? word(place.w, z * v.stack.slice.height + y, level) : 0);
  }

 private:
  __device__ uint32_t word(int w, int row, int level) const {
    const uint8_t* pixels = image.row(row) + w * 32;
    const int rest = image.width - w * 32;
    uint32_t bits = 0;
    if (rest < 32) {
      for (int k = 0; k < rest; ++k) bits |= static_cast<uint32_t>(pixels[k] >= level) << k;
      return bits;
    }
    const uint4 low = *reinterpret_cast<const uint4*>(pixels);
    const uint4 high = *reinterpret_cast<const uint4*>(pixels + 16);
    const uint32_t values[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    const uint32_t levels = static_cast<uint32_t>(level) * 0x01010101u;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
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
      const uint32_t word = __ballot_sync(cclabel::kAllLanes, is_set);
      if (lane == 0) put(i, word);
    }
  }
};

}  // namespace regions::volumes

#endif
