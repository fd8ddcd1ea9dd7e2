// One algorithm on one device, frame by frame.
#include "library/filter.hpp"

#include <algorithm>
#include <charconv>

#include "core/faults.hpp"
#include "core/packed.hpp"
#if REGIONS_CUDA
#include "gpu/device/device.hpp"
#endif

namespace regions {
namespace {

int64_t number_of(const std::string& text) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

std::shared_ptr<Backend> open_cuda(const std::string& device) {
  const std::string prefix = "cuda:";
  const int64_t ordinal = device == "cuda" ? 0 : number_of(device.substr(prefix.size()));
  expects(ordinal >= 0 && ordinal < 256, "no device is called '" + device + "'");
#if REGIONS_CUDA
  return make_cuda_backend(static_cast<int>(ordinal));
#else
  throw DeviceError("this library was built without CUDA");
#endif
}

Colorimetry color_of(const RegionsPicture& picture, const Layout& layout) {
  if (layout.model != ColorModel::yuv) return {};
  switch (picture.color) {
    case REGIONS_COLOR_BT601:
      return {YuvMatrix::bt601, false};
    case REGIONS_COLOR_BT709:
      return {YuvMatrix::bt709, false};
    case REGIONS_COLOR_BT2020:
      return {YuvMatrix::bt2020, false};
    case REGIONS_COLOR_BT601_FULL:
      return {YuvMatrix::bt601, true};
    case REGIONS_COLOR_BT709_FULL:
      return {YuvMatrix::bt709, true};
    case REGIONS_COLOR_BT2020_FULL:
      return {YuvMatrix::bt2020, true};
    case REGIONS_COLOR_DEFAULT:
      break;
  }
  return {picture.height < 720 ? YuvMatrix::bt601 : YuvMatrix::bt709, false};
}

bool is_set(const RegionsPicture& picture) { return picture.plane[0] != nullptr; }

// The picture as a frame; empty if there is none.
Frame frame_of(const RegionsPicture& picture, const std::string& name) {
  Frame frame;
  if (!is_set(picture)) return frame;
  expects(picture.format != nullptr, name + " has no format");
  frame.layout = layout_of(format_named(picture.format));
  expects(picture.width >= 1 && picture.width <= 65535 && picture.height >= 1 &&
              picture.height <= 65535,
          name + " is " + std::to_string(picture.width) + "x" + std::to_string(picture.height) +
              ", must be 1x1 to 65535x65535");
  frame.width = picture.width;
  frame.height = picture.height;
  frame.color = color_of(picture, frame.layout);
  frame.memory = picture.memory == REGIONS_MEMORY_CUDA ? Memory::device : Memory::host;
  for (int p = 0; p < frame.layout.planes; ++p) {
    frame.plane[p] = static_cast<std::byte*>(picture.plane[p]);
    frame.pitch[p] = picture.pitch[p];
  }
  expects_planes(frame, name);
  expects_aligned(frame, name);
  return frame;
}

void expect_size(const Frame& frame, Size size, const char* name) {
  expects(frame.empty() || (frame.width == size.width && frame.height == size.height),
          std::string(name) + " is not as large as the picture that comes in");
}

void expect_format(const Frame& frame, PixelFormat format, const char* name) {
  expects(frame.empty() || frame.layout.format == format,
          std::string(name) + " must be " + std::string(name_of(format)));
}

bool same_place(const Frame& a, const Frame& b) { return a.plane[0] == b.plane[0]; }

// A picture that is drawn on in place has one layout.
void expect_one_layout(const Frame& in, const Frame& out) {
  bool one = in.layout.format == out.layout.format && in.memory == out.memory;
  for (int p = 0; one && p < in.layout.planes; ++p) {
    one = in.plane[p] == out.plane[p] && in.pitch[p] == out.pitch[p];
  }
  expects(one, "out begins where in does, but is not the same picture");
}

// A frame of a program that was compiled with another regions.h has another size.
void expect_known(const RegionsFrame& frame) {
  expects(frame.size != 0, "frame.size is 0: begin with RegionsFrame frame = REGIONS_FRAME_INIT");
  expects(frame.size == sizeof(RegionsFrame),
          "frame.size is " + std::to_string(frame.size) + ", but a frame of libregions " +
              REGIONS_VERSION + " has " + std::to_string(sizeof(RegionsFrame)) + " bytes");
}

}  // namespace

// The interface's regions are ours under another name.
static_assert(sizeof(RegionsRegion) == sizeof(Region) && alignof(RegionsRegion) == alignof(Region));
static_assert(offsetof(RegionsRegion, area) == offsetof(Region, area) &&
              offsetof(RegionsRegion, first_x) == offsetof(Region, first_x) &&
              offsetof(RegionsRegion, left) == offsetof(Region, left) &&
              offsetof(RegionsRegion, sum_value) == offsetof(Region, sum_value));
static_assert(sizeof(RegionsMoments) == sizeof(Moments) &&
              offsetof(RegionsMoments, sum_yy) == offsetof(Moments, sum_yy));
static_assert(sizeof(RegionsBorder) == sizeof(Border));
static_assert(sizeof(RegionsRun) == sizeof(PixelRun));

std::shared_ptr<Backend> open_backend(const std::string& device, int threads) {
  if (device == "cpu") return make_cpu_backend(threads);
  if (device == "cuda" || device.starts_with("cuda:")) return open_cuda(device);
  expects(device == "auto", "no device is called '" + device + "'");
#if REGIONS_CUDA
  try {
    if (cuda_device_count() > 0) return make_cuda_backend();
  } catch (const DeviceError&) {
    // One that does not work is none.
  }
#endif
  return make_cpu_backend(threads);
}

// The list stands in meson.build: REGIONS_ALGORITHMS is X(cclabel) X(regionoverlay) …
#define X(name) std::unique_ptr<Runner> make_##name##_runner(const std::shared_ptr<Backend>&);
REGIONS_ALGORITHMS
#undef X

std::unique_ptr<Runner> make_runner(const std::string& algorithm,
                                    const std::shared_ptr<Backend>& backend) {
  const Backend::Entry entry(*backend);
  std::string known;
#define X(name)                                                 \
  if (algorithm == #name) return make_##name##_runner(backend); \
  known += std::string(known.empty() ? "" : ", ") + #name;
  REGIONS_ALGORITHMS
#undef X
  throw InputError("no algorithm is called '" + algorithm + "'; there are " + known);
}

Filter::Filter(const std::string& algorithm, const std::string& device, int threads)
    : backend_(open_backend(device, threads)),
      runner_(make_runner(algorithm, backend_)),
      device_(backend_->description()) {
  want_faults_of_environment();
  const Backend::Entry entry(*backend_);
  queue_ = backend_->make_queue();
}

Filter::~Filter() {
  const Backend::Entry entry(*backend_);
  queue_.reset();
  for (Block* block : {&in_, &out_, &mask_, &labels_, &foreground_}) *block = {};
  records_ = {};
}

void Filter::set(const std::string& name, const std::string& value) {
  const Field& field = find(runner_->fields(), name);
  runner_->set(field, value);
  if (!field.live()) shape_.reset();
}

const std::string& Filter::get(const std::string& name) {
  const Field& field = find(runner_->fields(), name);
  return text_ = to_text(field, runner_->get(field));
}

void Filter::reset() {
  const Backend::Entry entry(*backend_);
  runner_->reset();
}

bool Filter::Shape::operator==(const Shape& other) const {
  return size.width == other.size.width && size.height == other.size.height &&
         color.matrix == other.color.matrix && color.full_range == other.color.full_range &&
         in == other.in && out == other.out && mask == other.mask && borders == other.borders &&
         runs == other.runs;
}

void Filter::configure(const Shape& shape) {
  shape_.reset();
  Setup setup;
  setup.in = layout_of(shape.in);
  setup.size = shape.size;
  setup.color = shape.color;
  setup.has_output = shape.out.has_value();
  if (shape.out) setup.out = layout_of(*shape.out);
  setup.has_mask = shape.mask.has_value();
  if (shape.mask) setup.mask = layout_of(*shape.mask);
  setup.has_borders = shape.borders;
  setup.max_runs = shape.runs;
  runner_->configure(setup);
  max_regions_ = setup.max_regions;
  records_ =
      RegionRecords(*backend_, max_regions_, runner_->gives().moments, shape.borders, shape.runs);
  shape_ = shape;
}

Frame Filter::make_room(const Frame& picture, Block& block) {
  if (picture.empty() || within_reach(picture)) return picture;
  expects(backend_->memory() == Memory::device, "a picture on a GPU, but the filter is on the CPU");
  const size_t bytes = packed_bytes(picture.layout, picture.size());
  if (block.bytes() < bytes) block = backend_->allocate(bytes);
  return packed_frame(picture.layout, picture.size(), picture.color, backend_->memory(),
                      block.data());
}

Frame Filter::bring_in(const Frame& picture, Block& block) {
  const Frame there = make_room(picture, block);
  if (!same_place(there, picture)) queue_->copy(picture, there);
  return there;
}

void Filter::bring_back(const Frame& from, const Frame& to) {
  if (!same_place(from, to)) queue_->copy(from, to);
}

void Filter::process(RegionsFrame& frame) {
  expect_known(frame);
  const Frame in = frame_of(frame.in, "in"), mask = frame_of(frame.mask, "mask");
  const Frame out = frame_of(frame.out, "out"), labels = frame_of(frame.labels, "labels");
  const Frame foreground = frame_of(frame.foreground, "foreground");
  frame.count = frame.total = frame.border_count = frame.run_count = frame.runs_truncated = 0;
  expects(!in.empty(), "no picture comes in");
  expects(mask.empty() || mask.layout.model == ColorModel::gray ||
              mask.layout.model == ColorModel::labels,
          "mask must be GRAY8, GRAY16_LE or U32_LE");
  if (same_place(in, out)) expect_one_layout(in, out);
  expects(frame.regions != nullptr || frame.capacity == 0, "a capacity, but no regions");
  expects(runner_->gives().regions || (labels.empty() && frame.capacity == 0),
          "this algorithm gives neither labels nor regions");
  expects(runner_->gives().foreground || foreground.empty(), "this algorithm gives no foreground");
  expects(runner_->gives().moments || (!frame.moments && !frame.borders),
          "this algorithm gives neither moments nor borders");
  expects(runner_->gives().runs || !frame.runs, "this algorithm gives no runs");
  expects((frame.runs != nullptr) == (frame.run_capacity > 0), "runs and run_capacity go together");
  expects(frame.attached != nullptr || frame.attached_count == 0, "regions to draw are null");
  for (const auto& [picture, name] : {std::pair(&out, "out"), std::pair(&labels, "labels"),
                                      std::pair(&foreground, "foreground")}) {
    expect_size(*picture, in.size(), name);
  }
  expect_format(labels, PixelFormat::labels32, "labels");
  expect_format(foreground, PixelFormat::gray8, "foreground");

  const Backend::Entry entry(*backend_);
  Shape shape = {in.size(),         in.color, in.layout.format, {}, {}, frame.borders != nullptr,
                 frame.run_capacity};
  if (!out.empty()) shape.out = out.layout.format;
  if (!mask.empty()) shape.mask = mask.layout.format;
  if (shape_ != shape) configure(shape);

  Job job;
  const Frame in_there = bring_in(in, in_);
  job.in = in_there;
  const bool in_place = same_place(in, out);
  const Frame out_there = in_place ? in_there : make_room(out, out_);
  job.out = out_there;
  if (!mask.empty()) job.mask = bring_in(mask, mask_);
  const Frame labels_there = make_room(labels, labels_);
  if (!labels.empty()) job.labels = labels_there.plane_as<uint32_t>(0, in.width, in.height);
  const Frame foreground_there = make_room(foreground, foreground_);
  if (!foreground.empty()) {
    job.foreground = foreground_there.plane_as<uint8_t>(0, in.width, in.height);
  }
  const RegionTable table = records_.table();
  if (runner_->gives().regions) job.table = table;
  if (!frame.moments) job.table.moments = nullptr;
  job.attached = reinterpret_cast<const Region*>(frame.attached);
  job.attached_count = std::min(frame.attached_count, max_regions_);

  try {
    runner_->enqueue(job, *queue_);
    bring_back(labels_there, labels);
    bring_back(foreground_there, foreground);
    bring_back(out_there, out);
  } catch (...) {
    queue_->record();
    queue_->wait();
    throw;
  }
  queue_->record();
  queue_->wait();
  take_table(frame);
}

void Filter::take_table(RegionsFrame& frame) const {
  frame.total = records_.total();
  runner_->judge(frame.total);
  frame.count = std::min({frame.total, max_regions_, frame.capacity});
  std::ranges::copy(records_.regions(frame.count), reinterpret_cast<Region*>(frame.regions));
  if (frame.moments) {
    std::ranges::copy(records_.moments(frame.count), reinterpret_cast<Moments*>(frame.moments));
  }
  for (const Border& border : records_.borders()) {
    if (border.second > frame.count) continue;
    frame.borders[frame.border_count++] = {border.first, border.second, border.length};
  }
  for (const PixelRun& run : records_.runs()) {
    if (run.label > frame.count) break;
    frame.runs[frame.run_count++] = {run.label, run.x, run.row, run.width};
  }
  frame.runs_truncated = records_.total_runs() > records_.runs().size();
}

}  // namespace regions
