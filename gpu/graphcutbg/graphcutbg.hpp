// The passes of graphcutbg on CUDA, in the order of a frame:
//
//   1. enqueue_model_reset()          only after a reset: restarts the model
//   2. enqueue_survey()               computes the frame's colours, statistics and plan
//   3. enqueue_masked_colors()        optional: counts the colours that an attached mask separates
//      enqueue_color_evidence()       optional: updates the evidence of each colour
//   4. enqueue_weights()              computes the capacities of the cut's graph
//   5. GridCut::enqueue()             computes the minimum cut (gpu/maxflow), which is the mask
//   6. enqueue_cut_value()            optional: computes the value of the cut, for verification
//   7. enqueue_model_update()         updates the model with the mask; writes FrameStatistics
//   8. enqueue_hiding()               optional: finds the pixels that replace=foreground hides
//   9. enqueue_mask_growth(), enqueue_mask_softening(), enqueue_cell_means(), enqueue_composite()
//      or enqueue_cutout()            write the output picture
//
// With source=boxes, the following passes replace passes 3 and 4. Passes 2 and 7 are complete only
// if the output shows the background model:
//
//   enqueue_box_reset()               only after configure()
//   enqueue_box_start()               finds owners, samples and mixtures; weights of a samples' cut
//   GridCut::enqueue(), enqueue_box_refit()   BoxTracks::sample_cuts() times
//   enqueue_box_weights()             computes the capacities of the cut's graph
//   enqueue_box_results()             after pass 6: writes labels and records
//
// Each function enqueues kernels on `stream` and neither allocates nor synchronises. All pointers
// and views are in device memory unless stated otherwise.
#pragma once

#include "core/graphcutbg/boxes.hpp"
#include "core/graphcutbg/composite.hpp"
#include "core/graphcutbg/model_update.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::graphcutbg {

// Device memory of the scene's state, which consecutive frames share.
struct SceneState {
  Survey survey;             // statistics of the current frame; between frames, all fields are zero
  Scene scene;               // history of the scene
  SceneWatch watch;          // usual values of the scene
  FramePlan frame;           // plan of the current frame, the result of the survey
  uint32_t surveyed_blocks;  // number of thread blocks that have added their sums to `survey`
  uint32_t updated_blocks;   // number of thread blocks that have updated their part of the model
};

// Results of a frame in addition to the CutResult of the solver.
struct FrameStatistics {
  long long cut_value;  // capacity of the cut that the mask describes; 0 if not computed
  uint32_t foreground;  // number of foreground pixels
  uint32_t restarted;   // whether the model was restarted, for example after a scene change
  SceneChange change;   // the change of the scene in this frame
};

// Sums over the pixels of an object.
struct BoxSums {
  uint64_t area = 0, sum_x = 0, sum_y = 0, sum_value[3] = {};
  uint32_t first = UINT32_MAX;  // the first pixel in raster order: row << 16 | column
  uint32_t left = UINT32_MAX, right = 0, bottom = 0;

  REGIONS_HD Region record(uint32_t number, uint32_t track) const {
    Region region;
    region.id = number;
    region.track = track;
    region.right = region.bottom = -1;
    if (area == 0) return region;
    region.first_x = static_cast<int32_t>(first & 0xFFFF);
    region.first_y = region.top = static_cast<int32_t>(first >> 16);
    region.left = static_cast<int32_t>(left);
    region.right = static_cast<int32_t>(right);
    region.bottom = static_cast<int32_t>(bottom);
    region.area = area;
    region.sum_x = sum_x;
    region.sum_y = sum_y;
    for (int c = 0; c < 3; ++c) region.sum_value[c] = sum_value[c];
    return region;
  }
};

// Resets the model and the scene. If `background` ([height][width], packed colours) is not null,
// the model starts from this picture.
void enqueue_model_reset(const ModelArrays& arrays, const uint32_t* background, SceneState* state,
                         cudaStream_t stream);
// Converts the frame to the model's colours and gathers statistics of the scene. From these
// statistics and from `frame`, the result of frame_plan_of(), it computes state->frame. Initialises
// *statistics; the foreground is counted later.
void enqueue_survey(const ModelArrays& arrays, const ConstFrame& in, const FramePlan& frame,
                    SceneState* state, FrameStatistics* statistics, cudaStream_t stream);
// Only converts the frame to the model's colours. Initialises *statistics.
void enqueue_reading(const ModelArrays& arrays, const ConstFrame& in, FrameStatistics* statistics,
                     cudaStream_t stream);
// Counts the frame's colours in the foreground and background of the attached mask.
void enqueue_masked_colors(const ModelArrays& arrays, const ConstFrame& mask,
                           const EnergyPlan& energy, cudaStream_t stream);
