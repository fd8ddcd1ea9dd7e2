// Pixel by pixel.
#include "tests/cclabel/runs_oracle.hpp"

#include <algorithm>
#include <string>
#include <tuple>

namespace regions {

SlowRuns runs_slowly(const std::vector<uint32_t>& labels, int width, uint32_t most,
                     uint32_t capacity) {
  SlowRuns slow;
  const auto w = static_cast<size_t>(width);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == 0 || labels[i] > most) continue;
    const bool goes_on = i % w > 0 && labels[i - 1] == labels[i];
    if (!goes_on) {
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

std::string difference(const std::vector<PixelRun>& found, const std::vector<PixelRun>& expected) {
  const auto text = [](const PixelRun& r) {
    return std::to_string(r.label) + ": " + std::to_string(r.width) + " from " +
           std::to_string(r.x) + ", " + std::to_string(r.row);
  };
  if (found.size() != expected.size()) {
    return std::to_string(found.size()) + " runs instead of " + std::to_string(expected.size());
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (text(found[i]) != text(expected[i])) {
      return "run " + std::to_string(i) + " of " + text(found[i]) + " instead of " +
             text(expected[i]);
    }
  }
  return "";
}

}  // namespace regions
