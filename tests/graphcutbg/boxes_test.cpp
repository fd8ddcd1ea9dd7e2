// source=boxes: the arithmetic against floating point, every result against plain loops over single
// pixels, and each backend against one CPU thread.
#include "core/graphcutbg/boxes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "tests/core/error_message.hpp"
#include "tests/graphcutbg/scene.hpp"
#include "tests/pictures/backend_test.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions::graphcutbg {
namespace {

using Vector = std::array<double, 3>;

Region box_of(int left, int top, int width, int height, uint32_t track = 0) {
  Region box;
  box.left = left;
  box.top = top;
  box.right = left + width - 1;
  box.bottom = top + height - 1;
  box.track = track;
  return box;
}

SampleSums sums_of(const std::vector<Color>& colors) {
  SampleSums sums;
  for (const Color& color : colors) {
    sums.add_color(color, [](uint32_t* sum, uint32_t number) { *sum += number; });
  }
  return sums;
}

// Colours of a Gaussian with correlated components.
std::vector<Color> gaussian_colors(std::mt19937& random, int count, const Vector& mean,
                                   const Vector& spread) {
  std::normal_distribution<double> normal;
  const auto level = [](double value) {
    return static_cast<int32_t>(std::clamp(std::lround(value), 0L, 255L));
  };
  std::vector<Color> colors;
  for (int i = 0; i < count; ++i) {
    const double a = normal(random), b = normal(random), c = normal(random);
    colors.push_back({level(mean[0] + spread[0] * a),
                      level(mean[1] + spread[1] * (0.7 * a + 0.7 * b)),
                      level(mean[2] + spread[2] * (0.4 * b - 0.5 * a + 0.8 * c))});
  }
  return colors;
}

// The negative logarithm of the density of a Gaussian at a colour, without the constant, in nats.
double cost_of(const std::vector<Color>& samples, const Color& color, double share) {
  const auto n = static_cast<double>(samples.size());
  Vector mean{};
  double covariance[3][3] = {};
  for (const Color& sample : samples) {
    for (int i = 0; i < 3; ++i) mean[static_cast<size_t>(i)] += sample[i] / n;
  }
  for (const Color& sample : samples) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        covariance[i][j] += (sample[i] - mean[static_cast<size_t>(i)]) *
                            (sample[j] - mean[static_cast<size_t>(j)]) / n;
      }
    }
  }
  for (int i = 0; i < 3; ++i) covariance[i][i] += ColorGaussian::kMinVariance / 256.0;
  // Cramer's rule: the inverse is the adjugate, divided by the determinant.
  const auto& m = covariance;
  const auto minor = [&](int i, int j) {
    const int r0 = (i + 1) % 3, r1 = (i + 2) % 3, c0 = (j + 1) % 3, c1 = (j + 2) % 3;
    return m[r0][c0] * m[r1][c1] - m[r0][c1] * m[r1][c0];
  };
  const double determinant = m[0][0] * minor(0, 0) + m[0][1] * minor(0, 1) + m[0][2] * minor(0, 2);
  double distance = 0;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      distance += (color[i] - mean[static_cast<size_t>(i)]) * minor(i, j) / determinant *
                  (color[j] - mean[static_cast<size_t>(j)]);
    }
  }
  return distance / 2 + std::log(determinant) / 2 - std::log(share);
}

TEST(GraphCutBoxColors, Gaussian_CostIsTheNegativeLogarithmOfItsDensity) {
  std::mt19937 random(5);
  const Vector means[] = {{120, 128, 128}, {30, 90, 170}, {250, 128, 120}};
  const Vector spreads[] = {{0, 0, 0}, {2, 0.3, 1}, {20, 8, 5}, {60, 40, 70}, {90, 1, 1}};
  for (const Vector& mean : means) {
    for (const Vector& spread : spreads) {
      const auto samples = gaussian_colors(random, 500, mean, spread);
      const auto part = ColorGaussian::fitted(sums_of(samples), 2000);
      for (const Color& color : gaussian_colors(random, 100, mean, {spread[0] + 3, 9, 9})) {
        const double wanted = cost_of(samples, color, 0.25);
        const double cost = part.cost(color.y, color.u, color.v) / double{kUnitsPerNat};
        // Lengths are rounded to 1/16, and logarithms are interpolated.
        ASSERT_NEAR(cost, wanted, 0.3 + std::abs(wanted) * 0.05)
            << mean[0] << " " << spread[0] << " at " << color.y << " " << color.u << " " << color.v;
      }
    }
  }
}

TEST(GraphCutBoxColors, FewSamples_GiveNoGaussian) {
  const std::vector<Color> colors(ColorGaussian::kMinSamples, Color{50, 60, 70});
  EXPECT_LT(ColorGaussian::fitted(sums_of(colors), 9).penalty, ColorGaussian::kAbsent);
  const std::vector<Color> fewer(colors.begin() + 1, colors.end());
  EXPECT_EQ(ColorGaussian::fitted(sums_of(fewer), 9).cost(50, 60, 70), ColorGaussian::kAbsent);
}

