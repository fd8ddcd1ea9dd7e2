// SLIC superpixels: the parameters, and checks that both backends share. clusters.hpp and
// fragments.hpp contain the arithmetic.
//
// Achanta et al., "SLIC superpixels compared to state-of-the-art superpixel methods", IEEE TPAMI
// 34(11), 2012. The picture is divided into equal cells with one cluster each. A pixel chooses
// among the clusters of the cell that contains it and of the eight neighbouring cells. The sums of
// a cluster are integers, so neither the number nor the order of threads changes a label.
#pragma once

#include "core/algorithm.hpp"
#include "core/drawing/drawing.hpp"

namespace regions {

enum class ColorSpace : uint8_t { lab, rgb, luma };
enum class SlicMethod : uint8_t { fused, ece1782 };
enum class SlicVariant : uint8_t { slic, slico };
enum class SlicOutput : uint8_t { overlay, labels, boundaries, mean, none };

// The properties of the element. The parameter table in slicsuperpixel.cpp documents each of them.
struct SlicParams : DrawingParams {
  SlicParams() {
    style = static_cast<uint32_t>(Style::outlines);
    thickness = 1;
  }
  int region_size = 16;
  uint32_t superpixels = 0;
  double compactness = 8;
  SlicVariant variant = SlicVariant::slic;
  SlicMethod method = SlicMethod::fused;
  int ece1782_step = 7;  // for benchmarks and tests: optimisation steps of method=report, 1..7
  int iterations = 10;
  int row_step = 2;
  double tolerance = 0;
  ColorSpace color_space = ColorSpace::lab;
  double min_size = 0.25;
  bool warm_start = false;
  uint32_t max_regions = 1 << 16;
  bool attach_covariance = false;
  bool attach_adjacency = false;
  SlicOutput output = SlicOutput::overlay;
};

namespace slicsuperpixel {
using Params = SlicParams;  // the name that meson.build's list of algorithms requires
}

std::span<const Field> fields_of(const SlicParams&);
Output output_of(const SlicParams& params);
// Derives the fields of a setup from the parameters.
void plan(const SlicParams& params, Setup& setup);

// Returns how many of `total` superpixels get a label. `out` is the layout of the output picture,
// if there is one. Throws InputError if output=labels and the picture cannot store all labels.
LabelCapacity label_capacity(const SlicParams& params, uint32_t total, const Layout& out);

// Throws InputError unless superpixels can be computed for pictures of this setup.
void expects_superpixels(const Setup& setup);

}  // namespace regions
