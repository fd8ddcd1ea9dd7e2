// Frames on the CPU against plain loops over single pixels: the mask and the model are equal in
// every bit, for all parameters, under changing light, and with pictures of the user.
#include <gtest/gtest.h>

#include <cstring>

#include "core/graphcutbg/model_update.hpp"
#include "core/graphcutbg/stored_model.hpp"
#include "cpu/backend.hpp"
#include "tests/graphcutbg/scene.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions::graphcutbg {
namespace {

// Processes frames pixel by pixel.
class Reference {
 public:
  Reference(Size size, Neighbours neighbours)
      : size_(size),
        cells_(PictureCells::of(size)),
        neighbours_(neighbours),
        backend_(make_cpu_backend(1)),
        queue_(backend_->make_queue()),
        cut_(make_grid_cut<BackendKind::cpu>(backend_)) {
    cut_->configure(size, neighbours, 1);
    const size_t pixels = size.area();
    now_.resize(pixels);
    background_.resize(pixels);
    model_.resize(ModelArrays::plane_stride(pixels) * Model::kWords);
    for (auto& weights : weights_) weights.resize(pixels);
    mask.resize(pixels);
    outline_.resize(cells_.count());
    for (size_t k = 0; k < 2; ++k) {
      sparks_[k].resize(cells_.count());
      excused_[k].resize(cells_.count());
    }
    sparkle_.resize(cells_.count());
    calm_.resize(cells_.count());
  }
  void set_background(const std::vector<uint32_t>& background) {
    scene_.age = kKnownAge;
    for (size_t i = 0; i < size_.area(); ++i) start_model_from(canvas(), background.data(), i);
  }
  void set_exclusion(const std::vector<uint8_t>& excluded) { excluded_ = excluded; }

  void process(const ConstFrame& frame, const ConstFrame& given, const GraphCutBgParams& params) {
    const ModelArrays canvas = this->canvas();
    const EnergyPlan energy = energy_plan_of(params, size_, given.size());
    const auto add = [](auto* sum, auto amount) { *sum += amount; };
    for (int i = 0; i < static_cast<int>(cells_.count()); ++i) advance_cell(canvas, scene_, i);
    Survey survey;
    const auto tally = [&](int half, int bin) { ++survey.change[half][bin]; };
    const auto color = [&](int x, int y) { return color_at(frame, x, y); };
    const auto grid = SurveyGrid::of(size_.width, size_.height);
    for_each([&](int x, int y) {
      write_words(canvas.current + canvas.at(x, y), color(x, y).packed());
      if (!grid.includes(x, y)) return;
      const int bins[] = {grid.bin_of(0, x), grid.bin_of(1, y)};
      const auto add_luma = [&](uint32_t now, uint32_t was) {
        for (int axis = 0; axis < 2; ++axis) {
          survey.profiles.frame[axis][bins[axis]] += now;
          survey.profiles.background[axis][bins[axis]] += was;
        }
      };
      const auto add_to_zone = [&](const auto&... colors) {
        survey.zones[grid.zone_of(x, y)].add_pixel(colors..., add);
      };
      survey_pixel(canvas, scene_, x, y, survey.sums, tally, add_luma, add_to_zone, color);
    });
    const SceneMeasures measures = measures_of(survey, watch_, grid);
    const FramePlan plan = plan_frame(scene_, watch_, survey, measures, frame_plan_of(params));
    const bool reads_colors_of_mask = energy.uses_foreground_colors && !energy.uses_image;
    if (reads_colors_of_mask) {
      for_each([&](int x, int y) { count_masked_color(canvas, given, energy, x, y, add); });
    }
    if (energy.uses_foreground_colors) {
      finalize_totals(*colors_);
      for (int bin = 0; bin < ColorHistograms::kBins; ++bin) finalize_bin(*colors_, bin);
    }
    for_each([&](int x, int y) { compute_weights(canvas, given, plan, energy, x, y, add); });
    cut();
    uint32_t foreground = 0;
    for_each([&](int x, int y) {
      const bool in_front = mask[canvas.at(x, y)] != 0;
      foreground += in_front;
      if (!plan.starts && !is_included(canvas, x, y)) return;
      const size_t i = canvas.at(x, y);
      count_spark(canvas, plan, in_front, x, y, add);
      if (!plan.learns) return remember_labels<int32_t>(canvas, in_front, i);
      const int32_t rate = foreground_rate_at(canvas, plan, x, y);
      update_all_modes<int32_t>(canvas, plan, in_front, rate, i);
      if (energy.uses_foreground_colors && !reads_colors_of_mask)
        count_color(canvas, in_front, x, y, add);
    });
    if (finish_frame(scene_, watch_, plan, foreground, static_cast<uint32_t>(size_.area()))) {
      std::ranges::fill(mask, uint8_t{0});
    }
  }