TEST(GraphCutBoxColors, MostSamplesOfOneColor_FitIn32Bits) {
  const std::vector<Color> white(kBoxSamples, Color{255, 255, 255});
  const auto part = ColorGaussian::fitted(sums_of(white), kBoxSamples);
  EXPECT_LT(part.cost(255, 255, 255), part.cost(240, 255, 255));
  EXPECT_GT(part.cost(0, 0, 0), 16 * kUnitsPerNat);
}

TEST(GraphCutBoxColors, Split_DividesAlongTheWidestDirection) {
  std::mt19937 random(9);
  for (const Vector& spread : {Vector{40, 3, 3}, Vector{3, 50, 3}, Vector{2, 3, 60}}) {
    const auto colors = gaussian_colors(random, 2000, {128, 128, 128}, spread);
    const auto split = ColorSplit::of(sums_of(colors));
    std::array<int, kMixtureParts> counts{};
    for (const Color& color : colors) ++counts[static_cast<size_t>(split.part_of(color))];
    for (const int count : counts) EXPECT_NEAR(count, 400, 120);
  }
  const std::vector<Color> same(10, Color{7, 8, 9});
  EXPECT_EQ(ColorSplit::of(sums_of(same)).part_of(same[0]), kMixtureParts - 1);
}

TEST(GraphCutBoxColors, SquareRoot_IsRoundedDown) {
  EXPECT_EQ(square_root(-1), 0);
  for (const int64_t root : {0L, 1L, 2L, 3L, 1000L, 46341L, 3037000498L}) {
    EXPECT_EQ(square_root(root * root), root);
    EXPECT_EQ(square_root(root * root + 2 * root), root);
  }
}

TEST(GraphCutBoxes, Box_IsClippedAndItsSamplesLieInTheWindow) {
  const Size frames[] = {{1, 1}, {300, 200}, {65535, 3}};
  for (const Size frame : frames) {
    for (const Region& box :
         {box_of(0, 0, 1, 1), box_of(-50, -60, 100, 90), box_of(10, 1, 280, 199),
          box_of(-(1 << 30), -(1 << 30), 0x7fffffff, 0x7fffffff)}) {
      const ObjectBox clipped = ObjectBox::of(box, frame);
      if (clipped.columns == 0) continue;
      EXPECT_GE(clipped.left, 0);
      EXPECT_LT(clipped.right, frame.width);
      EXPECT_LE(clipped.columns, kSampleSide);
      EXPECT_LE(clipped.rows, kSampleSide);
      int last = -1;
      for (int column = 0; column < clipped.columns; ++column) {
        EXPECT_GT(clipped.x_of(column), last);
        last = clipped.x_of(column);
      }
      EXPECT_LT(last, frame.width);
      EXPECT_LT(clipped.y_of(clipped.rows - 1), frame.height);
      EXPECT_LT(clipped.distance(clipped.left, clipped.top), 2u << 16);
    }
  }
  for (const Region& box : {box_of(5, 5, 0, 9), box_of(5, 5, 9, -3), box_of(300, 5, 9, 9),
                            box_of(-9, 5, 9, 9), box_of(5, 200, 9, 9)}) {
    EXPECT_EQ(ObjectBox::of(box, {300, 200}).columns, 0);
  }
}

// A picture with blocks of noisy colours, whose objects are ellipses in boxes.
GuardedFrame scene_of(PixelFormat format, Size size, const std::vector<Region>& boxes,
                      uint32_t seed) {
  GuardedFrame picture(format, size, 5);
  const Layout& layout = picture.frame().layout;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      uint32_t object = 0;
      for (size_t i = 0; i < std::min<size_t>(boxes.size(), 64); ++i) {
        const Region& box = boxes[i];
        const double u = (2.0 * x - box.left - box.right) / std::max(1, box.width());
        const double v = (2.0 * y - box.top - box.bottom) / std::max(1, box.height());
        if (u * u + v * v < 0.8) object = static_cast<uint32_t>(i) + 1;
      }
      const auto ux = static_cast<uint32_t>(x), uy = static_cast<uint32_t>(y);
      for (int c = 0; c < layout.channels; ++c) {
        const uint32_t place =
            object ? hash(object, uy / 9, seed) : hash(ux / 16, uy / 16, seed + 7);
        const uint32_t base = 30 + hash(place % 3, static_cast<uint32_t>(c), object) % 180;
        const uint32_t noise = hash(ux, uy, seed + static_cast<uint32_t>(c)) % 24;
        picture.frame().set_sample(c, x, y,
                                   static_cast<int>(base + noise) << (layout.sample_bits - 8));
      }
    }
  }
  return picture;
}

