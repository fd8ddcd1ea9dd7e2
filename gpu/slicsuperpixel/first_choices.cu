// Finds the first choices of small fragments, that is, the neighbours into which they merge first.
// A contact is a pair of neighbouring pixels in different components. A block lists the contacts of
// the small fragments in its tile, so that all threads of the block get an equal share of the
// contacts.
//
// Neighbouring contacts mostly belong to the same pair of components. A contact is therefore
// skipped if the adjacent contact surely has the same pair. Across the edges of a tile, each tile
// handles only its own small fragments.
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions::slicsuperpixel {
namespace {

using Tile = FragmentTile;

// Constants of the kernel. A block processes one tile, and each thread has 16 pixels of the tile.
struct ChoiceTile {
  static constexpr int threads = 256;
  // Maximum number of components whose fragments' data are in shared memory.
  static constexpr int max_shared_summaries = 512;
  static constexpr int pairs = 1024;  // number of entries of the hash table of component pairs
  static constexpr int probes = 4;    // maximum number of entries that are tried per pair
};
constexpr int kThreads = ChoiceTile::threads;

constexpr int kSegmentPixels =
    Tile::pixels / ChoiceTile::threads;  // pixels per segment, that is, per thread
static_assert(kSegmentPixels == 16 && Tile::width % kSegmentPixels == 0);
constexpr int kThreadsPerRow = Tile::width / kSegmentPixels;

// The data of the fragment to which a component belongs.
struct alignas(16) FragmentSummary {
  uint32_t root;         // id of the fragment's root
  uint32_t first;        // first pixel of the fragment, y * stride + x
  uint32_t color;        // means of colour components 0 and 1, 16 bits each
  uint32_t color_small;  // mean of colour component 2; bit 16 is set if the fragment is small

  __device__ bool is_small() const { return color_small >> 16 != 0; }
  __device__ FragmentColor mean() const {
    return {{static_cast<int>(color & 0xffff), static_cast<int>(color >> 16),
             static_cast<int>(color_small & 0xffff)}};
  }
};

__device__ inline FragmentSummary load_root_summary(const MergePass& pass, uint32_t root) {
  const Fragments& fragments = pass.fragments;
  const Fragment fragment = fragments.load_sums(root);
  const FragmentColor color = color_of(fragment);
  return {root, fragments.first_pixel[root],
          static_cast<uint32_t>(color.mean[0]) | static_cast<uint32_t>(color.mean[1]) << 16,
          static_cast<uint32_t>(color.mean[2]) | (fragment.area < pass.min_size ? 1u << 16 : 0)};
}
// The parent of a component is the root of its fragment, because gather_fragments() or
// flatten_fragments() has run before.
__device__ inline FragmentSummary load_summary(const MergePass& pass, uint32_t id) {
  return load_root_summary(pass, pass.fragments.parent[id]);
}

// The components of a tile, the data of their fragments, and their contacts, in shared memory.
struct TileFragments {
  uint16_t component[Tile::rows][Tile::width];
  // [row][segment of 16 pixels], one bit per pixel: set if it belongs to a small fragment
  uint16_t small_pixel_bits[Tile::rows][kThreadsPerRow];
  // one bit per component: set if the component belongs to a small fragment
  uint32_t small_bits[Tile::pixels / 32];
  // one bit per component: set if the component is the root of a small fragment
  uint32_t small_root_bits[Tile::pixels / 32];
  FragmentSummary summary[ChoiceTile::max_shared_summaries];  // indexed by component number
  // The contacts of small fragments. An entry of `contact` is the position of a pixel in the tile,
  // in raster order, for a contact with the pixel to the right. For a contact with the pixel below,
  // kBelow is added.
  static constexpr int kBelow = Tile::pixels;
  uint16_t contact[2 * Tile::pixels];
  uint32_t contacts;  // number of contacts in the list
  static constexpr uint32_t kNoPair = UINT32_MAX;
  uint32_t pair[ChoiceTile::pairs];  // hash table of component pairs that touch
  uint32_t edge_contacts;            // number of listed contacts across the tile's edges
  // Indices of the tile's first entries in the global lists of edges and of small fragments.
  uint32_t edge_start, small_start;

  __device__ bool is_small(int number) const { return small_bits[number / 32] >> number % 32 & 1; }
  // Inserts a pair of components into the hash table. Returns false if the pair is already in the
  // table. If all nearby entries are used, returns true without inserting the pair.
  __device__ bool insert_pair(uint32_t a, uint32_t b) {
    const uint32_t key = a < b ? a << 16 | b : b << 16 | a;
    uint32_t at = key * 0x9E3779B1u / (UINT32_MAX / ChoiceTile::pairs + 1);
    for (int probe = 0; probe < ChoiceTile::probes; ++probe) {
      const uint32_t seen = atomicCAS(pair + at, kNoPair, key);
      if (seen == kNoPair) return true;
      if (seen == key) return false;
      at = (at + 1) % ChoiceTile::pairs;
    }
    return true;
  }
  // Appends this lane's contacts to the list. Bit k (0..15) means that pixel first + k has a
  // contact with the pixel to its right, bit 16 + k that it has a contact with the pixel below.
  __device__ void append_contacts(uint32_t bits, int first) {
    const auto lane_count = static_cast<uint32_t>(__popc(bits));
    const uint32_t inclusive_sum = warp_inclusive_sum(lane_count);
    uint32_t start = 0;
    if (threadIdx.x % 32 == 31 && inclusive_sum > 0) start = atomicAdd(&contacts, inclusive_sum);
    uint32_t at = __shfl_sync(kAllLanes, start, 31) + inclusive_sum - lane_count;
    for (; bits != 0; bits &= bits - 1) {
      const int bit = __ffs(static_cast<int>(bits)) - 1;
      contact[at++] =
          static_cast<uint16_t>(first + bit % kSegmentPixels + bit / kSegmentPixels * kBelow);
    }
  }
};

// The component numbers of a thread's 16 pixels, two per word.
using Row = uint32_t[kSegmentPixels / 2];
// Returns a word in which bit k is set if pixel k has different components in a and b.
__device__ inline uint32_t difference_bits(const Row& a, const Row& b) {
  uint32_t bits = 0;
#pragma unroll
  for (int j = 0; j < kSegmentPixels / 2; ++j) {
    const uint32_t both = __vcmpne2(a[j], b[j]);
    bits |= ((both & 1) | (both >> 15 & 2)) << 2 * j;
  }
  return bits;
}
// Moves all entries one position to the left. `last_entry` becomes the last entry.
__device__ inline void shift(const Row& row, uint32_t last_entry, Row& to) {
#pragma unroll
  for (int j = 0; j < kSegmentPixels / 2; ++j) {
    to[j] = row[j] >> 16 | (j + 1 < kSegmentPixels / 2 ? row[j + 1] : last_entry) << 16;
  }
}

// The contacts of a thread's pixels. In `bits`, bit k (0..15) is set if the right neighbour of
// pixel k is in another component, and bit 16 + k if the neighbour below is. Contacts that repeat
// the pair of an adjacent contact are left out. In `starts`, bit k is set if pixel k is the first
// pixel of a run, which is a row of pixels of one component.
struct SegmentContacts {
  uint32_t bits = 0;
  uint32_t starts = 0;

  __device__ SegmentContacts(const TileFragments& shared_tile, int x, int y, Size inside) {
    const int count = inside.width - x;
    if (count <= 0 || y >= inside.height) return;
    const auto load = [&](int row, Row& to, Row& to_right) {
      const auto* const from = reinterpret_cast<const uint4*>(&shared_tile.component[row][x]);
#pragma unroll
      for (int j = 0; j < kSegmentPixels / 8; ++j) {
        const uint4 four = from[j];
        to[4 * j] = four.x, to[4 * j + 1] = four.y, to[4 * j + 2] = four.z, to[4 * j + 3] = four.w;
      }
      shift(to,
            x + kSegmentPixels < Tile::width ? shared_tile.component[row][x + kSegmentPixels] : 0,
            to_right);
    };
    const uint32_t here_inside = count >= kSegmentPixels ? 0xffffu : (1u << count) - 1;
    // The last pixel of the picture or of the tile has no right neighbour.
    const bool has_next_segment = x + kSegmentPixels < Tile::width && count > kSegmentPixels;
    Row here, here_right;
    load(y, here, here_right);
    const uint32_t right =
        difference_bits(here, here_right) & (has_next_segment ? 0xffffu : here_inside >> 1);
    bits = right;
    starts = (right << 1 | 1) & here_inside;
    if (y + 1 >= inside.height) return;
    Row under, under_right;
    load(y + 1, under, under_right);
    const uint32_t below = difference_bits(here, under) & here_inside;
    const uint32_t right_of_under = difference_bits(under, under_right);
    const uint32_t new_below = below & ((right | right_of_under) << 1 | 1);
    const uint32_t new_right = right & (below | below >> 1 | 1u << (kSegmentPixels - 1));
    bits = new_right | new_below << 16;
  }
};

// Loads the data of the fragments of the tile's components to shared memory. `root` is the root of
// component number threadIdx.x. Returns true if this warp loaded a component of a small fragment.
__device__ bool load_tile_summaries(TileFragments& shared_tile, const MergePass& pass,
                                    const TileOfBlock& tile, uint32_t root) {
  bool has_small = false;
  for (uint32_t start = threadIdx.x / 32 * 32; start < tile.count; start += kThreads) {
    const uint32_t number = start + threadIdx.x % 32;
    FragmentSummary summary = {};
    bool is_small_root = false;
    if (number < tile.count) {
      const uint32_t id = tile.id(pass.fragments, number);
      if (number >= kThreads) root = pass.fragments.parent[id];
      summary = load_root_summary(pass, root);
      is_small_root = summary.is_small() && summary.root == id;
      if (number < ChoiceTile::max_shared_summaries) shared_tile.summary[number] = summary;
    }
    const unsigned small = __ballot_sync(kAllLanes, summary.is_small());
    const unsigned small_roots = __ballot_sync(kAllLanes, is_small_root);
    if (threadIdx.x % 32 == 0) {
      shared_tile.small_bits[start / 32] = small;
      shared_tile.small_root_bits[start / 32] = small_roots;
    }
    has_small |= small != 0;
  }
  return has_small;
}

// Writes the small fragments whose root is in this tile to the global list, from index `at` on.
__device__ void list_small(const TileFragments& shared_tile, const Fragments& fragments,
                           const TileOfBlock& tile, uint32_t at) {
  for (uint32_t word = 0; 32 * word < tile.count; ++word) {
    const uint32_t roots = shared_tile.small_root_bits[word];
    const auto lane = static_cast<int>(threadIdx.x % 32);
    if (roots >> lane & 1) {
      const auto index = at + static_cast<uint32_t>(__popc(roots & bits_below(lane)));
      fragments.small[0][index] = tile.id(fragments, 32 * word + threadIdx.x);
    }
    at += static_cast<uint32_t>(__popc(roots));
  }
}

// Removes contacts from the list if an earlier contact has the same pair of components. All threads
// of the block must call this function.
__device__ void remove_repeated_contacts(TileFragments& shared_tile) {
  const uint32_t count = shared_tile.contacts;
  __syncthreads();  // all threads have read the number of contacts
  if (threadIdx.x == 0) shared_tile.contacts = 0;
  for (uint32_t start = 0; start < count; start += kThreads) {
    const uint32_t i = start + threadIdx.x;
    const int contact = i < count ? shared_tile.contact[i] : 0, at = contact % shared_tile.kBelow;
    const int x = at % Tile::width, y = at / Tile::width, below = contact / shared_tile.kBelow;
    const bool is_new =
        i < count && shared_tile.insert_pair(shared_tile.component[y][x],
                                             shared_tile.component[y + below][x + 1 - below]);
    // All threads have read their contacts. At most as many entries are written below, so contacts
    // that have not been read are not overwritten.
    __syncthreads();
    const unsigned new_lanes = __ballot_sync(kAllLanes, is_new);
    const auto lane = static_cast<int>(threadIdx.x % 32);
    uint32_t to = 0;
    if (lane == 0 && new_lanes != 0) {
      to = atomicAdd(&shared_tile.contacts, static_cast<uint32_t>(__popc(new_lanes)));
    }
    to = __shfl_sync(kAllLanes, to, 0) +
         static_cast<uint32_t>(__popc(new_lanes & regions::bits_below(lane)));
    if (is_new) shared_tile.contact[to] = static_cast<uint16_t>(contact);
  }
  __syncthreads();  // the shortened list of contacts is complete
}

// Writes the edge between fragments a and b to entry `edge` of the list. If a is small, offers b to
// a as a choice. If b is small and `for_both` is true, also offers a to b. If b is in another tile,
// the block of that tile makes the offer to b. The order of atomicMin does not matter, because a
// minimum does not depend on the order.
__device__ void propose(const MergePass& pass, const FragmentSummary& a, const FragmentSummary& b,
                        bool for_both, uint32_t edge) {
  const Fragments& fragments = pass.fragments;
  fragments.edges[0][edge] = {a.root, b.root};
  if (a.root == b.root) return;
  const uint32_t distance = fragment_distance(a.mean(), b.mean(), pass.scale);
  unsigned long long* const choice = fragments.choice[0];
  if (a.is_small()) atomicMin(choice + a.root, choice_of(distance, b.first));
  if (for_both && b.is_small()) {
    atomicMin(choice + b.root, choice_of(distance, a.first));
  }
}

// Copies the component numbers of a thread's segment to shared memory. Rows in global memory are
// padded to whole tiles, so the whole segment can be read.
__device__ void load_segment(TileFragments& shared_tile, const Fragments& fragments,
                             const TileOfBlock& tile, int x, int y) {
  const auto* const from = reinterpret_cast<const uint4*>(
      fragments.component + fragments.pixel_at(tile.left + x, tile.top + y));
  auto* const to = reinterpret_cast<uint4*>(&shared_tile.component[y][x]);
#pragma unroll
  for (int j = 0; j < kSegmentPixels / 8; ++j) to[j] = from[j];
}

// Returns a word in which bit k is set if pixel k of a segment belongs to a small fragment.
__device__ uint32_t small_pixels(const TileFragments& shared_tile, const SegmentContacts& contacts,
                                 int x, int y) {
  uint32_t small = 0;
  for (uint32_t starts = contacts.starts; starts != 0; starts &= starts - 1) {
    const int bit = __ffs(static_cast<int>(starts)) - 1;
    const uint32_t from_here = 0xffffu << bit & 0xffffu;
    small = shared_tile.is_small(shared_tile.component[y][x + bit]) ? small | from_here
                                                                    : small & ~from_here;
  }
  return small;
}

// Appends the contacts of a segment in which at least one of the two pixels belongs to a small
// fragment. `small_pixel_bits` must be complete.
__device__ void list_contacts(TileFragments& shared_tile, const SegmentContacts& contacts,
                              uint32_t small, int x, int y) {
  const uint32_t next = x + kSegmentPixels < Tile::width
                            ? shared_tile.small_pixel_bits[y][x / kSegmentPixels + 1]
                            : 0;
  const uint32_t under =
      y + 1 < Tile::rows ? shared_tile.small_pixel_bits[y + 1][x / kSegmentPixels] : 0;
  const uint32_t to_right = (small | small >> 1 | next << (kSegmentPixels - 1)) & 0xffff;
  shared_tile.append_contacts(contacts.bits & (to_right | (small | under) << 16),
                              y * Tile::width + x);
}

// The contact of a thread's edge pixel with the pixel in the neighbouring tile.
struct EdgeContact {
  bool is_listed;  // true if the fragment in this tile is small and the pair is new
  uint32_t index;  // index among the listed edge contacts of the tile

  // Lists the contact of the current lane. Skips it if the previous contact along the edge has the
  // same two components, which is often the case. `here` is a component number, `other_id` an id.
  __device__ EdgeContact(TileFragments& shared_tile, bool exists, uint32_t here,
                         uint32_t other_id) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const uint64_t pair = static_cast<uint64_t>(here) << 32 | other_id;
    const uint64_t before = __shfl_up_sync(kAllLanes, pair, 1);
    const bool repeats = lane > 0 && before == pair;
    is_listed = exists && !repeats && shared_tile.is_small(static_cast<int>(here));
    const unsigned all = __ballot_sync(kAllLanes, is_listed);
    uint32_t first = 0;
    if (lane == 0 && all != 0) {
      first = atomicAdd(&shared_tile.edge_contacts, static_cast<uint32_t>(__popc(all)));
    }
    index =
        __shfl_sync(kAllLanes, first, 0) + static_cast<uint32_t>(__popc(all & bits_below(lane)));
  }
};

// Reserves entries for the tile in the global lists of edges and of small fragments.
__device__ void reserve_list_entries(TileFragments& shared_tile, const Fragments& fragments,
                                     const TileOfBlock& tile) {
  if (threadIdx.x == 0) {
    shared_tile.edge_start =
        atomicAdd(&fragments.counts->edges[0], shared_tile.contacts + shared_tile.edge_contacts);
  }
  if (threadIdx.x != 32) return;
  uint32_t roots = 0;
  for (uint32_t word = 0; 32 * word < tile.count; ++word) {
    roots += static_cast<uint32_t>(__popc(shared_tile.small_root_bits[word]));
  }
  if (roots > 0) shared_tile.small_start = atomicAdd(&fragments.counts->small[0], roots);
}

__global__ __launch_bounds__(kThreads) void first_choices_kernel(MergePass pass) {
  __shared__ TileFragments shared_tile;
  const Fragments& fragments = pass.fragments;
  const TileOfBlock tile(fragments);
  // This load does not wait for the number of components, which is loaded at the same time.
  static_assert(kThreads <= Tile::max_shared_sums);
  const uint32_t root = fragments.parent[tile.id(fragments, threadIdx.x)];
  const int thread = static_cast<int>(threadIdx.x);
  const int x = thread % kThreadsPerRow * kSegmentPixels, y = thread / kThreadsPerRow;
  static_assert(TileEdge::kSides * Tile::width == kThreads);
  const TileEdge edge(fragments, tile.column, tile.row, thread / Tile::width, thread % Tile::width);
  // id of the component of the edge pixel's neighbour in the next tile
  const uint32_t other_id = edge.exists ? *edge.other_component : 0;
  const Size inside = {fragments.size.width - tile.left,
                       min(fragments.size.height - tile.top, Tile::rows)};
  if (y < inside.height) load_segment(shared_tile, fragments, tile, x, y);
  for (int w = thread; w < ChoiceTile::pairs; w += kThreads)
    shared_tile.pair[w] = shared_tile.kNoPair;
  if (thread == 0) shared_tile.contacts = shared_tile.edge_contacts = 0;
  const bool has_small = load_tile_summaries(shared_tile, pass, tile, root);
  if (!__syncthreads_or(has_small)) return;  // the data of the tile's components are loaded
  const SegmentContacts contacts(shared_tile, x, y, inside);
  const uint32_t small = small_pixels(shared_tile, contacts, x, y);
  shared_tile.small_pixel_bits[y][x / kSegmentPixels] = static_cast<uint16_t>(small);
  __syncthreads();  // small_pixel_bits is complete
  list_contacts(shared_tile, contacts, small, x, y);
  const uint32_t here = edge.exists ? shared_tile.component[edge.y][edge.x] : 0;
  const EdgeContact across(shared_tile, edge.exists, here, other_id);
  const FragmentSummary other = across.is_listed ? load_summary(pass, other_id) : FragmentSummary{};
  __syncthreads();  // the list of contacts is complete
  // If nearly every pixel is a component, few contacts repeat, so the search would cost more time
  // than it saves.
  if (tile.count <= ChoiceTile::max_shared_summaries) remove_repeated_contacts(shared_tile);
  const uint32_t count = shared_tile.contacts;
  reserve_list_entries(shared_tile, fragments, tile);
  __syncthreads();  // the tile's entries in the lists are reserved
  const auto summary_of = [&](uint32_t number) {
    return number < ChoiceTile::max_shared_summaries
               ? shared_tile.summary[number]
               : load_summary(pass, tile.id(fragments, number));
  };
  if (across.is_listed) {
    propose(pass, summary_of(here), other, false, shared_tile.edge_start + count + across.index);
  }
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
    const int contact = shared_tile.contact[i], at = contact % shared_tile.kBelow,
              below = contact / shared_tile.kBelow;
    const int px = at % Tile::width, py = at / Tile::width;
    propose(pass, summary_of(shared_tile.component[py][px]),
            summary_of(shared_tile.component[py + below][px + 1 - below]), true,
            shared_tile.edge_start + i);
  }
  if (thread < 32) list_small(shared_tile, fragments, tile, shared_tile.small_start);
}

}  // namespace

void make_first_choices(const MergePass& pass, cudaStream_t stream) {
  launch(first_choices_kernel, tile_grid(pass.fragments), kThreads, 0, stream, pass);
}

}  // namespace regions::slicsuperpixel
