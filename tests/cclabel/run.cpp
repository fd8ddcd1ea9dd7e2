// Running and comparing.
#include "tests/cclabel/run.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/resampling.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

constexpr uint32_t kGuard = 0xA9A9A9A9;

// A region table in pinned memory with a guard after each list.
class Table {
 public:
  // capacity 0: no records are requested.
  Table(Backend& backend, uint32_t capacity, uint32_t most_runs)
      : capacity_(capacity), most_runs_(most_runs) {
    regions_ = backend.allocate_pinned((capacity + size_t{1}) * sizeof(Region));
    runs_ = backend.allocate_pinned((most_runs + size_t{1}) * sizeof(PixelRun));
    counts_ = backend.allocate_pinned(3 * sizeof(uint32_t));
    states_ = backend.allocate_pinned((capacity + size_t{1}) * sizeof(TrackState));
    std::memset(states_.data(), 0xA9, states_.bytes());
    std::memset(regions_.data(), 0xA9, regions_.bytes());
    std::memset(runs_.data(), 0xA9, runs_.bytes());
    std::memset(counts_.data(), 0, counts_.bytes());
  }
  RegionTable view() const {
    RegionTable table;
    table.capacity = capacity_;
    table.total = counts_.as<uint32_t>();
    if (capacity_ > 0) table.regions = regions_.as<Region>();
    if (most_runs_ > 0) {
      table.runs = runs_.as<PixelRun>();
      table.run_capacity = most_runs_;
      table.run_total = table.total + 1;
    }
    return table;
  }
  // For tracking. If `with_occluded` is true, records of occluded tracks follow the regions'
  // records.
  RegionTable view_of_tracks(bool with_occluded) const {
    RegionTable table = view();
    table.track_states = states_.as<TrackState>();
    if (!with_occluded) return table;
    table.occluded_tracks = table.total + 2;
    *table.occluded_tracks = 0;
    return table;
  }
  uint32_t total() const { return counts_.as<uint32_t>()[0]; }
  uint32_t total_runs() const { return counts_.as<uint32_t>()[1]; }
  std::vector<Region> regions() const { return {records(), records() + known()}; }
  std::vector<Region> occluded() const {
    return {records() + known(), records() + known() + counts_.as<uint32_t>()[2]};
  }
  // The states of the regions, then of the occluded tracks.
  std::vector<TrackState> states() const {
    const auto* first = states_.as<TrackState>();
    return {first, first + known() + counts_.as<uint32_t>()[2]};
  }
  std::vector<PixelRun> runs() const {
    return {runs_.as<PixelRun>(), runs_.as<PixelRun>() + std::min(total_runs(), most_runs_)};
  }
  bool intact() const {
    return records()[capacity_].id == kGuard && runs_.as<PixelRun>()[most_runs_].label == kGuard &&
           states_.as<TrackState>()[capacity_].still == kGuard;
  }

 private:
  const Region* records() const { return regions_.as<Region>(); }
  uint32_t known() const { return std::min(total(), capacity_); }

  uint32_t capacity_, most_runs_;
  Block regions_, runs_, counts_, states_;
};

int bytes_after_rows(PixelFormat format, const RunOptions& options) {
  return options.padding * layout_of(format).sample_bytes;
}

std::vector<uint32_t> labels_of(GuardedFrame& map) {
  std::vector<uint32_t> labels;
  for (int y = 0; y < map.labels().height; ++y) {
    labels.insert(labels.end(), map.labels().row(y), map.labels().row(y) + map.labels().width);
  }
  return labels;
}

}  // namespace

