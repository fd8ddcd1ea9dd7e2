// The CUDA-only parts of cclabel: replayed graphs, small images in one thread block cluster,
// volumes of many tiles, and the historic methods.
#include <algorithm>
#include <functional>
#include <thread>

#include "core/faults.hpp"
#include "gpu/cclabel/labelling_passes.hpp"
#include "gpu/cclabel/propagation/propagation.hpp"
#include "gpu/runtime/launch.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/cclabel/scenes.hpp"

namespace regions {
namespace {

using propagation::Exchange;
using propagation::Gather;
using propagation::Variant;

// CcLabelTest on CUDA only.
class CcLabelCuda : public CcLabelTest {
 protected:
  // Labels the same picture repeatedly with workspaces of the previous frame.
  void expect_equal_repeats(const Picture& picture, const CcLabelParams& params, int times) {
    const Size size = picture.size;
    const Labelling expected = run_on_cpu(2, picture.frame(), {}, params).labelling;
    DeviceFrame input(*backend_, *queue_, picture.format, size, 0);
    input.upload(picture.frame());
    const auto algorithm = make_algorithm_on<CcLabelParams>(backend_);
    algorithm->configure({.in = layout_of(picture.format), .size = size});
    const size_t bytes = size.area() * sizeof(uint32_t);
    const Block labels = backend_->allocate(bytes), host = backend_->allocate_pinned(bytes);
    FrameTask task;
    task.in = input.frame();
    task.labels = {labels.as<uint32_t>(), size.width, size.height, 4 * ptrdiff_t{size.width}};
    int different = 0;
    for (int i = 0; i < times; ++i) {
      algorithm->enqueue(task, params, *queue_);
      queue_->copy_bytes(labels.data(), host.data(), bytes);
      finish();
      different += !std::equal(expected.labels.begin(), expected.labels.end(), host.as<uint32_t>());
    }
    EXPECT_EQ(different, 0) << size.width << "x" << size.height << " " << to_text(params);
  }
  void expect_equal_repeats(std::string_view content, Size size) {
    for (const Connectivity connectivity : kFlat) {
      CcLabelParams params;
      params.connectivity = connectivity;
      expect_equal_repeats(make_picture(content, size), params, 100);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Cuda, CcLabelCuda, testing::Values(BackendKind::cuda),
                         [](const auto&) { return std::string("cuda"); });

constexpr Size kStripSizes[] = {{512, 512}, {513, 512}, {512, 513}, {640, 480}, {640, 512},
                                {641, 512}, {640, 513}, {1, 512},   {640, 1},   {600, 17},
                                {33, 15},   {33, 16},   {33, 17},   {1, 1},     {31, 257}};

TEST_P(CcLabelCuda, SmallImage_SizesNearStripLimits_LabelsAndRecordsEqualReference) {
  for (const Size size : kStripSizes) {
    for (const std::string content :
         {"rand_g1_d50", "rand_g1_d20", "maze", "spiral", "frame", "full"}) {
      const Picture picture = make_picture(content, size);
      for (const Connectivity connectivity : kFlat) {
        CcLabelParams params;
        params.connectivity = connectivity;
        check(picture.frame(), params, content, {.padding = size.width % 3});
        expect_equal_repeats(picture, params, 3);
      }
    }
  }
}

// Sums of one 8-bit component and of three 16-bit components, which exceed 32 bits. With 4
// neighbours, a checkerboard has more components than shared memory has sums.
TEST_P(CcLabelCuda, OneRegionToManyRegions_GrayAndRgb_LabelsAndRecordsEqualReference) {
  for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::rgb}) {
    for (const std::string content : {"full", "checkerboard", "rand_g1_d30", "smooth"}) {
      for (const Size size : {Size{512, 512}, {640, 512}, {637, 100}, {700, 500}}) {
        const GuardedFrame picture = convert(make_picture(content, size).frame(), format);
        for (const Connectivity connectivity : kFlat) {
          CcLabelParams params;
          params.connectivity = connectivity;
          check(std::as_const(picture).frame(), params, content, {.capacity = 1 << 18});
        }
      }
    }
  }
}

// One run rarely shows a race.
TEST_P(CcLabelCuda, SmallImage_LabelledHundredTimes_LabelsEqualTheCpuEachTime) {
  for (const std::string_view content : contents()) {
    for (const Size size : {Size{512, 512}, {640, 480}}) expect_equal_repeats(content, size);
  }
}

TEST_P(CcLabelCuda, LargePicture_LabelledHundredTimes_LabelsEqualTheCpuEachTime) {
  for (const std::string_view content : {"maze", "rand_g1_d50", "rand_g1_d60"}) {
    expect_equal_repeats(content, {3840, 2160});
  }
}

TEST_P(CcLabelCuda, SizesNear640x512_CountAsSmallImagesOnlyUpToItAndOnDevicesWithClusters) {
  int major = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
  const bool has_clusters = major >= 9 && !imitates_old_gpu();
  EXPECT_EQ(cclabel::fits_small_image({512, 512}), has_clusters);
  EXPECT_EQ(cclabel::fits_small_image({640, 512}), has_clusters);
  EXPECT_FALSE(cclabel::fits_small_image({641, 1}));
  EXPECT_FALSE(cclabel::fits_small_image({1, 513}));
}

// With a thousand tiles or more, thread blocks have another shape
// (gpu/cclabel/volume/label_volume_tiles.cu).
TEST_P(CcLabelCuda, VolumeOrLayersOfManyTiles_LabelsAndRecordsEqualReference) {
  for (const char* content : {"noise", "clouds"}) {
    const Volume volume = make_volume(content, {8261, 17}, 17);  // 259 x 2 x 2 tiles
    const RunOptions options{.slices = volume.slices, .depth = volume.slices};
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      params.threshold = 0.6;
      check(volume.frame(), params, volume.name(), options);
      params.label_background = true;
      check(volume.frame(), params, volume.name(), options);
    }
    for (const Connectivity flat : kFlat) {
      CcLabelParams params;
      params.connectivity = flat;
      params.thresholds = std::vector<double>{0.5, 0.6, 0.7};
      check(make_volume(content, {5600, 300}, 1).frame(), params, content);  // 175 x 2 x 3
    }
  }
}

// One run, or a small volume, rarely shows a race.
TEST_P(CcLabelCuda, LargeVolume_LabelledEightTimes_LabelsEqualTheCpuEachTime) {
  for (const char* content : {"noise", "sparse", "helix", "comb", "clouds"}) {
    const Volume volume = make_volume(content, {200, 190}, 130);
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params;
      params.connectivity = connectivity;
      if (volume.content == "noise") params.threshold = 0.7;  // near the percolation threshold
      RunOptions options;
      options.slices = options.depth = volume.slices;
      const RunResult cpu = run_on_cpu(0, volume.frame(), {}, params, options);
      for (int time = 0; time < 8; ++time) {
        const RunResult cuda = run(volume.frame(), {}, params, options);
        ASSERT_EQ(difference(cuda.labelling, cpu.labelling, volume.size.width), "")
            << volume.name() << " " << to_text(params) << " time " << time;
      }
      options.wants_records = false;
      for (int time = 0; time < 8; ++time) {
        const RunResult bare = run(volume.frame(), {}, params, options);
        ASSERT_EQ(bare.labelling.labels, cpu.labelling.labels)
            << volume.name() << " " << to_text(params) << ", without records, time " << time;
      }
    }
  }
}

