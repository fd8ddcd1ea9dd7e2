// The algorithm graphcutbg on CUDA: enqueues the kernels of a frame and owns their memory.
#include "core/graphcutbg/graphcutbg.hpp"

#include <cstring>
#include <utility>

#include "core/graphcutbg/stored_model.hpp"
#include "core/workspace.hpp"
#include "gpu/graphcutbg/graphcutbg.hpp"

namespace regions {
namespace graphcutbg {
namespace {

// Device memory of the background model, the cut's graph and the scene. All frames use the same
// memory, one after another.
class ModelBuffers {
 public:
  void reserve(Workspace& memory, Size size, Neighbours neighbours, bool has_output);
  // `excluded` has the shape [height][width] and is nonzero at pixels that are never foreground. It
  // may be null.
  ModelArrays arrays(const uint8_t* excluded) const;
  GridGraph graph() const;
  SceneState* scene() const { return scene_; }
  // The number of frames for which each pixel stays hidden, see is_hidden(). Empty without output.
  Image<uint8_t> held() const { return {held_, size_.width, size_.height, size_.width}; }

 private:
  Size size_;
  Neighbours neighbours_ = Neighbours::eight;
  uint8_t* held_ = nullptr;  // [height][width]
  ModelArrays arrays_;
  SceneState* scene_ = nullptr;
};

// Device memory for source=boxes, which all frames use one after another.
class BoxBuffers {
 public:
  // Reserves no memory unless `has_boxes` is set.
  void reserve(Workspace& memory, Size size, Neighbours neighbours, bool has_boxes);
  // The arrays for a frame with `count` boxes, whose colours are in model.current. `half` is that
  // of BoxTracks.
  BoxArrays arrays(const ModelArrays& model, uint32_t count, size_t half) const;
  // The graph of the samples of `places` boxes, and the mask of its cut.
  GridGraph graph(uint32_t places) const;
  Image<uint8_t> mask(uint32_t places) const {
    return {mask_, kSampleSide, rows_of(places), kSampleSide};
  }
  ObjectBox* boxes() const { return boxes_; }
  BoxSums* sums() const { return sums_; }
  // The rows of samples of `places` boxes.
  static int rows_of(uint32_t places) { return kSampleSide * static_cast<int>(places); }

 private:
  BoxArrays arrays_;
  BoxModel* models_ = nullptr;  // [2][kMaxBoxes], of this frame and of the last one
  ObjectBox* boxes_ = nullptr;  // [kMaxBoxes]
  BoxSums* sums_ = nullptr;     // [kMaxBoxes]
  uint8_t* mask_ = nullptr;     // see BoxArrays::sample_mask
};

// Buffers of one in-flight frame.
class FrameBuffers {
 public:
  static constexpr size_t kPinnedBytes = 512;  // pinned host memory per in-flight frame
  // `has_output`: whether there is an output picture, which needs soft masks and a blurred
  // background. `host`: pinned memory of kPinnedBytes bytes for the results.
  void reserve(Workspace& memory, Size size, bool has_output, std::byte* host);
  Image<uint8_t> mask() const { return plane_of(mask_); }
  Image<uint8_t> hidden() const { return plane_of(hidden_); }
  Image<uint8_t> counts() const { return plane_of(counts_); }
  Image<uint8_t> alpha() const { return plane_of(alpha_); }
  ColorCells cells(const CompositePlan& plan) const {
    return color_cells_of(plan, size_, sums_, weights_);
  }
  Image<uint16_t> means(int component, const ColorCells& cells) const {
    return {means_[component], cells.columns, cells.rows,
            static_cast<ptrdiff_t>(sizeof(uint16_t)) * cells.columns};
  }
  FrameStatistics* statistics() const { return statistics_; }
  // The frame's results in pinned host memory.
  CutResult* host_cut() const { return reinterpret_cast<CutResult*>(host_results_); }
  FrameStatistics* host_statistics() const {
    return reinterpret_cast<FrameStatistics*>(host_results_ + kStatisticsOffset);
  }
  bool is_verified = false;  // whether the cut's value was computed for the slot's last frame