// Computes the results by plain loops over single pixels and samples. The cuts use arrays of
// weights for the whole picture. `before` are the results of the last frame.
class PlainBoxes {
 public:
  PlainBoxes(const ConstFrame& in, const std::vector<Region>& boxes, const GraphCutBgParams& params,
             const PlainBoxes* before = nullptr)
      : in_(in),
        size_(in.size()),
        params_(params),
        energy_(energy_plan_of(params, in.size())),
        backend_(make_cpu_backend(1)),
        queue_(backend_->make_queue()) {
    for (size_t i = 0; i < std::min<size_t>(boxes.size(), kMaxBoxes); ++i) {
      boxes_.push_back(ObjectBox::of(boxes[i], size_));
    }
    find_owners();
    models_.resize(boxes_.size());
    for (size_t i = 0; i < boxes_.size(); ++i) {
      if (boxes_[i].columns > 0) learn(i, before ? before->model_of(boxes_[i].track) : nullptr);
    }
    cut_frame();
  }

  std::vector<uint32_t> labels;
  int continued = 0;  // number of boxes that start with the mixtures of the last frame

 private:
  struct Sample {
    Color color;
    bool is_used, is_owned, is_object;
  };

  Color color(int x, int y) const { return color_at(in_, x, y); }
  size_t at(int x, int y) const { return static_cast<size_t>(y * size_.width + x); }

  // The mixtures of the first box with this track.
  const BoxModel* model_of(uint32_t track) const {
    for (size_t i = 0; i < boxes_.size(); ++i) {
      if (track != 0 && boxes_[i].track == track && boxes_[i].columns > 0) return &models_[i];
    }
    return nullptr;
  }

  static int32_t mean_cost(const BoxModel& model, const std::vector<Sample>& samples) {
    int64_t sum = 0, count = 0;
    for (const Sample& sample : samples) {
      if (!sample.is_used && !sample.is_owned) continue;
      int32_t least = kMaxObjectCost;
      for (const auto& mixture : model.parts) {
        for (const ColorGaussian& part : mixture) {
          least = std::min(least, part.cost(sample.color.y, sample.color.u, sample.color.v));
        }
      }
      sum += least;
      ++count;
    }
    return count > 0 ? static_cast<int32_t>(sum / count) : 0;
  }

  // Whether the mixtures of the last frame describe these samples nearly as well as the samples of
  // the last frame.
  static bool fits(const BoxModel& before, const std::vector<Sample>& samples) {
    for (const auto& mixture : before.parts) {
      const auto exists = [](const ColorGaussian& part) {
        return part.penalty < ColorGaussian::kAbsent;
      };
      if (std::ranges::none_of(mixture, exists)) return false;
    }
    return mean_cost(before, samples) <= before.mean_cost + BoxModel::kMaxRise;
  }

