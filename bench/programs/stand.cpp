// Frames of one case in a backend's memory, and their answers back on the host.
#include "bench/stand.hpp"

#include <algorithm>
#include <cstring>

#include "tests/pictures/guarded.hpp"

namespace regions {
namespace {

constexpr ptrdiff_t kRowAlignment = 256;  // bytes, as cudaMallocPitch gives
constexpr int kSpoil = 0xA5;

ptrdiff_t pitch_of(size_t row) {
  const auto bytes = static_cast<ptrdiff_t>(row);
  return (bytes + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
}

// Gives the frame its pitches and, where there is memory, its planes; returns the bytes it takes.
size_t lay_out(Frame& frame, std::byte* memory) {
  size_t bytes = 0;
  for (int p = 0; p < frame.layout.planes; ++p) {
    frame.pitch[p] = pitch_of(row_bytes(frame.layout, p, frame.size()));
    if (memory) frame.plane[p] = memory + bytes;
    bytes += static_cast<size_t>(frame.pitch[p]) *
             static_cast<size_t>(row_count(frame.layout, p, frame.size()));
  }
  return bytes;
}

}  // namespace

std::string Case::chosen(std::string_view parameter) const {
  const Field& field = find(fields_of(params), parameter);
  const int64_t value = std::get<int64_t>(field.get(&params));
  for (const Choice& choice : field.choices) {
    if (choice.value == value) return choice.name;
  }
  throw InputError(std::string(parameter) + " has no named value");
}

std::string Case::name() const {
  return chosen("criterion") + "-" + chosen("connectivity") + (table ? "-table/" : "-labels/") +
         content + "/" + std::to_string(size.width) + "x" + std::to_string(size.height);
}

size_t Case::least_bytes() const {
  const Layout& layout = layout_of(format);
  size_t bytes = size.area() * sizeof(uint32_t);
  for (int p = 0; p < layout.planes; ++p) {
    bytes += row_bytes(layout, p, size) * static_cast<size_t>(row_count(layout, p, size));
  }
  return bytes;
}

int Case::frames_beyond_l2() const {
  if (size.area() <= size_t{1024} * 768) return 8;
  return size.area() <= size_t{1920} * 1080 ? 12 : 4;
}

std::vector<Picture> mirrored(const Picture& picture) {
  const auto width = static_cast<size_t>(picture.size.width);
  const auto height = static_cast<size_t>(picture.size.height);
  const size_t pixel = picture.pixels.size() / picture.size.area();
  std::vector<Picture> variants(4, picture);
  for (size_t v = 1; v < variants.size(); ++v) {
    for (size_t y = 0; y < height; ++y) {
      const uint8_t* from = &picture.pixels[(v & 2 ? height - 1 - y : y) * width * pixel];
      uint8_t* to = &variants[v].pixels[y * width * pixel];
      if (!(v & 1)) {
        std::memcpy(to, from, width * pixel);
        continue;
      }
      for (size_t x = 0; x < width; ++x) {
        std::memcpy(to + x * pixel, from + (width - 1 - x) * pixel, pixel);
      }
    }
  }
  return variants;
}

std::string difference(const Answer& expected, const Answer& got) {
  if (expected.total != got.total) {
    return std::to_string(got.total) + " regions instead of " + std::to_string(expected.total);
  }
  const auto label = std::mismatch(expected.labels.begin(), expected.labels.end(),
                                   got.labels.begin(), got.labels.end());
  if (label.first != expected.labels.end()) {
    return "pixel " + std::to_string(label.first - expected.labels.begin()) + " has label " +
           std::to_string(*label.second) + " instead of " + std::to_string(*label.first);
  }
  for (size_t i = 0; i < got.regions.size(); ++i) {
    if (std::memcmp(&expected.regions[i], &got.regions[i], sizeof(Region)) != 0) {
      return "the record of region " + std::to_string(i + 1) + " differs";
    }
  }
  return {};
}

Stand::Stand(std::shared_ptr<Backend> backend, std::unique_ptr<Algorithm<CcLabelParams>> algorithm,
             const Case& task, std::span<const Picture> variants, int frames, int slots)
    : backend_(std::move(backend)),
      queue_(backend_->make_queue()),
      algorithm_(std::move(algorithm)),
      case_(task),
      capacity_(static_cast<uint32_t>(task.params.max_regions)),
      stations_(static_cast<size_t>(frames)) {
  Setup setup;
  setup.in = layout_of(task.format);
  setup.size = task.size;
  setup.slots = slots;
  setup.max_regions = capacity_;
  algorithm_->configure(setup);

  Frame input{.width = task.size.width, .height = task.size.height, .layout = setup.in};
  const size_t input_bytes = lay_out(input, nullptr);
  const ptrdiff_t label_pitch = pitch_of(sizeof(uint32_t) * static_cast<size_t>(task.size.width));
  const size_t label_bytes = static_cast<size_t>(label_pitch) * static_cast<size_t>(input.height);
  const size_t table_bytes = capacity_ * sizeof(Region) + sizeof(uint32_t);
  staging_ = backend_->allocate_pinned(label_bytes);

  for (size_t i = 0; i < stations_.size(); ++i) {
    Station& station = stations_[i];
    station.in = backend_->allocate(input_bytes);
    station.labels = backend_->allocate(label_bytes);
    station.job.slot = static_cast<int>(i) % slots;
    station.job.labels = {station.labels.as<uint32_t>(), input.width, input.height, label_pitch};
    if (task.table) {
      station.table = backend_->allocate_pinned(table_bytes);
      auto* records = station.table.as<Region>();
      station.job.table = {records, capacity_, reinterpret_cast<uint32_t*>(records + capacity_)};
    }
    upload(variants[i % variants.size()], station);
  }
  spoil();
}

void Stand::upload(const Picture& picture, Station& station) {
  Frame to{
      .width = case_.size.width, .height = case_.size.height, .layout = layout_of(case_.format)};
  lay_out(to, station.in.as<std::byte>());
  to.memory = backend_->memory();
  const bool as_it_is = picture.format == case_.format;
  const GuardedFrame converted =
      as_it_is ? GuardedFrame(case_.format, {1, 1}) : convert(picture.frame(), case_.format);
  queue_->copy(as_it_is ? picture.frame() : converted.frame(), to);
  queue_->record();
  queue_->wait();
  station.job.in = to;
}

void Stand::enqueue(int frame) {
  algorithm_->enqueue(stations_[static_cast<size_t>(frame)].job, case_.params, *queue_);
}

void Stand::run(int frame) {
  enqueue(frame);
  queue_->record();
  queue_->wait();
}

void Stand::spoil() {
  std::memset(staging_.data(), kSpoil, staging_.bytes());
  for (Station& station : stations_) {
    queue_->copy_bytes(staging_.data(), station.labels.data(), station.labels.bytes());
    if (case_.table) std::memset(station.table.data(), kSpoil, station.table.bytes());
  }
  queue_->record();
  queue_->wait();
}

Answer Stand::answer(int frame) {
  const Station& station = stations_[static_cast<size_t>(frame)];
  queue_->copy_bytes(station.labels.data(), staging_.data(), station.labels.bytes());
  queue_->record();
  queue_->wait();

  Answer answer;
  answer.labels.resize(case_.size.area());
  const LabelMap& map = station.job.labels;
  const auto width = static_cast<size_t>(map.width);
  for (int y = 0; y < map.height; ++y) {
    std::memcpy(&answer.labels[static_cast<size_t>(y) * width],
                staging_.as<std::byte>() + y * map.pitch, width * sizeof(uint32_t));
  }
  if (!case_.table) {
    answer.total = *std::max_element(answer.labels.begin(), answer.labels.end());
    return answer;
  }
  answer.total = *station.job.table.total;
  const uint32_t records = std::min(answer.total, capacity_);
  answer.regions.assign(station.job.table.regions, station.job.table.regions + records);
  return answer;
}

}  // namespace regions