class HistoricMethodsCuda : public CudaTest {
 protected:
  void use(const Variant& variant) {
    make_ = [variant](std::shared_ptr<Backend> backend) {
      return propagation::make_propagation_variant(std::move(backend), Method::propagation,
                                                   variant);
    };
  }
  static CcLabelParams params_of(Method method, Connectivity connectivity) {
    CcLabelParams params;
    params.method = method;
    params.connectivity = connectivity;
    return params;
  }
  // Compares the method with union-find on the CPU.
  void check(const Volume& volume, const CcLabelParams& params, RunOptions options = {}) {
    SCOPED_TRACE(volume.name() + " " + to_text(params));
    options.slices = volume.slices;
    options.depth = is_spatial(params.connectivity) ? std::max(volume.slices, 2) : 1;
    CcLabelParams plain = params;
    plain.method = Method::automatic;
    const RunResult expected = run_on_cpu(2, volume.frame(), {}, plain, options);
    const RunResult found = run(*backend_, *make_(backend_), volume.frame(), {}, params, options);
    EXPECT_TRUE(found.intact);
    EXPECT_EQ(difference(found, expected, volume.size.width), "");
    passes_ = found.passes;
  }

  using Make = std::unique_ptr<Algorithm<CcLabelParams>>(std::shared_ptr<Backend>);
  std::function<Make> make_ = make_algorithm<CcLabelParams, BackendKind::cuda>;
  uint32_t passes_ = 0;  // of the last run
};

