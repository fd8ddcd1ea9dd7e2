// The oracle of superpixels. Of the code that it checks, it uses only the grid, the scale and the
// colour tables.
#include "tests/slicsuperpixel/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace regions {
namespace {

using Color = std::array<int, 3>;

// ---- colours and rounding

// Returns the components of the colour of each pixel.
std::vector<Color> oracle_colors(const ConstFrame& in, ColorSpace space) {
  const ColorReader reader = reader_of(in.layout, in.color, space);
  std::vector<Color> pixels;
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      const uint32_t color = reader.at(lab_tables(), in, x, y);
      pixels.push_back(
          {color_component(color, 0), color_component(color, 1), color_component(color, 2)});
    }
  }
  return pixels;
}

// Returns the mean in sixteenths, rounded, from the quotient of floats.
int64_t rounded_sixteenths(int64_t sum, int64_t count) {
  const float q = static_cast<float>(sum) / static_cast<float>(count) * 32.0f;
  return (static_cast<int64_t>(q) + 1) / 2;
}

// ---- assignment

struct Cluster {
  int64_t color[3] = {}, x = 0, y = 0, count = 0;  // sums: colours + 128, positions, pixels
  int64_t mean[3] = {};                            // of colours + 128, in quarters
  int64_t reach = 0;  // SLICO: 64 times the largest squared Lab distance of the last iteration
};

int64_t times(int64_t value, float factor) {
  volatile float product = static_cast<float>(value) * factor;
  return static_cast<int64_t>(product);
}

int gradient(const std::vector<Color>& pixels, Size size, const SlicScale& scale, int x, int y) {
  const auto at = [&](int px, int py) {
    return pixels[static_cast<size_t>(std::clamp(py, 0, size.height - 1) * size.width +
                                      std::clamp(px, 0, size.width - 1))];
  };
  int sum = 0;
  for (size_t c = 0; c < 3; ++c) {
    sum += scale.weight[c] * static_cast<int>(std::pow(at(x + 1, y)[c] - at(x - 1, y)[c], 2) +
                                              std::pow(at(x, y + 1)[c] - at(x, y - 1)[c], 2));
  }
  return sum;
}

// Returns 64 times the squared Lab distance.
int64_t squared(const Cluster& k, const Color& p, const SlicScale& scale) {
  int64_t sum = 0;
  for (size_t c = 0; c < 3; ++c) {
    const int64_t difference = 4 * (p[c] + 128) - k.mean[c];
    sum += scale.weight[c] * difference * difference;
  }
  return sum;
}

// One of the nine clusters with which the pixels of a cell are compared. The members are the parts
// of the score that all pixels of the cell share.
struct CellCandidate {
  const Cluster* cluster = nullptr;
  int64_t start = 0, right = 0, down = 0, factor[3] = {};
};

// `place` is the position in the search window, 0 to 8; (cell_x, cell_y) is the first pixel of the
// cell.
CellCandidate candidate(const Cluster& k, int place, int cell_x, int cell_y, const SlicGrid& grid,
                        const SlicScale& scale) {
  CellCandidate found = {.cluster = &k};
  const int dx = (place % 3 - 1) * grid.width, dy = (place / 3 - 1) * grid.height;
  // Positions are relative to the centre of the cell. Means are relative to the cell before the
  // cluster's own cell.
  const int64_t from_x = cell_x + dx - grid.width, from_y = cell_y + dy - grid.height;
  const int64_t kx =
      rounded_sixteenths(k.x - k.count * from_x, k.count) + 16 * (dx - grid.width - grid.width / 2);
  const int64_t ky = rounded_sixteenths(k.y - k.count * from_y, k.count) +
                     16 * (dy - grid.height - grid.height / 2);
  found.right = -times(kx, scale.slope);
  found.down = -times(ky, scale.slope);
  found.start = times(kx * kx + ky * ky, scale.curvature);
  for (size_t c = 0; c < 3 && scale.adaptive == 0; ++c) {
    found.factor[c] = std::clamp<int64_t>(
        -times(rounded_sixteenths(k.color[c], k.count) - 2048, scale.gain[c]), -2047, 2047);
    found.start += times(found.factor[c] * found.factor[c], scale.square[c]);
  }
  return found;
}

