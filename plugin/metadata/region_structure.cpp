// Writes the GstStructures and the table that describe regions, and reuses them for later frames.
#include "plugin/metadata/region_structure.hpp"

#include <algorithm>
#include <iterator>

#include "plugin/metadata/region_meta.hpp"
#include "plugin/metadata/standard_metas.hpp"

namespace regions {
namespace {

// The values from which the fields of one region are computed.
struct RegionSource {
  const Region& region;
  MeanColor mean;
  GstClockTime first_seen;
  TrackState state;
  MeanLab lab;
  Covariance covariance;
};

using RegionWriter = StructureWriter<RegionSource>;

// Returns the writer that writes exactly the fields that `results` have.
const RegionWriter& region_writer(const RegionResults& results) {
  using S = const RegionSource&;
  static const auto base_fields =
      field_group<RegionSource>(StructureField("id", [](S s) { return s.region.id; }),
                                StructureField("track", [](S s) { return s.region.track; }),
                                StructureField("x", [](S s) { return s.region.left; }),
                                StructureField("y", [](S s) { return s.region.top; }),
                                StructureField("width", [](S s) { return s.region.width(); }),
                                StructureField("height", [](S s) { return s.region.height(); }),
                                StructureField("area", [](S s) { return s.region.area; }),
                                StructureField("cx", [](S s) { return s.region.centroid_x(); }),
                                StructureField("cy", [](S s) { return s.region.centroid_y(); }),
                                StructureField("first-x", [](S s) { return s.region.first_x; }),
                                StructureField("first-y", [](S s) { return s.region.first_y; }),
                                StructureField("red", [](S s) { return s.mean.red; }),
                                StructureField("green", [](S s) { return s.mean.green; }),
                                StructureField("blue", [](S s) { return s.mean.blue; }));
  static const auto volume_fields =
      field_group<RegionSource>(StructureField("z", [](S s) { return s.region.front; }),
                                StructureField("depth", [](S s) { return s.region.depth(); }),
                                StructureField("cz", [](S s) { return s.region.centroid_z(); }),
                                StructureField("first-z", [](S s) { return s.region.first_z; }),
                                StructureField("layer", [](S s) { return s.region.layer; }));
  static const auto lab_fields =
      field_group<RegionSource>(StructureField("lab-l", [](S s) { return s.lab.l; }),
                                StructureField("lab-a", [](S s) { return s.lab.a; }),
                                StructureField("lab-b", [](S s) { return s.lab.b; }));
  static const auto covariance_fields =
      field_group<RegionSource>(StructureField("cov-xx", [](S s) { return s.covariance.xx; }),
                                StructureField("cov-xy", [](S s) { return s.covariance.xy; }),
                                StructureField("cov-yy", [](S s) { return s.covariance.yy; }));
  static const auto track_fields = field_group<RegionSource>(
      StructureField("first-seen", [](S s) { return uint64_t{s.first_seen}; }));
  static const auto state_fields =
      field_group<RegionSource>(StructureField("still", [](S s) { return s.state.still; }),
                                StructureField("part-of", [](S s) { return s.state.part_of; }));
  static const FieldGroup<RegionSource>* const optional_groups[] = {
      &volume_fields, &track_fields, &state_fields, &lab_fields, &covariance_fields};
  // The index is a bit mask. Bit i is set if the writer includes optional group i.
  static const std::vector<RegionWriter> writers = [] {
    std::vector<RegionWriter> all;
    for (size_t bits = 0; bits < size_t{1} << std::size(optional_groups); ++bits) {
      RegionWriter::Groups groups = {base_fields};
      for (size_t i = 0; i < std::size(optional_groups); ++i) {
        if (bits >> i & 1) groups.push_back(*optional_groups[i]);
      }
      all.emplace_back(kRegionName, groups);
    }
    return all;
  }();
  const bool is_present[] = {results.is_stacked(), !results.first_seen.empty(),
                             !results.track_states.empty(), !results.moments.empty(),
                             !results.moments.empty() && results.details.covariance};
  size_t bits = 0;
  for (size_t i = 0; i < std::size(is_present); ++i) bits |= size_t{is_present[i]} << i;
  return writers[bits];
}

// Collects the values of region i.
RegionSource source_of(const RegionResults& results, const MeanColors& means, size_t i) {
  const Region& region = results.regions[i];
  RegionSource source = {region, means.of(region), 0, {}, {}, {}};
  if (!results.first_seen.empty()) source.first_seen = results.first_seen[i];
  if (!results.track_states.empty()) source.state = results.track_states[i];
  if (results.moments.empty()) return source;
  source.lab = mean_lab(region, results.moments[i]);
  if (results.details.covariance) source.covariance = covariance(region, results.moments[i]);
  return source;
}

// Maximum number of idle items that a pool keeps, about the number of frames in flight. Further
// items are freed.
constexpr size_t kMaxIdle = 16;
// A reused table may have up to twice its needed size plus this number of bytes.
constexpr size_t kMaxUnusedBytes = 1 << 14;

// Returns how many of the `available` structures a frame with `needed` regions keeps. If an earlier
// frame had very many regions, for example because of noise, the surplus structures are freed.
size_t kept_count(size_t available, size_t needed) {
  constexpr size_t kMaxSurplus = 64;
  return std::clamp(available, needed, 2 * needed + kMaxSurplus);
}

// The key under which a buffer stores its pooled structures.
const GQuark kStructures = g_quark_from_static_string("regions-structures");

}  // namespace

TableFormat table_format(const RegionResults& results) {
  const RegionWriter& writer = region_writer(results);
  return {writer.columns(), writer.row_bytes()};
}

void write_structures(const RegionResults& results, const Workers& workers,
                      std::span<StructurePtr> structures, const std::function<void()>& other_work) {
  constexpr size_t kChunkRegions = 32;  // regions per task
  // Waking threads costs about as much time as writing this number of structures.
  constexpr size_t kMinParallelRegions = 256;
  const RegionWriter& writer = region_writer(results);
  const MeanColors means(results.layout, results.color);
  const size_t count = structures.size();
  const auto chunks = static_cast<int>((count + kChunkRegions - 1) / kChunkRegions);
  const auto do_task = [&](int task) {
    if (task == 0) return other_work();
    const size_t first = static_cast<size_t>(task - 1) * kChunkRegions;
    for (size_t i = first; i < std::min(first + kChunkRegions, count); ++i)
      writer.write(structures[i], source_of(results, means, i));
  };
  if (count >= kMinParallelRegions) return workers.parallel_for(1 + chunks, do_task);
  for (int task = 0; task <= chunks; ++task) do_task(task);
}

void add_fact(GstStructure* structure, const Fact& fact) {
  GValue value = G_VALUE_INIT;
  if (const auto* flag = std::get_if<bool>(&fact.value)) {
    g_value_init(&value, G_TYPE_BOOLEAN);
    g_value_set_boolean(&value, *flag);
  } else if (const auto* whole = std::get_if<int64_t>(&fact.value)) {
    g_value_init(&value, G_TYPE_INT64);
    g_value_set_int64(&value, *whole);
  } else {
    g_value_init(&value, G_TYPE_STRING);
    g_value_set_string(&value, std::get<std::string>(fact.value).c_str());
  }
  gst_structure_take_value(structure, fact.name, &value);
}

void FreeParameters::operator()(GList* list) const {
  g_list_free_full(list, [](gpointer s) { gst_structure_free(static_cast<GstStructure*>(s)); });
}

// A meta that returns the parameters of regions of interest to PooledStructures before GStreamer
// frees them. The regions of interest are freed as soon as the buffer returns to its GstBufferPool,
// but the structures stay with the buffer until it is freed itself. GStreamer frees metas in the
// order in which they were added. This meta is added first, so it is freed first and can still take
// the parameters. If the buffer itself is freed, its structures return first, while all metas still
// exist, and this meta does nothing afterwards.
struct StructurePool::ReturnMeta {
  GstMeta meta;
  GstBuffer* buffer;
  Structures* structures;  // null after collect_parameters()
};

const GstMetaInfo* StructurePool::return_meta_info() {
  static const GstMetaInfo* const kInfo = [] {
    static const gchar* tags[] = {nullptr};
    const GType api = gst_meta_api_type_register("RegionsCollectorMetaAPI", tags);
    return gst_meta_register(
        api, "RegionsCollectorMeta", sizeof(ReturnMeta),
        [](GstMeta* meta, gpointer structures, GstBuffer* buffer) -> gboolean {
          auto* self = reinterpret_cast<ReturnMeta*>(meta);
          self->buffer = buffer;
          self->structures = static_cast<Structures*>(structures);
          self->structures->return_meta = self;
          return TRUE;
        },
        [](GstMeta* meta, GstBuffer*) { collect_parameters(reinterpret_cast<ReturnMeta*>(meta)); },
        nullptr);
  }();
  return kInfo;
}

void StructurePool::collect_parameters(ReturnMeta* meta) {
  if (!meta->structures) return;
  take_parameters(meta->buffer, meta->structures->parameters);
  meta->structures->return_meta = nullptr;
  meta->structures = nullptr;
}

// Reserves the full capacity of both lists, because return_structures() must not throw.
StructurePool::StructurePool() {
  idle_.reserve(kMaxIdle);
  idle_tables_.reserve(kMaxIdle);
  idle_rows_.reserve(kMaxIdle);
}

StructurePool::~StructurePool() = default;

// Takes an item from a list of idle items. Returns null if the list is empty.
template <class T>
std::unique_ptr<T> StructurePool::take(std::vector<std::unique_ptr<T>>& idle) {
  const std::lock_guard lock(mutex_);
  if (idle.empty()) return nullptr;
  std::unique_ptr<T> last = std::move(idle.back());
  idle.pop_back();
  return last;
}

// Adds an item to a list of idle items, or frees it if the pool no longer exists or the list is
// full.
template <class T>
void StructurePool::put_back(std::unique_ptr<T> item,
                             std::vector<std::unique_ptr<T>> StructurePool::*idle) {
  const std::shared_ptr<StructurePool> pool = item->pool.lock();
  if (!pool) return;
  const std::lock_guard lock(pool->mutex_);
  if ((*pool.*idle).size() < kMaxIdle) (*pool.*idle).push_back(std::move(item));
}

StructurePool::PooledTable StructurePool::acquire_table(size_t bytes) {
  if (bytes == 0) return {BufferPtr(gst_buffer_new()), {}};
  std::unique_ptr<Table> table = take(idle_tables_);
  if (!table || table->bytes.capacity() > 2 * bytes + kMaxUnusedBytes) {
    table = std::make_unique<Table>();
  }
  table->pool = weak_from_this();
  table->bytes.resize(bytes);
  const std::span<std::byte> memory(table->bytes);
  BufferPtr buffer(gst_buffer_new_wrapped_full(
      GST_MEMORY_FLAG_READONLY, memory.data(), bytes, 0, bytes, table.release(), [](gpointer data) {
        put_back(std::unique_ptr<Table>(static_cast<Table*>(data)), &StructurePool::idle_tables_);
      }));
  return {std::move(buffer), memory};
}

// Copies of a frame's results, and the rows that were computed from them.
struct StructurePool::Rows {
  std::weak_ptr<StructurePool> pool;
  std::vector<Region> regions;
  std::vector<Moments> moments;
  std::vector<GstClockTime> first_seen;
  std::vector<TrackState> track_states;
  RegionResults results;  // refers to the vectors above
  std::mutex mutex;       // guards the members below
  bool are_written = false;
  std::vector<std::byte> bytes;

