// source=boxes on the CPU: the passes over samples and pixels, and the results of each box.
#include "core/graphcutbg/boxes.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "cpu/graphcutbg/graphcutbg.hpp"
#include "cpu/simd.hpp"

namespace regions::graphcutbg {
namespace {

// Number of pixels whose costs are computed at once. A multiple of the lanes of all SIMD registers.
constexpr int kBlock = 64;
static_assert(kSampleSide == kBlock);

// The lowest cost of each of kBlock colours in a mixture, and the Gaussian that has it.
struct BlockCosts {
  int32_t cost[kBlock], part[kBlock];
};

REGIONS_INLINE void compute_block(const uint32_t* colors,
                                  const ColorGaussian (&parts)[kMixtureParts], BlockCosts& costs) {
  int32_t y[kBlock], u[kBlock], v[kBlock];
  for (int i = 0; i < kBlock; ++i) {
    y[i] = static_cast<int32_t>(colors[i] & 255);
    u[i] = static_cast<int32_t>(colors[i] >> 8 & 255);
    v[i] = static_cast<int32_t>(colors[i] >> 16 & 255);
  }
  for (int i = 0; i < kBlock; ++i) {
    costs.cost[i] = parts[0].cost(y[i], u[i], v[i]);
    costs.part[i] = 0;
  }
  for (int k = 1; k < kMixtureParts; ++k) {
    const ColorGaussian part = parts[k];
    if (part.penalty >= ColorGaussian::kAbsent) continue;
    for (int i = 0; i < kBlock; ++i) {
      const int32_t cost = part.cost(y[i], u[i], v[i]);
      costs.part[i] = cost < costs.cost[i] ? k : costs.part[i];
      costs.cost[i] = cost < costs.cost[i] ? cost : costs.cost[i];
    }
  }
}

REGIONS_CLONES void compute_costs(const uint32_t* colors, const BoxModel& model, int mixture,
                                  BlockCosts& costs) {
  compute_block(colors, model.parts[mixture], costs);
}

// Writes the evidence of up to kBlock colours.
REGIONS_CLONES void compute_evidence(const uint32_t* colors, int count, const BoxModel& model,
                                     int32_t* evidence) {
  uint32_t block[kBlock] = {};
  std::copy_n(colors, count, block);
  BlockCosts surroundings, object;
  compute_block(block, model.parts[kSurroundings], surroundings);
  compute_block(block, model.parts[kObject], object);
  for (int i = 0; i < count; ++i) {
    evidence[i] = box_evidence(surroundings.cost[i], object.cost[i]);
  }
}

constexpr auto kAdd = [](uint32_t* sum, uint32_t number) { *sum += number; };

// The work on the samples of one box.
class SampleFit {
 public:
  SampleFit(const BoxArrays& arrays, uint32_t box)
      : arrays_(arrays), box_(box), place_(arrays.boxes[box]), model_(arrays.models[box]) {}

  void read_samples(int32_t contrast_scale) {
    ContrastSums pixels, samples;
    for_each_entry([&](int column, int row, uint32_t& sample) {
      sample = read_sample(arrays_, box_, column, row, pixels, kAdd);
    });
    for_each_entry([&](int column, int row, const uint32_t&) {
      compare_sample(arrays_, box_, column, row, samples, kAdd);
    });
    uint32_t surroundings = 0;
    for_each_entry(
        [&](int, int, uint32_t sample) { surroundings += BoxSample::is_outside(sample); });
    if (surroundings < kMinSurroundings) {
      for_each_entry([&](int, int, uint32_t& sample) {
        if (sample & BoxSample::kOwned) sample |= BoxSample::kUsed;
      });
    }
    model_.contrasts = pixels.scale(contrast_scale);
    model_.sample_contrasts = samples.scale(contrast_scale);
  }

  // Starts both mixtures: from the mixtures of the last frame's box if it has the same track and
  // they fit, otherwise from parts of similar colours.
  void start() {
    if (place_.is_tracked()) {
      const BoxModel& before = arrays_.models_before[place_.before];
      std::copy_n(&before.parts[0][0], kMixtures * kMixtureParts, &model_.parts[0][0]);
      if (model_.is_complete() && before.fits(sum_costs())) return;
    }
    split();
    for (int k = 0; k < kFits; ++k) refit();
  }