// Returns 16 times the score of the pixel at (u, v) of a cell, with the place in the lower bits.
int64_t score(const CellCandidate& k, int place, const Color& p, int u, int v, const SlicGrid& grid,
              const SlicScale& scale) {
  int64_t rest = 0;
  for (size_t c = 0; c < 3; ++c) rest += k.factor[c] * p[c];
  if (scale.adaptive > 0) {
    volatile float unit =
        scale.adaptive / static_cast<float>(std::max<int64_t>(k.cluster->reach, 64));
    rest = std::min<int64_t>(times(squared(*k.cluster, p, scale), unit), 1 << 26);
  }
  const int patch = v / 16 * 16;
  const int64_t start =
      k.start + k.right * (u - grid.width / 2) + k.down * (patch - grid.height / 2);
  const auto steep = static_cast<int64_t>(std::floor((static_cast<double>(k.down) + 8) / 16));
  return static_cast<int64_t>(std::floor(static_cast<double>(start) / 16)) * 16 + place +
         16 * (rest + steep * (v - patch));
}

// ---- enforced connectivity

// Returns the 4-connected fragment of each pixel. Fragments are numbered from 0 in raster order of
// their first pixels.
std::vector<uint32_t> fragments_of(const std::vector<uint32_t>& values, Size size,
                                   uint32_t* count) {
  std::vector<uint32_t> fragment(values.size(), UINT32_MAX);
  *count = 0;
  for (size_t first = 0; first < values.size(); ++first) {
    if (fragment[first] != UINT32_MAX) continue;
    std::vector<size_t> open = {first};
    fragment[first] = *count;
    while (!open.empty()) {
      const size_t i = open.back(), width = static_cast<size_t>(size.width);
      open.pop_back();
      const auto visit = [&](bool inside, size_t j) {
        if (!inside || fragment[j] != UINT32_MAX || values[j] != values[i]) return;
        fragment[j] = *count;
        open.push_back(j);
      };
      visit(i % width > 0, i - 1);
      visit(i % width + 1 < width, i + 1);
      visit(i >= width, i - width);
      visit(i + width < values.size(), i + width);
    }
    ++*count;
  }
  return fragment;
}

struct Sums {
  int64_t color[3] = {}, count = 0;  // colours + 128, pixels
};

std::vector<Sums> sums_of(const std::vector<uint32_t>& fragments, uint32_t count,
                          const std::vector<Color>& pixels) {
  std::vector<Sums> sums(count);
  for (size_t i = 0; i < fragments.size(); ++i) {
    for (size_t c = 0; c < 3; ++c) sums[fragments[i]].color[c] += pixels[i][c] + 128;
    ++sums[fragments[i]].count;
  }
  return sums;
}

// The most similar neighbour of each fragment for which `chooses` is true: (distance, neighbour).
template <class Chooses>
std::map<uint32_t, std::pair<int64_t, uint32_t>> choices(const std::vector<uint32_t>& fragments,
                                                         const std::vector<Sums>& sums,
                                                         const SlicGrid& grid,
                                                         const SlicScale& scale, Chooses chooses) {
  std::map<uint32_t, std::pair<int64_t, uint32_t>> choice;
  const auto look = [&](size_t i, size_t j) {
    const uint32_t a = fragments[i], b = fragments[j];
    if (a == b || !chooses(a)) return;
    int64_t d = 0;
    for (size_t c = 0; c < 3; ++c) {
      d += scale.weight[c] *
           static_cast<int64_t>(std::pow(rounded_sixteenths(sums[a].color[c], sums[a].count) -
                                             rounded_sixteenths(sums[b].color[c], sums[b].count),
                                         2));
    }
    const auto [at, is_new] = choice.try_emplace(a, d, b);
    if (!is_new) at->second = std::min(at->second, {d, b});
  };
  const auto width = static_cast<size_t>(grid.size.width);
  for (size_t i = 0; i < fragments.size(); ++i) {
    if (i % width > 0) look(i, i - 1), look(i - 1, i);
    if (i >= width) look(i, i - width), look(i - width, i);
  }
  return choice;
}

// Returns eight times the base-2 logarithm, interpolated linearly between powers of two.
int eighths(int64_t value) {
  int octave = 0;
  for (value |= 1; value >> (octave + 1) > 0;) ++octave;
  return octave * 8 + static_cast<int>((8 * value >> octave) - 8);
}

