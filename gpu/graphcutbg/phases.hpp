// The phases of one frame on CUDA, as graphcutbg.cpp puts them on a stream.
#pragma once

#include "core/graphcutbg/pixel.hpp"
#include "core/graphcutbg/view.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::graphcut {

// What the frames share, in device memory.
struct DeviceScene {
  Survey survey;
  Scene scene;
  FramePlan frame;
  uint32_t looked;  // blocks that have added to the survey
  uint32_t taught;  // blocks that have told the model
};

// What comes back of a frame.
struct DeviceReport {
  long long cut_value;
  uint32_t foreground;  // pixels
  uint32_t restarted;
};

// The model starts anew, from `picture` if it is not null.
void start_again(const Canvas& canvas, const uint32_t* picture, DeviceScene* scene,
                 cudaStream_t stream);
// Reads the frame's colours and surveys it, then works out the frame's plan.
void look_at(const Canvas& canvas, const ConstFrame& in, const ScenePlan& plan, DeviceScene* scene,
             DeviceReport* report, cudaStream_t stream);
// Works out what the colours seen so far say of foreground and background.
void settle_colors(const Canvas& canvas, cudaStream_t stream);
// Writes the weights of the cut.
void weigh_all(const Canvas& canvas, const ConstFrame& mask, const EnergyPlan& plan,
               const DeviceScene* scene, cudaStream_t stream);
// Updates the model by the cut's mask, counts its foreground, and tells the report, `told` in
// pinned memory.
void teach_all(const Canvas& canvas, const Image<const uint8_t>& mask, const EnergyPlan& plan,
               DeviceScene* scene, DeviceReport* report, DeviceReport* told, cudaStream_t stream);
// Adds up the value of the cut that the mask makes.
void value_cut(const Canvas& canvas, const Image<const uint8_t>& mask, DeviceReport* report,
               cudaStream_t stream);

// A soft edge. `counts` is scratch of the mask's size.
void soften_mask(const Image<const uint8_t>& mask, int radius, const Image<uint8_t>& counts,
                 const Image<uint8_t>& alpha, cudaStream_t stream);
// Averages the background over cells, one component after the other.
void blur_cells(const Cells& cells, const ConstFrame& in, const Image<const uint8_t>& mask,
                const Image<uint16_t> (&smooth)[3], cudaStream_t stream);
void paint_all(const Painting& painting, cudaStream_t stream);
void cut_out_all(const ConstFrame& in, const RgbDecoder& decoder, const Image<const uint8_t>& alpha,
                 const Frame& out, cudaStream_t stream);

}  // namespace regions::graphcut
