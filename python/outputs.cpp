// Reuses the memory of label arrays. The first write to new memory causes a page fault per page,
// which takes as long as the labelling of a 1920x1080 picture.
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

constexpr size_t kMaxIdle = 2;  // one array in use by the caller, one for the next result
constexpr size_t kMaxBytes = size_t{64} << 20;  // limit for each kept block
constexpr size_t kHugePage = size_t{2} << 20;

struct Memory {
  void* data;
  size_t bytes;
};

// Most recently released first. The interpreter's lock guards it. It is never destroyed, because
// arrays may outlive the module.
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
  kept.reserve(kMaxIdle + 1);  // so that give_back() does not allocate
  const size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* data = std::aligned_alloc(kHugePage, rounded);
  if (!data) throw std::bad_alloc();
  madvise(data, rounded, MADV_HUGEPAGE);  // has no effect on some systems
  return {data, bytes};
}

void give_back(void* memory) noexcept {
  const std::unique_ptr<Memory> given(static_cast<Memory*>(memory));
  if (given->bytes > kMaxBytes) return std::free(given->data);
  std::vector<Memory>& kept = idle();
  kept.insert(kept.begin(), *given);
  if (kept.size() <= kMaxIdle) return;
  std::free(kept.back().data);
  kept.pop_back();
}

// Makes a large array. NumPy allocates small arrays faster.
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
