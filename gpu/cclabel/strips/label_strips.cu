// Labels a picture by one cluster of blocks: a strip of whole rows is a block's, in whose memory
// all stays. What crosses strips is a union-find over all their memories.
#include <type_traits>

#include "gpu/cclabel/base/publish.hpp"
#include "gpu/cclabel/pictures/readers.hpp"
#include "gpu/cclabel/pictures/write_words.hpp"
#include "gpu/cclabel/strips/component_sums.hpp"
#include "gpu/cclabel/strips/join_strips.hpp"
#include "gpu/cclabel/strips/measure_strip.hpp"
#include "gpu/cclabel/strips/strips.hpp"
#include "gpu/runtime/chain.hpp"
#include "gpu/runtime/clusters.hpp"
#include "gpu/runtime/per_device.hpp"

namespace regions::cclabel {
namespace {

// In place of the readers of colours: no records are wanted.
struct Unmeasured {};
template <class Values>
constexpr bool is_measured = !std::is_same_v<Values, Unmeasured>;

// What a block has in its shared memory.
template <class T, class Values>
struct StripMemory : MeasuredStrip<T, Values> {};
template <class T>
struct StripMemory<T, Unmeasured> : Strip<T> {};

#if __CUDA_ARCH__ >= 900
// Labels, measures and publishes the regions if a strip does without sums of components: records
// begin in the device's memory and are summed up there. Ends with all runs labelled.
template <class T, class Values>
__device__ void measure_in_memory(Strip<T>& s, uint32_t strip, int y0, int rows,
                                  const Values& values, const Records& records,
                                  const RegionTable& table) {
  const auto cluster = cooperative_groups::this_cluster();
  const uint32_t total = counts_of(s, strip).all;
  label_components(s, [&](uint32_t run, uint32_t label) {
    const bool begins = s.firsts[run / 32] >> run % 32 & 1;
    if (!begins || label > records.capacity) return;
    const int pixel = s.runs.first(run);
    records.region[label - 1] = first_record(label, pixel % T::width, y0 + pixel / T::width);
  });
  cluster.sync();  // records have begun
  label_runs(s);
  measure_strip(
      s, y0, rows, values,
      [&](uint32_t run) { return s.parent[run] <= records.capacity ? s.parent[run] : 0; },
      [&](uint32_t label, const LaneSums& sums) { add(sums.all(), records.region[label - 1]); });
  cluster.sync();  // records are complete
  publish_words(total, total, records.region, table, strip * T::threads + threadIdx.x,
                kStrips * T::threads);
}
#endif

template <class T, Connectivity connectivity, class Reader, class Values>
__global__ __launch_bounds__(T::threads) void label_strips_kernel(Reader reader, Values values,
                                                                  LabelWriter<uint32_t> writer,
                                                                  int own_rows, Records records,
                                                                  RegionTable table) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ uint4 shared[];
  auto& s = *reinterpret_cast<StripMemory<T, Values>*>(shared);
  await_last();
  const auto cluster = cooperative_groups::this_cluster();
  const uint32_t strip = cluster.block_rank();
  const int y0 = static_cast<int>(strip) * own_rows - 1, rows = own_rows + 1;
  const StripForest forest{s.parent};
  using Contacts = ForegroundContacts<T, connectivity, Reader>;
  Contacts contacts(s.runs, s.joined);
  if constexpr (is_measured<Values>) begin_sums(s);
  contacts.read(reader, 0, y0, rows);
  join_runs(s.runs, s.warp_sums, s.parent, contacts);
  enter_forest(s, strip);
  cluster.barrier_arrive();
  if constexpr (is_measured<Values>) measure_components(s, y0, rows, values);
  cluster.barrier_wait();  // trees of all strips are there
  if constexpr (is_measured<Values>) tell_by_label(s);
  join_strips(s, forest, strip);
  cluster.sync();  // no joint is made after this
  count_regions(s, forest, strip);
  cluster.sync();  // all strips know all counts

