// Times slicsuperpixel's method=report on CUDA: each kernel at each of the report's seven
// optimisation steps. Then times the default method. Reads a packed RGB picture from standard
// input.
//
// The default settings come from the ECE1782 course report "Superpixels" (2020): 4096x2048 pixels,
// cells of 128x128, ten iterations. Writes one line of JSON per step. All times are medians of CUDA
// graph replays.
#include "bench/programs/cuda.hpp"
#include "bench/programs/program.hpp"
#include "bench/programs/rgb_input.hpp"
#include "bench/programs/row.hpp"
#include "core/frame.hpp"
#include "gpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {
namespace {

constexpr int kIterations = 10;
constexpr int kRuns = 30;           // graph replays per median
constexpr int kCallsPerGraph = 10;  // kernel launches per graph
constexpr const char* kSteps[] = {
    "naive atomics",
    "one nominal superpixel per block",
    "3x3 neighbours in shared memory",
    "one wide load per pixel",
    "9 accumulators instead of atomics",
    "several pixels per thread",
    "float and integer units share the distance",
};

// Times the optimisation steps on one picture.
class StepTimer {
 public:
  StepTimer(Size size, int side)
      : size_(size),
        backend_(make_first_gpu_backend()),
        entry_(*backend_),
        queue_(backend_->make_queue()),
        picture_(backend_->allocate(packed_bytes(layout_of(PixelFormat::rgbx), size))),
        lab_tables_(backend_->allocate(sizeof(LabTables))) {
    params_.region_size = side;
    params_.iterations = kIterations;
    params_.color_space = ColorSpace::rgb;
    params_.min_size = 0;
    params_.output = SlicOutput::none;
    setup_.in = layout_of(PixelFormat::rgbx);
    setup_.size = size;
    grid_ = grid_of(size, params_);
    buffers_.allocate(backend_, setup_, SlicMethod::ece1782);
  }

  void read_picture() {
    expects(size_.width % 4 == 0, "the width must be a multiple of 4");
    const Picture picture = read_rgb(size_);
    expects(!picture.pixels.empty(), "standard input has no picture of this size");
    frame_ = packed_frame(setup_.in, size_, {}, Memory::device, picture_.data());
    queue_->copy(picture.frame(), frame_);
    queue_->copy_bytes(&lab_tables(), lab_tables_.data(), sizeof(LabTables));
    slicsuperpixel::read_colors(
        frame_, reader_of(setup_.in, {}, params_.color_space),
        {lab_tables_.as<LabTables>(), slicsuperpixel::allow_16_table_copies()},
        buffers_.clusters(grid_, params_), stream());
    queue_->record();
    queue_->wait();
  }

  void time_step(int step) {
    params_.ece1782_step = step;
    const slicsuperpixel::Ece1782 work = buffers_.ece1782(grid_, params_);
    const auto iterate = [&] {
      reset_sums(work, stream());
      sum_owned_pixels(work, stream());
      average_sums(work, stream());
      choose_owners(work, stream());
    };
    const double iterations_us = time(1, [&] {
      assign_own_cells(work, stream());
      for (int i = 0; i < kIterations; ++i) iterate();
    });
    // Each kernel is timed on the result of ten iterations. The sum kernel is timed last, because
    // it adds to the sums in memory.
    const double averaging_us = time(kCallsPerGraph, [&] { average_sums(work, stream()); });
    const double ownership_us = time(kCallsPerGraph, [&] { choose_owners(work, stream()); });
    const double reset_us = time(kCallsPerGraph, [&] { reset_sums(work, stream()); });
    const double sum_us = time(kCallsPerGraph, [&] { sum_owned_pixels(work, stream()); });
    row(step, kSteps[step - 1])
        .add("reset_us", reset_us, 2)
        .add("sum_us", sum_us, 2)
        .add("averaging_us", averaging_us, 2)
        .add("ownership_us", ownership_us, 2)
        .add("us", iterations_us, 1)
        .print();
  }

  // Times the default method: all iterations and the final assignment, without skipping rows.
  void time_default_method() {
    const slicsuperpixel::Clusters clusters = buffers_.clusters(grid_, params_);
    const auto iterate = [&](int i) { slicsuperpixel::iterate(clusters, i, {}, stream()); };
    const double iterations_us = time(1, [&] {
      slicsuperpixel::seed(clusters, kIterations, stream());
      for (int i = 0; i < kIterations; ++i) iterate(i);
      slicsuperpixel::write_cluster_codes(clusters, kIterations, buffers_.codes(),
                                          buffers_.fragments().counts, stream());
    });
    const double fused_us = time(kCallsPerGraph, [&] { iterate(0); });
    row(8, "slicsuperpixel: one fused pass per iteration")
        .add("fused_us", fused_us, 2)
        .add("us", iterations_us, 1)
        .print();
  }

 private:
  template <class Work>
  double time(int times, Work work) {
    return time_on_cuda(
               *queue_, times, [&](int) { work(); }, kRuns)
        .graph.median;
  }
  Row row(int step, const char* name) const {
    Row row("superpixel-ablation", true);
    return row.add(size_).add("side", grid_.width).add("step", step).add("name", name);
  }
  cudaStream_t stream() { return stream_of(*queue_); }

  Size size_;
  std::shared_ptr<Backend> backend_;
  Backend::Entry entry_;
  std::unique_ptr<Queue> queue_;
  Block picture_, lab_tables_;
  SlicParams params_;
  Setup setup_;
  SlicGrid grid_;
  slicsuperpixel::SuperpixelBuffers buffers_;
  Frame frame_;
};

int run(int argc, char** argv) {
  Size size{4096, 2048};
  int side = 128;
  parse(argc, argv, "[OPTION…]\nTimes the steps of method=report on a picture from standard input.",
        {{"--size", "SIZE", "WIDTHxHEIGHT (default: 4096x2048)", into(size)},
         {"--side", "N", "side of the cells (default: 128)", into(side)}});
  StepTimer step_timer(size, side);
  step_timer.read_picture();
  for (int step = 1; step <= 7; ++step) step_timer.time_step(step);
  step_timer.time_default_method();
  return 0;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) {
  return regions::run_program("slicsuperpixel_report", regions::run, argc, argv);
}
