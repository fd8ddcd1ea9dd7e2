// SLIC superpixels of volumes, of pictures with any number of channels, and inside a mask, in
// double precision. Pictures with bytes and 1 or 3 channels are processed by the faster
// slicsuperpixel.
//
// Achanta et al.: "SLIC superpixels compared to state-of-the-art superpixel methods", IEEE TPAMI
// 34(11), 2012. Irving: "maskSLIC: regional superpixel generation with application to local
// pathology characterisation in medical images", 2016.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "python/arrays.hpp"
#include "python/module.hpp"

namespace regions::python {
namespace {

using Pixels4 = HostArray<const double, nb::ndim<4>, nb::c_contig>;  // [z][y][x][channel]
using Mask3 = HostArray<const bool, nb::ndim<3>, nb::c_contig>;
using Labels3 = HostArray<int32_t, nb::ndim<3>, nb::c_contig>;
using Rows = HostArray<double, nb::ndim<2>, nb::c_contig>;
using Index3 = std::array<int64_t, 3>;

constexpr int32_t kNoCluster = -1;

// The arguments of cluster_pixels().
struct Clustering {
  const Pixels4& image;
  const bool* mask;     // null: all pixels
  const Rows& centers;  // [clusters], z, y, x and the channels
  Index3 reach;         // distance of the border of a cluster's search window, along each axis
  double step;          // spatial distance that counts as 1
  std::array<double, 3> spacing;
  bool is_slico, ignores_color;
  std::vector<int32_t> nearest;   // [pixels], cluster of each pixel, or kNoCluster
  std::vector<double> distance;   // [pixels], distance to the nearest cluster
  std::vector<double> max_color;  // [clusters], scale of colour distances in SLICO

