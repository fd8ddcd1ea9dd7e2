// Counts the pixels of each object in each zone.
#include "core/events/pixel_counts.hpp"

#include <algorithm>

namespace regions::events {
namespace {

uint32_t last_id_of(std::span<const Object> objects) {
  uint32_t last = 0;
  for (const Object& object : objects) last = std::max(last, object.id);
  return last;
}

}  // namespace

void PixelCounts::clear() {
  shares_.clear();
  foreground_.clear();
}

void PixelCounts::begin(const Rules& rules, Size map_size) {
  shares_.assign(rules.zones.size(), {});
  foreground_.assign(rules.zones.size(), -1);
  if (areas_.size() == rules.zones.size() && areas_size_ == map_size) return;
  areas_.clear();
  areas_size_ = map_size;
  for (const Zone& zone : rules_for(rules, map_size).zones)
    areas_.push_back(zone.reads_pixels() ? AreaPixels(zone.area(), map_size) : AreaPixels());
}

void PixelCounts::set_shares(size_t zone, std::span<const Object> objects,
                             std::span<const double> pixels) {
  auto& shares = shares_[zone];
  for (size_t i = 0; i < objects.size(); ++i) {
    const double inside = objects[i].id < inside_.size() ? inside_[objects[i].id] : 0;
    shares.push_back(pixels[i] > 0 ? std::min(inside / pixels[i], 1.0) : 0);
  }
}

void PixelCounts::set_foreground(size_t zone, uint64_t pixels) {
  const uint64_t all = areas_[zone].count();
  // Runs of another producer may overlap.
  if (all > 0)
    foreground_[zone] = static_cast<double>(std::min(pixels, all)) / static_cast<double>(all);
}

void PixelCounts::count_labels(const Rules& rules, ConstLabelMap labels,
                               std::span<const Object> objects, std::span<const double> pixels) {
  const Size size = {labels.width, labels.height};
  begin(rules, size);
  inside_.resize(std::min<size_t>(last_id_of(objects), size.area()) + 1);
  for (size_t zone = 0; zone < rules.zones.size(); ++zone) {
    if (!rules.zones[zone].reads_pixels()) continue;
    if (rules.zones[zone].anchor == Anchor::area) {
      std::ranges::fill(inside_, 0);
      areas_[zone].add_labels(labels, inside_);
      set_shares(zone, objects, pixels);
    }
    set_foreground(zone, areas_[zone].count_foreground(labels));
  }
}

void PixelCounts::count_runs(const Rules& rules, Size picture, std::span<const PixelRun> runs,
                             std::span<const Object> objects) {
  begin(rules, picture);
  // A hostile id must not allocate much memory: ids are at most the number of regions.
  constexpr size_t kMaxIds = 1 << 24;
  const size_t ids = std::min({size_t{last_id_of(objects)}, picture.area(), kMaxIds}) + size_t{1};
  std::vector<double> total(ids);
  for (const PixelRun& run : runs) {
    if (run.label < ids) total[run.label] += run.width;
  }
  std::vector<double> pixels;
  for (const Object& object : objects) pixels.push_back(object.id < ids ? total[object.id] : 0);
  inside_.resize(ids);
  for (size_t zone = 0; zone < rules.zones.size(); ++zone) {
    if (!rules.zones[zone].reads_pixels()) continue;
    std::ranges::fill(inside_, 0);
    areas_[zone].add_runs(runs, inside_);
    set_shares(zone, objects, pixels);
    uint64_t foreground = 0;
    for (const uint32_t inside : inside_) foreground += inside;
    set_foreground(zone, foreground);
  }
}

void PixelCounts::count_mask(const Rules& rules, Image<const uint8_t> mask) {
  begin(rules, {mask.width, mask.height});
  for (size_t zone = 0; zone < rules.zones.size(); ++zone) {
    if (rules.zones[zone].reads_pixels()) set_foreground(zone, areas_[zone].count_foreground(mask));
  }
}

}  // namespace regions::events
