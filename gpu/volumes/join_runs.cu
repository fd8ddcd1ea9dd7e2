// The forest over runs: first every run hangs below one that it touches, without an atomic, and
// trees are made flat; then all contacts are united (see gpu/cclabel/tiles.hpp), and trees are made
// flat again.
#include "gpu/volumes/contacts.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = BandBlock::threads;

__device__ uint32_t word_of_thread() { return blockIdx.x * kThreads + threadIdx.x; }

// A thread owns the runs of its word. All links go to smaller nodes.
template <Connectivity connectivity>
__global__ __launch_bounds__(kThreads) void hang_runs_kernel(Volume v) {
  const uint32_t word = word_of_thread();
  if (word >= v.band_words()) return;
  uint32_t apart = starts_of(v.band[word]);  // runs that hang below none
  if (apart == 0) return;
  const BandPlace place = place_of(v, word);
  const auto hang = [&](uint32_t node, uint32_t other) {
    const uint32_t bit = 1u << node % 32;
    if (!(apart & bit)) return;
    apart &= ~bit;
    v.parent[node] = other;
  };
  const uint32_t before = node_before(v, place, word);
  if (before != kNone) hang(word * 32, before);
#pragma unroll 1
  for (int k = 0; k < Touches<connectivity>::count && apart; ++k) {
    Contacts contacts(v, place, word, Touches<connectivity>::of(k));
    while (contacts.places) {
      uint32_t node, other;
      contacts.take(node, other);
      hang(node, other);
    }
  }
}

// Every run gets its root. `finds_firsts`: the last time, roots also learn their first voxel, which
// lies in the root's own slab.
template <bool finds_firsts>
__global__ __launch_bounds__(kThreads) void flatten_kernel(Volume v) {
  const uint32_t word = word_of_thread();
  const bool exists = word < v.band_words();
  const uint32_t bits = exists ? v.band[word] : 0;
  uint32_t starts = starts_of(bits);
  BandPlace place = {};
  if (finds_firsts && starts) place = place_of(v, word);
  while (__any_sync(0xffffffffu, starts != 0)) {
    const bool has_run = starts != 0;
    const int b = has_run ? __ffs(static_cast<int>(starts)) - 1 : 0;
    starts &= starts - 1;
    const uint32_t node = has_run ? word * 32 + static_cast<uint32_t>(b) : kNone;
    uint32_t above = has_run ? reinterpret_cast<volatile uint32_t*>(v.parent)[node] : 0;
    // As flatten() of tiles.hpp, but for lanes that have no node to read.
    while (true) {
      const uint32_t beyond =
          has_run ? reinterpret_cast<volatile uint32_t*>(v.parent)[above] : above;
      const bool moves = beyond != above;
      if (!__any_sync(0xffffffffu, moves)) break;
      if (moves) atomicExch(v.parent + node, beyond);
      above = beyond;
    }
    if (!finds_firsts || !has_run) continue;
    const uint32_t slab = v.slab_words();
    if (above / 32 / slab != word / slab) continue;
    const uint32_t run = run_from(bits, b);
    for (int r = 0; r < v.band_rows * v.band_slices; ++r) {
      const int y = place.y + r % v.band_rows, z = place.z + r / v.band_rows;
      const uint32_t here = bits_at(v, place, place.w, y, z) & run;
      if (!here) continue;
      const auto row =
          static_cast<uint32_t>((place.volume * v.stack.slices + z) * v.stack.slice.height + y);
      const uint32_t first =
          (row * static_cast<uint32_t>(v.words) + static_cast<uint32_t>(place.w)) * 32 +
          static_cast<uint32_t>(__ffs(static_cast<int>(here)) - 1);
      // The least of all, whatever their order; most see at once that theirs is not.
      if (first < reinterpret_cast<volatile uint32_t*>(v.label)[above]) {
        atomicMin(v.label + above, first);
      }
      break;
    }
  }
}

// blockIdx.y is the touch.
template <Connectivity connectivity>
__global__ __launch_bounds__(kThreads) void unite_runs_kernel(Volume v) {
  const uint32_t word = word_of_thread();
  const bool exists = word < v.band_words();
  const BandPlace place = place_of(v, exists ? word : 0);
  const auto k = static_cast<int>(blockIdx.y);
  Contacts contacts(v, place, exists ? word : 0, Touches<connectivity>::of(k));
  if (!exists) contacts.places = 0;
  const uint32_t before = exists && k == 0 ? node_before(v, place, word) : kNone;
  cclabel::unite(v.parent, word * 32, before, before != kNone);
  while (__any_sync(0xffffffffu, contacts.places != 0)) {
    const bool wanted = contacts.places != 0;
    uint32_t node = 0, other = 0;
    if (wanted) contacts.take(node, other);
    cclabel::unite(v.parent, node, other, wanted);
  }
}

template <Connectivity connectivity>
void join(const Volume& v, cudaStream_t stream) {
  const unsigned blocks = blocks_for(v.band_words(), kThreads);
  // A picture's neighbours are in its own slice: the first touch.
  const bool is_flat = v.stack.slices == 1;
  const auto touches = static_cast<unsigned>(is_flat ? 1 : Touches<connectivity>::count);
  launch(hang_runs_kernel<connectivity>, blocks, kThreads, 0, stream, v);
  launch(flatten_kernel<false>, blocks, kThreads, 0, stream, v);
  launch(unite_runs_kernel<connectivity>, dim3(blocks, touches), kThreads, 0, stream, v);
  launch(flatten_kernel<true>, blocks, kThreads, 0, stream, v);
}

}  // namespace

void join_runs(const Volume& volume, cudaStream_t stream) {
  switch (volume.connectivity) {
    case Connectivity::four:
    case Connectivity::six:
      return join<Connectivity::six>(volume, stream);
    case Connectivity::eight:
    case Connectivity::eighteen:
      return join<Connectivity::eighteen>(volume, stream);
    default:
      return join<Connectivity::twenty_six>(volume, stream);
  }
}

}  // namespace regions::volumes