  void split() {
    SampleSums sums[kMixtures];
    for_each_used([&](uint32_t sample) {
      sums[BoxSample::mixture_of(sample)].add_color(Color::load(&sample), kAdd);
    });
    const ColorSplit splits[kMixtures] = {ColorSplit::of(sums[0]), ColorSplit::of(sums[1])};
    clear_sums();
    for_each_used([&](uint32_t sample) {
      const Color color = Color::load(&sample);
      const int mixture = BoxSample::mixture_of(sample);
      sums_[mixture][splits[mixture].part_of(color)].add_color(color, kAdd);
    });
    fit_parts();
  }

  // Fits each Gaussian to the samples that are nearest to it.
  void refit() {
    clear_sums();
    BlockCosts costs[kMixtures];
    for (int row = 0; row < place_.rows; ++row) {
      const uint32_t* samples = arrays_.samples + BoxArrays::sample_at(box_, 0, row);
      for (int m = 0; m < kMixtures; ++m) compute_costs(samples, model_, m, costs[m]);
      for (int column = 0; column < place_.columns; ++column) {
        const uint32_t sample = samples[column];
        if (!(sample & BoxSample::kUsed)) continue;
        const int m = BoxSample::mixture_of(sample);
        sums_[m][costs[m].part[column]].add_color(Color::load(&sample), kAdd);
      }
    }
    fit_parts();
  }

  // Ends the work on the samples.
  void finish() {
    if (place_.track != 0) model_.mean_cost = sum_costs().mean();
  }

  // Takes the objects from the mask of the last cut.
  void read_mask() {
    for_each_entry([&](int column, int row, uint32_t& sample) {
      const size_t i = BoxArrays::sample_at(box_, column, row);
      sample = BoxSample::after_cut(sample, arrays_.sample_mask[i] != 0);
    });
  }

  // Writes the weights of the samples' cut. Links do not change from cut to cut.
  void compute_terminals() {
    for (int row = 0; row < kSampleSide; ++row) {
      const size_t first = BoxArrays::sample_at(box_, 0, row);
      int32_t* const terminal = arrays_.sample_terminal + first;
      if (row < place_.rows) compute_evidence(arrays_.samples + first, kBlock, model_, terminal);
      for (int column = 0; column < kSampleSide; ++column) {
        const uint32_t sample = arrays_.samples[first + static_cast<size_t>(column)];
        terminal[column] = sample & BoxSample::kOwned ? terminal[column] : kOutsideBoxes;
      }
    }
  }
  void compute_links(const EnergyPlan& plan) {
    for_each_entry([&](int column, int row, const uint32_t&) {
      compute_sample_links(arrays_, plan, box_, column, row);
    });
  }

 private:
  // Sums up least_cost() of the samples.
  CostSum sum_costs() const {
    CostSum sum;
    BlockCosts costs[kMixtures];
    for (int row = 0; row < place_.rows; ++row) {
      const uint32_t* samples = arrays_.samples + BoxArrays::sample_at(box_, 0, row);
      for (int m = 0; m < kMixtures; ++m) compute_costs(samples, model_, m, costs[m]);
      for (int column = 0; column < place_.columns; ++column) {
        if (!BoxSample::is_described(samples[column])) continue;
        ++sum.count;
        sum.sum += static_cast<uint32_t>(
            std::min({costs[0].cost[column], costs[1].cost[column], kMaxObjectCost}));
      }
    }
    return sum;
  }

  template <std::invocable<int, int, uint32_t&> Visit>
  void for_each_entry(Visit visit) {
    for (int row = 0; row < kSampleSide; ++row) {
      for (int column = 0; column < kSampleSide; ++column) {
        visit(column, row, arrays_.samples[BoxArrays::sample_at(box_, column, row)]);
      }
    }
  }
  template <std::invocable<uint32_t> Visit>
  void for_each_used(Visit visit) {
    for_each_entry([&](int, int, uint32_t sample) {
      if (sample & BoxSample::kUsed) visit(sample);
    });
  }
  void clear_sums() {
    for (auto& mixture : sums_) std::fill_n(mixture, kMixtureParts, SampleSums());
  }
  void fit_parts() {
    for (int m = 0; m < kMixtures; ++m) {
      uint32_t total = 0;
      for (const SampleSums& part : sums_[m]) total += part.count;
      for (int k = 0; k < kMixtureParts; ++k) {
        model_.parts[m][k] = ColorGaussian::fitted(sums_[m][k], total);
      }
    }
  }

