// Sliding windows of frames on CUDA (property `sliding`). core/cclabel/sliding_window.hpp labels a
// window of frames as a volume. Afterwards, this file measures and tracks the regions in the
// window's newest frame and writes the outputs of this frame. Frames are processed one after
// another. SlidingCuda::slide() calls the passes in this order:
//   1. label_window() labels the window as a volume.
//   2. measure_frame() writes the records of the regions in the newest frame.
//   3. count_shared_pixels() counts the pixels that regions share with the previous window.
//   4. publish_table() copies the records to the host.
//   5. The tracker (gpu/tracking) matches regions to tracks.
//   6. RunLengths::fill(), write_labels() and write_picture() write the outputs.
#include "core/cclabel/sliding_window.hpp"
#include "core/workspace.hpp"
#include "gpu/cclabel/color_sums.hpp"
#include "gpu/cclabel/device_records.hpp"
#include "gpu/cclabel/labeller.hpp"
#include "gpu/cclabel/pixel_writers.hpp"
#include "gpu/cclabel/run_lengths.hpp"
#include "gpu/drawing/drawing.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/tracking/shared_pixels.hpp"
#include "gpu/tracking/tracking.hpp"

namespace regions {
namespace cclabel {
namespace {

// Device buffers that describe the regions in the window's newest frame.
struct WindowFrame {
  uint32_t* total;        // [2] number of regions and of labelled regions, which are equal
  Region* records;        // [capacity]
  TrackState* states;     // [capacity] states of the tracks of the regions
  uint32_t* first_pixel;  // [capacity] y * width + x of each region's first pixel
  uint32_t capacity;
};

constexpr int kThreads = 256;
constexpr int kRowsPerLane = 16;  // number of rows that a lane processes
constexpr int kRowsInFlight = 4;  // number of rows that are loaded in advance

__global__ __launch_bounds__(kThreads) void clear_window_kernel(WindowFrame frame) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i == 0) frame.total[0] = 0;
  if (i >= frame.capacity) return;
  frame.records[i] = initial_record(i + 1, 0, {});
  frame.records[i].front = 0;  // a frame has only one slice
  frame.first_pixel[i] = UINT32_MAX;
}

// Consecutive pixels of one label in a column.
struct ColumnRun {
  uint32_t label = 0;
  uint32_t area = 0, sum_y = 0, value[3] = {};  // sums over the pixels
  int top = 0;                                  // row of the first pixel

  __device__ int bottom() const { return top + static_cast<int>(area) - 1; }
};

// Adds each lane's run to the record of its label `key`. A lane with key 0 has no run. The whole
// warp must call this function. The order of the atomics does not matter: they are sums, minima and
// maxima of integers.
__device__ void add_column_runs(const ColumnRun& column, uint32_t key, int x, int width,
                                int channels, const WindowFrame& frame) {
  const auto as_unsigned = [](int value) { return static_cast<uint32_t>(value); };
  // No overflow: coordinates are below 2^16 and a run has at most 16 pixels, so sums over a warp
  // stay below 2^25.
  for_each_key(key, [&](uint32_t common_key, bool takes_part) {
    const uint32_t area = warp_sum(takes_part ? column.area : 0);
    const uint32_t sum_x = warp_sum(takes_part ? column.area * as_unsigned(x) : 0);
    const uint32_t sum_y = warp_sum(takes_part ? column.sum_y : 0);
    const int left = static_cast<int>(warp_min(takes_part ? as_unsigned(x) : UINT32_MAX));
    const int right = static_cast<int>(warp_max(takes_part ? as_unsigned(x) : 0));
    const int top = static_cast<int>(warp_min(takes_part ? as_unsigned(column.top) : UINT32_MAX));
    const int bottom = static_cast<int>(warp_max(takes_part ? as_unsigned(column.bottom()) : 0));
    const uint32_t first = warp_min(
        takes_part ? as_unsigned(column.top) * as_unsigned(width) + as_unsigned(x) : UINT32_MAX);
    uint32_t value[3] = {};
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      if (c < channels) value[c] = warp_sum(takes_part ? column.value[c] : 0);
    }
    if (!is_first_lane()) return;
    Region& record = frame.records[common_key - 1];
    // A plain read often shows that a minimum or maximum does not change, which saves the atomic.
    uint32_t* const record_first_pixel = frame.first_pixel + common_key - 1;
    if (left < record.left) atomicMin(&record.left, left);
    if (top < record.top) atomicMin(&record.top, top);
    if (right > record.right) atomicMax(&record.right, right);
    if (bottom > record.bottom) atomicMax(&record.bottom, bottom);
    if (first < *record_first_pixel) atomicMin(record_first_pixel, first);
    atomic_add64(record.area, area);
    atomic_add64(record.sum_x, sum_x);
    atomic_add64(record.sum_y, sum_y);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      if (c < channels) atomic_add64(record.sum_value[c], value[c]);
    }
  });
}