  void keep(const RegionResults& from) {
    results = from;
    const auto copy = [](auto& span, auto& copies) {
      copies.assign(span.begin(), span.end());
      span = copies;
    };
    copy(results.regions, regions);
    copy(results.moments, moments);
    copy(results.first_seen, first_seen);
    copy(results.track_states, track_states);
    are_written = false;
  }

  std::byte* write() {
    const std::lock_guard lock(mutex);
    if (are_written) return bytes.data();
    const RegionWriter& writer = region_writer(results);
    const MeanColors means(results.layout, results.color);
    bytes.resize(regions.size() * writer.row_bytes());
    for (size_t i = 0; i < regions.size(); ++i)
      writer.write_row(source_of(results, means, i), bytes.data() + i * writer.row_bytes());
    are_written = true;
    return bytes.data();
  }
};

// A GstMemory whose content is Rows::bytes.
struct StructurePool::RowsMemory {
  GstMemory parent;
  Rows* rows;
};

struct StructurePool::RowsAllocator {
  GstAllocator parent;

  // Returns the only allocator, which is never freed. It makes no memory itself.
  static GstAllocator* get() {
    static GstAllocator* const kAllocator = [] {
      const GTypeInfo info = {
          sizeof(GstAllocatorClass), nullptr, nullptr, init_class, nullptr, nullptr,
          sizeof(RowsAllocator),     0,       init,    nullptr};
      const GType type = g_type_register_static(GST_TYPE_ALLOCATOR, "RegionsRowsAllocator", &info,
                                                static_cast<GTypeFlags>(0));
      auto* allocator = static_cast<GstAllocator*>(g_object_new(type, nullptr));
      gst_object_ref_sink(allocator);
      GST_OBJECT_FLAG_SET(allocator, GST_OBJECT_FLAG_MAY_BE_LEAKED);
      return allocator;
    }();
    return kAllocator;
  }

