// What becomes of clusters, the slow way: pieces join, and are described.
#include <algorithm>
#include <cmath>
#include <map>

#include "tests/slicsuperpixel/oracle.hpp"

namespace regions {
namespace {

using Color = std::array<int, 3>;

struct Sums {
  int64_t color[3] = {}, count = 0;  // colours + 128
};

std::vector<Sums> sums_of(const std::vector<uint32_t>& pieces, uint32_t count,
                          const std::vector<Color>& pixels) {
  std::vector<Sums> sums(count);
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (size_t c = 0; c < 3; ++c) sums[pieces[i]].color[c] += pixels[i][c] + 128;
    ++sums[pieces[i]].count;
  }
  return sums;
}

// The least (distance, neighbour) of each piece that has neighbours and chooses.
template <class Chooses>
std::map<uint32_t, std::pair<int64_t, uint32_t>> choices(const std::vector<uint32_t>& pieces,
                                                         const std::vector<Sums>& sums,
                                                         const SlicGrid& grid,
                                                         const SlicScale& scale, Chooses chooses) {
  std::map<uint32_t, std::pair<int64_t, uint32_t>> choice;
  const auto look = [&](size_t i, size_t j) {
    const uint32_t a = pieces[i], b = pieces[j];
    if (a == b || !chooses(a)) return;
    int64_t d = 0;
    for (size_t c = 0; c < 3; ++c) {
      d += scale.weight[c] *
           static_cast<int64_t>(std::pow(sixteenths_slowly(sums[a].color[c], sums[a].count) -
                                             sixteenths_slowly(sums[b].color[c], sums[b].count),
                                         2));
    }
    const auto [at, is_new] = choice.try_emplace(a, d, b);
    if (!is_new) at->second = std::min(at->second, {d, b});
  };
  const auto width = static_cast<size_t>(grid.size.width);
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i % width > 0) look(i, i - 1), look(i - 1, i);
    if (i >= width) look(i, i - width), look(i - width, i);
  }
  return choice;
}

// Eight times a logarithm to the base 2, linear within an octave.
int eighths(int64_t value) {
  int octave = 0;
  for (value |= 1; value >> (octave + 1) > 0;) ++octave;
  return octave * 8 + static_cast<int>((8 * value >> octave) - 8);
}

// Which pieces stay where a number is wanted: those with the greatest product of area and a small
// power of the difference to the nearest neighbour, in steps; those of a step by a hash of their
// first pixels, or all of a step if few more are. One that holds a cell differs from all.
std::vector<bool> staying_of(const std::vector<uint32_t>& pieces, const std::vector<Sums>& sums,
                             const SlicGrid& grid, const SlicScale& scale, size_t wanted) {
  const auto width = static_cast<size_t>(grid.size.width);
  const int cell = grid.width * grid.height;
  const auto choice = choices(pieces, sums, grid, scale, [&](uint32_t piece) {
    return sums[piece].count < cell || grid.cells() > wanted;
  });
  std::vector<std::pair<int, uint32_t>> rank(sums.size());
  for (size_t i = pieces.size(); i-- > 0;) {
    const uint32_t piece = pieces[i];
    uint32_t mix = static_cast<uint32_t>(i % width) * 2654435761u +
                   static_cast<uint32_t>(i / width) * 2246822519u;
    mix = (mix ^ mix >> 15) * 739982445u;
    const auto found = choice.find(piece);
    const int stands_out = found == choice.end() ? 32 : eighths(found->second.first) / 8;
    const int cost = eighths(sums[piece].count) - eighths(cell) + 40 + stands_out;
    rank[piece] = {std::clamp(cost, 0, 127), (mix ^ mix >> 16) % 32};
  }
  auto sorted = rank;
  std::sort(sorted.rbegin(), sorted.rend());
  std::pair<int, uint32_t> bound = {0, 0};
  if (rank.size() >= wanted) {
    bound = sorted[wanted - 1];
    const auto is_in_step = [&](const auto& of) { return of.first >= bound.first; };
    const auto of_step = std::count_if(rank.begin(), rank.end(), is_in_step);
    if (static_cast<size_t>(of_step) <= wanted + wanted / 32) bound.second = 0;
  }
  std::vector<bool> stays;
  for (const auto& of : rank) stays.push_back(of >= bound);
  return stays;
}

