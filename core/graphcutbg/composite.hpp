// Compositing: makes the output picture from the input picture and the mask of the cut, with soft
// edges, a tint, a cut-out or a new background. The functions support all formats, and both
// backends use them.
#pragma once

#include "core/drawing/paint.hpp"
#include "core/drawing/regionoverlay.hpp"
#include "core/graphcutbg/background_model.hpp"
#include "core/graphcutbg/graphcutbg.hpp"

namespace regions::graphcutbg {

// Output settings derived from the parameters. Small enough to pass by value.
struct CompositePlan {
  GraphCutOutput output = GraphCutOutput::none;
  Replaced replaced = Replaced::background;
  Replacement replace_with = Replacement::color;
  int feather = 0;         // pixels
  int grow = 0;            // margin around the foreground that is hidden too, pixels
  int hold = 0;            // number of frames for which a pixel stays hidden
  int opacity = 0;         // opacity of the tint or of the new content, 1/256
  int cell = 1;            // side of the cells over which colours are averaged, pixels
  int color[3] = {};       // colour of the tint or of the new content, in the frame's components
  bool uses_image = true;  // the foreground comes from the background model, not only from a mask

  REGIONS_HD bool replaces_with(Replacement replacement) const {
    return output == GraphCutOutput::replace && replace_with == replacement;
  }
  REGIONS_HD bool shows_image() const { return replaces_with(Replacement::image); }
  REGIONS_HD bool blurs() const { return replaces_with(Replacement::blur); }
  REGIONS_HD bool pixelates() const { return replaces_with(Replacement::pixelate); }
  REGIONS_HD bool averages() const { return blurs() || pixelates(); }
  // The learnt background is visible. The output must then be written before the next frame
  // updates the model.
  REGIONS_HD bool shows_model() const {
    return output == GraphCutOutput::background || replaces_with(Replacement::model);
  }
  REGIONS_HD bool hides() const {
    return output == GraphCutOutput::replace && replaced == Replaced::foreground;
  }
  // Whether this frame is hidden as a whole, because the model does not know its foreground.
  REGIONS_HD bool hides_all(const FramePlan& frame, SceneChange change) const {
    return uses_image && (frame.starts || change != SceneChange::none);
  }
};

// Hides a pixel of this frame if it is foreground or was in one of the last `hold` frames.
// `remaining` is the number of frames for which the pixel stays hidden.
REGIONS_HD inline bool is_hidden(uint8_t& remaining, bool foreground, int hold) {
  const bool was_held = remaining > 0;
  remaining = static_cast<uint8_t>(foreground ? hold : was_held ? remaining - 1 : 0);
  return foreground || was_held;
}

// Converts a colour of the model back to component c of a frame, see color_of(). RGB differs by at
// most 3 levels of 255 from the picture that was learnt. Samples of more than 8 bits have lost
// their low bits.
REGIONS_HD inline int component_of(const Color& color, int c, const Layout& layout,
                                   bool full_range) {
  if (layout.model == ColorModel::rgb) {
    const int u = color.u - 128, v = color.v - 128;  // BT.601, 8-bit fixed point
    const int difference = c == 0 ? 359 * v : c == 1 ? -88 * u - 183 * v : 454 * u;
    return clamp_byte(color.y + ((difference + 128) >> 8));
  }
  const bool limited = layout.model == ColorModel::yuv && !full_range;
  const int value = color[c] + (c == 0 && limited ? 16 : 0);
  return (value > 255 ? 255 : value) << (layout.sample_bits - 8);
}

// Converts stored components to 8-bit R, G, B, in fixed point.
struct RgbDecoder {
  static constexpr int kShift = 14;
  int32_t weight[3][3] = {};  // [red, green, blue][component], in units of 1 / (1 << kShift)
  int black = 0;              // value of black luma
  int middle = 0;             // value of neutral chroma
  int components = 1;         // number of components of the format: 1 or 3
  bool is_rgb = false;

