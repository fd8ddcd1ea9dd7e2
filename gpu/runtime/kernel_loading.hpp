// Loads all kernels before the first frame. Otherwise the driver loads each kernel at its first
// launch, which delays that frame and the kernels of other streams.
#pragma once

#include <initializer_list>
#include <utility>

namespace regions {

// Whether machine code for one of `architectures` runs on a device of compute capability
// `capability` (all numbers are compute capabilities times ten). This requires equal major
// versions, and a minor version of the code that is not later than the device's (CUDA C++
// Programming Guide, "Binary Compatibility").
constexpr bool is_binary_compatible(int capability, std::initializer_list<int> architectures) {
  for (const int architecture : architectures) {
    if (architecture / 10 == capability / 10 && architecture <= capability) return true;
  }
  return false;
}

// Whether this build contains machine code for the current device. Otherwise the driver translates
// the PTX of each source file at the first launch of one of its kernels. This takes seconds per
// file; the driver caches the result on disk.
bool has_machine_code();

// Loads all kernels of the process into the current context, which takes about 30 ms. Does nothing
// if the driver cannot list kernels (before CUDA 12.4) or would have to translate them from PTX.
void load_kernels();

// Registers one source file that contains kernels, so that load_kernels() finds all kernels of the
// process. gpu/kernel_target.py defines one object of this class per source file.
class KernelRegistration {
 public:
  // `kernel` is any kernel of the file.
  explicit KernelRegistration(const void* kernel)
      : kernel_(kernel), next_(std::exchange(first_, this)) {}
  KernelRegistration(const KernelRegistration&) = delete;
  KernelRegistration& operator=(const KernelRegistration&) = delete;

  // Calls visit(kernel) for each registered file.
  template <class Visit>
  static void for_each(Visit visit) {
    for (const KernelRegistration* file = first_; file; file = file->next_) visit(file->kernel_);
  }

 private:
  // Head of the linked list of registrations.
  static inline const KernelRegistration* first_ = nullptr;

  const void* const kernel_;
  const KernelRegistration* const next_;
};

}  // namespace regions
