// Backends and queues for arrays in host memory and on CUDA devices.
#include "python/lane.hpp"

#include <string>

#if REGIONS_CUDA
#include "gpu/runtime/device.hpp"
#endif

namespace regions::python {
namespace {

std::shared_ptr<Backend> backend_for(const Place& place) {
  if (place.is_cpu()) return make_cpu_backend(place.threads);
#if REGIONS_CUDA
  return make_cuda_backend(place.device);
#else
  throw InputError("an array is on CUDA device " + std::to_string(place.device) +
                   ", but this build of gst_regions has no CUDA; copy the array to the host");
#endif
}

}  // namespace

Place place_of(const PlaceWords& words) {
  return {nb::cast<int>(words[0]), nb::cast<int>(words[1]), nb::cast<uintptr_t>(words[2])};
}

void Place::expects_holds(int type, int id) const {
  const bool is_on_host = type == nb::device::cpu::value;
  expects(is_cpu() ? is_on_host : type == nb::device::cuda::value && id == device,
          "the arrays of a call must all be in host memory, or all on the same CUDA device");
}

Lane::Lane(const Place& place) : backend_(backend_for(place)) {
  const Backend::Entry entry(*backend_);
  queue_ = place.is_cpu() ? make_immediate_queue(*backend_) : backend_->make_queue();
}

}  // namespace regions::python
