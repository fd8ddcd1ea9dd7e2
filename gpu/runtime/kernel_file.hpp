// Where kernels come from: each file with kernels has one of these, so that all kernels of the
// process can be found. gpu/copy_kernel.py writes it.
#pragma once

#include <utility>

namespace regions {

class KernelFile {
 public:
  // `kernel` is any of the file's.
  explicit KernelFile(const void* kernel) : kernel_(kernel), before_(std::exchange(last_, this)) {}
  KernelFile(const KernelFile&) = delete;
  KernelFile& operator=(const KernelFile&) = delete;

  // Calls visit(kernel) for each file.
  template <class Visit>
  static void for_each(Visit visit) {
    for (const KernelFile* file = last_; file; file = file->before_) visit(file->kernel_);
  }

 private:
  static inline const KernelFile* last_ = nullptr;

  const void* const kernel_;
  const KernelFile* const before_;
};

}  // namespace regions