std::string name_of(const Variant& v) {
  return "exchange " + std::to_string(static_cast<int>(v.exchange)) + " gather " +
         std::to_string(static_cast<int>(v.gather)) + " length " + std::to_string(v.link_length) +
         " roots " + std::to_string(v.looks_up_roots);
}

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const Exchange exchange : {Exchange::global, Exchange::shared, Exchange::shuffle}) {
    for (const bool roots : {false, true}) {
      all.push_back({exchange, Gather::neighbours, 0, roots});
      for (const int length : {32, 64, 0}) {
        all.push_back({exchange, Gather::neighbours_and_farthest, length, roots});
      }
    }
  }
  return all;
}

TEST_F(HistoricMethodsCuda, Propagation_EveryKernelVariant_LabelsEqualUnionFind) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(name_of(variant));
    use(variant);
    for (const char* content : {"noise", "clouds", "helix", "corners"}) {
      for (const Size size : {Size{1, 1}, {32, 33}, {65, 31}, {130, 97}}) {
        for (const Connectivity connectivity : kFlat) {
          check(make_volume(content, size, 1), params_of(Method::propagation, connectivity));
        }
      }
      for (const Connectivity connectivity : kSpatial) {
        check(make_volume(content, {40, 33}, 34), params_of(Method::propagation, connectivity));
      }
    }
  }
}

TEST_F(HistoricMethodsCuda, Propagation_EveryCriterion_LabelsEqualUnionFind) {
  for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::bgrx}) {
    for (const int slices : {1, 9}) {
      const Volume volume = make_volume("clouds", {45, 37}, slices, format);
      for (const int number : slices == 1 ? std::vector{4, 8} : std::vector{6, 18, 26}) {
        CcLabelParams params = params_of(Method::propagation, static_cast<Connectivity>(number));
        params.tolerance = 0.05;
        params.criterion = Criterion::difference;
        check(volume, params);
        params.criterion = Criterion::equal;
        check(volume, params);
        params.criterion = Criterion::binary;
        params.label_background = true;
        check(volume, params, {.padding = 4});
        params.thresholds = std::vector<double>{0.7, 0.2, 0.55};
        check(volume, params);
      }
    }
  }
}

TEST_F(HistoricMethodsCuda, Sweep_EveryContentAndSize_LabelsEqualUnionFind) {
  CcLabelParams params = params_of(Method::sweep, Connectivity::twenty_six);
  for (Volume volume : volume_cases()) {
    params.label_background = false;
    check(volume, params);
    params.label_background = true;
    check(volume, params);
  }
  for (const int width : {128, 129, 300, 513, 1024}) {
    check(make_volume("noise", {width, 5}, 6), params);
    check(make_volume("helix", {width, 5}, 6), params);
  }
  params.label_background = false;
  params.thresholds = std::vector<double>{0.9, 0.1, 0.5, 0, 1};
  check(make_volume("clouds", {70, 21}, 11), params);
}

