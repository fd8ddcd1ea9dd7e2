// The report's method on CUDA kernel by kernel, one step of its ladder of optimisations after the
// other, then ours: a picture from standard input, RGB side by side.
//
//   superpixel-ablation [WIDTH HEIGHT [SIDE]] < picture.rgb
//
// The default is the case of ECE1782's "Superpixels" (2020): 4096x2048, cells of 128, ten
// iterations. Writes a line of JSON a step; times are replays of one CUDA graph.
#include <cstdio>
#include <cstring>
#include <vector>

#include "bench/cuda.hpp"
#include "bench/program.hpp"
#include "bench/superpixels.hpp"
#include "core/packed.hpp"
#include "gpu/slicsuperpixel/slot.hpp"

namespace regions {
namespace {

constexpr int kIterations = 10, kRuns = 30, kEach = 10;
constexpr const char* kSteps[] = {
    "naive atomics",
    "one nominal superpixel a block",
    "3x3 neighbours in shared memory",
    "one wide load a pixel",
    "9 accumulators instead of atomics",
    "several pixels a thread",
    "float and integer units share the distance",
};

class Ablation {
 public:
  Ablation(Size size, int side)
      : size_(size),
        backend_(make_cuda()),
        entry_(*backend_),
        queue_(backend_->make_queue()),
        picture_(backend_->allocate(packed_bytes(layout_of(PixelFormat::rgbx), size))),
        tables_(backend_->allocate(sizeof(LabTables))) {
    params_.region_size = side;
    params_.iterations = kIterations;
    params_.color_space = ColorSpace::rgb;
    params_.min_size = 0;
    params_.output = SlicOutput::none;
    setup_.in = layout_of(PixelFormat::rgbx);
    setup_.size = size;
    grid_ = grid_of(size, params_);
    slot_.allocate(backend_, setup_, SlicMethod::report);
  }

  void read() {
    expects(size_.width % 4 == 0, "the width must be a multiple of 4");
    const Block host = backend_->allocate_pinned(picture_.bytes());
    std::vector<uint8_t> rgb(3 * size_.area());
    expects(std::fread(rgb.data(), 1, rgb.size(), stdin) == rgb.size(),
            "no picture of this size on standard input");
    for (size_t i = 0; i < size_.area(); ++i) {
      std::memcpy(host.as<uint8_t>() + 4 * i, rgb.data() + 3 * i, 3);
      host.as<uint8_t>()[4 * i + 3] = 255;
    }
    queue_->copy_bytes(host.data(), picture_.data(), picture_.bytes());
    queue_->copy_bytes(&lab_tables(), tables_.data(), sizeof(LabTables));
    frame_ = packed_frame(setup_.in, size_, {}, Memory::device, picture_.data());
    slic::read_colors(frame_, reader_of(setup_.in, {}, params_.color_space),
                      {tables_.as<LabTables>(), slic::allow_many_tables()},
                      slot_.clusters(grid_, params_), stream());
    queue_->record();
    queue_->wait();
  }

  void time_step(int step) {
    params_.report_step = step;
    const slic::Report report = slot_.report(grid_, params_);
    const auto iterate = [&] {
      reset_sums(report, stream());
      sum_owned(report, stream());
      average_sums(report, stream());
      choose_owners(report, stream());
    };
    const double all = time(1, [&] {
      own_cells(report, stream());
      for (int i = 0; i < kIterations; ++i) iterate();
    });
    // Kernels are timed on what ten iterations have made of the picture; the sums' last, as they
    // add to what is there.
    const double averaging = time(kEach, [&] { average_sums(report, stream()); });
    const double ownership = time(kEach, [&] { choose_owners(report, stream()); });
    const double reset = time(kEach, [&] { reset_sums(report, stream()); });
    const double sum = time(kEach, [&] { sum_owned(report, stream()); });
    std::printf(
        "{\"what\": \"superpixel-ablation\", \"width\": %d, \"height\": %d, \"side\": %d, "
        "\"step\": %d, \"name\": \"%s\", \"reset_us\": %.2f, \"sum_us\": %.2f, "
        "\"averaging_us\": %.2f, \"ownership_us\": %.2f, \"us\": %.1f}\n",
        size_.width, size_.height, grid_.width, step, kSteps[step - 1], reset, sum, averaging,
        ownership, all);
  }

  // The default method: iterations and the last assignment, of every row.
  void time_ours() {
    const slic::Clusters clusters = slot_.clusters(grid_, params_);
    const auto iterate = [&](int i) { slic::iterate(clusters, i, {}, stream()); };
    const double all = time(1, [&] {
      slic::seed(clusters, kIterations, stream());
      for (int i = 0; i < kIterations; ++i) iterate(i);
      slic::write_codes(clusters, kIterations, slot_.codes(), slot_.pieces().counts, stream());
    });
    std::printf(
        "{\"what\": \"superpixel-ablation\", \"width\": %d, \"height\": %d, \"side\": %d, "
        "\"step\": 8, \"name\": \"ours: one fused pass an iteration\", \"fused_us\": %.2f, "
        "\"us\": %.1f}\n",
        size_.width, size_.height, grid_.width, time(kEach, [&] { iterate(0); }), all);
  }

 private:
  template <class Work>
  double time(int times, Work work) {
    return time_on_cuda(
               *queue_, times, [&](int) { work(); }, kRuns)
        .graph.median;
  }
  cudaStream_t stream() { return stream_of(*queue_); }

  Size size_;
  std::shared_ptr<Backend> backend_;
  Backend::Entry entry_;
  std::unique_ptr<Queue> queue_;
  Block picture_, tables_;
  SlicParams params_;
  Setup setup_;
  SlicGrid grid_;
  slic::Slot slot_;
  Frame frame_;
};

int run(int count, char** words) {
  const Size size =
      count > 2 ? Size{whole_number(words[1]), whole_number(words[2])} : Size{4096, 2048};
  Ablation ablation(size, count > 3 ? whole_number(words[3]) : 128);
  ablation.read();
  for (int step = 1; step <= 7; ++step) ablation.time_step(step);
  ablation.time_ours();
  return 0;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("superpixel-ablation", regions::run, count, words);
}