// Joins those that do not stay or, if that is empty, those with fewer pixels than `least`.
std::vector<uint32_t> join(std::vector<uint32_t> pieces, uint32_t count,
                           const std::vector<Color>& pixels, const SlicGrid& grid,
                           const SlicScale& scale, int64_t least, std::vector<bool> stays) {
  for (bool changes = true; changes;) {
    changes = false;
    const auto sums = sums_of(pieces, count, pixels);
    const auto choice = choices(pieces, sums, grid, scale, [&](uint32_t piece) {
      return stays.empty() ? sums[piece].count < least : !stays[piece];
    });
    std::vector<uint32_t> name(count);
    for (uint32_t p = 0; p < count; ++p) name[p] = p;
    for (const auto& [from, best] : choice) {
      const uint32_t a = name[from], b = name[best.second];
      for (uint32_t& n : name) n = n == a || n == b ? std::min(a, b) : n;
      if (!stays.empty()) stays[std::min(a, b)] = stays[a] || stays[b];
      changes = true;
    }
    for (uint32_t& piece : pieces) piece = name[piece];
  }
  return pieces;
}

// Moments and borders, from labels.
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

}  // namespace

int64_t sixteenths_slowly(int64_t sum, int64_t count) {
  const float q = static_cast<float>(sum) / static_cast<float>(count) * 32.0f;
  return (static_cast<int64_t>(q) + 1) / 2;
}

std::vector<uint32_t> pieces_of(const std::vector<uint32_t>& values, Size size, uint32_t* count) {
  std::vector<uint32_t> piece(values.size(), UINT32_MAX);
  *count = 0;
  for (size_t first = 0; first < values.size(); ++first) {
    if (piece[first] != UINT32_MAX) continue;
    std::vector<size_t> open = {first};
    piece[first] = *count;
    while (!open.empty()) {
      const size_t i = open.back(), width = static_cast<size_t>(size.width);
      open.pop_back();
      const auto visit = [&](bool inside, size_t j) {
        if (!inside || piece[j] != UINT32_MAX || values[j] != values[i]) return;
        piece[j] = *count;
        open.push_back(j);
      };
      visit(i % width > 0, i - 1);
      visit(i % width + 1 < width, i + 1);
      visit(i >= width, i - width);
      visit(i + width < values.size(), i + width);
    }
    ++*count;
  }
  return piece;
}

Superpixels connect_slowly(const ConstFrame& in, const SlicParams& params,
                           const std::vector<uint32_t>& chosen) {
  const Size size = in.size();
  const SlicGrid grid = grid_of(size, params);
  const SlicScale scale = scale_of(grid, params);
  const std::vector<Color> pixels = colors_slowly(in, params.color_space);
  uint32_t count = 0;
  const auto pieces = pieces_of(chosen, size, &count);
  const bool is_number_wanted = params.superpixels > 0 && params.min_size > 0;
  const double share = params.min_size * (is_number_wanted ? 0.4 : 1);
  const int64_t least = std::lround(share * grid.width * grid.height);
  auto joined = pieces_of(join(pieces, count, pixels, grid, scale, least, {}), size, &count);
  if (is_number_wanted) {
    const auto stays = staying_of(joined, sums_of(joined, count, pixels), grid, scale,
                                  static_cast<size_t>(params.superpixels));
    joined = pieces_of(join(joined, count, pixels, grid, scale, 0, stays), size, &count);
  }
  Superpixels result;
  result.labels = joined;
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

}  // namespace regions