TEST_F(HistoricMethodsCuda, OutputPictures_EveryOutputAndOverflow_EqualUnionFind) {
  for (const Method method : {Method::propagation, Method::sweep}) {
    CcLabelParams params = params_of(method, Connectivity::twenty_six);
    params.overflow = Overflow::saturate;
    const Volume volume = make_volume("noise", {95, 31}, 18);
    params.threshold = 0.85;  // more than 255 regions
    params.output = CcOutput::labels;
    check(volume, params, {.out = PixelFormat::gray8, .padding = 3});
    params.overflow = Overflow::drop_smallest;
    params.min_area = 2;
    params.max_area = 2000;
    check(volume, params, {.out = PixelFormat::gray8, .padding = 3});
    params.output = CcOutput::mask;
    check(volume, params, {.out = PixelFormat::gray8, .padding = 7});
    params.output = CcOutput::colors;
    check(volume, params, {.out = PixelFormat::rgba, .padding = 0});
  }
}

// Long paths require many passes, but never more than the number of cells.
TEST_F(HistoricMethodsCuda, Propagation_LongWindingRegion_EndsAfterAtMostOnePassPerCell) {
  for (const Variant& variant :
       {Variant{Exchange::global, Gather::neighbours, 0, false},
        Variant{Exchange::shared, Gather::neighbours, 0, false}, Variant{}}) {
    SCOPED_TRACE(name_of(variant));
    use(variant);
    const Volume snake = make_volume("helix", {160, 160}, 1);
    check(snake, params_of(Method::propagation, Connectivity::four));
    EXPECT_GT(passes_, 1u);
    EXPECT_LE(passes_, 160u * 160u + 1);
    check(make_volume("comb", {64, 64}, 40), params_of(Method::propagation, Connectivity::six));
  }
  use({Exchange::global, Gather::neighbours, 0, false});
  check(make_volume("helix", {64, 64}, 1), params_of(Method::propagation, Connectivity::four));
  EXPECT_GT(passes_, 64u);  // a path of 2,000 cells
}

TEST_F(HistoricMethodsCuda, Sweep_StairPattern_EndsAfterAtMostOnePassPerStep) {
  for (const int side : {32, 64, 128}) {
    const CcLabelParams params = params_of(Method::sweep, Connectivity::twenty_six);
    check(make_volume("stairs", {40, side}, side), params);
    EXPECT_GE(passes_, static_cast<uint32_t>(side) / 4);  // one step of the stairs per pass
    EXPECT_LE(passes_, static_cast<uint32_t>(side));
  }
}

TEST_F(HistoricMethodsCuda, MethodProperty_EachValue_SelectsTheMethod) {
  for (const Method method :
       {Method::automatic, Method::union_find, Method::propagation, Method::sweep}) {
    check(make_volume("noise", {45, 20}, 11), params_of(method, Connectivity::twenty_six));
    EXPECT_EQ(passes_ > 0, uses_propagation(method));
  }
}

TEST_F(HistoricMethodsCuda, RunLists_WithAndWithoutLabelMap_EqualUnionFind) {
  const Volume volume = make_volume("noise", {70, 20}, 9);
  for (const Method method : {Method::propagation, Method::sweep}) {
    CcLabelParams params = params_of(method, Connectivity::twenty_six);
    params.threshold = 0.8;
    check(volume, params, {.most_runs = 1 << 16});
    check(volume, params, {.wants_labels = false, .most_runs = 1 << 16});
  }
}

// Frames of one stream replay CUDA graphs (gpu/runtime/graph_cache.hpp).
constexpr Size kSize = {203, 117};

// A frame, its parameters and the expected result.
struct Shot {
  Picture picture;
  CcLabelParams params;
  bool wants_labels = true;
  Labelling expected;

