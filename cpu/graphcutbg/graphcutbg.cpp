// graphcutbg on the CPU: runs the phases of each frame in order, and stores the model.
#include "core/graphcutbg/graphcutbg.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "cpu/backend.hpp"
#include "cpu/frame_sequencer.hpp"
#include "cpu/graphcutbg/graphcutbg.hpp"
#include "cpu/simd.hpp"

namespace regions {
namespace graphcutbg {
namespace {

REGIONS_CLONES uint32_t count_nonzero(const uint8_t* bytes, int count) {
  uint32_t nonzero = 0;
  for (int i = 0; i < count; ++i) nonzero += bytes[i] != 0;
  return nonzero;
}

// The data that the tasks of a frame read when the queue runs them.
struct QueuedFrame {
  FrameTask task;
  FramePlan frame;  // incomplete; plan_frame() completes it
  EnergyPlan energy;
  CompositePlan output;
  uint64_t ticket = 0;     // determines the frame's turn in sequencer_
  bool resets = false;     // whether the model is reset before this frame
  bool verifies = false;   // whether the value of the cut is computed
  bool is_boxed = false;   // source=boxes
  bool uses_model = true;  // false: neither the cut nor the output reads the background model
};

class GraphCutBgCpu final : public GraphCutBg {
 public:
  explicit GraphCutBgCpu(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)),
        workers_(workers_of(*backend_)),
        cut_(make_grid_cut<BackendKind::cpu>(backend_)) {}

  void prepare(const GraphCutBgParams& params) override {
    neighbours_ = params.neighbours;
    has_boxes_ = params.source == GraphCutSource::boxes;
  }

  void configure(const Setup& setup) override {
    expects_cuttable(setup);
    setup_ = setup;
    has_chroma_ = setup.in.model != ColorModel::gray;
    cut_->configure(setup.size, neighbours_, setup.slots);
    model_.allocate(setup.size, neighbours_, row_chunks());
    workspaces_.assign(static_cast<size_t>(setup.slots), {});
    for (FrameWorkspace& workspace : workspaces_) {
      workspace.allocate(setup.size);
      if (has_boxes_) workspace.boxes = std::vector<ObjectBox>(kMaxBoxes);
    }
    sample_cut_.reset();
    boxes_ = {};
    box_tracks_.clear();
    if (has_boxes_) {
      boxes_.allocate(setup.size, neighbours_);
      box_tracks_.reserve();
      sample_cut_ = cut_->make_companion();
      sample_cut_->configure({kSampleSide, kSampleSide * static_cast<int>(kMaxBoxes)}, neighbours_,
                             setup.slots);
    }
    background_image_.clear();
    replace_image_.clear();
    exclusion_image_.clear();
    resets_ = false;
  }

  void enqueue(const FrameTask& given, const GraphCutBgParams& params, Queue& queue) override {
    FrameTask task = given;
    task.mask = attached_mask_of(given, params);
    expects_cuttable(setup_, task, params);
    const bool is_boxed = params.source == GraphCutSource::boxes;
    expects(!is_boxed || has_boxes_, "source=boxes was not set when the algorithm was configured");
    FrameWorkspace& workspace = workspaces_[static_cast<size_t>(task.slot)];
    QueuedFrame queued{task, frame_plan_of(params, has_chroma_),
                       energy_plan_of(params, setup_.size, task.mask.size()),
                       composite_plan_of(params, setup_)};
    expects(!queued.output.shows_image() || !replace_image_.empty(),
            "replace-with=image requires replace-image");
    queued.ticket = sequencer_.take_ticket();
    queued.resets = std::exchange(resets_, false);
    const FrameGuard guard(queue_of(queue), [this, ticket = queued.ticket, resets = queued.resets] {
      sequencer_.finish(ticket, [&] {
        if (resets) restart(arrays());  // a failed frame must not lose the reset
      });
    });
    queued.verifies = params.verify;
    queued.is_boxed = is_boxed;
    queued.uses_model = !is_boxed || queued.output.shows_model();
    if (queued.resets || !is_boxed) box_tracks_.clear();
    if (is_boxed) {
      workspace.box_count = box_tracks_.read(task, setup_.size, workspace.boxes.data());
      workspace.box_half = box_tracks_.half();
    }
    queue_of(queue).submit([this, queued] {
      sequencer_.wait_for_turn(queued.ticket);
      if (queued.resets) restart(arrays());
      if (queued.uses_model) {
        survey_frame(queued);
      } else {
        read_frame(queued);
      }
      if (!queued.is_boxed) compute_frame_weights(queued);
    });
    if (is_boxed) enqueue_box_models(queued, workspace, queue);
    // Verification sums the capacities of all links, so they have been stored in arrays. Without
    // verification, the cut calls links_, which computes only the capacities that the cut reads.
    cut_->enqueue(model_.graph(queued.verifies ? nullptr : &links_), mask_of(workspace),
                  cut_limits_of(params, queued.resets), &workspace.report.cut, task.slot, queue);
    queue_of(queue).submit([this, queued] {
      FrameWorkspace& frame = workspaces_[static_cast<size_t>(queued.task.slot)];
      if (queued.is_boxed) {
        write_boxes(queued.task, box_arrays(frame), mask_of(frame), workers_);
      }
      update_model(queued, frame);
      if (queued.output.hides() && !queued.task.out.empty()) {
        hide_foreground(queued.output, model_, frame, workers_);
      }
      // The next frame changes the model, so a visible model is composited first.
      if (!queued.output.shows_model()) sequencer_.advance();
      composite_output(queued.task, queued.output,
                       {replace_image_.data(), model_.background.data()}, frame, workers_);
      if (queued.output.shows_model()) sequencer_.advance();
    });
  }