  template <class Byte>
  REGIONS_HD void decode(const BasicFrame<Byte>& frame, int x, int y, int (&rgb)[3]) const {
    const int first = frame.sample(0, x, y);
    if (is_rgb) {
      rgb[0] = first;
      rgb[1] = frame.sample(1, x, y);
      rgb[2] = frame.sample(2, x, y);
      return;
    }
    const bool colored = components == 3;
    const int64_t u = colored ? frame.sample(1, x, y) - middle : 0;
    const int64_t v = colored ? frame.sample(2, x, y) - middle : 0;
    for (int i = 0; i < 3; ++i) {
      const int64_t sum = weight[i][0] * static_cast<int64_t>(first - black) + weight[i][1] * u +
                          weight[i][2] * v + (1 << (kShift - 1));
      rgb[i] = clamp_byte(static_cast<int>(sum >> kShift));
    }
  }
};

// Soft edges: the mask is averaged over a square. count_across() counts foreground pixels along a
// row (at most 2 * 64 + 1), and soften() averages the counts along a column. Pixels outside the
// picture repeat the nearest border pixel.
REGIONS_HD inline int clamp_index(int n, int end) { return n < 0 ? 0 : n >= end ? end - 1 : n; }

REGIONS_HD inline uint8_t count_across(const Image<const uint8_t>& mask, int feather, int x,
                                       int y) {
  int count = 0;
  const uint8_t* row = mask.row(y);
  for (int d = -feather; d <= feather; ++d) count += row[clamp_index(x + d, mask.width)] != 0;
  return static_cast<uint8_t>(count);
}
REGIONS_HD inline uint8_t soften(const Image<const uint8_t>& counts, int feather, int x, int y) {
  int sum = 0;
  for (int d = -feather; d <= feather; ++d) sum += counts(x, clamp_index(y + d, counts.height));
  const int max_strength = (2 * feather + 1) * (2 * feather + 1);
  return static_cast<uint8_t>((sum * 255 + max_strength / 2) / max_strength);
}

// Weighted sums of the picture over square cells, used to blur or pixelate. Hidden foreground is
// averaged over its own pixels alone: the weight of a pixel is its opacity. If the background is
// replaced, foreground pixels have a very low weight, so that their colours do not spread into the
// background. The weight is not zero, so that cells with only foreground have a mean.
struct ColorCells {
  // Weights of background pixels and of foreground pixels, if the background is replaced.
  static constexpr uint32_t kBackground = 256, kForeground = 1;
  bool hides = false;  // the foreground is replaced
  int columns = 0, rows = 0;
  int side = 1;                // side of a cell, pixels
  uint64_t* sum = nullptr;     // [3][rows][columns], weighted sums of the components
  uint32_t* weight = nullptr;  // [rows][columns], sums of the weights