  Shot(const char* content, const CcLabelParams& wanted, bool with_labels = true)
      : picture(make_picture(content, kSize)),
        params(wanted),
        wants_labels(with_labels),
        expected(label_slowly(picture.frame(), {}, wanted)) {}
};

// One stream: an algorithm with its slots, the pictures on the GPU, and several label maps.
class Stream {
 public:
  static constexpr int kSlots = 2;
  static constexpr uint32_t kMax = 1 << 14;
  static constexpr size_t kMaps = 3;

  Stream(const std::shared_ptr<Backend>& backend, const std::vector<Shot>& shots)
      : backend_(backend),
        entry_(*backend),
        algorithm_(make_algorithm<CcLabelParams, BackendKind::cuda>(backend)),
        shots_(shots) {
    for (std::unique_ptr<Queue>& queue : queues_) queue = backend->make_queue();
    for (const Shot& shot : shots) {
      pictures_.emplace_back(*backend, *queues_[0], PixelFormat::gray8, kSize, 0);
      pictures_.back().upload(shot.picture.frame());
    }
    const size_t bytes = kSize.area() * sizeof(uint32_t);
    for (Block& map : maps_) map = backend->allocate(bytes);
    host_ = backend->allocate_pinned(bytes);
    table_ = backend->allocate_pinned(kMax * sizeof(Region) + sizeof(uint32_t));
    algorithm_->configure(
        {.in = layout_of(PixelFormat::gray8), .size = kSize, .slots = kSlots, .max_regions = kMax});
  }

  // Labels shot `of` as frame `number`. Returns the first difference; empty if there is none.
  std::string play(size_t number, size_t of) {
    const Shot& shot = shots_[of];
    Queue& queue = *queues_[number % kSlots];
    auto* regions = table_.as<Region>();
    auto* total = reinterpret_cast<uint32_t*>(regions + kMax);
    *total = 0;
    auto* labels = maps_[number % kMaps].as<uint32_t>();
    FrameTask task;
    task.slot = static_cast<int>(number % kSlots);
    task.in = pictures_[of].frame();
    if (shot.wants_labels) task.labels = {labels, kSize.width, kSize.height, kSize.width * 4};
    task.table = {regions, kMax, total};
    try {
      algorithm_->enqueue(task, shot.params, queue);
    } catch (const std::exception&) {
      queue.record();  // the work that was submitted before the failure
      queue.wait();
      throw;
    }
    if (shot.wants_labels) queue.copy_bytes(labels, host_.data(), host_.bytes());
    queue.record();
    queue.wait();
    const auto* first = host_.as<uint32_t>();
    const Labelling found = {shot.wants_labels ? std::vector<uint32_t>(first, first + kSize.area())
                                               : shot.expected.labels,
                             std::vector<Region>(regions, regions + std::min(*total, kMax))};
    const std::string what = difference(found, shot.expected, kSize.width);
    return what.empty() ? what : "frame " + std::to_string(number) + ": " + what;
  }

  // Later frames are executed on this stream; null is the default stream.
  void move_to(void* native) {
    for (const std::unique_ptr<Queue>& queue : queues_) queue->move_to(native);
  }

 private:
  std::shared_ptr<Backend> backend_;
  Backend::Entry entry_;
  std::unique_ptr<Algorithm<CcLabelParams>> algorithm_;
  const std::vector<Shot>& shots_;
  std::unique_ptr<Queue> queues_[kSlots];
  std::vector<DeviceFrame> pictures_;
  Block maps_[kMaps], host_, table_;
};

// Three pictures with equal settings, and pictures with other settings.
std::vector<Shot> shots() {
  CcLabelParams plain, four, large, linked, filled;
  four.connectivity = Connectivity::four;
  large.min_area = 4;
  linked.criterion = Criterion::equal;
  filled.fill_holes = 30;
  return {{"rand_g1_d50", plain},  {"maze", plain},         {"smooth", plain},
          {"rand_g1_d50", four},   {"rand_g4_d45", large},  {"clouds", linked},
          {"rand_g1_d60", filled}, {"smooth", plain, false}};
}