  Index3 shape() const {
    return {static_cast<int64_t>(image.shape(0)), static_cast<int64_t>(image.shape(1)),
            static_cast<int64_t>(image.shape(2))};
  }
  size_t channels() const { return image.shape(3); }
  size_t columns() const { return 3 + channels(); }
  const double* center(size_t cluster) const { return centers.data() + cluster * columns(); }
  double color_distance(size_t pixel, const double* center) const {
    double sum = 0;
    for (size_t c = 0; c < channels(); ++c) {
      const double difference = image.data()[pixel * channels() + c] - center[3 + c];
      sum += difference * difference;
    }
    return sum;
  }
};

// Assigns to a cluster the pixels of its search window that are nearer to it than to the clusters
// before. Returns whether a pixel changed its cluster.
bool assign_window(Clustering& work, size_t cluster) {
  const double* center = work.center(cluster);
  const Index3 shape = work.shape();
  Index3 first, last;
  for (size_t axis = 0; axis < 3; ++axis) {
    const auto reach = static_cast<double>(work.reach[axis]);
    first[axis] = static_cast<int64_t>(std::max(center[axis] - reach, 0.0));
    last[axis] =
        static_cast<int64_t>(std::min(center[axis] + reach + 1, static_cast<double>(shape[axis])));
  }
  const auto square_at = [&](int64_t index, size_t axis) {
    const double offset = work.spacing[axis] * (center[axis] - static_cast<double>(index));
    return offset * offset;
  };
  const double weight = 1 / (work.step * work.step);
  const auto number = static_cast<int32_t>(cluster);
  bool has_changed = false;
  for (int64_t z = first[0]; z < last[0]; ++z) {
    for (int64_t y = first[1]; y < last[1]; ++y) {
      const double outer = square_at(z, 0) + square_at(y, 1);
      for (int64_t x = first[2]; x < last[2]; ++x) {
        const auto pixel = static_cast<size_t>((z * shape[1] + y) * shape[2] + x);
        if (work.mask && !work.mask[pixel]) continue;
        double distance = (outer + square_at(x, 2)) * weight;
        if (!work.ignores_color) {
          const double color = work.color_distance(pixel, center);
          distance += work.is_slico ? color / work.max_color[cluster] : color;
        }
        if (distance >= work.distance[pixel]) continue;
        work.distance[pixel] = distance;
        has_changed |= work.nearest[pixel] != number;
        work.nearest[pixel] = number;
      }
    }
  }
  return has_changed;
}

// Moves each cluster to the mean of its pixels. Clusters without pixels stay where they are.
void update_centers(const Clustering& work) {
  const Index3 shape = work.shape();
  const size_t columns = work.columns();
  std::vector<double> sums(work.centers.size());
  std::vector<int64_t> counts(work.centers.shape(0));
  size_t pixel = 0;
  for (int64_t z = 0; z < shape[0]; ++z) {
    for (int64_t y = 0; y < shape[1]; ++y) {
      for (int64_t x = 0; x < shape[2]; ++x, ++pixel) {
        const int32_t cluster = work.nearest[pixel];
        if (cluster == kNoCluster) continue;
        ++counts[static_cast<size_t>(cluster)];
        double* sum = sums.data() + static_cast<size_t>(cluster) * columns;
        sum[0] += static_cast<double>(z);
        sum[1] += static_cast<double>(y);
        sum[2] += static_cast<double>(x);
        const double* color = work.image.data() + pixel * work.channels();
        for (size_t c = 0; c < work.channels(); ++c) sum[3 + c] += color[c];
      }
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    const int64_t count = counts[i / columns];
    if (count > 0) work.centers.data()[i] = sums[i] / static_cast<double>(count);
  }
}

// SLICO: the largest colour distance that occurs in a cluster becomes its scale.
void update_color_scales(Clustering& work) {
  for (size_t pixel = 0; pixel < work.nearest.size(); ++pixel) {
    if (work.nearest[pixel] == kNoCluster) continue;
    const auto cluster = static_cast<size_t>(work.nearest[pixel]);
    work.max_color[cluster] =
        std::max(work.max_color[cluster], work.color_distance(pixel, work.center(cluster)));
  }
}

// Runs the iterations of SLIC, which move the rows of `centers`, and writes the cluster of each
// pixel to `labels`. Pixels outside the mask, and pixels that no search window contains, get -1.
void cluster_pixels(const Pixels4& image, const std::optional<Mask3>& mask, const Rows& centers,
                    const Index3& reach, double step, int iterations,
                    const std::array<double, 3>& spacing, bool is_slico, bool ignores_color,
                    const Labels3& labels) {
  const size_t pixels = labels.size();
  expects(image.size() == pixels * image.shape(3) && (!mask || mask->size() == pixels) &&
              centers.shape(1) == 3 + image.shape(3),
          "mask, centers and labels must match the image");
  const Unlocked unlocked;
  Clustering work{.image = image,
                  .mask = mask ? mask->data() : nullptr,
                  .centers = centers,
                  .reach = reach,
                  .step = step,
                  .spacing = spacing,
                  .is_slico = is_slico,
                  .ignores_color = ignores_color,
                  .nearest = std::vector<int32_t>(pixels, kNoCluster),
                  .distance = std::vector<double>(pixels),
                  .max_color = std::vector<double>(centers.shape(0), 1.0)};
  for (int i = 0; i < iterations; ++i) {
    std::ranges::fill(work.distance, std::numeric_limits<double>::max());
    bool has_changed = false;
    for (size_t k = 0; k < centers.shape(0); ++k) has_changed |= assign_window(work, k);
    if (!has_changed) break;
    update_centers(work);
    if (is_slico) update_color_scales(work);
  }
  std::ranges::copy(work.nearest, labels.data());
}

// Numbers connected pieces of clusters 0, 1, … in raster order. A piece with fewer than `min_size`
// pixels joins a neighbour, and a piece with `max_size` pixels ends. Pixels with -1 keep it.
// Returns the number of pieces.
int32_t connect_clusters(const Labels3& labels, int64_t min_size, int64_t max_size) {
  const Index3 shape{static_cast<int64_t>(labels.shape(0)), static_cast<int64_t>(labels.shape(1)),
                     static_cast<int64_t>(labels.shape(2))};
  const std::vector<int32_t> cluster(labels.data(), labels.data() + labels.size());
  std::fill_n(labels.data(), labels.size(), kNoCluster);
  int32_t count = 0;
  const Unlocked unlocked;
  std::vector<size_t> piece;  // its pixels, in the order of a breadth-first search
  for (size_t start = 0; start < cluster.size(); ++start) {
    if (cluster[start] == kNoCluster || labels.data()[start] != kNoCluster) continue;
    int32_t adjacent = 0;
    labels.data()[start] = count;
    piece.assign(1, start);
    for (size_t next = 0; next < piece.size() && static_cast<int64_t>(piece.size()) < max_size;
         ++next) {
      const auto pixel = static_cast<int64_t>(piece[next]);
      const Index3 index{pixel / (shape[1] * shape[2]), pixel / shape[2] % shape[1],
                         pixel % shape[2]};
      for (const auto& [axis, side] :
           {std::pair<size_t, int64_t>{2, 1}, {2, -1}, {1, 1}, {1, -1}, {0, 1}, {0, -1}}) {
        const int64_t moved = index[axis] + side;
        if (moved < 0 || moved >= shape[axis]) continue;
        const int64_t stride = axis == 2 ? 1 : axis == 1 ? shape[2] : shape[1] * shape[2];
        const auto other = static_cast<size_t>(pixel + side * stride);
        int32_t& label = labels.data()[other];
        if (cluster[other] == cluster[start] && label == kNoCluster) {
          label = count;
          piece.push_back(other);
          if (static_cast<int64_t>(piece.size()) >= max_size) break;
        } else if (label != kNoCluster && label != count) {
          adjacent = label;
        }
      }
    }
    if (static_cast<int64_t>(piece.size()) >= min_size) {
      ++count;
      continue;
    }
    for (const size_t pixel : piece) labels.data()[pixel] = adjacent;
  }
  return count;
}

// Moves each centre to the mean of the points that are nearest to it, `iterations` times (k-means:
// Lloyd, 1982).
void move_to_means(const HostArray<const double, nb::ndim<2>, nb::c_contig>& points,
                   const Rows& centers, int iterations) {
  const size_t axes = points.shape(1);
  expects(centers.shape(1) == axes, "centers must have as many columns as points");
  const Unlocked unlocked;
  for (int i = 0; i < iterations; ++i) {
    std::vector<double> sums(centers.size());
    std::vector<int64_t> counts(centers.shape(0));
    for (size_t p = 0; p < points.shape(0); ++p) {
      const double* point = points.data() + p * axes;
      size_t nearest = 0;
      double least = std::numeric_limits<double>::max();
      for (size_t k = 0; k < centers.shape(0); ++k) {
        double distance = 0;
        for (size_t axis = 0; axis < axes; ++axis) {
          const double offset = point[axis] - centers.data()[k * axes + axis];
          distance += offset * offset;
        }
        if (distance < least) {
          least = distance;
          nearest = k;
        }
      }
      ++counts[nearest];
      for (size_t axis = 0; axis < axes; ++axis) sums[nearest * axes + axis] += point[axis];
    }
    for (size_t j = 0; j < sums.size(); ++j) {
      const int64_t count = counts[j / axes];
      if (count > 0) centers.data()[j] = sums[j] / static_cast<double>(count);
    }
  }
}

}  // namespace

void bind_slic_volumes(nb::module_& module) {
  module.def("cluster_pixels", cluster_pixels, nb::arg("image"), nb::arg("mask").none(),
             nb::arg("centers"), nb::arg("reach"), nb::arg("step"), nb::arg("iterations"),
             nb::arg("spacing"), nb::arg("is_slico"), nb::arg("ignores_color"), nb::arg("labels"));
  module.def("connect_clusters", connect_clusters);
  module.def("move_to_means", move_to_means);
}

}  // namespace regions::python
