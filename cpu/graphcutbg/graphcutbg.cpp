// graphcutbg on the CPU: the list of phases.
#include "core/graphcutbg/graphcutbg.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "cpu/backend.hpp"
#include "cpu/simd.hpp"
#include "cpu/graphcutbg/read_row.hpp"
#include "cpu/graphcutbg/rows.hpp"
#include "cpu/graphcutbg/slot.hpp"
#include "cpu/graphcutbg/view.hpp"
#include "cpu/frame_sequencer.hpp"

namespace regions {
namespace graphcut {
namespace {

REGIONS_CLONES uint32_t count_nonzero(const uint8_t* bytes, int count) {
  uint32_t found = 0;
  for (int i = 0; i < count; ++i) found += bytes[i] != 0;
  return found;
}

// One frame as it travels to the queue's thread.
struct Task {
  Job job;
  ScenePlan scene;
  EnergyPlan energy;
  ViewPlan view;
  uint64_t turn = 0;
  bool resets = false;  // forgets the frames before
  bool verifies = false;
};

class GraphCutBgCpu final : public GraphCutBg {
 public:
  explicit GraphCutBgCpu(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)),
        workers_(workers_of(*backend_)),
        cut_(make_grid_cut<BackendKind::cpu>(backend_)) {}

  void prepare(const GraphCutBgParams& params) override { neighbours_ = params.neighbours; }

  void configure(const Setup& setup) override {
    expects_cuttable(setup);
    setup_ = setup;
    cut_->configure(setup.size, neighbours_, setup.slots);
    shared_.allocate(setup.size, neighbours_, pieces());
    slots_.assign(static_cast<size_t>(setup.slots), {});
    for (Slot& slot : slots_) slot.allocate(setup.size);
    known_.clear();
    replacement_.clear();
    excluded_.clear();
    resets_ = false;
  }

  void enqueue(const Job& job, const GraphCutBgParams& params, Queue& queue) override {
    expects_cuttable(setup_, job, params);
    Slot& slot = slots_[static_cast<size_t>(job.slot)];
    Task task{job, scene_plan_of(params), energy_plan_of(params, setup_.size, job.mask.size()),
              view_plan_of(params, setup_)};
    expects(!task.view.shows_image() || !replacement_.empty(),
            "replace-with=image requires replace-image");
    task.turn = turns_.take_ticket();
    task.resets = std::exchange(resets_, false);
    const FrameGuard passes(queue_of(queue), [this, turn = task.turn, resets = task.resets] {
      turns_.finish(turn, [&] {
        if (resets) start_again(canvas());  // else the reset would be lost
      });
    });
    task.verifies = params.verify;
    queue_of(queue).submit([this, task] {
      turns_.wait_for_turn(task.turn);
      weigh_frame(task);
    });
    // The value of the mask's cut is a sum over all links.
    cut_->enqueue(shared_.graph(task.verifies ? nullptr : &links_), mask_of(slot),
                  cut_limits_of(params, task.resets), &slot.report.cut, job.slot, queue);
    queue_of(queue).submit([this, task] {
      Slot& own = slots_[static_cast<size_t>(task.job.slot)];
      teach_frame(task, own);
      turns_.advance();
      show(task.job, task.view, replacement_.data(), own, workers_);
    });
  }

  void reset() override { resets_ = true; }

  void set_picture(GraphCutPicture which, const ConstFrame& picture) override {
    const bool none = picture.empty();
    switch (which) {
      case GraphCutPicture::background:
        known_ = none ? std::vector<uint32_t>() : background_of(picture, setup_);
        resets_ = true;
        return;
      case GraphCutPicture::replacement:
        replacement_ = none ? std::vector<uint16_t>() : replacement_of(picture, setup_);
        return;
      case GraphCutPicture::exclusion:
        excluded_ = none ? std::vector<uint8_t>() : exclusion_of(picture, setup_);
    }
  }

