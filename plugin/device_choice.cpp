// Which backend an element runs on.
#include "plugin/device_choice.hpp"

#include <map>
#include <mutex>

#include "plugin/debug.hpp"
#if REGIONS_CUDA
#include "gpu/device/device.hpp"
#endif

namespace regions {
namespace {

// One backend a context, or number of threads, alive as long as an element uses it.
template <class Key, class Make>
std::shared_ptr<Backend> shared_backend(Key key, Make make) {
  static std::mutex mutex;
  static std::map<Key, std::weak_ptr<Backend>> backends;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Backend> backend = backends[key].lock();
  if (!backend) backends[key] = backend = make();
  return backend;
}

std::shared_ptr<Backend> cuda_backend([[maybe_unused]] int device, [[maybe_unused]] void* context) {
#if REGIONS_CUDA
  return shared_backend(context, [&] { return make_cuda_backend(device, context); });
#else
  return nullptr;  // CudaContext has thrown
#endif
}

}  // namespace

std::shared_ptr<Backend> choose_backend(GstElement* element, const FilterSettings& settings,
                                        CudaContext& context) {
  if (settings.device != Device::cpu) {
    try {
      void* handle = context.acquire(element, settings.cuda_device_id);
      return cuda_backend(context.device(), handle);
    } catch (const std::exception& error) {
      context.release();
      if (settings.device == Device::cuda) throw DeviceError(error.what());
      GST_INFO_OBJECT(element, "running on the CPU: %s", error.what());
    }
  }
  const int threads = settings.cpu_threads;
  return shared_backend(threads, [&] { return make_cpu_backend(threads); });
}

std::shared_ptr<Backend> backend_on(const CudaContextRef& context) {
  return cuda_backend(device_of(context.get()), handle_of(context.get()));
}

}  // namespace regions