  void reset() override { resets_ = true; }

  void set_picture(GraphCutPicture which, const ConstFrame& picture) override {
    const bool is_removed = picture.empty();
    switch (which) {
      case GraphCutPicture::background_image:
        background_image_ = is_removed ? std::vector<uint32_t>() : background_of(picture, setup_);
        resets_ = true;
        return;
      case GraphCutPicture::replace_image:
        replace_image_ = is_removed ? std::vector<uint16_t>() : replacement_of(picture, setup_);
        return;
      case GraphCutPicture::exclusion_image:
        exclusion_image_ = is_removed ? std::vector<uint8_t>() : exclusion_of(picture, setup_);
    }
  }

  std::vector<std::byte> state() override {
    if (resets_ || model_.scene.age == 0) return {};
    StateHeader header;
    header.width = setup_.size.width;
    header.height = setup_.size.height;
    header.scene = model_.scene;
    std::vector<std::byte> bytes(state_bytes(setup_.size));
    std::byte* next = bytes.data();
    const auto add = [&](const void* data, size_t size) {
      std::memcpy(next, data, size);
      next += size;
    };
    add(&header, sizeof header);
    const size_t plane_bytes = model_.background.size() * sizeof(uint32_t);
    const size_t stride = ModelArrays::plane_stride(model_.background.size());
    for (size_t k = 0; k < Model::kWords; ++k) add(model_.model.data() + k * stride, plane_bytes);
    add(model_.background.data(), plane_bytes);
    return bytes;
  }

  void restore(std::span<const std::byte> state) override {
    const StateHeader header = checked_header(state, setup_.size);
    has_chroma_ = has_chroma_ || stores_chroma(state, setup_.size);
    const std::byte* next = state.data() + sizeof header;
    const size_t plane_bytes = model_.background.size() * sizeof(uint32_t);
    const size_t stride = ModelArrays::plane_stride(model_.background.size());
    for (size_t k = 0; k < Model::kWords; ++k, next += plane_bytes) {
      std::memcpy(model_.model.data() + k * stride, next, plane_bytes);
    }
    std::memcpy(model_.background.data(), next, plane_bytes);
    model_.scene = header.scene;
    model_.watch = {};
    model_.clear_cells();
    std::fill(model_.held.begin(), model_.held.end(), 0);
    resets_ = false;
    box_tracks_.clear();
  }

  GraphCutResult result(int slot) const override {
    return workspaces_.at(static_cast<size_t>(slot)).report;
  }

 private:
  // Computes link capacities of the current frame on demand.
  class Links final : public LinkSource {
   public:
    explicit Links(GraphCutBgCpu& owner) : owner_(owner) {}
    void write(int y, int first, int last, const LinkRow& row) const override {
      if (owner_.cut_boxes_.owner) {
        return compute_box_links(owner_.cut_boxes_, owner_.model_.energy, y, first, last, row);
      }
      owner_.passes_.compute_links(owner_.arrays(), owner_.model_.frame, owner_.model_.energy, y,
                                   first, last, row);
    }