RunResult run(Backend& backend, Algorithm<CcLabelParams>& algorithm, const ConstFrame& in,
              const ConstFrame& mask, const CcLabelParams& params, const RunOptions& options) {
  const auto queue = backend.make_queue();
  Setup setup{.in = in.layout, .size = {in.width, in.height / options.slices}, .color = in.color};
  setup.depth = options.depth;
  setup.layers = layers_of(params);
  setup.has_background = params.label_background;
  const Size outcome = {in.width, in.height * setup.layers};
  const auto capacity = static_cast<uint32_t>(std::min<size_t>(options.capacity, outcome.area()));
  setup.max_regions = std::max(capacity, 1u);
  setup.max_runs = options.most_runs;
  setup.has_output = options.out.has_value();
  if (options.out) setup.out = layout_of(*options.out);
  setup.has_mask = !mask.empty();
  setup.mask = mask.layout;
  if (options.is_prepared) algorithm.prepare(params);
  algorithm.configure(setup);

  const auto make = [&](PixelFormat format, Size size, int padding) {
    return std::make_unique<DeviceFrame>(backend, *queue, format, size, padding, in.color);
  };
  const PixelFormat format = in.layout.format;
  const auto picture =
      make(format, in.size(), options.is_aligned ? kToSixteen : bytes_after_rows(format, options));
  picture->upload(in);
  const auto labels = make(PixelFormat::labels32, outcome, 4 * options.padding);
  const Table table(backend, options.wants_records ? capacity : 0, options.most_runs);
  FrameTask task{.slices = options.slices, .in = picture->frame()};
  task.mask_is_small = options.mask_is_small;
  task.excluded_value = options.excluded_value;
  std::unique_ptr<DeviceFrame> attached, out;
  if (!mask.empty()) {
    attached = make(mask.layout.format, mask.size(), bytes_after_rows(mask.layout.format, options));
    attached->upload(mask);
    task.mask = attached->frame();
  }
  const Frame map = labels->frame();
  if (options.wants_labels) task.labels = map.plane_as<uint32_t>(0, map.width, map.height);
  task.table = table.view();
  if (options.out) {
    out = make(*options.out, outcome, bytes_after_rows(*options.out, options));
    task.out = out->frame();
  }
  algorithm.enqueue(task, params, *queue);
  queue->record();
  queue->wait();

  RunResult result;
  result.passes = static_cast<CcLabel&>(algorithm).passes(0);
  result.total = table.total();
  result.labelling.regions = table.regions();
  result.total_runs = table.total_runs();
  result.runs = table.runs();
  bool is_picture_intact = false, is_map_intact = false, is_out_intact = true;
  picture->download(&is_picture_intact);
  GuardedFrame found = labels->download(&is_map_intact);
  if (options.wants_labels) result.labelling.labels = labels_of(found);
  if (out) result.out.emplace(out->download(&is_out_intact));
  result.intact = table.intact() && is_picture_intact && is_map_intact && is_out_intact;
  return result;
}

RunResult run_on_cpu(int threads, const ConstFrame& in, const ConstFrame& mask,
                     const CcLabelParams& params, const RunOptions& options) {
  const auto backend = make_cpu_backend(threads);
  const auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend);
  return run(*backend, *algorithm, in, mask, params, options);
}

// One frame in flight: its inputs and outputs in the backend's memory, and their copies.
class CcLabelStream::Slot {
 public:
  Slot(Backend& backend, const Setup& setup, const StreamOptions& options, int index)
      : setup_(setup),
        index_(index),
        wants_labels_(options.wants_labels),
        memory_(backend.memory()),
        queue_(backend.make_queue()),
        table_(backend, options.capacity, options.most_runs) {
    in_ = backend.allocate(packed_bytes(setup.in, setup.size));
    mask_ = backend.allocate(packed_bytes(setup.mask, setup.size));
    labels_ = backend.allocate(map_bytes());
    host_labels_ = backend.allocate_pinned(map_bytes());
    if (!setup.has_output) return;
    out_ = backend.allocate(packed_bytes(setup.out, setup.size));
    host_out_ = backend.allocate_pinned(packed_bytes(setup.out, setup.size));
  }

  void begin(Algorithm<CcLabelParams>& algorithm, const ConstFrame& frame, const ConstFrame& mask,
             const CcLabelParams& params) {
    const Frame in = packed_frame(setup_.in, setup_.size, setup_.color, memory_, in_.data());
    queue_->copy(frame, in);
    const Size size = setup_.size;
    FrameTask task;
    task.slot = index_;
    task.in = in;
    if (!mask.empty()) {
      const Frame there = packed_frame(setup_.mask, mask.size(), {}, memory_, mask_.data());
      queue_->copy(mask, there);
      task.mask = there;
      task.mask_is_small = !(mask.size() == size);
    }
    if (wants_labels_) {
      task.labels = {labels_.as<uint32_t>(), size.width, size.height, 4 * ptrdiff_t{size.width}};
    }
    task.table = table_.view_of_tracks(!setup_.slides);
    if (setup_.has_output) task.out = out_frame(memory_, out_);
    algorithm.enqueue(task, params, *queue_);
    if (wants_labels_) queue_->copy_bytes(labels_.data(), host_labels_.data(), map_bytes());
    if (setup_.has_output) queue_->copy(task.out, out_frame(Memory::host, host_out_));
    queue_->record();
    is_busy = true;
  }