// A pixel that is loaded in advance.
struct Pixel {
  uint32_t label = 0;      // 0: background, or outside the image
  uint32_t value[3] = {};  // sample of each channel, valid if label is not 0

  __device__ void load(const ConstLabelMap& labels, int x, int y, int end) {
    label = x < labels.width && y < end ? labels(x, y) : 0;
  }
  __device__ void load_values(const SampleValues& colors, int x, int y) {
    if (label != 0) colors.sum({}, x, y, 1, value);
  }
};

// Each lane processes kRowsPerLane pixels of one column. A warp processes 32 adjacent columns.
__global__ __launch_bounds__(kThreads) void measure_window_kernel(ConstLabelMap labels,
                                                                  SampleValues colors,
                                                                  WindowFrame frame) {
  const int x = static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32);
  const int begin =
      static_cast<int>(blockIdx.y * (kThreads / 32) + threadIdx.x / 32) * kRowsPerLane;
  const int end = min(begin + kRowsPerLane, labels.height), channels = colors.channels;
  uint32_t max_label = 0;
  ColumnRun column;
  Pixel loaded[kRowsInFlight];
  for (int y = begin; y < end; ++y) {  // the same rows for the whole warp
    if ((y - begin) % kRowsInFlight == 0) {
#pragma unroll
      for (int k = 0; k < kRowsInFlight; ++k) loaded[k].load(labels, x, y + k, end);
#pragma unroll
      for (int k = 0; k < kRowsInFlight; ++k) loaded[k].load_values(colors, x, y + k);
    }
    const Pixel pixel = loaded[0];
#pragma unroll
    for (int k = 1; k < kRowsInFlight; ++k) loaded[k - 1] = loaded[k];
    max_label = max(max_label, pixel.label);
    const uint32_t label = pixel.label <= frame.capacity ? pixel.label : 0;
    const bool changes = label != column.label;
    const uint32_t finished_label = changes ? column.label : 0;
    if (__any_sync(kAllLanes, finished_label != 0)) {
      add_column_runs(column, finished_label, x, labels.width, channels, frame);
    }
    if (changes) {
      column = {};
      column.label = label;
      column.top = y;
    }
    if (label == 0) continue;
    ++column.area;
    column.sum_y += static_cast<uint32_t>(y);
    for (int c = 0; c < 3; ++c) column.value[c] += pixel.value[c];
  }
  add_column_runs(column, column.label, x, labels.width, channels, frame);
  max_label = warp_max(max_label);
  if (is_first_lane()) atomicMax(frame.total, max_label);
}

__global__ __launch_bounds__(kThreads) void finish_window_kernel(WindowFrame frame,
                                                                 uint32_t width) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i == 0) frame.total[1] = frame.total[0];
  if (i >= min(frame.total[0], frame.capacity)) return;
  frame.records[i].first_x = static_cast<int>(frame.first_pixel[i] % width);
  frame.records[i].first_y = static_cast<int>(frame.first_pixel[i] / width);
}

void measure_frame(ConstLabelMap labels, const ConstFrame& in, const WindowFrame& frame,
                   cudaStream_t stream) {
  const unsigned blocks = blocks_for(size_t{frame.capacity} + 1, kThreads);
  launch(clear_window_kernel, blocks, kThreads, 0, stream, frame);
  const dim3 grid(blocks_for(static_cast<size_t>(labels.width), 32),
                  blocks_for(static_cast<size_t>(labels.height), kThreads / 32 * kRowsPerLane));
  launch(measure_window_kernel, grid, kThreads, 0, stream, labels, SampleValues(in), frame);
  launch(finish_window_kernel, blocks, kThreads, 0, stream, frame,
         static_cast<uint32_t>(labels.width));
}

constexpr int kWordsPerWarp = 64;  // a warp processes 64 words of 32 pixels
constexpr int kWordsInFlight = 8;  // number of words that are loaded in advance

