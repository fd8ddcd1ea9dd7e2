// StructurePool: the structures and tables of frames that have gone, for frames to come. Copying
// and freeing them took most of what a region cost outside the GPU.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/region.hpp"

namespace regions {

struct UnrefBuffer {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
};
using BufferPtr = std::unique_ptr<GstBuffer, UnrefBuffer>;

struct FreeStructure {
  void operator()(GstStructure* structure) const { gst_structure_free(structure); }
};
using StructurePtr = std::unique_ptr<GstStructure, FreeStructure>;

// The parameters of a region of interest, as its meta keeps them.
struct FreeParameters {
  void operator()(GList* list) const;
};
using ParametersPtr = std::unique_ptr<GList, FreeParameters>;

// What is lent to one frame, of earlier frames.
struct StructureLoan {
  std::vector<StructurePtr> regions;      // entries of the `regions` metadata, or null
  std::vector<ParametersPtr> parameters;  // for regions of interest to take
  std::vector<Region> table;              // what the entries say, for elements of ours that follow
};

class StructurePool : public std::enable_shared_from_this<StructurePool> {
 public:
  StructurePool();

  // With structures for so many regions, or more. The buffer owns the loan as long as it lives (or
  // until it is lent another); then it comes back here, if the pool is there still. Parameters of
  // regions of interest that are put on the buffer afterwards come back too.
  StructureLoan& lend(GstBuffer* buffer, size_t regions);

  // A buffer of so many bytes, whatever is in them, with memory of one that was freed; `bytes` are
  // for the caller to fill. Read-only for all others.
  struct LentTable {
    BufferPtr buffer;
    std::span<std::byte> bytes;
  };
  LentTable lend_table(size_t bytes);

  // What is lent to the buffer; null if nothing is.
  static const StructureLoan* loan_of(GstBuffer* buffer);

 private:
  struct Collector;
  struct Loan : StructureLoan {
    std::weak_ptr<StructurePool> lender;
    Collector* collector = nullptr;  // of the buffer that has this loan
  };
  struct Table {
    std::weak_ptr<StructurePool> lender;
    std::vector<std::byte> bytes;
  };
  static const GstMetaInfo* collector_info();
  static void collect(Collector* collector);
  static void end(gpointer loan);
  static Loan* find(GstBuffer* buffer);
  template <class T>
  static void put_back(std::unique_ptr<T> lent,
                       std::vector<std::unique_ptr<T>> StructurePool::*idle);
  template <class T>
  std::unique_ptr<T> take(std::vector<std::unique_ptr<T>>& idle);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Loan>> idle_;  // of buffers that were freed
  std::vector<std::unique_ptr<Table>> idle_tables_;
};

}  // namespace regions
