// Looking up GStreamer's library for CUDA.
#include "plugin/memory/cuda_library.hpp"

#include <dlfcn.h>

#include <optional>

#include "plugin/memory/debug.hpp"

namespace regions {
namespace {

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

// Its types are registered with GLib, so it must never go. Symbols are taken from it by name alone,
// and plugins that link to it share it in any case.
std::optional<CudaLibrary> look_up() {
  void* library = dlopen("libgstcuda-1.0.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    GST_INFO("frames in CUDA memory cannot be taken: %s", dlerror());
    return {};
  }
  CudaLibrary found = {};
  if (!find(library, "gst_cuda_load_library", found.load) ||
      !find(library, "gst_cuda_memory_init_once", found.init_memory) ||
      !find(library, "gst_cuda_context_get_type", found.context_type) ||
      !find(library, "gst_cuda_context_new_wrapped", found.wrap) ||
      !find(library, "gst_cuda_context_get_handle", found.handle) ||
      !find(library, "gst_cuda_handle_set_context", found.take_offer) ||
      !find(library, "gst_cuda_handle_context_query", found.answer) ||
      !find(library, "gst_context_new_cuda_context", found.offer) ||
      !find(library, "gst_is_cuda_memory", found.is_memory) ||
      !find(library, "gst_cuda_buffer_pool_new", found.new_pool)) {
    GST_WARNING("frames in CUDA memory cannot be taken: %s", dlerror());
    return {};
  }
  const bool has_streams =
      find(library, "gst_cuda_stream_new", found.new_stream) &&
      find(library, "gst_cuda_stream_get_handle", found.stream_handle) &&
      find(library, "gst_cuda_memory_get_stream", found.stream_of) &&
      find(library, "gst_cuda_memory_sync", found.sync) &&
      find(library, "gst_buffer_pool_config_set_cuda_stream", found.set_stream);
  if (!has_streams) found.new_stream = nullptr;
  find(library, "gst_buffer_pool_config_set_cuda_stream_ordered_alloc", found.set_stream_ordered);
  if (!found.load()) return {};
  found.init_memory();
  return found;
}

}  // namespace

const CudaLibrary* cuda_library() {
  static const std::optional<CudaLibrary> found = look_up();
  return found ? &*found : nullptr;
}

}  // namespace regions