// Counts the pixels of each pair of a label in this window and a label in the previous window.
// `now` and `before` are the label maps of the frames that both windows contain. A warp processes
// 32 pixels at a time. As long as all 32 pixels have the same pair, the warp only increases a
// counter.
__global__ __launch_bounds__(kThreads) void count_shared_in_window_kernel(const uint32_t* now,
                                                                          const uint32_t* before,
                                                                          size_t pixels,
                                                                          WindowFrame frame,
                                                                          TrackMemory memory) {
  __shared__ BlockPairs pairs;
  pairs.clear();
  __syncthreads();  // the pairs are empty
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t count = min(*frame.total, frame.capacity);
  const uint32_t count_before = memory.counts->visible;
  const size_t begin =
      (static_cast<size_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32) * (32 * kWordsPerWarp);
  uint32_t current_pair = 0, current_pixels = 0;  // equal in all lanes
  uint32_t loaded[kWordsInFlight] = {};
  for (int word = 0; word < kWordsPerWarp; ++word) {
    if (word % kWordsInFlight == 0) {
#pragma unroll
      for (int k = 0; k < kWordsInFlight; ++k) {
        const size_t i = begin + static_cast<size_t>(word + k) * 32 + lane;
        const uint32_t label_before = i < pixels ? before[i] : 0,
                       label_now = i < pixels ? now[i] : 0;
        // Labels of tracked regions are at most 65535. For label 0, label - 1 wraps around and
        // exceeds all counts.
        loaded[k] = label_before - 1 < count_before && label_now - 1 < count
                        ? label_before << 16 | label_now
                        : 0;
      }
    }
    const uint32_t pair = loaded[0];
#pragma unroll
    for (int k = 1; k < kWordsInFlight; ++k) loaded[k - 1] = loaded[k];
    if (__all_sync(kAllLanes, pair == current_pair)) {
      current_pixels += 32;
      continue;
    }
    if (current_pair != 0 && lane == 0) pairs.add(current_pair, current_pixels, memory.pairs);
    current_pair = __shfl_sync(kAllLanes, pair, 0);
    current_pixels = 32;
    if (__all_sync(kAllLanes, pair == current_pair)) continue;
    current_pair = current_pixels = 0;
    // The 32 pixels have different pairs. The first lane of each sequence of equal pairs adds the
    // sequence.
    const uint32_t left = __shfl_up_sync(kAllLanes, pair, 1);
    const bool begins = lane == 0 || left != pair;
    const uint32_t later = __ballot_sync(kAllLanes, begins) & ~((2u << lane) - 1);
    const uint32_t end = later ? static_cast<uint32_t>(__ffs(static_cast<int>(later)) - 1) : 32;
    if (begins && pair != 0) pairs.add(pair, end - lane, memory.pairs);
  }
  if (current_pair != 0 && lane == 0) pairs.add(current_pair, current_pixels, memory.pairs);
  __syncthreads();  // the pairs of the block are complete
  pairs.flush(memory.pairs);
}

void count_shared_pixels(const WindowLabels& window, const WindowFrame& frame,
                         const TrackMemory& memory, cudaStream_t stream) {
  const size_t pixels = window.shared_pixels();
  launch(count_shared_in_window_kernel, blocks_for(pixels, size_t{kThreads} * kWordsPerWarp),
         kThreads, 0, stream, window.now_shared(), window.before_shared(), pixels, frame, memory);
}

template <PixelWriter Writer>
__global__ __launch_bounds__(kThreads) void write_window_kernel(ConstLabelMap labels, Writer writer,
                                                                ShownValues shown) {
  const auto quads_per_row = (static_cast<uint32_t>(labels.width) + 3) / 4;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= quads_per_row * static_cast<uint32_t>(labels.height)) return;
  const auto y = static_cast<int>(i / quads_per_row);
  const int x = static_cast<int>(i % quads_per_row) * 4;
  uint32_t values[4];
  for (int k = 0; k < 4; ++k) {
    values[k] = x + k < labels.width ? shown.value_of(labels(x + k, y)) : 0;
  }
  write_four_pixels(writer, x, y, values);
}

struct WriteLaunch {
  ConstLabelMap labels;
  ShownValues shown;
  cudaStream_t stream;
  template <PixelWriter Writer>
  void operator()(const Writer& writer) const {
    const size_t quads_per_row = (static_cast<size_t>(labels.width) + 3) / 4;
    launch(write_window_kernel<Writer>,
           blocks_for(quads_per_row * static_cast<size_t>(labels.height), kThreads), kThreads, 0,
           stream, labels, writer, shown);
  }
};

void write_labels(ConstLabelMap labels, LabelMap to, cudaStream_t stream) {
  with_label_writer(to, 1, UINT32_MAX, WriteLaunch{labels, {}, stream});
}

