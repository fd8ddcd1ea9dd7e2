// Derives the input of labelling from the element's parameters.
#include "gpu/cclabel/label_input.hpp"

namespace regions::cclabel {

LabelInput label_input_of(const FrameTask& task, const CcLabelParams& params) {
  LabelInput input;
  input.criterion = params.criterion;
  input.frame = task.in;
  if (params.source == Source::mask) {
    input.frame = task.mask;
    input.compared = ComparedValue::nonzero;
  } else if (params.source == Source::alpha) {
    input.compared = ComparedValue::alpha;
  }
  switch (params.criterion) {
    case Criterion::difference:
      input.level = tolerance_level(params.tolerance, input.frame.layout);
      break;
    case Criterion::binary:
      input.level = threshold_levels_of(input, params).level[0];
      break;
    case Criterion::equal:
      input.level = 1;  // linked only if the distance is 0
      break;
  }
  return input;
}

ThresholdLevels threshold_levels_of(const LabelInput& input, const CcLabelParams& params) {
  ThresholdLevels thresholds{};
  for (int layer = 0; layer < layers_of(params); ++layer) {
    thresholds.level[layer] =
        input.compared == ComparedValue::nonzero
            ? 1
            : threshold_level(threshold_of(params, layer), input.frame.layout, input.frame.color);
  }
  return thresholds;
}

}  // namespace regions::cclabel