  void find_owners() {
    owner_.assign(size_.area(), 0);
    for (int y = 0; y < size_.height; ++y) {
      for (int x = 0; x < size_.width; ++x) {
        uint32_t least = UINT32_MAX;
        for (size_t i = 0; i < boxes_.size(); ++i) {
          const ObjectBox& box = boxes_[i];
          if (x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
          if (box.distance(x, y) >= least) continue;
          least = box.distance(x, y);
          owner_[at(x, y)] = i + 1;
        }
      }
    }
  }

  ContrastScale scale_of(const std::vector<std::pair<Color, Color>>& pairs) const {
    ContrastSums sums;
    for (const auto& [a, b] : pairs) {
      ++sums.pairs;
      sums.squares += static_cast<uint32_t>(squared_contrast(a, b));
    }
    return sums.scale(frame_plan_of(params_).contrasts.scale);
  }

  void fit(BoxModel& model, const std::vector<Sample>& samples, const auto& part_of) {
    std::vector<Color> colors[kMixtures][kMixtureParts];
    uint32_t totals[kMixtures] = {};
    for (const Sample& sample : samples) {
      if (!sample.is_used) continue;
      const int mixture = sample.is_object ? kObject : kSurroundings;
      colors[mixture][part_of(mixture, sample.color)].push_back(sample.color);
      ++totals[mixture];
    }
    for (int m = 0; m < kMixtures; ++m) {
      for (int k = 0; k < kMixtureParts; ++k) {
        model.parts[m][k] = ColorGaussian::fitted(sums_of(colors[m][k]), totals[m]);
      }
    }
  }

  // Returns the samples of a box, and sets the contrasts of its model.
  std::vector<Sample> read_samples(size_t index) {
    const ObjectBox& box = boxes_[index];
    std::vector<Sample> samples;
    std::vector<std::pair<Color, Color>> pixel_pairs, sample_pairs;
    uint32_t surroundings = 0;
    for (int row = 0; row < box.rows; ++row) {
      for (int column = 0; column < box.columns; ++column) {
        const int x = box.x_of(column), y = box.y_of(row);
        const size_t owner = owner_[at(x, y)];
        const bool is_owned = owner == index + 1;
        const bool is_object = is_owned && starts_in_object(box.distance(x, y));
        samples.push_back({color(x, y), is_object || owner == 0, is_owned, is_object});
        surroundings += owner == 0;
        if (x + 1 < size_.width) pixel_pairs.emplace_back(color(x, y), color(x + 1, y));
        if (y + 1 < size_.height) pixel_pairs.emplace_back(color(x, y), color(x, y + 1));
      }
    }
    for (Sample& sample : samples) {
      if (surroundings < kMinSurroundings && sample.is_owned) sample.is_used = true;
    }
    for (int row = 0; row < box.rows; ++row) {
      for (int column = 0; column < box.columns; ++column) {
        const auto i = static_cast<size_t>(row * box.columns + column);
        const auto below = i + static_cast<size_t>(box.columns);
        const Color& color = samples[i].color;
        if (column + 1 < box.columns) sample_pairs.emplace_back(color, samples[i + 1].color);
        if (row + 1 < box.rows) sample_pairs.emplace_back(color, samples[below].color);
      }
    }
    models_[index].contrasts = scale_of(pixel_pairs);
    models_[index].sample_contrasts = scale_of(sample_pairs);
    return samples;
  }

  // `before` are the mixtures of the same track in the last frame, or null.
  void learn(size_t index, const BoxModel* before) {
    const ObjectBox& box = boxes_[index];
    BoxModel& model = models_[index];
    std::vector<Sample> samples = read_samples(index);
    const auto sample_at = [&](int column, int row) -> const Sample& {
      return samples[static_cast<size_t>(row * box.columns + column)];
    };
    const auto refit = [&] {
      const BoxModel last = model;
      fit(model, samples, [&](int m, const Color& c) { return last.part_of(m, c); });
    };
    if (before && fits(*before, samples)) {
      ++continued;
      std::copy(&before->parts[0][0], &before->parts[0][0] + kMixtures * kMixtureParts,
                &model.parts[0][0]);
    } else {
      start(model, samples);
      for (int k = 0; k < kFits; ++k) refit();
    }
    for (int k = 0; k < (before ? 1 : kSampleCuts); ++k) {
      const auto weight = [&](int column, int row) {
        const Sample& sample = sample_at(column, row);
        return sample.is_owned ? model.evidence(sample.color) : kOutsideBoxes;
      };
      const auto link = [&](int column, int row, int column2, int row2) {
        const Sample &a = sample_at(column, row), &b = sample_at(column2, row2);
        if (!a.is_owned || !b.is_owned) return 0;
        return link_of(model.sample_contrasts, a.color, b.color, column != column2 && row != row2);
      };
      const auto mask = cut({box.columns, box.rows}, weight, link);
      for (size_t i = 0; i < samples.size(); ++i) {
        samples[i].is_object = mask[i] != 0;
        samples[i].is_used |= samples[i].is_owned;
      }
      refit();
    }
    model.mean_cost = mean_cost(model, samples);
  }

  // Divides the colours of both mixtures into parts.
  void start(BoxModel& model, const std::vector<Sample>& samples) {
    std::vector<Color> colors[kMixtures];
    for (const Sample& sample : samples) {
      if (sample.is_used)
        colors[sample.is_object ? kObject : kSurroundings].push_back(sample.color);
    }
    const ColorSplit splits[] = {ColorSplit::of(sums_of(colors[0])),
                                 ColorSplit::of(sums_of(colors[1]))};
    fit(model, samples, [&](int m, const Color& c) { return splits[m].part_of(c); });
  }

  int link_of(const ContrastScale& contrasts, const Color& a, const Color& b,
              bool is_diagonal) const {
    const int step = contrasts.step_of(squared_contrast(a, b));
    return energy_.link_for(step, is_diagonal);
  }

  void cut_frame() {
    const auto weight = [&](int x, int y) {
      const size_t owner = owner_[at(x, y)];
      if (owner == 0) return kOutsideBoxes;
      return models_[owner - 1].evidence(color(x, y));
    };
    const auto link = [&](int x, int y, int x2, int y2) {
      const size_t owner = owner_[at(x, y)];
      if (owner == 0 || owner != owner_[at(x2, y2)]) return 0;
      return link_of(models_[owner - 1].contrasts, color(x, y), color(x2, y2), x != x2 && y != y2);
    };
    const auto mask = cut(size_, weight, link);
    for (size_t i = 0; i < mask.size(); ++i) {
      labels.push_back(mask[i] ? static_cast<uint32_t>(owner_[i]) : 0);
    }
  }

  std::vector<uint8_t> cut(Size size, const auto& weight, const auto& link) {
    std::vector<int32_t> terminal, links[4];
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const auto link_to = [&](int x2, int y2) {
          const bool is_inside = x2 >= 0 && x2 < size.width && y2 < size.height;
          return is_inside ? link(x, y, x2, y2) : 0;
        };
        terminal.push_back(weight(x, y));
        links[0].push_back(link_to(x + 1, y));
        links[1].push_back(link_to(x, y + 1));
        links[2].push_back(link_to(x + 1, y + 1));
        links[3].push_back(link_to(x - 1, y + 1));
      }
    }
    const auto image = [&](const std::vector<int32_t>& values) {
      return Image<const int32_t>{values.data(), size.width, size.height,
                                  ptrdiff_t{4} * size.width};
    };
    std::vector<uint8_t> mask(size.area());
    const auto solver = make_grid_cut<BackendKind::cpu>(backend_);
    solver->configure(size, params_.neighbours, 1);
    CutResult report;
    solver->enqueue({image(terminal), image(links[0]), image(links[1]), image(links[2]),
                     image(links[3]), params_.neighbours},
                    {mask.data(), size.width, size.height, size.width}, {}, &report, 0, *queue_);
    queue_->record();
    queue_->wait();
    return mask;
  }

  ConstFrame in_;
  Size size_;
  GraphCutBgParams params_;
  EnergyPlan energy_;
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  std::vector<ObjectBox> boxes_;
  std::vector<BoxModel> models_;
  std::vector<size_t> owner_;
};