// Selects the fragments that are retained if a number of superpixels is requested. Fragments are
// ranked by the product of their area and a small power of the difference to the most similar
// neighbour, in steps. Within a step, a hash of the first pixel decides, or all fragments of the
// step are retained if they are few more than requested. Fragments of at least a cell have the
// largest difference.
std::vector<bool> retained_fragments(const std::vector<uint32_t>& fragments,
                                     const std::vector<Sums>& sums, const SlicGrid& grid,
                                     const SlicScale& scale, size_t requested) {
  const auto width = static_cast<size_t>(grid.size.width);
  const int cell = grid.width * grid.height;
  const auto choice = choices(fragments, sums, grid, scale, [&](uint32_t fragment) {
    return sums[fragment].count < cell || grid.cells() > requested;
  });
  std::vector<std::pair<int, uint32_t>> rank(sums.size());
  for (size_t i = fragments.size(); i-- > 0;) {
    const uint32_t fragment = fragments[i];
    uint32_t mix = static_cast<uint32_t>(i % width) * 2654435761u +
                   static_cast<uint32_t>(i / width) * 2246822519u;
    mix = (mix ^ mix >> 15) * 739982445u;
    const auto found = choice.find(fragment);
    const int difference = found == choice.end() ? 32 : eighths(found->second.first) / 8;
    const int cost = eighths(sums[fragment].count) - eighths(cell) + 40 + difference;
    rank[fragment] = {std::clamp(cost, 0, 127), (mix ^ mix >> 16) % 32};
  }
  auto sorted = rank;
  std::sort(sorted.rbegin(), sorted.rend());
  std::pair<int, uint32_t> bound = {0, 0};
  if (rank.size() >= requested) {
    bound = sorted[requested - 1];
    const auto is_in_step = [&](const auto& of) { return of.first >= bound.first; };
    const auto of_step = std::count_if(rank.begin(), rank.end(), is_in_step);
    if (static_cast<size_t>(of_step) <= requested + requested / 32) bound.second = 0;
  }
  std::vector<bool> retained;
  for (const auto& of : rank) retained.push_back(of >= bound);
  return retained;
}

// Merges the fragments that are not retained. If `retained` is empty, merges the fragments with
// fewer pixels than `least`.
std::vector<uint32_t> merge_fragments(std::vector<uint32_t> fragments, uint32_t count,
                                      const std::vector<Color>& pixels, const SlicGrid& grid,
                                      const SlicScale& scale, int64_t least,
                                      std::vector<bool> retained) {
  for (bool changes = true; changes;) {
    changes = false;
    const auto sums = sums_of(fragments, count, pixels);
    const auto choice = choices(fragments, sums, grid, scale, [&](uint32_t fragment) {
      return retained.empty() ? sums[fragment].count < least : !retained[fragment];
    });
    std::vector<uint32_t> name(count);
    for (uint32_t p = 0; p < count; ++p) name[p] = p;
    for (const auto& [from, best] : choice) {
      const uint32_t a = name[from], b = name[best.second];
      for (uint32_t& n : name) n = n == a || n == b ? std::min(a, b) : n;
      if (!retained.empty()) retained[std::min(a, b)] = retained[a] || retained[b];
      changes = true;
    }
    for (uint32_t& fragment : fragments) fragment = name[fragment];
  }
  return fragments;
}

// Computes moments and borders from the labels.
void describe(const ConstFrame& in, Superpixels& result) {
  const ColorReader reader = reader_of(in.layout, in.color, ColorSpace::lab);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> sides;
  const auto label = [&](int x, int y) {
    return result
        .labels[static_cast<size_t>(y) * static_cast<size_t>(in.width) + static_cast<size_t>(x)];
  };
  result.moments.resize(result.regions.size());
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      Moments& m = result.moments[label(x, y) - 1];
      const uint32_t lab = reader.at(lab_tables(), in, x, y);
      for (int c = 0; c < 3; ++c) {
        m.sum_lab[c] += static_cast<uint64_t>(color_component(lab, c) + 128);
      }
      const auto wide_x = static_cast<uint64_t>(x), wide_y = static_cast<uint64_t>(y);
      m.sum_xx += wide_x * wide_x;
      m.sum_xy += wide_x * wide_y;
      m.sum_yy += wide_y * wide_y;
      if (x > 0) ++sides[std::minmax(label(x, y), label(x - 1, y))];
      if (y > 0) ++sides[std::minmax(label(x, y), label(x, y - 1))];
    }
  }
  for (const auto& [pair, length] : sides) {
    if (pair.first != pair.second) result.borders.push_back({pair.first, pair.second, length});
  }
}

