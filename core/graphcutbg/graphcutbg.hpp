// Foreground by graph cuts: parameters, and what the algorithm offers beside frames. The arithmetic
// both backends share stands in core/graphcutbg/.
#pragma once

#include <string>
#include <vector>

#include "core/field.hpp"
#include "core/implied.hpp"
#include "core/maxflow/maxflow.hpp"
#include "core/output.hpp"

namespace regions {

enum class GraphCutOutput : uint8_t { overlay, mask, cutout, replace, none };
enum class GraphCutSource : uint8_t { image, mask, both };
enum class Preset : uint8_t { none, motion };
enum class Replacement : uint8_t { color, image, blur };

struct GraphCutBgParams {
  Preset preset = Preset::none;
  GraphCutOutput output = GraphCutOutput::overlay;
  GraphCutSource source = GraphCutSource::image;

  // Energy.
  double lambda = 22;
  double sigma = 0;
  Neighbours neighbours = Neighbours::four;
  double var_threshold = 12;
  double shadow = 1;
  double shadow_darkest = 0.35;
  bool foreground_colors = false;

  // Background model.
  double learning_rate = 0.02;
  int64_t history = 500;
  bool freeze = false;
  std::string model_location;
  std::string background_image;

  // What is known already.
  std::string exclusion_image;
  int mask_foreground = 250;
  int mask_background = 5;

  // The cut.
  bool warm_start = false;
  int max_iterations = 0;
  int64_t time_budget = -1;
  bool verify = false;

  // What the output shows.
  int feather = 0;
  Argb color = {0xFF20E060};
  double opacity = 0.5;
  Replacement replace_with = Replacement::blur;
  Argb replace_color = {0xFF00B140};
  std::string replace_image;
  int blur = 24;
};

namespace graphcutbg {
using Params = GraphCutBgParams;  // by the name that stands in meson.build's list
}

std::span<const Field> fields_of(const GraphCutBgParams&);
// Properties of the element that a preset sets.
std::span<const Implied> implied_by(Preset preset);
Output output_of(const GraphCutBgParams& params);
// What the parameters make of a setup.
void plan(const GraphCutBgParams& params, Setup& setup);

// Pictures that a user gives once, not with each frame.
enum class GraphCutPicture : uint8_t {
  background,   // the model starts from it instead of from the first frames
  replacement,  // what replace-with=image shows behind the foreground
  exclusion     // bright pixels (128 of 255 or more) are background and teach nothing
};

// What is known of a frame when its work is done.
struct GraphCutReport {
  CutReport cut;
  int64_t cut_value = -1;   // of the mask, from the weights as they were built; -1 unless `verify`
  uint32_t foreground = 0;  // pixels
  uint32_t pixels = 0;      // of the whole frame
  // The picture changed as a whole (light, camera) and the model starts anew with this frame.
  bool restarted = false;
};

// What make_algorithm<GraphCutBgParams, …>() makes. Frame i + 1's model is frame i's, updated by
// frame i's cut, whatever slots and queues the frames use: enqueue() is called in their order.
//
// The first frame becomes the model (unless a background image or a stored model is there): all of
// it is background. Until `history` frames are seen, what stays for most of them is background.
class GraphCutBg : public Algorithm<GraphCutBgParams> {
 public:
  // After configure(), with no frame under way: a picture in host memory, in any format but
  // labels32, of the frames' size. An empty one takes it away. Pictures outlive reset(), not
  // configure(). Throws InputError for another size.
  virtual void set_picture(GraphCutPicture which, const ConstFrame& picture) = 0;

  // The model as bytes that restore() reads on any backend of any machine, with no frame under way.
  // Empty before the first frame.
  virtual std::vector<std::byte> state() = 0;
  // After configure(). Throws InputError for bytes of another version or for frames of another
  // size; the model stays as it was then.
  virtual void restore(std::span<const std::byte> state) = 0;

  // Of the slot's last frame, once its queue's wait() has returned.
  virtual GraphCutReport report(int slot) const = 0;
};

// What both backends refuse: throws InputError.
void expects_cuttable(const Setup& setup);
void expects_cuttable(const Setup& setup, const Job& job, const GraphCutBgParams& params);

}  // namespace regions