  std::vector<std::byte> state() override {
    if (resets_ || shared_.scene.age == 0) return {};
    StateHeader header;
    header.width = setup_.size.width;
    header.height = setup_.size.height;
    header.scene = shared_.scene;
    std::vector<std::byte> bytes(state_bytes(setup_.size));
    std::byte* at = bytes.data();
    const auto add = [&](const void* data, size_t size) {
      std::memcpy(at, data, size);
      at += size;
    };
    add(&header, sizeof header);
    const size_t plane = shared_.background.size() * sizeof(uint32_t);
    const size_t stride = Canvas::plane_stride(shared_.background.size());
    for (size_t k = 0; k < Model::kWords; ++k) add(shared_.model.data() + k * stride, plane);
    add(shared_.background.data(), plane);
    return bytes;
  }

  void restore(std::span<const std::byte> state) override {
    const StateHeader header = checked_header(state, setup_.size);
    const std::byte* at = state.data() + sizeof header;
    const size_t plane = shared_.background.size() * sizeof(uint32_t);
    const size_t stride = Canvas::plane_stride(shared_.background.size());
    for (size_t k = 0; k < Model::kWords; ++k, at += plane) {
      std::memcpy(shared_.model.data() + k * stride, at, plane);
    }
    std::memcpy(shared_.background.data(), at, plane);
    shared_.scene = header.scene;
    shared_.last_foreground = shared_.last_pixels = 0;
    resets_ = false;
  }

  GraphCutReport report(int slot) const override {
    return slots_.at(static_cast<size_t>(slot)).report;
  }

 private:
  // Those of the frame under way.
  class Links final : public LinkSource {
   public:
    explicit Links(GraphCutBgCpu& of) : of_(of) {}
    void write(int y, int first, int last, const LinkRow& row) const override {
      of_.passes_.link(of_.canvas(), of_.shared_.frame, of_.shared_.energy, y, first, last, row);
    }

   private:
    GraphCutBgCpu& of_;
  };

  // Rows are shared out in more pieces than threads, so that none waits long.
  int pieces() const { return std::min(setup_.size.height, workers_.threads() * 4); }

  // Calls body(piece, y) for each row of the frame. The row below one that a survey looks at is of
  // the same piece.
  template <std::invocable<int, int> Body>
  void for_rows(Body body) {
    const int64_t rows = setup_.size.height;
    const auto first = [&](int piece) {
      const auto y = static_cast<int>(rows * piece / pieces());
      return piece == pieces() ? y : y / Survey::kStep * Survey::kStep;
    };
    workers_.parallel_for(pieces(), [&](int piece) {
      for (int y = first(piece); y < first(piece + 1); ++y) body(piece, y);
    });
  }

  Image<uint8_t> mask_of(Slot& slot) const {
    return {slot.mask.data(), setup_.size.width, setup_.size.height, setup_.size.width};
  }
  Canvas canvas() { return shared_.canvas(excluded_.empty() ? nullptr : excluded_.data()); }

  void weigh_frame(const Task& task) {
    const Canvas canvas = this->canvas();
    const int width = setup_.size.width;
    if (task.resets) start_again(canvas);
    std::fill(shared_.surveys.begin(), shared_.surveys.end(), Survey());
    const auto color = [&](int x, int y) { return Color::load(canvas.now + canvas.at(x, y)); };
    const int height = setup_.size.height;
    for_rows([&](int piece, int y) {
      read_row(task.job.in, y, canvas.now + canvas.at(0, y));
      // A row is surveyed when the one below it is read.
      const int step = y % Survey::kStep;
      if (step != 1 && !(step == 0 && y + 1 == height)) return;
      const int surveyed = y - step;
      Survey& survey = shared_.surveys[static_cast<size_t>(piece)];
      const auto tally = [&](int half, int bin) { ++survey.change[half][bin]; };
      for (int x = 0; x < width; x += Survey::kStep) {
        survey_pixel(canvas, shared_.scene, x, surveyed, survey.sums, tally, color);
      }
    });
    Survey& survey = shared_.surveys.front();
    for (size_t i = 1; i < shared_.surveys.size(); ++i) survey.add(shared_.surveys[i]);
    survey.foreground = shared_.last_foreground;
    survey.pixels = shared_.last_pixels;
    shared_.frame = settle(shared_.scene, survey, medians_of(survey), task.scene);
    if (task.energy.uses_colors) {
      settle_totals(*canvas.colors);
      for (int bin = 0; bin < Colors::kBins; ++bin) settle_bin(*canvas.colors, bin);
    }
    shared_.energy = task.energy;
    for_rows(
        [&](int, int y) { passes_.weigh(canvas, task.job.mask, shared_.frame, task.energy, y); });
    if (!task.verifies) return;
    for_rows([&](int, int y) { links_.write(y, 0, width, canvas.links_of_row(y)); });
  }

