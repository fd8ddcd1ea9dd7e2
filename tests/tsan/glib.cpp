// Tells ThreadSanitizer about the locks of GLib, which takes them by system calls that it does not
// see, and about references that are counted in code which it did not compile. To be preloaded.
#include <dlfcn.h>
#include <glib-object.h>
#include <gst/gst.h>

extern "C" {
// Null in programs without it.
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
}

namespace {

void acquire(void* address) {
  if (__tsan_acquire) __tsan_acquire(address);
}
void release(void* address) {
  if (__tsan_release) __tsan_release(address);
}

// The function that a name stands for behind this file.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define TAKES(function, Lock)                               \
  void function(Lock* lock) {                               \
    static auto* const real = next<void(Lock*)>(#function); \
    real(lock);                                             \
    acquire(lock);                                          \
  }
#define TRIES(function, Lock)                                   \
  gboolean function(Lock* lock) {                               \
    static auto* const real = next<gboolean(Lock*)>(#function); \
    const gboolean taken = real(lock);                          \
    if (taken) acquire(lock);                                   \
    return taken;                                               \
  }
#define GIVES(function, Lock)                               \
  void function(Lock* lock) {                               \
    static auto* const real = next<void(Lock*)>(#function); \
    release(lock);                                          \
    real(lock);                                             \
  }
// What is given up may be freed by another thread.
#define DROPS(function, Counted)                              \
  void function(Counted counted) {                            \
    static auto* const real = next<void(Counted)>(#function); \
    release(reinterpret_cast<void*>(counted));                \
    acquire(reinterpret_cast<void*>(counted));                \
    real(counted);                                            \
  }

extern "C" {
TAKES(g_mutex_lock, GMutex)
TRIES(g_mutex_trylock, GMutex)
GIVES(g_mutex_unlock, GMutex)
TAKES(g_rec_mutex_lock, GRecMutex)
TRIES(g_rec_mutex_trylock, GRecMutex)
GIVES(g_rec_mutex_unlock, GRecMutex)
TAKES(g_rw_lock_reader_lock, GRWLock)
GIVES(g_rw_lock_reader_unlock, GRWLock)
TAKES(g_rw_lock_writer_lock, GRWLock)
GIVES(g_rw_lock_writer_unlock, GRWLock)
DROPS(g_object_unref, gpointer)
DROPS(gst_object_unref, gpointer)
DROPS(gst_mini_object_unref, GstMiniObject*)

// Queues lock within GLib.
void g_async_queue_push(GAsyncQueue* queue, gpointer item) {
  static auto* const real = next<void(GAsyncQueue*, gpointer)>("g_async_queue_push");
  release(queue);
  real(queue, item);
}
gpointer g_async_queue_pop(GAsyncQueue* queue) {
  static auto* const real = next<gpointer(GAsyncQueue*)>("g_async_queue_pop");
  gpointer item = real(queue);
  acquire(queue);
  return item;
}
gpointer g_async_queue_try_pop(GAsyncQueue* queue) {
  static auto* const real = next<gpointer(GAsyncQueue*)>("g_async_queue_try_pop");
  gpointer item = real(queue);
  acquire(queue);
  return item;
}
gpointer g_async_queue_timeout_pop(GAsyncQueue* queue, guint64 timeout) {
  static auto* const real = next<gpointer(GAsyncQueue*, guint64)>("g_async_queue_timeout_pop");
  gpointer item = real(queue, timeout);
  acquire(queue);
  return item;
}

// A buffer that comes back to its pool was given up by unref.
GstFlowReturn gst_buffer_pool_acquire_buffer(GstBufferPool* pool, GstBuffer** buffer,
                                             GstBufferPoolAcquireParams* how) {
  static auto* const real =
      next<GstFlowReturn(GstBufferPool*, GstBuffer**, GstBufferPoolAcquireParams*)>(
          "gst_buffer_pool_acquire_buffer");
  const GstFlowReturn flow = real(pool, buffer, how);
  if (flow == GST_FLOW_OK) acquire(*buffer);
  return flow;
}

void g_cond_wait(GCond* condition, GMutex* lock) {
  static auto* const real = next<void(GCond*, GMutex*)>("g_cond_wait");
  release(lock);
  real(condition, lock);
  acquire(lock);
}
gboolean g_cond_wait_until(GCond* condition, GMutex* lock, gint64 end) {
  static auto* const real = next<gboolean(GCond*, GMutex*, gint64)>("g_cond_wait_until");
  release(lock);
  const gboolean signalled = real(condition, lock, end);
  acquire(lock);
  return signalled;
}
}
