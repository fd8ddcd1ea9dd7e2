// graphcutbg on the CPU: the memory of the model, the memory of one frame, and the passes over a
// frame that graphcutbg.cpp calls.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "core/graphcutbg/boxes.hpp"
#include "core/graphcutbg/composite.hpp"
#include "core/graphcutbg/energy.hpp"
#include "core/graphcutbg/model_update.hpp"
#include "core/graphcutbg/stored_model.hpp"
#include "core/workers.hpp"
#include "cpu/simd.hpp"

namespace regions::graphcutbg {

// The background model and the weights of the cut. Frames use this state one after another.
struct ModelState {
  Size size;
  Neighbours neighbours = Neighbours::eight;
  std::vector<uint32_t> current, background;  // [height][width], packed colours
  std::vector<uint32_t> model;                // the modes of all pixels, stored as in Model
  // [height][width], capacities of the links to the terminals and to the neighbours.
  std::vector<int32_t> terminal, right, down, down_right, down_left;
  std::vector<ColorHistograms> colors;  // one element, the histograms of the whole picture
  PictureCells cells;
  // [cells.rows][cells.columns], see ModelArrays.
  std::vector<OutlineSums> outline;
  std::vector<uint32_t> sparks[2];
  std::vector<uint32_t> excused[2];
  std::vector<int32_t> sparkle, calm;
  std::vector<Survey> surveys;       // [row_chunks], survey of each chunk of rows
  std::vector<uint32_t> foreground;  // [row_chunks], number of foreground pixels in a chunk
  std::vector<int64_t> cut_values;   // [row_chunks], part of the cut's value from a chunk
  std::vector<uint8_t> held;         // [height][width], number of frames to hide, see is_hidden()
  Scene scene;
  SceneWatch watch;
  FramePlan frame;    // plan of the current frame
  EnergyPlan energy;  // parameters of the current frame's energy

  void allocate(Size picture, Neighbours neighbourhood, int row_chunks);
  // Forgets the sparkle and the calm of all cells.
  void clear_cells();
  ModelArrays arrays(const uint8_t* excluded);
  // Returns the graph of the current frame. If `links` is not null, the cut gets the capacities of
  // links from it instead of reading the arrays `right`, `down`, `down_right` and `down_left`.
  GridGraph graph(const LinkSource* links) const;
};

// The memory for source=boxes, except that of the frame's cut, which is in ModelState.
struct BoxState {
  std::vector<BoxModel> models;  // [2][kMaxBoxes], of this frame and of the last one
  std::vector<uint16_t> owner;   // [height][width], see BoxArrays
  // [kMaxBoxes][kSampleSide][kSampleSide], see BoxArrays
  std::vector<uint32_t> samples;
  std::vector<int32_t> terminal, right, down, down_right, down_left;
  std::vector<uint8_t> mask;

  void allocate(Size picture, Neighbours neighbours);
  // `half` is that of BoxTracks.
  BoxArrays arrays(std::span<const ObjectBox> boxes, size_t half, ModelState& model,
                   const uint8_t* excluded);
  // The graph of the samples of the first `count` boxes.
  GridGraph sample_graph(uint32_t count) const;
  Image<uint8_t> sample_mask(uint32_t count) {
    return {mask.data(), kSampleSide, kSampleSide * static_cast<int>(count), kSampleSide};
  }
};

// The memory of one in-flight frame.
struct FrameWorkspace {  // NOLINT(bugprone-reserved-identifier): implicit copy
  // [height][width]: the mask of the cut, the pixels to hide (255, else 0), the counts of
  // count_across(), and the softened mask.
  std::vector<uint8_t> mask, hidden, counts, alpha;
  std::vector<uint64_t> cell_sums;     // memory of ColorCells
  std::vector<uint32_t> cell_weights;  // memory of ColorCells
  // [component][row][column] of the cells of ColorCells, see Composition::means.
  std::vector<uint16_t> means[3];
  std::vector<ObjectBox> boxes;        // [kMaxBoxes] with source=boxes; box_count are used
  size_t box_count = 0, box_half = 0;  // see BoxTracks
  CutResult sample_report;             // of the last cut of samples
  GraphCutResult report;

