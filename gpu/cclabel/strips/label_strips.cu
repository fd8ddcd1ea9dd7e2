// Labels a picture by one cluster of blocks: a strip of whole rows is a block's, in whose memory
// all stays. What crosses strips is a union-find over all their memories.
#include <type_traits>

#include "gpu/cclabel/base/publish.hpp"
#include "gpu/cclabel/pictures/readers.hpp"
#include "gpu/cclabel/pictures/write_words.hpp"
#include "gpu/cclabel/strips/join_strips.hpp"
#include "gpu/cclabel/strips/measure_strip.hpp"
#include "gpu/cclabel/strips/strips.hpp"
#include "gpu/clusters.hpp"
#include "gpu/per_device.hpp"

namespace regions::cclabel {
namespace {

// In place of the readers of colours: no records are wanted.
struct Unmeasured {};

template <class T, Connectivity connectivity, class Reader, class Values>
__global__ __launch_bounds__(T::threads) void label_strips_kernel(Reader reader, Values values,
                                                                  LabelWriter<uint32_t> writer,
                                                                  int own_rows, Records records,
                                                                  RegionTable table) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ uint4 shared[];
  auto& s = *reinterpret_cast<Strip<T>*>(shared);
  const auto cluster = cooperative_groups::this_cluster();
  const uint32_t strip = cluster.block_rank();
  const int y0 = static_cast<int>(strip) * own_rows - 1, rows = own_rows + 1;
  const StripForest forest{s.parent};
  using Contacts = ForegroundContacts<T, connectivity, Reader>;
  typename Contacts::Bits none;
  Contacts contacts(s.runs, none);
  contacts.read(reader, 0, y0, rows);
  rank_runs(s.runs, s.warp_sums);
  join_runs(s.runs, s.parent, contacts);
  enter_forest(s, strip);
  cluster.sync();  // trees of all strips are there
  join_strips(s, forest, strip);
  cluster.sync();  // no joint is made after this
  count_regions(s, forest, strip);
  cluster.sync();  // all strips know all counts

  const Size written{writer.image.width, min(writer.image.height, y0 + rows)};
  if constexpr (std::is_same_v<Values, Unmeasured>) {
    label_components(s, strip, [](int, uint32_t) {});
    cluster.barrier_arrive();
    label_runs(s);
    write_words<T>(s.runs, s.parent, 0, y0, written, writer, 1);
    cluster.barrier_wait();  // until then other blocks may read this one's memory
  } else {
    const uint32_t total = label_components(s, strip, [&](int run, uint32_t label) {
      if (label > records.capacity) return;
      const int first = s.runs.first[run];
      records.region[label - 1] = first_record(label, first % T::width, y0 + first / T::width);
    });
    cluster.sync();  // records have begun
    label_runs(s);
    measure_strip(s, y0, rows, values, records);
    cluster.sync();  // records are complete
    publish_words(total, total, records.region, table, strip * T::threads + threadIdx.x,
                  kStrips * T::threads);
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

// Calls use(kernel) with each kernel of a shape.
template <class T, class Use>
void with_kernels(const Use& use) {
  const auto with_values = [&]<Connectivity c, class Reader>() {
    use(label_strips_kernel<T, c, Reader, Unmeasured>);
    use(label_strips_kernel<T, c, Reader, ByteValues>);
    use(label_strips_kernel<T, c, Reader, SampleValues>);
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
    with_kernels<T>([&](auto* kernel) {
      all = all && code_version(reinterpret_cast<const void*>(kernel)) >= 90 &&
            allow_cluster(kernel, kStrips, T::threads, sizeof(Strip<T>));
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
        launch_cluster(label_strips_kernel<T, c, Reader, Values>, kStrips, T::threads,
                       sizeof(Strip<T>), stream, Reader(subject), values, writer, own_rows,
                       out.records, out.table);
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
