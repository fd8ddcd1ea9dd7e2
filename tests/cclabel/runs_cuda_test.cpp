// attach-runs on CUDA: against the label map, pixel by pixel, and the CPU.
#include "tests/cclabel/runs_oracle.hpp"
#include "tests/cclabel/volume_cuda_fixture.hpp"

namespace regions {
namespace {

class CcLabelRunsCuda : public CcLabelVolumeCuda {
 protected:
  void expect_runs(const Volume& volume, const CcLabelParams& params, uint32_t most,
                   uint32_t regions = 1 << 16) {
    SCOPED_TRACE(volume.name() + " " + to_text(params) + " runs=" + std::to_string(most) +
                 " regions=" + std::to_string(regions));
    RunOptions options{.capacity = regions, .slices = volume.slices, .most_runs = most};
    options.depth = is_spatial(params.connectivity) ? std::max(volume.slices, 2) : 1;
    const RunResult found = run(volume, params, options);
    const SlowRuns expected = runs_slowly(found.labelling.labels, volume.size.width, regions, most);
    EXPECT_EQ(difference(found.runs, expected.runs), "");
    EXPECT_EQ(found.total_runs, expected.total);
    EXPECT_TRUE(found.intact);
    CcLabelParams anyhow = params;
    anyhow.method = Method::automatic;
    const RunResult cpu = run_on_cpu(2, volume.frame(), {}, anyhow, options);
    EXPECT_EQ(difference(found.runs, cpu.runs), "");
    EXPECT_EQ(found.total_runs, cpu.total_runs);
    options.wants_labels = false;
    EXPECT_EQ(difference(run(volume, params, options).runs, expected.runs), "");
  }
};

TEST_F(CcLabelRunsCuda, OfPictures) {
  for (const Size size :
       {Size{1, 1}, {31, 3}, {32, 1}, {33, 70}, {1023, 5}, {1024, 4}, {1025, 3}, {2100, 40}}) {
    for (const char* content : {"noise", "clouds", "full", "empty", "corners"}) {
      const Volume picture = make_volume(content, size, 1);
      for (const Connectivity connectivity : {Connectivity::four, Connectivity::eight}) {
        CcLabelParams params;
        params.connectivity = connectivity;
        expect_runs(picture, params, 1 << 17);
        params.min_area = 3;
        expect_runs(picture, params, 1 << 17);
        params.criterion = Criterion::difference;
        params.tolerance = 0.2;
        expect_runs(picture, params, 1 << 17);
      }
    }
  }
}

TEST_F(CcLabelRunsCuda, OfVolumesAndThresholds) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const auto [volume, params, choice] = random_volume(seed, {150, 20}, 20);
    expect_runs(volume, params, 1 << 17);
  }
}

TEST_F(CcLabelRunsCuda, OfTheHistoricMethods) {
  const Volume volume = make_volume("noise", {70, 20}, 9);
  CcLabelParams params;
  params.connectivity = Connectivity::twenty_six;
  params.threshold = 0.8;
  for (const Method method : {Method::propagation, Method::sweep}) {
    params.method = method;
    expect_runs(volume, params, 1 << 16);
  }
}

TEST_F(CcLabelRunsCuda, MoreThanThereIsRoomFor) {
  const Volume picture = make_volume("noise", {300, 61}, 1);
  for (const uint32_t most : {1u, 1023u, 1024u, 1025u, 4000u}) {
    for (const uint32_t regions : {1u, 20u, 300u, 1u << 16}) {
      CcLabelParams params;
      params.connectivity = Connectivity::four;
      expect_runs(picture, params, most, regions);
    }
  }
}

TEST_F(CcLabelRunsCuda, OfALargePictureTimeAfterTime) {
  const Volume picture = make_volume("noise", {1920, 1080}, 1);
  CcLabelParams params;
  params.connectivity = Connectivity::four;
  params.threshold = 0.7;
  for (int time = 0; time < 5; ++time) expect_runs(picture, params, 1 << 20);
}

}  // namespace
}  // namespace regions
