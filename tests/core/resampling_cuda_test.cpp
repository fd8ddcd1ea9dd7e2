// Working pictures on CUDA against the CPU, bit for bit.
#include <gtest/gtest.h>

#include <cstring>

#include "core/frame.hpp"
#include "cpu/resampling.hpp"
#include "gpu/runtime/cuda_backend.hpp"
#include "tests/core/resampling_case.hpp"

namespace regions {
namespace {

class ResamplingCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    backend_ = make_cuda_backend();
    queue_ = backend_->make_queue();
  }
  void TearDown() override {
    if (!backend_) return;
    const Backend::Entry entry(*backend_);
    queue_.reset();
    blocks_.clear();
  }
  Frame on_device(const GuardedFrame& host) {
    const ConstFrame from = host.frame();
    blocks_.push_back(backend_->allocate(packed_bytes(from.layout, from.size())));
    const Frame to =
        packed_frame(from.layout, from.size(), from.color, Memory::device, blocks_.back().data());
    queue_->copy(from, to);
    return to;
  }
  void back(const Frame& device, GuardedFrame& host) {
    queue_->copy(device, host.frame());
    queue_->record();
    queue_->wait();
  }

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  std::vector<Block> blocks_;
};

TEST_F(ResamplingCuda, GivesWhatTheCpuGives) {
  const Backend::Entry entry(*backend_);
  const Workers workers(2);
  for (int n = 0; n < 200; ++n) {
    const ResamplingCase trial(n);
    const WorkArea& place = trial.place;
    GuardedFrame whole = trial.noise(place.picture, 1);
    const GuardedFrame before = trial.noise(place.work, 2), after = trial.noise(place.work, 3);

    GuardedFrame small = trial.noise(place.work, 4), expected = trial.noise(place.work, 4);
    const Frame device_whole = on_device(whole), device_small = on_device(small);
    queue_->shrink(crop_to(device_whole, place), device_small);
    back(device_small, small);
    shrink(crop_to(whole.frame(), place), expected.frame(), workers);
    ASSERT_TRUE(small.same_pixels(expected)) << trial.name();

    GuardedFrame drawn = trial.noise(place.picture, 1);
    queue_->transfer_changes(on_device(before), on_device(after), crop_to(device_whole, place),
                             n % 2);
    back(device_whole, drawn);
    transfer_changes(before.frame(), after.frame(), crop_to(whole.frame(), place), n % 2, workers);
    ASSERT_TRUE(drawn.same_pixels(whole)) << trial.name();

    for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::rgb,
                                     PixelFormat::bgra, PixelFormat::labels32}) {
      GuardedFrame map(format, place.work), grown(format, place.picture),
          wanted(format, place.picture);
      for (int y = 0; y < place.work.height; ++y) {
        std::byte* row = map.frame().plane[0] + y * map.frame().pitch[0];
        for (size_t x = 0; x < row_bytes(layout_of(format), 0, place.work); ++x) {
          row[x] = static_cast<std::byte>(hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y)));
        }
      }
      const PixelMapping picking = {
          mapping_to_picture(place.left, place.area.width, place.work.width),
          mapping_to_picture(place.top, place.area.height, place.work.height)};
      const Frame device_grown = on_device(grown);
      queue_->pick(on_device(map), device_grown, picking);
      back(device_grown, grown);
      pick(map.frame(), wanted.frame(), picking, workers);
      ASSERT_TRUE(grown.same_pixels(wanted)) << trial.name() << " " << name_of(format);
    }
    blocks_.clear();
  }
}

}  // namespace
}  // namespace regions