  const Size written{writer.image.width, min(writer.image.height, y0 + rows)};
  if constexpr (!is_measured<Values>) {
    label_components(s, [](uint32_t, uint32_t) {});
    cluster.barrier_arrive();
    label_runs(s);
    write_words<T>(s.runs, s.parent, 0, y0, written, writer, 1);
    cluster.barrier_wait();  // until then other blocks may read this one's memory
  } else if (s.sums.by_label) {
    measure_in_memory(s, strip, y0, rows, values, records, table);
    write_words<T>(s.runs, s.parent, 0, y0, written, writer, 1);
  } else {
    const RegionCounts counts = counts_of(s, strip);
    gather_components(s, strip);
    label_components(s, [&](uint32_t run, uint32_t label) {
      const bool begins = s.firsts[run / 32] >> run % 32 & 1;
      if (begins) s.sums.first[label - 1 - counts.above] = static_cast<uint16_t>(run);
    });
    cluster.barrier_arrive();
    label_runs(s);
    cluster.barrier_wait();  // sums are those of regions
    if (strip == 0 && threadIdx.x == 0) *table.total = counts.all;
    write_records(s, y0, s.regions[strip], counts.above, table);
    write_words<T>(s.runs, s.parent, 0, y0, written, writer, 1);
  }
#endif
}

// Calls use.operator()<T>() with the smallest shape for pictures of such a size; false without one.
template <class Use>
bool with_shape(Size size, const Use& use) {
  const auto fits = [&]<class T>() {
    if (size.width > T::width || size.height > T::height) return false;
    use.template operator()<T>();
    return true;
  };
  return fits.template operator()<NarrowStrip>() || fits.template operator()<WideStrip>();
}

// Calls use(kernel, bytes of shared memory) with each kernel of a shape.
template <class T, class Use>
void with_kernels(const Use& use) {
  const auto with_values = [&]<Connectivity c, class Reader>() {
    const auto with = [&]<class Values>() {
      use(label_strips_kernel<T, c, Reader, Values>, sizeof(StripMemory<T, Values>));
    };
    with.template operator()<Unmeasured>();
    with.template operator()<ByteValues>();
    with.template operator()<SampleValues>();
  };
  with_values.template operator()<Connectivity::four, ByteReader>();
  with_values.template operator()<Connectivity::eight, ByteReader>();
  with_values.template operator()<Connectivity::four, PixelReader>();
  with_values.template operator()<Connectivity::eight, PixelReader>();
}

template <class T>
bool is_possible() {
  static PerDevice possible;
  return possible.get([] {
    bool all = true;
    with_kernels<T>([&](auto* kernel, size_t shared_bytes) {
      all = all && code_version(reinterpret_cast<const void*>(kernel)) >= 90 &&
            allow_cluster(kernel, kStrips, T::threads, shared_bytes);
    });
    return all;
  });
}

}  // namespace

bool fits_strips(Size size) {
  bool possible = false;
  with_shape(size, [&]<class T>() { possible = is_possible<T>(); });
  return possible;
}

void label_strips(const Subject& subject, Connectivity connectivity, const ConstFrame& frame,
                  const StripOutputs& out, cudaStream_t stream) {
  const int own_rows = (out.labels.height + kStrips - 1) / kStrips;
  const auto with_values = [&]<class T, Connectivity c, class Reader>() {
    const auto go = [&]<class Values>(const Values& values) {
      with_label_writer(out.labels, 1, UINT32_MAX, [&](const LabelWriter<uint32_t>& writer) {
        launch_chained_as(Blocks::cluster, label_strips_kernel<T, c, Reader, Values>, kStrips,
                          T::threads, sizeof(StripMemory<T, Values>), stream, Reader(subject),
                          values, writer, own_rows, out.records, out.table);
      });
    };
    if (out.records.capacity == 0) return go(Unmeasured{});
    if (ByteValues::can_read(frame)) return go(ByteValues(frame));
    go(SampleValues(frame));
  };
  with_shape(out.labels.size(), [&]<class T>() {
    with_connectivity(connectivity, [&]<Connectivity c>() {
      if (ByteReader::can_read(subject)) {
        with_values.template operator()<T, c, ByteReader>();
      } else {
        with_values.template operator()<T, c, PixelReader>();
      }
    });
  });
}

}  // namespace regions::cclabel
