// cclabel on the CPU against the oracle: contents, sizes, criteria, connectivities, filters.
#include <gtest/gtest.h>

#include "tests/cclabel/run.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

constexpr Criterion kCriteria[] = {Criterion::binary, Criterion::equal, Criterion::difference};
constexpr Connectivity kConnectivities[] = {Connectivity::four, Connectivity::eight};

std::vector<std::string_view> all_contents() {
  std::vector<std::string_view> all;
  for (const auto list : {contents(), edge_contents(), tone_contents()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

void expect_oracle(int threads, const ConstFrame& in, const CcLabelParams& params,
                   std::string_view name, const ConstFrame& mask = {}) {
  SCOPED_TRACE(std::string(name) + " " + std::to_string(in.width) + "x" +
               std::to_string(in.height) + " " + to_text(params) +
               " threads=" + std::to_string(threads));
  const RunResult result = run_on_cpu(threads, in, mask, params);
  const Labelling expected = label_slowly(in, mask, params);
  EXPECT_EQ(difference(result.labelling, expected, in.width), "");
  EXPECT_EQ(result.total, expected.regions.size());
  EXPECT_TRUE(result.intact);
}

class Sizes : public testing::TestWithParam<Size> {};

TEST_P(Sizes, EveryContentCriterionAndConnectivity) {
  for (const std::string_view content : all_contents()) {
    const Picture picture = make_picture(content, GetParam());
    for (const Criterion criterion : kCriteria) {
      for (const Connectivity connectivity : kConnectivities) {
        CcLabelParams params;
        params.criterion = criterion;
        params.connectivity = connectivity;
        params.tolerance = 0.03;
        expect_oracle(1, picture.frame(), params, content);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(CcLabel, Sizes,
                         testing::Values(Size{1, 1}, Size{1, 67}, Size{67, 1}, Size{2, 2},
                                         Size{31, 9}, Size{32, 8}, Size{33, 7}, Size{63, 31},
                                         Size{64, 32}, Size{65, 33}, Size{127, 20}, Size{128, 21},
                                         Size{129, 64}, Size{300, 257}),
                         [](const auto& which) {
                           return std::to_string(which.param.width) + "x" +
                                  std::to_string(which.param.height);
                         });

TEST(CcLabel, ManySmallNoisePictures) {
  for (int seed = 0; seed < 400; ++seed) {
    const auto draw = [&](uint32_t what, int limit) {
      return static_cast<int>(hash(static_cast<uint32_t>(seed), what) %
                              static_cast<uint32_t>(limit));
    };
    const std::string content =
        "rand_g" + std::to_string(1 + draw(1, 3)) + "_d" + std::to_string(5 + draw(2, 90));
    const Picture picture = make_picture(content, {1 + draw(3, 150), 1 + draw(4, 150)});
    CcLabelParams params;
    params.connectivity = kConnectivities[seed % 2];
    params.criterion = kCriteria[draw(5, 3)];
    params.min_area = draw(6, 3) == 0 ? draw(7, 20) : 0;
    params.max_area = draw(8, 3) == 0 ? 1 + draw(9, 60) : 0;
    params.fill_holes = draw(10, 2) == 0 ? draw(11, 30) : 0;
    expect_oracle(1 + draw(12, 7), picture.frame(), params, content);
  }
}

TEST(CcLabel, SeedsChooseRegions) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const SeededCase made = seeded_case(seed);
    const Picture picture = make_picture(made.content, made.size);
    for (const int threads : {1, 3}) {
      expect_oracle(threads, picture.frame(), made.params, made.content);
    }
  }
}

TEST(CcLabel, SeedsArePairsAndOfPictures) {
  const Picture picture = make_picture("smooth", {40, 30});
  CcLabelParams params;
  params.seeds = std::vector<double>{1, 2, 3};
  EXPECT_THROW(run_on_cpu(1, picture.frame(), {}, params), InputError);
  params.seeds = std::vector<double>{1, 2};
  params.label_background = true;
  EXPECT_THROW(run_on_cpu(1, picture.frame(), {}, params), InputError);
}

TEST(CcLabel, ThreadsAgree) {
  for (const std::string_view content : all_contents()) {
    const Picture picture = make_picture(content, {333, 401});
    for (const Criterion criterion : kCriteria) {
      for (const Connectivity connectivity : kConnectivities) {
        CcLabelParams params;
        params.criterion = criterion;
        params.connectivity = connectivity;
        const RunResult one = run_on_cpu(1, picture.frame(), {}, params);
        for (const int threads : {2, 3, 7}) {
          const RunResult more = run_on_cpu(threads, picture.frame(), {}, params);
          EXPECT_EQ(difference(more.labelling, one.labelling, 333), "")
              << content << " " << to_text(params) << " threads=" << threads;
          EXPECT_EQ(more.total, one.total);
        }
      }
    }
  }
}

TEST(CcLabel, FiltersAndHoles) {
  for (const std::string_view content :
       {"frame", "rand_g1_d60", "rand_g16_d50", "smooth", "full"}) {
    const Picture picture = make_picture(content, {210, 190});
    for (const Connectivity connectivity : kConnectivities) {
      for (const int64_t area : {1, 2, 7, 100, 5000}) {
        CcLabelParams params;
        params.connectivity = connectivity;
        params.min_area = area;
        expect_oracle(2, picture.frame(), params, content);
        params.min_area = 0;
        params.max_area = area;
        expect_oracle(2, picture.frame(), params, content);
        params.max_area = 0;
        params.fill_holes = area;
        expect_oracle(2, picture.frame(), params, content);
        params.min_area = 50;
        expect_oracle(1, picture.frame(), params, content);
      }
    }
  }
}

TEST(CcLabel, FullHd) {
  for (const std::string_view content : {"rand_g1_d50", "maze", "smooth"}) {
    const Picture picture = make_picture(content, {1920, 1080});
    for (const Connectivity connectivity : kConnectivities) {
      CcLabelParams params;
      params.connectivity = connectivity;
      RunOptions options;
      options.capacity = 1 << 20;
      const RunResult result = run_on_cpu(2, picture.frame(), {}, params, options);
      const Labelling expected = label_slowly(picture.frame(), {}, params);
      EXPECT_EQ(difference(result.labelling, expected, 1920), "") << content;
    }
  }
}

TEST(CcLabel, TheLongestSides) {
  for (const Size size : {Size{65535, 3}, {3, 65535}}) {
    for (const std::string_view content : {"rand_g1_d50", "maze", "stripes_v"}) {
      const Picture picture = make_picture(content, size);
      for (const Connectivity connectivity : kConnectivities) {
        CcLabelParams params;
        params.connectivity = connectivity;
        params.fill_holes = 1;
        expect_oracle(2, picture.frame(), params, content);
        params.fill_holes = 0;
        params.criterion = Criterion::equal;
        expect_oracle(1, picture.frame(), params, content);
      }
    }
  }
}

TEST(CcLabel, FourK) {
  const Picture picture = make_picture("spiral", {3840, 2160});
  expect_oracle(2, picture.frame(), {}, "spiral");
  expect_oracle(3, make_picture("rand_g1_d60", {3840, 2160}).frame(), {}, "rand_g1_d60");
}

}  // namespace
}  // namespace regions