   private:
    GraphCutBgCpu& owner_;
  };

  // Returns the number of chunks of rows. There are more chunks than threads, because the work per
  // chunk differs.
  int row_chunks() const { return std::min(setup_.size.height, workers_.threads() * 4); }

  // Calls body(chunk, y) for each row of the frame. A surveyed row and the row below it are in the
  // same chunk, because the survey reads both.
  template <std::invocable<int, int> Body>
  void for_each_row(Body body) {
    const int64_t rows = setup_.size.height;
    const auto first = [&](int chunk) {
      const auto y = static_cast<int>(rows * chunk / row_chunks());
      return chunk == row_chunks() ? y : y / SurveyGrid::kMaxStep * SurveyGrid::kMaxStep;
    };
    workers_.parallel_for(row_chunks(), [&](int chunk) {
      for (int y = first(chunk); y < first(chunk + 1); ++y) body(chunk, y);
    });
  }

  Image<uint8_t> mask_of(FrameWorkspace& workspace) const {
    return {workspace.mask.data(), setup_.size.width, setup_.size.height, setup_.size.width};
  }
  const uint8_t* excluded() const {
    return exclusion_image_.empty() ? nullptr : exclusion_image_.data();
  }
  ModelArrays arrays() { return model_.arrays(excluded()); }

  BoxArrays box_arrays(const FrameWorkspace& workspace) {
    return boxes_.arrays(std::span(workspace.boxes).first(workspace.box_count), workspace.box_half,
                         model_, excluded());
  }

  // Enqueues the cuts of the samples of each box, from which the mixtures and the terminal weights
  // of the frame follow.
  void enqueue_box_models(const QueuedFrame& queued, FrameWorkspace& workspace, Queue& queue) {
    queue_of(queue).submit([this, queued, frame = &workspace] {
      model_.energy = queued.energy;
      cut_boxes_ = box_arrays(*frame);
      start_boxes(cut_boxes_, queued.energy, queued.frame.contrasts.scale, workers_);
    });
    const auto count = static_cast<uint32_t>(workspace.box_count);
    for (int k = 0; k < box_tracks_.sample_cuts(); ++k) {
      sample_cut_->enqueue(boxes_.sample_graph(count), boxes_.sample_mask(count), {},
                           &workspace.sample_report, queued.task.slot, queue);
      queue_of(queue).submit([this, k] { refit_boxes(cut_boxes_, k, workers_); });
    }
    queue_of(queue).submit([this, verifies = queued.verifies] {
      compute_box_terminals(cut_boxes_, workers_);
      if (verifies) store_links(arrays());
    });
  }

  void store_links(const ModelArrays& arrays) {
    for_each_row(
        [&](int, int y) { links_.write(y, 0, setup_.size.width, arrays.links_of_row(y)); });
  }

  void read_frame(const QueuedFrame& queued) {
    const ModelArrays arrays = this->arrays();
    for_each_row(
        [&](int, int y) { read_row(queued.task.in, y, arrays.current + arrays.at(0, y)); });
  }

  // Reads and surveys the frame, and completes its plan.
  void survey_frame(const QueuedFrame& queued) {
    const ModelArrays arrays = this->arrays();
    const int width = setup_.size.width;
    std::fill(model_.surveys.begin(), model_.surveys.end(), Survey());
    for (int i = 0; i < static_cast<int>(arrays.cells.count()); ++i) {
      advance_cell(arrays, model_.scene, i);
    }
    const int height = setup_.size.height;
    const auto grid = SurveyGrid::of(width, height);
    for_each_row([&](int chunk, int y) {
      read_row(queued.task.in, y, arrays.current + arrays.at(0, y));
      // A row is surveyed after the row below it has been read.
      const int step = y % grid.step;
      if (step != 1 && !(step == 0 && y + 1 == height)) return;
      survey_row(arrays, model_.scene, grid, y - step, model_.surveys[static_cast<size_t>(chunk)]);
    });
    Survey& survey = model_.surveys.front();
    for (size_t i = 1; i < model_.surveys.size(); ++i) survey.add(model_.surveys[i]);
    model_.frame = plan_frame(model_.scene, model_.watch, survey,
                              measures_of(survey, model_.watch, grid), queued.frame);
  }

