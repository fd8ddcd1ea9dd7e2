// Foreground segmentation by graph cuts: parameters and the algorithm's interface. The other
// headers of this folder contain the arithmetic that both backends share.
#pragma once

#include <string>
#include <vector>

#include "core/algorithm.hpp"
#include "core/field.hpp"
#include "core/maxflow/maxflow.hpp"
#include "core/scene_change.hpp"

namespace regions {

enum class GraphCutOutput : uint8_t { overlay, mask, cutout, replace, none, background };
enum class GraphCutSource : uint8_t { image, mask, both, boxes };
enum class MaskFrom : uint8_t { automatic, segmentation, alpha };
enum class Preset : uint8_t { none, motion };
enum class Replaced : uint8_t { background, foreground };
enum class Replacement : uint8_t { color, image, blur, pixelate, model };

// The properties of the element. The parameter table in graphcutbg.cpp documents each of them.
struct GraphCutBgParams {
  Preset preset = Preset::none;
  GraphCutOutput output = GraphCutOutput::overlay;
  GraphCutSource source = GraphCutSource::image;

  // Parameters of the energy.
  double lambda = 22;
  double sigma = 0;
  Neighbours neighbours = Neighbours::four;
  double var_threshold = 12;
  double shadow = 1;
  double shadow_darkest = 0.35;
  bool foreground_colors = false;

  // Parameters of the background model.
  double learning_rate = 0.02;
  int history = 500;
  bool freeze = false;
  std::string model_location;
  std::string background_image;

  // Pixels whose label the user or an attached mask determines.
  std::string exclusion_image;
  MaskFrom mask_from = MaskFrom::automatic;
  std::string mask_values;
  std::string box_labels;
  double box_confidence = 0;
  int mask_foreground = 250;
  int mask_background = 5;

  // Parameters of the cut.
  bool warm_start = false;
  int max_iterations = 0;
  int64_t time_budget = -1;
  bool verify = false;  // for tests: GraphCutResult::cut_value is computed

  // Parameters of the output picture.
  int feather = 0;
  Argb color = {0xFF20E060};
  double opacity = 0.5;
  Replaced replace = Replaced::background;
  Replacement replace_with = Replacement::blur;
  Argb replace_color = {0xFF00B140};
  std::string replace_image;
  int blur = 24;
  int pixelate = 16;
  int grow = 8;
  int hold = 10;
};

namespace graphcutbg {
using Params = GraphCutBgParams;  // the name that meson.build's list of algorithms requires
}

std::span<const Field> fields_of(const GraphCutBgParams&);
// The property values that a preset sets.
std::span<const PresetValue> preset_values_of(Preset preset);
Output output_of(const GraphCutBgParams& params);
// Derives the fields of a setup from the parameters.
void plan(const GraphCutBgParams& params, Setup& setup);

// Pictures that the user provides once for the stream. Each has the name of its property.
enum class GraphCutPicture : uint8_t {
  background_image,  // initial background of the model
  replace_image,     // new content for replace-with=image
  // Bright pixels (at least 128 of 255) are always background and do not update the model.
  exclusion_image
};

// Maximum number of boxes of a frame for source=boxes. Further boxes are ignored.
inline constexpr uint32_t kMaxBoxes = 256;
// With source=boxes, FrameTask::attached contains the boxes around the objects of the frame. Only
// left, top, right, bottom (pixels of the frame, inclusive) and track (0: unknown) are read. Box i
// of the list has the number i + 1, whether other boxes are empty or not. Boxes are clipped to the
// frame. An empty box (right < left, bottom < top, or outside the frame) has no object.
//
// Pixels outside all boxes and pixels of the exclusion picture are background. A pixel in several
// boxes belongs to the box whose centre is nearest, where distances along each axis are measured in
// sides of the clipped box. If two boxes are equally near, it belongs to the smaller number. For
// each box, mixtures of Gaussians model the colours of the object and of its surroundings, a margin
// outside all boxes. The cut decides which pixels of the box belong to the object.
//
// Results: `foreground` is 255 in all objects. `labels`, if requested, is the number of the box in
// its object, and 0 elsewhere. `table`, if requested, gets one record per box, in the order of the
// boxes: `id` is the number of the box and `track` that of the list. A box without an object has a
// record with the area 0 and right = left - 1.
//
// Memory for boxes is allocated only if prepare() has announced source=boxes.

// Results of a frame, valid after its work is done.
struct GraphCutResult {
  CutResult cut;
  // Capacity of the mask's cut, computed from the weights if `verify` is set; otherwise -1.
  int64_t cut_value = -1;
  uint32_t foreground = 0;  // number of foreground pixels; 0 while the scene changes
  uint32_t pixels = 0;      // number of pixels
  // The change of the scene in this frame. A frame with a change has no foreground, except with
  // the parameter `freeze`.
  SceneChange change = SceneChange::none;
  // True if the model restarted with this frame, because the light or the camera changed the whole
  // picture.
  bool restarted = false;
};

// The interface that make_algorithm<GraphCutBgParams, …>() returns. The model for frame i + 1 is
// the model for frame i, updated by the cut of frame i. This holds for any assignment of frames to
// slots and queues, because enqueue() is called in frame order.
//
// Without a background picture or a stored model, the first frame becomes the model, and all its
// pixels are background. During the first `history` frames, colours that are visible in most frames
// become background.
class GraphCutBg : public Algorithm<GraphCutBgParams> {
 public:
  // Sets a picture that is in host memory. It must have the size of the frames, in any format
  // except labels32. An empty picture removes the previous one. Call after configure(), while no
  // frame is in flight. Pictures survive reset() but not configure(). Throws InputError for a wrong
  // size.
  virtual void set_picture(GraphCutPicture which, const ConstFrame& picture) = 0;

  // Returns the model as bytes, which restore() can read on any backend and machine. Call while no
  // frame is in flight. Returns an empty vector before the first frame.
  virtual std::vector<std::byte> state() = 0;
  // Restores a model. Call after configure(). Throws InputError for another version or frame size;
  // the current model then stays unchanged.
  virtual void restore(std::span<const std::byte> state) = 0;

  // The result of the last frame in this slot, valid after the queue's wait() has returned.
  virtual GraphCutResult result(int slot) const = 0;
};

// Whether attached masks, or the background model, determine the foreground.
inline bool reads_mask(const GraphCutBgParams& params) {
  return params.source == GraphCutSource::mask || params.source == GraphCutSource::both;
}
inline bool reads_model(const GraphCutBgParams& params) {
  return params.source == GraphCutSource::image || params.source == GraphCutSource::both;
}

// Returns the mask of a frame: task.mask, or a view of the alpha channel for mask_from=alpha. The
// latter throws InputError if the format has no alpha channel.
ConstFrame attached_mask_of(const FrameTask& task, const GraphCutBgParams& params);
// Returns the numbers in a list such as "1, 15". Throws SettingsError if the text is something
// else.
std::vector<uint32_t> numbers_in(const std::string& list);
// Returns the names in a list such as "person, traffic light". Throws SettingsError if a name is
// empty.
std::vector<std::string> names_in(const std::string& list);

// Checks that both backends share. They throw InputError if the setup, frame or parameters are
// unsuitable.
void expects_cuttable(const Setup& setup);
void expects_cuttable(const Setup& setup, const FrameTask& task, const GraphCutBgParams& params);

}  // namespace regions
