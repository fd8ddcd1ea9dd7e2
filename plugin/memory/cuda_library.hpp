// GStreamer's library for CUDA (libgstcuda), looked up at run time, so that one plugin file loads
// where it is absent or of another version. Declared here is what we use of its public interface,
// which its headers (gst/cuda/gstcudacontext.h, gstcudamemory.h, gstcudastream.h,
// gstcudabufferpool.h, gstcudautils.h) have had since the version named.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

namespace regions {

// The public head of a GstCudaMemory, the same from 1.22 to 1.28.
struct CudaMemory {
  GstMemory memory;
  GstObject* context;  // a GstCudaContext
  GstVideoInfo info;
};

inline constexpr const char* kCudaContextType = "gst.cuda.context";
// Outside what the enumeration's own names span, which a constant expression may not be.
inline const auto kMapCuda = static_cast<GstMapFlags>(GST_MAP_FLAG_LAST << 1);
// Work on the memory's stream may still be under way. Since 1.24.
inline const auto kNeedSync = static_cast<GstMemoryFlags>(GST_MEMORY_FLAG_LAST << 2);

// Contexts are GstCudaContexts, streams GstCudaStreams.
struct CudaLibrary {
  gboolean (*load)();  // of the driver: without it every other call aborts
  void (*init_memory)();
  GType (*context_type)();
  GstObject* (*wrap)(void* handle, int device);
  void* (*handle)(GstObject* context);
  gboolean (*take_offer)(GstElement*, GstContext*, gint device_id, GstObject** context);
  gboolean (*answer)(GstElement*, GstQuery*, GstObject* context);
  GstContext* (*offer)(GstObject* context);
  gboolean (*is_memory)(GstMemory*);
  GstBufferPool* (*new_pool)(GstObject* context);

  // Since 1.24; null before, all of them or none.
  GstMiniObject* (*new_stream)(GstObject* context);
  void* (*stream_handle)(GstMiniObject* stream);
  GstMiniObject* (*stream_of)(CudaMemory*);  // borrowed; null for the default one
  void (*sync)(CudaMemory*);
  void (*set_stream)(GstStructure* pool_config, GstMiniObject* stream);

  // Since 1.26; null before.
  void (*set_stream_ordered)(GstStructure* pool_config, gboolean is_wanted);
};

// The library with its driver; null where either is absent. It stays until the process ends.
const CudaLibrary* cuda_library();

}  // namespace regions
