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

  uint32_t* bits;    // [layer][z][y][words] foreground
  uint32_t* band;    // [class][layer][bands_z][bands_y][words]
  uint32_t* parent;  // [class][layer][bands_z][bands_y][words][32], of nodes alone
  uint32_t* label;   // the same; of a root its first voxel, and then its label
  uint32_t* area;    // the same; of a root, where filters want it
  uint32_t* firsts;  // [layer][z][y][words] first voxels of regions
  uint32_t* sums;    // [words of firsts / kSumWords] of them so many there
  uint32_t* total;   // [2] regions, twice

  static constexpr uint32_t kSumWords = 4096;

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

#ifdef __CUDACC__

// Where a word of a band lies: its column of words, its first row and slice.
struct BandPlace {
  int w, y, z;
  int volume;         // layer
  uint32_t flip;      // all ones for the class of background
  uint32_t first;     // word of the volume's first band, of this class
  uint32_t of_class;  // first word of the band itself
};

__device__ inline BandPlace place_of(const Volume& v, uint32_t word) {
  BandPlace place;
  const uint32_t words = static_cast<uint32_t>(v.words), slab = v.slab_words();
  place.w = static_cast<int>(word % words);
  place.of_class = word - static_cast<uint32_t>(place.w);
  const uint32_t slabs = word / slab;
  place.y = static_cast<int>(word % slab / words) * v.band_rows;
  place.z = static_cast<int>(slabs % static_cast<uint32_t>(v.bands_z)) * v.band_slices;
  const int k = static_cast<int>(slabs / static_cast<uint32_t>(v.bands_z));
  place.volume = k % v.stack.layers;
  place.flip = k < v.stack.layers ? 0 : 0xffffffffu;
  place.first = static_cast<uint32_t>(k * v.bands_z) * slab;
  return place;
}

// Which bits of a word of a row are inside.
__device__ inline uint32_t inside(const Volume& v, int w) {
  const int rest = v.stack.slice.width - w * 32;
  return rest >= 32 ? 0xffffffffu : cclabel::below(rest);
}

// A row's word of the place's volume and class; 0 outside.
__device__ inline uint32_t bits_at(const Volume& v, const BandPlace& place, int w, int y, int z) {
  const Size slice = v.stack.slice;
  if (w < 0 || y < 0 || z < 0 || w >= v.words || y >= slice.height || z >= v.stack.slices) return 0;
  const int row = (place.volume * v.stack.slices + z) * slice.height + y;
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

// The word of the band that a row belongs to.
__device__ inline uint32_t band_word(const Volume& v, int cls, int layer, int w, int y, int z) {
  const int slab = (cls * v.stack.layers + layer) * v.bands_z + z / v.band_slices;
  return static_cast<uint32_t>((slab * v.bands_y + y / v.band_rows) * v.words + w);
}

#endif

}  // namespace regions::volumes
