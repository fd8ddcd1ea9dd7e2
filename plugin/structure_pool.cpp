// Structures on loan to buffers.
#include "plugin/structure_pool.hpp"

#include <algorithm>

namespace regions {
namespace {

// Frames that are under way at once, more or less; others' structures are freed.
constexpr size_t kMostIdle = 16;

// A frame full of noise must not hold its memory for ever: as many structures remain as the frame
// needs twice over, and some.
size_t kept(size_t held, size_t count) {
  constexpr size_t kSpare = 64;
  return std::clamp(held, count, 2 * count + kSpare);
}

}  // namespace

// end() may not fail: there is room for all from the start.
StructurePool::StructurePool() { idle_.reserve(kMostIdle); }

std::unique_ptr<StructurePool::Loan> StructurePool::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Loan>();
  std::unique_ptr<Loan> loan = std::move(idle_.back());
  idle_.pop_back();
  return loan;
}

std::span<StructurePtr> StructurePool::lend(GstBuffer* buffer, size_t count) {
  static const GQuark kLoan = g_quark_from_static_string("regions-structures");
  std::unique_ptr<Loan> loan = take();
  loan->lender = weak_from_this();
  loan->structures.resize(kept(loan->structures.size(), count));
  const std::span<StructurePtr> lent(loan->structures.data(), count);
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(buffer), kLoan, loan.release(), end);
  return lent;
}

void StructurePool::end(gpointer data) {
  std::unique_ptr<Loan> loan(static_cast<Loan*>(data));
  const std::shared_ptr<StructurePool> pool = loan->lender.lock();
  if (!pool) return;
  const std::lock_guard lock(pool->mutex_);
  if (pool->idle_.size() < kMostIdle) pool->idle_.push_back(std::move(loan));
}

}  // namespace regions
