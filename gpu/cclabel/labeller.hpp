// Factories of the labellers on CUDA. cclabel.cpp implements make_labeller(), and chooses for each
// stream whether to use the labeller of folder volume or of folder propagation. Each folder
// implements its factory.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/label_input.hpp"

namespace regions::cclabel {

// Makes a labeller of images and volumes that chooses the method itself. It does not support
// sliding windows; window.cu adds them.
std::unique_ptr<CcLabel> make_labeller(std::shared_ptr<Backend> backend);

// Labels volumes, several thresholds at once, or background regions, by union-find within and
// between tiles. The object owns the buffers of all in-flight frames.
class VolumeLabeller {
 public:
  virtual ~VolumeLabeller() = default;

  // Allocates buffers that are large enough for every connectivity. Throws InputError if there are
  // too many voxels or slices. Must be called before enqueue().
  virtual void configure(const Setup& setup) = 0;
  // Enqueues all kernels that label the frame and write the task's outputs. Neither allocates nor
  // waits. task.slot is the index of the in-flight frame, below Setup::slots. `input` selects the
  // compared values. Its level is ignored, because the thresholds come from `params`. Throws
  // InputError if the criterion is not `binary`, or if an overlay is requested.
  virtual void enqueue(const FrameTask& task, const LabelInput& input, const CcLabelParams& params,
                       cudaStream_t stream) = 0;
};

// Returns whether union-find on streams with this setup needs a VolumeLabeller.
inline bool needs_volume_labeller(const Setup& setup) {
  return setup.depth > 1 || setup.layers > 1 || setup.has_background;
}
std::unique_ptr<VolumeLabeller> make_volume_labeller(std::shared_ptr<Backend> backend);

// Makes a labeller by Method::propagation (GTC 2010 S12218, GTC 2013 S3193), for images and
// volumes, or by Method::sweep (GTC 2015), for volumes with connectivity=26 and a width of at most
// 1024 voxels. Throws InputError for any other method.
std::unique_ptr<CcLabel> make_propagation(std::shared_ptr<Backend> backend, Method method);

}  // namespace regions::cclabel