 private:
  static constexpr size_t kStatisticsOffset = 256;  // position of FrameStatistics, bytes
  static_assert(sizeof(CutResult) <= kStatisticsOffset &&
                kStatisticsOffset + sizeof(FrameStatistics) <= kPinnedBytes);
  Image<uint8_t> plane_of(uint8_t* pixels) const {
    return {pixels, size_.width, size_.height, size_.width};
  }
  Size size_;
  // [height][width]
  uint8_t *mask_ = nullptr, *hidden_ = nullptr, *counts_ = nullptr, *alpha_ = nullptr;
  uint64_t* sums_ = nullptr;               // [3][cells], see ColorCells
  uint32_t* weights_ = nullptr;            // [cells], see ColorCells
  uint16_t* means_[3] = {};                // [component][cells], averages, see Composition
  FrameStatistics* statistics_ = nullptr;  // [1], in device memory
  std::byte* host_results_ = nullptr;      // [kPinnedBytes], pinned
};

void ModelBuffers::reserve(Workspace& memory, Size size, Neighbours neighbours, bool has_output) {
  size_ = size;
  neighbours_ = neighbours;
  arrays_ = {};
  arrays_.width = size.width;
  arrays_.height = size.height;
  const size_t pixels = size.area();
  memory.reserve(arrays_.current, pixels);
  memory.reserve(arrays_.background, pixels);
  memory.reserve(arrays_.model, ModelArrays::plane_stride(pixels) * Model::kWords);
  for (int32_t** weights : {&arrays_.terminal, &arrays_.right, &arrays_.down}) {
    memory.reserve(*weights, pixels);
  }
  if (neighbours == Neighbours::eight) {
    memory.reserve(arrays_.down_right, pixels);
    memory.reserve(arrays_.down_left, pixels);
  }
  memory.reserve(arrays_.colors, 1);
  arrays_.cells = PictureCells::of(size);
  memory.reserve(arrays_.outline, arrays_.cells.count());
  for (int k = 0; k < 2; ++k) {
    memory.reserve(arrays_.sparks[k], arrays_.cells.count());
    memory.reserve(arrays_.excused[k], arrays_.cells.count());
  }
  memory.reserve(arrays_.sparkle, arrays_.cells.count());
  memory.reserve(arrays_.calm, arrays_.cells.count());
  memory.reserve(scene_, 1);
  held_ = nullptr;
  if (has_output) memory.reserve(held_, pixels);
}

ModelArrays ModelBuffers::arrays(const uint8_t* excluded) const {
  ModelArrays arrays = arrays_;
  arrays.excluded = excluded;
  return arrays;
}

GridGraph ModelBuffers::graph() const {
  const auto image = [&](const int32_t* weights) {
    if (!weights) return Image<const int32_t>();
    return Image<const int32_t>{weights, size_.width, size_.height,
                                static_cast<ptrdiff_t>(sizeof(int32_t)) * size_.width};
  };
  return {image(arrays_.terminal),   image(arrays_.right),     image(arrays_.down),
          image(arrays_.down_right), image(arrays_.down_left), neighbours_};
}

void BoxBuffers::reserve(Workspace& memory, Size size, Neighbours neighbours, bool has_boxes) {
  *this = {};
  if (!has_boxes) return;
  arrays_.width = size.width;
  arrays_.height = size.height;
  memory.reserve(boxes_, kMaxBoxes);
  memory.reserve(sums_, kMaxBoxes);
  memory.reserve(models_, 2 * size_t{kMaxBoxes});
  memory.reserve(arrays_.owner, size.area());
  constexpr size_t kSamples = kMaxBoxes * kBoxSamples;
  memory.reserve(arrays_.samples, kSamples);
  for (int32_t** weights :
       {&arrays_.sample_terminal, &arrays_.sample_right, &arrays_.sample_down}) {
    memory.reserve(*weights, kSamples);
  }
  if (neighbours == Neighbours::eight) {
    memory.reserve(arrays_.sample_down_right, kSamples);
    memory.reserve(arrays_.sample_down_left, kSamples);
  }
  memory.reserve(mask_, kSamples);
}

BoxArrays BoxBuffers::arrays(const ModelArrays& model, uint32_t count, size_t half) const {
  BoxArrays arrays = arrays_;
  arrays.count = count;
  arrays.models = models_ + half * kMaxBoxes;
  arrays.models_before = models_ + (1 - half) * kMaxBoxes;
  arrays.boxes = boxes_;
  arrays.current = model.current;
  arrays.excluded = model.excluded;
  arrays.sample_mask = mask_;
  return arrays;
}

GridGraph BoxBuffers::graph(uint32_t places) const {
  const auto image = [rows = rows_of(places)](const int32_t* weights) {
    if (!weights) return Image<const int32_t>();
    return Image<const int32_t>{weights, kSampleSide, rows,
                                static_cast<ptrdiff_t>(sizeof(int32_t)) * kSampleSide};
  };
  return {image(arrays_.sample_terminal),
          image(arrays_.sample_right),
          image(arrays_.sample_down),
          image(arrays_.sample_down_right),
          image(arrays_.sample_down_left),
          arrays_.sample_down_right ? Neighbours::eight : Neighbours::four};
}

void FrameBuffers::reserve(Workspace& memory, Size size, bool has_output, std::byte* host) {
  size_ = size;
  host_results_ = host;
  const size_t pixels = size.area();
  memory.reserve(mask_, pixels);
  if (has_output) {
    const size_t cells = ColorCells::count(size, 1);  // the smallest cells have one pixel
    for (uint8_t** picture : {&hidden_, &counts_, &alpha_}) memory.reserve(*picture, pixels);
    memory.reserve(sums_, 3 * cells);
    memory.reserve(weights_, cells);
    for (uint16_t*& component : means_) memory.reserve(component, cells);
  }
  memory.reserve(statistics_, 1);
}

class GraphCutBgCuda final : public GraphCutBg {
 public:
  explicit GraphCutBgCuda(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)), grid_cut_(make_grid_cut<BackendKind::cuda>(backend_)) {
    Backend::Entry entry(*backend_);
    check(cudaEventCreateWithFlags(&model_updated_, cudaEventDisableTiming), "creating an event");
  }
  ~GraphCutBgCuda() override {
    Backend::Entry entry(*backend_);
    cudaEventDestroy(model_updated_);
  }
  GraphCutBgCuda(const GraphCutBgCuda&) = delete;
  GraphCutBgCuda& operator=(const GraphCutBgCuda&) = delete;