// Adds the counted colours to the histograms of foreground and background, in which the
// weight of older frames decreases. Then computes for each colour how strongly it indicates
// foreground or background.
void enqueue_color_evidence(const ModelArrays& arrays, cudaStream_t stream);
// Writes the capacities of the cut's graph. `mask` is the mask attached to the frame; it may
// be empty.
void enqueue_weights(const ModelArrays& arrays, const ConstFrame& mask, const EnergyPlan& energy,
                     const SceneState* state, cudaStream_t stream);
// Updates the model with the cut's mask and counts the foreground. If the scene has changed, it
// clears the mask. The last block copies *statistics to `host_statistics` in pinned host memory.
void enqueue_model_update(const ModelArrays& arrays, const Image<uint8_t>& mask,
                          const EnergyPlan& energy, SceneState* state, FrameStatistics* statistics,
                          FrameStatistics* host_statistics, cudaStream_t stream);
// Adds the value of the cut that the mask describes to statistics->cut_value.
void enqueue_cut_value(const ModelArrays& arrays, const Image<const uint8_t>& mask,
                       FrameStatistics* statistics, cudaStream_t stream);

// Clears the memory for boxes.
void enqueue_box_reset(const BoxArrays& arrays, BoxSums* sums, cudaStream_t stream);
// Finds the owners of all pixels, reads the samples of all boxes, fits the mixtures to them, and
// computes the weights of the first cut of the samples. `contrast_scale` is that of the frame's
// plan, 0: estimated for each box. The cut has the samples of `places` boxes, at least
// arrays.count.
void enqueue_box_start(const BoxArrays& arrays, const EnergyPlan& energy, int32_t contrast_scale,
                       uint32_t places, cudaStream_t stream);
// Fits the mixtures to cut number `cut` of the samples (0, 1, …), and computes the terminal weights
// of their next cut. Boxes that need no further cut keep their mixtures.
void enqueue_box_refit(const BoxArrays& arrays, int cut, cudaStream_t stream);
// Writes the capacities of the graph of the frame's cut.
void enqueue_box_weights(const BoxArrays& arrays, const ModelArrays& weights,
                         const EnergyPlan& energy, cudaStream_t stream);
// Writes task.labels and task.table from the mask of the frame's cut. If `host_statistics` is not
// null, also writes the number of foreground pixels there, with the cut's value from `statistics`.
// `sums` has been passed to enqueue_box_reset().
void enqueue_box_results(const BoxArrays& arrays, const FrameTask& task,
                         const Image<const uint8_t>& mask, BoxSums* sums,
                         const FrameStatistics* statistics, FrameStatistics* host_statistics,
                         cudaStream_t stream);

// Writes 255 to the pixels of `hidden` that this frame hides, and 0 to the others. `held` contains
// the number of frames for which each pixel stays hidden, see is_hidden(). Call after
// enqueue_model_update(), in the order of frames.
void enqueue_hiding(const CompositePlan& plan, const SceneState* state,
                    const Image<const uint8_t>& mask, const Image<uint8_t>& held,
                    const Image<uint8_t>& hidden, cudaStream_t stream);
// Grows the pixels of `mask` that are 255 by `radius` pixels in each direction, also diagonally.
// `scratch` has the mask's size.
void enqueue_mask_growth(const Image<uint8_t>& mask, int radius, const Image<uint8_t>& scratch,
                         cudaStream_t stream);
// Writes a mask with soft edges to `alpha`. `counts` is scratch memory of the mask's size;
// `feather` is in pixels.
void enqueue_mask_softening(const Image<const uint8_t>& mask, int feather,
                            const Image<uint8_t>& counts, const Image<uint8_t>& alpha,
                            cudaStream_t stream);
// Averages the picture over square cells. If `is_smoothed`, then smooths these averages over
// neighbouring cells. Writes one array of averages per colour component. `alpha` is the opacity of
// the foreground.
void enqueue_cell_means(const ColorCells& cells, bool is_smoothed, const ConstFrame& in,
                        const Image<const uint8_t>& alpha, const Image<uint16_t> (&means)[3],
                        cudaStream_t stream);
// Writes the composite of picture and replacement that `composition` describes.
void enqueue_composite(const Composition& composition, cudaStream_t stream);
// Writes the picture to `out` with `alpha` as its alpha channel, so that only foreground is
// visible.
void enqueue_cutout(const ConstFrame& in, const RgbDecoder& decoder,
                    const Image<const uint8_t>& alpha, const Frame& out, cudaStream_t stream);

}  // namespace regions::graphcutbg