  // Returns the number of cells in a picture of this size.
  static size_t count(Size size, int side) {
    const auto cells = [&](int pixels) { return static_cast<size_t>((pixels + side - 1) / side); };
    return cells(size.width) * cells(size.height);
  }
  REGIONS_HD size_t cells() const {
    return static_cast<size_t>(columns) * static_cast<size_t>(rows);
  }
};
REGIONS_HD inline ColorCells color_cells_of(const CompositePlan& plan, Size size, uint64_t* sum,
                                            uint32_t* weight) {
  const int side = plan.cell;
  return {plan.hides(), (size.width + side - 1) / side, (size.height + side - 1) / side, side, sum,
          weight};
}

// Computes the sums of cell (i, j). `alpha` is the opacity of the foreground.
template <class Byte>
REGIONS_HD void sum_cell(const ColorCells& cells, const BasicFrame<Byte>& frame,
                         const Image<const uint8_t>& alpha, int i, int j) {
  uint64_t sum[3] = {};
  uint32_t weight = 0;
  const int right = (i + 1) * cells.side < frame.width ? (i + 1) * cells.side : frame.width;
  const int bottom = (j + 1) * cells.side < frame.height ? (j + 1) * cells.side : frame.height;
  for (int y = j * cells.side; y < bottom; ++y) {
    for (int x = i * cells.side; x < right; ++x) {
      const uint32_t opacity = alpha(x, y);
      const uint32_t w = cells.hides    ? opacity
                         : opacity != 0 ? ColorCells::kForeground
                                        : ColorCells::kBackground;
      weight += w;
      for (int c = 0; c < frame.layout.channels; ++c) {
        sum[c] += static_cast<uint64_t>(w) * static_cast<uint64_t>(frame.sample(c, x, y));
      }
    }
  }
  const size_t at =
      static_cast<size_t>(j) * static_cast<size_t>(cells.columns) + static_cast<size_t>(i);
  for (int c = 0; c < 3; ++c) cells.sum[static_cast<size_t>(c) * cells.cells() + at] = sum[c];
  cells.weight[at] = weight;
}

// Mean of component c over cell (i, j). 0 if the cell has no weight: no pixel shows its mean.
REGIONS_HD inline int mean_of_cell(const ColorCells& cells, int c, int i, int j) {
  const size_t at =
      static_cast<size_t>(j) * static_cast<size_t>(cells.columns) + static_cast<size_t>(i);
  const uint64_t sum = cells.sum[static_cast<size_t>(c) * cells.cells() + at];
  const uint64_t weight = cells.weight[at];
  return weight == 0 ? 0 : static_cast<int>((sum + weight / 2) / weight);
}

// Weighted mean of component c over a cell and its eight neighbours. The weights are 4 for the
// cell, 2 for cells that share an edge, and 1 for cells that share a corner. 0 if all nine cells
// have no weight: no pixel that is replaced lies between the centre of this cell and its
// neighbours.
REGIONS_HD inline int smooth_cell(const ColorCells& cells, int c, int i, int j) {
  uint64_t sum = 0, weight = 0;
  for (int dj = -1; dj <= 1; ++dj) {
    for (int di = -1; di <= 1; ++di) {
      const size_t at = static_cast<size_t>(clamp_index(j + dj, cells.rows)) *
                            static_cast<size_t>(cells.columns) +
                        static_cast<size_t>(clamp_index(i + di, cells.columns));
      const uint64_t part = (di ? 1 : 2) * (dj ? 1 : 2);
      sum += part * cells.sum[static_cast<size_t>(c) * cells.cells() + at];
      weight += part * cells.weight[at];
    }
  }
  return weight == 0 ? 0 : static_cast<int>((sum + weight / 2) / weight);
}

// The blurred value at a pixel, interpolated between the four nearest cells.
REGIONS_HD inline int blurred(const Image<const uint16_t>& smooth, int side, int x, int y) {
  // Distance of the pixel from the centre of the first cell, half pixels.
  const int u = 2 * x + 1 - side, v = 2 * y + 1 - side;
  const int i = u < 0 ? -1 : u / (2 * side), j = v < 0 ? -1 : v / (2 * side);
  // Distance of the pixel from the centre of cell (i, j), half pixels.
  const int x_fraction = u - i * 2 * side, y_fraction = v - j * 2 * side;
  const int cell_width = 2 * side;
  const auto at = [&](int a, int b) {
    return static_cast<int64_t>(
        smooth(clamp_index(a, smooth.width), clamp_index(b, smooth.height)));
  };
  const int64_t upper = at(i, j) * (cell_width - x_fraction) + at(i + 1, j) * x_fraction;
  const int64_t lower = at(i, j + 1) * (cell_width - x_fraction) + at(i + 1, j + 1) * x_fraction;
  const int64_t max_strength = static_cast<int64_t>(cell_width) * cell_width;
  return static_cast<int>(
      (upper * (cell_width - y_fraction) + lower * y_fraction + max_strength / 2) / max_strength);
}

// Everything required to composite one frame.
struct Composition {
  CompositePlan plan;
  Frame picture;                         // changed in place
  Image<const uint8_t> alpha;            // opacity of the foreground, 0..255
  const uint16_t* image = nullptr;       // [3][height][width], components of replace-image
  const uint32_t* background = nullptr;  // [height][width], packed colours of the learnt background
  // [component], [rows][columns], results of smooth_cell() for a blur, of mean_of_cell() for
  // blocks.
  Image<const uint16_t> means[3];

