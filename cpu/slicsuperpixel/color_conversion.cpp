// Conversion of pixels to the colour space of the clustering, on the CPU. Each row is first
// unpacked to one array per channel. Lookup tables then convert the samples.
#include <algorithm>

#include "cpu/pixel_rows.hpp"
#include "cpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {
namespace {

// Converts one row of samples in any format to colour components.
template <class Sample>
void convert_row(const Sample* const (&value)[3], int width, const ColorReader& reader,
                 int8_t* const (&to)[3]) {
  const LabTables& tables = lab_tables();
  const int dropped_bits = reader.decoder.drop;
  for (int x = 0; x < width; ++x) {
    const uint32_t color = reader.color(tables, value[0][x] >> dropped_bits,
                                        value[1][x] >> dropped_bits, value[2][x] >> dropped_bits);
    for (int c = 0; c < 3; ++c) to[c][x] = static_cast<int8_t>(color >> (8 * c));
  }
}

// The conversion of 8-bit RGB to CIELAB, which is the usual case, processes a row in chunks of
// kChunkPixels pixels. First the lookup tables are read pixel by pixel, because the CPU's gather
// instructions are slower. Then vector instructions compute the colours from the table values.
constexpr int kChunkPixels = 512;
// [axis][pixel]: the CIELAB function f() of X, Y and Z. f() is a cube root except for small values.
using CubeRoots = uint16_t[3][kChunkPixels];

void look_up_roots(const uint8_t* const (&value)[3], int begin, int count, CubeRoots& roots) {
  const LabTables& tables = lab_tables();
  const uint8_t* const red = value[0] + begin;
  const uint8_t* const green = value[1] + begin;
  const uint8_t* const blue = value[2] + begin;
  for (int i = 0; i < count; ++i) {
    const uint64_t sums =
        tables.share_of(0, red[i]) + tables.share_of(1, green[i]) + tables.share_of(2, blue[i]);
    for (int axis = 0; axis < 3; ++axis) {
      roots[axis][i] = static_cast<uint16_t>(tables.f(sums, axis));
    }
  }
}

template <int c>
REGIONS_INLINE void write_component(const CubeRoots& roots, int count, int8_t* to) {
  for (int i = 0; i < count; ++i) {
    const LabTerms terms = lab_terms(roots[0][i], roots[1][i], roots[2][i]);
    to[i] = static_cast<int8_t>(terms.component[c] >> LabTerms::kBits);
  }
}
REGIONS_CLONES void write_colors(const CubeRoots& roots, int begin, int count,
                                 int8_t* const (&to)[3]) {
  write_component<0>(roots, count, to[0] + begin);
  write_component<1>(roots, count, to[1] + begin);
  write_component<2>(roots, count, to[2] + begin);
}

void convert_rgb_row(const uint8_t* const (&value)[3], int width, int8_t* const (&to)[3]) {
  CubeRoots roots;
  for (int begin = 0; begin < width; begin += kChunkPixels) {
    const int count = std::min(kChunkPixels, width - begin);
    look_up_roots(value, begin, count, roots);
    write_colors(roots, begin, count, to);
  }
}

}  // namespace

void read_colors(const ConstFrame& frame, const ColorReader& reader, const ColorPlanes& planes,
                 int begin, int end, std::byte* scratch) {
  const size_t row_bytes = color_scratch_bytes(frame.width) / 3;
  const bool is_rgb_to_lab =
      frame.layout.model == ColorModel::rgb && reader.color_space == ColorSpace::lab;
  for (int y = begin; y < end; ++y) {
    const std::byte* row[3] = {channel_row(frame, 0, y, scratch)};
    for (int c = 1; c < 3; ++c) {
      row[c] = c < frame.layout.channels
                   ? channel_row(frame, c, y, scratch + static_cast<size_t>(c) * row_bytes)
                   : row[0];
    }
    int8_t* const to[3] = {planes.plane[0].row(y), planes.plane[1].row(y), planes.plane[2].row(y)};
    const auto convert_as = [&]<class Sample>(Sample) {
      const Sample* const values[3] = {reinterpret_cast<const Sample*>(row[0]),
                                       reinterpret_cast<const Sample*>(row[1]),
                                       reinterpret_cast<const Sample*>(row[2])};
      if constexpr (sizeof(Sample) == 1) {
        if (is_rgb_to_lab) return convert_rgb_row(values, frame.width, to);
      }
      convert_row(values, frame.width, reader, to);
    };
    if (frame.layout.sample_bytes == 1) {
      convert_as(uint8_t{});
    } else {
      convert_as(uint16_t{});
    }
  }
}

}  // namespace regions
