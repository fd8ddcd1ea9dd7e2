// Labelling by flood fill with a stack; runs pixel by pixel.
#include "tests/cclabel/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace regions {
namespace {

struct Voxel {
  int x, y, z;
};

// One picture or volume under one threshold.
class Flood {
 public:
  Flood(const ConstFrame& in, const ConstFrame& mask, const CcLabelParams& params, int slices,
        double threshold, std::optional<uint32_t> excluded)
      : in_(in), params_(params), width_(in.width), height_(in.height / slices), slices_(slices) {
    const bool is_mask = params.source == Source::mask, is_alpha = params.source == Source::alpha;
    const bool is_rgb = in.layout.model == ColorModel::rgb && params.source == Source::image;
    is_named_ = is_mask && mask.layout.format == PixelFormat::labels32;
    full_ = (1 << (is_mask ? mask : in).layout.sample_bits % 32) - 1.0;
    const double step = full_ > 255 ? (full_ + 1) / 256 : 1;  // one code of 8 bits
    const bool limited = in.layout.model == ColorModel::yuv && !in.color.full_range && !is_mask;
    const double black = limited ? 16 * step : 0, white = limited ? 235 * step : full_;
    const double level = is_mask ? 1 : threshold > 0 ? black + threshold * (white - black) : 0;
    for (int row = 0; row < in.height; ++row) {
      for (int x = 0; x < width_; ++x) {
        const auto value = [&](int c) {
          if (is_named_) return double(*reinterpret_cast<const uint32_t*>(mask.at(0, x, row)));
          if (is_mask) return double(mask.sample(0, x, row));
          return double(in.sample(is_alpha ? 3 : c, x, row));
        };
        for (int c = 0; c < (is_rgb ? 3 : 1); ++c) compared_[c].push_back(value(c));
        const double luma =
            is_rgb  // BT.601 in 1/256, rounded
                ? std::floor((77 * value(0) + 150 * value(1) + 29 * value(2) + 128) / 256)
                : value(0);
        is_bright_.push_back(luma >= level);
        is_excluded_.push_back(excluded && value(0) == *excluded);
      }
    }
    if (params.fill_holes > 0 && is_binary() && !params.label_background) fill_holes();
  }

  // Appends the labels and the regions that pass the filters.
  void run(uint32_t layer, Labelling& all) {
    find_neighbours(static_cast<int>(params_.connectivity));
    std::vector<uint32_t> labels(is_bright_.size());
    std::vector<Region> found;
    for_all_voxels([&](const Voxel& v) {
      if (labels[at(v)] || is_excluded_[at(v)]) return;
      if (is_binary() && !params_.label_background && !is_bright_[at(v)]) return;
      found.push_back(fill(v, static_cast<uint32_t>(found.size() + 1), labels));
      found.back().layer = layer;
    });
    const std::set<uint32_t> chosen = seeded(labels);
    std::vector<uint32_t> renamed(found.size() + 1);
    for (Region& r : found) {
      const auto most = params_.max_area > 0 ? static_cast<uint64_t>(params_.max_area) : r.area;
      if (r.area < static_cast<uint64_t>(params_.min_area) || r.area > most) continue;
      if (params_.seeds.count > 0 && chosen.count(r.id) == 0) continue;
      renamed[r.id] = static_cast<uint32_t>(all.regions.size() + 1);
      r.id = r.track = renamed[r.id];
      all.regions.push_back(r);
    }
    for (const uint32_t label : labels) all.labels.push_back(renamed[label]);
  }

 private:
  bool is_binary() const { return params_.criterion == Criterion::binary; }
  size_t at(const Voxel& v) const {
    return (static_cast<size_t>(v.z) * static_cast<size_t>(height_) + static_cast<size_t>(v.y)) *
               static_cast<size_t>(width_) +
           static_cast<size_t>(v.x);
  }
  template <class Use>
  void for_all_voxels(Use use) const {
    for (int z = 0; z < slices_; ++z) {
      for (int y = 0; y < height_; ++y) {
        for (int x = 0; x < width_; ++x) use(Voxel{x, y, z});
      }
    }
  }
  bool are_linked(size_t a, size_t b) const {
    if (is_binary()) return is_bright_[a] == is_bright_[b];
    double sum = 0;
    for (const std::vector<double>& values : compared_) {
      if (!values.empty()) sum += std::abs(values[a] - values[b]);
    }
    return params_.criterion == Criterion::equal || is_named_ ? sum == 0
                                                              : sum < params_.tolerance * full_;
  }
  bool is_flat() const { return static_cast<int>(params_.connectivity) % 4 == 0; }  // 4 or 8

