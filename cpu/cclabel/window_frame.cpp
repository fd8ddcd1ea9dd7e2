// Row by row, run by run of equal labels.
#include "cpu/cclabel/window_frame.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/cclabel/measure.hpp"
#include "cpu/cclabel/values.hpp"
#include "cpu/pixel_runs.hpp"
#include "cpu/tracking/tracking.hpp"

namespace regions {
namespace {

constexpr int kBands = BandRecords::kBands;

// Calls body(band, y) for all rows, the bands side by side.
template <std::invocable<int, int> Body>
void for_each_row(int height, const Workers& workers, Body body) {
  workers.parallel_for(kBands, [&](int band) {
    const auto begin_of = [&](int b) { return static_cast<int>(int64_t{height} * b / kBands); };
    for (int y = begin_of(band); y < begin_of(band + 1); ++y) body(band, y);
  });
}

void add_piece(const ConstFrame& in, uint32_t label, int y, int begin, int end, Region& r) {
  if (r.area == 0) {
    r = {.id = label, .track = label, .first_x = begin, .first_y = y, .left = begin, .top = y};
  }
  const auto pixels = static_cast<uint64_t>(end - begin);
  r.left = std::min(r.left, begin);
  r.right = std::max(r.right, end - 1);
  r.bottom = y;
  r.area += pixels;
  r.sum_x += pixels * static_cast<uint64_t>(begin + end - 1) / 2;
  r.sum_y += pixels * static_cast<uint64_t>(y);
  for (int c = 0; c < in.layout.channels; ++c) {
    for (int x = begin; x < end; ++x) r.sum_value[c] += static_cast<uint64_t>(in.sample(c, x, y));
  }
}

}  // namespace

uint32_t count_labels(ConstLabelMap labels, const Workers& workers) {
  uint32_t most[kBands] = {};
  for_each_row(labels.height, workers, [&](int band, int y) {
    const uint32_t* row = labels.row(y);
    most[band] = std::max(most[band], *std::max_element(row, row + labels.width));
  });
  return *std::max_element(most, most + kBands);
}

void measure_labels(ConstLabelMap labels, const ConstFrame& in, uint32_t count,
                    const BandRecords& bands, Region* records, const Workers& workers) {
  for (Region* band : bands.of) std::fill_n(band, count, Region{});
  for_each_row(labels.height, workers, [&](int band, int y) {
    for_each_piece(labels.row(y), labels.width, [&](uint32_t label, int begin, int end) {
      if (label - 1 < count) add_piece(in, label, y, begin, end, bands.of[band][label - 1]);
    });
  });
  std::copy_n(bands.of[0], count, records);
  for (int band = 1; band < kBands; ++band) {
    for (uint32_t k = 0; k < count; ++k) add_record(bands.of[band][k], records[k]);
  }
}

void share_windows(const WindowLabels& window, uint32_t count, uint32_t count_before,
                   const PairTable& pairs, const Workers& workers) {
  const size_t pixels = window.shared_pixels();
  const uint32_t *now = window.now_shared(), *before = window.before_shared();
  workers.parallel_for(kBands, [&](int band) {
    const auto share = static_cast<size_t>(band);
    const size_t end = pixels * (share + 1) / kBands;
    for (size_t i = pixels * share / kBands, next = i; i < end; i = next) {
      while (next < end && now[next] == now[i] && before[next] == before[i]) ++next;
      if (now[i] - 1 >= count || before[i] - 1 >= count_before) continue;
      pairs.add<CpuAtomics>(before[i], now[i], static_cast<uint32_t>(next - i));
    }
  });
}

void write_values(ConstLabelMap labels, const Job& job, const CcLabelParams& params,
                  std::span<const Region> regions, uint32_t* values, const Workers& workers) {
  const Tracks tracks{regions.data(), static_cast<uint32_t>(regions.size())};
  const auto width = static_cast<size_t>(labels.width);
  const int bytes = job.out.layout.component[0].step, offset = job.out.layout.component[0].offset;
  for_each_row(labels.height, workers, [&](int band, int y) {
    const uint32_t* value =
        values_of(labels.row(y), static_cast<uint32_t>(width),
                  values + static_cast<size_t>(band) * width, job, params, tracks);
    std::byte* out = job.out.at(0, 0, y) - offset;
    // The low bytes, as little-endian machines have them first.
    for (size_t x = 0; x < width; ++x, out += bytes) {
      std::memcpy(out, value + x, static_cast<size_t>(bytes));
    }
  });
}

}  // namespace regions
