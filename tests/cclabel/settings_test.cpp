// Errors and warnings of cclabel's settings, the nearest settings that are accepted, and the levels
// that thresholds and tolerances become.
#include "core/cclabel/cclabel.hpp"
#include "tests/core/error_message.hpp"
#include "tests/pictures/backend_test.hpp"

namespace regions {
namespace {

// A setup, parameters and a frame. answer() is the error message of the first failing check.
struct Request {
  Setup setup{.in = layout_of(PixelFormat::gray8), .size = {40, 30}};
  CcLabelParams params;
  FrameTask task;
  BackendKind backend = BackendKind::cpu;
  int slices = 1;
  std::byte pixel{};

  // Derives the setup from the parameters.
  void agree() {
    setup.depth = static_cast<int>(params.depth);
    setup.slides = params.sliding;
    setup.layers = layers_of(params);
    setup.has_background = params.label_background;
    setup.tracks = params.track;
  }
  void volume(int depth) {
    params.depth = depth;
    params.connectivity = Connectivity::twenty_six;
    params.output = CcOutput::none;
    agree();
  }
  void resize(int width, int height) { setup.size = {width, height}; }
  std::string answer() {
    task.slices = slices;
    task.in.layout = setup.in;
    task.in.width += setup.size.width;
    task.in.height += setup.size.height * slices;
    return error_message_of([&] {
      expects_labellable(setup);
      expects_trackable(setup);
      expects_method(setup, params, backend);
      expects_labellable(setup, task, params);
      expects_trackable(setup, task, params);
    });
  }
};

struct Refusal {
  const char* text;  // empty: accepted
  void (*change)(Request& a);
};

void expect_answers(std::span<const Refusal> refusals) {
  int number = 0;
  for (const auto& [text, change] : refusals) {
    Request request;
    change(request);
    EXPECT_EQ(request.answer(), text) << "case " << number;
    ++number;
  }
}

constexpr const char* kSliding =
    "settings: sliding=true requires a depth of at least 2, no thresholds and "
    "label-background=false";
constexpr const char* kTrack =
    "settings: track=true requires depth=1 or sliding=true, no thresholds and "
    "label-background=false";
constexpr const char* kSeeds =
    "settings: seeds require depth=1, no thresholds and label-background=false";
const std::vector<double> kTwo = {0.25, 0.75}, kPoint = {1, 2}, kThree = {1, 2, 3};

TEST(CcLabelErrors, ContradictingSettings_AreRefusedWithTheReason) {
  static constexpr Refusal kRefusals[] = {
      {"", [](Request&) {}},
      {"", [](Request& a) { a.volume(5); }},
      {"",
       [](Request& a) { a.params.thresholds = kTwo, a.params.output = CcOutput::none, a.agree(); }},
      {"", [](Request& a) { a.params.label_background = true, a.agree(); }},
      {"", [](Request& a) { a.params.track = true, a.agree(); }},
      {"", [](Request& a) { a.params.sliding = true, a.volume(2); }},
      {"", [](Request& a) { a.params.sliding = a.params.track = true, a.volume(2); }},
      {kSliding, [](Request& a) { a.params.sliding = true, a.agree(); }},
      {kSliding,
       [](Request& a) { a.params.sliding = true, a.params.thresholds = kTwo, a.volume(2); }},
      {kSliding,
       [](Request& a) { a.params.sliding = a.params.label_background = true, a.volume(2); }},
      {kTrack, [](Request& a) { a.params.track = true, a.volume(2); }},
      {kTrack, [](Request& a) { a.params.track = true, a.params.thresholds = kTwo, a.agree(); }},
      {kTrack, [](Request& a) { a.params.track = a.params.label_background = true, a.agree(); }},
      {"settings: connectivity 26 is for volumes; with depth=1 it must be 4 or 8",
       [](Request& a) { a.params.connectivity = Connectivity::twenty_six; }},
      {"settings: connectivity 4 is for pictures; with depth above 1 it must be 6, 18 or 26",
       [](Request& a) { a.volume(2), a.params.connectivity = Connectivity::four; }},
      {"settings: fill-holes cannot be used with label-background=true, because holes are regions "
       "then",
       [](Request& a) { a.params.label_background = true, a.params.fill_holes = 1, a.agree(); }},
      {"", [](Request& a) { a.params.seeds = kPoint; }},
      {"settings: seeds must be pairs of x and y; the list has 3 numbers",
       [](Request& a) { a.params.seeds = kThree; }},
      {kSeeds, [](Request& a) { a.volume(2), a.params.seeds = kPoint; }},
      {kSeeds, [](Request& a) { a.params.thresholds = kTwo, a.params.seeds = kPoint, a.agree(); }},
      {kSeeds,
       [](Request& a) { a.params.label_background = true, a.params.seeds = kPoint, a.agree(); }},
      {"settings: thresholds require criterion=binary",
       [](Request& a) {
         a.params.thresholds = kTwo, a.params.criterion = Criterion::equal, a.agree();
       }},
      {"settings: source=mask cannot be used with thresholds: nonzero pixels of the mask are "
       "foreground",
       [](Request& a) { a.params.thresholds = kTwo, a.params.source = Source::mask, a.agree(); }},
      {"", [](Request& a) { a.params.source = Source::mask; }},
      {"", [](Request& a) { a.params.criterion = Criterion::equal; }}};
  expect_answers(kRefusals);
}

constexpr const char* kOverlay =
    "settings: output=overlay requires depth=1 and no thresholds; choose another output";

TEST(CcLabelErrors, FrameUnlikeTheSetup_IsRefusedWithTheReason) {
  static constexpr Refusal kRefusals[] = {
      {"the frame differs from the configured size or format",
       [](Request& a) { a.task.in.width = 1; }},
      {"the frame differs from the configured size or format",
       [](Request& a) { a.task.in.height = -1; }},
      {"sliding differs from the configured value", [](Request& a) { a.params.sliding = true; }},
      {"label-background differs from the configured value",
       [](Request& a) { a.params.label_background = true; }},
      {"the number of thresholds differs from the configured one",
       [](Request& a) { a.params.thresholds = kTwo; }},
      {"a volume of 0 slices; configured for 1", [](Request& a) { a.slices = 0; }},
      {"a volume of 2 slices; configured for 1", [](Request& a) { a.slices = 2; }},
      {"", [](Request& a) { a.volume(3), a.slices = 3; }},
      {"", [](Request& a) { a.volume(3), a.slices = 1; }},
      {"a volume of 4 slices; configured for 3", [](Request& a) { a.volume(3), a.slices = 4; }},
      {"a volume of 2 slices; configured for 3",
       [](Request& a) { a.params.sliding = true, a.volume(3), a.slices = 2; }},
      {"", [](Request& a) { a.setup.max_runs = a.task.table.run_capacity = 7; }},
      {"max-runs is larger than configured", [](Request& a) { a.task.table.run_capacity = 1; }},
      {"track=true, but tracking was not configured", [](Request& a) { a.params.track = true; }},
      {"", [](Request& a) { a.setup.tracks = true; }},
      {"track=true requires a table with a capacity above 0",
       [](Request& a) {
         static Region region;
         a.params.track = true, a.task.table.regions = &region, a.agree();
       }},
      {"",
       [](Request& a) {
         static Region region;
         a.params.track = true, a.task.table.regions = &region, a.task.table.capacity = 1,
         a.agree();
       }},
      {"", [](Request& a) { a.setup.tracks = true, a.setup.max_regions = 65535; }},
      {"settings: track=true supports max-regions up to 65535, not 65536",
       [](Request& a) { a.setup.tracks = true, a.setup.max_regions = 65536; }},
      {"", [](Request& a) { a.setup.max_regions = 65536; }},
      {kOverlay,
       [](Request& a) {
         a.volume(2), a.params.output = CcOutput::overlay, a.task.out.plane[0] = &a.pixel;
       }},
      {kOverlay,
       [](Request& a) { a.params.thresholds = kTwo, a.task.out.plane[0] = &a.pixel, a.agree(); }},
      {"", [](Request& a) { a.volume(2), a.params.output = CcOutput::overlay; }},
      {"",
       [](Request& a) {
         a.params.sliding = true, a.volume(2), a.params.output = CcOutput::overlay;
         a.task.out.plane[0] = &a.pixel;
       }},
      {"", [](Request& a) { a.task.out.plane[0] = &a.pixel; }}};
  expect_answers(kRefusals);
}

TEST(CcLabelErrors, UnsupportedSizeDepthOrFormat_IsRefusedWithTheReason) {
  static constexpr Refusal kRefusals[] = {
      {"depth and the number of layers must be at least 1", [](Request& a) { a.setup.depth = 0; }},
      {"depth and the number of layers must be at least 1", [](Request& a) { a.setup.layers = 0; }},
      {"a label image cannot be labelled as a picture; use it as a mask (source=mask)",
       [](Request& a) { a.setup.in = layout_of(PixelFormat::labels32); }},
      {"", [](Request& a) { a.resize(65535, 65535); }},
      {"", [](Request& a) { a.resize(3, 65535), a.volume(21845); }},  // 2^32 - 1 voxels
      {"", [](Request& a) { a.resize(1, 32767), a.volume(65538); }},  // 2^31 - 2 rows
      {"1x32768, depth 65536 and 1 thresholds have more voxels than labels can count (2^32)",
       [](Request& a) { a.resize(1, 32768), a.volume(65536); }},
      {"65535x65535, depth 1 and 2 thresholds have more voxels than labels can count (2^32)",
       [](Request& a) { a.resize(65535, 65535), a.params.thresholds = kTwo, a.agree(); }},
      {"65536x100, depth 656 and 1 thresholds have more voxels than labels can count (2^32)",
       [](Request& a) { a.resize(65536, 100), a.volume(656); }},
      {"NV12 pictures of odd height cannot form volumes, because slices would share rows of chroma",
       [](Request& a) {
         a.setup.in = layout_of(PixelFormat::nv12), a.setup.size.height = 31, a.volume(2);
       }},
      {"", [](Request& a) { a.setup.in = layout_of(PixelFormat::nv12), a.setup.size.height = 31; }},
      {"", [](Request& a) { a.setup.in = layout_of(PixelFormat::nv12), a.volume(2); }},
      {"", [](Request& a) {
         a.setup.in = layout_of(PixelFormat::yuy2), a.setup.size.height = 31, a.volume(2);
       }}};
  expect_answers(kRefusals);
}

TEST(CcLabelErrors, HistoricMethodThatDoesNotSupportTheSettings_IsRefusedWithTheReason) {
  static constexpr auto kSweep = [](Request& a, BackendKind backend) {
    a.volume(2);
    a.params.method = Method::sweep;
    a.backend = backend;
  };
  static constexpr auto kPropagation = [](Request& a) {
    a.params.method = Method::propagation;
    a.backend = BackendKind::cuda;
  };
  static constexpr const char* kPlain =
      "settings: method=propagation supports no track, fill-holes and seeds";
  static constexpr const char* kTakes =
      "settings: method=sweep requires criterion=binary and connectivity=26";
  static constexpr Refusal kRefusals[] = {
      {"", [](Request& a) { a.params.method = Method::union_find; }},
      {"", [](Request& a) { kSweep(a, BackendKind::cuda); }},
      {"", [](Request& a) { kPropagation(a); }},
      {"settings: method=sweep runs on CUDA only; the CPU supports method=union-find",
       [](Request& a) { kSweep(a, BackendKind::cpu); }},
      {"settings: method=propagation runs on CUDA only; the CPU supports method=union-find",
       [](Request& a) { a.params.method = Method::propagation; }},
      {kTakes,
       [](Request& a) { kSweep(a, BackendKind::cuda), a.params.criterion = Criterion::equal; }},
      {kTakes,
       [](Request& a) {
         kSweep(a, BackendKind::cuda), a.params.connectivity = Connectivity::eighteen;
       }},
      {"", [](Request& a) { kSweep(a, BackendKind::cuda), a.setup.size.width = 1024; }},
      {"settings: method=sweep supports widths up to 1024 pixels; the width is 1025",
       [](Request& a) { kSweep(a, BackendKind::cuda), a.setup.size.width = 1025; }},
      {"", [](Request& a) { kPropagation(a), a.setup.size.width = 1025; }},
      {kPlain, [](Request& a) { kPropagation(a), a.params.track = true, a.agree(); }},
      {kPlain, [](Request& a) { kPropagation(a), a.params.fill_holes = 1; }},
      {kPlain, [](Request& a) { kPropagation(a), a.params.seeds = kPoint; }},
      {"settings: method=propagation does not support output=overlay; choose labels, mask, colors "
       "or none",
       [](Request& a) { kPropagation(a), a.setup.has_output = true; }},
      {"", [](Request& a) {
         kPropagation(a), a.setup.has_output = true, a.params.output = CcOutput::mask;
       }}};
  expect_answers(kRefusals);
}

// configure() and enqueue() of each backend make these checks.
using CcLabelChecks = BackendTest;
TEST_ON_BACKENDS(CcLabelChecks);

TEST_P(CcLabelChecks, Errors_InvalidSetupInConfigureAndInvalidFrameInEnqueue_StateTheReason) {
  const auto answer = [&](void (*change)(Request & a), bool is_frame) {
    Request a;
    a.volume(3);
    a.slices = 3;
    change(a);
    const auto algorithm = make_algorithm_on<CcLabelParams>(backend_);
    const Size size = {40, 30 * std::max(a.slices, 1)};
    const DeviceFrame picture(*backend_, *queue_, PixelFormat::gray8, size, 0);
    FrameTask task{.slot = a.task.slot, .slices = a.slices, .in = picture.frame()};
    return error_message_of([&] {
      algorithm->configure(a.setup);
      EXPECT_TRUE(is_frame) << "configure() has accepted the setup";
      algorithm->enqueue(task, a.params, *queue_);
      finish();
    });
  };
  EXPECT_EQ(answer([](Request&) {}, true), "");
  EXPECT_EQ(answer([](Request& a) { a.slices = 4; }, true),
            "a volume of 4 slices; configured for 3");
  EXPECT_EQ(answer([](Request& a) { a.params.label_background = true; }, true),
            "label-background differs from the configured value");
  EXPECT_EQ(answer([](Request& a) { a.params.connectivity = Connectivity::four; }, true),
            "settings: connectivity 4 is for pictures; with depth above 1 it must be 6, 18 or 26");
  EXPECT_EQ(answer([](Request& a) { a.resize(65535, 65535); }, false),
            "65535x65535, depth 3 and 1 thresholds have more voxels than labels can count (2^32)");
}

TEST(CcLabelOverflow, MoreRegionsThanTheFormatHolds_OverflowDecidesHowManyAreKept) {
  struct Case {
    CcOutput output;
    PixelFormat format;
    uint32_t total;
    Overflow overflow;
    bool sliding;
    uint32_t kept;
    const char* text;  // a warning if regions are kept, else an error
  };
  using enum Overflow;
  constexpr const char* kByte = "256 regions, but GRAY8 holds labels up to 255";
  constexpr PixelFormat kGray = PixelFormat::gray8, kDeep = PixelFormat::gray16;
  for (const auto& [output, format, total, overflow, sliding, kept, text] :
       {Case{CcOutput::labels, kGray, 255, error, false, 255, ""},
        {CcOutput::labels, kGray, 256, drop_smallest, false, 255, kByte},
        {CcOutput::labels, kGray, 256, saturate, false, 256, kByte},
        {CcOutput::labels, kGray, 256, error, false, 0, kByte},
        {CcOutput::labels, kGray, 256, saturate, true, 256, kByte},
        {CcOutput::labels, kGray, 256, drop_smallest, true, 0,
         "256 regions, but GRAY8 holds labels up to 255; sliding=true requires overflow=saturate "
         "or overflow=error"},
        {CcOutput::mask, kGray, 256, error, false, 256, ""},
        {CcOutput::labels, kDeep, 65535, error, false, 65535, ""},
        {CcOutput::labels, kDeep, 65536, saturate, false, 65536,
         "65536 regions, but GRAY16_LE holds labels up to 65535"},
        {CcOutput::labels, PixelFormat::labels32, 0xFFFFFFFF, error, false, 0xFFFFFFFF, ""}}) {
    CcLabelParams params;
    params.output = output;
    params.overflow = overflow;
    params.sliding = sliding;
    LabelCapacity found;
    const std::string thrown =
        error_message_of([&] { found = label_capacity(params, total, layout_of(format)); });
    EXPECT_EQ(found.labelled, kept) << text;
    EXPECT_EQ(thrown + found.warning, text);
    EXPECT_EQ(thrown.empty(), kept > 0) << text;
  }
}

// A sample is foreground if its position between black and white reaches the threshold. Neighbours
// are linked if their distance is less than the tolerance, a fraction of full scale.
TEST(CcLabelThreshold, ThresholdAndToleranceLevel_EveryFormat_AreRoundedUpToTheNextSampleValue) {
  for (int f = 0; f + 1 < kPixelFormats; ++f) {
    const Layout& layout = layout_of(static_cast<PixelFormat>(f));
    for (const bool full : {true, false}) {
      const bool limited = layout.model == ColorModel::yuv && !full;
      const double step = limited ? (layout.sample_bits == 10 ? 4 : 1) : 0;
      const double black = 16 * step, white = limited ? 235 * step : layout.max_value();
      for (const double fraction : {0.0, 0.001, 0.1234, 1 / 3.0, 0.5, 0.87, 0.999, 1.0}) {
        int least = 0;
        while (fraction > 0 && (least - black) / (white - black) < fraction - 1e-12) ++least;
        EXPECT_EQ(threshold_level(fraction, layout, {YuvMatrix::bt601, full}), least)
            << name_of(layout.format) << " " << full << " " << fraction;
        int linked = 0;
        while (linked < 3 * fraction * layout.max_value() - 1e-9) ++linked;
        EXPECT_EQ(tolerance_level(3 * fraction, layout), linked) << name_of(layout.format);
      }
    }
  }
}

}  // namespace
}  // namespace regions