  // `min_cell` is the side of the smallest cells over which colours are averaged (pixels).
  void allocate(Size picture, int min_cell = 1);
};

// Converts row y of the frame to packed colours, as color_at() does for single pixels.
void read_row(const ConstFrame& frame, int y, uint32_t* colors);

// Adds row y to the survey of a frame, as survey_pixel() does for single pixels. Row y + 1 must
// have been read.
void survey_row(const ModelArrays& arrays, const Scene& scene, const SurveyGrid& grid, int y,
                Survey& survey);

// Adds to a sum that several threads change. Relaxed order suffices, because integer sums do not
// depend on the order.
REGIONS_INLINE void add_atomically(uint32_t* sum, uint32_t amount) {
  std::atomic_ref(*sum).fetch_add(amount, std::memory_order_relaxed);
}

// The passes over the pixels of a row. They give the same results as the functions of
// core/graphcutbg for single pixels, but process `lanes` pixels at a time in a SIMD register.
struct RowPasses {
  int lanes;
  // Computes the terminal weights of row y.
  void (*compute_terminals)(const ModelArrays& arrays, const ConstFrame& mask,
                            const FramePlan& frame, const EnergyPlan& plan, int y);
  // Computes the link capacities of pixels first..last - 1 of row y.
  void (*compute_links)(const ModelArrays& arrays, const FramePlan& frame, const EnergyPlan& plan,
                        int y, int first, int last, const LinkRow& to);
  // Updates the model with row y, except for the counts of colours. `foreground` is the row of the
  // cut's mask.
  void (*update_model)(const ModelArrays& arrays, const FramePlan& frame, const uint8_t* foreground,
                       int y);
};

// Returns the variants of the passes that this machine supports, the fastest variant last.
std::span<const RowPasses> row_passes();

// Reads the samples of all boxes, fits the mixtures to them, and computes the weights of the first
// cut of the samples. `contrast_scale` is that of the frame's plan, 0: estimated for each box.
void start_boxes(const BoxArrays& arrays, const EnergyPlan& plan, int32_t contrast_scale,
                 const Workers& workers);
// Fits the mixtures to cut number `cut` of the samples (0, 1, …), and computes the terminal weights
// of their next cut. Boxes that need no further cut keep their mixtures.
void refit_boxes(const BoxArrays& arrays, int cut, const Workers& workers);
// Computes the terminal weights of the frame's cut.
void compute_box_terminals(const BoxArrays& arrays, const Workers& workers);
// Computes the link capacities of the frame's cut, like RowPasses::compute_links.
void compute_box_links(const BoxArrays& arrays, const EnergyPlan& plan, int y, int first, int last,
                       const LinkRow& to);
// Writes task.labels and task.table from the mask of the frame's cut.
void write_boxes(const FrameTask& task, const BoxArrays& arrays, const Image<const uint8_t>& mask,
                 const Workers& workers);

// Pictures with which an output may replace parts of a frame. A null picture is not needed.
struct Replacements {
  const uint16_t* image;       // [3][height][width], see Composition
  const uint32_t* background;  // [height][width], see Composition
};

// Writes the pixels that this frame hides to workspace.hidden, and updates model.held.
void hide_foreground(const CompositePlan& plan, ModelState& model, FrameWorkspace& workspace,
                     const Workers& workers);
// Writes task.out and task.foreground from the mask and the hidden pixels in the workspace.
void composite_output(const FrameTask& task, const CompositePlan& plan,
                      const Replacements& replacements, FrameWorkspace& workspace,
                      const Workers& workers);

}  // namespace regions::graphcutbg