  // The stored model in the format of the element.
  std::vector<std::byte> state() const {
    StateHeader header;
    header.width = size_.width;
    header.height = size_.height;
    header.scene = scene_;
    std::vector<std::byte> bytes;
    const auto append = [&](const void* data, size_t length) {
      const auto* from = static_cast<const std::byte*>(data);
      bytes.insert(bytes.end(), from, from + length);
    };
    append(&header, sizeof header);
    const size_t pixels = size_.area();
    for (size_t k = 0; k < Model::kWords; ++k) {
      append(model_.data() + k * ModelArrays::plane_stride(pixels), 4 * pixels);
    }
    append(background_.data(), 4 * pixels);
    return bytes;
  }
  bool restarted() const { return scene_.restarted != 0; }
  SceneChange change() const { return watch_.change; }

  std::vector<uint8_t> mask;

 private:
  ModelArrays canvas() {
    ModelArrays canvas;
    canvas.width = size_.width;
    canvas.height = size_.height;
    canvas.current = now_.data();
    canvas.background = background_.data();
    canvas.model = model_.data();
    canvas.terminal = weights_[0].data();
    canvas.right = weights_[1].data();
    canvas.down = weights_[2].data();
    if (neighbours_ == Neighbours::eight) {
      canvas.down_right = weights_[3].data();
      canvas.down_left = weights_[4].data();
    }
    canvas.colors = colors_.get();
    canvas.cells = cells_;
    canvas.outline = outline_.data();
    for (size_t k = 0; k < 2; ++k) {
      canvas.sparks[k] = sparks_[k].data();
      canvas.excused[k] = excused_[k].data();
    }
    canvas.sparkle = sparkle_.data();
    canvas.calm = calm_.data();
    if (!excluded_.empty()) canvas.excluded = excluded_.data();
    return canvas;
  }
  template <class Use>
  void for_each(Use use) const {
    for (int y = 0; y < size_.height; ++y) {
      for (int x = 0; x < size_.width; ++x) use(x, y);
    }
  }
  void cut() {
    const auto image = [&](size_t k) {
      return Image<const int32_t>{weights_[k].data(), size_.width, size_.height, 4 * size_.width};
    };
    const GridGraph graph{image(0), image(1), image(2), image(3), image(4), neighbours_};
    CutResult report;
    cut_->enqueue(graph, {mask.data(), size_.width, size_.height, size_.width}, {}, &report, 0,
                  *queue_);
    queue_->record();
    queue_->wait();
  }

