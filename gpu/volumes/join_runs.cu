// The forest over runs: first every run hangs below one that it touches, without an atomic, and
// trees are made flat; then all contacts are united (see gpu/cclabel/tiles.hpp), and trees are made
// flat again.
#include "gpu/volumes/contacts.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = BandBlock::threads;

using Part = Share<BandBlock::parts>;

// The first voxel of the run that begins at bit b of the place's band.
__device__ uint32_t first_voxel(const Volume& v, const BandPlace& place, uint32_t run) {
  for (int r = 0; r < v.band_rows * v.band_slices; ++r) {
    const int y = place.y + (r & (v.band_rows - 1)), z = place.z + (r >> (v.band_rows - 1));
    const uint32_t here = bits_at(v, place, place.w, y, z) & run;
    if (!here) continue;
    const auto row =
        static_cast<uint32_t>((place.layer * v.stack.slices + z) * v.stack.slice.height + y);
    return (row * static_cast<uint32_t>(v.words) + static_cast<uint32_t>(place.w)) * 32 +
           static_cast<uint32_t>(__ffs(static_cast<int>(here)) - 1);
  }
  return kNone;
}

// Begins a tree for every run, or hangs it below one that it touches: all links go to smaller
// nodes. A run's first voxel waits in its label.
template <Connectivity connectivity>
__global__ __launch_bounds__(kThreads) void hang_runs_kernel(Volume v) {
  const Part part(v);
  const BandPlace& place = part.place;
  const uint32_t bits = v.band[place.word];
  const uint32_t starts = part.of(starts_of(bits));
  uint32_t apart = starts;  // runs that hang below none
  if (apart & 1) {
    const uint32_t before = node_before(v, place);
    if (before != kNone) {
      v.parent[place.word * 32] = before;
      apart &= ~1u;
    }
  }
#pragma unroll 1
  for (int k = 0; k < Touches<connectivity>::count && apart; ++k) {
    const Contacts contacts(v, place, Touches<connectivity>::of(k));
    if (!contacts.places) continue;
    for (uint32_t left = apart; left; left &= left - 1) {
      const int b = __ffs(static_cast<int>(left)) - 1;
      const uint32_t run = run_from(bits, b);
      Contacts of_run = contacts;
      of_run.places &= run | static_cast<uint64_t>(run) << 1;
      if (!of_run.places) continue;
      uint32_t node, other;
      of_run.take(node, other);
      v.parent[node] = other;
      apart &= ~(1u << b);
    }
  }
  for (uint32_t left = starts; left; left &= left - 1) {
    const int b = __ffs(static_cast<int>(left)) - 1;
    const uint32_t node = place.word * 32 + static_cast<uint32_t>(b);
    if (apart >> b & 1) v.parent[node] = node;
    v.label[node] = first_voxel(v, place, run_from(bits, b));
  }
}

// Every run gets its root. `finds_firsts`: the last time, roots also learn their region's first
// voxel, which lies in the root's own slab.
template <bool finds_firsts>
__global__ __launch_bounds__(kThreads) void flatten_kernel(Volume v) {
  const Part part(v);
  uint32_t starts = part.of(starts_of(v.band[part.place.word]));
  while (__any_sync(0xffffffffu, starts != 0)) {
    const bool has_run = starts != 0;
    const int b = has_run ? __ffs(static_cast<int>(starts)) - 1 : 0;
    starts &= starts - 1;
    const uint32_t node = part.place.word * 32 + static_cast<uint32_t>(b);
    const volatile uint32_t* forest = v.parent;
    uint32_t above = has_run ? forest[node] : 0;
    // As flatten() of tiles.hpp, but for lanes that have no node to read.
    while (true) {
      const uint32_t beyond = has_run ? forest[above] : above;
      const bool moves = beyond != above;
      if (!__any_sync(0xffffffffu, moves)) break;
      if (moves) atomicExch(v.parent + node, beyond);
      above = beyond;
    }
    if (!finds_firsts || !has_run || above == node) continue;
    if (above / 32 < part.place.word - part.place.word % v.slab_words()) continue;
    const uint32_t first = reinterpret_cast<volatile uint32_t*>(v.label)[node];
    // The least of all, whatever their order; most see at once that theirs is not.
    if (first < reinterpret_cast<volatile uint32_t*>(v.label)[above]) {
      atomicMin(v.label + above, first);
    }
  }
}

// A turn for each touch.
template <Connectivity connectivity>
__global__ __launch_bounds__(kThreads) void unite_runs_kernel(Volume v) {
  const Part part(v);
  const BandPlace& place = part.place;
  Contacts contacts(v, place, Touches<connectivity>::of(part.turn));
  contacts.places = part.of_places(contacts.places);
  const bool goes_on = part.exists && part.turn == 0 && part.part == 0;
  const uint32_t before = goes_on ? node_before(v, place) : kNone;
  cclabel::unite(v.parent, place.word * 32, before, before != kNone);
  while (__any_sync(0xffffffffu, contacts.places != 0)) {
    const bool wanted = contacts.places != 0;
    uint32_t node = 0, other = 0;
    if (wanted) contacts.take(node, other);
    cclabel::unite(v.parent, node, other, wanted);
  }
}

template <Connectivity connectivity>
void join(Volume v, cudaStream_t stream) {
  const dim3 once = band_grid(v, BandBlock::parts, kThreads);
  launch(hang_runs_kernel<connectivity>, once, kThreads, 0, stream, v);
  launch(flatten_kernel<false>, once, kThreads, 0, stream, v);
  // A picture's neighbours are in its own slice: the first touch.
  Volume turning = v;
  turning.turns = v.stack.slices == 1 ? 1 : Touches<connectivity>::count;
  launch(unite_runs_kernel<connectivity>, band_grid(turning, BandBlock::parts, kThreads), kThreads,
         0, stream, turning);
  launch(flatten_kernel<true>, once, kThreads, 0, stream, v);
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
