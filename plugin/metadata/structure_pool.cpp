// Structures on loan to buffers.
#include "plugin/metadata/structure_pool.hpp"

#include <algorithm>

#include "plugin/metadata/roi_metas.hpp"

namespace regions {
namespace {

// About as many frames as are under way at once; structures of more frames are freed.
constexpr size_t kMaxIdle = 16;
// Of a table that few regions use after many.
constexpr size_t kSpareBytes = 1 << 14;

// A frame full of noise must not hold its memory for ever: as many structures remain as the frame
// needs twice over, and some.
size_t kept(size_t held, size_t count) {
  constexpr size_t kSpare = 64;
  return std::clamp(held, count, 2 * count + kSpare);
}

const GQuark kLoan = g_quark_from_static_string("regions-structures");

}  // namespace

void FreeParameters::operator()(GList* list) const {
  g_list_free_full(list, [](gpointer s) { gst_structure_free(static_cast<GstStructure*>(s)); });
}

// Metas free what they hold as soon as their buffer goes back to its pool, but a loan ends when the
// buffer is freed. This meta stands before the regions of interest, is freed before them, and takes
// their parameters; where the buffer itself is freed the loan ends first, while all metas are
// whole, and the meta does nothing.
struct StructurePool::Collector {
  GstMeta meta;
  GstBuffer* buffer;
  Loan* loan;  // null once it has collected
};

const GstMetaInfo* StructurePool::collector_info() {
  static const GstMetaInfo* const kInfo = [] {
    static const gchar* tags[] = {nullptr};
    const GType api = gst_meta_api_type_register("RegionsCollectorMetaAPI", tags);
    return gst_meta_register(
        api, "RegionsCollectorMeta", sizeof(Collector),
        [](GstMeta* meta, gpointer loan, GstBuffer* buffer) -> gboolean {
          auto* collector = reinterpret_cast<Collector*>(meta);
          collector->buffer = buffer;
          collector->loan = static_cast<Loan*>(loan);
          collector->loan->collector = collector;
          return TRUE;
        },
        [](GstMeta* meta, GstBuffer*) { collect(reinterpret_cast<Collector*>(meta)); }, nullptr);
  }();
  return kInfo;
}

void StructurePool::collect(Collector* collector) {
  if (!collector->loan) return;
  take_parameters(collector->buffer, collector->loan->parameters);
  collector->loan->collector = nullptr;
  collector->loan = nullptr;
}

// end() may not fail, so the list has its full capacity from the start.
StructurePool::StructurePool() {
  idle_.reserve(kMaxIdle);
  idle_tables_.reserve(kMaxIdle);
}

// One of those that came back, or null.
template <class T>
std::unique_ptr<T> StructurePool::take(std::vector<std::unique_ptr<T>>& idle) {
  const std::lock_guard lock(mutex_);
  if (idle.empty()) return nullptr;
  std::unique_ptr<T> last = std::move(idle.back());
  idle.pop_back();
  return last;
}

template <class T>
void StructurePool::put_back(std::unique_ptr<T> lent,
                             std::vector<std::unique_ptr<T>> StructurePool::*idle) {
  const std::shared_ptr<StructurePool> pool = lent->lender.lock();
  if (!pool) return;
  const std::lock_guard lock(pool->mutex_);
  if ((*pool.*idle).size() < kMaxIdle) (*pool.*idle).push_back(std::move(lent));
}

StructurePool::LentTable StructurePool::lend_table(size_t bytes) {
  if (bytes == 0) return {BufferPtr(gst_buffer_new()), {}};
  std::unique_ptr<Table> table = take(idle_tables_);
  if (!table || table->bytes.capacity() > 2 * bytes + kSpareBytes) {
    table = std::make_unique<Table>();
  }
  table->lender = weak_from_this();
  table->bytes.resize(bytes);
  const std::span<std::byte> memory(table->bytes);
  BufferPtr buffer(gst_buffer_new_wrapped_full(
      GST_MEMORY_FLAG_READONLY, memory.data(), bytes, 0, bytes, table.release(), [](gpointer data) {
        put_back(std::unique_ptr<Table>(static_cast<Table*>(data)), &StructurePool::idle_tables_);
      }));
  return {std::move(buffer), memory};
}

const StructureLoan* StructurePool::loan_of(GstBuffer* buffer) { return find(buffer); }

StructurePool::Loan* StructurePool::find(GstBuffer* buffer) {
  return static_cast<Loan*>(gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(buffer), kLoan));
}

StructureLoan& StructurePool::lend(GstBuffer* buffer, size_t regions) {
  if (const Loan* former = find(buffer); former && former->collector) {
    gst_buffer_remove_meta(buffer, &former->collector->meta);
  }
  std::unique_ptr<Loan> taken = take(idle_);
  if (!taken) {
    taken = std::make_unique<Loan>();
    taken->parameters.reserve(kMaxRois);
  }
  Loan* loan = taken.release();
  loan->lender = weak_from_this();
  loan->regions.resize(kept(loan->regions.size(), regions));
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(buffer), kLoan, loan, end);
  gst_buffer_add_meta(buffer, collector_info(), loan);
  return *loan;
}

void StructurePool::end(gpointer data) {
  std::unique_ptr<Loan> loan(static_cast<Loan*>(data));
  if (loan->collector) collect(loan->collector);
  put_back(std::move(loan), &StructurePool::idle_);
}

}  // namespace regions