  StreamFrame finish(const CcLabel& algorithm) {
    queue_->wait();
    is_busy = false;
    StreamFrame result;
    result.total = table_.total();
    const auto* labels = host_labels_.as<uint32_t>();
    result.labelling.regions = table_.regions();
    if (wants_labels_) result.labelling.labels.assign(labels, labels + setup_.size.area());
    if (!setup_.slides) result.occluded = table_.occluded();
    result.states = table_.states();
    result.runs = table_.runs();
    if (setup_.has_output) {
      const Frame out = out_frame(Memory::host, host_out_);
      for (int y = 0; y < out.height; ++y) {
        const auto* row = reinterpret_cast<const uint8_t*>(out.plane[0] + y * out.pitch[0]);
        result.out.insert(result.out.end(), row, row + row_bytes(out.layout, 0, out.size()));
      }
    }
    result.events = algorithm.track_events(index_);
    return result;
  }

  bool is_busy = false;

 private:
  size_t map_bytes() const { return setup_.size.area() * sizeof(uint32_t); }
  Frame out_frame(Memory memory, const Block& block) const {
    return packed_frame(setup_.out, setup_.size, setup_.color, memory, block.data());
  }

  const Setup& setup_;
  const int index_;
  const bool wants_labels_;
  const Memory memory_;
  std::unique_ptr<Queue> queue_;
  Table table_;
  Block in_, mask_, labels_, host_labels_, out_, host_out_;
};

CcLabelStream::CcLabelStream(std::shared_ptr<Backend> backend, const Layout& layout, Size size,
                             const CcLabelParams& params, StreamOptions options)
    : backend_(std::move(backend)), entry_(*backend_), options_(std::move(options)) {
  setup_ = {.in = layout, .size = size, .slots = options_.slots};
  setup_.has_mask = !options_.masks.empty();
  setup_.mask = layout_of(PixelFormat::gray8);
  setup_.depth = static_cast<int>(params.depth);
  setup_.slides = params.sliding;
  setup_.tracks = true;
  setup_.max_regions = options_.capacity;
  setup_.max_runs = options_.most_runs;
  setup_.has_output = options_.out.has_value();
  if (options_.out) setup_.out = layout_of(*options_.out);
  algorithm_ = make_algorithm_on<CcLabelParams>(backend_);
  algorithm_->prepare(params);
  algorithm_->configure(setup_);
  for (int i = 0; i < options_.slots; ++i) {
    slots_.push_back(std::make_unique<Slot>(*backend_, setup_, options_, i));
  }
}

CcLabelStream::~CcLabelStream() = default;

std::vector<StreamFrame> CcLabelStream::run(const std::vector<ConstFrame>& frames,
                                            const CcLabelParams& params) {
  std::vector<StreamFrame> results;
  for (size_t i = 0; i < frames.size() + slots_.size(); ++i) {
    Slot& slot = *slots_[i % slots_.size()];
    if (slot.is_busy) results.push_back(slot.finish(static_cast<CcLabel&>(*algorithm_)));
    if (i >= frames.size()) continue;
    const ConstFrame mask = setup_.has_mask ? options_.masks[i] : ConstFrame{};
    slot.begin(*algorithm_, frames[i], mask, params);
  }
  return results;
}

GuardedFrame enlarged(const ConstFrame& mask, Size size) {
  GuardedFrame whole(mask.layout.format, size);
  pick(mask, whole.frame(),
       {mapping_to_picture(0, size.width, mask.width),
        mapping_to_picture(0, size.height, mask.height)},
       Workers(1));
  return whole;
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
      return "run " + std::to_string(i) + " is " + text(found[i]) + " instead of " +
             text(expected[i]);
    }
  }
  return "";
}

std::string difference(const RunResult& found, const RunResult& expected, int width) {
  const std::string labelling = difference(found.labelling, expected.labelling, width);
  if (!labelling.empty()) return labelling;
  if (found.total != expected.total) return "total " + std::to_string(found.total);
  if (found.total_runs != expected.total_runs) return "runs " + std::to_string(found.total_runs);
  if (found.out && !found.out->same_pixels(*expected.out)) return "the output pictures differ";
  return difference(found.runs, expected.runs);
}