// Merges small fragments of the clusters `chosen` and records the superpixels.
Superpixels enforce_connectivity(const ConstFrame& in, const SlicParams& params,
                                 const std::vector<uint32_t>& chosen) {
  const Size size = in.size();
  const SlicGrid grid = grid_of(size, params);
  const SlicScale scale = scale_of(grid, params);
  const std::vector<Color> pixels = oracle_colors(in, params.color_space);
  uint32_t count = 0;
  const auto fragments = fragments_of(chosen, size, &count);
  const bool is_number_requested = params.superpixels > 0 && params.min_size > 0;
  const double share = params.min_size * (is_number_requested ? 0.4 : 1);
  const int64_t least = std::lround(share * grid.width * grid.height);
  auto merged =
      fragments_of(merge_fragments(fragments, count, pixels, grid, scale, least, {}), size, &count);
  if (is_number_requested) {
    const auto retained = retained_fragments(merged, sums_of(merged, count, pixels), grid, scale,
                                             static_cast<size_t>(params.superpixels));
    merged = fragments_of(merge_fragments(merged, count, pixels, grid, scale, 0, retained), size,
                          &count);
  }
  Superpixels result;
  result.labels = merged;
  result.regions.resize(count);
  for (size_t i = 0; i < result.labels.size(); ++i) {
    const int x = static_cast<int>(i) % size.width, y = static_cast<int>(i) / size.width;
    const uint32_t label = ++result.labels[i];
    Region& r = result.regions[label - 1];
    if (r.area++ == 0) {
      r.id = r.track = label;
      r.first_x = r.left = r.right = x;
      r.first_y = r.top = y;
    }
    r.left = std::min(r.left, x);
    r.right = std::max(r.right, x);
    r.bottom = y;
    r.sum_x += static_cast<uint64_t>(x);
    r.sum_y += static_cast<uint64_t>(y);
    for (int c = 0; c < in.layout.channels; ++c) {
      r.sum_value[c] += static_cast<uint64_t>(in.sample(c, x, y));
    }
  }
  describe(in, result);
  return result;
}

// ---- ECE1782

// The mean of a cluster, rounded down.
struct Mean {
  int64_t color[3], x, y;  // cut off
};

}  // namespace

Superpixels oracle_superpixels(const ConstFrame& in, const SlicParams& params) {
  const Size size = in.size();
  const SlicGrid grid = grid_of(size, params);
  const SlicScale scale = scale_of(grid, params);
  const std::vector<Color> pixels = oracle_colors(in, params.color_space);
  const auto pixel = [&](int x, int y) -> const Color& {
    return pixels[static_cast<size_t>(y) * static_cast<size_t>(size.width) +
                  static_cast<size_t>(x)];
  };
  const auto add = [&](Cluster& k, int x, int y) {
    for (size_t c = 0; c < 3; ++c) k.color[c] += pixel(x, y)[c] + 128;
    k.x += x;
    k.y += y;
    ++k.count;
  };
  const auto compute_mean = [](Cluster& k) {
    for (size_t c = 0; c < 3 && k.count > 0; ++c) {
      k.mean[c] = (rounded_sixteenths(k.color[c], k.count) + 2) / 4;
    }
  };
  std::vector<Cluster> clusters(grid.cells());
  for (size_t k = 0; k < clusters.size(); ++k) {
    const int left = static_cast<int>(k) % grid.columns * grid.width;
    const int top = static_cast<int>(k) / grid.columns * grid.height;
    const int right = std::min(left + grid.width, size.width);
    const int bottom = std::min(top + grid.height, size.height);
    const int mx = left + (right - left) / 2, my = top + (bottom - top) / 2;
    std::pair<int, int> best;
    int least = INT32_MAX;
    for (int y = std::max(top, my - 1); y <= std::min(bottom - 1, my + 1); ++y) {
      for (int x = std::max(left, mx - 1); x <= std::min(right - 1, mx + 1); ++x) {
        const int g = gradient(pixels, size, scale, x, y);
        if (g < least) least = g, best = {x, y};
      }
    }
    add(clusters[k], best.first, best.second);
    clusters[k].reach = scale.initial_max_distance;
    compute_mean(clusters[k]);
  }
  // The candidates of each cell, for the current clusters.
  std::vector<std::vector<CellCandidate>> candidates(clusters.size());
  const auto choose = [&](int x, int y) {
    const int column = x / grid.width, row = y / grid.height;
    std::vector<CellCandidate>& nine = candidates[static_cast<size_t>(row * grid.columns + column)];
    if (nine.empty()) {
      for (int place = 0; place < 9; ++place) {
        const int cx = column + place % 3 - 1, cy = row + place / 3 - 1;
        nine.emplace_back();
        if (cx < 0 || cy < 0 || cx >= grid.columns || cy >= grid.rows) continue;
        const Cluster& k = clusters[static_cast<size_t>(cy * grid.columns + cx)];
        if (k.count == 0) continue;
        nine.back() = candidate(k, place, column * grid.width, row * grid.height, grid, scale);
      }
    }
    int64_t best = INT64_MAX;
    for (int place = 0; place < 9; ++place) {
      const CellCandidate& k = nine[static_cast<size_t>(place)];
      if (!k.cluster) continue;
      best = std::min(best,
                      score(k, place, pixel(x, y), x % grid.width, y % grid.height, grid, scale));
    }
    const int place = best == INT64_MAX ? 4 : static_cast<int>(best & 15);
    return static_cast<uint32_t>((row + place / 3 - 1) * grid.columns + column + place % 3 - 1);
  };
  const int step = grid.height < 16 || size.height < 16 ? 1 : static_cast<int>(params.row_step);
  for (int i = 0; i < params.iterations; ++i) {
    std::vector<Cluster> sums(clusters.size());
    for (int y = 0; y < size.height; ++y) {
      if (y % grid.height % 16 % step != i % step) continue;
      for (int x = 0; x < size.width; ++x) {
        const uint32_t k = choose(x, y);
        add(sums[k], x, y);
        sums[k].reach = std::max(sums[k].reach, squared(clusters[k], pixel(x, y), scale));
      }
    }
    int64_t moved = 0;
    for (size_t k = 0; k < sums.size(); ++k) {
      const Cluster &a = clusters[k], &b = sums[k];
      if (a.count == 0 || b.count == 0) continue;
      const int64_t x0 = (static_cast<int>(k) % grid.columns - 1) * grid.width;
      const int64_t y0 = (static_cast<int>(k) / grid.columns - 1) * grid.height;
      moved += std::abs(rounded_sixteenths(a.x - a.count * x0, a.count) -
                        rounded_sixteenths(b.x - b.count * x0, b.count)) +
               std::abs(rounded_sixteenths(a.y - a.count * y0, a.count) -
                        rounded_sixteenths(b.y - b.count * y0, b.count));
    }
    clusters = sums;
    for (Cluster& k : clusters) compute_mean(k);
    for (auto& nine : candidates) nine.clear();
    if (params.tolerance > 0 &&
        static_cast<double>(moved) <= 16 * params.tolerance * static_cast<double>(grid.cells())) {
      break;
    }
  }
  std::vector<uint32_t> chosen;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) chosen.push_back(choose(x, y));
  }
  return enforce_connectivity(in, params, chosen);
}