  void find_neighbours(int connectivity) {
    neighbours_.clear();
    for (int k = 0; k < 27; ++k) {
      const Voxel d{k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
      const int steps = std::abs(d.x) + std::abs(d.y) + std::abs(d.z);
      const bool is_near = connectivity == 4 || connectivity == 6 ? steps == 1
                           : connectivity == 18                   ? steps == 1 || steps == 2
                                                                  : steps >= 1;
      if (is_near && (connectivity % 4 != 0 || d.z == 0)) neighbours_.push_back(d);
    }
  }

  // Dark regions are found like bright ones, but with the dual connectivity.
  void fill_holes() {
    const int connectivity = static_cast<int>(params_.connectivity);
    find_neighbours(is_flat() ? 12 - connectivity : connectivity == 6 ? 26 : 6);
    std::vector<uint32_t> labels(is_bright_.size());
    std::vector<Region> dark;
    for_all_voxels([&](const Voxel& v) {
      if (is_bright_[at(v)] || labels[at(v)]) return;
      dark.push_back(fill(v, static_cast<uint32_t>(dark.size() + 1), labels));
    });
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == 0) continue;
      const Region& r = dark[labels[i] - 1];
      const bool is_open = r.left == 0 || r.top == 0 || r.right == width_ - 1 ||
                           r.bottom == height_ - 1 ||
                           (!is_flat() && (r.front == 0 || r.back == slices_ - 1));
      if (!is_open && r.area <= static_cast<uint64_t>(params_.fill_holes)) is_bright_[i] = true;
    }
  }

  Region fill(const Voxel& first, uint32_t id, std::vector<uint32_t>& labels) const {
    Region r{.id = id, .first_x = first.x, .first_y = first.y, .left = first.x, .top = first.y};
    r.right = r.left, r.bottom = r.top, r.first_z = r.front = r.back = first.z;
    labels[at(first)] = id;
    std::vector<Voxel> stack = {first};
    while (!stack.empty()) {
      const Voxel v = stack.back();
      stack.pop_back();
      r.left = std::min(r.left, v.x), r.right = std::max(r.right, v.x);
      r.top = std::min(r.top, v.y), r.bottom = std::max(r.bottom, v.y);
      r.front = std::min(r.front, v.z), r.back = std::max(r.back, v.z);
      r.area += 1;
      r.sum_x += static_cast<uint64_t>(v.x);
      r.sum_y += static_cast<uint64_t>(v.y);
      r.sum_z += static_cast<uint64_t>(v.z);
      for (int c = 0; c < in_.layout.channels; ++c) {
        r.sum_value[c] += static_cast<uint64_t>(in_.sample(c, v.x, v.z * height_ + v.y));
      }
      for (const Voxel& d : neighbours_) {
        const Voxel n{v.x + d.x, v.y + d.y, v.z + d.z};
        if (n.x < 0 || n.y < 0 || n.z < 0) continue;
        if (n.x >= width_ || n.y >= height_ || n.z >= slices_) continue;
        if (labels[at(n)] || !are_linked(at(v), at(n))) continue;
        labels[at(n)] = id;
        stack.push_back(n);
      }
    }
    return r;
  }

  std::set<uint32_t> seeded(const std::vector<uint32_t>& labels) const {
    std::set<uint32_t> chosen;
    for (int i = 0; i < params_.seeds.count; i += 2) {
      const Voxel v{static_cast<int>(params_.seeds.number[i]),
                    static_cast<int>(params_.seeds.number[i + 1]), 0};
      if (v.x < width_ && v.y < height_) chosen.insert(labels[at(v)]);
    }
    return chosen;
  }

  const ConstFrame in_;
  const CcLabelParams& params_;
  const int width_, height_, slices_;
  bool is_named_;
  double full_;                      // stored units of full scale
  std::vector<double> compared_[3];  // per channel: [z][y][x]
  std::vector<bool> is_bright_, is_excluded_;
  std::vector<Voxel> neighbours_;  // offsets
};

