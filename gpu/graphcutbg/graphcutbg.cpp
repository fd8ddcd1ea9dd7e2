// graphcutbg on CUDA: the list of phases.
#include "core/graphcutbg/graphcutbg.hpp"

#include <cstring>
#include <utility>

#include "core/graphcutbg/state.hpp"
#include "gpu/graphcutbg/slot.hpp"

namespace regions {
namespace graphcut {
namespace {

class GraphCutBgCuda final : public GraphCutBg {
 public:
  explicit GraphCutBgCuda(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)), cut_(make_grid_cut<BackendKind::cuda>(backend_)) {
    Backend::Entry entry(*backend_);
    check(cudaEventCreateWithFlags(&taught_, cudaEventDisableTiming), "creating an event");
  }
  ~GraphCutBgCuda() override {
    Backend::Entry entry(*backend_);
    cudaEventDestroy(taught_);
  }
  GraphCutBgCuda(const GraphCutBgCuda&) = delete;
  GraphCutBgCuda& operator=(const GraphCutBgCuda&) = delete;

  void prepare(const GraphCutBgParams& params) override { neighbours_ = params.neighbours; }

  void configure(const Setup& setup) override {
    expects_cuttable(setup);
    setup_ = setup;
    cut_->configure(setup.size, neighbours_, setup.slots);
    // Each call of the driver may wait for those of other streams that begin: one block for all.
    memory_ = {};
    shared_.reserve(memory_, setup.size, neighbours_);
    slots_ = std::vector<SlotArrays>(static_cast<size_t>(setup.slots));
    host_ = backend_->allocate_pinned(slots_.size() * SlotArrays::kHostBytes);
    std::memset(host_.data(), 0, host_.bytes());
    auto* host = host_.as<std::byte>();
    for (SlotArrays& slot : slots_) {
      slot.reserve(memory_, setup.size, setup.has_output, host);
      host += SlotArrays::kHostBytes;
    }
    memory_.allocate(*backend_);
    known_ = Block();
    replacement_ = Block();
    excluded_ = Block();
    resets_ = true;  // device memory is anything at first
  }

  void enqueue(const Job& job, const GraphCutBgParams& params, Queue& queue) override {
    expects_cuttable(setup_, job, params);
    const ViewPlan view = view_plan_of(params, setup_);
    expects(!view.shows_image() || replacement_.data(),
            "replace-with=image requires replace-image");
    SlotArrays& slot = slots_[static_cast<size_t>(job.slot)];
    const cudaStream_t stream = stream_of(queue);
    const EnergyPlan energy = energy_plan_of(params, setup_.size, job.mask.size());
    const Canvas canvas = shared_.canvas(excluded_.as<uint8_t>());
    DeviceScene* scene = shared_.scene();
    const Image<uint8_t> mask = job.foreground.empty() ? slot.mask() : job.foreground;
    const bool resets = std::exchange(resets_, false);
    slot.verified = params.verify;

    check(cudaStreamWaitEvent(stream, taught_), "waiting for the last frame's model");
    if (resets) start_again(canvas, known_.as<uint32_t>(), scene, stream);
    look_at(canvas, job.in, scene_plan_of(params), scene, slot.report(), stream);
    if (energy.uses_colors) settle_colors(canvas, stream);
    weigh_all(canvas, job.mask, energy, scene, stream);
    cut_->enqueue(shared_.graph(), mask, cut_limits_of(params, resets), slot.host_cut(), job.slot,
                  queue);
    if (params.verify) value_cut(canvas, mask, slot.report(), stream);
    teach_all(canvas, mask, energy, scene, slot.report(), slot.host_report(), stream);
    check(cudaEventRecord(taught_, stream), "recording the end of a model's update");
    show(job, view, mask, slot, queue);
  }

  void reset() override { resets_ = true; }

  void set_picture(GraphCutPicture which, const ConstFrame& picture) override {
    const bool none = picture.empty();
    switch (which) {
      case GraphCutPicture::background:
        known_ = none ? Block() : on_device(background_of(picture, setup_));
        resets_ = true;
        return;
      case GraphCutPicture::replacement:
        replacement_ = none ? Block() : on_device(replacement_of(picture, setup_));
        return;
      case GraphCutPicture::exclusion:
        excluded_ = none ? Block() : on_device(exclusion_of(picture, setup_));
    }
  }

  std::vector<std::byte> state() override {
    if (resets_) return {};
    StateHeader header;
    header.width = setup_.size.width;
    header.height = setup_.size.height;
    std::vector<std::byte> bytes(state_bytes(setup_.size));
    const Canvas canvas = shared_.canvas(nullptr);
    const size_t plane = canvas.plane() * sizeof(uint32_t);
    std::byte* words = bytes.data() + sizeof header;
    transfer([&](Queue& queue) {
      queue.copy_bytes(&shared_.scene()->scene, &header.scene, sizeof(Scene));
      for (size_t k = 0; k < Model::kWords; ++k) {
        queue.copy_bytes(canvas.model + k * canvas.model_plane(), words + k * plane, plane);
      }
      queue.copy_bytes(canvas.background, words + plane * Model::kWords, plane);
    });
    if (header.scene.age == 0) return {};
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  }

