// By criterion: runs of foreground, or runs of linked values.
#include "cpu/cclabel/build_forest.hpp"

#include <algorithm>
#include <array>

#include "core/packed.hpp"
#include "cpu/cclabel/bands.hpp"
#include "cpu/pixel_rows.hpp"
#include "cpu/resampling.hpp"

namespace regions {
namespace {

constexpr int kAlpha = 3;  // component

// What is labelled, as a frame and its first component.
struct Subject {
  ConstFrame frame;
  int component = 0;
  bool is_mask = false;
  bool is_small = false;  // see Job::mask_is_small

  Subject(const Job& job, const CcLabelParams& params) : frame(job.in) {
    is_mask = params.source == Source::mask;
    if (is_mask) frame = job.mask;
    is_small = is_mask && job.mask_is_small;
    if (params.source == Source::alpha) component = kAlpha;
  }
};

class ForestBuilder {
 public:
  ForestBuilder(const Job& job, const CcLabelParams& params, const Setup& setup, int strips,
                Slot& slot, const Workers& workers)
      : params_(params),
        subject_(job, params),
        stack_(stack_of(setup, job)),
        spans_{stack_.rows(), stack_.rows()},
        strips_(strips),
        slot_(slot),
        workers_(workers) {}

  void build() {
    const bool is_binary = params_.criterion == Criterion::binary && !params_.label_background;
    is_binary ? build_binary() : build_linked();
  }

 private:
  void enlarge();
  void build_binary();
  void build_linked();

  // Sets the foreground's bits in rows begin..end - 1 of a small mask, in the picture's columns.
  void stretch(const BitImage& bits, int begin, int end, std::byte* scratch) const;
  // Likewise of what is labelled, in rows of the stack.
  void threshold(const BitImage& bits, int begin, int end, std::byte* scratch) const;
  void threshold(const BitImage& bits, int s) const {
    const Strip& strip = slot_.forest.strip(s);
    threshold(bits, strip.begin, strip.end, slot_.rows[s].values[0][0]);
  }
  // Adds all strips of a picture, each after prepare(strip), and joins them.
  template <class Picture, std::invocable<int> Prepare>
  void add_strips(const Picture& picture, Prepare prepare) {
    Forest& forest = slot_.forest;
    forest.begin(stack_, spans_, picture.band_rows(), strips_);
    workers_.parallel_for(forest.strips(), [&](int s) {
      prepare(s);
      add_strip(picture, forest, s, slot_.rows[s]);
    });
    forest.for_each_seam(workers_, [&](int s) { join_seam(picture, forest, s, slot_.rows[s]); });
  }

  const CcLabelParams& params_;
  Subject subject_;
  Stack stack_;  // of rows of bits
  RowSpans spans_;
  const int strips_;
  Slot& slot_;
  const Workers& workers_;
};

void ForestBuilder::stretch(const BitImage& bits, int begin, int end, std::byte* scratch) const {
  const ConstFrame& mask = subject_.frame;
  const int width = stack_.slice.width;
  std::array<Word, words_for(65536)> row;
  for (int y = begin; y < end; ++y) {
    pack_at_least(value_row(mask, 0, y, scratch), mask.layout.sample_bytes, mask.width, 1,
                  row.data());
    std::fill_n(bits.row(y), bits.words, 0);
    for_each_run(row.data(), words_for(mask.width), [&](int first, int last_end) {
      set_bits(bits.row(y), first_of(first, mask.width, width),
               first_of(std::min(last_end, mask.width), mask.width, width));
    });
  }
}

void ForestBuilder::threshold(const BitImage& bits, int begin, int end, std::byte* scratch) const {
  if (subject_.is_small) return stretch(bits, begin, end, scratch);
  const Layout& layout = subject_.frame.layout;
  const int rows = stack_.volume_rows();
  for (int row = begin, layer = -1, level = 1; row < end; ++row) {
    if (row / rows != layer) {
      layer = row / rows;
      if (!subject_.is_mask) {
        level = foreground_level(threshold_of(params_, layer), layout, subject_.frame.color);
      }
    }
    pack_at_least(value_row(subject_.frame, subject_.component, row % rows, scratch),
                  layout.sample_bytes, stack_.slice.width, level, bits.row(row));
  }
}

// Where values of neighbours are compared: the mask at the picture's size.
void ForestBuilder::enlarge() {
  const ConstFrame& mask = subject_.frame;
  const Size size = stack_.slice;
  slot_.whole_mask.resize(packed_bytes(mask.layout, size));  // at the first such frame only
  const Frame whole = packed_frame(mask.layout, size, {}, Memory::host, slot_.whole_mask.data());
  pick(mask, whole, {enlarging(0, size.width, mask.width), enlarging(0, size.height, mask.height)},
       workers_);
  subject_.frame = whole;
  subject_.is_small = false;
}

void ForestBuilder::build_binary() {
  if (subject_.is_small) stack_.slice.height = spans_.spans = subject_.frame.height;
  const BinaryPicture picture{slot_.pixels, stack_, spans_, params_.connectivity};
  const bool fills = params_.fill_holes > 0;
  if (fills) {
    threshold(slot_.pixels, 0, stack_.rows(), slot_.rows[0].values[0][0]);
    fill_holes(picture, static_cast<uint64_t>(params_.fill_holes), slot_.forest, slot_.background,
               strips_, slot_.rows, workers_);
  }
  add_strips(picture, [&](int s) {
    if (!fills) threshold(slot_.pixels, s);
  });
}

void ForestBuilder::build_linked() {
  if (subject_.is_small) enlarge();
  const ConstFrame& frame = subject_.frame;
  LinkedPicture picture{{frame, subject_.component}, stack_, params_.connectivity};
  const bool both_classes = params_.criterion == Criterion::binary;
  if (both_classes) picture.rule.classes = slot_.background;
  const bool is_rgb = frame.layout.model == ColorModel::rgb && params_.source == Source::image;
  if (is_rgb) picture.rule.channels = 3;
  if (params_.criterion == Criterion::difference && frame.layout.sample_bytes < 4) {
    picture.rule.level = difference_level(params_.tolerance, frame.layout);
  }
  fill_rows(slot_.pixels, stack_.slice.width, stack_.rows());  // all pixels are in a region
  add_strips(picture, [&](int s) {
    if (both_classes) threshold(slot_.background, s);
  });
}

}  // namespace

void build_forest(const Job& job, const CcLabelParams& params, const Setup& setup, int strips,
                  Slot& slot, const Workers& workers) {
  ForestBuilder(job, params, setup, strips, slot, workers).build();
}

}  // namespace regions
