// The passes of graphcutbg on CUDA, in the order of a frame:
//
//   1. enqueue_model_reset()          after a reset only: the model starts again
//   2. enqueue_survey()               the frame's colours, statistics and plan
//   3. enqueue_color_evidence()       optional: colour histograms of foreground and background
//   4. enqueue_weights()              capacities of the cut's graph
//   5. GridCut::enqueue()             the minimum cut (gpu/maxflow); its result is the mask
//   6. enqueue_cut_value()            optional: value of the mask's cut, for verification
//   7. enqueue_model_update()         updates the model with the mask; writes FrameStatistics
//   8. enqueue_mask_softening(), enqueue_background_blur(), enqueue_composite() or
//      enqueue_cutout()               output
//
// Each function enqueues kernels on `stream` and neither allocates nor synchronises. All pointers
// and views are in device memory unless stated otherwise.
#pragma once

#include "core/graphcutbg/composite.hpp"
#include "core/graphcutbg/model_update.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::graphcutbg {

// State of the scene that consecutive frames share.
struct SceneState {
  Survey survey;             // sums of the current frame; zero between frames
  Scene scene;               // history of the scene
  FramePlan frame;           // parameters of the current frame, the result of the survey
  uint32_t surveyed_blocks;  // blocks that have added their sums to the survey
  uint32_t updated_blocks;   // blocks that have updated their part of the model
};

// Results of a frame in addition to the CutResult of the solver.
struct FrameStatistics {
  long long cut_value;
  uint32_t foreground;  // pixels
  uint32_t restarted;   // whether the model was restarted, for example after a scene change
};

// Resets the model and the scene. If `background` ([height][width], packed colours) is not null,
// the model starts from this picture.
void enqueue_model_reset(const ModelArrays& arrays, const uint32_t* background, SceneState* state,
                         cudaStream_t stream);
// Converts the frame to the model's colours, gathers statistics of the scene, and computes the
// frame's plan from them. Writes *statistics except for the foreground.
void enqueue_survey(const ModelArrays& arrays, const ConstFrame& in, const ScenePlan& plan,
                    SceneState* state, FrameStatistics* statistics, cudaStream_t stream);
// Adds the last frame's colours to the histograms of foreground and background, in which earlier
// frames fade, and computes how strongly each colour indicates one of the two.
void enqueue_color_evidence(const ModelArrays& arrays, cudaStream_t stream);
// Writes the capacities of the cut's graph. `mask` is the caller's picture of hints; it may be
// empty.
void enqueue_weights(const ModelArrays& arrays, const ConstFrame& mask, const EnergyPlan& plan,
                     const SceneState* state, cudaStream_t stream);
// Updates the model with the cut's mask and counts the foreground. The last block copies
// *statistics to `host_statistics` in pinned host memory.
void enqueue_model_update(const ModelArrays& arrays, const Image<const uint8_t>& mask,
                          const EnergyPlan& plan, SceneState* state, FrameStatistics* statistics,
                          FrameStatistics* host_statistics, cudaStream_t stream);
// Adds the value of the cut that the mask describes to statistics->cut_value.
void enqueue_cut_value(const ModelArrays& arrays, const Image<const uint8_t>& mask,
                       FrameStatistics* statistics, cudaStream_t stream);

// Writes a mask with soft edges to `alpha`. `counts` is scratch memory of the mask's size; `radius`
// is in pixels.
void enqueue_mask_softening(const Image<const uint8_t>& mask, int radius,
                            const Image<uint8_t>& counts, const Image<uint8_t>& alpha,
                            cudaStream_t stream);
// Averages the background over cells and smooths the averages, for each colour component.
void enqueue_background_blur(const BlurCells& cells, const ConstFrame& in,
                             const Image<const uint8_t>& mask, const Image<uint16_t> (&smooth)[3],
                             cudaStream_t stream);
// Composites the output picture according to the plan in `painting`.
void enqueue_composite(const Composition& painting, cudaStream_t stream);
// Writes the foreground with an alpha channel to `out`.
void enqueue_cutout(const ConstFrame& in, const RgbDecoder& decoder,
                    const Image<const uint8_t>& alpha, const Frame& out, cudaStream_t stream);

}  // namespace regions::graphcutbg