// The records that follow from the labels.
void expect_records(const Shot& shot, const std::vector<Region>& boxes, const ConstFrame& in) {
  const size_t count = std::min<size_t>(boxes.size(), kMaxBoxes);
  ASSERT_EQ(shot.records.size(), count);
  std::vector<Region> wanted(count);
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      const size_t i = static_cast<size_t>(y * in.width + x);
      ASSERT_EQ(shot.mask[i], shot.labels[i] ? 255 : 0);
      if (!shot.labels[i]) continue;
      ASSERT_LE(shot.labels[i], count);
      Region& region = wanted[shot.labels[i] - 1];
      if (region.area++ == 0) {
        region.first_x = region.left = region.right = x;
        region.first_y = region.top = y;
      }
      region.left = std::min(region.left, x);
      region.right = std::max(region.right, x);
      region.bottom = y;
      region.sum_x += static_cast<uint64_t>(x);
      region.sum_y += static_cast<uint64_t>(y);
      for (int c = 0; c < in.layout.channels; ++c) {
        region.sum_value[c] += static_cast<uint64_t>(in.sample(c, x, y));
      }
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const Region &found = shot.records[i], &region = wanted[i];
    EXPECT_EQ(found.id, i + 1);
    EXPECT_EQ(found.track, boxes[i].track);
    ASSERT_EQ(found.area, region.area) << "box " << i + 1;
    if (region.area == 0) {
      EXPECT_EQ(found.width(), 0);
      continue;
    }
    EXPECT_EQ(found.first_x, region.first_x);
    EXPECT_EQ(found.first_y, region.first_y);
    EXPECT_EQ(found.left, region.left);
    EXPECT_EQ(found.right, region.right);
    EXPECT_EQ(found.top, region.top);
    EXPECT_EQ(found.bottom, region.bottom);
    EXPECT_EQ(found.sum_x, region.sum_x);
    EXPECT_EQ(found.sum_y, region.sum_y);
    for (int c = 0; c < 3; ++c) EXPECT_EQ(found.sum_value[c], region.sum_value[c]);
  }
}

struct Case {
  const char* name;
  PixelFormat format;
  Size size;
  std::vector<Region> boxes;
};

std::vector<Region> random_boxes(uint32_t seed, int count, Size size) {
  std::mt19937 random(seed);
  std::vector<Region> boxes;
  const auto in = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
  };
  for (int i = 0; i < count; ++i) {
    boxes.push_back(box_of(in(-20, size.width), in(-20, size.height), in(-2, size.width / 2 + 3),
                           in(-2, size.height / 2 + 3), static_cast<uint32_t>(in(0, 9))));
  }
  return boxes;
}

std::vector<Case> cases() {
  using enum PixelFormat;
  return {
      {"one", rgb, {120, 90}, {box_of(20, 15, 60, 55, 7)}},
      {"overlapping",
       nv12,
       {160, 90},
       {box_of(10, 10, 70, 60), box_of(50, 20, 70, 60), box_of(60, 30, 20, 20)}},
      {"equal", bgr, {64, 64}, {box_of(8, 8, 40, 40), box_of(8, 8, 40, 40)}},
      {"whole_picture", gray8, {50, 40}, {box_of(0, 0, 50, 40)}},
      {"larger_than_the_picture", rgbx, {50, 41}, {box_of(-9, -1000, 70000, 70000)}},
      {"single_pixels",
       yuy2,
       {30, 20},
       {box_of(0, 0, 1, 1), box_of(29, 19, 1, 1), box_of(10, 10, 1, 1)}},
      {"tiny_picture", gray16, {1, 1}, {box_of(0, 0, 1, 1)}},
      {"none", rgb, {33, 20}, {}},
      {"invalid",
       rgb,
       {64, 48},
       {box_of(5, 5, 0, 9), box_of(10, 8, 40, 30), box_of(70, 5, 9, 9), box_of(9, 9, -5, 4)}},
      {"random", p010, {130, 94}, random_boxes(3, 20, {130, 94})},
      {"row", rgb, {200, 1}, {box_of(20, 0, 90, 1)}},
      {"column", rgb, {1, 200}, {box_of(0, 20, 1, 90)}},
      {"large", i420, {520, 390}, {box_of(30, 20, 300, 350), box_of(280, 100, 230, 200)}},
      {"ten_thousand", bgrx, {90, 60}, random_boxes(4, 10000, {90, 60})},
  };
}

