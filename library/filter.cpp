// Implements Filter, which runs one algorithm on one device, frame by frame.
#include "library/filter.hpp"

#include <algorithm>
#include <charconv>

#include "core/faults.hpp"
#include "core/session.hpp"
#if REGIONS_CUDA
#include "gpu/runtime/cuda_backend.hpp"
#endif

namespace regions {
namespace {

constexpr int64_t kMaxDevices = 256;  // more than any driver supports

// Returns -1 if the text is not a whole number.
int64_t parse_number(const std::string& text) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

std::string unknown_device(const std::string& device) {
  return "unknown device '" + device + "'; expected auto, cpu, cuda or cuda:N with N from 0 to " +
         std::to_string(kMaxDevices - 1);
}

std::shared_ptr<Backend> open_cuda(const std::string& device) {
  const std::string prefix = "cuda:";
  const int64_t ordinal = device == "cuda" ? 0 : parse_number(device.substr(prefix.size()));
  expects(ordinal >= 0 && ordinal < kMaxDevices, unknown_device(device));
#if REGIONS_CUDA
  return make_cuda_backend(static_cast<int>(ordinal));
#else
  throw DeviceError("device '" + device +
                    "' is not available: this library was built without CUDA; use cpu or auto");
#endif
}

}  // namespace

// The structures of the C interface must have the same memory layout as the internal structures,
// because the functions below convert between them by reinterpret_cast.
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
  expects(device == "auto", unknown_device(device));
#if REGIONS_CUDA
  try {
    if (cuda_device_count() > 0) return make_cuda_backend();
  } catch (const DeviceError&) {  // falls back to the CPU if the device does not work
  } catch (const MemoryError&) {  // falls back to the CPU if the device lacks memory
  }
#endif
  return make_cpu_backend(threads);
}

Filter::Filter(const std::string& algorithm, const std::string& device, int threads)
    : backend_(open_backend(device, threads)),
      runner_(make_runner(algorithm, backend_)),
      device_(backend_->description()) {
  inject_faults_from_environment();
  const Backend::Entry entry(*backend_);
  queue_ = backend_->make_queue();
}

Filter::~Filter() {
  const Backend::Entry entry(*backend_);
  queue_.reset();
  accessible_ = {};
  records_ = {};
}

void Filter::set(const std::string& name, const std::string& value) {
  const Field& field = find(runner_->fields(), name);
  runner_->set(field, value);
  if (!field.live()) requested_.reset();
}

const std::string& Filter::get(const std::string& name) {
  const Field& field = find(runner_->fields(), name);
  return returned_text_ = to_text(field, runner_->get(field));
}

void Filter::reset() {
  const Backend::Entry entry(*backend_);
  runner_->reset();
}

void Filter::configure(const Setup& requested) {
  requested_.reset();
  Setup setup = requested;
  runner_->configure(setup);
  max_regions_ = setup.max_regions;
  records_ = RegionRecords(*backend_, max_regions_, runner_->outputs().moments, setup.has_borders,
                           setup.max_runs);
  requested_ = requested;
}

// Returns the picture itself if the backend can access it. Otherwise returns an uninitialised
// picture of the same format in `block`.
Frame Filter::accessible_frame(const Frame& picture, Block& block) {
  if (picture.empty() || picture.memory == backend_->memory()) return picture;
  expects(backend_->memory() == Memory::device, [] {
    return "a picture of the frame is in CUDA memory, but the filter runs on the CPU; copy the "
           "picture to host memory, or open the filter with device \"cuda\"";
  });
  const size_t bytes = packed_bytes(picture.layout, picture.size());
  if (block.bytes() < bytes) block = backend_->allocate(bytes);
  return packed_frame(picture.layout, picture.size(), picture.color, backend_->memory(),
                      block.data());
}

void Filter::copy(const Frame& from, const Frame& to) {
  if (from.plane[0] != to.plane[0]) queue_->copy(from, to);
}

Frame Filter::upload(const Frame& picture, Block& block) {
  const Frame accessible = accessible_frame(picture, block);
  copy(picture, accessible);
  return accessible;
}

void Filter::process(RegionsFrame& frame) {
  const Pictures pictures(frame);
  frame.count = frame.total = frame.border_count = frame.run_count = frame.runs_truncated = 0;
  pictures.expect_suitable(frame, runner_->outputs());

  const Backend::Entry entry(*backend_);
  Setup setup;
  setup.in = pictures.in.layout;
  setup.size = pictures.in.size();
  setup.color = pictures.in.color;
  setup.has_output = !pictures.out.empty();
  setup.out = pictures.out.layout;
  setup.has_mask = !pictures.mask.empty();
  setup.mask = pictures.mask.layout;
  setup.has_borders = frame.borders != nullptr;
  setup.max_runs = frame.run_capacity;
  if (requested_ != setup) configure(setup);
  enqueue_or_drain(*queue_, [&] { enqueue(pictures, frame); });
  queue_->record();
  queue_->wait();
  copy_records(frame);
}

// Copies the pictures to the device, runs the algorithm, and copies the results back.
void Filter::enqueue(const Pictures& pictures, const RegionsFrame& frame) {
  const Frame in = upload(pictures.in, accessible_.in);
  const Frame out =
      pictures.draws_in_place() ? in : accessible_frame(pictures.out, accessible_.out);
  const Frame labels = accessible_frame(pictures.labels, accessible_.labels);
  const Frame foreground = accessible_frame(pictures.foreground, accessible_.foreground);
  FrameTask task;
  task.in = in;
  task.out = out;
  if (!pictures.mask.empty()) task.mask = upload(pictures.mask, accessible_.mask);
  if (!labels.empty()) task.labels = labels.plane_as<uint32_t>(0, in.width, in.height);
  if (!foreground.empty()) task.foreground = foreground.plane_as<uint8_t>(0, in.width, in.height);
  RegionTable table = records_.table();
  table.occluded_tracks = nullptr;  // the library reports regions only, not occluded tracks
  if (runner_->outputs().regions) task.table = table;
  if (!frame.moments) task.table.moments = nullptr;
  task.attached = reinterpret_cast<const Region*>(frame.attached);
  task.attached_count = std::min(frame.attached_count, max_regions_);

  runner_->enqueue(task, *queue_);
  copy(labels, pictures.labels);
  copy(foreground, pictures.foreground);
  copy(out, pictures.out);
}

void Filter::copy_records(RegionsFrame& frame) const {
  frame.total = records_.total();
  runner_->check_capacity(frame.total);
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