  void prepare(const GraphCutBgParams& params) override {
    neighbours_ = params.neighbours;
    has_boxes_ = params.source == GraphCutSource::boxes;
  }

  void configure(const Setup& setup) override {
    expects_cuttable(setup);
    setup_ = setup;
    has_chroma_ = setup.in.model != ColorModel::gray;
    grid_cut_->configure(setup.size, neighbours_, setup.slots);
    // All arrays share one allocation, because each driver call may have to wait for the calls of
    // other streams that are starting.
    memory_ = {};
    model_.reserve(memory_, setup.size, neighbours_, setup.has_output);
    boxes_.reserve(memory_, setup.size, neighbours_, has_boxes_);
    for (auto& cut : sample_cuts_) cut.reset();
    host_boxes_ = Block();
    box_tracks_.clear();
    if (has_boxes_) {
      for (size_t i = 0; i < std::size(kPlaces); ++i) {
        sample_cuts_[i] = grid_cut_->make_companion();
        sample_cuts_[i]->configure({kSampleSide, BoxBuffers::rows_of(kPlaces[i])}, neighbours_,
                                   setup.slots);
      }
      box_tracks_.reserve();
      const auto slots = static_cast<size_t>(setup.slots);
      host_boxes_ = backend_->allocate_pinned(slots * kMaxBoxes * sizeof(ObjectBox));
    }
    frames_ = std::vector<FrameBuffers>(static_cast<size_t>(setup.slots));
    host_results_ = backend_->allocate_pinned(frames_.size() * FrameBuffers::kPinnedBytes);
    std::memset(host_results_.data(), 0, host_results_.bytes());
    auto* host = host_results_.as<std::byte>();
    for (FrameBuffers& frame : frames_) {
      frame.reserve(memory_, setup.size, setup.has_output, host);
      host += FrameBuffers::kPinnedBytes;
    }
    memory_.allocate(*backend_);
    background_image_ = Block();
    replace_image_ = Block();
    exclusion_image_ = Block();
    is_reset_pending_ = true;  // because device memory is uninitialised
    is_box_reset_pending_ = has_boxes_;
  }

