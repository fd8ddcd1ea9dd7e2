// A row is spread to one array a component, then looked up.
#include "cpu/slicsuperpixel/colors.hpp"

#include "cpu/pixel_rows.hpp"

namespace regions {
namespace {

template <class Sample>
void convert_row(const Sample* const (&value)[3], int width, const ColorReader& reader,
                 int8_t* const (&to)[3]) {
  const LabTables& tables = lab_tables();
  const int drop = reader.decoder.drop;
  for (int x = 0; x < width; ++x) {
    const uint32_t color =
        reader.color(tables, value[0][x] >> drop, value[1][x] >> drop, value[2][x] >> drop);
    for (int c = 0; c < 3; ++c) to[c][x] = static_cast<int8_t>(color >> (8 * c));
  }
}

// The ordinary case: R, G and B of one byte to Lab.
void convert_rgb_row(const uint8_t* const (&value)[3], int width, int8_t* const (&to)[3]) {
  const LabTables& tables = lab_tables();
  for (int x = 0; x < width; ++x) {
    const uint32_t color = lab_of(tables, value[0][x], value[1][x], value[2][x]);
    for (int c = 0; c < 3; ++c) to[c][x] = static_cast<int8_t>(color >> (8 * c));
  }
}

}  // namespace

void read_colors(const ConstFrame& frame, const ColorReader& reader, const ColorPlanes& planes,
                 int begin, int end, std::byte* scratch) {
  const size_t row_bytes = color_scratch_bytes(frame.width) / 3;
  const bool is_plain = frame.layout.model == ColorModel::rgb && reader.space == ColorSpace::lab;
  for (int y = begin; y < end; ++y) {
    const std::byte* row[3] = {channel_row(frame, 0, y, scratch)};
    for (int c = 1; c < 3; ++c) {
      row[c] = c < frame.layout.channels
                   ? channel_row(frame, c, y, scratch + static_cast<size_t>(c) * row_bytes)
                   : row[0];
    }
    int8_t* const to[3] = {planes.plane[0].row(y), planes.plane[1].row(y), planes.plane[2].row(y)};
    const auto as = [&]<class Sample>(Sample) {
      const Sample* const values[3] = {reinterpret_cast<const Sample*>(row[0]),
                                       reinterpret_cast<const Sample*>(row[1]),
                                       reinterpret_cast<const Sample*>(row[2])};
      if constexpr (sizeof(Sample) == 1) {
        if (is_plain) return convert_rgb_row(values, frame.width, to);
      }
      convert_row(values, frame.width, reader, to);
    };
    if (frame.layout.sample_bytes == 1) {
      as(uint8_t{});
    } else {
      as(uint16_t{});
    }
  }
}

}  // namespace regions