  void restore(std::span<const std::byte> state) override {
    const StateHeader header = checked_header(state, setup_.size);
    DeviceScene scene{};
    scene.scene = header.scene;
    const Canvas canvas = shared_.canvas(nullptr);
    const size_t plane = canvas.plane() * sizeof(uint32_t);
    const std::byte* words = state.data() + sizeof header;
    transfer([&](Queue& queue) {
      queue.copy_bytes(&scene, shared_.scene(), sizeof scene);
      for (size_t k = 0; k < Model::kWords; ++k) {
        queue.copy_bytes(words + k * plane, canvas.model + k * canvas.model_plane(), plane);
      }
      queue.copy_bytes(words + plane * Model::kWords, canvas.background, plane);
    });
    resets_ = false;
  }

  GraphCutReport report(int slot) const override {
    const SlotArrays& own = slots_.at(static_cast<size_t>(slot));
    const DeviceReport& found = *own.host_report();
    GraphCutReport report;
    report.cut = *own.host_cut();
    report.cut_value = own.verified ? found.cut_value : -1;
    report.foreground = found.foreground;
    report.pixels = static_cast<uint32_t>(setup_.size.area());
    report.restarted = found.restarted != 0;
    return report;
  }

 private:
  void show(const Job& job, const ViewPlan& plan, const Image<const uint8_t>& mask,
            const SlotArrays& slot, Queue& queue) const {
    const cudaStream_t stream = stream_of(queue);
    if (job.out.empty() || plan.output == GraphCutOutput::none) return;
    Image<const uint8_t> alpha = mask;
    if (plan.feather > 0) {
      soften_mask(mask, plan.feather, slot.counts(), slot.alpha(), stream);
      alpha = slot.alpha();
    }
    const auto out = job.out.plane_as<uint8_t>(0, job.in.width, job.in.height);
    if (plan.output == GraphCutOutput::mask) return copy_mask(alpha, out, stream);
    if (plan.output == GraphCutOutput::cutout) {
      const RgbDecoder decoder = decoder_of(job.in.layout, job.in.color);
      return cut_out_all(job.in, decoder, alpha, job.out, stream);
    }
    Painting painting{plan, job.out, alpha, replacement_.as<uint16_t>(), {}};
    if (plan.blurs()) {
      const Cells cells = slot.cells(plan.cell);
      const Image<uint16_t> smooth[3] = {slot.smooth(0, cells), slot.smooth(1, cells),
                                         slot.smooth(2, cells)};
      blur_cells(cells, job.in, mask, smooth, stream);
      for (int c = 0; c < 3; ++c) painting.smooth[c] = smooth[c];
    }
    if (job.in.plane[0] != job.out.plane[0]) queue.copy(job.in, job.out);
    paint_all(painting, stream);
  }

  static void copy_mask(const Image<const uint8_t>& from, const Image<uint8_t>& to,
                        cudaStream_t stream) {
    check(cudaMemcpy2DAsync(to.data, static_cast<size_t>(to.pitch), from.data,
                            static_cast<size_t>(from.pitch), static_cast<size_t>(from.width),
                            static_cast<size_t>(from.height), cudaMemcpyDeviceToDevice, stream),
          "copying a mask");
  }

  // Copies between host and device, and waits for them.
  template <class Copies>
  void transfer(Copies copies) const {
    const std::unique_ptr<Queue> queue = backend_->make_queue();
    check(cudaStreamWaitEvent(stream_of(*queue), taught_), "waiting for the last frame's model");
    copies(*queue);
    queue->record();
    queue->wait();
  }
  template <class T>
  Block on_device(const std::vector<T>& values) const {
    Block block = backend_->allocate(values.size() * sizeof(T));
    transfer([&](Queue& queue) { queue.copy_bytes(values.data(), block.data(), block.bytes()); });
    return block;
  }

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<GridCut> cut_;
  cudaEvent_t taught_ = nullptr;  // the end of the last frame's update
  Neighbours neighbours_ = GraphCutBgParams().neighbours;
  Setup setup_;
  Workspace memory_;  // of what follows
  SharedArrays shared_;
  std::vector<SlotArrays> slots_;
  Block host_;           // pinned, theirs
  Block known_;          // [height][width], the background a user gave; empty: none
  Block replacement_;    // [3][height][width], likewise
  Block excluded_;       // [height][width], likewise
  bool resets_ = false;  // the next frame starts anew
};

}  // namespace
}  // namespace graphcut

template <>
std::unique_ptr<Algorithm<GraphCutBgParams>> make_algorithm<GraphCutBgParams, BackendKind::cuda>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<graphcut::GraphCutBgCuda>(std::move(backend));
}

}  // namespace regions
