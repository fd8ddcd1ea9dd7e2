// Buffer memory that counts its blocks and their maps.
#pragma once

#include <atomic>

#include "tests/plugin/harness.hpp"

namespace regions::test {

class CountedMemory {
 public:
  // Sets the counts to 0. No block may exist.
  static void reset() { blocks_ = maps_ = most_maps_ = 0; }
  static int blocks() { return blocks_; }
  static int maps() { return maps_; }  // current maps
  static int most_maps() { return most_maps_; }

  // Makes all maps fail from now on, or ends that.
  static void refuse_maps(bool refuses) { refuses_ = refuses; }

  static GstAllocator* allocator() {
    static auto* const one =
        static_cast<GstAllocator*>(gst_object_ref_sink(g_object_new(type(), nullptr)));
    return one;
  }
  // Downstream offers this memory in its answers to allocation queries.
  static void offer(GstPad* pad) {
    Harness::answer_allocation(
        pad, [](GstQuery* query) { gst_query_add_allocation_param(query, allocator(), nullptr); });
  }
  static GstBuffer* buffer(const std::vector<uint8_t>& bytes) {
    GstBuffer* buffer = gst_buffer_new_allocate(allocator(), bytes.size(), nullptr);
    gst_buffer_fill(buffer, 0, bytes.data(), bytes.size());
    return buffer;
  }

 private:
  struct Memory {
    GstMemory parent;
    guint8* data;
  };

  static GType type() {
    static const GType type = g_type_register_static_simple(
        GST_TYPE_ALLOCATOR, "CountedAllocator", sizeof(GstAllocatorClass),
        [](gpointer klass, gpointer) {
          static_cast<GstAllocatorClass*>(klass)->alloc = allocate;
          static_cast<GstAllocatorClass*>(klass)->free = free;
        },
        sizeof(GstAllocator),
        [](GTypeInstance* self, gpointer) {
          auto* allocator = reinterpret_cast<GstAllocator*>(self);
          allocator->mem_type = "CountedMemory";
          allocator->mem_map = map;
          allocator->mem_unmap = [](GstMemory*) { --maps_; };
          allocator->mem_share = share;
        },
        static_cast<GTypeFlags>(0));
    return type;
  }
  static GstMemory* add(GstAllocator* allocator, GstMemory* parent, guint8* data, gsize maxsize,
                        gsize offset, gsize size) {
    auto* memory = g_new0(Memory, 1);
    memory->data = data;
    gst_memory_init(&memory->parent, static_cast<GstMemoryFlags>(0), allocator, parent, maxsize, 0,
                    offset, size);
    ++blocks_;
    return &memory->parent;
  }
  static GstMemory* allocate(GstAllocator* allocator, gsize size, GstAllocationParams*) {
    return add(allocator, nullptr, static_cast<guint8*>(g_malloc0(size)), size, 0, size);
  }
  static GstMemory* share(GstMemory* memory, gssize offset, gssize size) {
    const auto from = static_cast<gsize>(offset);
    return add(memory->allocator, memory->parent ? memory->parent : memory,
               reinterpret_cast<Memory*>(memory)->data, memory->maxsize, memory->offset + from,
               size < 0 ? memory->size - from : static_cast<gsize>(size));
  }
  static void free(GstAllocator*, GstMemory* memory) {
    --blocks_;
    if (!memory->parent) g_free(reinterpret_cast<Memory*>(memory)->data);
    g_free(memory);
  }
  static gpointer map(GstMemory* memory, gsize, GstMapFlags) {
    if (refuses_) return nullptr;
    const int now = ++maps_;
    if (now > most_maps_) most_maps_ = now;
    return reinterpret_cast<Memory*>(memory)->data;
  }

  inline static std::atomic<bool> refuses_{false};
  inline static std::atomic<int> blocks_{0}, maps_{0}, most_maps_{0};
};

}  // namespace regions::test
