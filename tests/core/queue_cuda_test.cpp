// Queues of a CUDA device among each other.
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/runtime/cuda_backend.hpp"

namespace regions {
namespace {

TEST(QueueCuda, FollowsAnotherStreamAndLeadsOne) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  constexpr size_t kBytes = size_t{64} << 20;
  const auto backend = make_cuda_backend();
  const Backend::Entry entry(*backend);
  const Block from = backend->allocate_pinned(kBytes), to = backend->allocate_pinned(kBytes);
  const Block there = backend->allocate(kBytes);
  const auto producer = backend->make_queue(), reader = backend->make_queue();
  for (int round = 0; round < 40; ++round) {
    const auto value = static_cast<uint8_t>(round + 1);
    std::fill_n(from.as<uint8_t>(), kBytes, value);
    std::fill_n(to.as<uint8_t>(), kBytes, uint8_t{0});
    for (int i = 0; i < 4; ++i) producer->copy_bytes(from.data(), there.data(), kBytes);
    if (round % 2) {
      producer->record();
      producer->lead(reader->native());
    } else {
      reader->follow(producer->native());
    }
    // The last byte is there last.
    reader->copy_bytes(there.as<uint8_t>() + kBytes - 1, to.data(), 1);
    reader->record();
    reader->wait();
    EXPECT_EQ(*to.as<uint8_t>(), value) << "round " << round;
    producer->record();
    producer->wait();
  }
}

TEST(QueueCuda, MovesFromStreamToStream) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  constexpr size_t kBytes = size_t{64} << 20;
  const auto backend = make_cuda_backend();
  const Backend::Entry entry(*backend);
  const Block from = backend->allocate_pinned(kBytes), to = backend->allocate_pinned(kBytes);
  const Block there = backend->allocate(kBytes);
  const auto first = backend->make_queue(), second = backend->make_queue();
  const auto queue = backend->make_queue();
  void* const own = queue->native();
  void* const places[] = {first->native(), second->native(), nullptr, own};  // null: the default
  for (size_t round = 0; round < 40; ++round) {
    const auto value = static_cast<uint8_t>(round + 1);
    std::fill_n(from.as<uint8_t>(), kBytes, value);
    std::fill_n(to.as<uint8_t>(), kBytes, uint8_t{0});
    queue->move_to(places[round % 4]);
    EXPECT_EQ(queue->native(), places[round % 4]);
    EXPECT_EQ(queue->owned_stream(), own);
    for (int i = 0; i < 4; ++i) queue->copy_bytes(from.data(), there.data(), kBytes);
    queue->record();
    queue->move_to(places[(round + 1 + round / 4 % 3) % 4]);
    // The last byte is there last.
    queue->copy_bytes(there.as<uint8_t>() + kBytes - 1, to.data(), 1);
    queue->record();
    queue->wait();
    EXPECT_EQ(*to.as<uint8_t>(), value) << "round " << round;
  }
}

}  // namespace
}  // namespace regions
