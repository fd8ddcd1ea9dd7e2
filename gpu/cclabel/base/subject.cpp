// What is labelled of a frame, by what the parameters ask for.
#include "gpu/cclabel/base/subject.hpp"

namespace regions::cclabel {

Subject subject_of(const Job& job, const CcLabelParams& params) {
  Subject subject;
  subject.criterion = params.criterion;
  subject.frame = job.in;
  if (params.source == Source::mask) {
    subject.frame = job.mask;
    subject.measure = Measure::nonzero;
  } else if (params.source == Source::alpha) {
    subject.measure = Measure::alpha;
  }
  if (params.criterion == Criterion::difference) {
    subject.level = difference_level(params.tolerance, subject.frame.layout);
  } else if (params.criterion == Criterion::binary) {
    subject.level = levels_of(subject, params).level[0];
  } else {
    subject.level = 1;
  }
  return subject;
}

Levels levels_of(const Subject& subject, const CcLabelParams& params) {
  Levels levels{};
  for (int layer = 0; layer < layers_of(params); ++layer) {
    levels.level[layer] = subject.measure == Measure::nonzero
                              ? 1
                              : foreground_level(threshold_of(params, layer), subject.frame.layout,
                                                 subject.frame.color);
  }
  return levels;
}

}  // namespace regions::cclabel
