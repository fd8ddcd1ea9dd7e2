// Labelling volumes by flood fill with a stack.
#include "tests/cclabel/volume_oracle.hpp"

#include <algorithm>
#include <cmath>

namespace regions {
namespace {

struct Voxel {
  int x, y, z;
};

// One volume under one threshold.
class Flood {
 public:
  Flood(const ConstFrame& in, int slices, const CcLabelParams& params, double threshold)
      : in_(in), params_(params), width_(in.width), height_(in.height / slices), slices_(slices) {
    full_ = std::pow(2.0, in.layout.depth) - 1;
    level_ = threshold * full_;
    filled_.resize(static_cast<size_t>(width_) * static_cast<size_t>(in_.height));
    if (params.fill_holes > 0 && is_binary() && !params.label_background) fill_holes();
  }

  // Appends to `all`.
  void run(uint32_t layer, Labelling& all) {
    std::vector<uint32_t> labels(static_cast<size_t>(width_) * static_cast<size_t>(in_.height));
    std::vector<Region> found;
    for (int z = 0; z < slices_; ++z) {
      for (int y = 0; y < height_; ++y) {
        for (int x = 0; x < width_; ++x) {
          const bool is_member = !is_binary() || params_.label_background || is_bright({x, y, z});
          if (!is_member || labels[at({x, y, z})]) continue;
          const auto id = static_cast<uint32_t>(found.size() + 1);
          found.push_back(fill({x, y, z}, id, labels));
          found.back().layer = layer;
        }
      }
    }
    std::vector<uint32_t> renamed(found.size() + 1);
    for (Region& r : found) {
      const auto most = params_.max_area > 0 ? static_cast<uint64_t>(params_.max_area) : r.area;
      if (r.area < static_cast<uint64_t>(params_.min_area) || r.area > most) continue;
      renamed[r.id] = static_cast<uint32_t>(all.regions.size() + 1);
      r.id = r.track = renamed[r.id];
      all.regions.push_back(r);
    }
    for (const uint32_t label : labels) all.labels.push_back(renamed[label]);
  }

 private:
  bool is_binary() const { return params_.criterion == Criterion::binary; }
  int colors() const { return in_.layout.model == ColorModel::rgb ? 3 : 1; }
  double value(int c, const Voxel& v) const { return in_.sample(c, v.x, v.z * height_ + v.y); }
  size_t at(const Voxel& v) const {
    return (static_cast<size_t>(v.z) * static_cast<size_t>(height_) + static_cast<size_t>(v.y)) *
               static_cast<size_t>(width_) +
           static_cast<size_t>(v.x);
  }
  bool is_bright(const Voxel& v) const {
    if (filled_[at(v)]) return true;
    if (colors() == 1) return value(0, v) >= level_;
    return std::floor((77 * value(0, v) + 150 * value(1, v) + 29 * value(2, v) + 128) / 256) >=
           level_;
  }
  bool are_linked(const Voxel& a, const Voxel& b) const {
    if (is_binary()) return is_bright(a) == is_bright(b);
    double sum = 0;
    for (int c = 0; c < colors(); ++c) sum += std::abs(value(c, a) - value(c, b));
    return params_.criterion == Criterion::equal ? sum == 0 : sum < params_.tolerance * full_;
  }
  bool is_flat() const { return static_cast<int>(params_.connectivity) % 4 == 0; }  // 4 or 8
  bool touches_side(const Region& r) const {
    const bool in_slice =
        r.left == 0 || r.top == 0 || r.right == width_ - 1 || r.bottom == height_ - 1;
    return in_slice || (!is_flat() && (r.front == 0 || r.back == slices_ - 1));
  }
  // Dark regions are found like bright ones, with more neighbours where those have fewer.
  void fill_holes() {
    const int connectivity = static_cast<int>(params_.connectivity);
    neighbours_ = is_flat() ? 12 - connectivity : connectivity == 6 ? 26 : 6;
    std::vector<uint32_t> labels(filled_.size());
    std::vector<bool> filled(filled_.size());
    for (int z = 0; z < slices_; ++z) {
      for (int y = 0; y < height_; ++y) {
        for (int x = 0; x < width_; ++x) {
          if (is_bright({x, y, z}) || labels[at({x, y, z})]) continue;
          std::vector<Voxel> voxels;
          const Region r = fill({x, y, z}, 1, labels, &voxels);
          if (touches_side(r) || r.area > static_cast<uint64_t>(params_.fill_holes)) continue;
          for (const Voxel& v : voxels) filled[at(v)] = true;
        }
      }
    }
    filled_ = filled;
    neighbours_ = connectivity;
  }
  bool are_neighbours(int dx, int dy, int dz) const {
    const int steps = std::abs(dx) + std::abs(dy) + std::abs(dz);
    switch (neighbours_) {
      case 4:
        return dz == 0 && steps == 1;
      case 8:
        return dz == 0 && steps >= 1;
      case 6:
        return steps == 1;
      case 18:
        return steps == 1 || steps == 2;
      default:
        return steps >= 1;
    }
  }

  // Also lists the voxels, if the caller asks.
  Region fill(const Voxel& first, uint32_t id, std::vector<uint32_t>& labels,
              std::vector<Voxel>* voxels = nullptr) const {
    Region r{.id = id, .first_x = first.x, .first_y = first.y, .left = first.x, .top = first.y};
    r.right = r.left, r.bottom = r.top, r.first_z = r.front = r.back = first.z;
    labels[at(first)] = id;
    std::vector<Voxel> stack = {first};
    while (!stack.empty()) {
      const Voxel v = stack.back();
      stack.pop_back();
      if (voxels) voxels->push_back(v);
      r.left = std::min(r.left, v.x), r.right = std::max(r.right, v.x);
      r.top = std::min(r.top, v.y), r.bottom = std::max(r.bottom, v.y);
      r.front = std::min(r.front, v.z), r.back = std::max(r.back, v.z);
      r.area += 1;
      r.sum_x += static_cast<uint64_t>(v.x);
      r.sum_y += static_cast<uint64_t>(v.y);
      r.sum_z += static_cast<uint64_t>(v.z);
      for (int c = 0; c < colors(); ++c) r.sum_value[c] += static_cast<uint64_t>(value(c, v));
      for (int k = 0; k < 27; ++k) {
        const int dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1;
        const Voxel n{v.x + dx, v.y + dy, v.z + dz};
        if (!are_neighbours(dx, dy, dz) || n.x < 0 || n.y < 0 || n.z < 0) continue;
        if (n.x >= width_ || n.y >= height_ || n.z >= slices_) continue;
        if (labels[at(n)] || !are_linked(v, n)) continue;
        labels[at(n)] = id;
        stack.push_back(n);
      }
    }
    return r;
  }

  const ConstFrame in_;
  const CcLabelParams& params_;
  int width_, height_, slices_;
  int neighbours_ = static_cast<int>(params_.connectivity);
  std::vector<bool> filled_;  // voxels
  double full_, level_;
};

}  // namespace

Labelling label_volumes_slowly(const ConstFrame& in, int slices, const CcLabelParams& params) {
  Labelling all;
  const std::vector<double> listed = params.thresholds;
  const std::vector<double> thresholds =
      listed.empty() ? std::vector<double>{params.threshold} : listed;
  for (size_t k = 0; k < thresholds.size(); ++k) {
    Flood(in, slices, params, thresholds[k]).run(static_cast<uint32_t>(k), all);
  }
  return all;
}

}  // namespace regions