  // Makes a memory that owns `rows`, or a part of the memory `parent`, which owns it.
  static GstMemory* wrap(Rows* rows, GstMemory* parent, gsize whole, gsize offset, gsize size) {
    auto* memory = g_new0(RowsMemory, 1);
    memory->rows = rows;
    gst_memory_init(&memory->parent, GST_MEMORY_FLAG_READONLY, get(), parent, whole, 0, offset,
                    size);
    return &memory->parent;
  }

 private:
  static void init_class(gpointer klass, gpointer) {
    static_cast<GstAllocatorClass*>(klass)->free = free;
  }

  static void init(GTypeInstance* instance, gpointer) {
    auto* allocator = reinterpret_cast<GstAllocator*>(instance);
    allocator->mem_type = "RegionsRows";
    allocator->mem_map = map;
    allocator->mem_unmap = [](GstMemory*) {};
    allocator->mem_share = share;
    GST_OBJECT_FLAG_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
  }

  static gpointer map(GstMemory* memory, gsize, GstMapFlags) {
    try {
      return reinterpret_cast<RowsMemory*>(memory)->rows->write();
    } catch (const std::bad_alloc&) {
      GST_ERROR("out of memory for the table of regions");
      return nullptr;
    }
  }

  static GstMemory* share(GstMemory* memory, gssize offset, gssize size) {
    GstMemory* whole = memory->parent ? memory->parent : memory;
    const gsize bytes =
        size < 0 ? memory->size - static_cast<gsize>(offset) : static_cast<gsize>(size);
    return wrap(reinterpret_cast<RowsMemory*>(memory)->rows, whole, memory->maxsize,
                memory->offset + static_cast<gsize>(offset), bytes);
  }

