// The papers' methods, propagation and sweep, on CUDA: the labels of union-find, in every variant,
// for every connectivity and criterion that they take; and they end where ways are long.
#include "gpu/cclabel/propagation/propagation.hpp"
#include "tests/cclabel/volume_cuda_fixture.hpp"

namespace regions {
namespace {

using propagation::Exchange;
using propagation::Gather;
using propagation::Variant;

class CcLabelHistoricCuda : public CcLabelVolumeCuda {
 protected:
  void use(const Variant& variant) {
    make_ = [variant](std::shared_ptr<Backend> backend) {
      return propagation::make_propagation_labeller(std::move(backend), Method::propagation,
                                                    variant);
    };
  }
  static CcLabelParams params_of(Method method, Connectivity connectivity) {
    CcLabelParams params;
    params.method = method;
    params.connectivity = connectivity;
    return params;
  }
};

constexpr Connectivity kFlat[] = {Connectivity::four, Connectivity::eight};

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

TEST_F(CcLabelHistoricCuda, EveryVariantOfPropagation) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(name_of(variant));
    use(variant);
    for (const char* content : {"noise", "clouds", "helix", "corners"}) {
      for (const Size size : {Size{1, 1}, {32, 33}, {65, 31}, {130, 97}}) {
        for (const Connectivity connectivity : kFlat) {
          expect_equal(make_volume(content, size, 1), params_of(Method::propagation, connectivity),
                       false);
        }
      }
      for (const Connectivity connectivity : kSpatial) {
        expect_equal(make_volume(content, {40, 33}, 34),
                     params_of(Method::propagation, connectivity), false);
      }
    }
  }
}

TEST_F(CcLabelHistoricCuda, PropagationTakesEveryCriterion) {
  for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::bgrx}) {
    for (const int slices : {1, 9}) {
      const Volume volume = make_volume("clouds", {45, 37}, slices, format);
      for (const int number : slices == 1 ? std::vector{4, 8} : std::vector{6, 18, 26}) {
        CcLabelParams params = params_of(Method::propagation, static_cast<Connectivity>(number));
        params.tolerance = 0.05;
        params.criterion = Criterion::difference;
        expect_equal(volume, params);
        params.criterion = Criterion::equal;
        expect_equal(volume, params);
        params.criterion = Criterion::binary;
        params.label_background = true;
        expect_equal(volume, params, true, 4);
        params.thresholds = std::vector<double>{0.7, 0.2, 0.55};
        expect_equal(volume, params);
      }
    }
  }
}

TEST_F(CcLabelHistoricCuda, SweepOnEveryContentAndSize) {
  CcLabelParams params = params_of(Method::sweep, Connectivity::twenty_six);
  for (Volume volume : volume_cases()) {
    params.label_background = false;
    expect_equal(volume, params);
    params.label_background = true;
    expect_equal(volume, params);
  }
  for (const int width : {128, 129, 300, 513, 1024}) {
    expect_equal(make_volume("noise", {width, 5}, 6), params, false);
    expect_equal(make_volume("helix", {width, 5}, 6), params, false);
  }
  params.label_background = false;
  params.thresholds = std::vector<double>{0.9, 0.1, 0.5, 0, 1};
  expect_equal(make_volume("clouds", {70, 21}, 11), params);
}

TEST_F(CcLabelHistoricCuda, OutputsAreThoseOfUnionFind) {
  for (const Method method : {Method::propagation, Method::sweep}) {
    CcLabelParams params = params_of(method, Connectivity::twenty_six);
    params.overflow = Overflow::saturate;
    const Volume volume = make_volume("noise", {95, 31}, 18);
    params.threshold = 0.85;  // more than 255 regions
    params.output = CcOutput::labels;
    expect_equal(volume, params, true, 3, PixelFormat::gray8);
    params.overflow = Overflow::drop_smallest;
    params.min_area = 2;
    params.max_area = 2000;
    expect_equal(volume, params, true, 3, PixelFormat::gray8);
    params.output = CcOutput::mask;
    expect_equal(volume, params, true, 7, PixelFormat::gray8);
    params.output = CcOutput::colors;
    expect_equal(volume, params, true, 0, PixelFormat::rgba);
  }
}

// Long ways: they take many passes, yet never more than there are cells, and end.
TEST_F(CcLabelHistoricCuda, AdversarialPicturesEnd) {
  for (const Variant& variant :
       {Variant{Exchange::global, Gather::neighbours, 0, false},
        Variant{Exchange::shared, Gather::neighbours, 0, false}, Variant{}}) {
    SCOPED_TRACE(name_of(variant));
    use(variant);
    const Volume snake = make_volume("helix", {160, 160}, 1);
    expect_equal(snake, params_of(Method::propagation, Connectivity::four), false);
    EXPECT_GT(passes_, 1u);
    EXPECT_LE(passes_, 160u * 160u + 1);
    expect_equal(make_volume("comb", {64, 64}, 40),
                 params_of(Method::propagation, Connectivity::six), false);
  }
  use({Exchange::global, Gather::neighbours, 0, false});
  expect_equal(make_volume("helix", {64, 64}, 1),
               params_of(Method::propagation, Connectivity::four), false);
  EXPECT_GT(passes_, 64u);  // a way of 2,000 cells, some of which come further in one pass
}

TEST_F(CcLabelHistoricCuda, SweepsEndOnUpAndDownBlocks) {
  for (const int side : {32, 64, 128}) {
    const CcLabelParams params = params_of(Method::sweep, Connectivity::twenty_six);
    expect_equal(make_volume("stairs", {40, side}, side), params, false);
    EXPECT_GE(passes_, static_cast<uint32_t>(side) / 4);  // a step of the stairs a pass
    EXPECT_LE(passes_, static_cast<uint32_t>(side));
  }
}

TEST_F(CcLabelHistoricCuda, MethodIsChosenByParameter) {
  for (const Method method :
       {Method::automatic, Method::union_find, Method::propagation, Method::sweep}) {
    expect_equal(make_volume("noise", {45, 20}, 11), params_of(method, Connectivity::twenty_six));
    EXPECT_EQ(passes_ > 0, uses_propagation(method));
  }
}

}  // namespace
}  // namespace regions