  void enqueue(const FrameTask& given, const GraphCutBgParams& params, Queue& queue) override {
    FrameTask task = given;
    task.mask = attached_mask_of(given, params);
    expects_cuttable(setup_, task, params);
    const bool is_boxed = params.source == GraphCutSource::boxes;
    expects(!is_boxed || has_boxes_, "source=boxes was not set when the algorithm was configured");
    const CompositePlan plan = composite_plan_of(params, setup_);
    expects(!plan.shows_image() || replace_image_.data(),
            "replace-with=image requires replace-image");
    FrameBuffers& frame = frames_[static_cast<size_t>(task.slot)];
    const cudaStream_t stream = stream_of(queue);
    const EnergyPlan energy = energy_plan_of(params, setup_.size, task.mask.size());
    const ModelArrays arrays = model_.arrays(exclusion_image_.as<uint8_t>());
    SceneState* scene = model_.scene();
    const Image<uint8_t> mask = task.foreground.empty() ? frame.mask() : task.foreground;
    const bool is_reset = std::exchange(is_reset_pending_, false);
    frame.is_verified = params.verify;
    const bool uses_model = !is_boxed || plan.shows_model();
    if (is_reset || !is_boxed) box_tracks_.clear();

    check(cudaStreamWaitEvent(stream, model_updated_), "waiting for the last frame's model");
    if (is_reset) {
      enqueue_model_reset(arrays, background_image_.as<uint32_t>(), scene, stream);
      clear_held(stream);
    }
    if (uses_model) {
      enqueue_survey(arrays, task.in, frame_plan_of(params, has_chroma_), scene, frame.statistics(),
                     stream);
    } else {
      enqueue_reading(arrays, task.in, frame.statistics(), stream);
    }
    BoxArrays boxes;
    if (is_boxed) {
      boxes = enqueue_boxes(task, params, energy, arrays, queue);
    } else {
      enqueue_frame_weights(task, energy, arrays, stream);
    }
    grid_cut_->enqueue(model_.graph(), mask, cut_limits_of(params, is_reset), frame.host_cut(),
                       task.slot, queue);
    if (params.verify) enqueue_cut_value(arrays, mask, frame.statistics(), stream);
    if (is_boxed) {
      enqueue_box_results(boxes, task, mask, boxes_.sums(), frame.statistics(),
                          uses_model ? nullptr : frame.host_statistics(), stream);
    }
    if (uses_model) {
      enqueue_model_update(arrays, mask, energy, scene, frame.statistics(), frame.host_statistics(),
                           stream);
    }
    if (plan.hides() && !task.out.empty()) {
      enqueue_hiding(plan, scene, mask, model_.held(), frame.hidden(), stream);
    }
    // The next frame changes the model, so a visible model is composited first.
    if (plan.shows_model()) enqueue_output(task, plan, mask, frame, queue);
    check(cudaEventRecord(model_updated_, stream), "recording the end of a model's update");
    if (!plan.shows_model()) enqueue_output(task, plan, mask, frame, queue);
  }

  void reset() override { is_reset_pending_ = true; }

  void set_picture(GraphCutPicture which, const ConstFrame& picture) override {
    const bool is_empty = picture.empty();
    switch (which) {
      case GraphCutPicture::background_image:
        background_image_ = is_empty ? Block() : upload(background_of(picture, setup_));
        is_reset_pending_ = true;
        return;
      case GraphCutPicture::replace_image:
        replace_image_ = is_empty ? Block() : upload(replacement_of(picture, setup_));
        return;
      case GraphCutPicture::exclusion_image:
        exclusion_image_ = is_empty ? Block() : upload(exclusion_of(picture, setup_));
    }
  }

  std::vector<std::byte> state() override {
    if (is_reset_pending_) return {};
    StateHeader header;
    header.width = setup_.size.width;
    header.height = setup_.size.height;
    std::vector<std::byte> bytes(state_bytes(setup_.size));
    const ModelArrays arrays = model_.arrays(nullptr);
    const size_t plane = arrays.plane() * sizeof(uint32_t);
    std::byte* words = bytes.data() + sizeof header;
    transfer([&](Queue& queue) {
      queue.copy_bytes(&model_.scene()->scene, &header.scene, sizeof(Scene));
      for (size_t k = 0; k < Model::kWords; ++k) {
        queue.copy_bytes(arrays.model + k * arrays.model_plane(), words + k * plane, plane);
      }
      queue.copy_bytes(arrays.background, words + plane * Model::kWords, plane);
    });
    if (header.scene.age == 0) return {};
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  }

