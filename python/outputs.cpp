// Memory of labels, kept when an array of them is let go. Fresh memory comes by a fault a page:
// for a picture of 1920x1080 that takes as long as labelling does.
#include <nanobind/stl/vector.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace regions::python {
namespace {

constexpr size_t kMostIdle = 2;                  // what is shown while the next is made
constexpr size_t kMostBytes = size_t{64} << 20;  // of one that is kept
constexpr size_t kHugePage = size_t{2} << 20;

struct Memory {
  void* data;
  size_t bytes;
};

// The last one let go first. Guarded by the interpreter's lock, and never destroyed: arrays may
// outlive the module.
std::vector<Memory>& idle() {
  static std::vector<Memory>& kept = *new std::vector<Memory>;
  return kept;
}

Memory take(size_t bytes) {
  std::vector<Memory>& kept = idle();
  const auto found =
      std::ranges::find_if(kept, [&](const Memory& one) { return one.bytes == bytes; });
  if (found != kept.end()) {
    const Memory taken = *found;
    kept.erase(found);
    return taken;
  }
  kept.reserve(kMostIdle + 1);  // give_back() cannot fail
  const size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* data = std::aligned_alloc(kHugePage, rounded);
  if (!data) throw std::bad_alloc();
  madvise(data, rounded, MADV_HUGEPAGE);  // in vain on some systems
  return {data, bytes};
}

void give_back(void* memory) noexcept {
  const std::unique_ptr<Memory> given(static_cast<Memory*>(memory));
  if (given->bytes > kMostBytes) return std::free(given->data);
  std::vector<Memory>& kept = idle();
  kept.insert(kept.begin(), *given);
  if (kept.size() <= kMostIdle) return;
  std::free(kept.back().data);
  kept.pop_back();
}

// Not for small arrays, which NumPy makes sooner.
nb::ndarray<nb::numpy, int32_t> empty_labels(const std::vector<size_t>& shape) {
  size_t bytes = sizeof(int32_t);
  for (const size_t side : shape) bytes *= side;
  auto memory = std::make_unique<Memory>(take(bytes));
  void* const data = memory->data;
  const nb::capsule owner(memory.release(), give_back);
  return {data, shape.size(), shape.data(), owner};
}

}  // namespace

void bind_outputs(nb::module_& module) { module.def("empty_labels", empty_labels); }

}  // namespace regions::python