  const BoxArrays& arrays_;
  const uint32_t box_;
  const ObjectBox place_;
  BoxModel& model_;
  SampleSums sums_[kMixtures][kMixtureParts];
};

// Finds the owners of the pixels of row y.
void find_owners(const BoxArrays& arrays, int y) {
  uint16_t* const owner = arrays.owner + arrays.at(0, y);
  std::fill_n(owner, arrays.width, uint16_t{0});
  for (uint32_t number = 1; number <= arrays.count; ++number) {
    const ObjectBox& box = arrays.boxes[number - 1];
    if (y < box.top || y > box.bottom) continue;
    for (int x = box.left; x <= box.right; ++x) {
      owner[x] = owner_with(arrays, owner[x], number, x, y);
    }
  }
  for (int x = 0; arrays.excluded && x < arrays.width; ++x) {
    if (arrays.is_excluded(x, y)) owner[x] = 0;
  }
}

// Calls visit(box, first, last) for the pixels first..last - 1 of each run of pixels with one
// owner.
template <std::invocable<uint32_t, int, int> Visit>
void for_each_owned_run(const uint16_t* owner, int width, Visit visit) {
  for (int x = 0; x < width;) {
    const int first = x;
    while (x < width && owner[x] == owner[first]) ++x;
    if (owner[first] != 0) visit(owner[first] - 1u, first, x);
  }
}

// Writes the terminal weights of row y.
void compute_terminals(const BoxArrays& arrays, int y) {
  const size_t row = arrays.at(0, y);
  std::fill_n(arrays.terminal + row, arrays.width, kOutsideBoxes);
  for_each_owned_run(arrays.owner + row, arrays.width, [&](uint32_t box, int first, int last) {
    for (int x = first; x < last; x += kBlock) {
      compute_evidence(arrays.current + row + x, std::min(kBlock, last - x), arrays.models[box],
                       arrays.terminal + row + x);
    }
  });
}

}  // namespace

void start_boxes(const BoxArrays& arrays, const EnergyPlan& plan, int32_t contrast_scale,
                 const Workers& workers) {
  workers.parallel_for(arrays.height, [&](int y) { find_owners(arrays, y); });
  workers.parallel_for(static_cast<int>(arrays.count), [&](int box) {
    SampleFit fit(arrays, static_cast<uint32_t>(box));
    fit.read_samples(contrast_scale);
    fit.start();
    fit.compute_links(plan);
    fit.compute_terminals();
  });
}

void refit_boxes(const BoxArrays& arrays, int cut, const Workers& workers) {
  workers.parallel_for(static_cast<int>(arrays.count), [&](int box) {
    const int cuts = arrays.boxes[box].sample_cuts();
    if (cut >= cuts) return;
    SampleFit fit(arrays, static_cast<uint32_t>(box));
    fit.read_mask();
    fit.refit();
    if (cut + 1 < cuts) return fit.compute_terminals();
    fit.finish();
  });
}

void compute_box_terminals(const BoxArrays& arrays, const Workers& workers) {
  workers.parallel_for(arrays.height, [&](int y) { compute_terminals(arrays, y); });
}

void compute_box_links(const BoxArrays& arrays, const EnergyPlan& plan, int y, int first, int last,
                       const LinkRow& to) {
  for (int x = first; x < last; ++x) {
    const int i = x - first;
    to.right[i] = pixel_link(arrays, plan, x, y, 1, 0);
    to.down[i] = pixel_link(arrays, plan, x, y, 0, 1);
    if (!arrays.sample_down_right) continue;
    to.down_right[i] = pixel_link(arrays, plan, x, y, 1, 1);
    to.down_left[i] = pixel_link(arrays, plan, x, y, -1, 1);
  }
}

void BoxState::allocate(Size picture, Neighbours neighbours) {
  constexpr size_t kSamples = kMaxBoxes * kBoxSamples;
  const bool eight = neighbours == Neighbours::eight;
  models = std::vector<BoxModel>(2 * kMaxBoxes);
  owner = std::vector<uint16_t>(picture.area());
  samples = std::vector<uint32_t>(kSamples);
  for (auto* weights : {&terminal, &right, &down}) *weights = std::vector<int32_t>(kSamples);
  for (auto* weights : {&down_right, &down_left}) {
    *weights = std::vector<int32_t>(eight ? kSamples : 0);
  }
  mask = std::vector<uint8_t>(kSamples);
}

BoxArrays BoxState::arrays(std::span<const ObjectBox> boxes, size_t half, ModelState& model,
                           const uint8_t* excluded) {
  BoxArrays arrays;
  arrays.width = model.size.width;
  arrays.height = model.size.height;
  arrays.count = static_cast<uint32_t>(boxes.size());
  arrays.boxes = boxes.data();
  arrays.models = models.data() + half * kMaxBoxes;
  arrays.models_before = models.data() + (1 - half) * kMaxBoxes;
  arrays.current = model.current.data();
  arrays.excluded = excluded;
  arrays.owner = owner.data();
  arrays.terminal = model.terminal.data();
  arrays.samples = samples.data();
  arrays.sample_terminal = terminal.data();
  arrays.sample_right = right.data();
  arrays.sample_down = down.data();
  arrays.sample_down_right = down_right.empty() ? nullptr : down_right.data();
  arrays.sample_down_left = down_left.empty() ? nullptr : down_left.data();
  arrays.sample_mask = mask.data();
  return arrays;
}

GridGraph BoxState::sample_graph(uint32_t count) const {
  const auto image = [&](const std::vector<int32_t>& weights) {
    if (weights.empty()) return Image<const int32_t>();
    return Image<const int32_t>{weights.data(), kSampleSide, kSampleSide * static_cast<int>(count),
                                static_cast<ptrdiff_t>(sizeof(int32_t)) * kSampleSide};
  };
  return {image(terminal),  image(right),
          image(down),      image(down_right),
          image(down_left), down_right.empty() ? Neighbours::four : Neighbours::eight,
          kMaxWeight,       nullptr};
}

namespace {

// The record of a box without an object.
Region empty_record(uint32_t number, uint32_t track) {
  Region region;
  region.id = number;
  region.track = track;
  region.right = region.bottom = -1;
  return region;
}

void add_pixel(Region& region, const ConstFrame& in, int x, int y) {
  if (region.area == 0) {
    region.first_x = region.left = region.right = x;
    region.first_y = region.top = y;
  }
  region.left = std::min(region.left, x);
  region.right = std::max(region.right, x);
  region.bottom = y;
  ++region.area;
  region.sum_x += static_cast<uint64_t>(x);
  region.sum_y += static_cast<uint64_t>(y);
  for (int c = 0; c < in.layout.channels; ++c) {
    region.sum_value[c] += static_cast<uint64_t>(in.sample(c, x, y));
  }
}

}  // namespace

void write_boxes(const FrameTask& task, const BoxArrays& arrays, const Image<const uint8_t>& mask,
                 const Workers& workers) {
  if (!task.labels.empty()) {
    workers.parallel_for(arrays.height, [&](int y) {
      const uint16_t* owner = arrays.owner + arrays.at(0, y);
      for (int x = 0; x < arrays.width; ++x) task.labels(x, y) = mask(x, y) ? owner[x] : 0;
    });
  }
  if (task.table.total) *task.table.total = arrays.count;
  if (!task.table.regions) return;
  const uint32_t count = std::min(arrays.count, task.table.capacity);
  workers.parallel_for(static_cast<int>(count), [&](int i) {
    const auto number = static_cast<uint16_t>(i + 1);
    const ObjectBox& box = arrays.boxes[i];
    Region region = empty_record(number, box.track);
    for (int y = box.top; y <= box.bottom; ++y) {
      const uint16_t* owner = arrays.owner + arrays.at(0, y);
      for (int x = box.left; x <= box.right; ++x) {
        if (owner[x] == number && mask(x, y)) add_pixel(region, task.in, x, y);
      }
    }
    task.table.regions[i] = region;
  });
}

}  // namespace regions::graphcutbg
