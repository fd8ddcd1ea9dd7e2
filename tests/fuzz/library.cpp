// Fuzz target: sequences of calls of the C interface. Every picture and array has memory of exactly
// its size. The promises of the interface about results are checked.
#include <cstring>

#include "cpu/backend.hpp"
#include "library/filter.hpp"
#include "tests/algorithms.hpp"
#include "tests/fuzz/input.hpp"

namespace regions::fuzz {
namespace {

struct Algorithm : KnownAlgorithm {
  explicit Algorithm(const KnownAlgorithm& known) : KnownAlgorithm(known) {}
  AlgorithmOutputs gives = make_runner(name, make_cpu_backend(1))->outputs();
};
const Algorithm& algorithm_in(Input& in) {
  static const std::vector<Algorithm> algorithms(std::begin(kAlgorithms), std::end(kAlgorithms));
  return in.one_of(algorithms);
}

// An array of exactly this size; null if it is empty.
template <class T>
class Exact {
 public:
  explicit Exact(uint32_t count = 0) : data_(count ? new T[count]() : nullptr), count_(count) {}
  T* data() const { return data_.get(); }
  uint32_t count() const { return count_; }

 private:
  std::unique_ptr<T[]> data_;
  uint32_t count_;
};

RegionsRegion any_region(Size size, Input& in) {
  RegionsRegion region = {};
  region.id = static_cast<uint32_t>(in.one_in(8) ? in.integer() : in.below(200));
  region.track = static_cast<uint32_t>(in.one_in(8) ? in.integer() : in.below(2000));
  const bool is_invalid = in.one_in(8);
  const auto place = [&](int length) { return is_invalid ? in.integer() : in.below(length); };
  region.left = place(size.width);
  region.top = place(size.height);
  region.right = is_invalid ? in.integer() : region.left + in.below(20);
  region.bottom = is_invalid ? in.integer() : region.top + in.below(20);
  region.first_x = region.left;
  region.first_y = region.top;
  region.area = in.word(2);
  return region;
}

// Formats in which pictures leave are few; the input chooses among all.
const char* format_in(Input& in) {
  return name_of(static_cast<PixelFormat>(in.below(kPixelFormats))).data();
}

// The inputs and outputs of one frame. The frames of a stream differ only in their contents.
struct Shape {
  Size size;
  const char *in, *out, *mask;  // formats; null: none
  RegionsColor color;
  bool in_place, labels, foreground, moments, borders;
  uint32_t capacity, runs, attached;
};

Shape shape_in(const Algorithm& algorithm, Input& in) {
  Shape shape = {};
  shape.size = picture_size(in);
  shape.in = in.one_in(32) ? "GRAY9" : format_in(in);
  shape.color = static_cast<RegionsColor>(in.below(8));
  switch (in.below(6)) {
    case 0:
      break;
    case 1:
    case 2:
      shape.in_place = true;
      break;
    case 3:
      shape.out = shape.in;
      break;
    case 4: {
      constexpr const char* kUsual[] = {"GRAY8", "U32_LE", "RGB", "RGBA", "GRAY16_LE"};
      shape.out = kUsual[in.below(5)];
      break;
    }
    default:
      shape.out = format_in(in);
  }
  constexpr const char* kMasks[] = {"GRAY8", "GRAY16_LE", "U32_LE"};
  if (in.one_in(2)) shape.mask = in.one_in(16) ? format_in(in) : kMasks[in.below(3)];
  const bool wrong = in.one_in(32);  // requests outputs that the algorithm does not have
  shape.labels = (algorithm.gives.regions || wrong) && in.one_in(2);
  shape.foreground = (algorithm.gives.foreground || wrong) && in.one_in(2);
  if (algorithm.gives.regions || wrong) {
    shape.capacity = static_cast<uint32_t>(in.one_in(8) ? in.below(4000) : in.below(40));
  }
  shape.moments = (algorithm.gives.moments || wrong) && in.one_in(2);
  shape.borders = (algorithm.gives.moments || wrong) && in.one_in(2);
  if ((algorithm.gives.runs || wrong) && in.one_in(2))
    shape.runs = static_cast<uint32_t>(in.below(300));
  if (in.one_in(2)) shape.attached = static_cast<uint32_t>(in.below(24));
  return shape;
}

// The memory of one call, and the picture of it that the interface gets.
struct Call {
  Picture in, out, labels, foreground, mask;
  Exact<RegionsRegion> regions, attached;
  Exact<RegionsMoments> moments;
  Exact<RegionsBorder> borders;
  Exact<RegionsRun> runs;
  RegionsFrame frame = REGIONS_FRAME_INIT;

  Call(const Shape& shape, Input& input)
      : in(shape.in, shape.size, shape.color, input),
        regions(shape.capacity),
        attached(shape.attached),
        moments(shape.moments ? shape.capacity : 0),
        borders(shape.borders ? 3 * shape.capacity : 0),
        runs(shape.runs) {
    const bool wrong_size = input.one_in(64);
    const Size size = wrong_size ? picture_size(input) : shape.size;
    if (shape.out) out = Picture(shape.out, size, shape.color, input);
    if (shape.labels) labels = Picture("U32_LE", size, {}, input);
    if (shape.foreground) foreground = Picture("GRAY8", size, {}, input);
    if (shape.mask) {
      mask = Picture(shape.mask, input.one_in(4) ? picture_size(input) : size, {}, input);
    }
    for (uint32_t i = 0; i < attached.count(); ++i) {
      attached.data()[i] = any_region(shape.size, input);
    }
    frame.in = in.view();
    frame.out = shape.in_place ? in.view() : out.view();
    frame.labels = labels.view();
    frame.foreground = foreground.view();
    frame.mask = mask.view();
    frame.regions = regions.data();
    frame.capacity = regions.count();
    frame.attached = attached.data();
    frame.attached_count = attached.count();
    frame.moments = moments.data();
    frame.borders = borders.data();
    frame.runs = runs.data();
    frame.run_capacity = runs.count();
    if (input.one_in(256)) frame.size = input.word(2);
  }

