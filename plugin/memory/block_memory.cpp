// A GstAllocator and a GstBufferPool for memory that a backend's Block owns.
#include "plugin/memory/block_memory.hpp"

#include <mutex>
#include <string>

#include "plugin/memory/cuda_memory.hpp"
#include "plugin/memory/gst_object.hpp"

namespace regions {
namespace {

// Memory types (GstMemory::allocator->mem_type).
constexpr const char* kPinnedType = "RegionsPinnedMemory";
constexpr const char* kDeviceType = "RegionsDeviceMemory";
constexpr const char* kSmallMapType = "RegionsSmallMap";

struct BlockMemory {
  GstMemory parent;
  Block* block;
  // Host memory that readers on the CPU map: a copy of the device block, or the small map enlarged
  // to the size of the whole picture. It is allocated when a reader first maps the memory.
  Block* host_copy;
  bool is_copy_current;  // host_copy has the content of the current frame
  bool is_copy_changed;  // host_copy of a small map was mapped for writing
  WorkArea* area;        // the work area of a small map; null for other memory types
  std::mutex* mutex;     // guards host_copy, is_copy_current and is_copy_changed
};

struct RegionsBlockAllocator {
  GstAllocator parent;
  std::shared_ptr<Backend>* backend;
  gboolean is_pinned;
  const Layout* small_map;  // the layout of small maps; null for other memory types
  WorkArea* area;           // the initial work area of small maps; null for other memory types
};
using RegionsBlockAllocatorClass = GstAllocatorClass;

G_DEFINE_TYPE(RegionsBlockAllocator, block_allocator, GST_TYPE_ALLOCATOR)

RegionsBlockAllocator* allocator_of(GstMemory* memory) {
  return reinterpret_cast<RegionsBlockAllocator*>(memory->allocator);
}

// The reason why this thread's last allocation failed. GstBufferPool does not report it.
thread_local std::string allocation_error;

bool is_on_device(GstMemory* memory) {
  const RegionsBlockAllocator* allocator = allocator_of(memory);
  return !allocator->is_pinned && (*allocator->backend)->memory() == Memory::device;
}

GstMemory* block_alloc(GstAllocator* allocator, gsize size, GstAllocationParams* params) {
  auto* self = reinterpret_cast<RegionsBlockAllocator*>(allocator);
  try {
    const Backend::Entry entry(**self->backend);
    const gsize padded_size = size + params->prefix + params->padding;
    const gsize bytes =
        self->small_map ? self->area->work.area() * self->small_map->sample_bytes : padded_size;
    Block block = self->is_pinned ? (*self->backend)->allocate_pinned(bytes)
                                  : (*self->backend)->allocate(bytes);
    auto* memory = g_new0(BlockMemory, 1);
    memory->block = new Block(std::move(block));
    memory->mutex = new std::mutex;
    if (self->small_map) memory->area = new WorkArea(*self->area);
    const auto flags = self->small_map ? GST_MEMORY_FLAG_NO_SHARE : params->flags;
    gst_memory_init(&memory->parent, flags, allocator, nullptr, padded_size, params->align,
                    params->prefix, size);
    return &memory->parent;
  } catch (const std::exception& error) {
    GST_ERROR("%s", error.what());
    allocation_error = error.what();
    return nullptr;
  }
}

// Makes a GstMemory for a part of `memory`. Its parent is the whole memory, which owns the block.
GstMemory* block_share(GstMemory* memory, gssize offset, gssize size) {
  auto* self = reinterpret_cast<BlockMemory*>(memory);
  GstMemory* parent = memory->parent ? memory->parent : memory;
  auto* part = g_new0(BlockMemory, 1);
  part->block = self->block;
  part->host_copy = nullptr;
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
    delete self->host_copy;
    delete self->area;
  }
  delete self->mutex;
  g_free(self);
}

// Returns a small map as a frame of the size of the working picture.
ConstFrame small_frame(const BlockMemory& memory) {
  const Layout& layout = *allocator_of(const_cast<GstMemory*>(&memory.parent))->small_map;
  return label_plane(layout, memory.block->data(), memory.area->work, Memory::host);
}

// Enqueues the copy of a device block to host_copy, or the enlargement of a small map to host_copy.
void enqueue_host_copy(BlockMemory& memory, Queue& queue) {
  if (!memory.area) {
    queue.copy_bytes(memory.block->data(), memory.host_copy->data(), memory.block->bytes());
    return;
  }
  const ConstFrame small = small_frame(memory);
  enlarge_nearest(
      queue, small,
      label_plane(small.layout, memory.host_copy->data(), memory.area->picture, Memory::host),
      *memory.area);
}

// Implements the mapping of a GstMemory. On the CPU, a device block is mapped as a read-only copy.
// With GST_MAP_CUDA, the result is the device address.
gpointer block_map(GstMemory* memory, gsize, GstMapFlags flags) {
  auto* self = reinterpret_cast<BlockMemory*>(memory);
  if (!self->area &&
      (!is_on_device(memory) || (flags & cuda_map_flags(static_cast<GstMapFlags>(0))))) {
    return self->block->data();
  }
  if (!self->area && (flags & GST_MAP_WRITE)) return nullptr;
  const std::lock_guard lock(*self->mutex);
  self->is_copy_changed |= (flags & GST_MAP_WRITE) != 0;
  if (self->is_copy_current) return self->host_copy->data();
  try {
    Backend& backend = **allocator_of(memory)->backend;
    const Backend::Entry entry(backend);
    if (!self->host_copy) self->host_copy = new Block(backend.allocate_pinned(memory->maxsize));
    const auto queue = backend.make_queue();
    enqueue_host_copy(*self, *queue);
    queue->record();
    queue->wait();
    self->is_copy_current = true;
    return self->host_copy->data();
  } catch (const std::exception& error) {
    GST_ERROR("%s", error.what());
    return nullptr;
  }
}

void block_unmap(GstMemory*) {}

// Marks the host copy as outdated. Called when a buffer is taken from its pool for another frame.
void invalidate_host_copy(GstBuffer* buffer) {
  auto* memory = reinterpret_cast<BlockMemory*>(gst_buffer_peek_memory(buffer, 0));
  const std::lock_guard lock(*memory->mutex);
  memory->is_copy_current = memory->is_copy_changed = false;
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
  delete reinterpret_cast<RegionsBlockAllocator*>(object)->area;
  G_OBJECT_CLASS(block_allocator_parent_class)->finalize(object);
}

void block_allocator_class_init(RegionsBlockAllocatorClass* klass) {
  klass->alloc = block_alloc;
  klass->free = block_free;
  G_OBJECT_CLASS(klass)->finalize = block_allocator_finalize;
}

struct RegionsBlockPool : GstBufferPool {};
using RegionsBlockPoolClass = GstBufferPoolClass;

G_DEFINE_TYPE(RegionsBlockPool, block_pool, GST_TYPE_BUFFER_POOL)

// Starts the pool. If it cannot allocate all of its buffers, frees the allocated ones, which
// GStreamer would leak (observed with 1.22).
gboolean block_pool_start(GstBufferPool* pool) {
  const auto* base = GST_BUFFER_POOL_CLASS(block_pool_parent_class);
  if (base->start(pool)) return TRUE;
  base->stop(pool);  // frees the allocated buffers
  return FALSE;
}

void block_pool_init(RegionsBlockPool*) {}

void block_pool_class_init(RegionsBlockPoolClass* klass) { klass->start = block_pool_start; }

RegionsBlockAllocator* make_allocator(const std::shared_ptr<Backend>& backend, const char* type) {
  auto* allocator =
      static_cast<RegionsBlockAllocator*>(g_object_new(block_allocator_get_type(), nullptr));
  gst_object_ref_sink(allocator);
  *allocator->backend = backend;
  allocator->is_pinned = type == kPinnedType;
  allocator->parent.mem_type = type;
  return allocator;
}

// Makes an inactive pool that allocates with `allocator`, and takes ownership of the allocator.
GstBufferPool* make_pool(RegionsBlockAllocator* allocator, GstCaps* caps, size_t bytes,
                         unsigned min_buffers) {
  // The pool needs no option for GstVideoMeta: its buffers have the strides of their caps, and a
  // producer with other strides adds a GstVideoMeta itself.
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
  return make_pool(make_allocator(backend, kPinnedType), caps, bytes, min_buffers);
}

GstBufferPool* make_device_pool(const std::shared_ptr<Backend>& backend, size_t bytes,
                                unsigned min_buffers) {
  return make_pool(make_allocator(backend, kDeviceType), nullptr, bytes, min_buffers);
}

GstBufferPool* make_small_map_pool(const std::shared_ptr<Backend>& backend, const Layout& layout,
                                   const WorkArea& area, unsigned min_buffers) {
  RegionsBlockAllocator* allocator = make_allocator(backend, kSmallMapType);
  allocator->small_map = &layout;
  allocator->area = new WorkArea(area);
  return make_pool(allocator, nullptr, area.picture.area() * layout.sample_bytes, min_buffers);
}

void* begin_small_map(GstBuffer* buffer, const WorkArea& area) {
  auto* memory = reinterpret_cast<BlockMemory*>(gst_buffer_peek_memory(buffer, 0));
  *memory->area = area;
  return memory->block->data();
}

SmallMap small_map(GstBuffer* buffer) {
  GstMemory* memory =
      gst_buffer_n_memory(buffer) == 1 ? gst_buffer_peek_memory(buffer, 0) : nullptr;
  if (!memory || !gst_memory_is_type(memory, kSmallMapType)) return {};
  const auto& self = *reinterpret_cast<BlockMemory*>(memory);
  const std::lock_guard lock(*self.mutex);
  if (self.is_copy_changed) return {};
  return {small_frame(self), *self.area};
}

MemoryAttempt::MemoryAttempt() { allocation_error.clear(); }

MemoryError MemoryAttempt::error(const char* purpose) const {
  return MemoryError("out of memory for " + std::string(purpose) +
                     (allocation_error.empty() ? "" : ": ") + allocation_error);
}

std::shared_ptr<GstBufferPool> activate(GstBufferPool* pool, const char* purpose) {
  const MemoryAttempt attempt;
  if (!gst_buffer_pool_set_active(pool, TRUE)) {
    const MemoryError error = attempt.error(purpose);
    gst_object_unref(pool);
    throw error;
  }
  return {pool, [](GstBufferPool* p) {
            gst_buffer_pool_set_active(p, FALSE);
            gst_object_unref(p);
          }};
}

GstBuffer* acquire(GstBufferPool* pool, const char* purpose) {
  GstBuffer* buffer = nullptr;
  const MemoryAttempt attempt;
  if (gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr) != GST_FLOW_OK) {
    throw attempt.error(purpose);
  }
  invalidate_host_copy(buffer);
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
  return {reinterpret_cast<BlockMemory*>(memory)->block->data(),
          allocator_of(memory)->backend->get()};
}

}  // namespace regions