Superpixels oracle_ece1782(const ConstFrame& in, const SlicParams& params) {
  const SlicGrid grid = grid_of(in.size(), params);
  const auto pixels = oracle_colors(in, params.color_space);
  const float factor = static_cast<float>(4 * params.compactness * params.compactness /
                                          (1.0 * grid.width * grid.height));
  using Cell = std::pair<int, int>;  // row, column
  std::vector<Cell> owner;
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) owner.emplace_back(y / grid.height, x / grid.width);
  }
  for (int i = 0; i < params.iterations; ++i) {
    std::map<Cell, Mean> sums;
    std::map<Cell, int64_t> counts;
    for (size_t p = 0; p < owner.size(); ++p) {
      Mean& sum = sums[owner[p]];
      for (size_t c = 0; c < 3; ++c) sum.color[c] += pixels[p][c] + 128;
      sum.x += static_cast<int64_t>(p) % in.width;
      sum.y += static_cast<int64_t>(p) / in.width;
      ++counts[owner[p]];
    }
    for (auto& [cell, mean] : sums) {
      for (int64_t* value : {&mean.color[0], &mean.color[1], &mean.color[2], &mean.x, &mean.y}) {
        *value /= counts[cell];
      }
    }
    for (size_t p = 0; p < owner.size(); ++p) {
      const int x = static_cast<int>(p) % in.width, y = static_cast<int>(p) / in.width;
      std::vector<std::pair<float, Cell>> found;
      for (int row = y / grid.height - 1; row <= y / grid.height + 1; ++row) {
        for (int column = x / grid.width - 1; column <= x / grid.width + 1; ++column) {
          const auto mean = sums.find({row, column});
          if (mean == sums.end()) continue;
          int64_t colors = 0;
          for (size_t c = 0; c < 3; ++c) {
            const int64_t d = pixels[p][c] + 128 - mean->second.color[c];
            colors += d * d;
          }
          const int64_t dx = x - mean->second.x, dy = y - mean->second.y;
          volatile float places = static_cast<float>(dx * dx + dy * dy) * factor;
          volatile float both = static_cast<float>(colors) + places;
          found.emplace_back(both, Cell{row, column});
        }
      }
      owner[p] = std::min_element(found.begin(), found.end())->second;
    }
  }
  std::vector<uint32_t> chosen;
  for (const auto& [row, column] : owner) {
    chosen.push_back(static_cast<uint32_t>(grid.index(column, row)));
  }
  return enforce_connectivity(in, params, chosen);
}

}  // namespace regions