GraphCutBgParams box_params(Neighbours neighbours = Neighbours::four) {
  GraphCutBgParams params;
  params.source = GraphCutSource::boxes;
  params.output = GraphCutOutput::mask;
  params.neighbours = neighbours;
  return params;
}

class GraphCutBoxes : public BackendTest {
 protected:
  Camera on_backend(const Clip& clip, const GraphCutBgParams& params) {
    return is_cuda() ? Camera(clip, params, backend_) : Camera(clip, params, 3);
  }
};
TEST_ON_BACKENDS(GraphCutBoxes);

TEST_P(GraphCutBoxes, AnyBoxes_ResultsEqualPlainLoops) {
  for (const Neighbours neighbours : {Neighbours::four, Neighbours::eight}) {
    for (const Case& test : cases()) {
      SCOPED_TRACE(std::string(test.name) + ", " + std::to_string(static_cast<int>(neighbours)));
      GraphCutBgParams params = box_params(neighbours);
      if (neighbours == Neighbours::eight) params.sigma = 12;
      const Clip clip{.size = test.size, .format = test.format, .color = {YuvMatrix::bt709, false}};
      const GuardedFrame frame = scene_of(test.format, test.size, test.boxes, 11);
      ConstFrame in = frame.frame();
      in.color = clip.color;
      Camera camera = on_backend(clip, params);
      camera.boxes = test.boxes;
      const PlainBoxes first(in, test.boxes, params), second(in, test.boxes, params, &first);
      for (const PlainBoxes* plain : {&first, &second}) {
        const Shot shot = camera.shoot(in);
        EXPECT_TRUE(shot.intact);
        ASSERT_TRUE(shot.labels == plain->labels);
        ASSERT_NO_FATAL_FAILURE(expect_records(shot, test.boxes, in));
        EXPECT_TRUE(shot.report.cut.exact);
        EXPECT_EQ(shot.report.foreground,
                  std::ranges::count_if(shot.mask, [](uint8_t pixel) { return pixel != 0; }));
        EXPECT_EQ(shot.report.change, SceneChange::none);
      }
    }
  }
}

TEST_P(GraphCutBoxes, ChangingBoxesWithoutTracks_DoNotDependOnEarlierFrames) {
  const Size size = {150, 100};
  const Clip clip{.size = size};
  Camera camera = on_backend(clip, box_params());
  for (uint32_t i = 0; i < 6; ++i) {
    camera.boxes = random_boxes(i, static_cast<int>(i * 7 % 20), size);
    for (Region& box : camera.boxes) box.track = 0;
    const GuardedFrame frame = scene_of(clip.format, size, camera.boxes, i);
    const Shot shot = camera.shoot(frame.frame());
    const PlainBoxes plain(frame.frame(), camera.boxes, camera.params);
    ASSERT_TRUE(shot.labels == plain.labels) << i;
  }
}

// Two objects move, and their tracks change in frame 4. A box without a track and an empty box come
// and go, so that the numbers of the other boxes change.
std::vector<Region> tracked_boxes(int frame) {
  const uint32_t first = frame < 4 ? 5 : 6, second = frame < 4 ? 6 : 5;
  std::vector<Region> boxes = {box_of(10 + 3 * frame, 12, 50, 60, first),
                               box_of(90 - frame, 20 + frame, 40, 66, second)};
  if (frame % 2 == 1) boxes.insert(boxes.begin(), box_of(60, 0, 20, 18));
  if (frame % 3 == 1) boxes.insert(boxes.begin() + 1, box_of(500, 0, 20, 18, 5));
  return boxes;
}

// A picture of tracked_boxes() whose objects keep their colours.
GuardedFrame tracked_scene(const Clip& clip, int frame) {
  std::vector<Region> boxes = tracked_boxes(frame);
  std::erase_if(boxes, [](const Region& box) { return box.track == 0 || box.left == 500; });
  return scene_of(clip.format, clip.size, boxes, 31);
}

TEST_P(GraphCutBoxes, TracksInConsecutiveFrames_ContinueTheirMixtures) {
  const Clip clip{.size = {150, 100}};
  Camera camera = on_backend(clip, box_params());
  std::unique_ptr<PlainBoxes> last;
  for (int i = 0; i < 9; ++i) {
    SCOPED_TRACE(i);
    const bool is_first = i == 0 || i == 7;
    if (i == 7) camera.algorithm().reset();
    camera.boxes = tracked_boxes(i);
    const GuardedFrame frame = tracked_scene(clip, i);
    auto plain = std::make_unique<PlainBoxes>(frame.frame(), camera.boxes, camera.params,
                                              is_first ? nullptr : last.get());
    ASSERT_TRUE(camera.shoot(frame.frame()).labels == plain->labels);
    EXPECT_EQ(plain->continued, is_first || i == 4 ? 0 : 2);
    last = std::move(plain);
  }
}

