// The choice of the backend that an element runs on.
#include "plugin/stream/device_choice.hpp"

#include <map>
#include <mutex>

#include "plugin/memory/debug.hpp"
#if REGIONS_CUDA
#include "gpu/runtime/device.hpp"
#endif

namespace regions {
namespace {

// One backend per context, or per number of threads. It lives as long as an element uses it.
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

std::shared_ptr<Backend> cpu_backend(int threads) {
  return shared_backend(threads, [&] { return make_cpu_backend(threads); });
}

}  // namespace

std::shared_ptr<Backend> fall_back(GstElement* element, const FilterSettings& settings,
                                   CudaContext& context, const std::exception& error) {
  context.release();
  if (dynamic_cast<const NoDeviceError*>(&error)) {
    GST_INFO_OBJECT(element, "running on the CPU: %s", error.what());
  } else {
    const bool lacks_memory = dynamic_cast<const MemoryError*>(&error) != nullptr;
    const int code = lacks_memory ? GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_FAILED;
    gst_element_message_full(
        element, GST_MESSAGE_WARNING, GST_RESOURCE_ERROR, code,
        g_strdup_printf("device=auto runs on the CPU: %s", error.what()),
        g_strdup("The element tries the GPU again when it next leaves the state NULL. device=cpu "
                 "avoids this warning, device=cuda makes it an error."),
        __FILE__, GST_FUNCTION, __LINE__);
  }
  return cpu_backend(settings.cpu_threads);
}

std::shared_ptr<Backend> choose_backend(GstElement* element, const FilterSettings& settings,
                                        CudaContext& context) {
  if (settings.device == Device::cpu) return cpu_backend(settings.cpu_threads);
  try {
    void* handle = context.acquire(element, settings.cuda_device_id);
    return cuda_backend(context.device(), handle);
  } catch (const std::exception& error) {
    if (settings.device != Device::cuda) return fall_back(element, settings, context, error);
    context.release();
    if (dynamic_cast<const MemoryError*>(&error)) throw;
    throw DeviceError(error.what());
  }
}

std::shared_ptr<Backend> backend_on(const CudaContextRef& context) {
  return cuda_backend(device_of(context.get()), handle_of(context.get()));
}

}  // namespace regions