  void restore(std::span<const std::byte> state) override {
    const StateHeader header = checked_header(state, setup_.size);
    has_chroma_ = has_chroma_ || stores_chroma(state, setup_.size);
    SceneState scene{};
    scene.scene = header.scene;
    const ModelArrays arrays = model_.arrays(nullptr);
    const size_t plane = arrays.plane() * sizeof(uint32_t);
    const std::byte* words = state.data() + sizeof header;
    transfer([&](Queue& queue) {
      queue.copy_bytes(&scene, model_.scene(), sizeof scene);
      for (size_t k = 0; k < Model::kWords; ++k) {
        queue.copy_bytes(words + k * plane, arrays.model + k * arrays.model_plane(), plane);
      }
      queue.copy_bytes(words + plane * Model::kWords, arrays.background, plane);
      for (void* cells :
           {static_cast<void*>(arrays.sparks[0]), static_cast<void*>(arrays.sparks[1]),
            static_cast<void*>(arrays.excused[0]), static_cast<void*>(arrays.excused[1]),
            static_cast<void*>(arrays.sparkle), static_cast<void*>(arrays.calm)}) {
        check(cudaMemsetAsync(cells, 0, arrays.cells.count() * sizeof(uint32_t), stream_of(queue)),
              "clearing the cells of the picture");
      }
      clear_held(stream_of(queue));
    });
    is_reset_pending_ = false;
    box_tracks_.clear();
  }

  GraphCutResult result(int slot) const override {
    const FrameBuffers& frame = frames_.at(static_cast<size_t>(slot));
    const FrameStatistics& statistics = *frame.host_statistics();
    GraphCutResult result;
    result.cut = *frame.host_cut();
    result.cut_value = frame.is_verified ? statistics.cut_value : -1;
    result.foreground = statistics.foreground;
    result.pixels = static_cast<uint32_t>(setup_.size.area());
    result.change = statistics.change;
    result.restarted = statistics.restarted != 0;
    return result;
  }

 private:
  // Enqueues the weights of a cut that the background model or a mask determines.
  void enqueue_frame_weights(const FrameTask& task, const EnergyPlan& energy,
                             const ModelArrays& arrays, cudaStream_t stream) const {
    if (energy.uses_foreground_colors && !energy.uses_image)
      enqueue_masked_colors(arrays, task.mask, energy, stream);
    if (energy.uses_foreground_colors) enqueue_color_evidence(arrays, stream);
    enqueue_weights(arrays, task.mask, energy, model_.scene(), stream);
  }

  // Enqueues the cuts of the samples of the frame's boxes, and the weights of the frame's cut.
  BoxArrays enqueue_boxes(const FrameTask& task, const GraphCutBgParams& params,
                          const EnergyPlan& energy, const ModelArrays& arrays, Queue& queue) {
    const cudaStream_t stream = stream_of(queue);
    ObjectBox* const host =
        host_boxes_.as<ObjectBox>() + static_cast<size_t>(task.slot) * kMaxBoxes;
    const uint32_t count = box_tracks_.read(task, setup_.size, host);
    const BoxArrays boxes = boxes_.arrays(arrays, count, box_tracks_.half());
    if (std::exchange(is_box_reset_pending_, false)) {
      enqueue_box_reset(boxes, boxes_.sums(), stream);
    }
    if (count > 0) queue.copy_bytes(host, boxes_.boxes(), count * sizeof(ObjectBox));
    size_t i = 0;
    while (kPlaces[i] < count) ++i;
    const uint32_t places = kPlaces[i];
    enqueue_box_start(boxes, energy, frame_plan_of(params).contrasts.scale, places, stream);
    for (int k = 0; k < box_tracks_.sample_cuts(); ++k) {
      sample_cuts_[i]->enqueue(boxes_.graph(places), boxes_.mask(places), {}, nullptr, task.slot,
                               queue);
      enqueue_box_refit(boxes, k, stream);
    }
    enqueue_box_weights(boxes, arrays, energy, stream);
    return boxes;
  }

  void clear_held(cudaStream_t stream) const {
    const Image<uint8_t> held = model_.held();
    if (held.empty()) return;
    check(cudaMemsetAsync(held.data, 0, held.size().area(), stream), "clearing hidden pixels");
  }

