// What cclabel refuses and in which words, and what lies just inside.
#include <gtest/gtest.h>

#include "core/cclabel/cclabel.hpp"
#include "tests/core/complaint.hpp"

namespace regions {
namespace {

// A frame as it comes, with all that is asked about it.
struct Asked {
  Setup setup{.in = layout_of(PixelFormat::gray8), .size = {40, 30}};
  CcLabelParams params;
  FrameTask task;
  BackendKind backend = BackendKind::cpu;
  int slices = 1;
  std::byte pixel{};

  // Parameters that the setup is made of.
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
  std::string answer() {
    task.slices = slices;
    task.in.layout = setup.in;
    task.in.width += setup.size.width;
    task.in.height += setup.size.height * slices;
    return complaint([&] {
      expects_labellable(setup);
      expects_trackable(setup);
      expects_method(setup, params, backend);
      expects_labellable(setup, task, params);
      expects_trackable(setup, task, params);
    });
  }
};

struct Refusal {
  const char* text;  // empty: taken
  void (*ask)(Asked& a);
};

void expect_answers(std::span<const Refusal> refusals) {
  int number = 0;
  for (const auto& [text, ask] : refusals) {
    Asked asked;
    ask(asked);
    EXPECT_EQ(asked.answer(), text) << "case " << number;
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
const std::vector<double> kTwo = {0.25, 0.75};

TEST(CcLabelRefusals, SettingsThatContradictEachOther) {
  static constexpr Refusal kRefusals[] = {
      {"", [](Asked&) {}},
      {"", [](Asked& a) { a.volume(5); }},
      {"",
       [](Asked& a) { a.params.thresholds = kTwo, a.params.output = CcOutput::none, a.agree(); }},
      {"", [](Asked& a) { a.params.label_background = true, a.agree(); }},
      {"", [](Asked& a) { a.params.track = true, a.agree(); }},
      {"", [](Asked& a) { a.params.sliding = true, a.volume(2); }},
      {"", [](Asked& a) { a.params.sliding = a.params.track = true, a.volume(2); }},
      {kSliding, [](Asked& a) { a.params.sliding = true, a.agree(); }},
      {kSliding,
       [](Asked& a) { a.params.sliding = true, a.params.thresholds = kTwo, a.volume(2); }},
      {kSliding,
       [](Asked& a) { a.params.sliding = a.params.label_background = true, a.volume(2); }},
      {kTrack, [](Asked& a) { a.params.track = true, a.volume(2); }},
      {kTrack, [](Asked& a) { a.params.track = true, a.params.thresholds = kTwo, a.agree(); }},
      {kTrack, [](Asked& a) { a.params.track = a.params.label_background = true, a.agree(); }},
      {"settings: connectivity 26 is for volumes; with depth=1 it must be 4 or 8",
       [](Asked& a) { a.params.connectivity = Connectivity::twenty_six; }},
      {"settings: connectivity 4 is for pictures; with depth above 1 it must be 6, 18 or 26",
       [](Asked& a) { a.volume(2), a.params.connectivity = Connectivity::four; }},
      {"settings: fill-holes cannot be used with label-background=true, because holes are regions "
       "then",
       [](Asked& a) { a.params.label_background = true, a.params.fill_holes = 1, a.agree(); }},
      {"",
       [](Asked& a) {
         a.params.seeds = std::vector<double>{1, 2};
       }},
      {"settings: seeds must be pairs of x and y; the list has 3 numbers",
       [](Asked& a) {
         a.params.seeds = std::vector<double>{1, 2, 3};
       }},
      {kSeeds,
       [](Asked& a) {
         a.volume(2), a.params.seeds = std::vector<double>{1, 2};
       }},
      {kSeeds,
       [](Asked& a) {
         a.params.thresholds = kTwo, a.params.seeds = std::vector<double>{1, 2}, a.agree();
       }},
      {kSeeds,
       [](Asked& a) {
         a.params.label_background = true, a.params.seeds = std::vector<double>{1, 2}, a.agree();
       }},
      {"settings: thresholds require criterion=binary",
       [](Asked& a) {
         a.params.thresholds = kTwo, a.params.criterion = Criterion::equal, a.agree();
       }},
      {"settings: source=mask cannot be used with thresholds: nonzero pixels of the mask are "
       "foreground",
       [](Asked& a) { a.params.thresholds = kTwo, a.params.source = Source::mask, a.agree(); }},
      {"", [](Asked& a) { a.params.source = Source::mask; }},
      {"", [](Asked& a) { a.params.criterion = Criterion::equal; }}};
  expect_answers(kRefusals);
}

constexpr const char* kOverlay =
    "settings: output=overlay requires depth=1 and no thresholds; choose another output";

TEST(CcLabelRefusals, FramesThatAreNotAsConfigured) {
  static constexpr Refusal kRefusals[] = {
      {"the frame differs from the configured size or format",
       [](Asked& a) { a.task.in.width = 1; }},
      {"the frame differs from the configured size or format",
       [](Asked& a) { a.task.in.height = -1; }},
      {"sliding differs from the configured value", [](Asked& a) { a.params.sliding = true; }},
      {"label-background differs from the configured value",
       [](Asked& a) { a.params.label_background = true; }},
      {"the number of thresholds differs from the configured one",
       [](Asked& a) { a.params.thresholds = kTwo; }},
      {"a volume of 0 slices; configured for 1", [](Asked& a) { a.slices = 0; }},
      {"a volume of 2 slices; configured for 1", [](Asked& a) { a.slices = 2; }},
      {"", [](Asked& a) { a.volume(3), a.slices = 3; }},
      {"", [](Asked& a) { a.volume(3), a.slices = 1; }},
      {"a volume of 4 slices; configured for 3", [](Asked& a) { a.volume(3), a.slices = 4; }},
      {"a volume of 2 slices; configured for 3",
       [](Asked& a) { a.params.sliding = true, a.volume(3), a.slices = 2; }},
      {"", [](Asked& a) { a.setup.max_runs = a.task.table.run_capacity = 7; }},
      {"max-runs is larger than configured", [](Asked& a) { a.task.table.run_capacity = 1; }},
      {"track=true, but tracking was not configured", [](Asked& a) { a.params.track = true; }},
      {"", [](Asked& a) { a.setup.tracks = true; }},
      {"track=true requires a table with a capacity above 0",
       [](Asked& a) {
         static Region region;
         a.params.track = true, a.task.table.regions = &region, a.agree();
       }},
      {"",
       [](Asked& a) {
         static Region region;
         a.params.track = true, a.task.table.regions = &region, a.task.table.capacity = 1,
         a.agree();
       }},
      {"", [](Asked& a) { a.setup.tracks = true, a.setup.max_regions = 65535; }},
      {"settings: track=true supports max-regions up to 65535, not 65536",
       [](Asked& a) { a.setup.tracks = true, a.setup.max_regions = 65536; }},
      {"", [](Asked& a) { a.setup.max_regions = 65536; }},
      {kOverlay,
       [](Asked& a) {
         a.volume(2), a.params.output = CcOutput::overlay, a.task.out.plane[0] = &a.pixel;
       }},
      {kOverlay,
       [](Asked& a) { a.params.thresholds = kTwo, a.task.out.plane[0] = &a.pixel, a.agree(); }},
      {"", [](Asked& a) { a.volume(2), a.params.output = CcOutput::overlay; }},
      {"",
       [](Asked& a) {
         a.params.sliding = true, a.volume(2), a.params.output = CcOutput::overlay;
         a.task.out.plane[0] = &a.pixel;
       }},
      {"", [](Asked& a) { a.task.out.plane[0] = &a.pixel; }}};
  expect_answers(kRefusals);
}

TEST(CcLabelRefusals, WhatIsTooLarge) {
  static constexpr Refusal kRefusals[] = {
      {"depth and the number of layers must be at least 1", [](Asked& a) { a.setup.depth = 0; }},
      {"depth and the number of layers must be at least 1", [](Asked& a) { a.setup.layers = 0; }},
      {"a label image cannot be labelled as a picture; use it as a mask (source=mask)",
       [](Asked& a) { a.setup.in = layout_of(PixelFormat::labels32); }},
      {"",
       [](Asked& a) {
         a.setup.size = {65535, 65535};
       }},
      {"",
       [](Asked& a) {
         a.setup.size = {3, 65535}, a.volume(21845);
       }},  // 2^32 - 1 voxels
      {"",
       [](Asked& a) {
         a.setup.size = {1, 32767}, a.volume(65538);
       }},  // 2^31 - 2 rows
      {"1x32768, depth 65536 and 1 thresholds have more voxels than labels can count (2^32)",
       [](Asked& a) {
         a.setup.size = {1, 32768}, a.volume(65536);
       }},
      {"65535x65535, depth 1 and 2 thresholds have more voxels than labels can count (2^32)",
       [](Asked& a) {
         a.setup.size = {65535, 65535}, a.params.thresholds = kTwo, a.agree();
       }},
      {"65536x100, depth 656 and 1 thresholds have more voxels than labels can count (2^32)",
       [](Asked& a) {
         a.setup.size = {65536, 100}, a.volume(656);
       }},
      {"NV12 pictures of odd height cannot form volumes, because slices would share rows of chroma",
       [](Asked& a) {
         a.setup.in = layout_of(PixelFormat::nv12), a.setup.size.height = 31, a.volume(2);
       }},
      {"", [](Asked& a) { a.setup.in = layout_of(PixelFormat::nv12), a.setup.size.height = 31; }},
      {"", [](Asked& a) { a.setup.in = layout_of(PixelFormat::nv12), a.volume(2); }},
      {"", [](Asked& a) {
         a.setup.in = layout_of(PixelFormat::yuy2), a.setup.size.height = 31, a.volume(2);
       }}};
  expect_answers(kRefusals);
}

TEST(CcLabelRefusals, MethodsToCompareWith) {
  static constexpr auto kSweep = [](Asked& a, BackendKind backend) {
    a.volume(2);
    a.params.method = Method::sweep;
    a.backend = backend;
  };
  static constexpr auto kPropagation = [](Asked& a) {
    a.params.method = Method::propagation;
    a.backend = BackendKind::cuda;
  };
  static constexpr const char* kPlain =
      "settings: method=propagation supports no track, fill-holes and seeds";
  static constexpr const char* kTakes =
      "settings: method=sweep requires criterion=binary and connectivity=26";
  static constexpr Refusal kRefusals[] = {
      {"", [](Asked& a) { a.params.method = Method::union_find; }},
      {"", [](Asked& a) { kSweep(a, BackendKind::cuda); }},
      {"", [](Asked& a) { kPropagation(a); }},
      {"settings: method=sweep runs on CUDA only; the CPU supports method=union-find",
       [](Asked& a) { kSweep(a, BackendKind::cpu); }},
      {"settings: method=propagation runs on CUDA only; the CPU supports method=union-find",
       [](Asked& a) { a.params.method = Method::propagation; }},
      {kTakes,
       [](Asked& a) { kSweep(a, BackendKind::cuda), a.params.criterion = Criterion::equal; }},
      {kTakes,
       [](Asked& a) {
         kSweep(a, BackendKind::cuda), a.params.connectivity = Connectivity::eighteen;
       }},
      {"", [](Asked& a) { kSweep(a, BackendKind::cuda), a.setup.size.width = 1024; }},
      {"settings: method=sweep supports widths up to 1024 pixels; the width is 1025",
       [](Asked& a) { kSweep(a, BackendKind::cuda), a.setup.size.width = 1025; }},
      {"", [](Asked& a) { kPropagation(a), a.setup.size.width = 1025; }},
      {kPlain, [](Asked& a) { kPropagation(a), a.params.track = true, a.agree(); }},
      {kPlain, [](Asked& a) { kPropagation(a), a.params.fill_holes = 1; }},
      {kPlain,
       [](Asked& a) {
         kPropagation(a), a.params.seeds = std::vector<double>{1, 2};
       }},
      {"settings: method=propagation does not support output=overlay; choose labels, mask, colors "
       "or none",
       [](Asked& a) { kPropagation(a), a.setup.has_output = true; }},
      {"", [](Asked& a) {
         kPropagation(a), a.setup.has_output = true, a.params.output = CcOutput::mask;
       }}};
  expect_answers(kRefusals);
}

}  // namespace
}  // namespace regions
