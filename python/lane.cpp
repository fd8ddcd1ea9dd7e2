// Backends and queues for arrays of either kind of memory.
#include "python/lane.hpp"

#include <string>

#if REGIONS_CUDA
#include "gpu/device/device.hpp"
#endif

namespace regions::python {
namespace {

std::shared_ptr<Backend> backend_for(const Place& place) {
  if (place.is_cpu()) return make_cpu_backend(place.threads);
#if REGIONS_CUDA
  return make_cuda_backend(place.device);
#else
  throw InputError("arrays on a GPU: this build of gst_regions is without CUDA");
#endif
}

}  // namespace

Place place_of(const PlaceWords& words) {
  return {nb::cast<int>(words[0]), nb::cast<int>(words[1]), nb::cast<uintptr_t>(words[2])};
}

void Place::expects_holds(int type, int id) const {
  const bool is_on_host = type == nb::device::cpu::value;
  expects(is_cpu() ? is_on_host : type == nb::device::cuda::value && id == device,
          "arrays of one call lie in different memories");
}

Lane::Lane(const Place& place) : backend_(backend_for(place)) {
  const Backend::Entry entry(*backend_);
  queue_ = place.is_cpu() ? make_immediate_queue(*backend_) : backend_->make_queue();
}

}  // namespace regions::python
