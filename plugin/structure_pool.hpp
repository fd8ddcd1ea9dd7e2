// StructurePool: the regions' structures of frames that have gone, for frames to come. Copying and
// freeing them took most of what a region cost outside the GPU.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace regions {

struct FreeStructure {
  void operator()(GstStructure* structure) const { gst_structure_free(structure); }
};
using StructurePtr = std::unique_ptr<GstStructure, FreeStructure>;

class StructurePool : public std::enable_shared_from_this<StructurePool> {
 public:
  StructurePool();

  // `count` structures, null or of any earlier frame. The buffer owns them as long as it lives (or
  // until it is lent others); then they come back here, if the pool is there still.
  std::span<StructurePtr> lend(GstBuffer* buffer, size_t count);

 private:
  struct Loan {
    std::weak_ptr<StructurePool> lender;
    std::vector<StructurePtr> structures;
  };
  static void end(gpointer loan);
  std::unique_ptr<Loan> take();

  std::mutex mutex_;
  std::vector<std::unique_ptr<Loan>> idle_;  // of buffers that were freed
};

}  // namespace regions