// Squares of random colours, so that each fit changes the mixtures.
GuardedFrame mosaic(const Clip& clip, uint32_t frame) {
  GuardedFrame picture(clip.format, clip.size, 5);
  for (uint32_t y = 0; y < static_cast<uint32_t>(clip.size.height); ++y) {
    for (uint32_t x = 0; x < static_cast<uint32_t>(clip.size.width); ++x) {
      for (uint32_t c = 0; c < 3; ++c) {
        const uint32_t base = hash(x / 6, y / 6, c) % 220, noise = hash(x, y, frame * 3 + c) % 36;
        picture.frame().set_sample(static_cast<int>(c), static_cast<int>(x), static_cast<int>(y),
                                   static_cast<int>(base + noise));
      }
    }
  }
  return picture;
}

TEST_P(GraphCutBoxes, NewAndTrackedBoxesInOneFrame_HaveTheirOwnNumbersOfCuts) {
  const Clip clip{.size = {150, 100}};
  Camera camera = on_backend(clip, box_params());
  std::unique_ptr<PlainBoxes> last;
  for (uint32_t i = 0; i < 5; ++i) {
    camera.boxes = {box_of(8, 12, 50, 60, 5), box_of(60, 5, 80, 90, 6 + i)};
    const GuardedFrame frame = mosaic(clip, i);
    auto plain =
        std::make_unique<PlainBoxes>(frame.frame(), camera.boxes, camera.params, last.get());
    ASSERT_TRUE(camera.shoot(frame.frame()).labels == plain->labels) << i;
    EXPECT_EQ(plain->continued, i == 0 ? 0 : 1);
    last = std::move(plain);
  }
}

TEST_P(GraphCutBoxes, TrackAfterAFrameWithoutIt_IsNew) {
  const Clip clip{.size = {150, 100}};
  for (const bool is_boxed : {false, true}) {  // whether the frame in between has source=boxes
    Camera camera = on_backend(clip, box_params());
    const GuardedFrame frame = tracked_scene(clip, 0);
    const std::vector<Region> boxes = tracked_boxes(0);
    const PlainBoxes plain(frame.frame(), boxes, camera.params);
    for (const bool has_boxes : {true, false, true}) {
      camera.boxes = has_boxes ? boxes : std::vector<Region>();
      camera.params.source = has_boxes || is_boxed ? GraphCutSource::boxes : GraphCutSource::image;
      const Shot shot = camera.shoot(frame.frame());
      if (!has_boxes) continue;
      ASSERT_TRUE(shot.labels == plain.labels);
    }
  }
}

TEST_P(GraphCutBoxes, ModelRestored_TracksAreNew) {
  const Clip clip{.size = {150, 100}};
  GraphCutBgParams of_image = box_params();
  of_image.source = GraphCutSource::image;
  Camera other = on_backend(clip, of_image);
  other.shoot(mosaic(clip, 0).frame());
  Camera camera = on_backend(clip, box_params());
  camera.boxes = {box_of(8, 12, 50, 60, 5), box_of(60, 5, 80, 90, 6)};
  const GuardedFrame first = mosaic(clip, 0), second = mosaic(clip, 1);
  camera.shoot(first.frame());
  camera.algorithm().reset();
  camera.algorithm().restore(other.algorithm().state());
  const PlainBoxes last(first.frame(), camera.boxes, camera.params);
  const PlainBoxes plain(second.frame(), camera.boxes, camera.params);
  ASSERT_TRUE(plain.labels !=
              PlainBoxes(second.frame(), camera.boxes, camera.params, &last).labels);
  EXPECT_TRUE(camera.shoot(second.frame()).labels == plain.labels);
}

TEST_P(GraphCutBoxes, FramesInFlight_HaveTheResultsOfSingleFrames) {
  constexpr int kSlots = 3, kFrames = 9;
  const Size size = {130, 90};
  const GraphCutBgParams params = box_params();
  const auto algorithm = make_graph_cut(backend_);
  algorithm->prepare(params);
  algorithm->configure({.in = layout_of(PixelFormat::rgb), .size = size, .slots = kSlots});
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<DeviceFrame> pictures, labels;
  std::vector<std::vector<Region>> boxes(kSlots);
  std::unique_ptr<PlainBoxes> last;
  for (int slot = 0; slot < kSlots; ++slot) {
    queues.push_back(backend_->make_queue());
    pictures.emplace_back(*backend_, *queues.back(), PixelFormat::rgb, size, 0);
    labels.emplace_back(*backend_, *queues.back(), PixelFormat::labels32, size, 0);
  }
  for (int i = 0; i < kFrames + kSlots; ++i) {
    const auto slot = static_cast<size_t>(i % kSlots);
    if (i >= kSlots) {
      queues[slot]->wait();
      bool intact = false;
      const GuardedFrame found = labels[slot].download(&intact);
      const auto* first = reinterpret_cast<const uint32_t*>(found.frame().plane[0]);
      const GuardedFrame frame =
          scene_of(PixelFormat::rgb, size, boxes[slot], static_cast<uint32_t>(i - kSlots));
      auto plain = std::make_unique<PlainBoxes>(frame.frame(), boxes[slot], params, last.get());
      ASSERT_TRUE(std::equal(plain->labels.begin(), plain->labels.end(), first)) << i;
      last = std::move(plain);
    }
    if (i >= kFrames) continue;
    boxes[slot] = random_boxes(static_cast<uint32_t>(i), 3 + i, size);
    pictures[slot].upload(
        scene_of(PixelFormat::rgb, size, boxes[slot], static_cast<uint32_t>(i)).frame());
    FrameTask task{.slot = static_cast<int>(slot), .in = pictures[slot].frame()};
    task.labels = labels[slot].frame().plane_as<uint32_t>(0, size.width, size.height);
    task.attached = boxes[slot].data();
    task.attached_count = static_cast<uint32_t>(boxes[slot].size());
    algorithm->enqueue(task, params, *queues[slot]);
    queues[slot]->record();
  }
}