  void enqueue_output(const FrameTask& task, const CompositePlan& plan,
                      const Image<const uint8_t>& mask, const FrameBuffers& frame,
                      Queue& queue) const {
    const cudaStream_t stream = stream_of(queue);
    if (task.out.empty() || plan.output == GraphCutOutput::none) return;
    Image<const uint8_t> alpha = plan.hides() ? frame.hidden() : mask;
    // Hidden pixels grow by as much as softening reaches, so that they stay opaque.
    if (plan.hides() && plan.grow + plan.feather > 0) {
      enqueue_mask_growth(frame.hidden(), plan.grow + plan.feather, frame.counts(), stream);
    }
    if (plan.feather > 0) {
      enqueue_mask_softening(alpha, plan.feather, frame.counts(), frame.alpha(), stream);
      alpha = frame.alpha();
    }
    const auto out = task.out.plane_as<uint8_t>(0, task.in.width, task.in.height);
    if (plan.output == GraphCutOutput::mask) return copy_mask(alpha, out, stream);
    if (plan.output == GraphCutOutput::cutout) {
      const RgbDecoder decoder = decoder_of(task.in.layout, task.in.color);
      return enqueue_cutout(task.in, decoder, alpha, task.out, stream);
    }
    Composition composition{
        plan, task.out, alpha, replace_image_.as<uint16_t>(), model_.arrays(nullptr).background,
        {}};
    if (plan.averages()) {
      const ColorCells cells = frame.cells(plan);
      const Image<uint16_t> means[3] = {frame.means(0, cells), frame.means(1, cells),
                                        frame.means(2, cells)};
      enqueue_cell_means(cells, plan.blurs(), task.in, plan.hides() ? alpha : mask, means, stream);
      for (int c = 0; c < 3; ++c) composition.means[c] = means[c];
    }
    if (task.in.plane[0] != task.out.plane[0]) queue.copy(task.in, task.out);
    enqueue_composite(composition, stream);
  }

  static void copy_mask(const Image<const uint8_t>& from, const Image<uint8_t>& to,
                        cudaStream_t stream) {
    check(cudaMemcpy2DAsync(to.data, static_cast<size_t>(to.pitch), from.data,
                            static_cast<size_t>(from.pitch), static_cast<size_t>(from.width),
                            static_cast<size_t>(from.height), cudaMemcpyDeviceToDevice, stream),
          "copying a mask");
  }

  // Runs `copies` between host and device after the last frame, and waits until they are complete.
  template <class Copies>
  void transfer(Copies copies) const {
    const std::unique_ptr<Queue> queue = backend_->make_queue();
    check(cudaStreamWaitEvent(stream_of(*queue), model_updated_),
          "waiting for the last frame's model");
    copies(*queue);
    queue->record();
    queue->wait();
  }
  template <class T>
  Block upload(const std::vector<T>& values) const {
    Block block = backend_->allocate(values.size() * sizeof(T));
    transfer([&](Queue& queue) { queue.copy_bytes(values.data(), block.data(), block.bytes()); });
    return block;
  }

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<GridCut> grid_cut_;
  cudaEvent_t model_updated_ = nullptr;  // marks the end of the last frame's model update
  Neighbours neighbours_ = GraphCutBgParams().neighbours;
  bool has_boxes_ = false;  // whether memory for source=boxes is allocated
  Setup setup_;
  Workspace memory_;  // device memory of model_, boxes_ and frames_
  ModelBuffers model_;
  BoxBuffers boxes_;
  // Cuts of the samples of up to kPlaces[i] boxes; null unless has_boxes_. The smallest sufficient
  // cut is used, because its time depends on its size.
  static constexpr uint32_t kPlaces[] = {16, 64, kMaxBoxes};
  std::unique_ptr<GridCut> sample_cuts_[std::size(kPlaces)];
  BoxTracks box_tracks_;
  Block host_boxes_;                   // ObjectBox[slots][kMaxBoxes], pinned
  bool is_box_reset_pending_ = false;  // whether the memory for boxes is uninitialised
  std::vector<FrameBuffers> frames_;   // [slots], buffers of the in-flight frames
  Block host_results_;                 // [slots][kPinnedBytes], pinned memory for results
  Block background_image_;  // [height][width], the background picture given by the user, or empty
  Block replace_image_;    // [3][height][width], the picture that replaces the background, or empty
  Block exclusion_image_;  // [height][width], pixels that are never foreground, or empty
  bool has_chroma_ = true;         // see FramePlan::has_chroma
  bool is_reset_pending_ = false;  // whether the next frame resets the model
};

}  // namespace
}  // namespace graphcutbg

template <>
std::unique_ptr<Algorithm<GraphCutBgParams>> make_algorithm<GraphCutBgParams, BackendKind::cuda>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<graphcutbg::GraphCutBgCuda>(std::move(backend));
}

}  // namespace regions