  // Computes the weights of the frame's cut.
  void compute_frame_weights(const QueuedFrame& queued) {
    const ModelArrays arrays = this->arrays();
    const int width = setup_.size.width;
    cut_boxes_ = {};
    if (queued.energy.uses_foreground_colors && !queued.energy.uses_image) {
      for_each_row([&](int, int y) {
        for (int x = 0; y % SurveyGrid::kMaxStep == 0 && x < width; x += SurveyGrid::kMaxStep) {
          count_masked_color(arrays, queued.task.mask, queued.energy, x, y, add_atomically);
        }
      });
    }
    if (queued.energy.uses_foreground_colors) {
      finalize_totals(*arrays.colors);
      for (int bin = 0; bin < ColorHistograms::kBins; ++bin) finalize_bin(*arrays.colors, bin);
    }
    model_.energy = queued.energy;
    for_each_row([&](int, int y) {
      passes_.compute_terminals(arrays, queued.task.mask, model_.frame, queued.energy, y);
    });
    if (queued.verifies) store_links(arrays);
  }

  // Forgets the model, and starts it from the given background if there is one.
  void restart(const ModelArrays& arrays) {
    model_.scene = {};
    model_.watch = {};
    *arrays.colors = {};
    model_.clear_cells();
    std::fill(model_.held.begin(), model_.held.end(), 0);
    if (background_image_.empty()) return;
    model_.scene.age = kKnownAge;
    for_each_row([&](int, int y) {
      for (int x = 0; x < setup_.size.width; ++x) {
        start_model_from(arrays, background_image_.data(), arrays.at(x, y));
      }
    });
  }

  // Updates the model with the frame and its mask, and writes the frame's report.
  void update_model(const QueuedFrame& queued, FrameWorkspace& workspace) {
    const ModelArrays arrays = this->arrays();
    const Image<uint8_t> mask = mask_of(workspace);
    const int width = setup_.size.width;
    std::fill(model_.foreground.begin(), model_.foreground.end(), 0);
    std::fill(model_.cut_values.begin(), model_.cut_values.end(), 0);
    for_each_row([&](int chunk, int y) {
      const auto chunk_index = static_cast<size_t>(chunk);
      const uint8_t* foreground = mask.row(y);
      model_.foreground[chunk_index] += count_nonzero(foreground, width);
      for (int x = 0; queued.verifies && x < width; ++x) {
        model_.cut_values[chunk_index] += cut_value_at(arrays, mask, x, y);
      }
      if (!queued.uses_model) return;
      passes_.update_model(arrays, model_.frame, foreground, y);
      const bool counts_colors = queued.energy.uses_foreground_colors && queued.energy.uses_image;
      for (int x = 0; counts_colors && x < width; ++x) {
        if (!is_updated(arrays, model_.frame, x, y)) continue;
        count_color(arrays, foreground[x] != 0, x, y, add_atomically);
      }
    });
    GraphCutResult& report = workspace.report;
    report.foreground = 0;
    report.cut_value = queued.verifies ? 0 : -1;
    for (const uint32_t pixels : model_.foreground) report.foreground += pixels;
    for (const int64_t value : model_.cut_values) report.cut_value += value;
    report.pixels = static_cast<uint32_t>(setup_.size.area());
    report.change = SceneChange::none;
    report.restarted = false;
    if (!queued.uses_model) return;
    if (finish_frame(model_.scene, model_.watch, model_.frame, report.foreground, report.pixels)) {
      std::fill(workspace.mask.begin(), workspace.mask.end(), 0);
      report.foreground = 0;
    }
    report.change = model_.watch.change;
    report.restarted = model_.scene.restarted != 0;
  }

