// Drawing in two loops over bands of rows: where labels end (a bit a pixel); then each band copies
// its rows, stamps the ink that falls into it and paints.
#include "cpu/drawing.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/paint.hpp"
#include "cpu/label_edges.hpp"

namespace regions {
namespace {

constexpr int kBandRows = 64;  // whole tiles of ink and whole chroma samples, so bands share none
static_assert(kBandRows % Ink::kTileHeight == 0);

struct Rows {
  int begin, end;
};

void copy_rows(const ConstFrame& from, const Frame& to, Rows rows) {
  for (int p = 0; p < from.layout.planes; ++p) {
    if (from.plane[p] == to.plane[p]) continue;
    const size_t bytes = row_bytes(from.layout, p, from.size());
    // Rows of the plane that belong to the rows before `y`.
    const auto before = [&](int y) { return row_count(from.layout, p, {from.width, y}); };
    for (int y = before(rows.begin); y < before(rows.end); ++y) {
      std::memcpy(to.plane[p] + y * to.pitch[p], from.plane[p] + y * from.pitch[p], bytes);
    }
  }
}

// Writes the codes of all regions that fall into the rows.
void stamp_rows(const StampPlan& plan, std::span<const Region> regions, const Ink& ink, Rows rows) {
  const Rect band{plan.picture.left, rows.begin, plan.picture.right, rows.end - 1};
  const uint8_t* coverage = glyph_coverage();
  for (size_t i = 0; i < regions.size(); ++i) {
    const Stamp stamp(plan, regions[i], static_cast<uint32_t>(i));
    for (int k = 0; k < Stamp::kParts; ++k) {
      const Rect part = stamp.part(k).within(band);
      if (part.empty()) continue;
      for (int y = part.top; y <= part.bottom; ++y) {
        for (int x = part.left; x <= part.right; ++x) {
          uint32_t& code = ink.codes(x, y);
          code = std::max(code, stamp.code(k, x, y, coverage));
        }
      }
      for (int t = part.top / Ink::kTileHeight; t <= part.bottom / Ink::kTileHeight; ++t) {
        uint32_t* tiles = ink.tiles.row(t);
        std::fill(tiles + part.left / Ink::kTileWidth, tiles + part.right / Ink::kTileWidth + 1, 1);
      }
    }
  }
}

// Paints the blocks of two rows. `outline` and `shadow` hold the bits of either row.
template <int kXShift, int kYShift>
void paint_rows(const Painter& painter, const Tracks& tracks, const Ink& ink,
                const OutlineRow* const (&outlines)[2], int y0) {
  const Size size = painter.picture.size();
  const int rows = std::min(2, size.height - y0);
  const uint32_t* tiles = ink.tiles.row(y0 / Ink::kTileHeight);
  TrackColor color;
  for (int w = 0; w * 32 < size.width; ++w) {
    const bool inked = tiles[w * 32 / Ink::kTileWidth];
    uint32_t bright[2], dark[2];
    for (int r = 0; r < 2; ++r) {
      bright[r] = outlines[r] ? outlines[r]->bright(w) : 0;
      dark[r] = outlines[r] ? outlines[r]->dark(w) : 0;
    }
    const uint32_t lines = bright[0] | bright[1] | dark[0] | dark[1];
    if (!inked && lines == 0 && painter.fill_alpha == 0) continue;
    for (int b = 0; b < 32 && w * 32 + b < size.width; b += 2) {
      const int x0 = w * 32 + b;
      uint32_t codes[4] = {};
      if (inked) {
        for (int i = 0; i < 2 * rows; ++i) {
          if (x0 + (i & 1) >= size.width) continue;
          codes[i] = std::exchange(ink.codes(x0 + (i & 1), y0 + (i >> 1)), 0);
        }
      }
      const auto pairs = [b](const uint32_t(&bits)[2]) {
        return (bits[0] >> b & 3) | (bits[1] >> b & 3) << 2;
      };
      const unsigned outline = pairs(bright);
      const unsigned shadow = pairs(dark);
      const bool untouched = (codes[0] | codes[1] | codes[2] | codes[3] | outline | shadow) == 0;
      if (untouched && painter.fill_alpha == 0) continue;
      paint_block<kXShift, kYShift>(painter, tracks, x0, y0, codes, outline, shadow, color);
    }
  }
}

template <int kXShift, int kYShift>
void paint_band(const Painter& painter, const Tracks& tracks, const Ink& ink, int thickness,
                bool outlines, Rows rows) {
  OutlineRow row[2];
  for (int y = rows.begin; y < rows.end; y += 2) {
    const OutlineRow* drawn[2] = {};
    for (int r = 0; outlines && r < 2 && y + r < rows.end; ++r) {
      if (row[r].find(ink.edges, thickness, y + r)) drawn[r] = &row[r];
    }
    paint_rows<kXShift, kYShift>(painter, tracks, ink, drawn, y);
  }
  for (int t = rows.begin / Ink::kTileHeight; t * Ink::kTileHeight < rows.end; ++t) {
    std::fill_n(ink.tiles.row(t), ink.tiles.width, 0);
  }
}

using PaintBand = void (*)(const Painter&, const Tracks&, const Ink&, int thickness, bool outlines,
                           Rows);

// By how the format shares chroma among pixels.
PaintBand paint_band_for(const Layout& layout) {
  const Component& chroma = layout.component[1];
  if (chroma.y_shift) return paint_band<1, 1>;
  return chroma.x_shift ? paint_band<1, 0> : paint_band<0, 0>;
}

}  // namespace

void draw(const ConstFrame& in, const Frame& out, const LabelView& labels,
          std::span<const Region> regions, const DrawingParams& params, const Ink& ink,
          const Workers& workers) {
  const std::span<const Region> stamped =
      regions.first(std::min<size_t>(regions.size(), kMostStamped));
  const StampPlan plan = stamp_plan(out.size(), params);
  const Painter painter = painter_of(out, labels, params);
  const Tracks tracks{regions.data(), static_cast<uint32_t>(regions.size())};
  const bool outlines = params.style & static_cast<uint32_t>(Style::outlines) && !labels.empty();
  const PaintBand paint = paint_band_for(out.layout);
  const int bands = (out.height + kBandRows - 1) / kBandRows;
  const auto rows_of = [&](int band) {
    return Rows{band * kBandRows, std::min(out.height, (band + 1) * kBandRows)};
  };
  if (outlines) {
    workers.parallel_for(bands, [&](int band) {
      const auto [begin, end] = rows_of(band);
      find_label_edges(painter.labels, ink.edges, out.size(), begin, end);
    });
  }
  workers.parallel_for(bands, [&](int band) {
    copy_rows(in, out, rows_of(band));
    stamp_rows(plan, stamped, ink, rows_of(band));
    paint(painter, tracks, ink, params.thickness, outlines, rows_of(band));
  });
}

}  // namespace regions