class CcLabelGraphCache : public CudaTest {
 protected:
  void TearDown() override { inject_faults(""); }
};

TEST_F(CcLabelGraphCache, BuffersChangeBetweenFrames_LabelsAndRecordsEqualReference) {
  const std::vector<Shot> all = shots();
  Stream stream(plain_, all);
  for (size_t i = 0; i < 90; ++i) EXPECT_EQ(stream.play(i, i % 7 % 3), "");
}

TEST_F(CcLabelGraphCache, SettingsChangeBetweenFrames_LabelsAndRecordsEqualReference) {
  const std::vector<Shot> all = shots();
  Stream stream(plain_, all);
  for (size_t i = 0; i < 600; ++i) {
    const auto same = i / 150;  // consecutive frames with the same settings: 1, 15, 29, 43
    const auto step = static_cast<uint32_t>(i / (14 * same + 1));
    EXPECT_EQ(stream.play(i, hash(step, 0) % all.size()), "");
  }
}

// The graphs run on other streams, including the default stream, which cannot be captured.
TEST_F(CcLabelGraphCache, FramesOnOtherCudaStreams_LabelsAndRecordsEqualReference) {
  const std::vector<Shot> all = shots();
  const auto other = plain_->make_queue();
  for (void* place : {static_cast<void*>(nullptr), other->native()}) {
    Stream fresh(plain_, all);
    fresh.move_to(place);
    for (size_t i = 0; i < 60; ++i) EXPECT_EQ(fresh.play(i, i / 30), "");
  }
  Stream stream(plain_, all);
  for (size_t i = 0; i < 240; ++i) {
    stream.move_to(i / 4 % 2 ? nullptr : other->native());
    EXPECT_EQ(stream.play(i, i / 60 % 2 ? hash(static_cast<uint32_t>(i), 3) % 8 : i % 3), "");
  }
}

TEST_F(CcLabelGraphCache, SixteenConcurrentCudaStreams_LabelsAndRecordsEqualReference) {
  const std::vector<Shot> all = shots();
  std::vector<std::string> wrong(16);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      Stream stream(plain_, all);
      for (size_t i = 0; i < 300 && wrong[t].empty(); ++i) {
        wrong[t] = stream.play(i, i / 50 % 2 ? hash(static_cast<uint32_t>(i), 1) % 8 : i % 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& what : wrong) EXPECT_EQ(what, "");
}

// A failure leaves no trace, whatever the state of the slot's graph was.
TEST_F(CcLabelGraphCache, FramesBetweenAndAfterFailedLaunches_LabelsAndRecordsEqualReference) {
  const std::vector<Shot> all = shots();
  Stream stream(plain_, all);
  int failed = 0;
  for (const char* faults : {"launch=3", "launch=7", "launch=11", "launch=23", "launch=50"}) {
    for (size_t i = 0; i < 160; ++i) {
      inject_faults(faults);
      try {
        EXPECT_EQ(stream.play(i, i / 40 % 2 ? hash(static_cast<uint32_t>(i), 2) % 8 : i % 3), "");
      } catch (const DeviceError&) {
        ++failed;
      }
    }
    inject_faults("");
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(stream.play(i, i % 3), "") << "after " << faults;
  }
  EXPECT_GT(failed, 40);
}

// bench/programs/pipeline --idle uses this fault.
TEST_F(CcLabelGraphCache, FaultThatSkipsLaunches_OnlyFramesDuringItDifferFromReference) {
  const std::vector<Shot> all = shots();
  Stream stream(plain_, all);
  for (size_t i = 0; i < 90; ++i) {
    const bool is_idle = i / 30 == 1;
    inject_faults(is_idle ? "idle=1" : "");
    EXPECT_EQ(stream.play(i, i % 3).empty(), !is_idle) << i;
  }
}

}  // namespace
}  // namespace regions