  std::shared_ptr<Backend> backend_;
  Workers workers_;
  const RowPasses passes_ = row_passes().back();
  std::unique_ptr<GridCut> cut_;
  Neighbours neighbours_ = GraphCutBgParams().neighbours;
  bool has_boxes_ = false;  // whether memory for source=boxes is allocated
  Setup setup_;
  ModelState model_;
  const Links links_{*this};
  BoxState boxes_;
  BoxTracks box_tracks_;
  std::unique_ptr<GridCut> sample_cut_;  // null unless has_boxes_
  BoxArrays cut_boxes_;  // the boxes of the current frame's cut; `owner` is null without
  std::vector<FrameWorkspace> workspaces_;  // [slots], memory of each frame in flight
  // The pictures of set_picture(); empty if not set.
  std::vector<uint32_t> background_image_;  // [height][width], packed colours
  std::vector<uint16_t> replace_image_;     // [component][height][width]
  std::vector<uint8_t> exclusion_image_;    // [height][width], not 0: the pixel is excluded
  bool has_chroma_ = true;                  // see FramePlan::has_chroma
  bool resets_ = false;                     // whether the model is reset before the next frame
  FrameSequencer sequencer_;
};

}  // namespace

void ModelState::allocate(Size picture, Neighbours neighbourhood, int row_chunks) {
  size = picture;
  neighbours = neighbourhood;
  const size_t pixels = picture.area();
  current.assign(pixels, 0);
  background.assign(pixels, 0);
  model.assign(ModelArrays::plane_stride(pixels) * Model::kWords, 0);
  for (auto* weights : {&terminal, &right, &down}) weights->assign(pixels, 0);
  const bool eight = neighbourhood == Neighbours::eight;
  for (auto* weights : {&down_right, &down_left}) weights->assign(eight ? pixels : 0, 0);
  colors.assign(1, ColorHistograms());
  cells = PictureCells::of(picture);
  outline.assign(cells.count(), {});
  clear_cells();
  const auto count = static_cast<size_t>(row_chunks);
  surveys.assign(count, Survey());
  foreground.assign(count, 0);
  cut_values.assign(count, 0);
  held.assign(pixels, 0);
  scene = {};
  watch = {};
}

void ModelState::clear_cells() {
  for (auto* counts : {&sparks[0], &sparks[1], &excused[0], &excused[1]}) {
    counts->assign(cells.count(), 0);
  }
  for (auto* values : {&sparkle, &calm}) values->assign(cells.count(), 0);
}

ModelArrays ModelState::arrays(const uint8_t* excluded) {
  ModelArrays arrays;
  arrays.width = size.width;
  arrays.height = size.height;
  arrays.current = current.data();
  arrays.background = background.data();
  arrays.model = model.data();
  arrays.terminal = terminal.data();
  arrays.right = right.data();
  arrays.down = down.data();
  if (neighbours == Neighbours::eight) {
    arrays.down_right = down_right.data();
    arrays.down_left = down_left.data();
  }
  arrays.colors = colors.data();
  arrays.excluded = excluded;
  arrays.cells = cells;
  arrays.outline = outline.data();
  for (int k = 0; k < 2; ++k) {
    arrays.sparks[k] = sparks[k].data();
    arrays.excused[k] = excused[k].data();
  }
  arrays.sparkle = sparkle.data();
  arrays.calm = calm.data();
  return arrays;
}

GridGraph ModelState::graph(const LinkSource* links) const {
  const auto image = [&](const std::vector<int32_t>& weights) {
    if (weights.empty()) return Image<const int32_t>();
    return Image<const int32_t>{weights.data(), size.width, size.height,
                                static_cast<ptrdiff_t>(sizeof(int32_t)) * size.width};
  };
  return {image(terminal),  image(right), image(down), image(down_right),
          image(down_left), neighbours,   kMaxWeight,  links};
}

void FrameWorkspace::allocate(Size picture, int min_cell) {
  // Constructs new vectors instead of calling assign(): the constructor checks the size, which
  // avoids a false warning of g++ 14.
  for (auto* pixels : {&mask, &hidden, &counts, &alpha})
    *pixels = std::vector<uint8_t>(picture.area());
  const size_t cells = ColorCells::count(picture, min_cell);
  cell_sums.assign(3 * cells, 0);
  cell_weights.assign(cells, 0);
  for (auto& component : means) component.assign(cells, 0);
  report = {};
}

}  // namespace graphcutbg

template <>
std::unique_ptr<Algorithm<GraphCutBgParams>> make_algorithm<GraphCutBgParams, BackendKind::cpu>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<graphcutbg::GraphCutBgCpu>(std::move(backend));
}

}  // namespace regions
