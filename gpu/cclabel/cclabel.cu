// cclabel on CUDA: what a frame asks for, phase by phase.
#include "core/cclabel.hpp"
#include "gpu/cclabel/phases.hpp"
#include "gpu/cclabel/tuning.hpp"
#include "gpu/workspace.hpp"

namespace regions {
namespace cclabel {
namespace {

// Cuts the picture into tiles of shape T; the pieces stay as they are.
template <class T>
Tiles cut(Tiles tiles, Size size) {
  tiles.size = size;
  tiles.columns = (size.width + T::width - 1) / T::width;
  tiles.rows = (size.height + T::rows - 1) / T::rows;
  tiles.width = T::width;
  tiles.height = T::rows;
  tiles.capacity = T::runs;
  tiles.stride = tiles.columns * T::width;
  return tiles;
}

// Plans the pieces large enough for both ways to cut, since the criterion may change while playing.
void reserve_tiles(Workspace& memory, Tiles& pieces, Size size) {
  const Tiles cuts[] = {cut<BinaryTile>({}, size), cut<LinkedTile>({}, size)};
  const auto most = [&](auto count_of) {
    const size_t a = count_of(cuts[0]), b = count_of(cuts[1]);
    return a > b ? a : b;
  };
  const size_t tiles = most([](const Tiles& t) { return t.tiles(); });
  const size_t tile_words =
      most([](const Tiles& t) { return t.tiles() * t.width / 32 * t.height; });
  const size_t runs = most([](const Tiles& t) { return t.tiles() * t.capacity; });
  const size_t words = most([](const Tiles& t) { return t.words(); });
  const size_t rows = most([](const Tiles& t) { return static_cast<size_t>(t.rows) * t.stride; });
  const size_t columns =
      most([](const Tiles& t) { return static_cast<size_t>(t.columns) * t.size.height; });
  memory.reserve(pieces.foreground, tile_words);
  memory.reserve(pieces.starts, tile_words);
  memory.reserve(pieces.rank, tile_words);
  memory.reserve(pieces.component, runs);
  memory.reserve(pieces.first, runs);
  memory.reserve(pieces.count, tiles);
  memory.reserve(pieces.regions, tiles);
  memory.reserve(pieces.parent, words * 32);
  memory.reserve(pieces.firsts, words);
  memory.reserve(pieces.before, words);
  memory.reserve(pieces.top, rows);
  memory.reserve(pieces.bottom, rows);
  memory.reserve(pieces.left, columns);
  memory.reserve(pieces.right, columns);
  memory.reserve(pieces.total, 1);
}

struct Slot {
  Workspace memory;
  Tiles pieces;
};

class CcLabelCuda : public Algorithm<CcLabelParams> {
 public:
  explicit CcLabelCuda(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  void configure(const Setup& setup) override {
    setup_ = setup;
    slots_.clear();
    slots_.resize(static_cast<size_t>(setup.slots));
    for (Slot& slot : slots_) {
      reserve_tiles(slot.memory, slot.pieces, setup.size);
      slot.memory.allocate(*backend_);
    }
  }

  void enqueue(const Job& job, const CcLabelParams& params, Queue& queue) override {
    const cudaStream_t stream = stream_of(queue);
    const Slot& slot = slots_[static_cast<size_t>(job.slot)];
    const Subject subject = subject_of(job, params);
    const Tiles tiles = params.criterion == Criterion::binary
                            ? cut<BinaryTile>(slot.pieces, setup_.size)
                            : cut<LinkedTile>(slot.pieces, setup_.size);
    label_tiles(subject, tiles, params.connectivity, stream);
    join_seams(subject, tiles, params.connectivity, stream);
    number_regions(tiles, stream);
    if (!job.labels.empty()) write_labels(tiles, job.labels, stream);
  }

 private:
  static Subject subject_of(const Job& job, const CcLabelParams& params) {
    Subject subject;
    subject.criterion = params.criterion;
    subject.frame = params.source == Source::mask ? job.mask : job.in;
    subject.measure = params.source == Source::mask    ? Measure::nonzero
                      : params.source == Source::alpha ? Measure::alpha
                                                       : Measure::value;
    const Layout& layout = subject.frame.layout;
    if (params.criterion == Criterion::binary) {
      subject.level = foreground_level(params.threshold, layout, job.in.color);
    } else {
      subject.level =
          params.criterion == Criterion::equal ? 1 : difference_level(params.tolerance, layout);
    }
    return subject;
  }

  std::shared_ptr<Backend> backend_;
  Setup setup_;
  std::vector<Slot> slots_;
};

}  // namespace
}  // namespace cclabel

template <>
std::unique_ptr<Algorithm<CcLabelParams>> make_algorithm<CcLabelParams, BackendKind::cuda>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<cclabel::CcLabelCuda>(std::move(backend));
}

}  // namespace regions