  // The value of component c that is mixed into pixel (x, y).
  REGIONS_HD int replacement_at(int c, int x, int y) const {
    const size_t pixel =
        static_cast<size_t>(y) * static_cast<size_t>(picture.width) + static_cast<size_t>(x);
    if (plan.shows_model()) {
      const Color color = Color::load(background + pixel);
      return component_of(color, c, picture.layout, picture.color.full_range);
    }
    if (plan.blurs()) return blurred(means[c], plan.cell, x, y);
    if (plan.pixelates()) return means[c](x / plan.cell, y / plan.cell);
    if (plan.shows_image()) return image[static_cast<size_t>(c) * picture.size().area() + pixel];
    return plan.color[c];
  }
  // Weight of replacement_at(), 0..255 * 256.
  REGIONS_HD int strength(int x, int y) const {
    const bool is_tint = plan.output == GraphCutOutput::overlay;
    const int share = plan.output == GraphCutOutput::background ? 255
                      : is_tint || plan.hides()                 ? alpha(x, y)
                                                                : 255 - alpha(x, y);
    return share * plan.opacity;
  }
};

// Composites the samples that begin at pixel (x, y). A chroma sample begins at the upper left one
// of its pixels, and uses the mean strength of all its pixels. If one of the pixels must be hidden,
// it uses the maximum strength, so that no colour of a hidden pixel remains.
REGIONS_HD inline void composite_pixel(const Composition& composition, int x, int y) {
  const Frame& picture = composition.picture;
  for (int c = 0; c < picture.layout.channels; ++c) {
    const int across = 1 << picture.layout.component[c].x_shift;
    const int down = 1 << picture.layout.component[c].y_shift;
    if (x % across != 0 || y % down != 0) continue;
    int64_t strength = 0, strongest = 0;
    int pixels = 0;
    for (int dy = 0; dy < down && y + dy < picture.height; ++dy) {
      for (int dx = 0; dx < across && x + dx < picture.width; ++dx) {
        const int64_t part = composition.strength(x + dx, y + dy);
        strength += part;
        if (part > strongest) strongest = part;
        ++pixels;
      }
    }
    if (composition.plan.hides()) strength = strongest * pixels;
    if (strength == 0) continue;
    const int64_t max_strength = static_cast<int64_t>(pixels) * 255 * 256;
    const int64_t old = picture.sample(c, x, y);
    const int64_t replacement = composition.replacement_at(c, x, y);
    const int64_t mixed =
        (old * (max_strength - strength) + replacement * strength + max_strength / 2) /
        max_strength;
    picture.set_sample(c, x, y, static_cast<int>(mixed));
  }
}

// Writes pixel (x, y) of a cut-out: RGB of `in`, with the mask as alpha.
REGIONS_HD inline void cut_out(const ConstFrame& in, const RgbDecoder& decoder,
                               const Image<const uint8_t>& alpha, const Frame& out, int x, int y) {
  int rgb[3];
  decoder.decode(in, x, y, rgb);
  for (int c = 0; c < 3; ++c) out.set_sample(c, x, y, rgb[c]);
  out.set_sample(3, x, y, alpha(x, y));
}

CutLimits cut_limits_of(const GraphCutBgParams& params, bool resets);
// The plan with which regionoverlay hides regions by blocks or, if these are not chosen, by a blur.
CompositePlan hiding_plan_of(const RegionOverlayParams& params);
CompositePlan composite_plan_of(const GraphCutBgParams& params, const Setup& setup);
RgbDecoder decoder_of(const Layout& layout, const Colorimetry& color);

}  // namespace regions::graphcutbg