// Gray frames, one below another.
class Stack {
 public:
  Stack(const std::vector<ConstFrame>& frames, size_t first, size_t last) : frame_(frames[last]) {
    const size_t row = row_bytes(frame_.layout, 0, frame_.size());
    for (size_t k = first; k <= last; ++k) {
      for (int y = 0; y < frame_.height; ++y) {
        const std::byte* from = frames[k].plane[0] + y * frames[k].pitch[0];
        bytes_.insert(bytes_.end(), from, from + row);
      }
    }
    frame_.plane[0] = bytes_.data();
    frame_.pitch[0] = static_cast<ptrdiff_t>(row);
    frame_.height *= static_cast<int>(last - first + 1);
  }
  const ConstFrame& frame() const { return frame_; }

 private:
  ConstFrame frame_;
  std::vector<std::byte> bytes_;
};

}  // namespace

Labelling label_slowly(const ConstFrame& in, const ConstFrame& mask, const CcLabelParams& params,
                       int slices, std::optional<uint32_t> excluded) {
  Labelling all;
  const std::vector<double> listed = params.thresholds;
  const std::vector<double> thresholds = listed.empty() ? std::vector{params.threshold} : listed;
  for (size_t k = 0; k < thresholds.size(); ++k) {
    Flood(in, mask, params, slices, thresholds[k], excluded).run(static_cast<uint32_t>(k), all);
  }
  return all;
}

Labelling label_window_slowly(const std::vector<ConstFrame>& frames, size_t t,
                              const CcLabelParams& params, const ConstFrame& measured) {
  const size_t slices = std::min(t + 1, static_cast<size_t>(params.depth));
  const Stack window(frames, t + 1 - slices, t);
  const Labelling whole =
      label_slowly(window.frame(), window.frame(), params, static_cast<int>(slices));
  Labelling frame;
  std::vector<uint32_t> renamed(whole.regions.size() + 1);
  const size_t earlier = whole.labels.size() - measured.size().area();
  for (size_t i = 0; i < measured.size().area(); ++i) {
    const uint32_t old = whole.labels[earlier + i];
    const int x = static_cast<int>(i) % measured.width, y = static_cast<int>(i) / measured.width;
    if (old != 0 && renamed[old] == 0) {
      Region r{.first_x = x, .first_y = y, .left = x, .top = y, .right = x, .bottom = y};
      r.id = r.track = renamed[old] = static_cast<uint32_t>(frame.regions.size() + 1);
      frame.regions.push_back(r);
    }
    frame.labels.push_back(old ? renamed[old] : 0);
    if (old == 0) continue;
    Region& r = frame.regions[renamed[old] - 1];
    r.left = std::min(r.left, x);
    r.right = std::max(r.right, x);
    r.bottom = y;
    r.area += 1;
    r.sum_x += static_cast<uint64_t>(x);
    r.sum_y += static_cast<uint64_t>(y);
    for (int c = 0; c < measured.layout.channels; ++c) {
      r.sum_value[c] += static_cast<uint64_t>(measured.sample(c, x, y));
    }
  }
  return frame;
}

void keep_largest(Labelling& labelling, uint32_t limit) {
  auto& regions = labelling.regions;
  if (regions.size() <= limit) return;
  std::stable_sort(regions.begin(), regions.end(),
                   [](const Region& a, const Region& b) { return a.area > b.area; });
  std::vector<uint32_t> renamed(regions.size() + 1);
  regions.resize(limit);
  std::sort(regions.begin(), regions.end(),
            [](const Region& a, const Region& b) { return a.id < b.id; });
  for (uint32_t k = 0; k < limit; ++k) {
    renamed[regions[k].id] = k + 1;
    regions[k].id = regions[k].track = k + 1;
  }
  for (uint32_t& label : labelling.labels) label = renamed[label];
}

SlowRuns runs_slowly(const std::vector<uint32_t>& labels, int width, uint32_t most,
                     uint32_t capacity) {
  SlowRuns slow;
  const auto w = static_cast<size_t>(width);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == 0 || labels[i] > most) continue;
    const bool continues = i % w > 0 && labels[i - 1] == labels[i];
    if (!continues) {
      slow.runs.push_back(
          {labels[i], static_cast<uint32_t>(i % w), static_cast<uint32_t>(i / w), 0});
    }
    ++slow.runs.back().width;
  }
  slow.total = static_cast<uint32_t>(slow.runs.size());
  slow.runs.resize(std::min(slow.total, capacity));
  std::sort(slow.runs.begin(), slow.runs.end(), [](const PixelRun& a, const PixelRun& b) {
    return std::tie(a.label, a.row, a.x) < std::tie(b.label, b.row, b.x);
  });
  return slow;
}

}  // namespace regions