  void expect_kept(bool in_place) const {
    if (in_place) {
      in.expect_padding_kept();
    } else {
      in.expect_kept();
    }
    mask.expect_kept();
    for (const Picture* picture : {&out, &labels, &foreground}) picture->expect_padding_kept();
  }
  void expect_sound() const {
    require(frame.count <= frame.total && frame.count <= frame.capacity, "too many regions");
    for (uint32_t i = 0; i < frame.count; ++i) {
      const RegionsRegion& r = frame.regions[i];
      require(r.id == i + 1, "regions are not numbered in order");
      require(0 <= r.left && r.left <= r.right && r.right < frame.in.width, "a box lies outside");
      require(0 <= r.top && r.top <= r.bottom && r.bottom < frame.in.height, "a box lies outside");
      require(r.area > 0, "a region without pixels");
    }
    for (uint32_t i = 0; i < frame.border_count; ++i) {
      const RegionsBorder& b = frame.borders[i];
      require(b.first > 0 && b.first < b.second && b.second <= frame.count, "no such border");
    }
    require(frame.run_count <= frame.run_capacity, "too many runs");
    for (uint32_t i = 0; i < frame.run_count; ++i) {
      const RegionsRun& r = frame.runs[i];
      require(r.id > 0 && r.id <= frame.count && r.width > 0 &&
                  r.x + r.width <= static_cast<uint32_t>(frame.in.width) &&
                  r.y < static_cast<uint32_t>(frame.in.height),
              "a run lies outside");
    }
  }
  // Whether everything that was written is the same.
  bool same_results(const Call& other) const {
    const auto same = [](const auto& a, const auto& b, uint32_t n) {
      return n == 0 || std::memcmp(a.data(), b.data(), n * sizeof(*a.data())) == 0;
    };
    return frame.total == other.frame.total && frame.count == other.frame.count &&
           frame.border_count == other.frame.border_count &&
           frame.run_count == other.frame.run_count && in.same(other.in) && out.same(other.out) &&
           labels.same(other.labels) && foreground.same(other.foreground) &&
           same(regions, other.regions, frame.count) &&
           same(moments, other.moments, moments.data() ? frame.count : 0) &&
           same(borders, other.borders, frame.border_count) &&
           same(runs, other.runs, frame.run_count);
  }
};

struct Close {
  void operator()(RegionsFilter* filter) const { regions_close(filter); }
};
using FilterPtr = std::unique_ptr<RegionsFilter, Close>;

bool has_gpu() {
  static const bool has = FilterPtr(regions_open("cclabel", "cuda", 1)) != nullptr;
  return has;
}

// One filter, or two filters with different numbers of threads and equal results. With a GPU,
// always one filter on the CPU and one on the GPU.
class Session {
 public:
  explicit Session(Input& in)
      : algorithm_(algorithm_in(in)), has_twin_(in.one_in(16) || has_gpu()) {
    filter_.reset(regions_open(algorithm_.name, "cpu", 1));
    if (has_twin_) twin_.reset(regions_open(algorithm_.name, "auto", 2 + in.below(3)));
    shape_ = shape_in(algorithm_, in);
  }
  void step(Input& in) {
    switch (in.below(8)) {
      case 0:
      case 1:
      case 2:
        return set(in);
      case 3:
        if (in.one_in(4)) return reset();
        shape_ = shape_in(algorithm_, in);
        return;
      default:
        return process(in);
    }
  }

 private:
  void set(Input& in) {
    const Field& field = in.one_of(algorithm_.fields);
    const std::string name = field.name, value = value_text(field, in);
    // Results depend on the clock; some methods are the GPU's alone.
    if (has_twin_ && (name == "time-budget" || name == "method")) return;
    const RegionsStatus status = regions_set(filter_.get(), name.c_str(), value.c_str());
    require(status == REGIONS_OK || status == REGIONS_ERROR_INPUT, regions_error());
    require(regions_get(filter_.get(), name.c_str()) != nullptr, "a property cannot be read");
    if (has_twin_) {
      require(regions_set(twin_.get(), name.c_str(), value.c_str()) == status,
              "one takes a value that the other refuses");
    }
  }
  void reset() {
    for (RegionsFilter* filter : {filter_.get(), twin_.get()}) {
      if (filter) require(regions_reset(filter) == REGIONS_OK, regions_error());
    }
  }
  void process(Input& in) {
    Input again = in;
    Call call(shape_, in);
    const RegionsStatus status = regions_process(filter_.get(), &call.frame);
    require(status == REGIONS_OK || status == REGIONS_ERROR_INPUT, regions_error());
    call.expect_kept(shape_.in_place);
    if (status == REGIONS_OK) call.expect_sound();
    if (!has_twin_) return;
    Call other(shape_, again);
    require(regions_process(twin_.get(), &other.frame) == status,
            "one takes a frame that the other refuses");
    if (status == REGIONS_OK) require(call.same_results(other), "threads change the result");
  }

  const Algorithm& algorithm_;
  const bool has_twin_;
  FilterPtr filter_, twin_;
  Shape shape_;
};

}  // namespace
}  // namespace regions::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  regions::fuzz::Input in(data, size);
  regions::fuzz::Session session(in);
  for (int steps = 0; steps < 24 && !in.empty(); ++steps) session.step(in);
  return 0;
}
