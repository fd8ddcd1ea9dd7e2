// What the phases of labelling volumes leave for each other in one slot's workspace.
//
// Rows are words of 32 bits. Rows whose voxels are neighbours wherever their columns are make a
// band: two by two (y, z) of them with 26-connectivity, two (y) with 18 or, in a picture, 8, else
// one. The nodes of the forest are the runs of a word of a band, all its rows put together with OR.
// A node's number is 32 times its word's plus its first bit; so the smallest node of a region lies
// in the first slab of bands that the region reaches, and there, too, is its first voxel.
#pragma once

#include "core/cclabel.hpp"
#include "gpu/cclabel/tiles.hpp"
#include "gpu/launch.hpp"

namespace regions::volumes {

using cclabel::kNone;

// Most thresholds at once.
inline constexpr int kMostLayers = decltype(CcLabelParams::thresholds)::kMost;

struct Levels {
  int level[kMostLayers];  // foreground_level()
};

struct Volume {
  Stack stack;  // as labels come out
  int words;    // of a row
  int classes;  // 2: background has regions too
  Connectivity connectivity;
  int band_rows, band_slices;
  int bands_y, bands_z;  // of a volume

  int turns = 1;  // see Share

  uint32_t* bits;    // [layer][z][y][words] foreground
  uint32_t* band;    // [class][layer][bands_z][bands_y][words]
  uint32_t* parent;  // [class][layer][bands_z][bands_y][words][32], of nodes alone
  uint32_t* label;   // the same; of a root its first voxel, and then its label
  uint32_t* area;    // the same; of a root, where filters want it
  uint32_t* firsts;  // [layer][z][y][words] first voxels of regions
  uint32_t* sums;    // [words of firsts / kSumWords] first voxels there
  uint32_t* total;   // [2] regions, twice

  static constexpr uint32_t kSumWords = 1024;

  REGIONS_HD uint32_t slab_words() const { return static_cast<uint32_t>(bands_y * words); }
  REGIONS_HD uint32_t band_words() const {
    return static_cast<uint32_t>(classes * stack.layers * bands_z) * slab_words();
  }
  REGIONS_HD uint32_t row_words() const { return static_cast<uint32_t>(stack.rows() * words); }
};

// Cut for the connectivity of these parameters.
inline Volume shaped(Volume volume, const Stack& stack, Connectivity connectivity) {
  volume.stack = stack;
  volume.connectivity = connectivity;
  volume.words = (stack.slice.width + 31) / 32;
  volume.band_rows = within_slice(connectivity) == Connectivity::eight ? 2 : 1;
  volume.band_slices = connectivity == Connectivity::twenty_six ? 2 : 1;
  volume.bands_y = (stack.slice.height + volume.band_rows - 1) / volume.band_rows;
  volume.bands_z = (stack.slices + volume.band_slices - 1) / volume.band_slices;
  return volume;
}

// Blocks that have `parts` threads for each word of a band, `turns` times.
inline dim3 band_grid(const Volume& v, int parts, int threads) {
  const size_t blocks =
      (size_t{v.slab_words()} * static_cast<size_t>(parts) + static_cast<size_t>(threads) - 1) /
      static_cast<size_t>(threads);
  return {static_cast<unsigned>(blocks * static_cast<size_t>(v.turns)),
          static_cast<unsigned>(v.classes * v.stack.layers * v.bands_z)};
}

#ifdef __CUDACC__

// Where a word of a band lies: its column of words, its first row and slice.
struct BandPlace {
  uint32_t word;
  int w, y, z;
  int layer;
  uint32_t flip;   // all ones for the class of background
  uint32_t first;  // word of the volume's first band, of this class
};

// One of several threads that share the nodes of a word: each has some of its columns. Blocks of a
// grid of band_grid() have one slab, so that all but the column of words is the same for a block.
template <int parts>
struct Share {
  static constexpr int kColumns = 32 / parts;
  BandPlace place;
  uint32_t part;
  int turn;  // of so many that the grid goes over all words
  bool exists;

  __device__ explicit Share(const Volume& v) {
    const uint32_t blocks = gridDim.x / static_cast<uint32_t>(v.turns);
    turn = static_cast<int>(blockIdx.x / blocks);
    const uint32_t i = blockIdx.x % blocks * blockDim.x + threadIdx.x;
    part = i % parts;
    exists = i / parts < v.slab_words();
    const uint32_t in_slab = exists ? i / parts : 0;
    const uint32_t slab = blockIdx.y;
    const auto words = static_cast<uint32_t>(v.words);
    const auto bands_z = static_cast<uint32_t>(v.bands_z);
    const int k = static_cast<int>(slab / bands_z);
    place.word = slab * v.slab_words() + in_slab;
    place.w = static_cast<int>(in_slab % words);
    place.y = static_cast<int>(in_slab / words) * v.band_rows;
    place.z = static_cast<int>(slab % bands_z) * v.band_slices;
    place.layer = k % v.stack.layers;
    place.flip = k < v.stack.layers ? 0 : 0xffffffffu;
    place.first = static_cast<uint32_t>(k) * bands_z * v.slab_words();
  }
  __device__ uint32_t of(uint32_t bits) const {
    constexpr uint32_t kFirst = parts == 1 ? 0xffffffffu : (1u << kColumns % 32) - 1;
    return exists ? bits & kFirst << part * kColumns : 0;
  }
  // The same of 33 places: the last one has one more.
  __device__ uint64_t of_places(uint64_t places) const {
    const uint64_t end = exists && part + 1 == parts ? places >> 32 << 32 : 0;
    return of(static_cast<uint32_t>(places)) | end;
  }
};

// Which bits of a word of a row are inside.
__device__ inline uint32_t inside(const Volume& v, int w) {
  const int rest = v.stack.slice.width - w * 32;
  return rest >= 32 ? 0xffffffffu : cclabel::below(rest);
}

// A row's word of the place's volume and class; 0 outside.
__device__ inline uint32_t bits_at(const Volume& v, const BandPlace& place, int w, int y, int z) {
  const Size slice = v.stack.slice;
  if (w < 0 || y < 0 || z < 0 || w >= v.words || y >= slice.height || z >= v.stack.slices) return 0;
  const int row = (place.layer * v.stack.slices + z) * slice.height + y;
  const uint32_t bits = v.bits[static_cast<size_t>(row) * v.words + w];
  return (bits ^ place.flip) & inside(v, w);
}

__device__ inline uint32_t starts_of(uint32_t bits) { return bits & ~(bits << 1); }

// The node that has bit `b` of a band's word, which is `bits`.
__device__ inline uint32_t node_of(uint32_t word, uint32_t bits, int b) {
  return word * 32 + 31 -
         static_cast<uint32_t>(__clz(static_cast<int>(starts_of(bits) & cclabel::up_to(b))));
}

// The bits of the run that begins at bit b.
__device__ inline uint32_t run_from(uint32_t bits, int b) {
  const uint32_t gaps = ~bits & ~cclabel::up_to(b);
  return bits & ~cclabel::below(b) & (gaps ? (gaps & (0u - gaps)) - 1 : 0xffffffffu);
}

// The word of the band (of one or two rows and slices) that a row belongs to.
__device__ inline uint32_t band_word(const Volume& v, int cls, int layer, int w, int y, int z) {
  const int slab = (cls * v.stack.layers + layer) * v.bands_z + (z >> (v.band_slices - 1));
  return static_cast<uint32_t>((slab * v.bands_y + (y >> (v.band_rows - 1))) * v.words + w);
}

#endif

}  // namespace regions::volumes