  Size size_;
  PictureCells cells_;
  Neighbours neighbours_;
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<GridCut> cut_;
  std::vector<uint32_t> now_, background_, model_;
  std::vector<int32_t> weights_[5];
  std::vector<uint8_t> excluded_;
  std::vector<OutlineSums> outline_;
  std::vector<uint32_t> sparks_[2], excused_[2];
  std::vector<int32_t> sparkle_, calm_;
  std::unique_ptr<ColorHistograms> colors_ = std::make_unique<ColorHistograms>();
  Scene scene_;
  SceneWatch watch_;
};

struct Case {
  const char* name;
  std::vector<std::pair<const char*, const char*>> settings = {};
  PixelFormat format = PixelFormat::rgb;
  bool has_background = false, has_exclusion = false;  // pictures of the user
};

class GraphCutReference : public testing::TestWithParam<Case> {};

TEST_P(GraphCutReference, ChangingScene_MaskAndModelEqualThePerPixelReference) {
  const Case& test = GetParam();
  GraphCutBgParams params;
  params.output = GraphCutOutput::mask;
  for (const auto& [name, text] : test.settings) {
    assign_text(find(fields_of(params), name), &params, text);
  }
  Clip clip{.size = {61, 43}, .format = test.format, .color = {YuvMatrix::bt709, false}};
  Reference reference(clip.size, params.neighbours);
  Camera camera(clip, params, 3);
  const regions::Setup setup{.in = layout_of(clip.format), .size = clip.size, .color = clip.color};
  if (test.has_background) {
    Clip empty = clip;
    empty.empty = true;
    const GuardedFrame picture = empty.frame(50);
    camera.algorithm().set_picture(GraphCutPicture::background_image, picture.frame());
    reference.set_background(background_of(picture.frame(), setup));
  }
  if (test.has_exclusion) {
    const Picture blobs = make_picture("blobs", clip.size);
    camera.algorithm().set_picture(GraphCutPicture::exclusion_image, blobs.frame());
    reference.set_exclusion(exclusion_of(blobs.frame(), setup));
  }
  int restarts = 0;
  for (int i = 0; i < 30; ++i) {
    SCOPED_TRACE(std::string(test.name) + ", frame " + std::to_string(i));
    if (i == 8) clip.gain = 1.2;     // the light changes
    if (i == 15) clip.other = true;  // the camera jumps
    if (i == 24) camera.params.freeze = params.freeze = true;
    if (i == 27) camera.params.freeze = params.freeze = false;
    const GuardedFrame frame = clip.frame(i);
    GuardedFrame mask(PixelFormat::gray8, {20, 14});
    for (int p = 0; p < 20 * 14; ++p) {
      mask.frame().set_sample(0, p % 20, p / 20, static_cast<int>(regions::hash(p, i) % 256));
    }
    const bool has_mask = params.source != GraphCutSource::image && i % 4 != 2;
    const bool needs_mask = params.source == GraphCutSource::mask;
    const ConstFrame given = has_mask || needs_mask ? std::as_const(mask).frame() : ConstFrame();
    reference.process(frame.frame(), given, params);
    const Shot shot = camera.shoot(frame.frame(), given);
    ASSERT_EQ(shot.mask, reference.mask);
    ASSERT_EQ(camera.algorithm().state(), reference.state());
    ASSERT_EQ(shot.report.restarted, reference.restarted());
    ASSERT_EQ(shot.report.change, reference.change());
    restarts += shot.report.restarted;
  }
  if (std::string(test.name) == "defaults") {
    EXPECT_EQ(restarts, 1) << "the camera's jump";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GraphCutReference,
    testing::Values(
        Case{"defaults"}, Case{"eight_neighbours", {{"neighbours", "8"}, {"lambda", "3"}}},
        Case{"foreground_colors", {{"foreground-colors", "true"}, {"history", "40"}}},
        Case{"fixed_contrast", {{"sigma", "20"}, {"shadow", "0"}}},
        Case{"fast_learning",
             {{"learning-rate", "0.5"}, {"history", "3"}, {"var-threshold", "30"}}},
        Case{"warm_start", {{"warm-start", "true"}}},
        Case{"source_mask", {{"source", "mask"}, {"foreground-colors", "true"}}},
        Case{"source_both", {{"source", "both"}, {"foreground-colors", "true"}}},
        Case{"background_picture", {}, PixelFormat::nv12, true},
        Case{"gray", {}, PixelFormat::gray16},
        Case{"exclusion_picture", {{"foreground-colors", "true"}}, PixelFormat::yuy2, false, true},
        Case{"all", {{"source", "both"}, {"neighbours", "8"}}, PixelFormat::p010, true, true}),
    [](const auto& which) { return std::string(which.param.name); });

}  // namespace
}  // namespace regions::graphcutbg