TEST_P(GraphCutBoxes, Verification_CutValueEqualsFlow) {
  GraphCutBgParams params = box_params();
  params.verify = true;
  const Clip clip{.size = {150, 100}};
  Camera camera = on_backend(clip, params);
  camera.boxes = {box_of(10, 10, 60, 80), box_of(60, 20, 70, 60)};
  const GuardedFrame frame = scene_of(clip.format, clip.size, camera.boxes, 3);
  const Shot shot = camera.shoot(frame.frame());
  EXPECT_EQ(shot.report.cut_value, shot.report.cut.flow);
  EXPECT_GT(shot.report.foreground, 0u);
}

// An ellipse of another colour in a box that is larger by a tenth.
TEST_P(GraphCutBoxes, ObjectOfOtherColors_IsCutOut) {
  const Size size = {240, 180};
  const Region object = box_of(60, 40, 100, 110);
  const GuardedFrame frame = scene_of(PixelFormat::rgb, size, {object}, 21);
  Camera camera = on_backend({.size = size}, box_params());
  camera.boxes = {box_of(60, 40, 100, 110)};
  const Shot shot = camera.shoot(frame.frame());
  int both = 0, any = 0;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const double u = (2.0 * x - object.left - object.right) / object.width();
      const double v = (2.0 * y - object.top - object.bottom) / object.height();
      const bool is_object = u * u + v * v < 0.8;
      const bool found = shot.mask[static_cast<size_t>(y * size.width + x)] != 0;
      both += is_object && found;
      any += is_object || found;
    }
  }
  EXPECT_GT(both, any * 0.95);
}

TEST_P(GraphCutBoxes, ReplaceWithModel_LearnsTheBackgroundOutsideTheObjects) {
  GraphCutBgParams params = box_params();
  params.output = GraphCutOutput::background;
  const Clip clip{.size = {90, 64}};
  Camera camera = on_backend(clip, params), one(clip, params, 1);
  for (int i = 1; i < 8; ++i) {
    camera.boxes = one.boxes = {box_of(5 + 3 * i - 2, 14, 20, 36)};
    const Shot shot = camera.shoot(i), wanted = one.shoot(i);
    ASSERT_TRUE(shot.out.same_pixels(wanted.out));
    ASSERT_TRUE(shot.labels == wanted.labels);
  }
  EXPECT_FALSE(camera.algorithm().state().empty());
  EXPECT_EQ(camera.algorithm().state(), one.algorithm().state());
}

TEST_P(GraphCutBoxes, ExcludedPixels_BelongToNoBox) {
  const Clip clip{.size = {90, 64}};
  const std::vector<Region> boxes = {box_of(10, 8, 60, 50)};
  const GuardedFrame frame = scene_of(clip.format, clip.size, boxes, 5);
  GuardedFrame exclusion(PixelFormat::gray8, clip.size);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 90; ++x) exclusion.frame().set_sample(0, x, y, x < 40 ? 255 : 0);
  }
  Camera camera = on_backend(clip, box_params()), one(clip, box_params(), 1);
  for (Camera* each : {&camera, &one}) {
    each->boxes = boxes;
    each->algorithm().set_picture(GraphCutPicture::exclusion_image, exclusion.frame());
  }
  const Shot shot = camera.shoot(frame.frame());
  ASSERT_TRUE(shot.labels == one.shoot(frame.frame()).labels);
  ASSERT_EQ(shot.records.size(), 1u);
  EXPECT_EQ(shot.records[0].left, 40);
  EXPECT_GT(shot.records[0].area, 500u);
}

TEST_P(GraphCutBoxes, WithoutMemoryForBoxes_IsRefused) {
  const Clip clip{.size = {40, 30}};
  Camera camera = on_backend(clip, params_with(GraphCutOutput::mask));
  camera.params.source = GraphCutSource::boxes;
  EXPECT_EQ(error_message_of([&] { camera.shoot(1); }),
            "source=boxes was not set when the algorithm was configured");
}

}  // namespace
}  // namespace regions::graphcutbg