std::string difference(const std::vector<StreamFrame>& found,
                       const std::vector<StreamFrame>& expected, int width) {
  if (found.size() != expected.size()) return std::to_string(found.size()) + " frames";
  for (size_t t = 0; t < found.size(); ++t) {
    const StreamFrame &a = found[t], &b = expected[t];
    std::string text = difference(a.labelling, b.labelling, width);
    if (text.empty()) text = difference(Labelling{{}, a.occluded}, {{}, b.occluded}, width);
    if (text.empty() && a.states != b.states) text = "the states of tracks differ";
    if (text.empty()) text = difference(a.runs, b.runs);
    if (text.empty() && a.total != b.total) text = "total " + std::to_string(a.total);
    if (text.empty() && a.out != b.out) text = "the output pictures differ";
    if (text.empty() && std::memcmp(&a.events, &b.events, sizeof a.events) != 0) {
      text = "the tracking events differ, last id " + std::to_string(a.events.last_id) +
             " instead of " + std::to_string(b.events.last_id);
    }
    if (!text.empty()) return "frame " + std::to_string(t) + ": " + text;
  }
  return "";
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

RunResult CcLabelTest::run(const ConstFrame& in, const ConstFrame& mask,
                           const CcLabelParams& params, const RunOptions& options) const {
  const auto algorithm = make_algorithm_on<CcLabelParams>(backend_);
  return regions::run(*backend_, *algorithm, in, mask, params, options);
}

void CcLabelTest::check(const ConstFrame& in, const CcLabelParams& params, const std::string& name,
                        const RunOptions& options, const ConstFrame& mask) {
  SCOPED_TRACE(name + " " + std::string(name_of(in.layout.format)) + " " +
               std::to_string(in.width) + "x" + std::to_string(in.height) + " " + to_text(params) +
               " padding=" + std::to_string(options.padding) + " capacity=" +
               std::to_string(options.capacity) + " runs=" + std::to_string(options.most_runs));
  const RunResult found = run(in, mask, params, options);
  EXPECT_TRUE(found.intact);
  if (is_cuda()) {
    const auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(cpu_);
    CcLabelParams cpu_params = params;
    cpu_params.method = Method::automatic;
    const RunResult expected = regions::run(*cpu_, *algorithm, in, mask, cpu_params, options);
    EXPECT_EQ(difference(found, expected, in.width), "");
    check_other_methods(in, params, options, mask, expected);
    return;
  }
  Labelling expected = label_slowly(in, mask, params, options.slices, options.excluded_value);
  EXPECT_EQ(found.total, expected.regions.size());
  if (options.out && params.output == CcOutput::labels &&
      params.overflow == Overflow::drop_smallest) {
    keep_largest(expected, max_label_of(layout_of(*options.out)));
  }
  expected.regions.resize(std::min<size_t>(expected.regions.size(), options.capacity));
  Labelling recorded = found.labelling;
  recorded.regions.resize(std::min(recorded.regions.size(), expected.regions.size()));
  EXPECT_EQ(difference(recorded, expected, in.width), "");
  if (options.most_runs == 0) return;
  const SlowRuns runs = runs_slowly(expected.labels, in.width, options.capacity, options.most_runs);
  EXPECT_EQ(difference(found.runs, runs.runs), "");
  EXPECT_EQ(found.total_runs, runs.total);
}

// A filter that excludes no region makes CUDA label small pictures by the method of large ones.
// Volumes without records take a shortcut. Runs must not require a label map.
void CcLabelTest::check_other_methods(const ConstFrame& in, const CcLabelParams& params,
                                      RunOptions options, const ConstFrame& mask,
                                      const RunResult& expected) {
  const bool is_picture = options.depth == 1 && layers_of(params) == 1;
  if (is_picture && params.criterion == Criterion::binary && params.max_area == 0 &&
      params.method == Method::automatic && in.size().area() <= 1 << 20) {
    CcLabelParams filtered = params;
    filtered.max_area = static_cast<int64_t>(in.size().area());
    EXPECT_EQ(difference(run(in, mask, filtered, options), expected, in.width), "") << "filtered";
  }
  if (!is_picture && params.method == Method::automatic && !options.out) {
    RunOptions bare = options;
    bare.wants_records = false;
    bare.most_runs = 0;
    const RunResult found = run(in, mask, params, bare);
    EXPECT_EQ(found.labelling.labels, expected.labelling.labels) << "without records";
    EXPECT_EQ(found.total, expected.total) << "without records";
  }
  if (options.most_runs == 0) return;
  options.wants_labels = false;
  EXPECT_EQ(difference(run(in, mask, params, options).runs, expected.runs), "") << "without labels";
}

}  // namespace regions