  void start_again(const Canvas& canvas) {
    shared_.scene = {};
    *canvas.colors = {};
    shared_.last_foreground = shared_.last_pixels = 0;
    if (known_.empty()) return;
    shared_.scene.age = kKnownAge;
    for_rows([&](int, int y) {
      for (int x = 0; x < setup_.size.width; ++x) {
        start_from(canvas, known_.data(), canvas.at(x, y));
      }
    });
  }

  void teach_frame(const Task& task, Slot& slot) {
    const Canvas canvas = this->canvas();
    const Image<uint8_t> mask = mask_of(slot);
    const int width = setup_.size.width;
    std::fill(shared_.foreground.begin(), shared_.foreground.end(), 0);
    std::fill(shared_.values.begin(), shared_.values.end(), 0);
    const auto add = [](uint32_t* sum, uint32_t amount) {  // of integers: in any order
      std::atomic_ref(*sum).fetch_add(amount, std::memory_order_relaxed);
    };
    for_rows([&](int piece, int y) {
      const auto p = static_cast<size_t>(piece);
      const uint8_t* foreground = mask.row(y);
      shared_.foreground[p] += count_nonzero(foreground, width);
      for (int x = 0; task.verifies && x < width; ++x) {
        shared_.values[p] += cut_value_at(canvas, mask, x, y);
      }
      passes_.teach(canvas, shared_.frame, foreground, y);
      for (int x = 0; task.energy.uses_colors && x < width; ++x) {
        if (!is_taught(canvas, shared_.frame, x, y)) continue;
        count_color(canvas, foreground[x] != 0, x, y, add);
      }
    });
    GraphCutReport& report = slot.report;
    report.foreground = 0;
    report.cut_value = task.verifies ? 0 : -1;
    for (const uint32_t pixels : shared_.foreground) report.foreground += pixels;
    for (const int64_t value : shared_.values) report.cut_value += value;
    report.pixels = static_cast<uint32_t>(setup_.size.area());
    report.restarted = shared_.scene.restarted != 0;
    shared_.last_foreground = report.foreground;
    shared_.last_pixels = report.pixels;
  }

  std::shared_ptr<Backend> backend_;
  Workers workers_;
  const RowPasses passes_ = row_passes().back();
  std::unique_ptr<GridCut> cut_;
  Neighbours neighbours_ = GraphCutBgParams().neighbours;
  Setup setup_;
  Shared shared_;
  const Links links_{*this};
  std::vector<Slot> slots_;
  std::vector<uint32_t> known_;        // the background a user gave; empty: none
  std::vector<uint16_t> replacement_;  // likewise
  std::vector<uint8_t> excluded_;      // likewise
  bool resets_ = false;                // the next frame starts anew
  FrameSequencer turns_;
};

}  // namespace
}  // namespace graphcut

template <>
std::unique_ptr<Algorithm<GraphCutBgParams>> make_algorithm<GraphCutBgParams, BackendKind::cpu>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<graphcut::GraphCutBgCpu>(std::move(backend));
}

}  // namespace regions
