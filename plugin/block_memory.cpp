// GstAllocator, GstMemory and GstBufferPool over Block.
#include "plugin/block_memory.hpp"

#include <mutex>
#include <string>

#include "plugin/cuda_memory.hpp"
#include "plugin/debug.hpp"

namespace regions {
namespace {

constexpr const char* kPinnedType = "RegionsPinnedMemory";
constexpr const char* kDeviceType = "RegionsDeviceMemory";

struct BlockMemory {
  GstMemory parent;
  Block* block;
  Block* shadow;  // host copy of a device block, made when the CPU first maps it
  bool is_shown;  // the shadow holds what the block does
  std::mutex* mutex;
};

struct RegionsBlockAllocator {
  GstAllocator parent;
  std::shared_ptr<Backend>* backend;
  gboolean pinned;
};
using RegionsBlockAllocatorClass = GstAllocatorClass;

G_DEFINE_TYPE(RegionsBlockAllocator, block_allocator, GST_TYPE_ALLOCATOR)

RegionsBlockAllocator* owner(GstMemory* memory) {
  return reinterpret_cast<RegionsBlockAllocator*>(memory->allocator);
}

// Why this thread's last allocation failed: pools tell only that it did.
thread_local std::string why_no_memory;

bool on_device(GstMemory* memory) {
  const RegionsBlockAllocator* allocator = owner(memory);
  return !allocator->pinned && (*allocator->backend)->memory() == Memory::device;
}

GstMemory* block_alloc(GstAllocator* allocator, gsize size, GstAllocationParams* params) {
  auto* self = reinterpret_cast<RegionsBlockAllocator*>(allocator);
  try {
    const Backend::Entry entry(**self->backend);
    const gsize whole = size + params->prefix + params->padding;
    Block block =
        self->pinned ? (*self->backend)->allocate_pinned(whole) : (*self->backend)->allocate(whole);
    auto* memory = g_new0(BlockMemory, 1);
    memory->block = new Block(std::move(block));
    memory->mutex = new std::mutex;
    gst_memory_init(&memory->parent, params->flags, allocator, nullptr, whole, params->align,
                    params->prefix, size);
    return &memory->parent;
  } catch (const std::exception& error) {
    GST_ERROR("%s", error.what());
    why_no_memory = error.what();
    return nullptr;
  }
}

// A part of a memory; the whole one is its parent and owns the block.
GstMemory* block_share(GstMemory* memory, gssize offset, gssize size) {
  auto* self = reinterpret_cast<BlockMemory*>(memory);
  GstMemory* parent = memory->parent ? memory->parent : memory;
  auto* part = g_new0(BlockMemory, 1);
  part->block = self->block;
  part->shadow = nullptr;
  part->mutex = new std::mutex;
  const gsize bytes =
      size < 0 ? memory->size - static_cast<gsize>(offset) : static_cast<gsize>(size);
  gst_memory_init(&part->parent,
                  static_cast<GstMemoryFlags>(GST_MINI_OBJECT_FLAGS(parent) |
                                              GST_MINI_OBJECT_FLAG_LOCK_READONLY),
                  memory->allocator, parent, memory->maxsize, memory->align,
                  memory->offset + static_cast<gsize>(offset), bytes);
  return &part->parent;
}

void block_free(GstAllocator* allocator, GstMemory* memory) {
  auto* self = reinterpret_cast<BlockMemory*>(memory);
  {
    const Backend::Entry entry(**reinterpret_cast<RegionsBlockAllocator*>(allocator)->backend);
    if (!memory->parent) delete self->block;
    delete self->shadow;
  }
  delete self->mutex;
  g_free(self);
}

// The CPU maps device blocks read-only, as a copy. With GStreamer's CUDA flag a map gives the
// device address.
gpointer block_map(GstMemory* memory, gsize, GstMapFlags flags) {
  auto* self = reinterpret_cast<BlockMemory*>(memory);
  if (!on_device(memory) || (flags & cuda_map_flags(static_cast<GstMapFlags>(0)))) {
    return self->block->data();
  }
  if (flags & GST_MAP_WRITE) return nullptr;
  const std::lock_guard lock(*self->mutex);
  if (self->is_shown) return self->shadow->data();
  try {
    Backend& backend = **owner(memory)->backend;
    const Backend::Entry entry(backend);
    if (!self->shadow) self->shadow = new Block(backend.allocate_pinned(self->block->bytes()));
    const auto queue = backend.make_queue();
    queue->copy_bytes(self->block->data(), self->shadow->data(), self->block->bytes());
    queue->record();
    queue->wait();
    self->is_shown = true;
    return self->shadow->data();
  } catch (const std::exception& error) {
    GST_ERROR("%s", error.what());
    return nullptr;
  }
}

void block_unmap(GstMemory*) {}

// Called where a buffer is acquired for another frame.
void forget_shadow(GstBuffer* buffer) {
  auto* memory = reinterpret_cast<BlockMemory*>(gst_buffer_peek_memory(buffer, 0));
  const std::lock_guard lock(*memory->mutex);
  memory->is_shown = false;
}

void block_allocator_init(RegionsBlockAllocator* self) {
  self->backend = new std::shared_ptr<Backend>;
  self->parent.mem_map = block_map;
  self->parent.mem_unmap = block_unmap;
  self->parent.mem_share = block_share;
  GST_OBJECT_FLAG_SET(self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

void block_allocator_finalize(GObject* object) {
  delete reinterpret_cast<RegionsBlockAllocator*>(object)->backend;
  G_OBJECT_CLASS(block_allocator_parent_class)->finalize(object);
}

void block_allocator_class_init(RegionsBlockAllocatorClass* klass) {
  klass->alloc = block_alloc;
  klass->free = block_free;
  G_OBJECT_CLASS(klass)->finalize = block_allocator_finalize;
}

struct RegionsBlockPool {
  GstBufferPool parent;
};
using RegionsBlockPoolClass = GstBufferPoolClass;

G_DEFINE_TYPE(RegionsBlockPool, block_pool, GST_TYPE_BUFFER_POOL)

// Where a pool cannot make all of its buffers, GStreamer (seen with 1.22) forgets those it made.
gboolean block_pool_start(GstBufferPool* pool) {
  const auto* base = GST_BUFFER_POOL_CLASS(block_pool_parent_class);
  if (base->start(pool)) return TRUE;
  base->stop(pool);  // frees them
  return FALSE;
}

void block_pool_init(RegionsBlockPool*) {}

void block_pool_class_init(RegionsBlockPoolClass* klass) { klass->start = block_pool_start; }

GstBufferPool* make_pool(const std::shared_ptr<Backend>& backend, gboolean pinned, GstCaps* caps,
                         size_t bytes, unsigned min_buffers) {
  auto* allocator =
      static_cast<RegionsBlockAllocator*>(g_object_new(block_allocator_get_type(), nullptr));
  gst_object_ref_sink(allocator);
  *allocator->backend = backend;
  allocator->pinned = pinned;
  allocator->parent.mem_type = pinned ? kPinnedType : kDeviceType;

  // The picture pool lets upstream keep its rows as the caps say; other sizes come by GstVideoMeta.
  auto* pool = static_cast<GstBufferPool*>(g_object_new(block_pool_get_type(), nullptr));
  gst_object_ref_sink(pool);
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(bytes), min_buffers, 0);
  gst_buffer_pool_config_set_allocator(config, &allocator->parent, nullptr);
  gst_buffer_pool_set_config(pool, config);
  gst_object_unref(allocator);
  return pool;
}

}  // namespace

GstBufferPool* make_pinned_pool(const std::shared_ptr<Backend>& backend, GstCaps* caps,
                                size_t bytes, unsigned min_buffers) {
  return make_pool(backend, TRUE, caps, bytes, min_buffers);
}

GstBufferPool* make_device_pool(const std::shared_ptr<Backend>& backend, size_t bytes,
                                unsigned min_buffers) {
  return make_pool(backend, FALSE, nullptr, bytes, min_buffers);
}

MemoryAttempt::MemoryAttempt() { why_no_memory.clear(); }

MemoryError MemoryAttempt::error(const char* what) const {
  return MemoryError(std::string("no memory for ") + what + (why_no_memory.empty() ? "" : ": ") +
                     why_no_memory);
}

std::shared_ptr<GstBufferPool> activate(GstBufferPool* pool, const char* what) {
  const MemoryAttempt attempt;
  if (!gst_buffer_pool_set_active(pool, TRUE)) {
    const MemoryError error = attempt.error(what);
    gst_object_unref(pool);
    throw error;
  }
  return {pool, [](GstBufferPool* p) {
            gst_buffer_pool_set_active(p, FALSE);
            gst_object_unref(p);
          }};
}

GstBuffer* acquire(GstBufferPool* pool, const char* what) {
  GstBuffer* buffer = nullptr;
  const MemoryAttempt attempt;
  if (gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr) != GST_FLOW_OK) {
    throw attempt.error(what);
  }
  forget_shadow(buffer);
  return buffer;
}

bool is_pinned(GstBuffer* buffer) {
  return gst_buffer_n_memory(buffer) == 1 &&
         gst_memory_is_type(gst_buffer_peek_memory(buffer, 0), kPinnedType);
}

DeviceData device_data(GstBuffer* buffer) {
  if (gst_buffer_n_memory(buffer) != 1) return {};
  GstMemory* memory = gst_buffer_peek_memory(buffer, 0);
  if (!gst_memory_is_type(memory, kDeviceType)) return {};
  return {reinterpret_cast<BlockMemory*>(memory)->block->data(), owner(memory)->backend->get()};
}

}  // namespace regions
