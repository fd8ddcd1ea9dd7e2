// Running and comparing.
#include "tests/cclabel/run.hpp"

#include <algorithm>
#include <numeric>

#include "cpu/backend.hpp"
#include "cpu/resampling.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {

RunResult run_on_cpu(int threads, const ConstFrame& in, const ConstFrame& mask,
                     const CcLabelParams& params, const RunOptions& options) {
  auto backend = make_cpu_backend(threads);
  auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend);
  Setup setup{.in = in.layout, .size = {in.width, in.height / options.slices}, .color = in.color};
  setup.depth = options.depth;
  setup.layers = layers_of(params);
  setup.has_background = params.label_background;
  const Size outcome = {in.width, in.height * setup.layers};
  const auto capacity = static_cast<uint32_t>(std::min<size_t>(options.capacity, outcome.area()));
  setup.max_regions = std::max(capacity, 1u);
  setup.max_runs = options.most_runs;
  if (options.out) {
    setup.has_output = true;
    setup.out = layout_of(*options.out);
  }
  if (!mask.empty()) {
    setup.has_mask = true;
    setup.mask = mask.layout;
  }
  algorithm->configure(setup);

  RunResult result;
  GuardedFrame labels(PixelFormat::labels32, outcome, 8);
  std::vector<Region> records(capacity + 1);
  records.back().id = 0xA9A9A9A9;
  FrameTask task{.slices = options.slices, .in = in, .mask = mask};
  task.mask_is_small = options.mask_is_small;
  if (options.wants_labels) task.labels = labels.labels();
  if (capacity > 0) task.table.regions = records.data();
  task.table.capacity = capacity;
  task.table.total = &result.total;
  result.runs.resize(options.most_runs + 1, {0xA9A9A9A9, 0, 0, 0});  // one for a guard
  if (options.most_runs > 0) {
    task.table.runs = result.runs.data();
    task.table.run_capacity = options.most_runs;
    task.table.run_total = &result.total_runs;
  }
  if (options.out) {
    result.out.emplace(*options.out, outcome, options.padding, in.color);
    task.out = result.out->frame();
  }
  const auto queue = backend->make_queue();
  algorithm->enqueue(task, params, *queue);
  queue->record();
  queue->wait();

  result.intact =
      labels.intact() && records.back().id == 0xA9A9A9A9 && (!result.out || result.out->intact());
  result.intact = result.intact && result.runs.back().label == 0xA9A9A9A9;
  result.runs.resize(std::min(result.total_runs, options.most_runs));
  for (int y = 0; y < outcome.height && options.wants_labels; ++y) {
    const uint32_t* row = labels.labels().row(y);
    result.labelling.labels.insert(result.labelling.labels.end(), row, row + in.width);
  }
  const auto known = std::min(result.total, capacity);
  result.labelling.regions.assign(records.begin(), records.begin() + known);
  return result;
}

GuardedFrame enlarged(const ConstFrame& mask, Size size) {
  GuardedFrame whole(mask.layout.format, size);
  pick(mask, whole.frame(),
       {mapping_to_picture(0, size.width, mask.width),
        mapping_to_picture(0, size.height, mask.height)},
       Workers(1));
  return whole;
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

std::string difference(const Labelling& found, const Labelling& expected, int width) {
  const auto place = std::mismatch(found.labels.begin(), found.labels.end(),
                                   expected.labels.begin(), expected.labels.end());
  if (place.first != found.labels.end() || place.second != expected.labels.end()) {
    const auto at = place.first - found.labels.begin();
    return "label " + std::to_string(*place.first) + " instead of " +
           std::to_string(*place.second) + " at " + std::to_string(at % width) + ", " +
           std::to_string(at / width);
  }
  if (found.regions.size() != expected.regions.size()) {
    return std::to_string(found.regions.size()) + " regions instead of " +
           std::to_string(expected.regions.size());
  }
  for (size_t k = 0; k < found.regions.size(); ++k) {
    const Region &a = found.regions[k], &b = expected.regions[k];
    const auto check = [&](const char* what, auto is, auto should) {
      if (is == should) return std::string();
      return "region " + std::to_string(k + 1) + ": " + what + " " + std::to_string(is) +
             " instead of " + std::to_string(should);
    };
    for (const std::string& wrong :
         {check("id", a.id, b.id), check("track", a.track, b.track),
          check("first_x", a.first_x, b.first_x), check("first_y", a.first_y, b.first_y),
          check("left", a.left, b.left), check("top", a.top, b.top),
          check("right", a.right, b.right), check("bottom", a.bottom, b.bottom),
          check("first_z", a.first_z, b.first_z), check("front", a.front, b.front),
          check("back", a.back, b.back), check("layer", a.layer, b.layer),
          check("sum_z", a.sum_z, b.sum_z), check("area", a.area, b.area),
          check("sum_x", a.sum_x, b.sum_x), check("sum_y", a.sum_y, b.sum_y),
          check("sum_value[0]", a.sum_value[0], b.sum_value[0]),
          check("sum_value[1]", a.sum_value[1], b.sum_value[1]),
          check("sum_value[2]", a.sum_value[2], b.sum_value[2])}) {
      if (!wrong.empty()) return wrong;
    }
  }
  return {};
}

SeededCase seeded_case(uint32_t seed) {
  const auto draw = [&](uint32_t what, int limit) {
    return static_cast<int>(hash(seed, what) % static_cast<uint32_t>(limit));
  };
  const char* const contents[] = {"rand_g1_d40", "rand_g4_d60", "smooth", "maze", "clouds", "full"};
  SeededCase made;
  made.content = contents[draw(1, 6)];
  made.size = {1 + draw(2, 300), 1 + draw(3, 120)};
  CcLabelParams& params = made.params;
  params.criterion = static_cast<Criterion>(draw(4, 3));
  params.connectivity = draw(5, 2) == 0 ? Connectivity::four : Connectivity::eight;
  params.tolerance = 0.03;
  params.min_area = draw(6, 3) == 0 ? draw(7, 20) : 0;
  params.max_area = draw(8, 3) == 0 ? 1 + draw(9, 60) : 0;
  params.fill_holes = draw(10, 3) == 0 ? draw(11, 30) : 0;
  std::vector<double> points;
  const int count = 1 + draw(12, draw(13, 4) == 0 ? Seeds::kMax : 3);
  for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
    points.push_back(draw(20 + 2 * i, made.size.width + 3));
    points.push_back(draw(21 + 2 * i, made.size.height + 3));
  }
  params.seeds = points;
  return made;
}

std::string to_text(const CcLabelParams& params) {
  const CcLabelParams defaults;
  std::string text;
  for (const Field& field : fields_of(params)) {
    const std::string value = to_text(field, field.get(&params));
    if (value == to_text(field, field.get(&defaults))) continue;
    text += (text.empty() ? "" : " ") + std::string(field.name) + "=" + value;
  }
  return text;
}

}  // namespace regions
