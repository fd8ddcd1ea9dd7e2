// Draws regions in two loops over bands of rows. The first loop finds the edges of labels. The
// second loop copies the rows of each band, stamps the ink of boxes and tags, and paints the ink,
// outlines and fill colours.
#include "cpu/drawing/drawing.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace regions {
namespace {

// The rows begin..end - 1.
struct RowRange {
  int begin, end;
};

void copy_rows(const ConstFrame& from, const Frame& to, RowRange rows) {
  for (int p = 0; p < from.layout.planes; ++p) {
    if (from.plane[p] == to.plane[p]) continue;
    const size_t bytes = row_bytes(from.layout, p, from.size());
    // Returns the number of rows of this plane that belong to the first y rows of the picture.
    const auto plane_rows = [&](int y) { return row_count(from.layout, p, {from.width, y}); };
    for (int y = plane_rows(rows.begin); y < plane_rows(rows.end); ++y) {
      std::memcpy(to.plane[p] + y * to.pitch[p], from.plane[p] + y * from.pitch[p], bytes);
    }
  }
}

// Returns a word with bit x set if words[x] or words[x ^ 1] is not 0.
uint32_t nonzero_pairs(const uint32_t* words) {
  uint32_t any = 0;
  for (int x = 0; x < 32; ++x) any |= words[x];
  if (any == 0) return 0;
  uint32_t bits = 0;
  for (int x = 0; x < 32; x += 2) bits |= ((words[x] | words[x + 1]) != 0 ? 3u : 0u) << x;
  return bits;
}

// The ink, outlines and labels of 32 columns of two image rows. The index [2] is the row.
struct Patch {
  uint32_t* codes[2];              // [2][32], ink codes; null if the row has no ink here
  uint32_t outline[2], shadow[2];  // one bit per column, as in OutlineRow
  bool has_labels;
  uint32_t labels[2][32];  // valid if has_labels is true

  void load_labels(const LabelSampler& sampler, Size picture, int x, int y) {
    has_labels = true;
    const int width = std::min(32, picture.width - x);
    for (int r = 0; r < 2; ++r) {
      const int inside = y + r < picture.height ? width : 0;
      read_labels(sampler, x, y + r, inside, labels[r]);
      std::fill(labels[r] + inside, labels[r] + 32, 0);
    }
  }

  // Returns the ink of the 2x2 pixels in columns `column` and `column` + 1, and clears their codes.
  BlockInk extract_block(int column) {
    BlockInk block;
    for (int i = 0; i < 4; ++i) {
      const int r = i >> 1;
      const int x = column + (i & 1);
      if (codes[r]) block.codes[i] = std::exchange(codes[r][x], 0);
      if (has_labels) block.labels[i] = labels[r][x];
      block.outline |= (outline[r] >> x & 1) << i;
      block.shadow |= (shadow[r] >> x & 1) << i;
    }
    return block;
  }
};

// Paints the rows y0 and y0 + 1.
template <class Stored>
void paint_rows(const Painter& painter, const Tracks& tracks, const Ink& ink,
                const OutlineRow* const (&outlines)[2], int y0) {
  const Size size = painter.picture.size();
  const uint32_t* tiles = ink.tiles.row(y0 / Ink::kTileHeight);
  const bool fills_regions = painter.fill_opacity != 0;
  TrackColor color;
  Patch patch;
  for (int word = 0; word * 32 < size.width; ++word) {
    const int x0 = word * 32;
    uint32_t columns = 0;  // one bit per column that may contain something to paint
    for (int r = 0; r < 2; ++r) {
      patch.outline[r] = outlines[r] ? outlines[r]->outline(word) : 0;
      patch.shadow[r] = outlines[r] ? outlines[r]->shadow(word) : 0;
      columns |= patch.shadow[r];
      // Rows of codes are padded to a multiple of 32 codes.
      const bool has_ink = tiles[x0 / Ink::kTileWidth] != 0 && y0 + r < size.height;
      patch.codes[r] = has_ink ? ink.codes.row(y0 + r) + x0 : nullptr;
    }
    patch.has_labels = false;
    if (columns != 0 || fills_regions) patch.load_labels(painter.labels, size, x0, y0);
    for (int r = 0; r < 2; ++r) {
      if (fills_regions) columns |= nonzero_pairs(patch.labels[r]);
      if (patch.codes[r]) columns |= nonzero_pairs(patch.codes[r]);
    }
    for (columns = (columns | columns >> 1) & 0x55555555u; columns != 0; columns &= columns - 1) {
      const int column = std::countr_zero(columns);
      paint_block<Stored>(painter, tracks, x0 + column, y0, patch.extract_block(column), color);
    }
  }
}

// Paints the rows of a band and clears the marks of the band's tiles.
template <class Stored>
void paint_band(const Painter& painter, const Tracks& tracks, const Ink& ink, int thickness,
                bool outlines, RowRange rows) {
  OutlineRow row[2];
  for (int y = rows.begin; y < rows.end; y += 2) {
    const OutlineRow* drawn[2] = {};
    for (int r = 0; outlines && r < 2 && y + r < rows.end; ++r) {
      if (row[r].compute(ink.edges, thickness, y + r)) drawn[r] = &row[r];
    }
    paint_rows<Stored>(painter, tracks, ink, drawn, y);
  }
  for (int t = rows.begin / Ink::kTileHeight; t * Ink::kTileHeight < rows.end; ++t) {
    std::fill_n(ink.tiles.row(t), ink.tiles.width, 0);
  }
}

}  // namespace

void draw(const ConstFrame& in, const Frame& out, const LabelView& labels,
          std::span<const Region> regions, const DrawingParams& params, const Ink& ink,
          const Workers& workers) {
  const std::span<const Region> stamped =
      regions.first(std::min<size_t>(regions.size(), kMaxStamped));
  const StampPlan plan = stamp_plan(out.size(), params);
  const Painter painter = painter_of(out, labels, params);
  const Tracks tracks{regions.data(), static_cast<uint32_t>(regions.size())};
  const bool outlines = params.style & static_cast<uint32_t>(Style::outlines) && !labels.empty();
  const int bands = (out.height + Ink::kBandHeight - 1) / Ink::kBandHeight;
  const auto rows_of_band = [&](int band) {
    return RowRange{band * Ink::kBandHeight, std::min(out.height, (band + 1) * Ink::kBandHeight)};
  };
  if (outlines) {
    workers.parallel_for(bands, [&](int band) {
      const auto [begin, end] = rows_of_band(band);
      find_label_edges(painter.labels, ink.edges, out.size(), begin, end);
    });
  }
  workers.parallel_for(bands, [&](int band) {
    copy_rows(in, out, rows_of_band(band));
    stamp_band(plan, stamped, ink, band);
    with_storage(out.layout, [&](auto stored) {
      paint_band<decltype(stored)>(painter, tracks, ink, params.thickness, outlines,
                                   rows_of_band(band));
    });
  });
}

}  // namespace regions