  static void free(GstAllocator*, GstMemory* memory) {
    auto* self = reinterpret_cast<RowsMemory*>(memory);
    if (!memory->parent) put_back(std::unique_ptr<Rows>(self->rows), &StructurePool::idle_rows_);
    g_free(self);
  }
};

StructurePool::PooledRows StructurePool::acquire_rows(const RegionResults& results) {
  std::unique_ptr<Rows> rows = take(idle_rows_);
  if (!rows ||
      rows->regions.capacity() > kept_count(rows->regions.capacity(), results.regions.size()))
    rows = std::make_unique<Rows>();
  rows->pool = weak_from_this();
  rows->keep(results);
  const std::span<const Region> regions = rows->regions;
  const size_t bytes = regions.size() * table_format(results).row_bytes;
  BufferPtr buffer(gst_buffer_new());
  gst_buffer_append_memory(buffer.get(),
                           RowsAllocator::wrap(rows.release(), nullptr, bytes, 0, bytes));
  return {std::move(buffer), regions};
}

const PooledStructures* StructurePool::structures_of(GstBuffer* buffer) { return find(buffer); }

StructurePool::Structures* StructurePool::find(GstBuffer* buffer) {
  return static_cast<Structures*>(
      gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(buffer), kStructures));
}

PooledStructures& StructurePool::attach_to(GstBuffer* buffer, size_t regions) {
  if (const Structures* previous = find(buffer); previous && previous->return_meta) {
    gst_buffer_remove_meta(buffer, &previous->return_meta->meta);
  }
  std::unique_ptr<Structures> taken = take(idle_);
  if (!taken) {
    taken = std::make_unique<Structures>();
    taken->parameters.reserve(kMaxRois);
  }
  Structures* structures = taken.release();
  structures->pool = weak_from_this();
  structures->regions.resize(kept_count(structures->regions.size(), regions));
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(buffer), kStructures, structures,
                            return_structures);
  gst_buffer_add_meta(buffer, return_meta_info(), structures);
  return *structures;
}

void StructurePool::return_structures(gpointer data) {
  std::unique_ptr<Structures> structures(static_cast<Structures*>(data));
  structures->rows.reset();
  structures->table = {};
  if (structures->return_meta) collect_parameters(structures->return_meta);
  put_back(std::move(structures), &StructurePool::idle_);
}

}  // namespace regions