void write_picture(ConstLabelMap labels, const Frame& out, const CcLabelParams& params,
                   const WindowFrame& frame, cudaStream_t stream) {
  const uint32_t limit = max_label_of(out.layout);
  const ShownValues tracks{frame.records,  frame.states, frame.total,
                           frame.capacity, limit,        params.overflow};
  switch (params.output) {
    case CcOutput::labels: {
      const bool shows_tracks = params.label_values == LabelValues::track;
      const ShownValues shown = shows_tracks ? tracks : ShownValues{};
      return with_label_writer(out, 1, limit, WriteLaunch{labels, shown, stream});
    }
    case CcOutput::mask:
      return with_label_writer(out, limit, limit, WriteLaunch{labels, {}, stream});
    case CcOutput::colors: {
      ShownValues shown = tracks;
      shown.limit = UINT32_MAX;
      return WriteLaunch{labels, shown, stream}(ColorWriter{out});
    }
    default:
      return;  // slide() draws overlays; the other kinds of output do not change `out`
  }
}

// The algorithm of the element cclabel on CUDA. Passes frames on to the labeller of cclabel.cpp if
// the property `sliding` is false.
class SlidingCuda final : public SlidingWindow {
 public:
  explicit SlidingCuda(const std::shared_ptr<Backend>& backend)
      : SlidingWindow(backend, make_labeller(backend)), tracker_(backend) {}
  ~SlidingCuda() override {
    if (!frame_done_) return;
    Backend::Entry entry(backend());
    cudaEventDestroy(frame_done_);
  }

 private:
  void allocate(const Setup& setup) override {
    memory_ = {};
    memory_.reserve(frame_.total, 2);
    memory_.reserve(frame_.records, setup.max_regions);
    memory_.reserve(frame_.states, setup.max_regions);
    memory_.reserve(frame_.first_pixel, setup.max_regions);
    memory_.allocate(backend());
    runs_ = {};
    if (setup.max_runs > 0) runs_.allocate(backend(), setup);
    const bool draws_overlay = setup.has_output && setup.out.format == setup.in.format;
    if (draws_overlay) ink_ = allocate_cleared_ink(backend(), setup.size);
    if (!frame_done_) {
      check(cudaEventCreateWithFlags(&frame_done_, cudaEventDisableTiming), "creating an event");
    }
    has_previous_ = false;
    tracker_.allocate(setup);
  }

  void slide(const FrameTask& task, const CcLabelParams& params, Queue& queue) override {
    const cudaStream_t stream = stream_of(queue);
    if (has_previous_)
      check(cudaStreamWaitEvent(stream, frame_done_, 0), "waiting for the last window");
    const TrackMemory& memory = tracker_.begin(stream);
    const WindowLabels window = label_window(task, params, queue);
    const LabelMap labels = window.newest();
    WindowFrame frame = frame_;
    frame.capacity = task.table.regions ? task.table.capacity : setup().max_regions;
    measure_frame(labels, task.in, frame, stream);
    count_shared_pixels(window, frame, memory, stream);
    publish(task, frame, stream);
    const TrackRules rules = track_rules(params, setup().in);
    const TrackedRecords tracked{frame.records, frame.total, frame.capacity, frame.states};
    tracker_.collect_pairs(rules, tracked, stream);
    tracker_.match(rules, tracked, stream);
    tracker_.finish(rules, tracked, task.table.regions ? task.table : RegionTable{}, task.slot,
                    stream);
    if (task.table.runs) runs_.fill(labels, task.table, stream);
    if (!task.labels.empty()) write_labels(labels, task.labels, stream);
    if (!task.out.empty()) write_picture(labels, task.out, params, frame, stream);
    if (!task.out.empty() && params.output == CcOutput::overlay) {
      const DeviceRegions records{frame.records, frame.total, frame.capacity};
      draw(task.in, task.out, labels, records, params, ink_in(ink_.data(), setup().size), stream);
    }
    check(cudaEventRecord(frame_done_, stream), "recording an event");
    has_previous_ = true;
  }

  static void publish(const FrameTask& task, const WindowFrame& frame, cudaStream_t stream) {
    if (!task.table.total) return;
    publish_table(frame.total, {frame.records, frame.capacity}, task.table, stream);
  }

  void forget(IdNumbering ids) override { tracker_.forget(ids); }
  TrackEvents window_events(int slot) const override { return tracker_.report(slot); }

  tracking::Tracker tracker_;
  Workspace memory_;
  WindowFrame frame_ = {};
  RunLengths runs_;
  Block ink_;
  cudaEvent_t frame_done_ = nullptr;  // recorded after the work of the previous frame
  bool has_previous_ = false;
};

}  // namespace
}  // namespace cclabel

template <>
std::unique_ptr<Algorithm<CcLabelParams>> make_algorithm<CcLabelParams, BackendKind::cuda>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<cclabel::SlidingCuda>(backend);
}

}  // namespace regions
